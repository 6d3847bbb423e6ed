"""Measures the kernels of the running program, through the functions of lynxpp.h."""
import ctypes
import json
import os
import re
import socket
import threading
import warnings

from .errors import Error, LibraryError
from .libraries import PRELOAD, find_home
from .records import Run

_API_VERSION = 1


class _Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("value", ctypes.c_double)]


class _Result(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char_p), ("demangled", ctypes.c_char_p), ("specification", ctypes.c_char_p), ("launch", ctypes.c_uint64),
                ("correlation", ctypes.c_uint64), ("device", ctypes.c_uint64), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                ("count", ctypes.c_size_t), ("values", ctypes.POINTER(_Value))]


_Take = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Result))


class _Api(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("attach", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
                ("attached", ctypes.CFUNCTYPE(ctypes.c_int)), ("poll", ctypes.CFUNCTYPE(ctypes.c_size_t, _Take, ctypes.c_void_p)),
                ("missed", ctypes.CFUNCTYPE(ctypes.c_uint64))]


def find_api():
    """Returns the functions of lynxpp in this process; None if it is not preloaded."""
    try:
        open_api = ctypes.CDLL(None).lynxpp_open_api
    except (AttributeError, OSError):
        return None
    open_api.argtypes, open_api.restype = [ctypes.c_uint32], ctypes.POINTER(_Api)
    found = open_api(_API_VERSION)
    return found.contents if found else None


def _missing():
    try:
        library = find_home() / PRELOAD
    except LibraryError:
        library = "/path/to/lib/liblynxpp.so"
    return LibraryError("lynxpp is not in this process",
                        f"start it with `lynxpp run -- python3 …` or with LD_PRELOAD={library} (Jupyter: in \"env\" of the kernel's kernel.json)")


def _restrict(specifications, kernels):
    """Lets lynxpp instrument these kernels only, by a request to this process's own socket (interposer/control/answer.h). The results are
    the same without: a process has no socket before it uses CUDA, or with LYNXPP_CONTROL=0."""
    request = {"attach": {"specifications": specifications, "kernels": kernels}}
    name = f"{os.stat('/proc/self/ns/pid').st_ino}-{os.getpid()}.sock"
    for folder in (os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "lynxpp"), f"/tmp/lynxpp-{os.geteuid()}"):
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(os.path.join(folder, name))
                connection.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
                while connection.recv(1 << 16):
                    pass
                return
            except OSError:
                continue


def _record_of(result):
    """Returns a result as a launch record without arrays."""
    values = [result.values[i] for i in range(result.count)]
    return {"record": "launch", "process": "", "kernel": result.kernel.decode(), "demangled": result.demangled.decode(),
            "spec": result.specification.decode(), "launch": result.launch, "device": None, "grid": list(result.grid), "block": list(result.block),
            "place": {"ordinal": result.device, "correlation": result.correlation},  # english: ok
            "units": {each.name.decode(): each.unit.decode() for each in values if each.unit},
            "results": {each.name.decode(): each.value if not each.value.is_integer() else int(each.value) for each in values}}


class Attachment(Run):
    """Specifications that are attached in a with statement, and the results of the launches in it.

    In the statement, it has the launches that the program has waited for. Its end waits for those of the current context; wait for other
    contexts before. Each result has its numeric values; arrays and tables are in the records only (LYNXPP_OUTPUT).
    """

    _active = threading.Lock()

    def __init__(self, specifications, kernels):
        super().__init__([{"record": "process", "process": "", "host": socket.gethostname(), "pid": os.getpid()}])
        self._specifications = specifications
        self._kernels = re.compile(kernels) if kernels is not None else None
        self._is_active, self._before, self._missed = False, None, 0
        self._api = find_api()
        if self._api is None:
            raise _missing()

    def __enter__(self):
        if not self._active.acquire(blocking=False):
            raise Error("another lynxpp.attach is active", "attach several specifications at once: lynxpp.attach(\"a,b\")")
        try:
            self._before = os.environ.get("LYNXPP_SPEC") if self._api.attached() == 1 else None
            self._api.poll(_Take(lambda context, result: None), None)  # results of earlier launches
            self._missed = self._api.missed()
            if self._api.attach(self._specifications.encode()) != 1:
                raise Error(f"cannot attach {self._specifications!r}; standard error has the reason")
            if self._kernels is not None:
                _restrict(self._specifications, self._kernels.pattern)
        except BaseException:
            self._leave()
            raise
        self._is_active = True
        return self

    def _leave(self):
        self._is_active = False
        self._api.attach(self._before.encode() if self._before else b"")
        self._active.release()

    def __exit__(self, *problem):
        ctypes.CDLL(None).cuCtxSynchronize()
        self._collect()
        self._leave()

    def _collect(self):
        problems = []

        def take(context, result):
            try:
                record = _record_of(result.contents)
                if self._kernels is None or self._kernels.search(record["kernel"]) or self._kernels.search(record["demangled"]):
                    self._records.append(record)
            except Exception as problem:  # pylint: disable=broad-except  # a callback of C has no caller to raise it to
                problems.append(problem)
        self._api.poll(_Take(take), None)
        missed = self._api.missed() - self._missed
        if missed > self.left_out:
            warnings.warn(f"{missed} results were dropped; read them more often (run.launches())", RuntimeWarning, stacklevel=3)
        self.left_out = missed
        if problems:
            raise problems[0]

    def __iter__(self):
        if self._is_active:
            self._collect()
        return super().__iter__()


def attach(spec, kernels=None):
    """Measures the launches of a with statement. Needs lynxpp in the process (`lynxpp run`, LD_PRELOAD).

        with lynxpp.attach("instruction_count", kernels="mm.*") as run:
            program()
        for launch in run.launches():
            print(launch.demangled, launch.results["thread_instructions"])

    spec      specifications: names or paths, as a list or separated by commas
    kernels   a regular expression: only kernels whose name contains a match

    Raises LibraryError without lynxpp, and Error for a specification with errors. Earlier specifications are attached again at the end if
    LYNXPP_SPEC names them.
    """
    return Attachment(spec if isinstance(spec, str) else ",".join(map(os.fspath, spec)), kernels)
