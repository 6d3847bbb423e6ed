"""Lets a kernel hang on the GPU until `lynxpp why` and `lynxpp run --hang` have said where its warps wait.

usage: why_hang.py FOLDER    FOLDER: an installation or a build folder
"""
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# In the archive of package.py, and in the repository.
PROGRAMS = HERE / "hanging.py", HERE.parents[1] / "tests/end_to_end/programs/hanging.py"
EXPECTED = {
    "  warps finished: 3",
    "  warps in the loop at hanging.cu:5: 1, for example warp 0 of block 1",
    "  warps waiting at hanging.cu:7, bar.sync: 2, for example warp 2 of block 1",
}


def start(command, program, *options, arguments=()):
    process = subprocess.Popen([command, "run", "-d", "cuda", *options, "--", sys.executable, program, *arguments],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(process.stdout.readline(), end="")
    return process


def end(process):
    output, errors = process.communicate(timeout=60)
    print(output + errors)
    return process.returncode == 0 and output == "over\n"


def ask(command, program, *arguments):
    process = start(command, program, "-s", "hang_location", arguments=arguments)
    lines = set()
    for _ in range(100):
        asked = subprocess.run([command, "why", str(process.pid)], capture_output=True, text=True)
        lines = set(asked.stdout.splitlines())
        if EXPECTED <= lines:
            break
        time.sleep(0.1)
    print(asked.stdout + asked.stderr)
    is_right = EXPECTED <= lines and end(process)
    print(" ".join(["ok: lynxpp why" if is_right else "WRONG: lynxpp why", *arguments]))
    return is_right


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    command = pathlib.Path(sys.argv[1]).resolve() / "bin" / "lynxpp"
    program = next(path for path in PROGRAMS if path.is_file())
    is_right = all([ask(command, program), ask(command, program, "graph")])
    process = start(command, program, "--hang", "2")
    said = {process.stderr.readline().rstrip("\n") for _ in range(4)}
    print("\n".join(sorted(said)))
    asks_itself = EXPECTED <= said and end(process)
    print("ok: lynxpp run --hang" if asks_itself else "WRONG: lynxpp run --hang")
    sys.exit(0 if is_right and asks_itself else 1)


if __name__ == "__main__":
    main()
