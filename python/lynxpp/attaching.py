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
# Other threads may launch all the time.
_MOST_POLLS = 100


class _Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("value", ctypes.c_double)]


class _Result(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("demangled", ctypes.c_char_p),
        ("specification", ctypes.c_char_p),
        ("launch", ctypes.c_uint64),
        ("correlation", ctypes.c_uint64),
        ("device", ctypes.c_uint64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("count", ctypes.c_size_t),
        ("values", ctypes.POINTER(_Value)),
    ]


_Take = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Result))


class _Api(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("attach", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
        ("attached", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("poll", ctypes.CFUNCTYPE(ctypes.c_size_t, _Take, ctypes.c_void_p)),
        ("missed", ctypes.CFUNCTYPE(ctypes.c_uint64)),
    ]


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
    return LibraryError(
        "lynxpp is not in this process",
        f"start it with `lynxpp run -- python3 …` or with LD_PRELOAD={library} "
        "(Jupyter: in \"env\" of the kernel's kernel.json)",
    )


def _ask(request):
    """Returns the answer of lynxpp to a request on this process's own socket (interposer/control/answer.h).
    None without a socket: before the process uses CUDA, or with LYNXPP_CONTROL=0."""
    name = f"{os.stat('/proc/self/ns/pid').st_ino}-{os.getpid()}.sock"
    for folder in (
        os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), "lynxpp"),
        f"/tmp/lynxpp-{os.geteuid()}",
    ):
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(os.path.join(folder, name))
                connection.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
                with connection.makefile("rb") as answers:
                    return json.loads(answers.readline())
            except (OSError, ValueError):
                continue
    return None


def _unmeasured():
    """Returns {kernel: launches that were not instrumented while something was attached}."""
    status = _ask({"status": {}}) or {}
    return {
        each["kernel"]: each["launches"] - each["instrumented"] for each in status.get("seen_kernels", [])
    }


def _record_of(result):
    """Returns a result as a launch record without arrays."""
    values = [result.values[i] for i in range(result.count)]
    return {
        "record": "launch",
        "process": "",
        "kernel": result.kernel.decode(),
        "demangled": result.demangled.decode(),
        "spec": result.specification.decode(),
        "launch": result.launch,
        "device": None,
        "grid": list(result.grid),
        "block": list(result.block),
        "place": {"ordinal": result.device, "correlation": result.correlation},  # english: ok
        "units": {each.name.decode(): each.unit.decode() for each in values if each.unit},
        "results": {
            each.name.decode(): each.value if not each.value.is_integer() else int(each.value)
            for each in values
        },
    }


class Attachment(Run):
    """Specifications that are attached in a with statement, and the results of the launches in it.

    Reading them in the statement, and its end, waits for the launches of the current context; wait for those
    of other contexts before. Each result has its numeric values; arrays and tables are in the records only
    (LYNXPP_OUTPUT).

    `unmeasured` is {kernel: launches}, at the end of the statement: launches that ran uninstrumented, for
    example for lack of memory. The coverage in the records says why.
    """

    _active = threading.Lock()

    def __init__(self, specifications, kernels):
        super().__init__(
            [{"record": "process", "process": "", "host": socket.gethostname(), "pid": os.getpid()}]
        )
        self._specifications = specifications
        self._kernels = re.compile(kernels) if kernels is not None else None
        self.unmeasured = {}
        self._is_active, self._before, self._missed, self._unmeasured = False, None, 0, {}
        self._api = find_api()
        if self._api is None:
            raise _missing()

    def __enter__(self):
        if not self._active.acquire(blocking=False):
            raise Error(
                "another lynxpp.attach is active",
                "attach several specifications at once: lynxpp.attach(\"a,b\")",
            )
        try:
            self._before = os.environ.get("LYNXPP_SPEC") if self._api.attached() == 1 else None
            self._api.poll(_Take(lambda context, result: None), None)  # results of earlier launches
            self._missed, self._unmeasured = self._api.missed(), _unmeasured()
            if self._api.attach(self._specifications.encode()) != 1:
                raise Error(f"cannot attach {self._specifications!r}; standard error has the reason")
            if self._kernels is not None:
                # Without a socket, all kernels are instrumented and the others' results are dropped.
                _ask({"attach": {"specifications": self._specifications, "kernels": self._kernels.pattern}})
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
        self._api.attach(b"")
        self._collect()
        self._leave()
        self._find_unmeasured()

    def _selects(self, *names):
        return self._kernels is None or any(map(self._kernels.search, names))

    def _find_unmeasured(self):
        measured = {record["kernel"] for record in self._records if record["record"] == "launch"}
        for kernel, count in _unmeasured().items():
            count -= self._unmeasured.get(kernel, 0)
            if count > 0 and (kernel in measured or self._selects(kernel)):
                self.unmeasured[kernel] = count
        if self.unmeasured:
            launches = ", ".join(f"{count} of {kernel}" for kernel, count in self.unmeasured.items())
            warnings.warn(
                f"launches ran uninstrumented: {launches}; "
                "the coverage in the records says why (LYNXPP_OUTPUT)",
                RuntimeWarning,
                stacklevel=3,
            )

    def _collect(self):
        """Waits for the launches, and takes their results. The first poll after a launch has ended may only
        start to copy its results from the device, so polls are over when two of them, with a wait between
        them, find nothing."""
        problems = []

        def take(context, result):
            try:
                record = _record_of(result.contents)
                if self._selects(record["kernel"], record["demangled"]):
                    self._records.append(record)
            except Exception as problem:  # pylint: disable=broad-except  # ctypes would only print it
                problems.append(problem)

        callback, wait, idle = _Take(take), ctypes.CDLL(None).cuCtxSynchronize, 0
        for _ in range(_MOST_POLLS):
            wait()
            idle = 0 if self._api.poll(callback, None) else idle + 1
            if idle == 2:
                break
        missed = self._api.missed() - self._missed
        if missed > self.left_out:
            warnings.warn(
                f"{missed} results were dropped; read them more often (run.launches())",
                RuntimeWarning,
                stacklevel=3,
            )
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

    Raises LibraryError without lynxpp, and Error for a specification with errors. Earlier specifications are
    attached again at the end if LYNXPP_SPEC names them.
    """
    return Attachment(spec if isinstance(spec, str) else ",".join(map(os.fspath, spec)), kernels)
