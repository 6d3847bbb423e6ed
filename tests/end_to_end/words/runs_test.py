"""Words accessed in loops are counted after the loops until a launch shows that the loops are short
(engine::word_runs_pay), or always if each thread has space to record them; measured by the warp instructions
of a kernel's launches.

usage: runs_test.py BUILD_FOLDER
"""
import collections
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

BUILD = Build(sys.argv[1])


def instructions(app, without=""):
    """Returns {kernel: [warp instructions of each launch]} and {(kernel, launch): record}."""
    with tempfile.TemporaryDirectory() as folder:
        counters = pathlib.Path(folder, "counters.jsonl")
        run, records = BUILD.measure(BUILD.examples / app, spec="device_memory_profile",
                                     environment={"EXAMPLE_REPEAT": "8", "LYNXPP_CPU_COUNTERS": str(counters), "LYNXPP_WITHOUT": without})
        expect(run.status == 0, f"{app} fails\n{run}")
        launches = collections.defaultdict(dict)
        for launch in read_json_lines(counters):
            launches[launch["kernel"]][launch["launch"]] = launch["warp_instructions"]
    table = records.by_launch("device_memory_profile")
    return {kernel: [each[number] for number in sorted(each)] for kernel, each in launches.items()}, table


def counts_of(record):
    return {key: value for key, value in record.items() if key in ("results", "values", "notes", "arrays")}


def check_short_loops():
    """Rows of four elements, a few of 60 to 100: the first launch has runs, the last ones have none, after
    its results arrived."""
    learned, records = instructions("spmv", "loop_records")
    without, plain = instructions("spmv", "loop_records,word_runs")
    for kernel, launches in without.items():
        expect(learned[kernel][0] != launches[0], f"{kernel}: the first launch is counted without runs")
        demand_equal(f"{kernel}: the last launch", learned[kernel][-1], launches[-1])
    demand_equal("launches", sorted(records), sorted(plain))
    for launch, record in records.items():
        expect(counts_of(record), f"{launch}: no results in {sorted(record)}")
        demand_equal(f"{launch}: results", counts_of(record), counts_of(plain[launch]))


def check_places():
    """A store before a loop and one after it cost less than counting, even if rows are short."""
    placed, records = instructions("spmv")
    without, plain = instructions("spmv", "loop_records,word_runs")
    kernel = next(each for each in placed if "thread_per_row" in each)
    demand_equal(f"{kernel}: kinds of launches", len(set(placed[kernel])), 1)
    expect(placed[kernel][0] < 0.9 * without[kernel][-1], f"{kernel}: {placed[kernel]} with records, {without[kernel]} without")
    for launch, record in records.items():
        demand_equal(f"{launch}: results", counts_of(record), counts_of(plain[launch]))


def check_long_loops():
    """Equal launches of a kernel that goes through long lines stay as they are, and need less than without runs."""
    learned, _ = instructions("cocluster")
    without, _ = instructions("cocluster", "word_runs")
    assign = next(kernel for kernel in learned if "assign" in kernel)
    expect(sum(learned[assign]) < 0.8 * sum(without[assign]), f"{learned[assign]} with runs, {without[assign]} without")


if __name__ == "__main__":
    try:
        check_short_loops()
        check_places()
        check_long_loops()
    except TestFailure as failure:
        sys.exit(f"FAILED: {failure}")
