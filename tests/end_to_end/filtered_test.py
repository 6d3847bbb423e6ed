"""Programs whose system calls are filtered: a program that must not open sockets is not ended by lynxpp's
socket.

Argument: the build folder.
"""
import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from harness import Build, clean_environment

BUILD = None
WAIT = 120  # seconds; longer than anything here takes
SOCKET, ACCT = 41, 163  # numbers of system calls on x86-64; nothing here calls the second


def installing_filter(number):
    """Returns a function after whose call a child is killed by the system call with that number."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    kill, allow = 0x80000000, 0x7FFF0000
    code = b"".join(struct.pack("HBBI", *each) for each in
                    [(load, 0, 0, 0), (jump_if_equal, 0, 1, number), (answer, 0, 0, kill), (answer, 0, 0, allow)])
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def install():
        no_new_privileges, set_filter, filter_mode = 38, 22, 2
        assert prctl(no_new_privileges, 1, 0, 0, 0) == 0
        assert instructions and prctl(set_filter, filter_mode, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
    return install


class Filtered(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, number, command=(), **environment):
        variables = {**clean_environment(), "XDG_RUNTIME_DIR": str(self.folder), "LD_PRELOAD": str(BUILD.library),
                     "LYNXPP_DEVICE": "cpu", **environment}
        process = subprocess.Popen([*command, str(BUILD.examples / "tests" / "commanded")], env=variables, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=installing_filter(number))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def sockets(self):
        return list(self.folder.rglob("*.sock"))

    def test_the_program_survives_and_status_says_why_it_does_not_listen(self):
        process = self.start(SOCKET, LYNXPP_LOG="info")
        self.assertEqual(self.sockets(), [])
        asked = subprocess.run([str(BUILD.command), "status", str(process.pid)], capture_output=True, text=True, timeout=WAIT,
                               env={**clean_environment(), "XDG_RUNTIME_DIR": str(self.folder)})
        self.assertIn("its system calls are filtered (seccomp)", asked.stderr)
        self.assertIn("LYNXPP_CONTROL=1", asked.stderr)
        process.stdin.write("one\n")
        process.stdin.flush()
        process.stdout.readline()
        _, errors = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("its system calls are filtered (seccomp)", errors)

    def test_the_user_may_declare_sockets_permitted(self):
        self.start(ACCT, LYNXPP_CONTROL="1")
        self.assertEqual(len(self.sockets()), 1)

    def test_filters_of_the_container_are_ignored(self):
        container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*container, "true"], capture_output=True).returncode != 0:
            self.skipTest("PID namespaces cannot be created here")
        # The shell is the first process there.
        self.start(ACCT, command=[*container, "sh", "-c", '"$0"; true'])
        self.assertEqual(len(self.sockets()), 1)


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
