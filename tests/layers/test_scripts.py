"""Tests the repository's own scripts: they parse, reject unknown arguments, and read logs correctly."""
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def load(script):
    loader = importlib.machinery.SourceFileLoader(script, str(ROOT / "scripts" / script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(script, loader))
    loader.exec_module(module)
    return module


class Scripts(unittest.TestCase):
    def scripts(self, interpreter):
        for path in [ROOT / "demo.sh", ROOT / "test.sh", ROOT / ".ci" / "run", *sorted((ROOT / "scripts").iterdir()), *sorted((ROOT / "action").iterdir())]:
            if path.is_file() and interpreter in path.read_text(errors="replace").split("\n", 1)[0]:
                yield path

    def test_bash_scripts_parse_and_are_executable(self):
        found = list(self.scripts("bash"))
        self.assertGreaterEqual(len(found), 8)
        for path in found:
            self.assertTrue(path.stat().st_mode & 0o100, f"{path} is not executable")
            subprocess.run(["bash", "-n", path], check=True)

    def test_python_scripts_compile_and_are_executable(self):
        found = list(self.scripts("python3"))
        self.assertGreaterEqual(len(found), 3)
        for path in found:
            self.assertTrue(path.stat().st_mode & 0o100, f"{path} is not executable")
            compile(path.read_text(), str(path), "exec")

    def test_python_modules_compile(self):
        folders = ("action", "bench", "examples", "image", "python", "scripts", "tests")
        found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "build" not in path.parts]
        self.assertGreaterEqual(len(found), 100)
        for path in found:
            compile(path.read_text(), str(path), "exec")

    def test_unknown_arguments_are_refused(self):
        for command in ([ROOT / "scripts" / "setup", "--frobnicate"], [ROOT / "test.sh", "fastest"], [ROOT / "scripts" / "release", "--x", "y"],
                        [ROOT / "scripts" / "release", "a", "b"]):
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(2, result.returncode, result)
            self.assertIn("unknown", result.stderr)

    def test_demo_refuses_an_unknown_example(self):
        result = subprocess.run([ROOT / "demo.sh", "mandelbread"], capture_output=True, text=True)
        self.assertEqual(2, result.returncode, result)
        self.assertIn("mandelbread", result.stderr)
        self.assertIn(" mandelbrot ", result.stderr)
        self.assertEqual("", result.stdout)

    def test_a_build_is_quiet_and_shows_errors(self):
        """Tests common.sh's build() with a fake cmake that prints what ninja would, for good and bad
        builds."""
        with tempfile.TemporaryDirectory() as folder:
            cmake = pathlib.Path(folder, "cmake")
            cmake.write_text('#!/bin/sh\necho "$*"; [ -z "$BROKEN" ] || { echo "x.cpp:1: error: no"; exit 1; }\n')
            cmake.chmod(0o755)
            script = f"set -euo pipefail; source {ROOT}/scripts/common.sh; PATH={folder}:$PATH; build release one two"
            environment = {"PATH": os.environ["PATH"]}
            result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
            self.assertEqual(0, result.returncode, result)
            start, command, end = result.stdout.splitlines()
            self.assertRegex(start, "^== building with [1-9]")
            self.assertRegex(command, "^--build --preset release -j [0-9]+ --target one two -- --quiet$")
            self.assertRegex(end, "^== built in [0-9]+ s$")
            environment["BROKEN"] = "1"
            result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
            self.assertEqual(1, result.returncode, result)
            self.assertIn("x.cpp:1: error: no", result.stdout)
            self.assertEqual("error: the build failed\n", result.stderr)

    def test_elapsed_measures_a_folder_of_programs(self):
        elapsed = load("../bench/elapsed")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            with self.assertRaises(ValueError):
                elapsed.programs_in(folder)
            for file, mode in (("b", 0o755), ("a b", 0o755), ("a.ptx", 0o644), ("lib.so", 0o755)):
                (folder / file).write_text("")
                (folder / file).chmod(mode)
            self.assertEqual([f"'{folder}/a b'", f"{folder}/b"], elapsed.programs_in(folder))
            (folder / "programs.json").write_text('{"measured": {"b": "-s 64"}, "printing": []}')
            self.assertEqual([f"{folder}/b -s 64"], elapsed.programs_in(folder))
            self.assertEqual("b -s 64", elapsed.shown(f"{folder}/b -s 64"))

    def test_missing_toolkit_is_one_line(self):
        """Runs setup with an empty toolkit folder; only if no nvcc is installed in a standard directory."""
        common = ROOT / "scripts" / "common.sh"
        script = f"source {common}; PATH=/nowhere CUDA_HOME=/nowhere CUDA_PATH=/nowhere find_nvcc || echo none"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(1, len(result.stdout.splitlines()))
        self.assertEqual("", result.stderr)

    def test_skipped_tests_are_listed_with_their_reasons(self):
        log = ("1/3 Testing: a.b\nCommand: x\nOutput:\nSKIP: no nvcc\nTest time\nTest Skipped.\n"
               "2/3 Testing: c.d\nOutput:\n/x/y.cpp:7: Skipped\nno ptxas here\n[  SKIPPED ] c.d (0 ms)\nTest Passed.\n"
               "3/3 Testing: e.f\nOutput:\nfine\nTest Passed.\n")
        self.assertEqual([("a.b", "no nvcc"), ("c.d", "no ptxas here")], list(load("skipped_tests").skipped(log)))

    def test_figures_are_what_the_script_draws(self):
        """Byte for byte, with the version of matplotlib that drew them: Debian 12's."""
        version = subprocess.run(["/usr/bin/python3", "-c", "import matplotlib; print(matplotlib.__version__)"], capture_output=True, text=True)
        if version.stdout.strip() != "3.6.3":
            self.skipTest("matplotlib 3.6.3 (python3-matplotlib) is not installed")
        kept = ROOT / "docs" / "figures"
        with tempfile.TemporaryDirectory() as folder:
            for data in kept.glob("*.json"):
                shutil.copy(data, folder)
            subprocess.run([ROOT / "scripts" / "paper_figures", "--out", folder], capture_output=True, check=True)
            drawn = sorted(pathlib.Path(folder).glob("*.svg"))
            self.assertEqual([path.name for path in drawn], sorted(path.name for path in kept.glob("*.svg")))
            for path in drawn:
                self.assertEqual(path.read_bytes(), (kept / path.name).read_bytes(), f"{path.name}: run scripts/paper_figures")

    def test_mutants_are_switched_in_place(self):
        if sys.version_info < (3, 11):
            self.skipTest("scripts/mutate needs Python 3.11")
        mutate = load("mutate")
        source = "int f(int a) {\n  if (a < 1) return 2;\n  return a < 1 ? 3 : 4;\n}\n"

        def mutant(number, text, **others):
            return {"number": number, "file": "f.cpp", "text": text, "with": "a > 1", **others}

        self.assertEqual('#include "tests/mutant.h"\nint f(int a) {\n  { if (lynxpp_mutant(2)) {  } else { if (a < 1) return 2; } }\n'
                         "  return (lynxpp_mutant(1) ? (a > 1) : (a < 1)) ? 3 : 4;\n}\n",
                         mutate.mutated(source, [mutant(1, "a < 1", after="  return"),
                                                 {**mutant(2, "if (a < 1) return 2;"), "with": ""}]))
        for wrong, why in (([mutant(1, "a < 1")], "more than once"), ([mutant(1, "b")], "adapt the entry"),
                           ([mutant(1, "a", after="g")], "has no 'g'"),
                           ([mutant(1, "if (a < 1) return 2;"), mutant(2, "return 2;")], "overlaps")):
            with self.assertRaisesRegex(mutate.Wrong, why):
                mutate.mutated(source, wrong)

    def test_a_release_needs_a_build_and_a_folder(self):
        release = ROOT / "scripts" / "release"
        with tempfile.TemporaryDirectory() as folder:
            for arguments, status, message in (([], 2, "no folder for the packages"), (["--build"], 2, "--build needs a folder"),
                                               (["--build", folder, folder + "/out"], 1, "is not a build folder of lynxpp")):
                result = subprocess.run([release, *arguments], capture_output=True, text=True)
                self.assertEqual(status, result.returncode, result)
                self.assertIn(message, result.stderr)
            self.assertEqual([], list(pathlib.Path(folder).iterdir()))

    def test_each_component_has_its_licence(self):
        check = load("check_licenses").check
        text = ("lynxpp 1.0 is free: see the file LICENSE (here).\n\nA: MIT, https://a (licenses/a-dev)\n"
                "B: BSL-1.0, https://b (b-dev: no notice required)\nC: MIT, https://c (licenses/c)\n")
        self.assertEqual([], list(check({"a-dev", "b-dev"}, text, {"a-dev", "c"})))
        errors = "\n".join(check({"a-dev", "d-dev"}, text, {"a-dev"}))
        self.assertRegex(errors, "code of d-dev is in the installed files.*\n.*nothing of b-dev is used.*\n.*licenses/c is missing$")

    def test_check_format_reports_a_bad_file(self):
        if subprocess.run(["sh", "-c", "command -v clang-format"], capture_output=True).returncode != 0:
            self.skipTest("clang-format is not installed")
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder, "good.cpp"), pathlib.Path(folder, "bad.cpp")
            for path in (good, bad):
                path.with_name(".clang-format").write_text((ROOT / ".clang-format").read_text())
            good.write_text("int f() { return 1; }\n")
            bad.write_text("int   f( ) {return 1 ;}\n")
            check = ROOT / "scripts" / "check_format"
            self.assertEqual(0, subprocess.run([check, good], capture_output=True).returncode)
            result = subprocess.run([check, good, bad], capture_output=True, text=True)
            self.assertEqual(1, result.returncode)
            self.assertIn("bad.cpp", result.stdout)
            self.assertNotIn("good.cpp", result.stdout)
            bad.write_text("// " + "wide " * 30 + "\nint f() { return 1; }\n")
            result = subprocess.run([check, good, bad], capture_output=True, text=True)
            self.assertEqual(1, result.returncode)
            self.assertIn("bad.cpp:1", result.stdout)


if __name__ == "__main__":
    unittest.main()
