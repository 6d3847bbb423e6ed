"""`lynxpp run` where /proc is empty, as in a bare chroot.

usage: without_proc_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import clean_environment  # noqa: E402

IN_EMPTY_PROC = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
SKIPPED = 77


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if subprocess.run([*IN_EMPTY_PROC, "true"], capture_output=True).returncode != 0:
        print("SKIP: cannot mount a file system over /proc")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([*IN_EMPTY_PROC, build / "bin" / "lynxpp", "run", "-d", "cpu", "-s", "instruction_count", "--",
                              build / "examples" / "vecadd", "1000"],
                             capture_output=True, text=True, env=clean_environment(), cwd=folder)
    if run.returncode != 0 or "vecadd: ok" not in run.stdout or "thread_instructions" not in run.stderr:
        sys.exit(f"failed: status {run.returncode}\n{run.stdout}{run.stderr}")


main()
