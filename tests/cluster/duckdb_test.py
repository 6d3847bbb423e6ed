"""Runs the statements of docs/cluster.md in DuckDB, on generated records of RANKS (default: 100) ranks with 200 kernels each.

usage: duckdb_test.py BUILD_FOLDER [RANKS]        exit status 77 if DuckDB is not installed
"""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import generated  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs" / "cluster.md"
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
KERNELS = 200
MEMORY = 256  # MB, as in the document


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def runner_of(build):
    """Returns the command that runs statements; CMake has installed DuckDB's package."""
    node, folder = shutil.which("node"), build / "tests" / "cluster" / "duckdb"
    if node is None or not (folder / "installed.txt").exists():
        skip("DuckDB's package was not installed when the build was configured")
    shutil.copy(HERE / "duckdb" / "run.mjs", folder)
    return [node, str(folder / "run.mjs")]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    runner = runner_of(build)
    statements = re.findall(r"^```sql\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    assert len(statements) == 8, f"{len(statements)} statements in {DOCUMENT}"
    with tempfile.TemporaryDirectory(dir=build) as name:
        folder = pathlib.Path(name)
        paths = generated.write(folder, RANKS, KERNELS)
        subprocess.run([build / "bin" / "lynxpp", "report", "merge", *paths, "-o", folder / "job.jsonl"], check=True)
        for path in paths:
            path.unlink()
        request = {"memory": f"{MEMORY}MB", "folder": str(folder / "spilled"), "statements": statements}
        run = subprocess.run(runner, cwd=folder, input=json.dumps(request), capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr[-2000:]
        assert (folder / "job.parquet").exists()
    *_, kernels, ranks, imbalance, _, numbers = json.loads(run.stdout)
    total = generated.total(RANKS, KERNELS)
    assert len(kernels) == 20 and kernels[0]["demangled"] == "kernel199(float*)", kernels[0]
    assert int(kernels[0]["warp_instructions"]) == sum(generated.value_of(rank, 199) for rank in range(RANKS)), kernels[0]
    assert int(kernels[0]["launches"]) == RANKS, kernels[0]
    assert int(ranks[0]["rank"]) == 7 and ranks[0]["host"] == "node0", ranks
    assert int(ranks[0]["warp_instructions"]) == sum(generated.value_of(7, kernel) for kernel in range(KERNELS)), ranks
    assert len(imbalance) == 20 and 1.9 < imbalance[0]["imbalance"] < 2, imbalance[0]
    assert [each["result"] for each in numbers] == ["thread_instructions", "warp_instructions"], numbers
    assert int(numbers[1]["numbers"]) == RANKS * KERNELS and numbers[1]["total"] == total, (numbers, total)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"the largest process took {most} MB")
    # node itself and memory that DuckDB does not count
    assert most < MEMORY + 256, most


if __name__ == "__main__":
    main()
