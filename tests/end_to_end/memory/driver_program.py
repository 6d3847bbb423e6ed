"""Fresh memory of each kind that the driver API provides, and memory that a graph allocates. Prints differences from a GPU."""
import ctypes

driver = ctypes.CDLL("libcuda.so.1")
SIZES = (4096, 3 << 20)


def check(result, what, expected=0):
    if result != expected:
        print(f"{what}: {result}, expected {expected}")


class Properties(ctypes.Structure):
    """CUmemPoolProps."""
    _fields_ = [("kind", ctypes.c_int), ("handles", ctypes.c_int), ("location", ctypes.c_int), ("device", ctypes.c_int),
                ("attributes", ctypes.c_void_p), ("most", ctypes.c_size_t), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 54)]


class Allocation(ctypes.Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS."""
    _fields_ = [("pool", Properties), ("access", ctypes.c_void_p), ("accesses", ctypes.c_size_t), ("bytes", ctypes.c_size_t),
                ("address", ctypes.c_uint64)]


def allocators():
    def with_address(call):
        def allocate(size):
            address = ctypes.c_uint64()
            check(call(ctypes.byref(address), ctypes.c_size_t(size)), "allocation")
            return address.value
        return allocate

    def pitched(size):
        address, pitch = ctypes.c_uint64(), ctypes.c_size_t()
        check(driver.cuMemAllocPitch_v2(ctypes.byref(address), ctypes.byref(pitch), ctypes.c_size_t(size // 4), ctypes.c_size_t(4), 4),
              "cuMemAllocPitch")
        return address.value

    yield "cuMemAlloc", with_address(driver.cuMemAlloc_v2), driver.cuMemFree_v2
    yield "cuMemAllocManaged", with_address(lambda to, size: driver.cuMemAllocManaged(to, size, 1)), driver.cuMemFree_v2
    yield "cuMemAllocHost", with_address(driver.cuMemAllocHost_v2), driver.cuMemFreeHost
    yield "cuMemHostAlloc", with_address(lambda to, size: driver.cuMemHostAlloc(to, size, 0)), driver.cuMemFreeHost
    yield "cuMemAllocAsync", with_address(lambda to, size: driver.cuMemAllocAsync(to, size, None)), driver.cuMemFree_v2
    yield "cuMemAllocPitch", pitched, driver.cuMemFree_v2


def test_fresh_memory():
    for name, allocate, free in allocators():
        for size in SIZES:
            for _ in range(8):  # freed memory that the next allocations may get
                address = allocate(size)
                check(driver.cuMemsetD8_v2(ctypes.c_uint64(address), 255, ctypes.c_size_t(size)), "cuMemsetD8")
                check(free(ctypes.c_uint64(address)), f"free of {name}")
            address = allocate(size)
            copy = (ctypes.c_ubyte * size)(*b"x" * 16)
            check(driver.cuMemcpyDtoH_v2(copy, ctypes.c_uint64(address), ctypes.c_size_t(size)), "cuMemcpyDtoH")
            if any(copy):
                print(f"{name} of {size} bytes is not 0")


def test_graph():
    graph, node, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuGraphCreate(ctypes.byref(graph), 0), "cuGraphCreate")
    wanted = Allocation(Properties(1, 0, 1, 0), None, 0, 1000)
    check(driver.cuGraphAddMemAllocNode(ctypes.byref(node), graph, None, ctypes.c_size_t(0), ctypes.byref(wanted)), "add")
    told = Allocation()
    check(driver.cuGraphMemAllocNodeGetParams(node, ctypes.byref(told)), "cuGraphMemAllocNodeGetParams")
    if (told.bytes, told.address) != (1000, wanted.address):
        print(f"the node has {told.bytes} bytes at {told.address:#x}")
    check(driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)), "cuGraphInstantiate")
    address = ctypes.c_uint64(wanted.address)
    check(driver.cuMemsetD8_v2(address, 1, ctypes.c_size_t(1000)), "a fill before the launch", 1)
    for free in (lambda: driver.cuMemFreeAsync(address, None), lambda: driver.cuMemFree_v2(address)):
        check(driver.cuGraphLaunch(executable, None), "cuGraphLaunch")
        check(driver.cuMemsetD8_v2(address, 1, ctypes.c_size_t(1000)), "a fill")
        check(driver.cuGraphLaunch(executable, None), "a launch where the memory is not free", 1)
        check(free(), "free")
    frees, other, second = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuGraphCreate(ctypes.byref(other), 0), "cuGraphCreate")
    check(driver.cuGraphAddMemFreeNode(ctypes.byref(frees), other, None, ctypes.c_size_t(0), address), "cuGraphAddMemFreeNode")
    freed = ctypes.c_uint64()
    check(driver.cuGraphMemFreeNodeGetParams(frees, ctypes.byref(freed)), "cuGraphMemFreeNodeGetParams")
    if freed.value != address.value:
        print(f"the other node frees {freed.value:#x}")
    check(driver.cuGraphInstantiateWithFlags(ctypes.byref(second), other, ctypes.c_uint64(0)), "cuGraphInstantiate")
    for _ in range(2):
        check(driver.cuGraphLaunch(executable, None), "cuGraphLaunch")
        check(driver.cuGraphLaunch(second, None), "cuGraphLaunch of the graph that frees")
    check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
    used = ctypes.c_uint64(7)
    check(driver.cuDeviceGetGraphMemAttribute(0, 0, ctypes.byref(used)), "cuDeviceGetGraphMemAttribute")
    if used.value != 0:
        print(f"{used.value} bytes are still used")


def main():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuInit(0), "cuInit")
    check(driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    test_fresh_memory()
    test_graph()
    print("done")


if __name__ == "__main__":
    main()
