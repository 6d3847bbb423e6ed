"""Launches a kernel that waits for a word of host memory, says so, and lets it end when its standard input ends.

usage: hanging.py [together|graph]    together: one launch in which nothing waits; graph: one by a CUDA graph
"""
import ctypes
import sys

# Warp 0 of block 1 waits in a loop for the word; warps 1 and 2 of it wait for warp 0 at a barrier; block 0 ends.
# The last warp of each block has 16 lanes.
PTX = b"""
.version 8.0
.target sm_70
.address_size 64
.visible .entry hang(.param .u64 word)
{
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %a<3>;
.loc 1 3 0
ld.param.u64 %a1, [word];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra done;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra together;
wait:
.loc 1 5 0
ld.volatile.global.u32 %r3, [%a1];
setp.eq.u32 %p3, %r3, 0;
@%p3 bra wait;
together:
.loc 1 7 0
bar.sync 0;
done:
ret;
}
.file 1 "hanging.cu"
"""


class Driver:
    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        def call(*arguments):
            status = getattr(self._driver, name)(*arguments)
            if status != 0:
                sys.exit(f"{name} fails with error {status}")

        return call


def launch_by_graph(cuda, function, parameters):
    stream, graph, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(stream), 1)
    cuda.cuStreamBeginCapture_v2(stream, 0)
    cuda.cuLaunchKernel(function, 2, 1, 1, 80, 1, 1, 0, stream, parameters, None)
    cuda.cuStreamEndCapture(stream, ctypes.byref(graph))
    cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    cuda.cuGraphLaunch(executable, stream)


def main():
    cuda = Driver()
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoadData(ctypes.byref(module), PTX)
    cuda.cuModuleGetFunction(ctypes.byref(function), module, b"hang")
    word = ctypes.c_void_p()
    portable_and_mapped = 3
    cuda.cuMemHostAlloc(ctypes.byref(word), ctypes.c_size_t(4), portable_and_mapped)
    flag = ctypes.c_uint.from_address(word.value)
    flag.value = 1 if sys.argv[1:] == ["together"] else 0
    address = ctypes.c_uint64(word.value)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    if sys.argv[1:] == ["graph"]:
        launch_by_graph(cuda, function, parameters)
    else:
        cuda.cuLaunchKernel(function, 2, 1, 1, 80, 1, 1, 0, None, parameters, None)
    print("launched", flush=True)
    sys.stdin.read()
    flag.value = 1
    cuda.cuCtxSynchronize()
    print("over", flush=True)


main()
