"""Forks without exec, as in PyTorch's data loaders, with the driver API.

Arguments: before or after, the PTX of a kernel `work(int*)`. `after`: the process launches twice, creates
workers that end by os._exit, and launches three times. `before`: the workers launch, the process itself does
not; each worker prints what its own child can do. outside, outside_exit: the kernel writes past its memory,
and the process ends by a return or by os._exit.
"""
import ctypes
import os
import sys


def check(result, what):
    if result != 0:
        sys.exit(f"{what}: {result}")


class Device:
    def __init__(self, ptx):
        self.driver = ctypes.CDLL("libcuda.so.1")
        check(self.driver.cuInit(0), "cuInit")
        device, self.context, module, self.kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        check(self.driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device), "cuDevicePrimaryCtxRetain")
        check(self.driver.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        check(self.driver.cuModuleLoadData(ctypes.byref(module), ptx), "cuModuleLoadData")
        check(self.driver.cuModuleGetFunction(ctypes.byref(self.kernel), module, b"work"), "cuModuleGetFunction")
        self.out = ctypes.c_uint64()
        check(self.driver.cuMemAlloc_v2(ctypes.byref(self.out), ctypes.c_size_t(256)), "cuMemAlloc")

    def launch_outside(self):
        self.out.value += 4096
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self.out))
        check(self.driver.cuLaunchKernel(self.kernel, 1, 1, 1, 64, 1, 1, 0, None, parameters, None), "cuLaunchKernel")
        return self.driver.cuCtxSynchronize()

    def launch(self, launches):
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self.out))
        for _ in range(launches):
            check(self.driver.cuLaunchKernel(self.kernel, 1, 1, 1, 64, 1, 1, 0, None, parameters, None), "cuLaunchKernel")
        check(self.driver.cuCtxSynchronize(), "cuCtxSynchronize")


def make_worker(run):
    child = os.fork()
    if child == 0:
        run()
        os._exit(0)
    os.waitpid(child, 0)


def main():
    when, path = sys.argv[1:]
    with open(path, "rb") as file:
        ptx = file.read() + b"\0"

    def work(launches):
        device = Device(ptx)
        device.launch(launches)

        def try_to_launch():
            print("child of a worker:", device.driver.cuInit(0), device.driver.cuCtxSynchronize(), flush=True)
        make_worker(try_to_launch)

    if when.startswith("outside"):
        print(Device(ptx).launch_outside(), flush=True)
        return os._exit(0) if when == "outside_exit" else None
    if when == "before":
        for launches in (1, 2, 3):
            make_worker(lambda launches=launches: work(launches))
        return
    device = Device(ptx)
    device.launch(2)
    for _ in range(3):
        make_worker(lambda: None)
    device.launch(3)


if __name__ == "__main__":
    main()
