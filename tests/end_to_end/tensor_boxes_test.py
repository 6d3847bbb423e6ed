"""Bytes of tensor copies, through `lynxpp run`: programs/tensor_boxes.py has maps among the parameters and elsewhere,
and launches that differ only in their box. The bytes equal closed forms and the cpu device's own counts.

usage: tensor_boxes_test.py BUILD_FOLDER
"""
import collections
import pathlib
import sys
import tempfile

from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines

PROGRAM = pathlib.Path(__file__).with_name("programs") / "tensor_boxes.py"
BLOCKS, LAUNCHES = 3, 150
SMALL, LARGE, NARROW = 2 * 64 * 2, 2 * 64 * 9, 2 * 32 * 4
# Loads, stores, their bytes, lines of 128 bytes, copies without bytes, and without lines.
EXPECTED = {
    "at_offset": (BLOCKS, 0, BLOCKS * SMALL, 2 * BLOCKS, 0, 0),
    "in_loop": (5 * BLOCKS, 0, 5 * BLOCKS * SMALL, 10 * BLOCKS, 0, 0),
    "by_lanes": (0, 32 * BLOCKS, 32 * BLOCKS * SMALL, 64 * BLOCKS, 0, 0),
    # Its rows of 64 bytes have gaps between them, because of the swizzle of 128 bytes.
    "narrow": (0, BLOCKS, BLOCKS * NARROW, 0, 0, BLOCKS),
    "in_memory": (BLOCKS, 0, 0, 0, BLOCKS, BLOCKS),
    "chosen": (BLOCKS, 0, 0, 0, BLOCKS, BLOCKS),
    "replaced": (BLOCKS, 0, BLOCKS * SMALL, 2 * BLOCKS, 0, 0),
    "changing": (0, 2 * LAUNCHES * BLOCKS, LAUNCHES * BLOCKS * (SMALL + LARGE), LAUNCHES * BLOCKS * 11, 0, 0),
    "in_graph": (0, 3 * BLOCKS, BLOCKS * (2 * SMALL + LARGE), BLOCKS * 13, 0, 0),
}


def run(build, *arguments, environment=None):
    ran = build.run(build.command, "run", "-d", "cpu", *arguments, "--", sys.executable, "-B", PROGRAM, preload=False, timeout=300, environment=environment)
    demand_equal(f"status of {ran}", ran.status, 0)
    return ran


def sums_of(records, spec):
    """Returns the sums of the results that are one number, by kernel."""
    sums = collections.defaultdict(collections.Counter)
    for record in records:
        if record.get("record") != "launch" or record["spec"] != spec:
            continue
        for name, value in record["results"].items():
            if isinstance(value, int):
                sums[record["kernel"]][name] += value
    return sums


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        counters, output = pathlib.Path(folder, "counters.jsonl"), pathlib.Path(folder, "out.jsonl")
        native = run(build, environment={"LYNXPP_CPU_COUNTERS": str(counters)})
        own = collections.Counter()
        for line in read_json_lines(counters):
            own[line["kernel"]] += sum(site.get("tensor", {}).get("bytes", 0) for site in line["sites"])
        measured = run(build, "-s", "async_operations,memory_efficiency,shared_bank_conflicts", "-o", output)
        demand_equal(f"output of {measured}", measured.stdout, native.stdout)
        lines = read_json_lines(output)
    demand_equal("kernels", native.stdout.decode().split(), list(EXPECTED))
    for entry in Records(lines).coverage:
        expect(entry["instrumented"], f"{entry['kernel']} was not instrumented: {entry.get('reason')}\n{measured}")
    operations, memory, banks = (sums_of(lines, spec) for spec in ("async_operations", "memory_efficiency", "shared_bank_conflicts"))
    for name, (loads, stores, size, wavefronts, without_bytes, without_lines) in EXPECTED.items():
        found = operations[name]
        demand_equal(f"{name}: loads and stores", (found["tensor_loads"], found["tensor_stores"]), (loads, stores))
        demand_equal(f"{name}: bytes", (found["tensor_load_bytes"], found["tensor_store_bytes"]), (size if loads else 0, size if stores else 0))
        demand_equal(f"{name}: copies without bytes", found["tensor_copies_without_bytes"], without_bytes)
        demand_equal(f"{name}: bytes of memory_efficiency", memory[name]["tensor_copy_bytes"], size)
        demand_equal(f"{name}: copies without bytes there", memory[name]["tensor_copies_without_bytes"], without_bytes)
        demand_equal(f"{name}: wavefronts", banks[name]["modelled_copy_wavefronts"], wavefronts)
        demand_equal(f"{name}: accesses without wavefronts", banks[name]["accesses_without_wavefronts"], without_lines)
        if without_bytes == 0:
            demand_equal(f"{name}: bytes by the device", own[name], size)
    shared = [line for line in lines if line.get("record") == "launch" and line["spec"] == "memory_efficiency" and "shared" in line]
    sizes = {line["results"]["tensor_copy_bytes"] / line["shared"]["launches"] for line in shared}
    demand_equal("bytes of a launch in records of several", sizes, {BLOCKS * SMALL, BLOCKS * LARGE})
    print(f"{len(EXPECTED)} kernels, {len(shared)} records of several launches")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
