"""Checks the output of `lynxpp advise --json` against docs/schema/advise.schema.json.

usage: advise_schema_test.py BUILD_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("SKIP: python3-jsonschema is not installed for this Python")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schema/advise.schema.json").read_text())
COMMAND = pathlib.Path(sys.argv.pop(), "bin/lynxpp")


def advice(*arguments):
    outcome = subprocess.run([COMMAND, "advise", "--json", *arguments], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in outcome.stdout.splitlines()]


class Advice(unittest.TestCase):
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_the_schema_is_valid(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_every_variant_is_valid(self):
        for machine in ("compute_1_3", "compute_9_0"):
            for name, count in (("laplace", 9), ("gaussian", 5), ("wavelet", 6)):
                lines = advice("-m", machine, ROOT / f"examples/advise/{name}.access")
                self.assertEqual(len(lines), count)
                for line in lines:
                    self.validator.validate(line)

    def test_explored_variants_are_valid(self):
        lines = advice("--explore", "-D", "N=64", "-D", "fetched=4", ROOT / "examples/advise/laplace.access")
        self.assertTrue(any(line["changes"] for line in lines))
        for line in lines:
            self.validator.validate(line)

    def test_errors_are_detected(self):
        line = advice("-D", "fetched=4", ROOT / "examples/advise/laplace.access")[0]
        self.validator.validate(line)
        self.assertFalse(self.validator.is_valid({**line, "further": 1}))
        self.assertFalse(self.validator.is_valid({**line, "accesses": -1}))
        for name in line.keys() - {"bounds"}:  # machines without caches lack it
            self.assertFalse(self.validator.is_valid({key: value for key, value in line.items() if key != name}), name)
        for name in line["modelled"]:
            self.assertFalse(self.validator.is_valid({**line, "modelled": {**line["modelled"], name: "1"}}), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
