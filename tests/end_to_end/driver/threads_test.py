"""Eight threads launch on thirty-two streams, on two devices: each launch runs once and has one record, which
names its device, stream and thread; a device's launches are numbered without gaps, and a thread's in order.

Arguments: the build folder, the program.
"""
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

LAUNCHES = 250
THREADS = 8
STREAMS = 32


def check_device(ordinal, devices, records):
    threads = THREADS // devices
    demand_equal(f"numbers on device {ordinal}", sorted(each["launch"] for each in records), list(range(LAUNCHES * threads)))
    demand_equal(f"threads of device {ordinal}",
                 sorted(collections.Counter(each["place"]["thread"] for each in records).values()), [LAUNCHES] * threads)
    demand_equal(f"streams of device {ordinal}", len({each["place"]["stream"] for each in records}), STREAMS // devices)
    # The launches of one thread are recorded in order.
    for thread in {each["place"]["thread"] for each in records}:
        own = [(each["launch"], each["place"]["correlation"]) for each in records if each["place"]["thread"] == thread]
        demand_equal(f"order of thread {thread}", own, sorted(own))
        expect([number for _, number in own] == sorted(number for _, number in own), f"correlation of thread {thread}")


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "records.jsonl")
        run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--per-launch", "--", sys.argv[2], LAUNCHES,
                        preload=False, environment={"LYNXPP_CPU_DEVICES": "2"})
        demand_equal(f"status of {run}", run.status, 0)
        records = read_json_lines(output)
    devices = [tuple(map(int, line.split())) for line in run.stdout.decode().splitlines()]
    demand_equal("devices", len(devices), 2)
    launches = [each for each in records if each["record"] == "launch"]
    for ordinal, (launched, counted) in enumerate(devices):
        # In each of two thread blocks, thread 0 counts.
        demand_equal(f"how often the kernel ran on device {ordinal}", counted, 2 * launched)
        check_device(ordinal, len(devices), [each for each in launches if each["place"]["ordinal"] == ordinal])
    demand_equal("correlations", len({each["place"]["correlation"] for each in launches}), LAUNCHES * THREADS)
    demand_equal("results", len({str(sorted(each["results"].items())) for each in launches}), 1)
    coverage = [(each["launches"], each["instrumented_launches"], each["notes"]) for each in records if each["record"] == "coverage"]
    demand_equal("coverage", coverage, [(LAUNCHES * THREADS, LAUNCHES * THREADS, [])])
    print(f"{len(launches)} launches on {len(devices)} devices")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
