#include "ptx/ir/tensor_core.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptx/ir/module.h"
#include "ptx/ir/opcode.h"
#include "ptx/parser/parser.h"

namespace lynxpp::ptx {
namespace {

TEST(TensorCore, WorkFollowsFromTheOpcode) {
  using enum TensorCoreType;
  struct Case {
    std::string_view opcode;
    TensorCoreType type;
    std::uint32_t operations;
  };
  const Case cases[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16, 4096},
      {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", f16, 2048},
      {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", f16, 2048},  // four products
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", f64, 512},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tf32, 2048},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", f8, 8192},
      {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", f6, 8192},
      {"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e4m3.f32.ue8m0",
       f8, 8192},
      {"mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32", s4, 16384},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", b1, 65536},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", bf16, 4096},
      {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32", s8, 8192},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", f16, 8192},
      {"wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32.satfinite", s8, 8192},
      {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", b1, 16384},
      {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", bf16, 2 * 64 * 256 * 16 / 4},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k64.f16.e5m2.e4m3", f8, 64 * 8 * 64 / 4},
      {"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", b1, 2 * 64 * 8 * 256 / 4},
      {"wgmma.commit_group.sync.aligned", unknown, 0},
      {"wmma.load.a.sync.aligned.row.m16n16k16.f16", unknown, 0},
      {"tcgen05.mma.cta_group::1.kind::f16", unknown, 0},
      {"fma.rn.f32", unknown, 0},
  };
  for (const Case& each : cases) {
    const TensorCoreProduct product = tensor_core_product(each.opcode);
    EXPECT_EQ(product.type, each.type) << each.opcode;
    EXPECT_EQ(product.operations, each.operations) << each.opcode;
  }
}

TEST(TensorCore, DescriptorsCoverOperandsInSharedMemory) {
  struct Case {
    std::string_view text;
    std::uint32_t bytes;
  };
  const Case cases[] = {
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d1, %p0, 1, 1, 0, 0;",
       512 + 8 * 8},
      {"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, %d1, "
       "%p0, "
       "1, 1;",
       8 * 8},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {%r0, %r1, %r2, %r3}, %d0, %d1, %r4, 0, %p0;",
       512 + 16 * 8},
      {"wgmma.commit_group.sync.aligned;", 0},
      {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r0, %r1};", 0},
  };
  for (const Case& each : cases) {
    auto module = parse_module(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        ".reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %d<2>; .reg .pred %p<1>;\n" +
        std::string(each.text) + "\n}\n");
    ASSERT_TRUE(module) << each.text;
    ASSERT_TRUE(parse_all_bodies(*module)) << each.text;
    const Instruction& instruction = module->functions[0].body->instructions[0];
    EXPECT_EQ(descriptor_bytes(instruction), each.bytes) << each.text;
  }
}

TEST(TensorCore, OnlyProductsAreArithmetic) {
  EXPECT_EQ(classify("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").kind, OpcodeClass::arithmetic);
  EXPECT_EQ(classify("wgmma.commit_group.sync.aligned").kind, OpcodeClass::other);
  EXPECT_EQ(classify("wgmma.wait_group.sync.aligned").kind, OpcodeClass::other);
}

TEST(TensorCore, WaitsOnObjectsWritePredicates) {
  EXPECT_EQ(classify("mbarrier.try_wait.parity.shared::cta.b64").result_type(), DataType::pred);
  EXPECT_EQ(classify("mbarrier.test_wait.shared::cta.b64").result_type(), DataType::pred);
  EXPECT_EQ(classify("mbarrier.arrive.shared::cta.b64").result_type(), DataType::b64);
}

}  // namespace
}  // namespace lynxpp::ptx
