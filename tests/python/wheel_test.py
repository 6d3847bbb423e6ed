"""scripts/wheel: installs the wheel into a new environment, without a network, and uses it as its README does.

usage: wheel_test.py BUILD_FOLDER
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, ROOT, SKIPPED, module

EMPTY = module("", name="empty")
USE = f"""import lynxpp, sys
assert "native" in str(lynxpp.libraries.find_home()), lynxpp.libraries.find_home()
launch, = lynxpp.run_ptx({EMPTY!r}, 2, 32, spec="instruction_count").launches()
print(launch.results["warp_instructions"], lynxpp.check_ptx({EMPTY!r}, 1, 32), "numpy" in sys.modules)
"""
EXAMPLES = """import os, sys
sys.path[:0] = [{folder!r}]
sys.path += filter(None, [os.environ.get("NUMPY_FOLDER")])
import readme_examples
readme_examples.main()
"""
THREAD = f"""import asyncio, threading
import lynxpp
def cell():
    launch, = lynxpp.run_ptx({EMPTY!r}, 2, 32, spec="instruction_count").launches()
    print(launch.results["warp_instructions"])
async def main():
    cell()
    thread = threading.Thread(target=cell)
    thread.start()
    thread.join()
asyncio.run(main())
"""
README = (ROOT / "python/README.md").read_text()
CHECKED = f"""import ctypes
cuda, context, loaded, kernel = ctypes.CDLL("libcuda.so.1"), *(ctypes.c_void_p() for _ in range(3))
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
cuda.cuModuleLoadData(ctypes.byref(loaded), {EMPTY.encode()!r})
cuda.cuModuleGetFunction(ctypes.byref(kernel), loaded, b"empty")
import lynxpp
with lynxpp.attach("instruction_count") as run:
    cuda.cuLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, None, None, None)
print([launch.results["warp_instructions"] for launch in run.launches()])
"""


def run(*command, **options):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LYNXPP_", "PYTHON"))
    }
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, timeout=800, **options
    )


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.python, cls.command = (cls.folder / "venv/bin" / name for name in ("python", "lynxpp"))
        cls.demand(run(sys.executable, "-m", "venv", cls.folder / "venv"))
        cls.wheel = pathlib.Path(cls.demand(run(sys.executable, ROOT / "scripts/wheel", BUILD.folder, cls.folder / "dist")).strip())
        cls.demand(run(cls.folder / "venv/bin/pip", "install", "--no-index", cls.wheel))  # no dependency is missing

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @staticmethod
    def demand(ended):
        if ended.returncode != 0:
            raise AssertionError(f"{ended.args}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def test_its_name_has_the_version_and_the_platform(self):
        version = re.search(r"project\(lynxpp VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(self.wheel.name, f"lynxpp-{version}-py3-none-manylinux_2_36_x86_64.whl")
        self.assertIn(version, run(self.command, "--version").stdout)

    def test_runs_kernels_without_other_packages(self):
        used = run(self.python, "-c", USE, cwd=self.folder)
        self.assertEqual((used.stdout, used.stderr), ("2 [] False\n", ""))

    def test_attaches_to_a_program(self):
        attached = run(self.command, "run", "-d", "cpu", "--", self.python, "-c", CHECKED, cwd=self.folder)
        self.assertIn("[3]\n", attached.stdout, attached.stderr)

    def test_examples_of_the_readme_that_need_no_numpy(self):
        self.examples(self.python, numpy_blocks=0)

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "numpy (python3-numpy) is not installed")
    def test_examples_of_the_readme_with_numpy(self):
        site = pathlib.Path(importlib.util.find_spec("numpy").origin).parents[1]
        self.examples(self.python, numpy_blocks=1, packages=site)

    def examples(self, python, numpy_blocks, packages=None):
        with tempfile.TemporaryDirectory() as folder:
            shown = ["env", f"LYNXPP_OUTPUT={folder}/records.jsonl", "LYNXPP_TABLE=0"]
            shown += [f"NUMPY_FOLDER={packages}"] if packages else []
            script = EXAMPLES.format(folder=str(ROOT / "tests/python"))
            ended = run(*shown, self.command, "run", "-d", "cpu", "--", python, "-B", "-c", script, cwd=folder)
        count = README.count("```python\n") - README.count("import numpy") + numpy_blocks
        self.assertEqual((ended.returncode, ended.stdout), (0, f"{count} examples\n"), ended.stderr)

    def test_runs_in_another_thread_while_an_event_loop_runs(self):
        """Like cells in Jupyter."""
        used = run(self.python, "-c", THREAD, cwd=self.folder)
        self.assertEqual((used.stdout, used.stderr), ("2\n2\n", ""))

    def test_has_the_specifications_and_licences(self):
        site = next(self.folder.glob("venv/lib/python*/site-packages"))
        self.assertTrue((site / "lynxpp/native/share/lynxpp/specs/instruction_count.cod").exists())
        (licenses,) = site.glob("lynxpp-*.dist-info/licenses")
        self.assertEqual((licenses / "LICENSE").read_text(), (ROOT / "LICENSE").read_text())
        self.assertIn("LLVM", (licenses / "copyright").read_text())

    def test_two_builds_of_it_are_equal(self):
        again = pathlib.Path(self.demand(run(sys.executable, ROOT / "scripts/wheel", BUILD.folder, self.folder / "again")).strip())
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())


if __name__ == "__main__":
    if sys.version_info < (3, 11) or importlib.util.find_spec("ensurepip") is None:
        print("needs Python 3.11 and ensurepip (python3-venv)")
        sys.exit(SKIPPED)
    unittest.main()
