"""A program that runs with raised rights: the user who starts it must not have files read or written with
them. The program is linked with liblynxpp.so, since LD_PRELOAD is ignored then, and with the cpu device's
libcuda.so.1.

Arguments: the build folder, the program, the PTX of vecadd.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import TestFailure, clean_environment, demand_equal, expect  # noqa: E402

SOMEBODY = 65534
SKIPPED = 77


def run(program, *arguments, user=None, folder=None):
    variables = {name: value for name, value in clean_environment().items() if name != "LD_LIBRARY_PATH"}
    if folder is not None:
        variables |= {"LYNXPP_SPEC": "instruction_count,memory_trace", "LYNXPP_DEVICE": "cpu", "LYNXPP_LOG": "debug",
                      "XDG_RUNTIME_DIR": str(folder), "LYNXPP_OUTPUT": str(folder / "output"),
                      "LYNXPP_TRACE": str(folder / "trace"), "LYNXPP_DUMP": str(folder / "dump"),
                      "LYNXPP_CPU_COUNTERS": str(folder / "counters"), "LYNXPP_CPU_CACHE": str(folder / "cache"),
                      "LYNXPP_CPU_CHECK": "memory", "LYNXPP_CPU_CHECK_OUTPUT": str(folder / "checks")}
    return subprocess.run([str(program), *map(str, arguments)], env=variables, capture_output=True, timeout=120, text=True,
                          user=user, group=user, extra_groups=None if user is None else [])


def written(folder):
    return sorted(path.name for path in folder.iterdir())


def main():
    program, ptx = sys.argv[2:]
    if os.geteuid() != 0:
        print("only root can create a program that runs with root's rights")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        base.chmod(0o755)

        def raised(original):
            copy = shutil.copy(original, base)
            os.chmod(copy, 0o4755)
            return copy

        if run(raised(shutil.which("id")), "-u", user=SOMEBODY).stdout.strip() != "0":
            print(f"programs in {base} do not get the rights of their owner")
            return SKIPPED

        plain, secure = base / "plain", base / "secure"
        for folder in (plain, secure):
            folder.mkdir()
        done = run(program, ptx, folder=plain)
        demand_equal(f"status of {done}", done.returncode, 0)
        demand_equal("what is written with plain rights", written(plain),
                     ["cache", "checks", "counters", "dump", "lynxpp", "output", "trace"])
        done = run(raised(program), ptx, user=SOMEBODY, folder=secure)
        demand_equal(f"status of {done}", done.returncode, 0)
        demand_equal("what is written with raised rights", written(secure), [])
        demand_equal("what is said with raised rights", done.stderr, "")
        expect(done.stdout == run(program, ptx).stdout, f"the program prints something else\n{done}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
