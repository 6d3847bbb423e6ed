"""Files that lynxpp keeps between runs: it removes none of the user's files, runs none of another user's, and
leaves nothing in another user's home.

Argument: the build folder.
"""
import os
import pathlib
import re
import sys
import tempfile
import unittest

from harness import Build

BUILD = None
SOMEBODY = 65534
needs_second_user = unittest.skipUnless(os.geteuid() == 0, "only root can give files to a second user")


class Stores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_counted(self, **environment):
        """Runs vecadd on the cpu device. Returns its messages and the number of code forms that came from the
        cache."""
        output = self.folder / "out.jsonl"
        run = BUILD.run(BUILD.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--",
                        BUILD.examples / "vecadd", preload=False, folder=self.folder,
                        environment={"LYNXPP_LOG": "debug", "LYNXPP_PTX_STORE": "off",
                                     **{name: str(value) for name, value in environment.items()}})
        self.assertEqual(run.status, 0, run)
        return run.stderr, sum(map(int, re.findall(r"(\d+) of them cached by", run.stderr)))

    def test_files_in_a_named_folder_stay(self):
        named = self.folder / "documents"
        named.mkdir()
        files = [named / f"letter {i}" for i in range(8)] + [named / (f"{i}" * 32) for i in range(8)]
        for file in files:
            file.write_text("mine")
            os.utime(file, (1000000000, 1000000000))
        self.run_counted(LYNXPP_CPU_CACHE=named, LYNXPP_PTX_STORE=named)
        self.assertEqual([file.name for file in files if not file.exists()], [])
        said, kept = self.run_counted(LYNXPP_CPU_CACHE=named)
        self.assertGreater(kept, 0, said)

    def test_zero_and_off_are_no_folders(self):
        for off in ("0", "off"):
            said, kept = self.run_counted(LYNXPP_CPU_CACHE=off, LYNXPP_PTX_STORE=off)
            self.assertEqual(kept, 0, said)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["out.jsonl"])

    def test_a_folder_that_others_can_write_is_refused(self):
        named = self.folder / "shared"
        self.run_counted(LYNXPP_CPU_CACHE=named)
        named.chmod(0o777)
        said, kept = self.run_counted(LYNXPP_CPU_CACHE=named)
        self.assertEqual(kept, 0, said)
        self.assertIn("the cpu device does not cache compiled code: ", said)
        self.assertIn("shared can be written by others (mode 0777)", said)

    @needs_second_user
    def test_code_of_another_user_is_not_run(self):
        named = self.folder / "named"
        self.run_counted(LYNXPP_CPU_CACHE=named)
        said, kept = self.run_counted(LYNXPP_CPU_CACHE=named)
        self.assertGreater(kept, 0, said)
        for file in (named / "lynxpp" / "cpu").iterdir():
            os.chown(file, SOMEBODY, SOMEBODY)
        said, kept = self.run_counted(LYNXPP_CPU_CACHE=named)
        self.assertEqual(kept, 0, said)

    @needs_second_user
    def test_sudo_with_a_kept_home_leaves_nothing_there(self):
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, SOMEBODY, SOMEBODY)
        said, _ = self.run_counted(HOME=home, XDG_CACHE_HOME="", XDG_RUNTIME_DIR=home, LYNXPP_PTX_STORE="", LYNXPP_CONTROL="1")
        self.assertEqual(list(home.iterdir()), [])
        self.assertIn("home belongs to user 65534", said)

    @needs_second_user
    def test_sudo_with_a_kept_home_keeps_no_calibration_there(self):
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, SOMEBODY, SOMEBODY)
        run = BUILD.run(BUILD.command, "band", "calibrate", "--machine", "compute_1_3", "-i", "16", preload=False,
                        environment={"HOME": str(home), "XDG_DATA_HOME": "", "LYNXPP_CPU_CACHE": "off", "LYNXPP_PTX_STORE": "off"})
        self.assertNotEqual(run.status, 0, run)
        self.assertIn("home belongs to user 65534", run.stderr)
        self.assertEqual(list(home.iterdir()), [])


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
