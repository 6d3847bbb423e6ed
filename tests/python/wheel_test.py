"""scripts/wheel: installs the wheel into a new environment, without a network, and uses it.

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
    def test_is_used_in_a_new_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            created = run(sys.executable, "-m", "venv", f"{folder}/venv")
            self.assertEqual(created.returncode, 0, created.stdout + created.stderr)
            made = run(sys.executable, ROOT / "scripts/wheel", BUILD.folder, f"{folder}/dist")
            self.assertEqual(made.returncode, 0, made.stderr)
            wheel = pathlib.Path(made.stdout.strip())
            version = re.search(r"project\(lynxpp VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
            self.assertEqual(wheel.name, f"lynxpp-{version}-py3-none-manylinux_2_36_x86_64.whl")
            installed = run(
                f"{folder}/venv/bin/pip", "install", "--no-index", wheel
            )  # no dependency is missing
            self.assertEqual(installed.returncode, 0, installed.stderr)
            used = run(f"{folder}/venv/bin/python", "-c", USE, cwd=folder)
            self.assertEqual((used.stdout, used.stderr), ("2 [] False\n", ""))
            command = f"{folder}/venv/bin/lynxpp"
            self.assertIn(version, run(command, "--version").stdout)
            attached = run(
                command, "run", "-d", "cpu", "--", f"{folder}/venv/bin/python", "-c", CHECKED, cwd=folder
            )
            self.assertIn("[3]\n", attached.stdout, attached.stderr)
            specifications = pathlib.Path(folder, "venv").glob(
                "lib/python*/site-packages/lynxpp/native/share/lynxpp/specs/*.cod"
            )
            self.assertIn("instruction_count.cod", [path.name for path in specifications])


if __name__ == "__main__":
    for name, package in (
        ("setuptools", "python3-setuptools"),
        ("wheel", "python3-wheel"),
        ("ensurepip", "python3-venv"),
    ):
        if importlib.util.find_spec(name) is None:
            print(f"{name} ({package}) is not installed")
            sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
