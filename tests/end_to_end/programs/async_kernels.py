"""Launches kernels with asynchronous operations and tensor cores: tensor copies of every rank and mode, bulk
copies, cp.async, mbarrier objects, and products of matrices of every type, dense and sparse.

usage: async_kernels.py

Prints the name of each kernel after its launch. Kernels are named after what they do: the names of products of
matrices contain how many operations a launch executes.
"""
import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python/lynxpp"))
import serve  # noqa: E402

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
BLOCKS = 3
# Elements of two bytes; dimension 0 first. The copies begin inside the tensor, at a multiple of 16 bytes as GPUs demand, and cross its edges.
EXTENTS, BOX, AT = (100, 9, 5, 4, 3), (64, 4, 3, 2, 2), (56, 7, 3, 3, 2)
F16 = 6  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16


def box_bytes(rank):
    size = 2
    for extent in BOX[:rank]:
        size *= extent
    return size


def block(body, shared=""):
    """Returns the body of a kernel in which lane %e of warp 0 is elected, and %first is thread 0."""
    return f"""{{
.reg .pred %p<8>, %e, %first; .reg .b32 %r<104>, %t, %bar, %box, %warp; .reg .b64 %a<8>; .reg .f32 %f<40>; .reg .f64 %d<9>;
.shared .align 1024 .b8 area[16384]; .shared .align 8 .b64 barrier;{shared}
mov.u32 %t, %tid.x;
shr.u32 %warp, %t, 5;
setp.eq.u32 %first, %t, 0;
mov.u32 %bar, barrier;
mov.u32 %box, area;
setp.eq.u32 %p1, %warp, 0;
activemask.b32 %r39;
elect.sync _|%e, %r39;
and.pred %e, %e, %p1;
{body}
ret;
}}
"""


WAIT = """
again:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%bar], 0;
@!%p2 bra again;
"""
BARRIER = """
@%first mbarrier.init.shared::cta.b64 [%bar], 1;
fence.proxy.async;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
"""


def coordinates(rank):
    return "{" + ", ".join(map(str, AT[:rank])) + "}"


def tensor_kernel(name, rank, copy, expects, commits):
    """`copy` is guarded by elect.sync."""
    finish = "@%e cp.async.bulk.commit_group;\n@%e cp.async.bulk.wait_group 0;" if commits else ""
    expect = f"@%e mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {expects};" if expects else ""
    return f""".visible .entry {name}(.param .align 64 .b8 map[128])
""" + block(f"""mov.b64 %a1, map;
cvta.param.u64 %a1, %a1;
{BARRIER}
{expect}
{copy}
{finish}
{WAIT if expects else ''}
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;""")


def tensor_kernels():
    """Yields kernels with their number of dimensions, true if the map is of columns, and blocks of a cluster."""
    load = "@%e cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}mbarrier::complete_tx::bytes [%box], [%a1, {at}], [%bar]{rest};"
    for rank in range(1, 6):
        at = coordinates(rank)
        copy = load.format(rank=rank, mode="tile.", at=at, rest="")
        yield f"load_{rank}d", tensor_kernel(f"load_{rank}d", rank, copy, box_bytes(rank), False), rank, False, 1
        copy = f"@%e cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%a1, {at}], [%box];"
        yield f"store_{rank}d", tensor_kernel(f"store_{rank}d", rank, copy, 0, True), rank, False, 1
    copy = f"@%e cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%a1, {coordinates(2)}], [%box];"
    yield "reduce_2d", tensor_kernel("reduce_2d", 2, copy, 0, True), 2, False, 1
    for rank in (3, 4, 5):
        offsets = "{" + ", ".join(["1"] * (rank - 2)) + "}"
        at = "{0, " + ", ".join(["0"] * (rank - 1)) + "}"
        copy = load.format(rank=rank, mode="im2col.", at=at, rest=", " + offsets)
        yield f"column_{rank}d", tensor_kernel(f"column_{rank}d", rank, copy, 2 * 64 * 8, False), rank, True, 1
    # Block 0 of a cluster loads for both.
    copy = "mov.u32 %r1, %cluster_ctarank;\nsetp.eq.and.u32 %p3, %r1, 0, %e;\nmov.b16 %h1, 3;\n" + \
        load.format(rank=2, mode="tile.", at=coordinates(2), rest=", %h1").replace("global.tile.mbarrier::complete_tx::bytes",
                                                                                  "global.tile.mbarrier::complete_tx::bytes.multicast::cluster")
    text = tensor_kernel("multicast_2d", 2, copy.replace("@%e cp", "@%p3 cp"), box_bytes(2), False)
    yield "multicast_2d", text.replace(".reg .pred", ".reg .b16 %h<2>; .reg .pred"), 2, False, 2
    prefetch = f"@%e cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%a1, {coordinates(1)}];"
    yield "prefetch_1d", tensor_kernel("prefetch_1d", 1, prefetch, 0, False), 1, False, 1


def copy_kernels():
    """Kernels whose parameter is memory."""
    def kernel(name, body):
        return name, f".visible .entry {name}(.param .u64 memory)\n" + block("ld.param.u64 %a1, [memory];\n" + body)

    # Thread t copies 16 bytes and reads t % 17 of them; odd threads do not copy.
    yield kernel("small", """shl.b32 %r1, %t, 4;
add.u32 %r2, %box, %r1;
mul.wide.u32 %a2, %t, 16;
add.u64 %a1, %a1, %a2;
rem.u32 %r3, %t, 17;
and.b32 %r4, %t, 1;
setp.eq.u32 %p3, %r4, 0;
@%p3 cp.async.ca.shared.global [%r2], [%a1], 16, %r3;
@%p3 cp.async.ca.shared.global [%r2], [%a1], 8;
cp.async.commit_group;
cp.async.wait_group 0;""")
    yield kernel("bulk", f"""{BARRIER}
mov.u32 %r1, 4096;
@%first mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 1024;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %r1;
@%e cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%box], [%a1], %r1, [%bar];
@%e cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%box], [%a1], 1024, [%bar];
{WAIT}
@%e cp.async.bulk.global.shared::cta.bulk_group [%a1], [%box], 2048;
@%e cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a1], [%box], 512;
@%e cp.async.bulk.commit_group;
@%e cp.async.bulk.wait_group 0;""")
    # All threads arrive twice; a test of the phase's parity fails before and succeeds after.
    yield kernel("objects", """mov.u32 %r1, %ntid.x;
shl.b32 %r1, %r1, 1;
@%first mbarrier.init.shared::cta.b64 [%bar], %r1;
bar.sync 0;
mbarrier.test_wait.parity.shared::cta.b64 %p3, [%bar], 0;
bar.sync 0;
mbarrier.arrive.shared::cta.b64 %a2, [%bar];
mbarrier.arrive.shared::cta.b64 %a2, [%bar], 1;
bar.sync 0;
mbarrier.test_wait.shared::cta.b64 %p3, [%bar], %a2;
mbarrier.test_wait.parity.shared::cta.b64 %p3, [%bar], 0;
bar.sync 0;
@%first mbarrier.inval.shared::cta.b64 [%bar];""")


def registers(kind, first, count):
    return "{" + ", ".join(f"%{kind}{first + i}" for i in range(count)) + "}"


def looped(product, warps):
    """The first `warps` warps execute the product three times."""
    return f"""setp.ge.u32 %p3, %warp, {warps};
@%p3 bra done;
mov.u32 %t, 0;
next:
{product}
add.u32 %t, %t, 1;
setp.lt.u32 %p4, %t, 3;
@%p4 bra next;
done:"""


def mma_kernels():
    """Yields the names, texts and operations of products of a warp."""
    cases = [(8, 8, 4, "f64", "f64", "", ("d", 1, 1, 2)), (16, 8, 8, "f64", "f64", "", ("d", 4, 2, 4)),
             (16, 8, 4, "f32", "tf32", "", ("r", 2, 1, 4)), (16, 8, 8, "f32", "tf32", "", ("r", 4, 2, 4)),
             (16, 8, 8, "f32", "f16", "", ("r", 2, 1, 4)), (16, 8, 16, "f32", "f16", "", ("r", 4, 2, 4)),
             (16, 8, 16, "f16", "f16", "", ("r", 4, 2, 2)), (16, 8, 16, "f32", "bf16", "", ("r", 4, 2, 4)),
             (16, 8, 32, "f32", "e4m3", "", ("r", 4, 2, 4)), (16, 8, 32, "f32", "e5m2", "", ("r", 4, 2, 4)),
             (8, 8, 16, "s32", "s8", "", ("r", 1, 1, 2)), (16, 8, 32, "s32", "u8", "", ("r", 4, 2, 4)),
             (16, 8, 64, "s32", "s4", "", ("r", 4, 2, 4)), (16, 8, 256, "s32", "b1", ".xor.popc", ("r", 4, 2, 4)),
             (8, 8, 4, "f16", "f16", "", ("r", 2, 2, 4))]
    # m, n, k, the types of D and C and of A and B, further words, and the registers of A, B and C.
    for m, n, k, d, a, rest, (kind, of_a, of_b, of_c) in cases:
        sums = registers("f" if d == "f32" else kind, 0, of_c)
        text = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{a}.{d}{rest} {sums}, {registers(kind, 10 if kind == 'r' else 4, of_a)}, " \
               f"{registers(kind, 20 if kind == 'r' else 4, of_b)}, {sums};"
        work = 2 * m * n * k * (4 if (m, k, a) == (8, 4, "f16") else 1)
        yield f"mma_m{m}n{n}k{k}_{d}_{a}", text, work
    for k, d, a, of_a, of_b in ((16, "f32", "f16", 2, 2), (32, "f32", "bf16", 4, 4), (16, "f32", "tf32", 4, 4), (64, "s32", "s8", 4, 4),
                               (64, "f32", "e4m3", 4, 4)):
        sums = registers("f" if d == "f32" else "r", 0, 4)
        text = f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{a}.{d} {sums}, {registers('r', 10, of_a)}, {registers('r', 20, of_b)}, {sums}, %r30, 0x0;"
        yield f"mma_sparse_k{k}_{a}", text, 2 * 16 * 8 * k // 2
    f16 = registers("r", 0, 8)
    yield "wmma_f16", f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {registers('f', 0, 8)}, {f16}, {f16}, {registers('f', 0, 8)};", 2 * 16 ** 3
    yield "wmma_bf16", f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {registers('f', 0, 8)}, {registers('r', 0, 4)}, {registers('r', 4, 4)}, " \
                       f"{registers('f', 0, 8)};", 2 * 16 ** 3
    yield "wmma_u8", f"wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32 {registers('r', 0, 8)}, {{%r10}}, {registers('r', 20, 4)}, {registers('r', 0, 8)};", \
        2 * 8 * 32 * 16


def wgmma_kernels():
    """Products of a warpgroup, 64 x N, with A in registers or, for N = 8, in shared memory; the work of a warp is a
    quarter of them."""
    for a, d, k in (("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8), ("e4m3", "f32", 32), ("e5m2", "f16", 32),
                    ("s8", "s32", 32), ("u8", "s32", 32), ("b1", "s32", 256)):
        for n in (8, 32):
            for sparse in (False, True):
                if sparse and a == "b1":
                    continue
                depth = 2 * k if sparse else k
                count = n // 2 if d != "f16" else n // 4
                sums = registers("f" if d == "f32" else "r", 0, count)
                operand = "%a1" if n == 8 else registers("r", 20, 4)
                words = ".and.popc" if a == "b1" else ""
                floats = a not in ("s8", "u8", "b1")
                scales = ", 1, 1" if floats else ""
                transposes = "" if a not in ("f16", "bf16") else ", 0, 0" if n == 8 else ", 0"
                metadata = ", %r30, 0" if sparse else ""
                text = f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{n}k{depth}.{d}.{a}.{a}{words} {sums}, {operand}, %a1{metadata}, " \
                       f"%p5{scales}{transposes};"
                text = "wgmma.fence.sync.aligned;\n" + text + "\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
                yield f"wgmma_{'sparse_' if sparse else ''}n{n}_{d}_{a}", text, 2 * 64 * n * k // 4


def layout_kernels():
    """Products of every layout that a descriptor can name: swizzles of 128, 64 and 32 bytes, and none; K-major and MN-major."""
    for n in (8, 256):
        for mode in range(4):
            for transposed in (0, 1):
                for sparse in (False, True):
                    a = "%a2" if n == 8 else registers("r", 20, 4)
                    text = f"mov.b64 %a2, {mode << 62};\nor.b64 %a2, %a1, %a2;\nwgmma.fence.sync.aligned;\n" \
                           f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{n}k{32 if sparse else 16}.f16.f16.f16 {registers('r', 40, n // 4)}, {a}, " \
                           f"%a2{', %r30, 0' if sparse else ''}, %p5, 1, 1, {f'{transposed}, ' if n == 8 else ''}{transposed};\n" \
                           "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
                    yield f"wgmma_{'sparse_' if sparse else ''}mode{mode}_{'mn' if transposed else 'k'}_n{n}_f16", text, 2 * 64 * n * 16 // 4


def product_kernels():
    """Yields kernels with their threads. Warps of a block: those of a warpgroup, or one and a partial one, and one
    that does not execute the product."""
    prepare = "mov.u32 %r30, 0x44444444;\nsetp.eq.u32 %p5, %t, %t;\nshr.u32 %r31, %box, 4;\ncvt.u64.u32 %a1, %r31;\nadd.u64 %a1, %a1, 34359803904;\n"
    for kernels, threads, warps in ((mma_kernels(), 80, 3), (wgmma_kernels(), 160, 4), (layout_kernels(), 160, 4)):
        for name, text, work in kernels:
            name = f"{name}_work_{BLOCKS * 3 * warps * work}"
            yield name, f".visible .entry {name}()\n" + block(prepare + looped(text, warps)), threads


class Driver:
    """The driver of a GPU, or of the cpu device."""

    def __init__(self):
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("start", "cuInit", 0)
        self("start", "cuDeviceGet", ctypes.byref(device), 0)
        self("start", "cuCtxCreate_v2", ctypes.byref(context), 0, device)

    def __call__(self, stage, function, *arguments):
        code = getattr(self._cuda, function)(*arguments)
        if code != 0:
            sys.exit(f"{stage}: {function} returned {code}")


class Kernels:
    def __init__(self):
        self.driver = Driver()
        self.memory = ctypes.c_uint64()
        self.driver("memory", "cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(1 << 20))
        self.driver("memory", "cuMemsetD8_v2", self.memory, ctypes.c_ubyte(0), ctypes.c_size_t(1 << 20))

    def tensor_map(self, rank, of_columns):
        memory = ctypes.create_string_buffer(64 + 128)
        begin = (ctypes.addressof(memory) + 63) // 64 * 64
        strides = [(EXTENTS[0] * 2 + 15) // 16 * 16]
        for extent in EXTENTS[1:4]:
            strides.append(strides[-1] * extent)
        common = [ctypes.c_void_p(begin), F16, ctypes.c_uint(rank), ctypes.c_void_p(self.memory.value), (ctypes.c_uint64 * rank)(*EXTENTS[:rank]),
                  (ctypes.c_uint64 * rank)(*strides[: rank - 1])]
        steps = (ctypes.c_uint * rank)(*[1] * rank)
        if of_columns:
            corner = ctypes.c_int * (rank - 2)
            self.driver("map", "cuTensorMapEncodeIm2col", *common, corner(*[-1] * (rank - 2)), corner(*[-1] * (rank - 2)), ctypes.c_uint(8), ctypes.c_uint(64),
                        steps, 0, 0, 0, 0)
        else:
            self.driver("map", "cuTensorMapEncodeTiled", *common, (ctypes.c_uint * rank)(*BOX[:rank]), steps, 0, 0, 0, 0)
        return (ctypes.c_ubyte * 128).from_buffer(memory, begin - ctypes.addressof(memory))

    def launch(self, name, text, argument, threads, cluster=1):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("load " + name, "cuModuleLoadData", ctypes.byref(module), (HEADER + text).encode())
        self.driver("kernel", "cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        request = {"grid": [BLOCKS * cluster, 1, 1], "block": [threads, 1, 1], "shared_bytes": 0, "cluster": [cluster, 1, 1] if cluster > 1 else None}
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(argument) if argument is not None else None)
        self.driver("launch " + name, "cuLaunchKernelEx", ctypes.byref(serve.configuration_of(request)), function, pointers, None)
        self.driver("run " + name, "cuCtxSynchronize")
        print(name)


def main():
    kernels = Kernels()
    for name, text, rank, of_columns, cluster in tensor_kernels():
        kernels.launch(name, text, kernels.tensor_map(rank, of_columns), 80, cluster)
    for name, text in copy_kernels():
        kernels.launch(name, text, kernels.memory, 80)
    for name, text, threads in product_kernels():
        kernels.launch(name, text, None, threads)


if __name__ == "__main__":
    main()
