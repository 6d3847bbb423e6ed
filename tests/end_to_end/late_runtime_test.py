"""A library opened with dlopen, which alone is linked with the CUDA runtime, shared or static: it works and is
measured on the cpu device.

Arguments: the build folder, the program that opens the library.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from harness import Build

BUILD = None
OPENER = None


class LateRuntimeTest(unittest.TestCase):
    def setUp(self):
        self.library = BUILD.examples / "tests" / "late_runtime_shared.so"
        self.static = BUILD.examples / "tests" / "late_runtime_static.so"
        if not self.library.exists():
            self.skipTest(f"{self.library} is not built")

    def expect_measured(self, *command, launches=1, output=b""):
        run, records = BUILD.measure_by_command(*command, spec="instruction_count")
        self.assertEqual((run.status, run.stdout.splitlines()[-1:]), (0, [output]), run)
        counts = [(each["kernel"], each["results"]["thread_instructions"]) for each in records.launches]
        self.assertEqual({kernel for kernel, _ in counts}, {"_Z5twicePi"}, run)
        self.assertEqual(len(counts), launches, run)
        self.assertTrue(all(count > 0 for _, count in counts), counts)

    def test_every_way_to_open_it(self):
        for library in (self.library, self.static):
            for way in ("now", "lazy", "global"):
                with self.subTest(library=library.name, way=way):
                    self.expect_measured(OPENER, library, way, output=f"{way}: 14032".encode())
        self.expect_measured(OPENER, self.static, "deep", output=b"deep: 14032")

    def test_threads(self):
        for library in (self.library, self.static):
            self.expect_measured(OPENER, library, "lazy", 4, launches=4, output=b"lazy: 14032")

    def test_an_interpreter(self):
        code = "import ctypes; library = ctypes.CDLL({!r}); print(library.run_kernel())"
        for library in (self.library, self.static):
            self.expect_measured(sys.executable, "-c", code.format(str(library)), output=b"14032")

    def test_a_static_runtime_that_is_opened_again(self):
        code = ("import ctypes, _ctypes\nfor _ in range(2):\n  library = ctypes.CDLL({!r})\n"
                "  print(library.run_kernel())\n  _ctypes.dlclose(library._handle)")
        self.expect_measured(sys.executable, "-c", code.format(str(self.static)), launches=2, output=b"14032")

    def test_static_runtimes_that_cannot_be_redirected(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "stripped.so"
            subprocess.run(["strip", "-o", stripped, self.static], check=True)
            for library, reason in ((stripped, "stripped.so links the CUDA runtime statically and has no symbol table"),
                                    (self.static.with_name("late_runtime_relocatable.so"), "relocatable device code"),
                                    (self.static.with_name("late_runtime_early.so"), "a constructor of late_runtime_early.so")):
                run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "instruction_count", "--", OPENER, library, "now", preload=False)
                self.assertEqual(run.status, 5, run)
                self.assertEqual(run.stderr.count("the CUDA runtime"), 1, run)
                self.assertIn(reason, run.stderr, run)

    def test_functions_that_are_looked_up(self):
        """By the library's handle, like interpreters, and before any other call to the runtime."""
        code = ("import ctypes; runtime = ctypes.CDLL('libcudart.so.13'); count = ctypes.c_int(-1); "
                "status = runtime.cudaGetDeviceCount(ctypes.byref(count)); print(status, count.value)")
        folder = BUILD.run(sys.executable, "-c", "import ctypes; ctypes.CDLL('libcudart.so.13')", preload=False)
        if folder.status != 0:
            self.skipTest("the dynamic linker does not find libcudart.so.13")
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "--", sys.executable, "-c", code, preload=False)
        self.assertEqual((run.status, run.stdout), (0, b"0 1\n"), run)

    def test_programs_need_no_runtime_of_the_machine(self):
        """The stand-in has the symbol version that programs need: the dynamic linker says nothing."""
        folder = BUILD.folder / "lib" / "cpu-driver" / "runtime-13"
        variables = {"LD_LIBRARY_PATH": str(folder)}
        found = BUILD.run(BUILD.examples / "vecadd", environment={**variables, "LD_TRACE_LOADED_OBJECTS": "1"}, preload=False)
        self.assertIn(f"libcudart.so.13 => {folder}/", found.stdout.decode(), found)
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "--", BUILD.examples / "vecadd", environment=variables, preload=False)
        self.assertEqual(run.status, 0, run)
        self.assertIn(b"vecadd: ok", run.stdout, run)
        self.assertNotIn("version", run.stderr, run)
        alone = BUILD.run(BUILD.examples / "vecadd", environment=variables, preload=False)
        self.assertEqual(alone.status, 127, alone)
        self.assertIn("this process has no CUDA runtime library", alone.stderr)

    def test_stand_ins_are_found_if_the_machine_has_no_runtime(self):
        shown = BUILD.run(BUILD.command, "run", "-d", "cpu", "--", "sh", "-c", "echo $LD_LIBRARY_PATH", preload=False)
        folders = [pathlib.Path(each).name for each in shown.stdout.decode().strip().split(":")]
        for version in (12, 13):
            opened = BUILD.run(sys.executable, "-c", f"import ctypes; ctypes.CDLL('libcudart.so.{version}')", preload=False)
            self.assertEqual(f"runtime-{version}" in folders, opened.status != 0, shown)

    def test_deep_binding_is_explained(self):
        """Such a library finds its own runtime first, which the cpu device cannot replace."""
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "instruction_count", "--", OPENER, self.library, "deep", preload=False)
        self.assertEqual(run.status, 5, run)
        self.assertIn("a library opened with RTLD_DEEPBIND bypasses the cpu device", run.stderr, run)


if __name__ == "__main__":
    OPENER = sys.argv.pop(2)
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
