"""Counters of shared memory's words are in the block's own memory if there is room for all of them.

usage: crowded_test.py BUILD_FOLDER
"""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import word_checks  # noqa: E402
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

SPEC = "shared_memory_profile"
ALL, ONE_ARRAY, NONE = range(3)  # the launches of crowded.cu


def atomics(build, program, launches, **environment):
    """Returns the requests to device memory of each launch; also checks that every count is the device's."""
    with tempfile.TemporaryDirectory() as folder:
        counters = pathlib.Path(folder, "counters.jsonl")
        run, records = build.measure(program, spec=SPEC, environment={**environment, "LYNXPP_CPU_COUNTERS": str(counters)})
        expect(run.status == 0 and b"ok" in run.stdout, f"the program fails\n{run}")
        table = records.by_launch(SPEC)
        demand_equal("launches", len(table), 3)
        for each in launches:
            word_checks.CHECKS[SPEC](f"{environment}: launch {each['launch']}", table[each["kernel"], each["launch"]], each)
        return [launch["global"]["atomics"]["requests"] for launch in read_json_lines(counters)], records


def main():
    build = Build(sys.argv[1])
    program = build.examples / "tests/crowded"
    if not program.exists():
        print("skipped: no examples (they need nvcc)")
        return 77
    try:
        _, launches = build.count(program)
        found, _ = atomics(build, program, launches)
        demanded, records = atomics(build, program, launches, LYNXPP_WORDS="shared=32")
        print(f"atomic requests: {found}, demanded {demanded}")
        demand_equal("demanded", demanded, found)
        expect(found[ALL] < 2 * found[NONE], "with room for all, counters of four times more threads are not in shared memory")
        demand_equal("room for one array only", found[ONE_ARRAY], found[NONE])
        notes = [note for entry in records.coverage for note in entry.get("notes", [])]
        expect(any("instead of 32" in note for note in notes), f"no note says that an SM would hold fewer blocks: {notes}")
    except TestFailure as failure:
        print(f"FAIL: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
