"""Compares value_check with the host's own computation: every kind of value, by source line.

usage: values_test.py BUILD_FOLDER
"""
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
from harness import Build  # noqa: E402

PROGRAM = BUILD.resolve() / "examples/tests/values"
SOURCE = ROOT / "tests/end_to_end/programs/values.cu"
KINDS = ("nan", "infinite", "denormal", "made")

if not PROGRAM.exists():
    print(f"SKIP: {PROGRAM} is not built")
    sys.exit(77)


class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = Build(BUILD)
        native = build.run(PROGRAM)
        cls.run_, cls.records = build.measure(PROGRAM, spec="value_check")
        assert native.status == 0 and cls.run_.status == 0, f"{native}\n{cls.run_}"
        assert native.stdout == cls.run_.stdout, "the output differs from that without instrumentation"
        cls.expected = {}
        for line in native.stdout.decode().splitlines():
            number, place, *counts = line.split()
            cls.expected[number, place] = tuple(map(int, counts))
        cls.place_of_line = {number: line.rsplit("// ", 1)[1] for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
                             if "value = " in line and "// " in line}

    def record(self, number):
        letter = {"float": "f", "double": "d"}[number]
        found = [each for each in self.records.launches if f"computeI{letter}" in each["kernel"]]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_counts_by_line(self):
        for number in ("float", "double"):
            record = self.record(number)
            instructions = self.records.sites_of(record)["instructions"]
            labels, opcodes, files = (self.records.sites_of(record)[name] for name in ("labels", "opcodes", "files"))
            found = {}
            for i, line in enumerate(instructions["line"]):
                file = instructions["file"][i]
                place = self.place_of_line.get(line) if file is not None and files[file].endswith("values.cu") else None
                if opcodes[instructions["opcode"][i]].startswith("sqrt."):  # its location is in a header of the toolkit
                    place = "root"
                if "MEM_READ" in labels[instructions["labels"][i]]:
                    place = "loads"
                if place is None:
                    continue
                values = tuple(record["results"][kind]["values"][i] for kind in KINDS)
                found[place] = tuple(map(sum, zip(found.get(place, (0, 0, 0, 0)), values)))
            for place in ("loads", "quotient", "root", "sum", "product"):
                self.assertEqual(found[place], self.expected[number, place], (number, place))
            self.assertEqual(found["difference"][:3], self.expected[number, "difference"][:3], number)

    def test_totals_and_the_first(self):
        for number in ("float", "double"):
            results = self.record(number)["results"]
            for kind in KINDS:
                self.assertEqual(results[f"total_{kind}"], sum(results[kind]["values"]))
            self.assertEqual(len(results["first.kind"]["values"]), 64)
            self.assertLessEqual(set(results["first.kind"]["values"]), {2, 3})
            for instruction, thread in zip(results["first.instruction"]["values"], results["first.thread"]["values"]):
                found = results["nan"]["values"][instruction] + results["infinite"]["values"][instruction]
                self.assertGreater(found, 0)
                self.assertLess(thread, 1000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
