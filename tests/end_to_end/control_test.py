"""lynxpp attach, detach, status and top: the commands, and peers that send nothing or nonsense, connect to a
program on the cpu device while it launches.

Argument: the build folder.
"""
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from harness import Build, clean_environment, read_json_lines

BUILD = None
WAIT = 120  # seconds; longer than anything here takes


def socket_name(process, pid_namespace="/proc/self/ns/pid"):
    return f"{os.stat(pid_namespace).st_ino}-{process}.sock"


class Commanded:
    """The program, its socket's folder and its records."""

    def __init__(self, folder, *, starter=(), **environment):
        self.runtime = pathlib.Path(folder)
        self.output = self.runtime / "out.jsonl"
        variables = {**clean_environment(), "XDG_RUNTIME_DIR": str(folder), "LYNXPP_OUTPUT": str(self.output),
                     "LD_PRELOAD": str(BUILD.library), "LYNXPP_DEVICE": "cpu",
                     "LYNXPP_CONTROL": "1",  # containers, in which the tests may run, filter system calls
                     **environment}
        self.process = subprocess.Popen([*starter, str(BUILD.examples / "tests" / "commanded")], env=variables, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.number = self.process.pid
        self.folder = self.runtime / "lynxpp"
        self.socket = self.folder / socket_name(self.number)
        self.read = self.process.stdout.readline
        assert self.read() == "ready\n", self.process.stderr.read()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read().strip()

    def end(self):
        out, errors = self.process.communicate(timeout=WAIT)
        return self.process.returncode, errors

    def records(self):
        """(kernel, launch, spec, thread instructions) of each launch record."""
        launches = [entry for entry in read_json_lines(self.output) if entry["record"] == "launch"] if self.output.exists() else []
        return [(entry["kernel"], entry["launch"], entry["spec"], entry["results"].get("thread_instructions"))
                for entry in launches]

    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.settimeout(WAIT)
        peer.connect(str(self.socket))
        return peer

    def ask(self, line):
        with self.connect() as peer:
            try:
                peer.sendall(line)
            except (BrokenPipeError, ConnectionResetError):
                return b""  # the other side closed the connection
            answer = b""
            while not answer.endswith(b"\n"):
                try:
                    part = peer.recv(65536)
                except ConnectionResetError:
                    break
                if not part:
                    break
                answer += part
            return answer


def lynxpp(*arguments, runtime=None):
    environment = clean_environment()
    environment.pop("XDG_RUNTIME_DIR", None)
    if runtime is not None:
        environment["XDG_RUNTIME_DIR"] = str(runtime)
    return subprocess.run([str(BUILD.command), *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=WAIT)


# Opening the file blocks until this process releases it, for up to 45 seconds.
LEASE = """
import fcntl, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        print("held", flush=True)
    except OSError:
        print("no", flush=True)
    sys.stdin.read()
"""


class ControlTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.program = None

    def start(self, **environment):
        self.program = Commanded(self.folder, **environment)
        self.addCleanup(self.stop)
        return self.program

    def stop(self):
        self.program.process.kill()
        self.program.process.communicate()

    def command(self, *arguments, status=0):
        done = lynxpp(*arguments, runtime=self.folder)
        self.assertEqual(done.returncode, status, done)
        return done.stdout if status == 0 else done.stderr

    def status_of(self, number):
        lines = self.command("status", number).splitlines()
        return {line[:16].strip(): line[16:] for line in lines}

    def test_top_shows_device_times_and_occupancy(self):
        program = self.start(LYNXPP_TIMING="1")
        self.command("attach", program.number, "-s", "instruction_count")
        program.say("one")
        self.assertRegex(self.command("top", program.number, "--once"), r"launches / s +launches +instrumented +device ms +occupancy  kernel\n"
                         r" +0\.0 +1 +1 +[0-9.e+-]+ +(-|[0-9]+ %)  one\(int\*\)\n\nTrust: measured by the host's clock; ")

    def test_attaches_and_detaches(self):
        program = self.start()
        number = program.number
        self.assertEqual(stat.S_IMODE(program.folder.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(program.socket.stat().st_mode), 0o600)
        program.say("one")
        before = self.status_of(number)
        self.assertEqual((before["process"], before["attached"], before["launches made"], before["while attached"]),
                         (str(number), "nothing", "1", "0"))
        self.assertIn("cpu", before["device"])

        said = self.command("attach", number, "-s", "instruction_count")
        self.assertEqual(said, f"attached instruction_count to process {number}; records go to {program.output}\n")
        for kernel in ("one", "two", "one"):
            program.say(kernel)
        now = self.status_of(number)
        self.assertEqual([now[name] for name in ("attached", "kernels", "launches", "launches made", "while attached", "instrumented",
                                               "records lost")],
                         ["instruction_count", "all", "all", "4", "3", "3", "0"])

        self.command("attach", number, "-s", "instruction_count,kernel_runtime", "-k", "^two")
        program.say("one")
        program.say("two")
        now = self.status_of(number)
        self.assertEqual([now[name] for name in ("attached", "kernels", "launches made", "while attached", "instrumented")],
                         ["instruction_count, kernel_runtime", "^two", "6", "5", "4"])
        top = self.command("top", number, "--once")
        self.assertIn("launches / s    0.0\n", top)
        self.assertIn("            3            2              -            -  one(int*)\n", top)
        self.assertIn("            2            2              -            -  two(int*)\n", top)
        self.assertIn("start the program with lynxpp run --timing", top)

        self.assertEqual(self.command("detach", number), f"nothing is attached to process {number} any more\n")
        program.say("one")
        program.say("two")
        self.assertEqual(self.status_of(number)["attached"], "nothing")
        now = self.status_of(number)
        self.assertEqual((now["launches made"], now["while attached"]), ("8", "5"))
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        self.assertFalse(program.socket.exists())
        records = program.records()
        self.assertEqual([(kernel, launch, spec) for kernel, launch, spec, _ in records],
                         [("_Z3onePi", 0, "instruction_count"), ("_Z3twoPi", 0, "instruction_count"),
                          ("_Z3onePi", 1, "instruction_count"), ("_Z3twoPi", 1, "instruction_count"),
                          ("_Z3twoPi", 1, "kernel_runtime")])
        counts = {count for _, _, spec, count in records if spec == "instruction_count"}
        self.assertEqual(len(counts), 1, "both kernels are the same text")
        self.assertGreater(counts.pop(), 0)

    def test_peers_that_send_nothing_or_nonsense(self):
        program = self.start()
        peers = [program.connect() for _ in range(3)]  # silent
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        self.assertEqual(program.say("one"), "launched 1")
        for line in (b"\n", b"garbage\n", b"\xff\x00{\n", b"[]\n", b"{}\n", b'{"stop":{}}\n', b'{"attach":{}}\n', b'{"attach":[1]}\n',
                     b'{"attach":{"specifications":7}}\n', b'{"attach":{"specifications":" , "}}\n',
                     b'{"attach":{"specifications":"instruction_count","kernels":"("}}\n',
                     b'{"attach":{"specifications":"no_such_thing"}}\n', b"[" * 100_000 + b"\n"):
            self.assertIn("error", json.loads(program.ask(line)), line[:80])
        self.assertEqual(program.ask(b"x" * (2 << 20)), b"", "an endless line is no request")
        with program.connect() as peer:
            peer.sendall(b'{"status":{}}\n')  # closes before the answer
        with program.connect() as peer:
            peer.sendall(b'{"sta')
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        self.assertEqual(program.say("one"), "launched 2")
        for peer in peers:
            peer.close()
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        self.assertEqual(program.records(), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_peer_of_another_user_gets_no_answer(self):
        program = self.start()
        # Whatever the permissions: the peer's user is checked too.
        for path, mode in ((self.folder, 0o755), (program.folder, 0o755), (program.socket, 0o666)):
            os.chmod(path, mode)
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            nobody = 65534
            os.setuid(nobody)
            try:
                os.write(theirs, b"answered " + program.ask(b'{"status":{}}\n'))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(theirs)
        with open(ours, "rb") as pipe:
            self.assertEqual(pipe.read(), b"answered ")
        program.folder.chmod(0o700)
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")

    def test_coverage_is_kept_for_each_specification(self):
        """The kernels have no branch: a specification that counts branches has no sites in them, which does
        not affect others."""
        program = self.start()
        self.command("attach", program.number, "-s", "instruction_count")
        for kernel in ("one", "one", "one"):
            program.say(kernel)
        self.command("attach", program.number, "-s", "branch_divergence")
        program.say("one")
        self.command("attach", program.number, "-s", "instruction_count")
        program.say("one")
        now = self.status_of(program.number)
        self.assertEqual((now["launches made"], now["while attached"], now["instrumented"]), ("5", "5", "5"))
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        coverage = {tuple(entry["specs"]): (entry["launches"], entry["instrumented_launches"], entry["sites"] != 0)
                    for entry in read_json_lines(program.output) if entry["record"] == "coverage"}
        self.assertEqual(coverage, {("instruction_count",): (4, 4, True), ("branch_divergence",): (1, 1, False)})
        missed = errors.split("== lynxpp: not instrumented ==")[1].splitlines()
        self.assertEqual(missed[1].split(), ["kernel", "launches", "specifications", "reason"])
        self.assertEqual(missed[2].split()[:3], ["one(int*)", "1", "branch_divergence"])

    def test_a_refused_attach_changes_nothing(self):
        program = self.start(LYNXPP_SPEC="instruction_count")
        self.assertIn("no_such_thing", self.command("attach", program.number, "-s", "no_such_thing", status=2))
        self.assertIn("error", json.loads(program.ask(b'{"attach":{"specifications":"no_such_thing"}}\n')))
        self.assertEqual(self.status_of(program.number)["attached"], "instruction_count")
        program.say("one")
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        self.assertEqual([record[:3] for record in program.records()], [("_Z3onePi", 0, "instruction_count")])

    def test_processes_that_do_not_listen(self):
        program = self.start(LYNXPP_CONTROL="0")
        self.assertFalse(program.folder.exists())
        self.assertIn(f"process {program.number} does not listen to lynxpp", self.command("status", program.number, status=1))
        for command in (["attach", "-s", "instruction_count"], ["detach"], ["status"], ["top"]):
            self.assertIn(f"process {os.getpid()} does not listen to lynxpp",
                          self.command(command[0], os.getpid(), *command[1:], status=1))
        ended = subprocess.Popen(["/bin/true"])
        ended.wait()
        self.assertIn(f"no such process: {ended.pid}", self.command("status", ended.pid, status=1))
        self.assertIn("no specification to attach", self.command("attach", program.number, status=2))

    def test_children_do_not_answer(self):
        program = self.start()
        child = int(program.say("fork").removeprefix("child "))
        self.assertIn("does not listen to lynxpp", self.command("status", child, status=1))
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        # A child that holds the listening socket would make peers wait forever.
        held = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{child}/fd").iterdir()]
        self.assertFalse([entry for entry in held if entry.startswith("socket:")], held)
        self.assertEqual(program.end()[0], 0)

    def test_sockets_of_killed_processes_are_removed(self):
        """By the next command that reads the folder; other files and sockets of living processes stay."""
        killed = self.start()
        killed.process.kill()
        killed.process.wait()
        self.assertTrue(killed.socket.exists())
        program = Commanded(self.folder)
        self.addCleanup(program.process.communicate)
        self.addCleanup(program.process.kill)
        other = program.folder / "notes.sock"
        other.write_text("not ours")
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        self.assertFalse(killed.socket.exists())
        self.assertTrue(program.socket.exists() and other.exists())

    def test_a_socket_of_another_process(self):
        """The process that listens under a process's name is identified."""
        program = self.start()
        other = subprocess.Popen(["sleep", str(WAIT)])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as impostor:
            impostor.bind(str(program.folder / socket_name(other.pid)))
            impostor.listen()
            said = self.command("status", other.pid, status=1)
        self.assertIn(f"process {other.pid} does not listen to lynxpp", said)

    def test_sockets_that_only_look_abandoned(self):
        """A socket with a listener, the socket of a living process that will listen in a moment, and a file
        named like a socket all stay."""
        program = self.start()
        ended = subprocess.Popen(["/bin/true"])
        ended.wait()
        taken = program.folder / socket_name(ended.pid)
        bound = program.folder / socket_name(os.getpid())
        file = program.folder / socket_name(ended.pid + 1_000_000)
        file.write_text("not ours")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as early:
            listener.bind(str(taken))
            listener.listen()
            early.bind(str(bound))
            self.status_of(program.number)
            self.assertTrue(taken.exists() and bound.exists() and file.exists())
        self.status_of(program.number)
        self.assertFalse(taken.exists())
        self.assertTrue(bound.exists() and file.exists())

    def test_processes_of_another_pid_namespace(self):
        """They have their own process ids, which may equal ids here or not. Their sockets stay, and they are
        reached by the number that they have here."""
        starter = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]
        if subprocess.run([*starter, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
            self.skipTest("PID namespaces cannot be created here")
        inside = self.start(starter=starter)
        child, = pathlib.Path(f"/proc/{inside.number}/task/{inside.number}/children").read_text().split()
        number = int(child)
        names = [line.split()[1:] for line in pathlib.Path(f"/proc/{number}/status").read_text().splitlines() if line.startswith("NSpid:")]
        own_number = names[0][-1]
        path = inside.folder / socket_name(own_number, f"/proc/{number}/ns/pid")
        self.assertTrue(path.exists(), list(inside.folder.iterdir()))
        outside = Commanded(self.folder)
        self.addCleanup(outside.process.communicate)
        self.addCleanup(outside.process.kill)
        self.assertEqual(self.status_of(outside.number)["attached"], "nothing")
        self.assertTrue(path.exists())
        self.assertIn("attached instruction_count", self.command("attach", number, "-s", "instruction_count"))
        self.assertEqual(self.status_of(number)["attached"], "instruction_count")
        self.assertEqual(self.status_of(outside.number)["attached"], "nothing")

    def test_specifications_that_would_block(self):
        """A pipe, and a file that another process keeps from being opened: refused at once, by the command
        and by the process, which continues to launch and to answer."""
        program = self.start()
        pipe = pathlib.Path(self.folder, "pipe.cod")
        os.mkfifo(pipe)
        including = pathlib.Path(self.folder, "including.cod")
        including.write_text('include "pipe.cod"\nON_KERNEL_ENTRY: { }\n')
        kept = pathlib.Path(self.folder, "kept.cod")
        kept.write_text("ON_KERNEL_ENTRY: { }\n")
        holder = subprocess.Popen([sys.executable, "-c", LEASE, str(kept)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        held = holder.stdout.readline() == "held\n"
        for path, words in ((pipe, "is a pipe"), (including, "pipe.cod' cannot be read"), (kept, "cannot read specification")):
            if path == kept and not held:
                continue  # this file system has no leases
            self.assertIn(words, self.command("attach", program.number, "-s", path, status=2))
            answer = json.loads(program.ask(json.dumps({"attach": {"specifications": str(path)}}).encode() + b"\n"))
            self.assertIn(words, answer["error"])
        self.assertEqual(program.say("one"), "launched 1")
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        self.assertEqual(program.end()[0], 0)

    def test_patterns_that_would_take_forever(self):
        program = self.start()
        self.command("attach", program.number, "-s", "instruction_count", "-k", "^(o|(o|o)*)*([a-z]*)*(e+)+$")
        self.assertEqual(program.say("one"), "launched 1")
        self.assertEqual(self.status_of(program.number)["instrumented"], "0")
        refused = json.loads(program.ask(b'{"attach":{"specifications":"instruction_count","kernels":"one(?!two)"}}\n'))
        self.assertEqual(refused["error"], "'one(?!two)' is not a valid regular expression: invalid perl operator '(?!' at character 4")

    def test_a_peer_that_never_reads(self):
        """Its answer is discarded after a second, and others are answered."""
        program = self.start()
        peers = [program.connect() for _ in range(2)]
        for peer in peers:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            peer.sendall(b'{"status":{}}\n' * 1000)
        self.assertEqual(self.status_of(program.number)["attached"], "nothing")
        self.assertEqual(program.say("one"), "launched 1")
        for peer in peers:
            peer.close()
        self.assertEqual(program.end()[0], 0)

    def test_many_peers_and_slow_peers(self):
        """A peer has one second, however slowly it sends; peers beyond the queue's capacity are not the
        program's problem. The program launches as before and answers the next peer."""
        program = self.start(LYNXPP_SPEC="instruction_count")
        slow = program.connect()
        slow.sendall(b'{"sta')
        begin = time.monotonic()
        answer = b""
        while not answer and time.monotonic() - begin < WAIT:
            try:
                slow.sendall(b" ")  # a byte now and then must not extend the wait
                time.sleep(0.05)
                slow.setblocking(False)
                try:
                    if slow.recv(1) == b"":
                        break
                except BlockingIOError:
                    pass
                slow.setblocking(True)
            except (BrokenPipeError, ConnectionResetError):
                break
        self.assertLess(time.monotonic() - begin, 30, "it was disconnected after a second")
        slow.close()
        crowd = []
        for _ in range(200):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            peer.setblocking(False)
            try:
                peer.connect(str(program.socket))
            except BlockingIOError:
                pass  # the queue is full
            crowd.append(peer)
        for number in range(1, 4):
            self.assertEqual(program.say("one"), f"launched {number}")
        for peer in crowd:
            peer.close()
        self.assertEqual(self.status_of(program.number)["instrumented"], "3")
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        self.assertEqual([record[:2] for record in program.records()], [("_Z3onePi", number) for number in range(3)])

    def test_a_deleted_specification(self):
        """The attached specification continues; attaching it again fails with a message, and nothing
        changes."""
        text = pathlib.Path(self.folder, "mine.cod")
        text.write_text("global unsigned long thread_instructions;\nON_BASIC_BLOCK_EXIT: "
                        "{ atomicAdd(&thread_instructions, basicBlockExecutedInstructionCount()); }\n")
        program = self.start(LYNXPP_SPEC=str(text))
        program.say("one")
        text.unlink()
        program.say("one")
        program.say("two")
        self.assertIn("mine.cod", self.command("attach", program.number, "-s", text, status=2))
        self.assertIn("error", json.loads(program.ask(json.dumps({"attach": {"specifications": str(text)}}).encode() + b"\n")))
        program.say("two")
        status, errors = program.end()
        self.assertEqual(status, 0, errors)
        self.assertEqual([record[:3] for record in program.records()],
                         [("_Z3onePi", 0, "mine"), ("_Z3onePi", 1, "mine"), ("_Z3twoPi", 0, "mine"), ("_Z3twoPi", 1, "mine")])

    def test_different_environment(self):
        """The command finds the socket by the program's environment if its own differs."""
        program = self.start()
        done = lynxpp("status", program.number)
        self.assertEqual(done.returncode, 0, done)
        program.folder.chmod(0o755)
        done = lynxpp("status", program.number)
        self.assertIn("does not listen", done.stderr, "a folder that others can enter is not trusted")
        program.folder.chmod(0o700)


if __name__ == "__main__":
    BUILD = Build(sys.argv.pop(1))
    unittest.main()
