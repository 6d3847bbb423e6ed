"""Runs PTX on the cpu device or a GPU."""
import json
import os
import pathlib
import re
import warnings

from . import arguments
from .errors import Error, KernelError, PtxError
from .records import Run, completed_with
from .worker import DEVICES, name_of as name_of_device, shared_worker

_INVALID_VALUE = 1
_OUT_OF_MEMORY = 2
_NOT_SUPPORTED = 801
_INVALID_CLUSTER = 912
_AT_LOAD = re.compile(r"<module of the program>:(\d+):(\d+): error: (.*?)(?:; hint: (.*))?$", re.MULTILINE)
_AT_RUN = re.compile(r"failed on the cpu device: (.*?)(?: \(PTX line (\d+)\))?$", re.MULTILINE)
_ALLOCATION = re.compile(r"bytes at 0x([0-9a-f]+), device memory(?: allocated by .*?)? \(allocation \d+\)")

# Each has specifications and collects the results of all launches: a budget's Meter.
meters = []


class Request:
    """A launch: the text, the kernel, and its arguments."""

    def __init__(self, text, grid, block, args, kernel, shared_bytes, cluster=None):
        if isinstance(text, os.PathLike):
            text = pathlib.Path(text).read_text(encoding="utf-8")
        self.text = text if isinstance(text, str) else bytes(text).rstrip(b"\0").decode()
        self.grid, self.block = arguments.extent(grid, "grid"), arguments.extent(block, "block")
        self.shared_bytes = shared_bytes
        self.cluster = None if cluster is None else arguments.extent(cluster, "cluster")
        self.entry = self._find(kernel)
        self.converted = arguments.convert(self.entry, list(args)) if self.entry else []
        self.groups, self.bytes = arguments.group(self.converted)

    def _find(self, kernel):
        entries = arguments.entries(self.text)
        names = [each.name for each in entries]
        if kernel is None and len(entries) > 1:
            raise ValueError(
                f"the module has {len(entries)} kernels; choose one with kernel=: {', '.join(names)}"
            )
        if kernel is not None and kernel not in names and names:
            raise ValueError(f"the module has no kernel {kernel!r}, but {', '.join(names)}")
        if not entries:
            return None
        entry = next(each for each in entries if kernel in (None, each.name))
        if entry.block is not None and list(entry.block) != self.block:
            raise ValueError(
                f"kernel {entry.name} requires blocks of {entry.block} threads (.reqntid), "
                f"not {tuple(self.block)}"
            )
        return entry

    def message(self, spec, keeps_outputs):
        """Returns the message for the worker. `keeps_outputs`: elements of outputs that the kernel does not
        write keep their values."""

        def is_copied(array):
            return array.bytes and (keeps_outputs or not array.is_output)

        positions = {
            number: (at, offset)
            for at, group in enumerate(self.groups)
            for number, offset, _ in group.buffers
        }
        values = []
        for number, each in enumerate(self.converted, 1):
            if isinstance(each, bytes):
                values.append({"value": each.hex()})
            else:
                at, offset = positions[number]
                values.append({"group": at, "offset": offset + each.start})
                if each.tensor_map is not None:
                    values[-1]["map"] = each.tensor_map.description()
        return {
            "text": self.text,
            "kernel": self.entry.name if self.entry else None,
            "grid": self.grid,
            "block": self.block,
            "shared_bytes": self.shared_bytes,
            "cluster": self.cluster,
            "arguments": values,
            "spec": spec,
            "groups": [
                {
                    "at": group.at,
                    "bytes": group.bytes,
                    "copied_in": [
                        (offset, each.bytes) for _, offset, each in group.buffers if is_copied(each)
                    ],
                    "copied_out": [
                        (offset, each.bytes) for _, offset, each in group.buffers if each.address is not None
                    ],
                }
                for group in self.groups
            ],
        }

    def copy_in(self, memory):
        for group in self.groups:
            for _, offset, each in group.buffers:
                if each.bytes:
                    memory[group.at + offset : group.at + offset + each.bytes] = each.memory

    def copy_out(self, memory):
        for group in self.groups:
            for _, offset, each in group.buffers:
                if each.address is not None:
                    with memoryview(memory) as view:
                        each.memory[:] = view[group.at + offset : group.at + offset + each.bytes]

    def run(self, worker, timeout, spec="", keeps_outputs=True):
        """Returns the Reply."""
        memory = worker.map(self.bytes)
        self.copy_in(memory)
        reply = worker.ask(self.message(spec, keeps_outputs), timeout)
        if self.entry is None and reply.stage is None:
            raise PtxError("the module has no kernel (.entry)")
        return reply

    def named(self, text, addresses):
        """Returns a message with arguments instead of addresses of their memory."""
        numbers = {
            address: ", ".join(
                f"argument {number} ({buffer.name or self.entry.parameters[number - 1].name})"
                for number, _, buffer in group.buffers
            )
            for address, group in zip(addresses, self.groups)
        }

        def name(match):
            found = numbers.get(int(match[1], 16))
            return f"bytes of {found}" if found else match[0]

        return _ALLOCATION.sub(name, text)

    def problem(self, reply, device):
        """Returns the exception for a launch that failed."""
        if reply.stage == "attach":
            return Error(
                reply.log.replace("lynxpp: error: ", "")
                .replace("\nlynxpp: the program runs uninstrumented", "")
                .strip()
            )
        if found := _AT_LOAD.search(reply.log):
            return PtxError(found[3], self.text, int(found[1]), int(found[2]), found[4] or "")
        if found := _AT_RUN.search(reply.log):
            line = int(found[2]) if found[2] else None
            if reply.code == _NOT_SUPPORTED:
                return PtxError(found[1], self.text, line)
            hint = ""
            if "shared memory access out of range" in found[1] and ".extern" in self.text:
                hint = (
                    f"the kernel has {self.shared_bytes} bytes of dynamic shared memory; "
                    "pass shared_bytes= (--shared)"
                )
            elif "illegal address" in found[1] or "misaligned" in found[1]:
                hint = "lynxpp.check_ptx, or `lynxpp ptx run --check`, lists all such accesses"
            return KernelError(self.named(found[1], reply.addresses), self.text, line, hint=hint)
        message = f"the {name_of_device(device)} refused the {reply.stage} ({reply.name})"
        if reply.code == _INVALID_VALUE and reply.stage == "launch":
            message += f": grid {tuple(self.grid)}, block {tuple(self.block)}, "
            message += f"{self.shared_bytes} bytes of dynamic shared memory"
        elif reply.code == _INVALID_CLUSTER:
            message += f": clusters of {tuple(self.cluster or ())} in a grid of {tuple(self.grid)}"
        elif reply.code == _INVALID_VALUE and reply.stage == "shared memory":
            message += f": {self.shared_bytes} bytes per block"
        elif reply.code == _OUT_OF_MEMORY:
            message += f" for arrays of {self.bytes} bytes"
        return Error(message + (f"\n{reply.log.strip()}" if reply.log.strip() else ""))


def name_of(specification):
    """Returns the name that records have for a specification, which may be a path."""
    return os.path.splitext(os.path.basename(specification))[0]


def _specifications(spec):
    """Returns a list of specifications with absolute paths: the worker's current folder may be another."""
    parts = spec.split(",") if isinstance(spec, str) else list(map(os.fspath, spec or []))
    return [os.path.abspath(each) if os.path.isfile(each) else each for each in map(str.strip, parts) if each]


def _why_not_measured(worker, name):
    for record in map(json.loads, worker.finish().lines.splitlines()):
        if record["record"] == "coverage" and record["kernel"] == name and record.get("reason"):
            return record["reason"]
    return "it has no result"


def _records_of(worker, reply):
    """Returns the records of the launch, those of its process and sites included. None if it ran
    uninstrumented."""
    records = []
    for line in reply.lines.splitlines():
        record = completed_with(worker.series, json.loads(line))
        if record is None:
            continue
        if record["record"] == "process":
            worker.process = record
        elif record["record"] == "sites":
            worker.sites[record["kernel"], record["table"]] = record
        else:
            records.append(record)
    if not any(record["record"] == "launch" for record in records):
        return None
    tables = {(record["kernel"], record["sites"]) for record in records if "sites" in record}
    sites = [worker.sites[table] for table in sorted(tables) if table in worker.sites]
    return [worker.process, *sites, *records]


def _run(request, worker, measured, timeout):
    """Returns the reply and the records. Launches again if the kernel ran uninstrumented: a busy host may
    provide memory too late."""
    for _ in range(2):
        reply = request.run(worker, timeout, measured)
        if reply.stage is not None:
            reply.show()
            raise request.problem(reply, worker.device)
        records = _records_of(worker, reply) if measured else []
        if records is not None:
            break
    return reply, records


def run_ptx(
    text,
    grid,
    block,
    args=(),
    *,
    kernel=None,
    shared_bytes=0,
    cluster=None,
    spec=None,
    timeout=None,
    device="cpu",
):
    """Runs a kernel of a PTX module, by default on the cpu device, which needs no GPU.

    text          the module, or the path of its file (a pathlib.Path)
    grid, block   an int, or up to three of them
    args          one for each parameter: arrays (NumPy arrays and anything else whose memory Python can use:
                  bytearray, array.array …) are copied to the device and back; numbers become the parameter's
                  type; (type, number), as in ("f16", 0.5), and numbers of ctypes keep theirs; None is a null
                  pointer; bytes or a ctypes structure for an aggregate. Arrays that share memory share it on
                  the device, too; see also `out` and `tensor_map`.
    kernel        its name, if the module has several
    shared_bytes  dynamic shared memory per block
    cluster       the blocks of a cluster, for kernels that do not fix them
    spec          specifications to measure with: names or paths, as a list or separated by commas
    timeout       seconds; then the kernel is stopped
    device        "cpu", or "cuda" for the first GPU

    Returns a Run: the records of the launch, which are empty without `spec`. Raises PtxError, KernelError or
    Error; arrays are then unchanged. The module's variables have their initial values in every call.
    """
    if device not in DEVICES:
        raise ValueError(f"the device must be one of {', '.join(DEVICES)}, not {device!r}")
    request = Request(text, grid, block, args, kernel, shared_bytes, cluster)
    wanted = _specifications(spec)
    measuring = list(meters)
    measured = list(
        dict.fromkeys(
            wanted + [each for meter in measuring for each in _specifications(meter.specifications)]
        )
    )
    with shared_worker(device) as worker:
        reply, records = _run(request, worker, ",".join(measured), timeout)
        if records is None:
            name = request.entry.name
            raise Error(f"kernel {name} could not be measured: {_why_not_measured(worker, name)}")
        request.copy_out(worker.map(request.bytes))
        worker.trim()
    reply.show()
    for line in filter(None, reply.log.splitlines()):
        warnings.warn(
            request.named(line.replace("lynxpp: warning: ", ""), reply.addresses),
            RuntimeWarning,
            stacklevel=2,
        )
    for meter in measuring:
        meter.add(Run(records))
    names = {name_of(each) for each in wanted}
    return Run([record for record in records if record["record"] != "launch" or record["spec"] in names])
