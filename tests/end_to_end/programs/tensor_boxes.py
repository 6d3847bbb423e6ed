"""Launches kernels with tensor copies whose maps are parameters, at any offset, or not; with boxes that change from
launch to launch, alone and in a graph.

usage: tensor_boxes.py

Prints the name of each kernel.
"""
import ctypes

from async_kernels import BARRIER, BLOCKS, EXTENTS, F16, WAIT, Kernels, block

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
BOXES = {"small": (64, 2), "large": (64, 9), "narrow": (32, 4)}
LAUNCHES = 150  # with each of two boxes
LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%box], [%a1, {0, 0}], [%bar];"


def entry(name, parameters, body):
    return f"{HEADER}.visible .entry {name}({parameters})\n" + block(body)


def store(lanes):
    """The lanes for which the predicate holds store a box each."""
    return f"""@{lanes} cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%a1, {{0, 0}}], [%box];
@{lanes} cp.async.bulk.commit_group;
@{lanes} cp.async.bulk.wait_group 0;"""


def load(times=1, expects=2 * 64 * 2):
    """The elected lane loads a box, several times."""
    return f"""{BARRIER}
@%e mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {expects * times};
mov.u32 %r1, 0;
next:
@%e {LOAD}
add.u32 %r1, %r1, 1;
setp.lt.u32 %p4, %r1, {times};
@%p4 bra next;
{WAIT}"""


MAP = ".param .align 64 .b8 map[128]"
GIVEN = "mov.b64 %a1, map;\ncvta.param.u64 %a1, %a1;\n"
KERNELS = {
    # The map begins at byte 192 of the parameters.
    "at_offset": (".param .u32 n, .param .align 64 .b8 maps[192]", "mov.b64 %a2, maps;\nadd.s64 %a3, %a2, 128;\ncvta.param.u64 %a1, %a3;\nsub.s64 %a1, %a1, 64;\n" + load()),
    "in_loop": (MAP, GIVEN + load(5)),
    # Every lane of warp 0 issues a copy.
    "by_lanes": (MAP, GIVEN + store("%p1")),
    "narrow": (MAP, GIVEN + store("%e")),
    "in_memory": (".param .u64 map", "ld.param.u64 %a1, [map];\n" + load()),
    "chosen": (MAP + ", .param .align 64 .b8 other[128], .param .u32 n",
               "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p3, %r1, 0;\nmov.b64 %a1, map;\nmov.b64 %a2, other;\nselp.b64 %a1, %a1, %a2, %p3;\n"
               "cvta.param.u64 %a1, %a1;\n" + load()),
    "replaced": (MAP, GIVEN + load()),
    "changing": (MAP, GIVEN + store("%e")),
    "in_graph": (MAP, GIVEN + store("%e")),
}


class NodeParameters(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("shape", ctypes.c_uint * 7), ("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p),
                ("context", ctypes.c_void_p)]


class Boxes(Kernels):
    def __init__(self):
        super().__init__()
        self.maps = {name: self.encoded(box) for name, box in BOXES.items()}
        self.functions = {name: self.loaded(name, entry(name, *kernel)) for name, kernel in KERNELS.items()}

    def encoded(self, box):
        memory = ctypes.create_string_buffer(64 + 128)
        begin = (ctypes.addressof(memory) + 63) // 64 * 64
        self.driver("map", "cuTensorMapEncodeTiled", ctypes.c_void_p(begin), F16, ctypes.c_uint(2), self.memory_of_tensor(), (ctypes.c_uint64 * 2)(*EXTENTS[:2]),
                    (ctypes.c_uint64 * 1)(208), (ctypes.c_uint * 2)(*box), (ctypes.c_uint * 2)(1, 1), 0, 3, 0, 0)
        return (ctypes.c_ubyte * 128).from_buffer(memory, begin - ctypes.addressof(memory))

    def memory_of_tensor(self):
        return ctypes.c_void_p(self.memory.value)

    def loaded(self, name, text):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("load " + name, "cuModuleLoadData", ctypes.byref(module), text.encode())
        self.driver("kernel", "cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def start(self, name, *arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self.driver("launch " + name, "cuLaunchKernel", self.functions[name], BLOCKS, 1, 1, 64, 1, 1, 0, None, pointers, None)
        self.driver("run " + name, "cuCtxSynchronize")

    def run_graph(self):
        """Launches a graph twice with the small box and once with the large one."""
        def parameters(argument):
            pointers = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
            node = NodeParameters(self.functions["in_graph"], (ctypes.c_uint * 7)(BLOCKS, 1, 1, 64, 1, 1, 0), ctypes.addressof(pointers), None, None, None)
            return pointers, node

        graph, node, executable, stream = (ctypes.c_void_p() for _ in range(4))
        self.driver("graph", "cuStreamCreate", ctypes.byref(stream), 1)
        self.driver("graph", "cuGraphCreate", ctypes.byref(graph), 0)
        kept, small = parameters(self.maps["small"])
        self.driver("graph", "cuGraphAddKernelNode_v2", ctypes.byref(node), graph, None, ctypes.c_size_t(0), ctypes.byref(small))
        self.driver("graph", "cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        for _ in range(2):
            self.driver("graph", "cuGraphLaunch", executable, stream)
        kept_too, large = parameters(self.maps["large"])
        self.driver("graph", "cuGraphExecKernelNodeSetParams_v2", executable, node, ctypes.byref(large))
        self.driver("graph", "cuGraphLaunch", executable, stream)
        self.driver("graph", "cuStreamSynchronize", stream)


def main():
    boxes = Boxes()
    small, large, narrow = (boxes.maps[name] for name in ("small", "large", "narrow"))
    number = ctypes.c_uint(1)
    boxes.start("at_offset", number, (ctypes.c_ubyte * 192)(*[0] * 64, *small))
    boxes.start("in_loop", small)
    boxes.start("by_lanes", small)
    boxes.start("narrow", narrow)
    boxes.driver("copy", "cuMemcpyHtoD_v2", ctypes.c_uint64(boxes.memory.value + (1 << 19)), small, ctypes.c_size_t(128))
    boxes.start("in_memory", ctypes.c_uint64(boxes.memory.value + (1 << 19)))
    boxes.start("chosen", large, small, number)
    replaced = boxes.encoded(BOXES["small"])
    boxes.driver("replace", "cuTensorMapReplaceAddress", replaced, ctypes.c_void_p(boxes.memory.value + 4096))
    boxes.start("replaced", replaced)
    for _ in range(LAUNCHES):
        boxes.start("changing", small)
        boxes.start("changing", large)
    boxes.run_graph()
    print("\n".join(KERNELS))


if __name__ == "__main__":
    main()
