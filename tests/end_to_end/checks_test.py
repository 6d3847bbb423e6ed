"""`lynxpp check-run` on programs with seeded faults: each case must report exactly the findings that its
lines name.

Arguments: the build folder, and cases unless all are wanted; or the build folder, --example, and the name of
an example program without findings, with its arguments. A line of tests/end_to_end/checks/*.cu that ends in
"// CASES: KINDS" must be reported in those cases; cases without such a line are correct programs.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import schema
from harness import Build, TestFailure, clean_environment, demand_equal, expect

SOURCES = pathlib.Path(__file__).resolve().parent / "checks"
PROGRAMS = ("memory", "race", "init", "sync", "shuffles", "calls", "ordered", "async_loads", "async_stores", "tensor_copies", "reported")
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schema/check.schema.json").read_text())


def expected_of(source):
    """Returns the cases of a program, each with the kinds and lines that it must report."""
    text = source.read_text()
    cases = {name: set() for name in re.findall(r'cases\.has\("(\w+)"\)', text)}
    for name in re.findall(r"^  (?:CLUSTER_)?PAIR\((\w+)\);", text, re.MULTILINE):
        cases |= {name: set(), f"{name}_right": set()}
    for number, line in enumerate(text.splitlines(), 1):
        code, _, comment = line.partition("  // ")
        for part in comment.split("; ") if comment and code.rstrip().endswith(";") else ():
            names, colon, kind = part.partition(": ")
            for case in names.split(", ") if colon else ():
                cases[case] |= {(each, number) for each in kind.split(", ")}
    return cases


def check_run(build, program, *arguments, options=()):
    """Returns how `lynxpp check-run` ended, and the objects that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "findings.jsonl")
        command = [build.command, "check-run", "-o", output, *options, "--", program, *arguments]
        ended = subprocess.run(list(map(str, command)), env=clean_environment(), capture_output=True, timeout=300)
        lines = output.read_text().splitlines() if output.exists() else []
        return ended, [json.loads(line) for line in lines]


def describe(ended):
    return ended.stdout.decode() + ended.stderr.decode()


def line_of(place, program):
    return place["source_line"] if place.get("source_file", "").endswith(f"/{program}.cu") else None


def check_case(build, program, case, expected):
    ended, objects = check_run(build, build.examples / "tests" / f"check_{program}", case)
    found = {(each["kind"], line_of(each["place"], program)) for each in objects if each["type"] == "finding"}
    if found != expected:
        raise TestFailure(f"{program} {case}: found {sorted(found, key=str)}, expected {sorted(expected, key=str)}\n"
                          + describe(ended))
    check_objects(objects)
    for each in objects:
        if each["type"] == "finding":
            expect(f"{each['class']}: {each['message']}\n" in ended.stderr.decode(), describe(ended))
            expect(each["message"].startswith(each["kind"] + " in kernel"), each["message"])


def check_objects(objects):
    if schema.jsonschema is not None:
        for each in objects:
            schema.jsonschema.Draft202012Validator(SCHEMA).validate(each)
    demand_equal("summary", objects[-1]["findings"], len(objects) - 1)
    for of_class, plural in (("error", "errors"), ("hazard", "hazards"), ("warning", "warnings")):
        demand_equal(plural, objects[-1][plural], sum(each.get("class") == of_class for each in objects))


def check_texts(build):
    """Checks the text of a finding: which thread, where, and what is at the address."""
    memory = build.examples / "tests" / "check_memory"
    ended, objects = check_run(build, memory, "behind_end")
    place = objects[0]["place"]
    demand_equal("block", place["block"], [3, 0, 0])
    demand_equal("thread", place["thread"], [4, 0, 0])
    demand_equal("count", objects[0]["count"], 1)
    expect("just past the end of 400 bytes" in objects[0]["detail"], objects[0]["detail"])
    expect(ended.stdout.decode().strip() == "cudaErrorIllegalAddress", describe(ended))
    _, objects = check_run(build, memory, "behind_shared_array")
    expect("of shared array" in objects[0]["detail"], objects[0]["detail"])
    demand_equal("count of lanes", objects[0]["count"], 4)
    _, objects = check_run(build, memory, "after_free")
    expect("of freed memory" in objects[0]["detail"] and "freed by" in objects[0]["detail"], objects[0]["detail"])
    _, objects = check_run(build, build.examples / "tests" / "check_race", "missing_barrier")
    race = next(each for each in objects if each.get("kind") == "race")
    _, objects = check_run(build, build.examples / "tests" / "check_race", "lanes_write_one_place")
    expect(objects[0]["detail"].startswith("lanes of a warp store different values there at once"), objects[0]["detail"])
    # The warps may come in either order.
    opcodes = {race["place"]["opcode"][:9], race["other"]["opcode"][:9]}
    demand_equal("accesses", opcodes, {"ld.shared", "st.shared"})
    expect("shared array" in race["place"]["action"], str(race))


def line_with(text):
    """Returns the number of the line of calls.cu that contains a text."""
    lines = (SOURCES / "calls.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def check_stacks(build):
    """Findings have their callers, inlined or not, innermost first."""
    program = build.examples / "tests" / "check_calls"
    for case, expected in (("called_from_inlined", (("store(int*", "called_from_inlined: out"), ("store_twice(int*", "store(array, i);"),
                                                    ("called_from_inlined(int*", "void called_from_inlined"))),
                           ("inlined_twice", (("load(int const*", "inlined_twice: out"), ("load_next(int const*", "int load_next"),
                                              ("inlined_twice(int const*", "= load_next("))),
                           ("barrier_in_call", (("wait(int*", "barrier_in_call: div"), ("barrier_in_call(int*", "wait(array);")))):
        ended, objects = check_run(build, program, case)
        stack = objects[0]["place"]["stack"]
        lines = [line_with(text) for _, text in expected]
        demand_equal(f"{case}: lines", [each["source_line"] for each in stack], lines)
        text = ended.stderr.decode()
        for number, ((function, _), line) in enumerate(zip(expected, lines)):
            found = re.search(rf"^    (.*) {re.escape(function)}.*calls\.cu:{line}\)$", text, re.MULTILINE)
            expect(found and found[1] == ("at" if number == 0 else "called from"), f"{case}: {function}\n{text}")
    ended, objects = check_run(build, program, "recursive")
    place = objects[0]["place"]
    demand_equal("frames of a recursive function", (len(place["stack"]), place["omitted_frames"]), (16, 42 - 16))
    expect("recursive" in place["stack"][-1]["function"], str(place))
    expect("\n    called through 26 more frames\n    called from recursive(int*, int, int) (" in ended.stderr.decode(), describe(ended))


def check_shuffle_texts(build):
    """Checks the explanations of shuffles from inactive lanes."""
    program = build.examples / "tests" / "check_shuffles"
    for case, words in (("sum_after_return", "reads lane 16, which has exited: the value is undefined"),
                        ("short_block", "reads lane 16, which the block of 40 threads does not have"),
                        ("keeps_all_sums", "does not execute the shuffle"),
                        ("one_is_used", "1 error in 1 launch")):
        ended, _ = check_run(build, program, case)
        expect(words in ended.stderr.decode(), f"{case}: '{words}' is missing\n" + describe(ended))
    _, objects = check_run(build, program, "sum_after_return", options=["--checks", "memory,race,init"])
    demand_equal("shuffles without sync", [each["type"] for each in objects], ["summary"])


def check_waits(build):
    """Checks the text about barriers at which warps wait forever, and about those that a warp skipped."""
    sync = build.examples / "tests" / "check_sync"
    for case, words in (("arrives_twice", ("warp 1 of block (0, 0, 0) waits forever at barrier 1, ", "32 of 64 threads have arrived",
                                           "warp 0 arrived twice between two waits", "warp 0 has exited")),
                        ("different_barriers", ("warp 0 of block (0, 0, 0) waits forever at barrier 1, ", "32 of 64 threads have arrived",
                                                "warp 1 waits at barrier 2, ")),
                        ("endless_object", ("waits forever at the mbarrier at shared array", "32 of 64 arrivals missing",
                                            "warps 0 to 1 wait at the mbarrier")),
                        ("skipped_by_a_warp", ("warp 1 of the block continues without it", "barrier 0 completed because warp 1 had exited"))):
        ended, objects = check_run(build, sync, case)
        for word in words:
            expect(word in ended.stderr.decode(), f"{case}: '{word}' is missing\n" + describe(ended))
        if case == "skipped_by_a_warp":
            expect(objects[0]["other"]["source_line"] == objects[0]["place"]["source_line"] + 1, str(objects))
            continue
        if case == "endless_object":
            continue  # only checked launches know that no thread will arrive
        ran = build.run(sync, case)
        expect(words[0] in ran.stderr and words[1] in ran.stderr, f"without checks {case}: {ran}")
    for case, number in (("interrupted", signal.SIGINT), ("terminated", signal.SIGTERM)):
        ended, objects = check_run(build, sync, case)
        demand_equal(f"status of {case}", ended.returncode, 128 + number)
        demand_equal(f"findings of {case}", objects[-1]["findings"], 1)
        expect(b"the program continued" not in ended.stdout, describe(ended))
        expect("launched no kernel" not in ended.stderr.decode(), describe(ended))
        expect("was interrupted; in block (0, 0, 0) warp 0 is at " in ended.stderr.decode(), describe(ended))


def check_async_texts(build):
    """Checks the explanations of findings about asynchronous operations."""
    for program, case, words in (
            ("async_loads", "wrong_parity", ("the copy completes phase 0 (parity 0) of the mbarrier at shared array",
                                       "for parity 1 returned because of the phase before")),
            ("async_loads", "one_group_short", ("an asynchronous copy to shared array", "no cp.async.wait_group has waited")),
            ("async_loads", "no_commit", ("the copy is in no group", "cp.async.commit_group and a wait, or cp.async.wait_all, are missing")),
            ("async_loads", "library_refill", ("the async proxy may write before the generic proxy has read",
                                               "the library's copy has no such fence")),
            ("async_loads", "no_barrier_after_wait", ("has waited for it, but nothing orders the two threads",)),
            ("async_loads", "arrival_is_missing", ("1 of 64 arrivals missing", "arrivals in phase 0: ", "31 by warp 0 at ",
                                             "32 by warp 1 at ")),
            ("async_stores", "no_proxy_fence", ("fence.proxy.async is missing", "after a store of 4 bytes to shared array")),
            ("async_stores", "result_of_read_wait", ("wait_group.read waits only until the copy has read its source",)),
            ("async_stores", "peer_arrives_less", ("in block (1, 0, 0) ", "32 by warp 0 of block 1 at ")),
            ("tensor_copies", "load_halo", ("a tensor copy from or to the tensor of the map at 0x", "coordinate 0 is -1, but a box of elements of 4 bytes "
                                      "begins at a multiple of 16 bytes; the nearest coordinates are -4 and 0")),
            ("reported", "transformer_engine_amax", ("the async proxy may write before the generic proxy has read", "after a load of 4 bytes")),
            ("reported", "vllm_epilogue", ("waits forever at barrier 1, ", "warp 0 arrived 3 times between two waits")),
            ("reported", "cutracer_late_wait", ("for which the thread has not waited",))):
        ended, _ = check_run(build, build.examples / "tests" / f"check_{program}", case)
        for word in words:
            expect(word in ended.stderr.decode(), f"{case}: '{word}' is missing\n" + describe(ended))


def check_tensor_starts(build):
    """A box that begins between multiples of 16 bytes is an illegal instruction, with and without checks."""
    program = build.examples / "tests" / "check_tensor_copies"
    for case in (each for each, kinds in expected_of(SOURCES / "tensor_copies.cu").items() if kinds):
        ran = build.run(program, case)
        demand_equal(f"{case}: output", ran.stdout, b"cudaErrorIllegalInstruction\n")
        expect("the nearest coordinates are" in ran.stderr, f"{case}: {ran.stderr}")
        ended, _ = check_run(build, program, case)
        demand_equal(f"{case}: output with checks", ended.stdout, ran.stdout)
        ran = build.run(program, f"{case}_right")
        demand_equal(f"{case}_right: output", ran.stdout, b"cudaSuccess\n")


def check_driver_api(build):
    """Findings in programs that use the driver API are reported, however the programs end."""
    folder = pathlib.Path(__file__).resolve().parent / "forks"
    for how in ("outside", "outside_exit"):
        ended, objects = check_run(build, sys.executable, folder / "driver_program.py", how, folder / "work.ptx",
                                   options=["--error-exit", "7"])
        demand_equal("exit code", ended.returncode, 7)
        demand_equal("output", ended.stdout, b"700\n")
        demand_equal("kinds", [each.get("kind") for each in objects], ["out of bounds", None])
        expect("launched no kernel" not in ended.stderr.decode(), describe(ended))


def found_in(objects, program):
    return {(each["kind"], line_of(each["place"], program)) for each in objects if each["type"] == "finding"}


def check_orders(build, schedules=16):
    """The faults of orders.cu appear in some orders, never in order 1, and are reproduced by their seeds; their twins
    have no finding in any order."""
    program = build.examples / "tests" / "check_orders"
    for case, expected in expected_of(SOURCES / "orders.cu").items():
        plain, objects = check_run(build, program, case)
        demand_equal(f"{case}: findings in order 1", [each["type"] for each in objects], ["summary"])
        ended, objects = check_run(build, program, case, options=["--schedules", schedules])
        check_objects(objects)
        demand_equal(f"{case}: output", ended.stdout, plain.stdout)
        found = found_in(objects, "orders")
        if not expected:
            demand_equal(case, found, set())
            demand_equal(case, objects[-1].get("unexplored"), None)
        expect(expected <= found, f"{case}: found {found}, expected {expected}\n" + describe(ended))
        for each in objects[:-1]:
            orders = each["orders"]
            expect(1 < orders["seed"] <= schedules and orders["found"] < orders["judged"] == schedules, str(each))
            seed = orders["seed"]
            again, repeated = check_run(build, program, case, options=["--seed", seed])
            demand_equal(f"{case}: output with --seed {seed}", again.stdout, plain.stdout)
            expect(found_in([each], "orders") <= found_in(repeated, "orders"),
                   f"{case}: --seed {seed} does not reproduce {each}\n" + describe(again))
            expect(f"--seed {seed} reproduces it" in ended.stderr.decode(), describe(ended))
            expect(len(orders["deviations"]) <= 4, f"{case}: not reduced: {orders}")


def check_right_programs_in_orders(build):
    """Correct programs have no finding in any order, and the memory of order 1."""
    for program in PROGRAMS:
        for case, expected in expected_of(SOURCES / f"{program}.cu").items():
            if expected:
                continue
            path = build.examples / "tests" / f"check_{program}"
            plain, _ = check_run(build, path, case)
            ended, objects = check_run(build, path, case, options=["--schedules", 4])
            demand_equal(f"{program} {case}", [each for each in objects if each["type"] != "summary"], [])
            demand_equal(f"{program} {case}: output", ended.stdout, plain.stdout)


def check_unrolled(build):
    """Copies of an unrolled loop's accesses form one finding."""
    _, objects = check_run(build, build.examples / "tests" / "check_race", "unrolled")
    races = [each for each in objects if each.get("kind") == "race"]
    demand_equal("findings", len(races), 2)
    for race in races:
        expect(race.get("instructions", 1) == 4 and race["count"] >= 4 * 64, str(race))


def check_options(build):
    memory = build.examples / "tests" / "check_memory"
    ended, _ = check_run(build, memory, "behind_end", options=["--error-exit", "7"])
    demand_equal("exit code with a finding", ended.returncode, 7)
    ended, _ = check_run(build, memory, "correct", options=["--error-exit", "7"])
    demand_equal("exit code without one", ended.returncode, 0)
    expect("no findings in 1 launch" in ended.stderr.decode(), describe(ended))
    _, objects = check_run(build, build.examples / "tests" / "check_race", "missing_barrier",
                           options=["--checks", "memory,sync"])
    demand_equal("a check that is not requested", [each["type"] for each in objects], ["summary"])
    _, objects = check_run(build, memory, "correct", options=["--checks", "leak"])
    demand_equal("leaks", sorted((each["type"], each.get("bytes", 0)) for each in objects),
                 [("leak", 256), ("leak", 400), ("summary", 0)])
    check_objects(objects)
    ended, _ = check_run(build, memory, "correct", options=["--checks", "memroy"])
    demand_equal("exit code for an unknown check", ended.returncode, 2)
    # Without the check, the fault ends the launch as usual.
    ended, objects = check_run(build, memory, "two_places", options=["--checks", "race"])
    demand_equal("a fault that is not checked", [each["type"] for each in objects], ["summary"])
    expect(ended.stdout.decode().strip() == "cudaErrorIllegalAddress", describe(ended))


# bfs reads levels without ordering against the atomic operations that set them. It searches for the previous
# level, which no thread sets any more.
EXPLAINED = {"bfs": {("race", "visit_level")}}


def check_example(build, name, arguments):
    program = build.examples / name
    if not program.exists():
        print(f"skipped: {program} was not built")
        return 77
    ended, objects = check_run(build, program, *arguments)
    print(describe(ended))
    again, in_orders = check_run(build, program, *arguments, options=["--schedules", 4])
    print(describe(again))
    demand_equal("findings in 4 orders", {each["kind"] for each in in_orders[:-1]}, {each["kind"] for each in objects[:-1]})
    demand_equal("exit status of 4 orders", again.returncode, ended.returncode)
    found = {(each["kind"], "visit_level" if "visit_level" in each["kernel"] else each["kernel"]) for each in objects[:-1]}
    return 0 if ended.returncode == 0 and objects and found == EXPLAINED.get(name, set()) else 1


def main():
    build = Build(sys.argv[1])
    if sys.argv[2:3] == ["--example"]:
        return check_example(build, sys.argv[3], sys.argv[4:])
    if not (build.examples / "tests" / "check_race").exists():
        print("skipped: the programs were not built, because nvcc is missing")
        return 77
    wanted = sys.argv[2:]
    failures = []
    count = 0
    for program in PROGRAMS:
        for case, expected in expected_of(SOURCES / f"{program}.cu").items():
            if wanted and case not in wanted:
                continue
            count += 1
            try:
                check_case(build, program, case, expected)
            except TestFailure as failure:
                failures.append(str(failure))
    if not wanted:
        for check in (check_texts, check_stacks, check_shuffle_texts, check_waits, check_async_texts, check_tensor_starts, check_orders, check_right_programs_in_orders, check_unrolled,
                      check_driver_api, check_options):
            try:
                check(build)
            except TestFailure as failure:
                failures.append(f"{check.__name__}: {failure}")
    print("\n".join(failures) or f"{count} cases: each reported its expected findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
