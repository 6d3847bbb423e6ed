"""Counts of asynchronous operations and of tensor cores, through `lynxpp run`: programs/async_kernels.py has
tensor copies of every rank and mode, elected, multicast and in partial warps, and products of every type. The
counts equal closed forms and the cpu device's own counts of the uninstrumented kernels.

usage: async_counts_test.py BUILD_FOLDER [cpu | cuda]

cuda: measures on a GPU of compute capability 9.0, and compares only with the closed forms.
"""
import collections
import pathlib
import re
import sys
import tempfile

import count_checks
from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines

PROGRAM = pathlib.Path(__file__).with_name("programs") / "async_kernels.py"
SPECS = ("instruction_count", "async_operations", "opcode_mix", "active_lanes", "memory_efficiency", "shared_bank_conflicts")
BLOCKS, THREADS = 3, 80


def run(build, device, *arguments, environment=None):
    ran = build.run(build.command, "run", "-d", device, *arguments, "--", sys.executable, "-B", PROGRAM, preload=False, timeout=300, environment=environment)
    demand_equal(f"status of {ran}", ran.status, 0)
    return ran


def expected_copies(name):
    """Returns the results of async_operations of a kernel, except for bytes of objects."""
    kind, _, rest = name.partition("_")
    copies = {"load": "tensor_loads", "column": "tensor_loads", "multicast": "tensor_loads", "store": "tensor_stores", "reduce": "tensor_reductions"}
    counts = collections.Counter()
    blocks = 2 * BLOCKS if kind == "multicast" else BLOCKS
    if kind in copies:
        counts[copies[kind]] = BLOCKS
        size = 2
        for extent in (64, 8) if kind == "column" else (64, 4, 3, 2, 2)[: int(rest[0])]:
            size *= extent
        counts[copies[kind][:-1] + "_bytes"] = BLOCKS * size
        counts["expected_bytes"] = blocks * size if copies[kind] == "tensor_loads" else 0
    if counts["expected_bytes"]:
        counts["completed_waits"] = blocks * THREADS
    if name == "small":
        counts.update(cp_async_copies=BLOCKS * THREADS, cp_async_bytes=BLOCKS * THREADS // 2 * 24)
    if name == "bulk":
        counts.update(bulk_copies=BLOCKS * 4, bulk_bytes=BLOCKS * (4096 + 1024 + 2048 + 512), expected_bytes=BLOCKS * 5120, completed_waits=BLOCKS * THREADS)
    if name == "objects":
        counts.update(mbarrier_operations=BLOCKS * (5 * THREADS + 2), waits=BLOCKS * 3 * THREADS, completed_waits=BLOCKS * 2 * THREADS)
    return counts


def expected_operands(name):
    """Returns the wavefronts of 128 bytes of the operands in shared memory: A with 64 rows, unless it is in registers, and B
    with N columns, both of 32 bytes, of a sparse B of 64."""
    shape = re.match(r"wgmma_(sparse_)?(?:\w+_)?n(\d+)_", name)
    if shape is None:
        return 0
    columns = int(shape[2])
    return BLOCKS * 3 * ((16 if columns == 8 else 0) + columns // 4 * (2 if shape[1] else 1))


COPIES = ("cp_async_copies", "cp_async_bytes", "bulk_copies", "bulk_bytes", "tensor_loads", "tensor_load_bytes", "tensor_stores", "tensor_store_bytes",
          "tensor_reductions", "tensor_reduction_bytes", "expected_bytes", "completed_waits")


def check_closed_forms(records, names):
    for name in names:
        operations = records.by_launch("async_operations")[name, 0]
        expected = expected_copies(name)
        for result in COPIES:
            demand_equal(f"{name}: {result}", operations["results"][result], expected[result])
        for result in ("mbarrier_operations", "waits") if name == "objects" else ():
            demand_equal(f"{name}: {result}", operations["results"][result], expected[result])
        work = re.search(r"_work_(\d+)$", name)
        counts = records.by_launch("instruction_count")[name, 0]
        found = {each: value for each, value in counts["results"].items() if each.startswith("tensor_")}
        types = {"e4m3": "f8", "e5m2": "f8", "s8": "int8", "u8": "int8", "s4": "int4"}
        kind = name[: work.start()].rsplit("_", 1)[-1] if work else ""
        demand_equal(f"{name}: results of tensor cores", found, {f"tensor_operations_{types.get(kind, kind)}": int(work[1])} if work else {})
        banks = records.by_launch("shared_bank_conflicts")[name, 0]
        demand_equal(f"{name}: wavefronts of operands", banks["results"].get("modelled_operand_wavefronts", 0), expected_operands(name))
        boxes = sum(expected[f"tensor_{kind}_bytes"] for kind in ("load", "store", "reduction"))
        # Copies of 4096, 1024, 2048 and 512 bytes, all aligned, or boxes, whose sizes are multiples of 128 bytes.
        demand_equal(f"{name}: wavefronts of copies", banks["results"].get("modelled_copy_wavefronts", 0),
                     BLOCKS * 60 if name == "bulk" else boxes // 128)
        memory = records.by_launch("memory_efficiency")[name, 0]
        demand_equal(f"{name}: bytes of boxes", memory["results"].get("tensor_copy_bytes", 0), boxes)
        for record in (operations, memory):
            demand_equal(f"{name}: tensor copies without bytes", record["results"].get("tensor_copies_without_bytes", 0), 0)


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        counters = pathlib.Path(folder, "counters.jsonl")
        native = run(build, "cpu", environment={"LYNXPP_CPU_COUNTERS": str(counters)})
        counted = {line["kernel"]: line for line in read_json_lines(counters)}
        names = native.stdout.decode().split()
        demand_equal("counted kernels", sorted(counted), sorted(names))
        output = pathlib.Path(folder, "out.jsonl")
        device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
        measured = run(build, device, "-s", ",".join(SPECS), "-o", output)
        demand_equal(f"output of {measured}", measured.stdout, native.stdout)
        records = Records(read_json_lines(output))
    for entry in records.coverage:
        expect(entry["instrumented"], f"{entry['kernel']} was not instrumented: {entry.get('reason')}\n{measured}")
    for record in records.launches if device == "cpu" else ():
        count_checks.check_counts(record["spec"], records, record, counted[record["kernel"]])
    check_closed_forms(records, names)
    # The box of a tensor copy, in each block that receives it, is what objects expect.
    for name in names:
        sites = counted[name]["sites"]
        lines = sum(site.get("copy_wavefronts", 0) for site in sites if "mbarrier::complete_tx" in site["opcode"])
        boxes = sum(site.get("tensor", {}).get("bytes", 0) for site in sites if "mbarrier::complete_tx" in site["opcode"])
        kinds = [expected_copies(name)[f"tensor_{kind}_bytes"] for kind in ("load", "store", "reduction")]
        demand_equal(f"{name}: bytes of all boxes", sum(site.get("tensor", {}).get("bytes", 0) for site in sites),
                     sum(kinds) * (2 if name.startswith("multicast") else 1))
        if name.startswith(("load", "column", "multicast")):
            demand_equal(f"{name}: bytes of the device's boxes", boxes, expected_copies(name)["expected_bytes"])
            demand_equal(f"{name}: lines of the device's boxes", lines, boxes // 128)
    print(f"{len(names)} kernels")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
