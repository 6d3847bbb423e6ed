"""Launches look a known kernel up without locks: a hundred thousand more launches acquire no more locks, over
a driver that acquires none, with nothing attached and with a filter that excludes the kernel. They call the
driver only to launch.

Arguments: the build folder, the program, the driver, the library that counts locks.
"""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, expect  # noqa: E402

FEW, MANY = 1000, 101000
SLACK = 100  # by other threads during the launches


def locks_of(build, program, environment, launches):
    run = build.run(program, launches, preload=False, environment=environment)
    demand_equal(f"status of {run}", run.status, 0)
    counted = re.search(r"^locks: (\d+)$", run.stderr, re.MULTILINE)
    expect(counted is not None, f"no locks were counted\n{run}")
    return int(counted[1])


def calls_of(build, program, environment, launches):
    run = build.run(program, launches, preload=False, environment={**environment, "STUCK_IN": "nothing"})
    demand_equal(f"status of {run}", run.status, 0)
    counted = re.search(r"^calls: (\d+)$", run.stderr, re.MULTILINE)
    expect(counted is not None, f"no calls were counted\n{run}")
    return int(counted[1])


def main():
    build = Build(sys.argv[1])
    program, driver, counter = sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "libcuda.so.1").symlink_to(driver)
        detached = {"LD_PRELOAD": f"{counter} {build.library}", "LYNXPP_DEVICE": "cuda", "LD_LIBRARY_PATH": folder, "LYNXPP_TABLE": "0"}
        excluded = {**detached, "LYNXPP_SPEC": "instruction_count", "LYNXPP_KERNELS": "another"}
        for name, environment in (("detached", detached), ("excluded", excluded)):
            few, many = (locks_of(build, program, environment, launches) for launches in (FEW, MANY))
            print(f"{name}: {few} locks in {FEW} launches, {many} in {MANY}")
            expect(many - few < SLACK, f"{name}: {many - few} locks more in {MANY - FEW} launches more")
            few, many = (calls_of(build, program, environment, launches) for launches in (FEW, MANY))
            demand_equal(f"{name}: calls of the driver in {MANY - FEW} launches more", many - few, MANY - FEW)
        # Checks that locks are counted at all: measured launches acquire some.
        measured = {**detached, "LYNXPP_SPEC": "instruction_count"}
        few, many = (locks_of(build, program, measured, launches) for launches in (FEW, 3 * FEW))
        expect(many - few > FEW, f"measured launches seem to take no lock: {few}, {many}")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
