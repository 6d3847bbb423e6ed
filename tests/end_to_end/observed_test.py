"""`lynxpp advise -- PROGRAM` on the cpu device: terms from observed addresses against those of descriptions with the same indices
(examples/advise), against closed formulas, and what no description can say.

usage: observed_test.py BUILD_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
COMMAND = BUILD / "bin/lynxpp"
PROGRAM = BUILD / "examples/tests/observed"
SCHEMA = json.loads((ROOT / "docs/schema/advise-observed.schema.json").read_text())
TERMS = ("estimate", "data_reuse", "lat_hiding", "bw_util", "ch_skew", "branch_eff", "shm_eff")
EVERYTHING = ("--blocks", "1000000")

if not PROGRAM.exists():
    print(f"SKIP: {PROGRAM} is not built")
    sys.exit(77)


def lines(*arguments):
    outcome = subprocess.run([COMMAND, "advise", "--json", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if outcome.returncode != 0:
        raise AssertionError(f"{arguments}: status {outcome.returncode}\n{outcome.stderr}")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def observed(family, size, *options, machine="compute_1_3"):
    found = lines("-d", "cpu", "-m", machine, *options, "--", PROGRAM, family, size)
    if jsonschema is not None:
        for each in found:
            jsonschema.Draft202012Validator(SCHEMA).validate(each)
    return {each["kernel"].removeprefix("void ").split("(")[0]: each for each in found}


def described(name, machine="compute_1_3", **choices):
    options = [word for choice, value in choices.items() for word in ("-D", f"{choice}={value}")]
    found = lines("-m", machine, *options, ROOT / f"examples/advise/{name}.access")
    assert len(found) == 1, found
    return found[0]


class Observed(unittest.TestCase):
    def demand_equal_terms(self, kernel, seen, said):
        for term in TERMS:
            self.assertAlmostEqual(seen["modelled"][term], said["modelled"][term], delta=1e-9 * max(1, said["modelled"][term]),
                                   msg=f"{kernel}: {term}")
        self.assertEqual(seen["occupancy"], said["occupancy"], kernel)
        self.assertEqual(seen["global_accesses"], said["global_accesses"], kernel)

    def test_product(self):
        for machine in ("compute_1_3", "compute_9_0"):
            seen = observed("product", 256, *EVERYTHING, "--registers", 10, machine=machine)
            self.assertEqual(len(seen), 7)
            for kernel, each in seen.items():
                shift, rows, padding, transposed = kernel[len("product<"):-1].split(", ")
                said = described("product", machine, MAX=256, shift=shift, rows=int(rows == "true"), padding=padding,
                                 transposed=int(transposed == "true"))
                self.demand_equal_terms(kernel, each, said)
                self.assertEqual(each["in_shared"], said["in_shared"], kernel)
                self.assertEqual(each["accesses"], said["accesses"], kernel)

    def test_laplace(self):
        for machine in ("compute_1_3", "compute_9_0"):
            seen = observed("laplace", 128, *EVERYTHING, "--registers", 16, machine=machine)
            self.assertEqual(len(seen), 9)
            for kernel, each in seen.items():
                said = described("laplace", machine, N=128, fetched=kernel[len("laplace<"):-1])
                self.demand_equal_terms(kernel, each, said)
                self.assertEqual(each["in_shared"], said["in_shared"], kernel)

    def test_transpose(self):
        for machine in ("compute_1_3", "compute_9_0"):
            seen = observed("transpose", 256, *EVERYTHING, "--registers", 10, machine=machine)
            self.assertEqual(len(seen), 5)
            for kernel, each in seen.items():
                self.demand_equal_terms(kernel, each, described("transpose", machine, N=256, step=kernel[len("transpose<"):-1]))

    def test_matmul(self):
        for machine in ("compute_1_3", "compute_9_0"):
            seen = observed("matmul", 64, *EVERYTHING, "--registers", 16, machine=machine)
            self.assertEqual(len(seen), 5)
            for kernel, each in seen.items():
                said = described("matmul", machine, N=64, step=kernel[len("matmul<"):-1])
                self.demand_equal_terms(kernel, each, said)
                self.assertEqual(each["in_shared"], said["in_shared"], kernel)

    def test_table_one(self):
        """Its closed formula, at sizes that the cpu device runs quickly: of n - 2 columns, in blocks of 16."""
        for size in (64, 256):
            seen = observed("product", size, *EVERYTHING)
            for shift in range(3):
                hits = 0
                for column in range(size - 2):
                    hits += sum(0 <= column % 16 + k - shift < 16 for k in range(3))
                self.assertEqual(seen[f"product<{shift}, true, 0, false>"]["in_shared"], size * hits)
                # reads of `in`, and one write for each
                self.assertEqual(seen[f"product<{shift}, true, 0, false>"]["accesses"], 4 * size * (size - 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
