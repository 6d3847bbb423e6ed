// Tensor maps: their bytes, tensormap.replace, publication, constant memory and clusters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_fixture.h"
#include "tensor_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;

TensorMap any_map() {
  TensorMap map;
  map.rank = 4;
  map.access = TensorAccess::im2col;
  map.element = TensorElement::bf16;
  map.address = 0x7fff'1234'5670;
  map.strides = {16, 1ull << 39, 48, 64};
  map.sizes = {1, 1ull << 32, 3, 4, 5};
  map.box = {256, 2, 3, 4, 5};
  map.steps = {1, 8, 3, 4, 5};
  map.interleave = TensorInterleave::bytes_32;
  map.swizzle = TensorSwizzle::bytes_128;
  map.atom = SwizzleAtom::bytes_32_flip_8;
  map.fill = TensorFill::oob_nan;
  map.l2_promotion = 2;
  map.lower = {-32768, 1, 2};
  map.upper = {32767, -1, -2};
  map.pixels = 1024;
  return map;
}

TEST(TensorMaps, EveryMemberSurvivesItsEncoding) {
  std::array<std::byte, tensor_map_bytes> bytes;
  encode(any_map(), TensorMapBytes(bytes));
  TensorMap map;
  EXPECT_EQ(decode(ConstTensorMapBytes(bytes), map), nullptr);
  EXPECT_EQ(map, any_map());
}

TEST(TensorMaps, TheBitThatCutlassClearsIsZero) {
  std::array<std::byte, tensor_map_bytes> bytes;
  TensorMap map = any_map();
  map.address = map.strides[0] = map.sizes[0] = 0xffff'ffff'fff0;
  map.swizzle = TensorSwizzle::bytes_96;
  map.atom = SwizzleAtom::bytes_64;
  encode(map, TensorMapBytes(bytes));
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[8], sizeof word);
  EXPECT_EQ(word & (1u << 21), 0u);
}

TEST(TensorMaps, NoOtherBytesAreAMap) {
  std::array<std::byte, tensor_map_bytes> bytes;
  TensorMap map;
  for (std::size_t i = 0; i < tensor_map_bytes; ++i) {
    encode(any_map(), TensorMapBytes(bytes));
    bytes[i] ^= std::byte{0x10};
    EXPECT_NE(decode(ConstTensorMapBytes(bytes), map), nullptr) << "byte " << i;
  }
  encode(any_map(), TensorMapBytes(bytes));
  std::fill(bytes.begin() + 64, bytes.end(), std::byte{0});
  EXPECT_STREQ(decode(ConstTensorMapBytes(bytes), map),
               "these bytes are an incomplete or overwritten tensor map");
  bytes.fill(std::byte{0});
  EXPECT_EQ(decode(ConstTensorMapBytes(bytes), map), nullptr);
  EXPECT_EQ(map, TensorMap{});
}

/// Runs replacements of the map at [%m] in shared memory, which is zero before, publishes the map at [%g],
/// and loads 8 rows of 16 floats by it.
std::string kernel_replacing(const std::string& replacements) {
  return R"(.visible .entry test(.param .u64 workspace, .param .u64 tensor, .param .u64 out) {
  .shared .align 128 .b8 map[128];
  .shared .align 1024 .b8 area[512];
  .shared .align 8 .b64 barrier;
  .reg .b64 %g, %tensor, %out, %m, %stride, %long;
  .reg .b32 %t, %zero, %box, %bar, %at, %v, %n;
  .reg .pred %first, %q;
  ld.param.u64 %g, [workspace];
  ld.param.u64 %tensor, [tensor];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.lo.u32 %at, %t, 4;
  mov.u32 %v, map;
  cvt.u64.u32 %m, %v;
  add.u32 %v, %v, %at;
  mov.b32 %zero, 0;
  st.shared.b32 [%v], %zero;
  bar.warp.sync -1;
  setp.eq.u32 %first, %t, 0;
  mov.u64 %stride, 128;
  mov.u32 %n, 16;
)" + replacements +
         R"(
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%g], [%m], 0x80;
  fence.proxy.tensormap::generic.acquire.gpu [%g], 0x80;
  mov.u32 %box, area;
  mov.u32 %bar, barrier;
  @%first mbarrier.init.shared.b64 [%bar], 1;
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 512;
  bar.sync 0;
  @%first cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%box], [%g, {8, 3}], [%bar];
again:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra again;
  mul.lo.u32 %at, %t, 16;
  add.u32 %box, %box, %at;
  cvt.u64.u32 %long, %at;
  add.u64 %out, %out, %long;
  .reg .b32 %x<4>;
  ld.shared.v4.u32 {%x0, %x1, %x2, %x3}, [%box];
  st.global.v4.u32 [%out], {%x0, %x1, %x2, %x3};
  ret;
})";
}

std::string replace(const std::string& field, const std::string& operands) {
  const bool is_wide = field == "global_address" || field == "global_stride";
  return "  @%first tensormap.replace.tile." + field + ".shared::cta.b1024." + (is_wide ? "b64" : "b32") +
         " [%m], " + operands + ";\n";
}

const std::string every_field =
    replace("global_address", "%tensor") + replace("rank", "1") + replace("box_dim", "0, %n") +
    replace("box_dim", "1, 16") + replace("global_dim", "0, 30") + replace("global_dim", "1, 20") +
    replace("global_stride", "0, %stride") + replace("element_stride", "0, 1") +
    replace("element_stride", "1, 2") + replace("elemtype", "7") + replace("interleave_layout", "0") +
    replace("swizzle_mode", "2") + replace("swizzle_atomicity", "0") + replace("fill_mode", "1");

struct Replaced {
  std::string error;
  std::array<float, 128> out{};
};

Replaced run_replacing(const std::string& replacements) {
  struct alignas(128) {
    std::array<float, 20 * 32> tensor;
    std::array<std::byte, tensor_map_bytes> workspace;
    std::array<float, 128> out;
  } memory;
  for (std::size_t i = 0; i < memory.tensor.size(); ++i) memory.tensor[i] = static_cast<float>(i);
  const auto module = load(kernel_replacing(replacements));
  if (module == nullptr) return {"no module", {}};
  const Arguments arguments(memory.workspace.data(), memory.tensor.data(), memory.out.data());
  Replaced made;
  made.error = text_of(module->launch("test", {{1, 1, 1}, {32, 1, 1}}, arguments.bytes(), nullptr));
  made.out = memory.out;
  return made;
}

TEST(TensorMaps, KernelsMakeMapsFromZeros) {
  const Replaced found = run_replacing(every_field);
  ASSERT_EQ(found.error, "");
  for (std::uint32_t row = 0; row < 8; ++row) {
    for (std::uint32_t column = 0; column < 16; ++column) {
      const std::uint32_t x = 8 + column;
      const std::uint32_t y = 3 + 2 * row;
      // Two rows of 64 bytes are a line, whose 16-byte chunks the swizzle permutes.
      const std::uint32_t place = row * 64 + column * 4;
      const std::uint32_t swizzled = place ^ (place / 128 % 4 * 16);
      EXPECT_TRUE(y < 20);
      EXPECT_EQ(found.out[swizzled / 4], static_cast<float>(y * 32 + x)) << x << ", " << y;
    }
  }
}

TEST(TensorMaps, AnUnfinishedMapIsNamed) {
  EXPECT_THAT(run_replacing("").error, HasSubstr("the map's rank is not the instruction's"));
  EXPECT_THAT(run_replacing(replace("rank", "1")).error, HasSubstr("a size is not between 1 and 2^32"));
  EXPECT_THAT(run_replacing(every_field + replace("box_dim", "1, 70000")).error,
              HasSubstr("a box dimension is not between 1 and 256"));
  EXPECT_THAT(run_replacing(every_field + replace("swizzle_mode", "4")).error,
              HasSubstr("a swizzle of 96 bytes needs compute capability 10.3"));
  EXPECT_THAT(run_replacing(every_field + replace("elemtype", "13")).error,
              HasSubstr("elements that are not floats cannot be filled with NaN"));
  EXPECT_THAT(run_replacing(every_field + replace("elemtype", "14")).error,
              HasSubstr("the size of dimension 0 is not a multiple of 128"));
  EXPECT_THAT(run_replacing(every_field + replace("elemtype", "16")).error,
              HasSubstr("a change of the tensor map at 0x"));
  EXPECT_THAT(run_replacing("  st.shared.b32 [%m], %n;\n" + every_field).error,
              HasSubstr("these bytes are not a tensor map"));
}

TEST(TensorMaps, PublicationNeedsTheWholeWarp) {
  EXPECT_THAT(
      run_replacing("  @!%first bra late;\n" + every_field +
                    "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                    "aligned [%g], [%m], 128;\nlate:\n")
          .error,
      HasSubstr("a partial warp"));
}

TEST(TensorMaps, OneCopyFillsTheBlocksOfAMask) {
  struct alignas(64) {
    std::array<std::uint32_t, 32> values{};
  } tensor;
  for (std::uint32_t i = 0; i < 32; ++i) tensor.values[i] = 1000 + i;
  TensorMap map = tensor_of(TensorElement::u32, {32}, {16}, tensor.values.data());
  // The map is in global memory. Blocks 0, 1 and 3 of each cluster get values 16 to 31; the last block of a
  // cluster issues the copy.
  std::string code = kernel_with(R"(
  setp.eq.u32 %p, %rank, 3;
  and.pred %p, %p, %first;
  @%p cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
    [%own], [%in, {16}], [%b], 11;
  setp.ne.u32 %p, %rank, 2;
  selp.u32 %mask, 2, 0, %p;
)" + await(0) + R"(
  ld.shared.u32 %d, [%at];
)");
  // Threads expect 2 bytes each in blocks that get the copy.
  const std::string nothing = "[%b], 0;\nagain";
  ASSERT_NE(code.find(nothing), std::string::npos);
  code.replace(code.find(nothing), 9, "[%b], %mask;");
  code.replace(code.find(".align 16 .b8 words"), 9, ".align 128");
  alignas(128) std::array<std::byte, tensor_map_bytes> bytes;
  encode(map, TensorMapBytes(bytes));
  const auto module = load(code);
  ASSERT_NE(module, nullptr);
  Values out{};
  LaunchShape shape{{blocks, 1, 1}, {lanes, 1, 1}};
  shape.cluster = Dim3{cluster_blocks, 1, 1};
  ASSERT_EQ(text_of(module->launch("test", shape, Arguments(out.data(), bytes.data()).bytes(), nullptr)), "");
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t rank = block % cluster_blocks;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const bool is_copied = rank != 2 && lane < 16;
      EXPECT_EQ(out[block * lanes + lane], is_copied ? 1016 + lane : value_of(rank, lane))
          << rank << ", " << lane;
    }
  }
}

TEST(TensorMaps, MapsMayBeConstants) {
  // The constant's bytes are written before the launch, as cudaMemcpyToSymbol does.
  std::string code = tensor_kernel(
      "  mov.u64 %map, fixed;\n  cvta.const.u64 %map, %map;\n"
      "  @%first cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%box], [%map, "
      "{%c0}], [%bar];\n");
  const auto module = load(".const .align 64 .b8 fixed[128];\n" + code);
  ASSERT_NE(module, nullptr);
  struct alignas(64) {
    std::array<std::uint8_t, 64> values;
  } tensor;
  for (std::uint8_t i = 0; i < 64; ++i) tensor.values[i] = static_cast<std::uint8_t>(i + 1);
  const TensorMap map = tensor_of(TensorElement::u8, {64}, {32}, tensor.values.data());
  const auto variable = module->variable("fixed");
  ASSERT_TRUE(variable);
  encode(map, TensorMapBytes(reinterpret_cast<std::byte*>(variable->address), tensor_map_bytes));
  Box box{};
  ASSERT_EQ(run_tensor(*module, MapParameter(TensorMap{}), {&box, 32, 0, {16}, {}}), "");
  EXPECT_EQ(box.bytes[0], 17);
  EXPECT_EQ(box.bytes[31], 48);
  EXPECT_EQ(box.bytes[32], 0);
}

TEST(TensorMaps, VariablesAreOrderedAsOnAGpu) {
  // Offsets of a cubin of CUDA 13.0, except for gaps of 64 bytes: an array of integers is the first variable,
  // and so may be a tensor, unless others have smaller sizes or larger alignments.
  const auto module = load(
      ".global .align 8 .b8 dims[8] = {8};\n.global .align 4 .b8 t[352];\n.global .align 1 .b8 "
      "a[1];\n.global .align 8 .b8 d[8];\n"
      ".global .align 4 .b8 w[20];\n.global .align 1 .b8 v[7];\n.global .align 4 .b8 x[12];\n"
      ".global .align 4 .b8 y[256];\n.visible .entry test() { ret; }");
  ASSERT_NE(module, nullptr);
  const auto at = [&](const char* name) {
    const auto variable = module->variable(name);
    return variable ? reinterpret_cast<std::uintptr_t>(variable->address) : 0;
  };
  EXPECT_EQ(at("d") % 256, 0u);
  EXPECT_EQ(at("dims") % 256, 0u) << "another section";
  std::uintptr_t gap = 0;
  for (const auto& [name, offset] :
       {std::pair("d", 0x0u), std::pair("x", 0x8u), std::pair("w", 0x14u), std::pair("y", 0x28u),
        std::pair("t", 0x128u), std::pair("a", 0x288u), std::pair("v", 0x289u)}) {
    EXPECT_EQ(at(name) - at("d"), offset + gap) << name;
    gap += 64;
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
