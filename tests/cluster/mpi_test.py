"""An Open MPI program of four ranks on the cpu device: merges a file per rank.

usage: mpi_test.py BUILD_FOLDER        exit status 77 if Open MPI or the program is missing
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import lynxpp  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
RANKS = 4


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def main():
    mpirun, program, command = shutil.which("mpirun"), BUILD / "tests" / "cluster" / "ranks", BUILD / "bin" / "lynxpp"
    if mpirun is None:
        skip("mpirun is not installed (scripts/setup --tests)")
    if not program.exists():
        skip("its program was not built (mpicxx or nvcc was missing when the build was configured)")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("LYNXPP_")}
    variables.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                     OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = subprocess.run([mpirun, "-np", str(RANKS), str(command), "run", "-d", "cpu", "-s", "instruction_count,basic_block_count",
                              "-o", str(folder / "rank%r.jsonl"), "--", str(program)],
                             env=variables, capture_output=True, text=True, timeout=240)
        assert run.returncode == 0, run.stderr[-3000:]
        expected = sum(64 * (rank + 1) * (rank + 1) ** 2 for rank in range(RANKS))
        assert run.stdout.split() == [str(expected)], run.stdout
        paths = sorted(folder.glob("rank*.jsonl"))
        assert [path.name for path in paths] == [f"rank{rank}.jsonl" for rank in range(RANKS)], paths
        merged = folder / "job.jsonl"
        subprocess.run([command, "report", "merge", *paths, "-o", merged], check=True)
        records = [record for record, _ in lynxpp.Records(merged)]
        ranks = {record["process"]: record for record in records if record["record"] == "process"}
        assert sorted(record["rank"] for record in ranks.values()) == list(range(RANKS)), ranks
        assert len({record["pid"] for record in ranks.values()}) == RANKS, ranks
        grids = {ranks[record["process"]]["rank"]: record["grid"][0] for record in records if record["record"] == "launch"}
        assert grids == {rank: rank + 1 for rank in range(RANKS)}, grids
        modules = {record["place"]["module"] for record in records if record["record"] == "launch"}  # english: ok
        assert len(modules) == 1, modules
        tables = [record for record in records if record["record"] == "sites"]
        assert len(tables) == len({(table["kernel"], table["table"]) for table in tables}), "each table once"
        table = subprocess.run([command, "report", merged, "--by", "rank", "--width", "150"], capture_output=True, text=True, check=True)
        assert re.search(r"rank 0 +rank 1 +rank 2 +rank 3", table.stdout), table.stdout
        totals = json.loads(subprocess.run([command, "report", merged, "--format", "json"], capture_output=True, check=True).stdout)
        kernels = [kernel for each in totals["specifications"] if each["spec"] == "instruction_count" for kernel in each["kernels"]]
        assert len(kernels) == 1 and kernels[0]["launches"] == RANKS, kernels


if __name__ == "__main__":
    main()
