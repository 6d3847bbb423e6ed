"""Runs Triton kernels on the cpu device: compiles them without a GPU, checks and counts each launch.

    lynxpp triton program.py                         # a program unchanged (`lynxpp triton --help`)

    import lynxpp.triton
    with lynxpp.triton.activate() as session:        # in a program, a notebook or a test
        add_kernel[(grid,)](x, y, n, BLOCK=1024)     # tensors of PyTorch on the host, or NumPy arrays
    for launch in session.run().launches():
        print(launch.kernel, launch.results)
    print(session.findings)                          # of lynxpp.check_ptx, with lines of the program

Needs Triton 3.2 or newer (`pip install triton`); PyTorch is not needed. See activate().
"""
import argparse
import contextlib
import ctypes
import functools
import importlib.util
import json
import operator
import os
import runpy
import sys
import traceback

from . import arguments
from .checking import check_ptx
from .errors import Error
from .launching import run_ptx
from .records import Run

SPECIFICATIONS = "instruction_count,memory_efficiency"
CHECKS = "memory,race,init,sync"
# The newest target whose tensor descriptors need no tensor map, which Triton's driver would have to make.
TARGET = 89
_FLOATS = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "fp64": "f64"}
# Arguments of Triton's launchers before the kernel's: grid, stream, function, metadata twice, two hooks.
_BEFORE_ARGUMENTS = 9
# The session in use. Triton keeps compiled kernels, and so their launchers, for later sessions.
_active = None
# Global and profile scratch memory, in this order.
_SCRATCH = ("global_scratch_size", "profile_scratch_size")


class Array:
    """A NumPy array as Triton wants its arguments: an object with a type and an address."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


def _view(begin, size):
    return memoryview((ctypes.c_char * size).from_address(begin)).cast("B") if size else bytearray()


def _pointer(value, what):
    """Returns the argument of run_ptx for a pointer: the whole memory that the tensor is a view of, and where
    in it the kernel begins."""
    while not hasattr(value, "untyped_storage") and hasattr(value, "data_ptr") and hasattr(value, "base"):
        value = value.base  # triton.reinterpret
    if value is None:
        return None
    if isinstance(value, Array):
        root = value.array
        while isinstance(root.base, type(root)):
            root = root.base
        memory = root.reshape(-1, order="A") if root.flags.forc else value.array
        begin = memory.ctypes.data
        return arguments.Inside(memory, value.data_ptr() - begin, what)
    if hasattr(value, "untyped_storage"):
        if value.device.type != "cpu":
            raise Error(f"{what} is a tensor on {value.device}", "the cpu device uses tensors of the host")
        storage = value.untyped_storage()
        begin = storage.data_ptr()
        return arguments.Inside(_view(begin, storage.nbytes()), value.data_ptr() - begin, what)
    raise Error(f"{what} is a {type(value).__name__}", "pass a tensor on the host or a NumPy array")


def _flattened(kind, value, what):
    """Yields (Triton's type, value, name) for each parameter that one argument becomes."""
    if isinstance(kind, (tuple, list)):
        for number, (inner, part) in enumerate(zip(kind, value)):
            yield from _flattened(inner, part, f"{what}[{number}]")
    elif kind.startswith("tensordesc"):
        # For targets without tensor copies, a descriptor becomes what it consists of.
        if not hasattr(value, "padding"):
            raise Error(f"{what}: tensor descriptors of this version of Triton are not supported")
        yield "*", value.base, what
        for part in (*value.shape, *value.strides):
            yield "i64", part, what
        yield "i1", value.padding == "nan", what
        if hasattr(value, "round_f32_to_tf32"):
            yield "i1", value.round_f32_to_tf32, what
        for part in (*value.shape, *value.strides):
            yield "", part, what  # the parameter decides on their size
    elif kind != "constexpr":
        yield kind, value, what


def _number(kind, value, parameter):
    """Returns a number as the parameter holds it, as (type, value)."""
    value = value.item() if hasattr(value, "item") else value
    if kind in _FLOATS:
        return _FLOATS[kind], float(value)
    return f"b{8 * parameter.bytes}", operator.index(value)


class Launcher:
    """A compiled kernel. Called with what Triton passes to its own launchers."""

    def __init__(self, kernel):
        self.text, self._metadata = kernel.asm["ptx"], kernel.metadata
        if isinstance(self.text, bytes):
            self.text = self.text.decode()
        self.name, self.shared_bytes = kernel.metadata.name, kernel.metadata.shared
        self.key = kernel.hash
        self.entry = next(each for each in arguments.entries(self.text) if each.name == self.name)
        self.block = self.entry.block or (32 * kernel.metadata.num_warps, 1, 1)
        self._signature = list(kernel.src.signature.items())
        names = list(kernel.src.signature)
        constants = {
            key[0] if isinstance(key, tuple) and len(key) == 1 else key for key in kernel.src.constants
        }
        self._constants = {names[each] if isinstance(each, int) else each for each in constants}

    def _converted(self, values, grid):
        """Returns the arguments of run_ptx."""
        flat = [
            each
            for (name, kind), value in zip(self._signature, values)
            if name not in self._constants
            for each in _flattened(kind, value, str(name))
        ]
        parameters = self.entry.parameters
        if not 0 <= len(parameters) - len(flat) <= len(_SCRATCH):
            raise Error(
                f"kernel {self.name} has {len(parameters)} parameters, but its arguments become {len(flat)}",
                "this version of Triton may not be supported; tensor descriptors need a target below 90",
            )
        converted = [
            _pointer(value, what) if kind.startswith("*") else _number(kind, value, parameter)
            for (kind, value, what), parameter in zip(flat, parameters)
        ]
        blocks = functools.reduce(operator.mul, grid, 1)
        for name in _SCRATCH[: len(parameters) - len(flat)]:
            size = getattr(self._metadata, name, 0) * blocks
            converted.append(bytearray(size) if size else None)
        return converted

    def __call__(self, *passed):
        grid, values = passed[:3], passed[_BEFORE_ARGUMENTS:]
        if getattr(self._metadata, "num_ctas", 1) != 1:
            raise Error(
                f"kernel {self.name} has clusters (num_ctas), which the cpu device cannot launch here"
            )
        if min(grid) < 1:
            return
        _active.launch(self, grid, self._converted(values, grid))


class Utilities:
    """The part of Triton's driver that programs ask for properties of the device."""

    # Bytes of shared memory that a block can have; others as 89.
    shared_memory = {80: 166912, 87: 166912, 90: 232448, 100: 232448}

    def __init__(self, target):
        self._target = target

    def get_device_properties(self, device=None):
        return {
            "max_shared_mem": self.shared_memory.get(self._target, 101376),
            "max_num_regs": 65536,
            "multiprocessor_count": os.cpu_count() or 1,
            "warpSize": 32,
            "sm_clock_rate": 1000000,
            "mem_clock_rate": 1000000,
            "mem_bus_width": 64,
        }


class Driver:
    """Triton's driver of a device that compiles for `target` and has no GPU."""

    def __init__(self, target):
        self._target = target
        self.utils = Utilities(target)

    def get_current_device(self):
        """Returns a number of its own: Triton keeps compiled kernels by device."""
        return -self._target

    def set_current_device(self, device):
        """Accepts any device."""

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self._target, 10)

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget  # pylint: disable=import-error

        return GPUTarget("cuda", self._target, 32)

    def get_active_torch_device(self):
        import torch  # pylint: disable=import-error

        return torch.device("cpu")

    def get_device_interface(self):
        import torch  # pylint: disable=import-error

        return torch.cpu

    def get_benchmarker(self):
        return _no_time

    def get_empty_cache_for_benchmark(self):
        return bytearray()

    def clear_cache(self, cache):
        """Has none."""

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args


def _no_time(function, *_, quantiles=None, **__):
    """In place of triton.testing.do_bench: runs once. Time on the cpu device says nothing."""
    function()
    return [float("nan")] * len(quantiles) if quantiles else float("nan")


class Session:
    """The launches made while it was active.

    findings   of check_ptx, each a Finding; its `message` names the program's parameters
    launches   {kernel: number of launches}
    checked    how many of them were checked
    run()      the records, as a Run
    """

    def __init__(self, spec, checks, target, timeout):
        self._spec, self._checks, self._timeout = spec, checks, timeout
        self.target = target
        self.findings, self.launches, self.checked = [], {}, 0
        self._records, self._known, self._shapes, self._seen = [], set(), set(), set()

    def launch(self, launcher, grid, values):
        """Checks the first launch of each kernel and grid; runs and counts every launch."""
        options = {"kernel": launcher.name, "shared_bytes": launcher.shared_bytes, "timeout": self._timeout}
        shape = (launcher.key, tuple(grid))
        if self._checks and shape not in self._shapes:
            self._shapes.add(shape)
            self.checked += 1
            for each in check_ptx(
                launcher.text, grid, launcher.block, values, checks=self._checks, **options
            ):
                self._add(each)
        self.launches[launcher.name] = self.launches.get(launcher.name, 0) + 1
        found = run_ptx(launcher.text, grid, launcher.block, values, spec=self._spec, **options)
        for record, process in found:
            key = (record["record"], process.process, record.get("kernel"), record.get("table"))
            if record["record"] == "launch" or key not in self._known:
                self._known.add(key)
                self._records.append(record)

    def _add(self, finding):
        key = (finding.kind, finding.kernel, finding.source_file, finding.source_line, finding.line)
        if key not in self._seen:
            self._seen.add(key)
            self.findings.append(finding)

    def run(self):
        return Run(list(self._records))


def _replaced(stack, owner, name, value):
    if hasattr(owner, name):
        stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)


def _restore_driver(config, previous):
    """Makes the driver active again; None: the default one, which without a GPU does not exist."""
    if previous is None and hasattr(config, "_active"):
        config._active = None  # pylint: disable=protected-access
    elif previous is None:
        config.reset_active()
    else:
        config.set_active(previous)


def _wrapped(value):
    numpy = sys.modules.get("numpy")
    if type(value) is tuple:  # pylint: disable=unidiomatic-typecheck
        return tuple(map(_wrapped, value))
    return Array(value) if numpy is not None and isinstance(value, numpy.ndarray) else value


def _replace_parts_of_triton(stack, target):
    """Lets Triton compile for the target and launch through the session until `stack` is closed."""
    import triton  # pylint: disable=import-error
    import triton.testing  # pylint: disable=import-error
    from triton.compiler.compiler import CompiledKernel  # pylint: disable=import-error
    from triton.runtime.autotuner import Autotuner  # pylint: disable=import-error
    from triton.runtime.jit import JITFunction  # pylint: disable=import-error

    def init_handles(kernel):
        if kernel.module is None:
            kernel.module = kernel.function = Launcher(kernel)
            # The most that a thread can have: ptxas alone knows how many the kernel has.
            kernel.n_regs, kernel.n_spills, kernel.n_max_threads = 255, 0, 1024
            # Triton calls `run`, which is a property over `_run` in newer versions.
            is_property = isinstance(getattr(type(kernel), "run", None), property)
            setattr(kernel, "_run" if is_property else "run", kernel.function)

    def run(function, *args, **kwargs):
        return original_run(
            function, *map(_wrapped, args), **{name: _wrapped(value) for name, value in kwargs.items()}
        )

    def first(tuner, *args, **kwargs):
        return list(original_prune(tuner, *args, **kwargs))[:1]

    original_run, original_prune = JITFunction.run, Autotuner.prune_configs
    config = triton.runtime.driver
    stack.callback(_restore_driver, config, getattr(config, "_active", None))
    config.set_active(Driver(target))
    _replaced(stack, CompiledKernel, "_init_handles", init_handles)
    _replaced(stack, JITFunction, "run", run)
    _replaced(stack, Autotuner, "prune_configs", first)
    _replaced(stack, Autotuner, "_bench", lambda tuner, *args, config, **meta: [0.0, 0.0, 0.0])
    _replaced(stack, triton.testing, "do_bench", _no_time)
    _replaced(stack, triton.testing, "do_bench_cudagraph", _no_time)


def _place_tensors_on_host(stack):
    """Lets PyTorch, if it is installed, use the host where the program names a GPU."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch  # pylint: disable=import-error
    from torch.overrides import TorchFunctionMode  # pylint: disable=import-error

    def on_host(value):
        is_gpu = (
            isinstance(value, torch.device)
            and value.type == "cuda"
            or (isinstance(value, str) and value.split(":")[0] == "cuda")
        )
        return torch.device("cpu") if is_gpu else value

    class OnHost(TorchFunctionMode):
        """Replaces GPUs in the arguments of functions."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            kwargs = {name: on_host(value) for name, value in (kwargs or {}).items()}
            return function(*map(on_host, args), **kwargs)

    stack.enter_context(OnHost())
    _replaced(stack, torch.cuda, "synchronize", lambda device=None: None)


@contextlib.contextmanager
def activate(*, spec=SPECIFICATIONS, checks=CHECKS, target=TARGET, timeout=None):
    """Runs the Triton kernels that the program launches in the `with` statement on the cpu device.

    spec       specifications to measure each launch with, as for run_ptx; "" for none
    checks     as for check_ptx, for the first launch of each compiled kernel and grid; "" for none
    target     the compute capability to compile for: 80, 89, 90 … From 90 on, matrix products use wgmma, and tensor
               descriptors are not supported.
    timeout    seconds for a launch

    Arguments of kernels are tensors of PyTorch on the host or NumPy arrays. Tensors that the program creates
    on a GPU ("cuda") are on the host, too. Autotuning takes the first configuration; do_bench runs once and
    returns NaN. Launches raise PtxError, KernelError and Error as run_ptx does, and ImportError if Triton is
    missing. One session at a time.
    """
    global _active
    if _active is not None:
        raise Error("lynxpp.triton is active already")
    with contextlib.ExitStack() as stack:
        _replace_parts_of_triton(stack, target)
        _place_tensors_on_host(stack)
        _active = Session(spec, checks, target, timeout)
        try:
            yield _active
        finally:
            _active = None


EXIT_ERROR, EXIT_USAGE, EXIT_NOTHING = 1, 2, 3


def _parsed(words):
    parser = argparse.ArgumentParser(prog="lynxpp triton", add_help=False)
    parser.add_argument("--spec", default=SPECIFICATIONS)
    parser.add_argument("--checks", default=CHECKS)
    parser.add_argument("--target", type=int, default=TARGET)
    parser.add_argument("--output", required=True)
    parser.add_argument("--error-exit", type=int, default=0)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def _run_program(path, words):
    """Runs the program as python3 would. Returns its exit status."""
    sys.argv = [path, *words]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        _say(end.code)
        return EXIT_ERROR
    except Exception:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return EXIT_ERROR
    finally:
        sys.stdout.flush()
    return 0


def _say(text):
    print(text, file=sys.stderr)


def _report(session, output):
    """Writes the records, and prints what was run and found."""
    with open(output, "w", encoding="utf-8") as file:
        for record, _ in session.run():
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
    total = sum(session.launches.values())
    _say(
        f"== lynxpp triton: {len(session.launches)} kernel{'s' * (len(session.launches) != 1)}, "
        f"{total} launch{'es' * (total != 1)} on cpu, compiled for sm_{session.target} =="
    )
    for each in session.findings:
        _say(str(each))
    if session.checked:
        _say(
            f"{len(session.findings) or 'no'} finding{'s' * (len(session.findings) != 1)} "
            f"in {session.checked} checked launch{'es' * (session.checked != 1)}"
        )


def main(words=None):
    """Runs a program for the command `lynxpp triton`. Returns the exit status."""
    options = _parsed(words)
    if importlib.util.find_spec("triton") is None:
        _say(
            f"lynxpp: error: {sys.executable} has no Triton\n"
            f"  hint: install it with `{sys.executable} -m pip install triton` (no GPU is needed), or name "
            "another Python with --python"
        )
        return EXIT_USAGE
    os.environ.pop("TRITON_INTERPRET", None)  # its kernels are not compiled
    if not os.path.isfile(options.program):
        _say(f"lynxpp: error: there is no file '{options.program}'")
        return EXIT_USAGE
    with activate(spec=options.spec, checks=options.checks, target=options.target) as session:
        status = _run_program(options.program, options.arguments)
    _report(session, options.output)
    if not session.launches:
        _say("lynxpp: warning: the program launched no Triton kernel; nothing was measured")
        return status or EXIT_NOTHING
    return options.error_exit if session.findings and options.error_exit else status


if __name__ == "__main__":
    sys.exit(main())
