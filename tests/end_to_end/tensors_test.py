"""Tensor maps and tensor copies on the cpu device: output is right, plain and instrumented, and checks find nothing.

usage: tensors_test.py BUILD_FOLDER
"""
import sys

from harness import Build, TestFailure, demand_equal

EXPECTED = b"increment: right\ntranspose: right\nadd: right\nchanged map: right\n"


def main():
    build = Build(sys.argv[1])
    program = build.examples / "tests/tensors"
    if not program.exists():
        print(f"SKIP: {program} is not built")
        sys.exit(77)
    native, counters = build.count(program)
    demand_equal(f"output of {native}", native.stdout, EXPECTED)
    by_launch = {(line["kernel"], line["launch"]): line for line in counters}
    demand_equal("launches", len(by_launch), 4)
    for spec in ("instruction_count", "memory_efficiency", "shared_bank_conflicts"):
        run, records = build.measure(program, spec=spec)
        demand_equal(f"output of {run}", run.stdout, EXPECTED)
        demand_equal(f"launches of {spec}", sorted(records.by_launch()), sorted(by_launch))
    check_boxes(build.measure(program, spec="async_operations")[1], by_launch)


def check_boxes(records, by_launch):
    """Boxes are known by the maps among the parameters, not by those in constant memory or that the kernel changes."""
    for (kernel, launch), record in records.by_launch().items():
        results = record["results"]
        tensor = [site["tensor"] for site in by_launch[kernel, launch]["sites"] if "tensor" in site]
        copies, size = (sum(each[name] for each in tensor) for name in ("copies", "bytes"))
        is_known = "increment" in kernel or "add" in kernel and "read" not in kernel
        found = sum(results[f"tensor_{kind}_bytes"] for kind in ("load", "store", "reduction"))
        demand_equal(f"{kernel}: bytes of boxes", found, size if is_known else 0)
        demand_equal(f"{kernel}: copies without bytes", results.get("tensor_copies_without_bytes", 0), 0 if is_known else copies)
        demand_equal(f"{kernel}: has tensor copies", copies > 0, True)


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
