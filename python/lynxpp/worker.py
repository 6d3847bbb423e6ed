"""The process that runs kernels on one device (serve.py), as its client sees it."""
import atexit
import contextlib
import json
import mmap
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

from .errors import Error, KernelError
from .libraries import PRELOAD, find_home

# A worker keeps what it has learned of each measured kernel; with more, another one starts.
_MOST_KERNELS = 256
# A larger memory file is emptied after a call.
_KEPT_BYTES = 64 << 20


DEVICES = ("cpu", "cuda")


def _environment(home, device):
    """Returns the environment of a worker: without settings that are meant for this process."""
    kept = ("LYNXPP_CPU_CACHE", "LYNXPP_CPU_TIER", "LYNXPP_MEMORY_BUDGET")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("LYNXPP_") or name in kept
    }
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        variables.pop(name, None)
    others = [
        each
        for each in variables.get("LD_PRELOAD", "").replace(":", " ").split()
        if not each.endswith("/liblynxpp.so")
    ]
    library = str(home / PRELOAD)
    variables.update(
        LD_PRELOAD=":".join([library, *others]),
        LYNXPP_DEVICE=device,
        LYNXPP_TABLE="0",
        LYNXPP_LAUNCH_RECORDS="all",
    )
    return variables


class Reply:
    """The outcome of a launch: the worker's reply, the kernel's output, lynxpp's messages, and lines of
    records or findings."""

    def __init__(self, members, printed, log, lines):
        self.stage = members.get("stage")  # the step that failed; None: none did
        self.code = members.get("code", 0)
        self.name = members.get("name", "")
        self.addresses = members.get("addresses", [])
        self.printed, self.log, self.lines = printed, log, lines

    def show(self):
        """Prints what the kernel printed."""
        if self.printed:
            sys.stdout.write(self.printed)


class Worker:
    """A process that runs kernels on `device`. With `checks`, it checks them and must be ended (finish) for
    the findings."""

    def __init__(self, checks=None, device="cpu"):
        home = find_home()
        self.device = device
        self.lock = threading.Lock()
        self.series, self.sites, self.process = {}, {}, None
        self._files = [
            os.memfd_create(name)
            for name in ("lynxpp-arrays", "lynxpp-printed", "lynxpp-log", "lynxpp-lines")
        ]
        self._arrays, self._printed, self._log, self._lines = self._files
        self._map = None
        variables = _environment(home, device)
        variables["LYNXPP_CPU_CHECK_OUTPUT" if checks else "LYNXPP_OUTPUT"] = f"/proc/self/fd/{self._lines}"
        if checks:
            variables["LYNXPP_CPU_CHECK"] = checks
        script = pathlib.Path(__file__).with_name("serve.py")
        python = sys.executable or shutil.which("python3")
        passed = [self._arrays, self._lines]
        if any(each in str(home) for each in ": \t"):  # they separate the files of LD_PRELOAD
            self._files.append(os.open(home / PRELOAD.parent, os.O_RDONLY))
            passed.append(self._files[-1])
            variables["LD_PRELOAD"] = variables["LD_PRELOAD"].replace(
                str(home / PRELOAD.parent), f"/proc/self/fd/{passed[-1]}"
            )
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [python, "-I", "-S", "-B", str(script), str(self._arrays)],
                stdin=other,
                stdout=self._printed,
                stderr=self._log,
                pass_fds=passed,
                env=variables,
            )
        self._replies = self._socket.makefile("rb")

    def map(self, size):
        """Returns the arrays' memory, with at least this size."""
        if os.fstat(self._arrays).st_size < size:
            self._map = None
            os.ftruncate(self._arrays, size)
        if self._map is None and size:
            self._map = mmap.mmap(self._arrays, os.fstat(self._arrays).st_size)
        return self._map

    def ask(self, request, timeout):
        """Returns the Reply. Ends the worker if it does not come in time, or if the program is
        interrupted."""
        if timeout is not None and timeout <= 0:
            raise ValueError(f"the timeout must be positive, not {timeout}")
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._replies.readline()
        except socket.timeout:
            self.kill()
            raise KernelError(
                f"kernel {request['kernel']} still ran after {timeout} s and was stopped"
            ) from None
        except (BrokenPipeError, ConnectionResetError):
            line = b""
        except BaseException:
            self.kill()
            raise
        if not line:
            self._fail()
        return self._reply(json.loads(line))

    def _reply(self, members):
        texts = []
        for file in (self._printed, self._log, self._lines):
            texts.append(os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace"))
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        return Reply(members, *texts)

    def _fail(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)  # it closes its socket before it ends
        self.kill()
        status = self._process.returncode
        text = os.pread(self._log, 1 << 16, 0).decode(errors="replace").strip()
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise Error(f"the process of the {name_of(self.device)} ended with {ended}" + (f":\n{text}" if text else ""))

    def finish(self):
        """Lets the worker end, so that it reports. Returns the Reply of the whole process."""
        self._socket.shutdown(socket.SHUT_WR)
        self._process.wait()
        reply = self._reply({})
        self.close()
        return reply

    def kill(self):
        self._process.kill()
        self._process.wait()

    @property
    def is_alive(self):
        return self._process.poll() is None

    def trim(self):
        """Returns the memory of large arrays."""
        if os.fstat(self._arrays).st_size > _KEPT_BYTES:
            self._map = None
            os.ftruncate(self._arrays, 0)

    def close(self):
        """May be called again."""
        self._map = None
        self._replies.close()
        self._socket.close()
        if self.is_alive:
            self.kill()
        while self._files:
            os.close(self._files.pop())


def name_of(device):
    """Returns a device's name in messages."""
    return "cpu device" if device == "cpu" else "GPU"


_workers = {}  # by device
_starting = threading.Lock()


def _current(device):
    with _starting:
        worker = _workers.get(device)
        if worker is not None:
            if worker.is_alive and len(worker.sites) <= _MOST_KERNELS:
                return worker
            with worker.lock:
                worker.close()
        worker = _workers[device] = Worker(device=device)
        return worker


@contextlib.contextmanager
def shared_worker(device="cpu"):
    """The worker of this process for a device, for one thread at a time."""
    while True:
        worker = _current(device)
        with worker.lock:
            if not worker.is_alive:  # another thread has ended it meanwhile
                continue
            yield worker
            return


@atexit.register
def _end():
    for worker in _workers.values():
        worker.close()


def _begin_child():
    """A forked child starts workers of its own; those of its parent are not its children, so close() does not
    end them."""
    global _starting
    _end()
    _workers.clear()
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_begin_child)
