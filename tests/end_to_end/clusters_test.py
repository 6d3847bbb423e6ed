"""Kernels launched in thread block clusters on the cpu device: output is the same when instrumented, and
counts equal the device's, instruction by instruction.

usage: clusters_test.py BUILD_FOLDER
"""
import sys

import site_checks
from harness import Build, TestFailure, demand_equal, expect

EXPECTED = b"clusters of 2: right\nclusters of 8: right\nring: right\n"
SPECS = ("branch_divergence", "memory_efficiency", "shared_bank_conflicts")


def main():
    build = Build(sys.argv[1])
    program = build.examples / "tests/clusters"
    if not program.exists():
        print(f"SKIP: {program} is not built")
        sys.exit(77)
    native, counters = build.count(program)
    demand_equal(f"output of {native}", native.stdout, EXPECTED)
    by_launch = {(line["kernel"], line["launch"]): line for line in counters}
    demand_equal("launches", len(by_launch), 3)
    for spec in ("instruction_count", *SPECS):
        run, records = build.measure(program, spec=spec)
        demand_equal(f"output of {run}", run.stdout, EXPECTED)
        found = records.by_launch()
        demand_equal(f"launches of {spec}", sorted(found), sorted(by_launch))
        for key, record in found.items():
            launch, what = by_launch[key], f"{spec} of {key}"
            if spec in SPECS:
                site_checks.CHECKS[spec](what, record, launch, site_checks.Sites(records.sites_of(record)))
                continue
            for name in ("thread_instructions", "warp_instructions"):
                demand_equal(f"{what}: {name}", record["results"][name], launch[name])
    expect(any(".shared::cluster" in site["opcode"] or site["opcode"].startswith("mapa") for line in counters
               for site in line["sites"]), "no instruction accesses another block's memory")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
