"""Kernels of images that a runtime API program loads itself: they run, instrumented or not, and counts equal
the device's. Images are PTX, a fatbinary, and machine code with its PTX in the debug section.

Arguments: the build folder.
"""
import sys

from harness import Build, TestFailure, demand_equal, expect

LAUNCHES = 7  # for each loaded image, which is loaded twice


def main():
    build = Build(sys.argv[1])
    program = build.examples / "tests" / "libraries"
    if not program.exists():
        print(f"SKIP: {program} is not built")
        sys.exit(77)
    images = [build.examples / "tests" / f"library_part.{kind}" for kind in ("ptx", "fatbin", "cubin")]
    native = build.run(build.command, "run", "-d", "cpu", "--", program, *images, preload=False)
    demand_equal(f"status of {native}", native.status, 0)
    last = 255 * 2 ** 6
    expected = f"last {last}, sum {sum(range(256)) * 2 ** 6 * 3}\n".encode()
    demand_equal("output", native.stdout, expected * 2 * len(images))
    counted, counters = build.count(program, *images)
    demand_equal(f"output of {counted}", counted.stdout, native.stdout)
    run, records = build.measure(program, *images, spec="instruction_count")
    demand_equal(f"status of {run}", run.status, 0)
    demand_equal(f"output of {run}", run.stdout, native.stdout)
    demand_equal("launches", len(records.launches), 1 + 2 * len(images) * LAUNCHES)
    names = ("thread_instructions", "warp_instructions")
    found = sorted([entry["kernel"], *(entry["results"][name] for name in names)] for entry in records.launches)
    demand_equal("counts", found, sorted([entry["kernel"], *(entry[name] for name in names)] for entry in counters))
    expect(all(entry["instrumented"] for entry in records.coverage), f"a kernel is not instrumented\n{run}")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
