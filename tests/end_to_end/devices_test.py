"""A program with several devices on the cpu device: each launch's record names its device, counts equal that
device's, and the program's output is right. Invalid numbers of devices are reported.

usage: devices_test.py BUILD_FOLDER
"""
import collections
import pathlib
import sys
import tempfile

import schema
from harness import Build, TestFailure, demand_equal, expect, read_json_lines

COUNT = 1000


def expected_output(devices):
    first = 7 * (devices - 1)
    return f"{devices} devices, sum {2 * sum((first + i) ** 2 for i in range(COUNT))}\n".encode()


def launches_by_device(records):
    found = collections.defaultdict(list)
    for record in records:
        if record["record"] == "launch":
            found[record["place"]["ordinal"]].append(record)
    return found


def check_devices(build, program, devices):
    wanted = {"LYNXPP_CPU_DEVICES": str(devices)}
    native = build.run(program, environment=wanted)
    demand_equal(f"output of {native}", native.stdout, expected_output(devices))
    with tempfile.TemporaryDirectory() as folder:
        output, counters = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "counters.jsonl")
        counted = build.run(program, environment={**wanted, "LYNXPP_CPU_COUNTERS": str(counters)})
        demand_equal(f"status of {counted}", counted.status, 0)
        run = build.run(program, spec="instruction_count", environment={**wanted, "LYNXPP_OUTPUT": str(output)})
        demand_equal(f"output of {run}", run.stdout, native.stdout)
        records = read_json_lines(output)
        own = collections.Counter((line.get("device", 0), line["thread_instructions"]) for line in read_json_lines(counters))
    for record in records:
        demand_equal("a record", schema.complaint(record) if schema.jsonschema else "", "")
    named = {record["ordinal"]: record["uuid"] for record in records if record["record"] == "device"}
    demand_equal("ordinals of devices", sorted(named), list(range(devices)))
    demand_equal("different identities", len(set(named.values())), devices)
    found = launches_by_device(records)
    demand_equal("devices of launches", sorted(found), list(range(devices)))
    for device, launches in found.items():
        demand_equal(f"launches of device {device}", len(launches), device + 1 + (device == 0))
        squares = [record["launch"] for record in launches if "square" in record["kernel"]]
        demand_equal(f"numbers of launches of device {device}", squares, sorted(set(squares)))
    demand_equal("counts", collections.Counter((device, record["results"]["thread_instructions"])
                                               for device, launches in found.items() for record in launches), own)


def check_wrong_numbers(build, program):
    for value in ("0", "17", "two", "-1", "2x"):
        run = build.run(program, environment={"LYNXPP_CPU_DEVICES": value})
        demand_equal(f"output with {value}", run.stdout, expected_output(1))
        expect(f"'{value}' is not a valid LYNXPP_CPU_DEVICES" in run.stderr and "LYNXPP_CPU_DEVICES" in run.stderr, f"it is not reported\n{run}")


def main():
    build = Build(sys.argv[1])
    program = build.examples / "tests/devices"
    if not program.exists():
        print(f"SKIP: {program} is not built")
        sys.exit(77)
    for devices in (1, 2, 5, 16):
        check_devices(build, program, devices)
    check_wrong_numbers(build, program)


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
