"""PTX that frameworks generate: it parses and is emitted byte for byte, and every kernel loads on the cpu device under `lynxpp run`, or is
refused for a missing feature, tensor copies and warpgroup products, in a line that names it.

usage: frameworks_test.py BUILD_FOLDER LAUNCH_PTX
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))
from harness import Build, TestFailure, demand_equal, expect  # noqa: E402

# Instructions for which a kernel may be refused.
LACKING = re.compile(r"instruction '(wgmma\.|tensormap\.|cp\.async\.bulk\.tensor\.|cp\.reduce\.async\.bulk\.tensor\.)[^']*' is not supported")
KERNELS = 55


def launch(build, program, path):
    """Returns the kernels of a file that do not load."""
    run = build.run(build.command, "run", "-d", "cpu", "--", program, path, preload=False, timeout=60)
    demand_equal(f"status of {run}", run.status, 0)
    results = dict(line.split() for line in run.stdout.decode().splitlines())
    text = path.read_text()
    demand_equal(f"kernels of {path.name}", sorted(results), sorted(re.findall(r"\.entry\s+([\w$]+)", text)))
    refused = [kernel for kernel, result in results.items() if result == "CUDA_ERROR_NOT_SUPPORTED"]
    if refused:
        expect(LACKING.search(run.stderr), f"{path.name} is refused for something else\n{run}")
        expect(re.search(r"\bwgmma\.|\btensormap\.|bulk\.tensor", text), f"{path.name} has nothing that the device lacks\n{run}")
    loaded = set(results.values()) <= {"CUDA_SUCCESS", "CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS"}
    expect(loaded, f"a kernel ended in another way: {results}\n{run}")
    return len(results), len(refused)


def main():
    build = Build(sys.argv[1])
    kernels = refused = 0
    with tempfile.TemporaryDirectory() as name:
        files = []
        for path in sorted((HERE / "frameworks").glob("*/*.ptx.gz")):
            files.append(pathlib.Path(name, f"{path.parent.name}.{path.stem}"))
            files[-1].write_bytes(gzip.decompress(path.read_bytes()))
        checked = subprocess.run([build.folder / "bin/lynxpp_check_ptx", *files], capture_output=True, text=True)
        demand_equal(f"status of lynxpp_check_ptx: {checked.stderr}", checked.returncode, 0)
        for path in files:
            found, not_loaded = launch(build, sys.argv[2], path)
            kernels += found
            refused += not_loaded
    demand_equal("kernels", kernels, KERNELS)
    print(f"{kernels} kernels, {refused} of them refused for tensor copies or products of warp groups")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
