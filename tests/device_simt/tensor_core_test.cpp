// tcgen05.mma: products in every kind and layout, compared with what the host computes from the ISA's tables;
// what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensor_core_fixture.h"

namespace lynxpp::device::cpu::test::tensor_core_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// ---------------------------------------------------------------- mma

struct Types {
  const char *kind, *d, *a, *b;
};

std::vector<Types> all_types() {
  std::vector<Types> made = {
      {"f16", "f16", "f16", "f16"},      {"f16", "f32", "f16", "f16"},     {"f16", "f32", "bf16", "bf16"},
      {"f16", "f32", "f16", "bf16"},     {"tf32", "f32", "tf32", "tf32"},  {"i8", "s32", "s8", "s8"},
      {"i8", "s32", "u8", "s8"},         {"i8", "s32", "s8", "u8"},        {"i8", "s32", "u8", "u8"},
      {"f8f6f4", "f16", "e4m3", "e5m2"}, {"f8f6f4", "f32", "e2m1", "e2m1"}};
  for (const char* a : {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"}) {
    for (const char* b : {"e4m3", "e3m2"}) made.push_back({"f8f6f4", "f32", a, b});
  }
  return made;
}

TEST(TensorCore, MultipliesEveryType) {
  for (const Types& types : all_types()) check_tensor_product({types.kind, types.d, types.a, types.b});
}

TEST(TensorCore, MultipliesEveryTypeWithHalfOfTheLanes) {
  for (const Types& types : all_types()) {
    TensorProduct form{types.kind, types.d, types.a, types.b, 64, 24};
    check_tensor_product(form);
    form.first_lane = 16;
    check_tensor_product(form, 2);
  }
}

TEST(TensorCore, IgnoresTheAccumulatorIfItsInputIsDisabled) {
  for (const Types& types : all_types()) {
    TensorProduct form{types.kind, types.d, types.a, types.b};
    form.adds = false;
    check_tensor_product(form);
  }
}

TEST(TensorCore, HasEveryWidth) {
  for (unsigned n = 8; n <= 256; n += 8) check_tensor_product({"f16", "f32", "f16", "f16", 64, n});
  for (unsigned n = 16; n <= 256; n += 48) check_tensor_product({"f16", "f32", "bf16", "bf16", 128, n});
}

TEST(TensorCore, ReadsEverySharedLayout) {
  for (const unsigned pieces : {1u, 2u, 4u, 8u}) {
    for (const bool transposes : {false, true}) {
      for (const Types& types : all_types()) {
        const bool is_byte_or_half = std::string(types.kind) == "f16" || std::string(types.kind) == "i8";
        if (transposes && !is_byte_or_half) continue;
        TensorProduct form{types.kind, types.d, types.a, types.b, 128, 64};
        form.layout_a = {pieces, transposes, transposes ? 0 : pieces / 4, 1};
        form.layout_b = {pieces, transposes, transposes ? 0 : pieces / 4 * 2, pieces == 8 ? 0u : 2u};
        check_tensor_product(form);
        if (pieces != 8) continue;
        form.layout_a.shift = 3;
        form.layout_b.shift = 5;
        check_tensor_product(form, 2);
      }
    }
  }
}

TEST(TensorCore, TransposesTf32InAtomsOf32Bytes) {
  TensorProduct form{"tf32", "f32", "tf32", "tf32", 128, 64};
  const OperandLayout pairs{8, true, 0, 1, 0, true};
  form.layout_a = pairs;
  check_tensor_product(form);
  form.layout_b = pairs;
  check_tensor_product(form, 2);
  form.layout_a = {8};
  check_tensor_product(form, 3);
}

TEST(TensorCore, TakesAFromTensorMemory) {
  for (const Types& types : all_types()) {
    TensorProduct form{types.kind, types.d, types.a, types.b};
    form.a_in_tensor = true;
    check_tensor_product(form);
    form.m = 64;
    form.first_lane = 16;
    check_tensor_product(form, 2);
  }
}

TEST(TensorCore, NegatesShiftsSaturatesAndKeepsLanes) {
  TensorProduct form{"f16", "f32", "f16", "f16"};
  form.negates_a = true;
  check_tensor_product(form);
  form.negates_b = true;
  check_tensor_product(form);
  form.negates_a = false;
  form.scale_shift = 3;
  check_tensor_product(form);
  form.disabled = {0x8000'0001, 0, ~0u, 0xff};
  check_tensor_product(form);
  TensorProduct integers{"i8", "s32", "s8", "u8"};
  integers.saturates = true;
  check_tensor_product(integers);
}

TEST(TensorCore, KeepsTheOtherMatrixStationary) {
  for (const Types& types : all_types()) {
    for (const unsigned m : {32u, 64u, 128u}) {
      TensorProduct form{types.kind, types.d, types.a, types.b, m, m == 32 ? 128u : 64u};
      form.is_stationary = true;
      check_tensor_product(form);
    }
  }
}

TEST(TensorCore, MultipliesWithTwoBlocks) {
  for (const Types& types : all_types()) {
    for (const unsigned m : {128u, 256u}) {
      TensorProduct form{types.kind, types.d, types.a, types.b, m, 64};
      form.blocks = 2;
      check_tensor_product(form);
    }
  }
  TensorProduct form{"f16", "f32", "f16", "f16", 256, 128};
  form.blocks = 2;
  form.layout_a = form.layout_b = {8, false, 2};
  form.disabled = {1, 2, 3, 4, 5, 6, 7, 0xf000'0000};
  check_tensor_product(form);
  form.disabled.clear();
  form.a_in_tensor = true;
  form.layout_a = {};
  form.layout_b = {8, true};
  check_tensor_product(form);
}

TEST(TensorCore, MultipliesSparseMatrices) {
  for (const Types& types : all_types()) {
    for (const unsigned blocks : {1u, 2u}) {
      TensorProduct form{types.kind, types.d, types.a, types.b, 128 * blocks, 64};
      form.blocks = blocks;
      form.is_sparse = true;
      check_tensor_product(form);
      form.selector = std::string(types.kind) == "f16" || std::string(types.kind) == "tf32" ? 1 : 0;
      form.layout_a = {2};
      form.layout_b = {4, false, 1};
      check_tensor_product(form, 2);
      form.a_in_tensor = true;
      form.layout_b = {8};
      check_tensor_product(form, 3);
    }
  }
  TensorProduct form{"f16", "f32", "bf16", "f16", 128, 64};
  form.is_sparse = true;
  form.layout_a = form.layout_b = {4, true, 0, 1};
  check_tensor_product(form);
  form.is_stationary = true;
  form.negates_b = true;
  check_tensor_product(form);
}

TEST(TensorCore, ScalesSparseMatrices) {
  for (const unsigned blocks : {1u, 2u}) {
    for (unsigned number = 0; number < 4; number += 3) {
      TensorProduct form{"mxf8f6f4", "f32", number == 0 ? "e4m3" : "e3m2", "e4m3", 128 * blocks, 64};
      form.blocks = blocks;
      form.is_sparse = true;
      form.scales = "block_scale.scale_vec::1X";
      form.scale_block = 64;
      form.scale_number = number;
      check_tensor_product(form);
      form.a_in_tensor = true;
      check_tensor_product(form);
    }
    TensorProduct pairs{"mxf4", "f32", "e2m1", "e2m1", 128 * blocks, 64};
    pairs.blocks = blocks;
    pairs.is_sparse = true;
    pairs.scales = "block_scale.scale_vec::2X";
    pairs.scale_block = 64;
    pairs.scale_number = 2;
    check_tensor_product(pairs);
    pairs.kind = "mxf4nvf4";
    pairs.scales = "block_scale.block16";
    pairs.scale_block = 32;
    pairs.scale_number = 0;
    pairs.has_small_scales = true;
    check_tensor_product(pairs);
  }
}

TEST(TensorCore, TakesColumnsOfBForZeros) {
  // The ISA's examples 2 to 4; `pattern`: columns of each part, repeated from the first on, 1 for zeros.
  struct Mask {
    unsigned m;
    std::uint64_t starts, firsts;
    std::vector<std::string> parts;
  };
  const Mask masks[] = {{128, 0, 0, {"00001110000111"}},
                        {64, 0, 1, {"11100001110000111", "000011100001110000"}},
                        {32, 0x01020100, 3, {"1110000111", "110000111", "001110000111", "0001110000111"}}};
  for (const Mask& each : masks) {
    TensorProduct form{"f16", "f32", "f16", "f16", each.m, 128};
    form.is_stationary = true;
    form.zero_mask = each.starts | each.firsts << 32 | std::uint64_t{1} << 39 | std::uint64_t{2} << 40 |
                     std::uint64_t{3} << 48;
    const unsigned width = 128 / static_cast<unsigned>(each.parts.size());
    for (const std::string& part : each.parts) {
      for (unsigned column = 0; column < width; ++column) {
        // Both spans together have 7 columns.
        form.zeros.push_back(
            part[column < part.size() ? column : column - (column - part.size()) / 7 * 7 - 7] == '1');
      }
    }
    check_tensor_product(form);
  }
  TensorProduct unmasked{"f16", "f32", "f16", "f16", 128, 64};
  unmasked.is_stationary = true;
  unmasked.zero_mask = std::uint64_t{4} << 40;
  check_tensor_product(unmasked);
}

TEST(TensorCore, ScalesBlocks) {
  for (const char* a : {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"}) {
    for (unsigned number = 0; number < 4; ++number) {
      TensorProduct form{"mxf8f6f4", "f32", a, "e4m3"};
      form.scales = number % 2 == 0 ? "block_scale.scale_vec::1X" : "block_scale";
      form.scale_block = 32;
      form.scale_number = number;
      check_tensor_product(form);
      form.a_in_tensor = true;
      check_tensor_product(form);
    }
  }
  for (const unsigned number : {0u, 2u}) {
    TensorProduct form{"mxf4", "f32", "e2m1", "e2m1", 128, 64};
    form.scales = "block_scale.scale_vec::2X";
    form.scale_block = 32;
    form.scale_number = number;
    check_tensor_product(form);
  }
  for (const bool small : {false, true}) {
    TensorProduct form{"mxf4nvf4", "f32", "e2m1", "e2m1", 128, 64};
    form.scales = "block_scale.scale_vec::4X";
    form.scale_block = 16;
    form.has_small_scales = small;
    check_tensor_product(form);
  }
}

TEST(TensorCore, WarpsThatWaitForEveryPhaseMissNone) {
  // Thread 0 needs no other warp; the others wait for four phases, one after the other.
  TensorProduct form{"f16", "f32", "f16", "f16"};
  TensorProgram program;
  program.idesc = form.idesc();
  program.tensor[0] = numbered_image(program.columns);
  program.a = program.b = std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | std::uint64_t{8} << 16;
  for (unsigned phase = 0; phase < 4; ++phase) {
    const std::string name = "again" + std::to_string(phase);
    program.code +=
        "  @%first tcgen05.mma.cta_group::1.kind::f16 [%taddr], %da, %db, %idesc, %p;\n"
        "  @%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n" +
        name + ":\n  mbarrier.try_wait.parity.shared.b64 %q, [%bar], " + std::to_string(phase % 2) +
        ";\n  @!%q bra " + name + ";\n";
  }
  program.code += "  setp.ge.u32 %q, %t, 32;\n";
  EXPECT_EQ(program.run(), "");
}

// ---------------------------------------------------------------- what is refused

/// Runs code in thread 0 or in all threads.
std::string failure_of(const std::string& code, std::uint32_t idesc = 0, std::uint64_t a = 0,
                       std::uint64_t b = 0) {
  TensorProgram program;
  program.tensor[0] = numbered_image(program.columns);
  program.allocated = 64;
  program.idesc = idesc;
  program.a = a;
  program.b = b;
  program.code = code;
  return program.run();
}

const std::string product = "  @%first tcgen05.mma.cta_group::1.kind::f16 [%taddr], %da, %db, %idesc, %p;\n";
constexpr std::uint64_t plain = std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | std::uint64_t{8} << 16;

TEST(TensorCore, RefusesInvalidDescriptors) {
  TensorProduct form{"f16", "f32", "f16", "f16"};
  const auto of = [&](std::uint32_t idesc) { return failure_of(product, idesc, plain, plain); };
  EXPECT_EQ(failure_of(product + commit_and_wait(), form.idesc(), plain, plain), "");
  EXPECT_THAT(of(form.idesc() | 4), HasSubstr("sparse"));
  EXPECT_THAT(of(form.idesc() | 8), HasSubstr("only integers saturate"));
  EXPECT_THAT(of(form.idesc() | 2 << 4), HasSubstr("the type of D"));
  EXPECT_THAT(of(form.idesc() | 2 << 7), HasSubstr("the type of A or B"));
  EXPECT_THAT(of(form.idesc() | 1 << 6), HasSubstr("a reserved bit"));
  EXPECT_THAT(of((form.idesc() & ~(31u << 24)) | 5 << 24), HasSubstr("M is not defined"));
  EXPECT_THAT(of(form.idesc() & ~(63u << 17)), HasSubstr("N is not defined"));
  const std::uint32_t idesc = form.idesc();
  EXPECT_THAT(failure_of(product, idesc, 0, plain),
              AllOf(HasSubstr("bits 46 to 48"), HasSubstr("test.ptx:")));
  EXPECT_THAT(failure_of(product, idesc, plain | std::uint64_t{3} << 61, plain), HasSubstr("swizzling mode"));
  EXPECT_THAT(failure_of(product, idesc, plain | std::uint64_t{1} << 61, plain), HasSubstr("no K-major"));
  EXPECT_THAT(failure_of(product, idesc | 1 << 15, plain | std::uint64_t{1} << 61, plain),
              HasSubstr("atoms of 32"));
  EXPECT_THAT(failure_of(product, idesc, plain, plain | std::uint64_t{1} << 52), HasSubstr("absolute"));
  form.kind = "tf32";
  EXPECT_THAT(failure_of("  @%first tcgen05.mma.cta_group::1.kind::tf32 [%taddr], %da, %db, %idesc, %p;\n",
                         TensorProduct{"tf32", "f32", "tf32", "tf32"}.idesc() | 1 << 15, plain, plain),
              HasSubstr("atoms of 32"));
  EXPECT_THAT(failure_of("  @%first tcgen05.mma.cta_group::2.kind::f16 [%taddr], %da, %db, %idesc, %p;\n",
                         TensorProduct{"f16", "f32", "f16", "f16", 256, 32}.idesc(), plain, plain),
              HasSubstr("needs a cluster"));
  EXPECT_THAT(failure_of("  @%first tcgen05.cp.cta_group::2.128x256b [%taddr], %da;\n", 0, plain),
              HasSubstr("needs a cluster"));
  EXPECT_THAT(failure_of("  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [tile], 32;\n"),
              HasSubstr("needs a cluster"));
}

TEST(TensorMemory, RefusesForeignLanesAndColumns) {
  const auto load = [](const std::string& address) {
    return failure_of(address + "  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v1, %v2}, [%at];\n");
  };
  EXPECT_EQ(load("  add.u32 %at, %taddr, %lanes;\n"), "");
  EXPECT_THAT(load("  mov.u32 %at, %taddr;\n"),
              AllOf(HasSubstr("32 lanes from 32 times its index"), HasSubstr("lane 0, column 0"),
                    HasSubstr("tcgen05.ld")));
  EXPECT_THAT(load("  add.u32 %at, %taddr, %lanes;\n  add.u32 %at, %at, 0x100000;\n"), HasSubstr("32 lanes"));
  EXPECT_THAT(load("  add.u32 %at, %taddr, %lanes;\n  add.u32 %at, %at, 63;\n"),
              HasSubstr("has not allocated all columns"));
  EXPECT_THAT(load("  add.u32 %at, %taddr, %lanes;\n  add.u32 %at, %at, %t;\n"),
              HasSubstr("different addresses"));
  const std::uint32_t idesc = TensorProduct{"f16", "f32", "f16", "f16"}.idesc();
  const std::string moved = "  @%first tcgen05.mma.cta_group::1.kind::f16 [%v1], %da, %db, %idesc, %p;\n";
  EXPECT_THAT(failure_of("  add.u32 %v1, %taddr, 40;\n" + moved, idesc, plain, plain),
              HasSubstr("has not allocated all columns"));
  EXPECT_THAT(failure_of("  add.u32 %v1, %taddr, 0x100000;\n" + moved, idesc, plain, plain),
              HasSubstr("must begin at lane 0"));
}

TEST(TensorMemory, IsAllocatedInColumns) {
  // One warp allocates while another holds 64 columns.
  const auto in_second_warp = [](const std::string& code) {
    return failure_of("  setp.ne.u32 %p, %lanes, 0x200000;\n  @%p bra others;\n" + code + "others:\n");
  };
  const std::string take = "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], ";
  const std::string give =
      "  ld.shared.b32 %v1, [tile];\n  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %v1, ";
  EXPECT_EQ(in_second_warp(take + "256;\n" + give + "256;\n"), "");
  EXPECT_THAT(in_second_warp(take + "512;\n"), HasSubstr("would wait for a tcgen05.dealloc"));
  EXPECT_THAT(in_second_warp(take + "48;\n"), HasSubstr("not 32, 64, 128, 256 or 512"));
  EXPECT_THAT(in_second_warp(take + "64;\n" + give + "32;\n"), HasSubstr("has returned this address"));
  EXPECT_THAT(
      in_second_warp("  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" + take + "64;\n"),
      HasSubstr("relinquish_alloc_permit"));
}

TEST(TensorCore, FormsThatTheIsaDoesNotDecideAreRefusedByName) {
  const auto refusal = [](const std::string& code) {
    TensorProgram program;
    program.code = code;
    Result<std::shared_ptr<LoadedModule>> module =
        load_module(".version 9.0\n.target sm_100a\n.address_size 64\n" + program.kernel(), "test.ptx");
    if (!module) return render(module.error().diagnostics);
    std::uint64_t nothing[16] = {};
    return text_of((*module)->launch(
        "test", {{1, 1, 1}, {128, 1, 1}, 0},
        Arguments(nothing[0], nothing[0], 0u, 0u, nothing[0], nothing[0], 0u, nothing[0]).bytes(), nullptr,
        nullptr, nullptr));
  };
  EXPECT_THAT(
      refusal("  tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::lastuse [%taddr], [%at], %db, "
              "%idesc, %p;\n"),
      HasSubstr("'.ashift': the ISA's text"));
  EXPECT_THAT(refusal("  tcgen05.shift.cta_group::1.down [%taddr];\n"),
              HasSubstr("'.shift': the ISA's text does not say"));
  EXPECT_THAT(refusal("  tcgen05.cp.cta_group::1.4x256b [%taddr], %da;\n"),
              HasSubstr("'.4x256b': the ISA's"));
  EXPECT_THAT(refusal("  tcgen05.ld.red.sync.aligned.32x32b.x2.min.NaN.u32 {%v1, %v2}, %v3, [%taddr];\n"),
              HasSubstr("tcgen05.ld.red"));
}

TEST(TensorCore, ProductsThatAreNotSupportedAreNamed) {
  const auto of = [](const TensorProduct& form, const std::string& operands, std::uint32_t bits = 0) {
    return failure_of("  @%first " + form.opcode() + " [%taddr], " + operands + ";\n", form.idesc() | bits,
                      plain, plain);
  };
  TensorProduct stationary{"f16", "f32", "f16", "f16", 128, 64};
  stationary.is_stationary = true;
  const auto masked = [&](std::uint64_t mask) {
    return failure_of("  mov.b64 %offset, " + std::to_string(mask) + ";\n  @%first " + stationary.opcode() +
                          " [%taddr], %da, %db, %idesc, %p, %offset;\n",
                      stationary.idesc(), plain, plain);
  };
  EXPECT_THAT(masked(std::uint64_t{1} << 56), HasSubstr("column shifts of zero-column masks"));
  EXPECT_THAT(masked(std::uint64_t{1} << 36), HasSubstr("a reserved bit"));
  EXPECT_THAT(masked(std::uint64_t{1} << 39 | 1), HasSubstr("not smaller than the first span"));
  TensorProduct sparse{"f16", "f32", "f16", "f16"};
  sparse.is_sparse = true;
  EXPECT_THAT(of(sparse, "%da, %db, [%taddr], %idesc, %p", 2), HasSubstr("sparsity selector"));
  EXPECT_THAT(of(sparse, "%da, %db, [%taddr+1], %idesc, %p"), HasSubstr("an even column"));
  EXPECT_THAT(failure_of("  @%first " + sparse.opcode() + " [%taddr], %da, %db, [%taddr], %idesc, %p;\n",
                         sparse.idesc(), plain, plain | std::uint64_t{6} << 61),
              HasSubstr("rows are longer than the swizzle"));
  sparse.m = 64;
  EXPECT_THAT(of(sparse, "%da, %db, [%taddr], %idesc, %p"), HasSubstr("less than 128 rows"));
  sparse.is_sparse = false;
  EXPECT_THAT(
      failure_of("  @%first tcgen05.mma.sp.cta_group::1.kind::f16 [%taddr], %da, %db, [%taddr], %idesc, "
                 "%p;\n",
                 sparse.idesc(), plain, plain),
      HasSubstr("describes a dense product"));
  TensorProduct four{"mxf4", "f32", "e2m1", "e2m1"};
  four.scales = "block_scale.scale_vec::2X";
  four.scale_block = 32;
  EXPECT_THAT(of(four, "%da, %db, %idesc, [%taddr], [%taddr], %p", 1u << 31),
              HasSubstr("products with K = 96 are not supported"));
  EXPECT_THAT(of(four, "[%taddr], %db, %idesc, [%taddr], [%taddr], %p"),
              HasSubstr("two elements in a byte is not supported"));
  stationary.m = 64;
  EXPECT_THAT(of(stationary, "[%taddr], %db, %idesc, %p"),
              HasSubstr("not supported if D has several parts of its columns side by side"));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::tensor_core_tests
