"""`lynxpp report merge` and `lynxpp report` on generated records: their output and their memory.

usage: merge_test.py BUILD_FOLDER
"""
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import generated  # noqa: E402
import lynxpp  # noqa: E402

COMMAND = pathlib.Path(sys.argv.pop()).resolve() / "bin" / "lynxpp"


def run(*arguments, status=0, **options):
    """Returns (standard output, standard error, peak memory in KiB)."""
    with subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        output, errors = process.stdout.read(), process.stderr.read()
        _, ended, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(ended)
    assert process.returncode == status, (process.returncode, errors.decode())
    return output.decode(), errors.decode(), usage.ru_maxrss


class Merge(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def test_every_record_once_and_tables_of_sites_shared(self):
        paths = generated.write(self.folder, 12, 5)
        merged = self.folder / "job.jsonl"
        run("report", "merge", *paths, "-o", merged)
        records = [json.loads(line) for line in merged.read_text().splitlines()]
        kinds = ("process", "device", "sites", "series", "launch", "coverage")
        count = {kind: sum(record["record"] == kind for record in records) for kind in kinds}
        self.assertEqual(count, {"process": 12, "device": 12, "sites": 5, "series": 60, "launch": 60, "coverage": 60})
        records = list(lynxpp.completed(records))
        ranks = {record["process"]: record["rank"] for record in records if record["record"] == "process"}
        found = sum(record["results"]["warp_instructions"] * (ranks[record["process"]] + 1) for record in records if record["record"] == "launch")
        self.assertEqual(found, sum(generated.value_of(rank, kernel) * (rank + 1) for rank in range(12) for kernel in range(5)))

    def test_memory_does_not_grow_with_files_or_their_length(self):
        few = generated.write(self.folder, 4, 20)
        _, _, little = run("report", "merge", *few, "-o", self.folder / "few.jsonl")
        paths = generated.write(self.folder, 600, 20)
        _, _, much = run("report", "merge", *paths, "-o", self.folder / "many.jsonl")
        _, _, again = run("report", "merge", self.folder / "many.jsonl", "-o", self.folder / "again.jsonl")
        margin = 3072  # KiB; pages of libraries come and go
        self.assertGreater((self.folder / "many.jsonl").stat().st_size, 2 * 1024 * margin)
        self.assertLess(much, little + margin)
        self.assertLess(again, little + margin)
        self.assertEqual((self.folder / "again.jsonl").read_bytes(), (self.folder / "many.jsonl").read_bytes())

    def test_report_sums_ranks_or_groups_by_rank(self):
        merged = self.folder / "job.jsonl"
        run("report", "merge", *generated.write(self.folder, 12, 3), "-o", merged)
        summary = json.loads(run("report", merged, "--format", "json")[0])
        kernels = summary["specifications"][0]["kernels"]
        self.assertEqual([kernel["launches"] for kernel in kernels], [12, 12, 12])
        self.assertEqual(kernels[1]["results"]["warp_instructions"]["value"], sum(generated.value_of(rank, 1) for rank in range(12)))
        table = run("report", merged, "--by", "rank", "--width", 150)[0]
        self.assertRegex(table, r"kernel1\(float\*\) +warp_instructions +12 +1,001 \(rank 0\) +2,003 \(rank 7\)")
        rows = list(csv.DictReader(io.StringIO(run("report", merged, "--by", "rank", "--format", "csv")[0])))
        self.assertEqual(len(rows), 12 * 3 * 2)
        values = {(row["place"], row["kernel"]): int(row["value"]) for row in rows if row["result"] == "warp_instructions"}  # english: ok
        self.assertEqual(values["rank 7", "_Z7kernel2Pf"], generated.value_of(7, 2))
        hosts = run("report", merged, "--by", "host", "--width", 150)[0]
        self.assertRegex(hosts, r"result +node0 +node1 +mean")
        self.assertIn("--by requires the format", run("report", merged, "--by", "rank", "--format", "svg", status=2)[1])

    def test_compressed_files_and_standard_input(self):
        path = generated.write(self.folder, 1, 2)[0]
        packed = self.folder / "rank0.jsonl.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        plain = run("report", "merge", path)[0]
        self.assertEqual(run("report", "merge", packed)[0], plain)
        with open(path, "rb") as lines:
            self.assertEqual(run("report", "merge", "-", stdin=lines)[0], plain)
        packed.write_bytes(gzip.compress(path.read_bytes())[:-30])
        self.assertIn("to its end", run("report", "merge", packed, status=1)[1])

    def test_errors_are_reported(self):
        path = generated.write(self.folder, 1, 2)[0]
        before = path.read_bytes()
        self.assertIn("both an input and the output", run("report", "merge", path, "-o", path, status=1)[1])
        self.assertEqual(path.read_bytes(), before)
        self.assertIn("cannot read", run("report", "merge", self.folder / "none.jsonl", status=1)[1])
        self.assertIn("cannot write", run("report", "merge", path, "-o", self.folder / "none" / "out", status=1)[1])
        self.assertIn("cannot write", run("report", "merge", path, "-o", "/dev/full", status=1)[1])
        path.write_bytes(before[:-20])
        output, errors, _ = run("report", "merge", path)
        self.assertIn("not a complete JSON object", errors)
        self.assertEqual(len(output.splitlines()), len(before.splitlines()) - 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
