"""The kernels of frameworks/ with arguments and references of what they mean, as data.

A Case has the arguments of a launch as `lynxpp ptx run` takes them, and a reference: a function of the arrays
before the launch, as lists, that returns what each array contains after it, {number of the argument: list}.
Numbers of tensor cores are multiples of 1/8, so that all sums are exact.
"""
import collections
import math
import operator
import struct

Case = collections.namedtuple("Case", "name grid arguments reference tolerance shared_bytes", defaults=(1e-5, 8192))

EXACT = 0
HALF = 1e-3  # of results that are rounded to f16
NOTHING = ["null", "null"]  # Triton's scratch memory


def rows(values, width):
    return [values[begin : begin + width] for begin in range(0, len(values), width)]


def joined(parts):
    return [value for part in parts for value in part]


def added(*terms):
    """Returns the sums of equally long lists; shorter ones are repeated, as biases are for each row."""
    return [sum(term[at % len(term)] for term in terms) for at in range(len(terms[0]))]


def dot(a, b):
    return sum(map(operator.mul, a, b))


def product(a, b):
    """Returns a times b transposed, both as rows."""
    return [[dot(row, column) for column in b] for row in a]


def columns(values, width):
    return [values[column::width] for column in range(width)]


def rounded_to_half(values):
    return list(struct.unpack(f"<{len(values)}e", struct.pack(f"<{len(values)}e", *values)))


def softmax(row):
    powers = [math.exp(value - max(row)) for value in row]
    return [power / sum(powers) for power in powers]


def log_sum(row):
    """Returns log(sum(exp(row - max)))."""
    return math.log(sum(math.exp(value - max(row)) for value in row))


# --- layer norm, its gradient, and RMS norm

class LayerNorm:
    """Rows of `width` numbers, normalized."""

    def __init__(self, values, width, weight, bias, epsilon=1e-5):
        self.means, self.scales, normalized = [], [], []
        for row in rows(values, width):
            mean = sum(row) / width
            scale = 1 / math.sqrt(sum((value - mean) ** 2 for value in row) / width + epsilon)
            self.means.append(mean)
            self.scales.append(scale)
            normalized += [(value - mean) * scale for value in row]
        self.normalized = normalized
        self.result = [value * weight[at % width] + bias[at % width] for at, value in enumerate(normalized)]


def norm_gradient(gradients, weight, normalized, scales):
    """Returns the gradients of the values that were normalized, in rows as long as `weight`. `scales` are those of the
    layer norm, divided by this length."""
    width, result = len(weight), []
    for gradient, normal, scale in zip(rows(gradients, width), rows(normalized, width), scales):
        weighted = list(map(operator.mul, gradient, weight))
        total, along = sum(weighted), dot(weighted, normal)
        result += [scale * (width * value - total - each * along) for value, each in zip(weighted, normal)]
    return result


def rms_norm(values, weight, epsilon=1e-6):
    width, result = len(weight), []
    for row in rows(values, width):
        scale = 1 / math.sqrt(dot(row, row) / width + epsilon)
        result += [value * scale * each for value, each in zip(row, weight)]
    return result


def embedded(indices, table, width):
    table = rows(table, width)
    return joined(table[index] for index in indices)


# --- Inductor, a GPT: rows of 256, four a block

ROWS, WIDTH = 8, 256
ROW = f"f32[{ROWS},{WIDTH}]"
IN, OUT, VECTOR, PER_ROW = ROW + "=random", ROW, f"f32[{WIDTH}]=random", f"f32[{ROWS}]"
SIZES = ["i32=2048", f"i32={WIDTH}", *NOTHING]


def gpt(name, arguments, reference, grid=ROWS // 4, **options):
    return Case(f"inductor-gpt/triton_per_fused_{name}", grid, arguments, reference, **options)


def layer_norm_0(_, indices, table, weight, bias, *__):
    values = embedded(indices, table, WIDTH)
    norm = LayerNorm(values, WIDTH, weight, bias)
    return {1: norm.scales, 6: values, 7: norm.means, 8: norm.result}


def layer_norm_1(_, a, b, weight, bias, *__):
    norm = LayerNorm(added(a, b), WIDTH, weight, bias)
    return {1: norm.scales, 6: norm.means, 7: norm.result}


def norm_and_scales(values, weight, bias, first):
    """The outputs from argument `first` on: normalized rows, the layer norm, and the scales that its gradient uses."""
    norm = LayerNorm(values, WIDTH, weight, bias)
    return {first: norm.normalized, first + 1: norm.result, first + 2: [scale / WIDTH for scale in norm.scales]}


def layer_norm_3(a, b, bias, c, weight, shift, *_):
    return norm_and_scales(added(a, b, bias, c), weight, shift, 7)


def layer_norm_4(a, b, c, bias, other_bias, d, weight, shift, *_):
    values = added(a, b, c, bias, other_bias, d)
    return {1: values, **norm_and_scales(values, weight, shift, 9)}


def layer_norm_5(a, bias, b, weight, shift, *_):
    return norm_and_scales(added(a, b, bias), weight, shift, 6)


def layer_norm_6(a, bias, b, other_bias, c, weight, shift, *_):
    values = added(a, b, c, bias, other_bias)
    return {1: values, **norm_and_scales(values, weight, shift, 8)}


def layer_norm_7(a, bias, b, weight, shift, *_):
    results = norm_and_scales(added(a, b, bias), weight, shift, 5)
    return {1: results.pop(5), **results}


def log_softmax_8(_, values, *__):
    values = rows(values, 512)
    return {1: list(map(log_sum, values)), 3: list(map(max, values))}


def gradient_10(total, gradients, weight, normalized, scales):
    return {1: added(total, norm_gradient(gradients, weight, normalized, scales))}


def normalized_by(values, means, scales):
    return joined([(value - mean) * scale for value in row] for row, mean, scale in zip(rows(values, WIDTH), means, scales))


def gradient_14(total, gradients, weight, a, b, means, scales):
    normalized = normalized_by(added(a, b), means, scales)
    return {1: added(total, norm_gradient(gradients, weight, normalized, [scale / WIDTH for scale in scales]))}


def gradient_17(total, gradients, weight, values, means, scales, indices, table):
    normalized = normalized_by(values, means, scales)
    change = added(total, norm_gradient(gradients, weight, normalized, [scale / WIDTH for scale in scales]))
    table = rows(table, WIDTH)
    for index, row in zip(indices, rows(change, WIDTH)):
        if index != -1:
            table[index] = added(table[index], row)
    return {8: joined(table)}


def cross_entropy_gradient(values, targets, gradient, weight, maxima, log_sums):
    result = []
    for row, target, largest, log in zip(rows(values, 512), targets, maxima, log_sums):
        scale = 0 if target == -100 else gradient[0] / weight[0]
        result += [scale * (math.exp(value - largest - log) - (at == target)) for at, value in enumerate(row)]
    return {1: result}


def column_sums(width):
    return lambda values, *_: {2: list(map(sum, columns(values, width)))}


LAYER_NORM = "add_addmm_native_layer_norm_native_layer_norm_backward_view_"
GPT = [
    gpt("embedding_native_layer_norm_0",
        [PER_ROW, f"s64[{ROWS}]=random:-512:511", f"f32[512,{WIDTH}]=random", VECTOR, VECTOR, OUT, PER_ROW, OUT, *SIZES], layer_norm_0),
    gpt("add_native_layer_norm_view_1", [PER_ROW, IN, IN, VECTOR, VECTOR, PER_ROW, OUT, *SIZES], layer_norm_1),
    gpt(LAYER_NORM + "3", [IN, IN, VECTOR, IN, VECTOR, VECTOR, OUT, OUT, PER_ROW, *SIZES], layer_norm_3),
    gpt(LAYER_NORM + "4", [IN, IN, IN, VECTOR, VECTOR, IN, VECTOR, VECTOR, OUT, OUT, PER_ROW, *SIZES], layer_norm_4),
    gpt(LAYER_NORM + "5", [IN, VECTOR, IN, VECTOR, VECTOR, OUT, OUT, PER_ROW, *SIZES], layer_norm_5),
    gpt(LAYER_NORM + "6", [IN, VECTOR, IN, VECTOR, IN, VECTOR, VECTOR, OUT, OUT, PER_ROW, *SIZES], layer_norm_6),
    gpt(LAYER_NORM + "7", [IN, VECTOR, IN, VECTOR, VECTOR, OUT, PER_ROW, *SIZES], layer_norm_7),
    gpt("_log_softmax_prepare_softmax_online_8", ["f32[4]", "f32[4,512]=random:-8:8", "f32[4]", "i32=2048", "i32=512", *NOTHING], log_softmax_8),
    gpt("gelu_gelu_backward_sum_view_9", ["f32[16,1024]=random", "f32[1024]", "i32=1024", "i32=16", *NOTHING], column_sums(1024), grid=8),
    gpt("add_native_layer_norm_backward_view_10", [IN, IN, VECTOR, IN, PER_ROW + "=random:0:0.01", *SIZES], gradient_10),
    gpt("cat_sum_transpose_view_13", ["f32[16,768]=random", "f32[768]", "i32=768", "i32=16", *NOTHING], column_sums(768), grid=6),
    gpt("add_native_layer_norm_native_layer_norm_backward_view_14",
        [IN, IN, VECTOR, IN, IN, PER_ROW + "=random", PER_ROW + "=random:0:2", *SIZES], gradient_14),
    gpt("add_embedding_dense_backward_native_layer_norm_native_layer_norm_backward_nll_loss_forward_view_17",
        [IN, IN, VECTOR, IN, PER_ROW + "=random", PER_ROW + "=random:0:2", "s64[8]=3,-1,500,3,-100,7,9,9", f"f32[512,{WIDTH}]=random",
         *SIZES], gradient_17),
    gpt("_log_softmax__log_softmax_backward_data_arange_eq_expand_nll_loss_backward_nll_loss_forward_scalar_tensor_view_where_0",
        ["f32[4,512]=random:-8:8", "s64[4]=5,-100,511,0", "f32[1]=0.75", "f32[1]=2", "f32[4]=8,7.5,8.25,8", "f32[4]=-1,0.5,1,0",
         "i32=2048", "i32=512", *NOTHING],
        cross_entropy_gradient),
]  # fmt: skip


# --- Inductor, a Llama: rows of 256 in half precision, one a block

HALVES = f"f16[4,{WIDTH}]"
H_IN, H_OUT, H_WEIGHT = HALVES + "=random", HALVES, f"f16[{WIDTH}]=random"
INDICES, TABLE = "s64[4]=3,-1,999,-1000", f"f16[1000,{WIDTH}]=random"
LLAMA_SIZES = ["i32=64", f"i32={WIDTH}", *NOTHING]


def llama(name, arguments, reference, grid=4, tolerance=HALF, **options):
    return Case(f"inductor-llama/triton_{name}", grid, arguments, reference, tolerance, **options)


def rms_of_sum(terms, result):
    """The RMS norm of the sum of the first arguments; the next one is the weight."""
    return lambda *arrays: {result: rms_norm(added(*arrays[:terms]), arrays[terms])}


def rms_of_embedding(terms, result):
    """Same, with rows of an embedding: indices, table, terms, weight."""

    def reference(indices, table, *arrays):
        return {result: rms_norm(added(embedded(indices, table, WIDTH), *arrays[:terms]), arrays[terms])}

    return reference


def rms_in_place_9(values, indices, table, a, b, weight, *_):
    total = added(values, embedded(indices, table, WIDTH), a, b)
    return {1: total, 7: rms_norm(total, weight)}


def silu_product(a, b, *_):
    return {1: [x / (1 + math.exp(-x)) * y for x, y in zip(a, b)]}


RMS, EMBEDDING_RMS = "per_fused__to_copy__unsafe_view_add_mean_mul_pow_rsqrt_", "per_fused__to_copy__unsafe_view_add_embedding_mean_mul_pow_rsqrt_"
LLAMA = [
    llama("red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0", [INDICES, TABLE, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_of_embedding(0, 4), grid=2),
    llama("poi_fused__to_copy_expand_unsqueeze_1", ["f16[32]=random", "f32[32]", "i32=32", *NOTHING], lambda halves, *_: {2: halves}, 1, EXACT),
    llama("poi_fused__to_copy_add_arange_unsqueeze_2", ["f32[64]", "i32=64", *NOTHING], lambda *_: {1: list(range(64))}, 1, EXACT),
    # The cumulative sum of "this position is not the last one plus 1", which is false for positions 0, 1, 2 …
    llama("per_fused_add_arange_cat_cumsum_ne_slice_sub_unsqueeze_3", ["s64[64]=const:7", "i32=64", *NOTHING], lambda *_: {1: [0] * 64}, 1, EXACT),
    llama(EMBEDDING_RMS + "6", [INDICES, TABLE, H_IN, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_of_embedding(1, 5)),
    llama("poi_fused__unsafe_view_mul_silu_7", ["f16[512]=random:-4:4", "f16[512]=random", "i32=65536", *NOTHING], silu_product, 2),
    llama(EMBEDDING_RMS + "8", [INDICES, TABLE, H_IN, H_IN, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_of_embedding(2, 6)),
    llama(EMBEDDING_RMS + "9", [H_IN, INDICES, TABLE, H_IN, H_IN, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_in_place_9),
    llama(RMS + "10", [H_IN, H_IN, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_of_sum(2, 4)),
    llama(RMS + "11", [H_IN, H_IN, H_IN, H_WEIGHT, H_OUT, *LLAMA_SIZES], rms_of_sum(3, 5)),
    llama(RMS + "12", [H_IN, H_IN, H_IN, H_IN, H_WEIGHT, *LLAMA_SIZES], rms_of_sum(4, 1)),
]  # fmt: skip


# --- Triton's tutorials

def softmax_of_rows(_, values, *__):
    return {1: joined(map(softmax, rows(values, 1000)))}


def layer_norm_of_rows(values, _, weight, bias, *__):
    return {2: LayerNorm(values, 1000, weight, bias).result}


def half_product(inner, width):
    """A times B in half precision, with sums in single precision."""
    return lambda a, b, *_: {3: rounded_to_half(joined(product(rows(a, inner), columns(b, width))))}


def attention(queries, keys, values, *_):
    """softmax(Q K' / 8) V for each of two heads, 128 rows of 64."""
    result = []
    for q, k, v in zip(*(rows(each, 128 * 64) for each in (queries, keys, values))):
        scores = product(rows(q, 64), rows(k, 64))
        weights = [softmax([score / 8 for score in row]) for row in scores]
        result += joined(product(weights, columns(v, 64)))
    return {4: result}


EIGHTHS = "random:-1:1:0.125"
TRITON = [
    Case("triton/softmax_kernel", 3, ["f32[3,1000]", "f32[3,1000]=random:-5:5", "i32=1000", "i32=1000", *NOTHING], softmax_of_rows, 1e-6),
    Case("triton/layernorm_kernel", 3,
         ["f32[3,1000]=random", "f32[3,1000]", "f32[1000]=random", "f32[1000]=random", "i32=1000", "f32=1e-5", *NOTHING], layer_norm_of_rows),
    Case("triton/matmul_kernel", (2, 1), [f"f16[256,96]={EIGHTHS}", f"f16[96,128]={EIGHTHS}", "f16[256,128]", "i32=256", "i32=128", "i32=96", *NOTHING],
         half_product(96, 128), EXACT, 65536),
    Case("triton/attention_kernel", (2, 2), [*["f16[2,128,64]=random"] * 3, "f16[2,128,64]", "f32=0.125", "i32=128", *NOTHING], attention, 5e-3, 65536),
    Case("triton-tma/bad", 1, ["f32[20]=random:0:9", "f32[20]", "i32=20", *NOTHING], lambda values, *_: {2: [2 * math.sqrt(value) for value in values]}, 1e-6),
    Case("triton-tma/mm", (2, 2), [f"f16[256,128]={EIGHTHS}", f"f16[128,128]={EIGHTHS}", "f16[256,128]", "i32=256", "i32=128", "i32=128", "u8[1536]", "null"],
         half_product(128, 128), EXACT, 98304),
]  # fmt: skip


# --- XLA: a training step with 1024 samples, layers of 512 and 10 classes

def class_probabilities(total, values, _):
    powers = joined(map(softmax, rows(values, 10)))
    return {3: [each + power / 1024 for each, power in zip(total, powers)]}


def clamped(index, last):
    return min(max(index, 0), last)


def log_likelihood(indices, values, _):
    values = rows(values, 10)
    picked = [(values[clamped(sample, 1023)], clamped(label, 9)) for sample, label in rows(indices, 2)]
    return {3: [row[label] - math.log(sum(map(math.exp, row))) for row, label in picked]}


def gelu_and_tanh(values, *_):
    tanh = [math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) for x in values]
    return {2: [0.5 * x * (1 + t) for x, t in zip(values, tanh)], 3: tanh}


PARTS = 4  # of a sum over the inner dimension


def step(weights, gradients, _):
    size = len(gradients) // PARTS
    return {3: [w - 0.1 * sum(gradients[at + part * size] for part in range(PARTS)) for at, w in enumerate(weights)]}


def logits_without_maximum(parts, _):
    size = len(parts) // PARTS
    total = added(*rows(parts, size))[:160]
    return {2: joined([value - max(row) for value in row] for row in rows(total, 10))}


def threefry(key, counter):
    """The random numbers of JAX: Threefry-2x32 with 20 rounds."""
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    a, b = ((each + word) & 0xFFFFFFFF for each, word in zip(counter, keys))
    for group in range(5):
        for distance in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            a = (a + b) & 0xFFFFFFFF
            b = ((b << distance | b >> 32 - distance) & 0xFFFFFFFF) ^ a
        a = (a + keys[(group + 1) % 3]) & 0xFFFFFFFF
        b = (b + keys[(group + 2) % 3] + group + 1) & 0xFFFFFFFF
    return a, b


def split_key(key, _):
    return {2: joined(threefry(key, (0, number)) for number in range(4))}


def softmax_gradient(values, a, b, _):
    result = []
    for row, x, y in zip(*(rows(each, 512) for each in (values, a, b))):
        chances, changes = softmax(row), list(map(operator.mul, x, y))
        mean = dot(chances, changes)
        result += [chance * (change - mean) for chance, change in zip(chances, changes)]
    return {4: result}


def gated_gelu_gradient(tanh, values, a, b, gates, _):
    gates = joined(map(softmax, rows(gates, 512)))
    result = []
    for t, x, offset, factor, gate in zip(tanh, values, a, b, gates):
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        result.append((gate * factor + offset) * slope)
    return {6: result}


def product_in_parts(inner, width, parts, shown, transposed):
    """Partial products over `parts` of the inner dimension; blocks that do not run leave the rest of the result.

    transposed: A has its inner dimension first. shown: rows of the first part that blocks write; 0: all.
    """

    def reference(a, b, result):
        depth = inner // parts
        left = columns(a, len(a) // inner) if transposed else rows(a, inner)
        right = columns(b, width)
        for part in range(parts if not shown else 1):
            span = slice(part * depth, (part + 1) * depth)
            begin = part * len(left) * width
            for row in left[: shown or len(left)]:
                values = [dot(row[span], column[span]) for column in right]
                result[begin : begin + width] = values
                begin += width
        return {3: result}

    return reference


def product_of_rows(inner, shown_rows, shown_columns):
    """A times B transposed, in a result with rows of 512. The blocks write only a corner of it."""

    def reference(a, b, result):
        left, right = rows(a, inner), rows(b, inner)
        for at, row in enumerate(left[:shown_rows]):
            result[at * 512 : at * 512 + shown_columns] = [dot(row, column) for column in right[:shown_columns]]
        return {3: result}

    return reference


def xla(name, grid, arguments, reference, tolerance=1e-5, shared_bytes=8192):
    return Case(f"xla/{name}", grid, arguments, reference, tolerance, shared_bytes)


F32_8_ROWS = "f32[8,512]"
BOX = "box[128,32]:swizzle128"
DOT_3 = [f"f32[1024,512]={EIGHTHS}", f"f32[512,10]={EIGHTHS}", "f32[4,1024,10]=const:nan"]
DOT_4 = [f"f32[1024,256]={EIGHTHS}", f"f32[1024,512]={EIGHTHS}", "f32[8,256,512]=const:nan"]
DOT_12 = [f"f32[1024,10]={EIGHTHS}", f"f32[512,10]={EIGHTHS}", "f32[1024,512]=const:nan"]
DOT_14 = [f"f32[1024,512]={EIGHTHS}", f"f32[512,512]={EIGHTHS}", "f32[1024,512]=const:nan"]
XLA = [
    xla("fusion_28", 2, [F32_8_ROWS + "=random:-0.9:0.9", *[F32_8_ROWS + "=random"] * 3, F32_8_ROWS + "=random:-4:4", F32_8_ROWS], gated_gelu_gradient),
    xla("fusion_30", 2, [F32_8_ROWS + "=random:-4:4", *[F32_8_ROWS + "=random"] * 2, F32_8_ROWS], softmax_gradient),
    xla("input_concatenate_fusion.2", 1, ["u32[2]=123456789,4000000000", "u32[8]"], split_key, EXACT),
    xla("input_reduce_fusion.2", 1, ["f32[1024]=random", "f32[1]"], lambda values, _: {2: [sum(values)]}),
    xla("loop_add_fusion.2", 2, ["f32[8,10]=random", "f32[8,10]=random", "f32[8,10]"], class_probabilities),
    xla("loop_dynamic_slice_fusion", 1, ["f32[4,2]=random", "s32[1]=9", "f32[2]"], lambda table, *_: {3: table[6:8]}, EXACT),
    xla("loop_gather_fusion", 2, ["s32[256,2]=random:-3:1030", "f32[1024,10]=random:-3:3", "f32[256]"], log_likelihood),
    xla("loop_gather_fusion", 2, ["s32[256,2]=random:-3:12", "f32[1024,10]=random:-3:3", "f32[256]"], log_likelihood),
    xla("loop_multiply_fusion.2", 2, ["f32[256]=random", "f32[1]=0.3", "f32[256]"], lambda a, by, _: {3: [value * by[0] for value in a]}, 1e-7),
    xla("loop_multiply_tanh_fusion", 2, ["f32[1024]=random:-3:3", "f32[1024]", "f32[1024]"], gelu_and_tanh),
    xla("loop_negate_fusion", 1, ["f32[1]=0.7", "null"], lambda value: {1: [-value[0] / 1024]}, EXACT),
    xla("loop_select_fusion", 2, ["s32[256]=random:-1000:1000", "s32[1]=7", "s32[256]"], lambda a, by, _: {3: [value % by[0] for value in a]}, EXACT),
    xla("loop_subtract_fusion.2", 2, ["f32[1024]=random", "f32[4,512,512]=random", "f32[1024]"], step),
    xla("triton_softmax_2", 2, ["f32[4,1024,10]=random:-3:3", "f32[160]"], logits_without_maximum),
    xla("wrapped_iota", 2, ["s32[256]"], lambda _: {1: list(range(256))}, EXACT),
    xla("gemm_fusion_dot_3.2", 64, DOT_3, product_in_parts(512, 10, 4, 0, False), EXACT, 65536),
    xla("gemm_fusion_dot_3.13", 64, DOT_3, product_in_parts(512, 10, 4, 0, False), EXACT, 98304),
    xla("gemm_fusion_dot_4.7", 16, DOT_4, product_in_parts(1024, 512, 8, 256, True), EXACT, 98304),
    xla("gemm_fusion_dot_4.11", 16, DOT_4, product_in_parts(1024, 512, 8, 256, True), EXACT, 65536),
    xla("gemm_fusion_dot_general_12.2", 256, DOT_12, product_of_rows(10, 1024, 512), EXACT, 65536),
    xla("gemm_fusion_dot_general_14.6", 2, DOT_14, product_of_rows(512, 64, 128), EXACT, 98304),
    xla("gemm_fusion_dot_general_14.9", 2, DOT_14, product_of_rows(512, 128, 128), EXACT, 98304),
    xla("gemm_fusion_dot_3.10", 32, [f"f32[1024,4,128]:box[128,1,16]:swizzle64={EIGHTHS}", *DOT_3[1:]], product_in_parts(512, 10, 4, 0, False), EXACT, 98304),
    xla("gemm_fusion_dot_general_12.3", 64, [*DOT_12[:2], "f32[1024,512]:box[64,32]:swizzle128=const:nan"], product_of_rows(10, 1024, 512), EXACT, 98304),
    xla("gemm_fusion_dot_general_14.12", 1,
        [f"f32[1024,512]:{BOX}={EIGHTHS}", f"f32[512,512]:{BOX}={EIGHTHS}", f"f32[1024,512]:{BOX}=const:nan"], product_of_rows(512, 128, 128), EXACT, 196608),
]  # fmt: skip

CASES = GPT + LLAMA + TRITON + XLA
