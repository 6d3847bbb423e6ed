#!/usr/bin/env python3
"""The end-to-end tests: real programs under the real preload library on the cpu device.

usage: end_to_end.py --build FOLDER native APP            a run without a specification; keeps its output and the device's counters
       end_to_end.py --build FOLDER spec APP SPEC [--wide] [NAME=VALUE…]  the same program instrumented, with these variables: same output, correct
                                                          counts; --wide: with 64-bit counters
       end_to_end.py --build FOLDER tiers APP           the program in plain mode, in every tier of the cpu device: same output
       end_to_end.py --build FOLDER bench APP             checks `lynxpp bench` of the program
       end_to_end.py --build FOLDER failure NAME          one kind of failure, see failures.py
       end_to_end.py --build FOLDER list-failures

Exit status: 0 success, 1 a check failed, 77 a prerequisite is missing (the reason follows "SKIP:").
"""
import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile

import failures
import fault_failures  # noqa: F401 - registers its tests
import place_checks
import run_failures  # noqa: F401 - registers its tests
import site_checks
import word_checks
from harness import Build, TestFailure, demand_equal, expect, product, values


def app_path(build, app):
    path = build.examples / app
    if not path.exists():
        print(f"SKIP: {path.name} was not built (no nvcc when the build was configured)")
        sys.exit(77)
    return path


def baseline_file(build, app):
    return build.folder / "tests" / "end_to_end" / "baseline" / f"{app}.json"


def check_native(build, app):
    """Keeps the program's output and the counters, after checking that the counters are consistent."""
    run, counters = build.count(app_path(build, app))
    expect(run.status == 0, f"the program failed\n{run}")
    expect(run.stdout.decode().splitlines()[-1].startswith(f"{app}: ok, checksum 0x"), f"the output is not that of a good run\n{run}")
    expect(len(counters) > 0, f"no counters were written\n{run}")
    kernels = {launch["kernel"] for launch in counters}
    for kernel in kernels:
        # Launches of several host threads may be written in a different order than they were numbered.
        indices = sorted(launch["launch"] for launch in counters if launch["kernel"] == kernel)
        demand_equal(f"{kernel}: launch indices", indices, list(range(len(indices))))
    for launch in counters:
        kernel = launch["kernel"]
        for total in ("thread_instructions", "warp_instructions"):
            demand_equal(f"{kernel} {total}: sum over the blocks", sum(block[total] for block in launch["blocks"]), launch[total])
        expect(launch["warp_instructions"] > 0, f"{kernel}: no instructions")
        expect(launch["thread_instructions"] <= 32 * launch["warp_instructions"], f"{kernel}: more than 32 lanes in a warp: {launch}")
        for block in launch["blocks"]:
            demand_equal(f"{kernel} block {block['block']}: warp instructions", block["warp_instructions"],
                         block["warp_executions"] * block["instructions"])
            expect(block["warp_executions"] <= block["thread_executions"] <= 32 * block["warp_executions"], f"{kernel}: {block}")
    file = baseline_file(build, app)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"stdout": run.stdout.decode(), "counters": counters}))
    print(f"{app}: {len(counters)} launches of {len(kernels)} kernels")


def check_scalar_total(what, record, name, expected):
    expect(name in record["results"], f"{what}: no result {name}, only {', '.join(record['results'])}")
    result = record["results"][name]
    expect(not isinstance(result, dict), f"{what}: {name} is an array")
    demand_equal(f"{what}: {name}", result, expected)


def check_array(what, record, name, extents, total):
    """Checks the extents and the sum of an array result."""
    expect(name in record["results"], f"{what}: no result {name}, only {', '.join(record['results'])}")
    result = record["results"][name]
    expect(isinstance(result, dict), f"{what}: {name} is not an array")
    demand_equal(f"{what}: extents of {name}", result["extents"], extents)
    demand_equal(f"{what}: elements of {name}", len(result["values"]), product(extents))
    demand_equal(f"{what}: sum of {name}", sum(result["values"]), total)


def threads(launch):
    return product(launch["grid"]) * product(launch["block"])


def warps(launch):
    return product(launch["grid"]) * -(-product(launch["block"]) // 32)


def check_instruction_count(what, record, launch):
    for name in ("thread_instructions", "warp_instructions"):
        check_scalar_total(what, record, name, launch[name])
    site_checks.check_tensor_cores(what, record, launch)


def check_per_thread(what, record, launch):
    check_array(what, record, "thread_instructions", [threads(launch)], launch["thread_instructions"])
    check_scalar_total(what, record, "total_thread_instructions", launch["thread_instructions"])


def check_per_warp(what, record, launch):
    check_array(what, record, "warp_instructions", [warps(launch)], launch["warp_instructions"])
    check_scalar_total(what, record, "total_warp_instructions", launch["warp_instructions"])


def check_basic_block_count(what, record, launch):
    """Compares the executions of all blocks as a multiset: the numbering of blocks over several functions is
    the engine's."""
    for name in ("thread_executions", "warp_executions"):
        expected = sorted(block[name] for block in launch["blocks"] if block[name] > 0)
        found = sorted(value for value in values(record["results"][name]) if value > 0)
        demand_equal(f"{what}: {name} of the blocks", found, expected)


def check_kernel_runtime(what, record, launch):
    blocks, results = product(launch["grid"]), record["results"]
    demand_equal(f"{what}: blocks of the distribution", sum(values(results["distribution"])), blocks)
    demand_equal(f"{what}: cycles of all SMs over blocks", sum(values(results["load"])) / blocks, results["mean_cycles"])
    longest = max(i for i, n in enumerate(values(results["distribution"])) if n != 0)
    expect(2 ** longest <= results["max_cycles"] < 2 ** (longest + 1), f"{what}: the longest block is not in bin {longest}")


def check_block_runtime(what, record, launch):
    blocks = product(launch["grid"])
    for name in ("cycles", "sm"):
        demand_equal(f"{what}: extents of {name}", record["results"][name]["extents"], [blocks])
    expect(all(value > 0 for value in record["results"]["cycles"]["values"]), f"{what}: a thread block took no time")


CHECKS = {
    "instruction_count": check_instruction_count,
    "instruction_count_per_thread": check_per_thread,
    "instruction_count_per_warp": check_per_warp,
    "basic_block_count": check_basic_block_count,
    "kernel_runtime": check_kernel_runtime,
    "block_runtime": check_block_runtime,
}


def measure_wide(build, program, spec):
    """Same as Build.measure, with 64-bit counters, which the variants must have. Counters in shared memory
    always have 32 bits."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"LYNXPP_WIDE_COUNTERS": "1", "LYNXPP_WORDS": "global", "LYNXPP_DUMP": folder}
        run, records = build.measure(program, spec=spec, environment=environment)
        variants = [file.read_text() for file in pathlib.Path(folder).glob("*.instrumented.ptx")]
    adds = {width: any(re.search(rf"add\.u{width} (%lynxpp_r[d]?\d+), \1,", text) for text in variants) for width in (32, 64)}
    expect(adds[64], f"no variant has wide counters\n{run}")
    expect(not adds[32], f"a variant has narrow counters\n{run}")
    return run, records


def check_schema(records):
    """Called only if several specifications are measured together, because jsonschema is slow; alone, each
    writes the same records."""
    import schema
    for record in records.all if schema.jsonschema else ():
        complaint = schema.complaint(record)
        expect(not complaint, f"a record does not follow docs/schema/records.schema.json: {complaint}")


# Several host threads allocate and launch.
THREADED = {"streams"}


def check_spec(build, app, spec, wide, environment):
    """`spec` may be a list separated by commas."""
    file = baseline_file(build, app)
    expect(file.exists(), f"run the test end_to_end.{app}.native first: {file} is missing")
    baseline = json.loads(file.read_text())
    program = app_path(build, app)
    run, records = measure_wide(build, program, spec) if wide else build.measure(program, spec=spec, environment=environment)
    expect(run.status == 0, f"the instrumented program failed\n{run}")
    expect(run.stdout.decode() == baseline["stdout"], f"the output differs from the uninstrumented run's\n{baseline['stdout']}\n{run}")

    if "," in spec:
        check_schema(records)
    kernels = {launch["kernel"] for launch in baseline["counters"]}
    demand_equal("kernels with a coverage record", {entry["kernel"] for entry in records.coverage}, kernels)
    for entry in records.coverage:
        expect(entry["instrumented"], f"{entry['kernel']} was not instrumented: {entry.get('reason')}\n{run}")
        demand_equal(f"{entry['kernel']}: launches", entry["launches"],
                     sum(launch["kernel"] == entry["kernel"] for launch in baseline["counters"]))
    for name in spec.split(","):
        table = records.by_launch(name)
        demand_equal(f"launches with a record of {name}", sorted(table),
                     sorted((launch["kernel"], launch["launch"]) for launch in baseline["counters"]))
        for launch in baseline["counters"]:
            what = f"{launch['kernel']} launch {launch['launch']}"
            record = table[(launch["kernel"], launch["launch"])]
            demand_equal(f"{what}: grid", record["grid"], launch["grid"])
            demand_equal(f"{what}: block", record["block"], launch["block"])
            expect(record["results"] or name in word_checks.CHECKS, f"{what}: no results of {name}")
            if name in CHECKS:
                CHECKS[name](what, record, launch)
            if name in site_checks.CHECKS:
                site_checks.CHECKS[name](what, record, launch, site_checks.Sites(records.sites_of(record)))
            if name in place_checks.CHECKS:
                has_sites = name not in ("warp_timeline", "hang_location")
                place_checks.CHECKS[name](what, record, launch, site_checks.Sites(records.sites_of(record)) if has_sites else None)
            if name in word_checks.CHECKS and not (app in THREADED and name == "device_memory_profile"):
                word_checks.CHECKS[name](what, record, launch)
            if (app, name) == ("jacobi", "shared_memory_profile"):
                word_checks.check_jacobi_ranges(what, record, launch["kernel"])
        if app in THREADED and name == "device_memory_profile":
            word_checks.check_device_of_any("arrays of all launches", table.values(), baseline["counters"])
    if spec == "shared_memory_profile":
        check_every_word(build, program, baseline, environment)
    print(f"{app} with {spec}: {len(records.launches)} records, output unchanged")


def check_every_word(build, program, baseline, environment):
    run, records = build.measure(program, spec=pathlib.Path(__file__).with_name("shared_words.cod"), environment=environment)
    expect(run.status == 0, f"the instrumented program failed\n{run}")
    table = records.by_launch("shared_words")
    for launch in baseline["counters"]:
        key = (launch["kernel"], launch["launch"])
        word_checks.check_shared_words(f"{key[0]} launch {key[1]}", table[key], launch)


TIERS = ("forms", "blocks", "segments", "regions")


def check_tiers(build, app):
    """Runs in the default mode: nothing is counted or checked, and code is compiled if it runs often."""
    program = app_path(build, app)
    plain = build.run(build.command, "run", "-d", "cpu", "--", program, preload=False)
    expect(plain.status == 0, f"the program failed\n{plain}")
    file = baseline_file(build, app)
    if file.exists():
        demand_equal("output compared with that of the counted run", plain.stdout.decode(), json.loads(file.read_text())["stdout"])
    for tier in TIERS:
        run = build.run(build.command, "run", "-d", "cpu", "--", program, preload=False, environment={"LYNXPP_CPU_TIER": tier})
        expect(run.status == 0 and run.stdout == plain.stdout, f"the output differs from that of the default tier\n{plain}\n{run}")
    print(f"{app}: the same output in {1 + len(TIERS)} tiers")


def check_bench(build, app):
    """Every launch is timed both ways, and the program's results are unchanged."""
    baseline = json.loads(baseline_file(build, app).read_text())
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "bench.json")
        run = build.run(build.command, "bench", "-d", "cpu", "-r", 2, "-s", "instruction_count", "-s", "kernel_runtime,basic_block_count",
                        "-o", output, "--", app_path(build, app), preload=False)
        expect(run.status == 0, f"bench failed\n{run}")
        bench = json.loads(output.read_text())
    demand_equal("rounds", (bench["rounds"], bench["device"], bench["native_output_is_stable"]), (2, "cpu", True))
    demand_equal("settings", [setting["spec"] for setting in bench["settings"]], ["instruction_count", "kernel_runtime,basic_block_count"])
    for setting in bench["settings"]:
        expect(setting["same_output"], f"the output changed with {setting['spec']}\n{run}")
        demand_equal("kernels without instrumentation", setting["not_instrumented"], [])
        launches = {kernel["kernel"]: kernel["launches"] for kernel in setting["kernels"]}
        wanted = collections.Counter(launch["kernel"] for launch in baseline["counters"])
        demand_equal(f"timed launches with {setting['spec']}", launches, dict(wanted))
        for kernel in setting["kernels"]:
            expect(kernel["native_ms"] > 0 and kernel["least_ratio"] <= kernel["ratio"] <= kernel["most_ratio"], f"{kernel}")
    print(run.stdout.decode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    commands = parser.add_subparsers(dest="command", required=True)
    native = commands.add_parser("native")
    native.add_argument("app")
    spec = commands.add_parser("spec")
    spec.add_argument("app")
    spec.add_argument("spec")
    spec.add_argument("--wide", action="store_true")
    spec.add_argument("variables", nargs="*", help="NAME=VALUE")
    tiers = commands.add_parser("tiers")
    tiers.add_argument("app")
    bench = commands.add_parser("bench")
    bench.add_argument("app")
    failure = commands.add_parser("failure")
    failure.add_argument("name", choices=sorted(failures.TESTS))
    commands.add_parser("list-failures")
    arguments = parser.parse_args()
    build = Build(arguments.build)
    try:
        if arguments.command == "native":
            check_native(build, arguments.app)
        elif arguments.command == "spec":
            check_spec(build, arguments.app, arguments.spec, arguments.wide, dict(variable.split("=", 1) for variable in arguments.variables))
        elif arguments.command == "tiers":
            check_tiers(build, arguments.app)
        elif arguments.command == "bench":
            check_bench(build, arguments.app)
        elif arguments.command == "failure":
            app_path(build, "vecadd")
            failures.TESTS[arguments.name](build)
        else:
            print("\n".join(sorted(failures.TESTS)))
    except TestFailure as failure:
        print(f"FAIL: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
