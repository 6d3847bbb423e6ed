"""The process that runs kernels for lynxpp.run_ptx and lynxpp.check_ptx.

Started by worker.py with liblynxpp.so preloaded and LYNXPP_DEVICE set, as `python3 -I -S serve.py MEMORY_FD`.
File descriptor 0 is a socket: one JSON object per line asks for a launch, one per line answers. The arrays
are in the memory file MEMORY_FD, which both processes map. The output of lynxpp and of the kernels goes to
memory files, too: descriptors 1 and 2.

A process of its own, because the stand-in driver has the name of a GPU's (a program that opens libcuda.so.1
later would get it), because a kernel that never ends can then be stopped, and because findings are reported
when a process ends.
"""
import ctypes
import json
import mmap
import os
import select
import signal
import socket
import sys
import threading

CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute. Its value is a union of 64 bytes, here a cluster's extent."""

    _fields_ = [
        ("id", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("extent", ctypes.c_uint * 3),
        ("rest", ctypes.c_uint * 13),
    ]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    ]


class Refused(Exception):
    """A function of the driver failed: `stage` is the step of the launch."""

    def __init__(self, stage, code=0, name=""):
        super().__init__(f"{stage}: {name}")
        self.reply = {"stage": stage, "code": code, "name": name}


class Driver:
    """The functions of the device's driver, and of lynxpp.h."""

    class Api(ctypes.Structure):
        _fields_ = [
            ("version", ctypes.c_uint32),
            ("attach", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
            ("attached", ctypes.c_void_p),
            ("poll", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)),
            ("missed", ctypes.c_void_p),
        ]

    take = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    def __init__(self):
        self._cuda = ctypes.CDLL("libcuda.so.1")
        open_api = ctypes.CDLL(None).lynxpp_open_api
        open_api.restype = ctypes.POINTER(self.Api)
        self._api = open_api(1).contents
        self._ignore = self.take(lambda context, result: None)
        self._context = ctypes.c_void_p()
        self("start", "cuInit", 0)

    def __call__(self, stage, function, *arguments):
        """Calls a function of the driver. Raises Refused if it fails."""
        code = getattr(self._cuda, function)(*arguments)
        if code != 0:
            name = ctypes.c_char_p()
            self._cuda.cuGetErrorName(code, ctypes.byref(name))
            raise Refused(stage, code, (name.value or b"").decode())

    def enter_context(self):
        if self._context:
            return
        device = ctypes.c_int()
        self("start", "cuDeviceGet", ctypes.byref(device), 0)
        self("start", "cuCtxCreate_v2", ctypes.byref(self._context), 0, device)

    def leave_context(self):
        """Frees everything and clears the error that a failed kernel leaves on the device."""
        if self._context:
            self._cuda.cuCtxDestroy_v2(self._context)
        self._context = ctypes.c_void_p()

    def attach(self, specifications):
        if self._api.attach(specifications.encode()) != 1:
            raise Refused("attach")

    def detach(self):
        """Lets lynxpp write the records of all launches. A poll may only start to copy them from the device
        (attaching.py)."""
        idle = 0
        while idle < 2:
            self._cuda.cuCtxSynchronize()
            idle = 0 if self._api.poll(ctypes.cast(self._ignore, ctypes.c_void_p), None) else idle + 1
        self._api.attach(b"")


class Arrays:
    """The memory file."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._map = None
        self._bytes = 0

    def address(self):
        """Maps the file again if its size has changed."""
        size = os.fstat(self._descriptor).st_size
        if size != self._bytes:
            self._map = mmap.mmap(self._descriptor, size) if size else None
            self._bytes = size
        return ctypes.addressof(ctypes.c_char.from_buffer(self._map)) if size else 0


def encoded(driver, description, address):
    """Returns a CUtensorMap, which must be aligned to 64 bytes."""
    memory = ctypes.create_string_buffer(64 + 128)
    begin = (ctypes.addressof(memory) + 63) // 64 * 64
    rank = len(description["extents"])
    driver(
        "tensor map",
        "cuTensorMapEncodeTiled",
        ctypes.c_void_p(begin),
        description["type"],
        ctypes.c_uint(rank),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*description["extents"]),
        (ctypes.c_uint64 * rank)(*description["strides"]),
        (ctypes.c_uint * rank)(*description["box"]),
        (ctypes.c_uint * rank)(*[1] * rank),
        0,
        description["swizzle"],
        0,
        0,
    )
    return (ctypes.c_ubyte * 128).from_buffer(memory, begin - ctypes.addressof(memory))


def arguments_of(driver, request, addresses):
    """Returns the values of the parameters, and the array of their addresses."""
    values = []
    for argument in request["arguments"]:
        if "value" in argument:
            values.append(ctypes.create_string_buffer(bytes.fromhex(argument["value"])))
        else:
            address = addresses[argument["group"]] + argument["offset"]
            has_map = "map" in argument
            values.append(encoded(driver, argument["map"], address) if has_map else ctypes.c_uint64(address))
    return values, (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))


def configuration_of(request):
    config = LaunchConfig(
        (ctypes.c_uint * 3)(*request["grid"]), (ctypes.c_uint * 3)(*request["block"]), request["shared_bytes"]
    )
    if request["cluster"] is not None:
        extent = (ctypes.c_uint * 3)(*request["cluster"])
        attribute = LaunchAttribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 0, extent)
        config.attributes, config.attribute_count = ctypes.pointer(attribute), 1
    return config


def launch(driver, request, function, base, addresses):
    """Appends the addresses of the arrays' memory to `addresses`."""
    shared = request["shared_bytes"]
    if shared:
        driver(
            "shared memory",
            "cuFuncSetAttribute",
            function,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            ctypes.c_int(shared),
        )
    for group in request["groups"]:
        address = ctypes.c_uint64()
        driver("memory", "cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(group["bytes"], 1)))
        addresses.append(address.value)
        for begin, size in group["copied_in"]:
            driver(
                "memory",
                "cuMemcpyHtoD_v2",
                ctypes.c_uint64(address.value + begin),
                ctypes.c_void_p(base + group["at"] + begin),
                ctypes.c_size_t(size),
            )
    values, pointers = arguments_of(driver, request, addresses)
    driver(
        "launch", "cuLaunchKernelEx", ctypes.byref(configuration_of(request)), function, pointers, None
    )
    del values  # the driver has copied them
    driver("launch", "cuCtxSynchronize")
    for group, address in zip(request["groups"], addresses):
        for begin, size in group["copied_out"]:
            driver(
                "memory",
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(base + group["at"] + begin),
                ctypes.c_uint64(address + begin),
                ctypes.c_size_t(size),
            )
        driver("memory", "cuMemFree_v2", ctypes.c_uint64(address))


def run(driver, request, arrays):
    """Loads the module and launches its kernel, if the request names one. Returns the reply."""
    reply = {"addresses": []}
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        driver.enter_context()
        if request["spec"]:
            driver.attach(request["spec"])
        driver("load", "cuModuleLoadData", ctypes.byref(module), request["text"].encode())
        if request["kernel"]:
            driver(
                "kernel", "cuModuleGetFunction", ctypes.byref(function), module, request["kernel"].encode()
            )
            launch(driver, request, function, arrays.address(), reply["addresses"])
        driver("unload", "cuModuleUnload", module)
    except Refused as refused:
        reply.update(refused.reply)
        driver.leave_context()
    if request["spec"]:
        driver.detach()
    ctypes.CDLL(None).fflush(None)  # what kernels print
    return reply


def end_with_client(connection):
    """Ends this process, whatever it is doing, when the other one closes the socket or ends. `connection`: it
    must stay open until this process ends."""
    poll = select.poll()
    poll.register(connection, 0)
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def serve(connection, arrays):
    """Answers requests until the client sends no more."""
    try:
        driver = Driver()
    except (Refused, OSError, AttributeError) as problem:
        sys.exit(f"the device does not start: {problem}")
    for line in connection.makefile("rb"):
        connection.sendall(json.dumps(run(driver, json.loads(line), arrays)).encode() + b"\n")


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program
    connection = socket.socket(fileno=0)
    threading.Thread(target=end_with_client, args=[connection.fileno()], daemon=True).start()
    try:
        serve(connection, Arrays(int(sys.argv[1])))
    finally:
        # A closed descriptor would end this process before it has reported why, or what checks found.
        connection.detach()


if __name__ == "__main__":
    main()
