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


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
