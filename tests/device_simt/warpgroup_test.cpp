// wgmma in every type, shape, layout and scale, compared with products that the host computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "device/cpu/simt/operations/matrix_descriptor.h"
#include "warpgroup_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::HasSubstr;

struct Types {
  const char *d, *a, *b;
};

const std::vector<Types>& float_types() {
  static const std::vector<Types> types = [] {
    std::vector<Types> made = {
        {"f16", "f16", "f16"}, {"f32", "f16", "f16"}, {"f32", "bf16", "bf16"}, {"f32", "tf32", "tf32"}};
    for (const char* d : {"f16", "f32"}) {
      for (const char* a : {"e4m3", "e5m2"}) {
        for (const char* b : {"e4m3", "e5m2"}) made.push_back({d, a, b});
      }
    }
    return made;
  }();
  return types;
}

const std::vector<Types> integer_types = {
    {"s32", "s8", "s8"}, {"s32", "s8", "u8"}, {"s32", "u8", "s8"}, {"s32", "u8", "u8"}};

std::vector<Types> all_types() {
  std::vector<Types> all = float_types();
  all.insert(all.end(), integer_types.begin(), integer_types.end());
  all.push_back({"s32", "b1", "b1"});
  return all;
}

TEST(Warpgroup, MultipliesEveryTypeFromSharedMemory) {
  for (const Types& types : all_types()) check_product({types.d, types.a, types.b, 24});
}

TEST(Warpgroup, MultipliesEveryTypeFromRegisters) {
  for (const Types& types : all_types()) check_product({types.d, types.a, types.b, 16, true});
}

TEST(Warpgroup, IgnoresTheAccumulatorWithoutScaleD) {
  for (const Types& types : all_types()) {
    WarpgroupCase form{types.d, types.a, types.b, 8};
    form.adds = false;
    check_product(form);
  }
}

TEST(Warpgroup, HasEveryWidth) {
  for (unsigned n = 8; n <= 256; n += 8) {
    check_product({"f32", "f16", "f16", n});
    if (n <= 32 || n % 16 == 0) check_product({"s32", "u8", "s8", n, true});
  }
  check_product({"f16", "e4m3", "e5m2", 256});
  check_product({"s32", "b1", "b1", 256});
  check_product({"f32", "tf32", "tf32", 256, true});
}

/// The reason why shared_bank_conflicts counts no conflicts of matrices that descriptors name.
TEST(Warpgroup, EightRowsOfSixteenBytesAreInAllBanks) {
  for (const unsigned width : {1u, 2u, 4u, 8u}) {
    for (std::uint64_t base = 0; base < (width == 1 ? 1 : 8); ++base) {
      const MatrixDescriptor layout{
          .start = base * 128, .leading = 2048, .stride = 1024, .base = base, .width = width};
      for (unsigned piece = 0; piece < 8; ++piece) {
        std::set<std::uint64_t> k_major, mn_major;
        for (unsigned row = 0; row < 8; ++row) {
          k_major.insert(layout.k_major(row, piece) / 16 % 8);
          mn_major.insert(layout.mn_major(row, piece) / 16 % 8);
        }
        EXPECT_EQ(mn_major.size(), 8u) << width << ", base " << base << ", piece " << piece;
        if (piece < width) {
          EXPECT_EQ(k_major.size(), 8u) << width << ", base " << base << ", piece " << piece;
        }
      }
    }
  }
}

class WarpgroupLayout : public ::testing::TestWithParam<unsigned> {};

TEST_P(WarpgroupLayout, ReadsBothOperandsInEveryOrder) {
  for (const unsigned other : {1u, 2u, 4u, 8u}) {
    for (unsigned order = 0; order < 4; ++order) {
      WarpgroupCase form{"f32", order % 2 != 0 ? "bf16" : "f16", order % 2 != 0 ? "bf16" : "f16", 80};
      form.layout_a = {.pieces = GetParam(), .mn_major = order % 2 != 0, .padding = 1};
      form.layout_b = {.pieces = other, .mn_major = order / 2 != 0};
      check_product(form, 10 * other + order);
    }
  }
}

TEST_P(WarpgroupLayout, ReadsElementsOfEverySize) {
  for (const Types& types :
       {Types{"f16", "e5m2", "e4m3"}, Types{"s32", "s8", "u8"}, Types{"s32", "b1", "b1"}}) {
    WarpgroupCase form{types.d, types.a, types.b, 48};
    form.layout_a.pieces = form.layout_b.pieces = GetParam();
    check_product(form);
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, WarpgroupLayout, ::testing::Values(1u, 2u, 4u, 8u));

TEST(Warpgroup, BeginsWithinARowOfThePattern) {
  for (const unsigned pieces : {4u, 8u}) {
    for (unsigned first = 0; first + 2 <= pieces; first += 2) {
      WarpgroupCase form{"f32", "tf32", "tf32", 40};
      form.layout_a = {.pieces = pieces, .k_begin = first};
      form.layout_b = {.pieces = pieces, .k_begin = pieces - 2 - first, .padding = 1};
      check_product(form);
    }
  }
}

TEST(Warpgroup, BeginsAtABaseOffset) {
  for (const unsigned pieces : {2u, 4u, 8u}) {
    for (const unsigned shift : {1u, 6u}) {
      WarpgroupCase form{"f32", "f16", "f16", 32};
      form.layout_a = {.pieces = pieces, .shift = shift};
      form.layout_b = {.pieces = pieces, .mn_major = true, .shift = 7 - shift};
      check_product(form);
    }
  }
}

TEST(Warpgroup, TransposesBWhileAIsInRegisters) {
  for (const unsigned pieces : {1u, 2u, 4u, 8u}) {
    WarpgroupCase form{"f16", "f16", "f16", 136, true};
    form.layout_b = {.pieces = pieces, .mn_major = true, .padding = 1};
    check_product(form);
  }
}

TEST(Warpgroup, NegatesOperands) {
  for (const Types& types :
       {Types{"f16", "f16", "f16"}, Types{"f32", "tf32", "tf32"}, Types{"f32", "e4m3", "e5m2"}}) {
    for (const int a : {-1, 1}) {
      for (const int b : {-1, 1}) {
        WarpgroupCase form{types.d, types.a, types.b, 8, a == b};
        form.scale_a = a;
        form.scale_b = b;
        check_product(form);
      }
    }
  }
}

TEST(Warpgroup, SaturatesOrWrapsIntegers) {
  for (const bool saturates : {true, false}) {
    WarpgroupCase form{"s32", "s8", "u8", 8};
    form.saturates = saturates;
    WarpgroupMatrices in = random_matrices(form, 1);
    for (unsigned row = 0; row < warpgroup_rows; ++row) {
      for (std::uint32_t& element : in.a[row]) element = row % 2 != 0 ? 0x80 : 0x7f;
      for (std::uint32_t& element : in.c[row]) element = row % 2 != 0 ? 0x8000'0001 : 0x7fff'fffe;
    }
    const auto words = run_warpgroup(form, lay_out(form, in), warpgroup_kernel(form));
    for (unsigned row = 0; row < warpgroup_rows; ++row) {
      for (unsigned column = 0; column < form.n; ++column)
        EXPECT_EQ(element_of_d(form, words, row, column), expected_element(form, in, row, column));
    }
    EXPECT_EQ(element_of_d(form, words, 0, 0) == 0x7fff'ffff, saturates);
    EXPECT_EQ(element_of_d(form, words, 1, 0) == 0x8000'0000, saturates);
  }
}

TEST(Warpgroup, PropagatesInfinityAndNan) {
  WarpgroupCase form{"f16", "f16", "f16", 8};
  WarpgroupMatrices in = random_matrices(form, 1);
  for (auto& row : in.b) row[1] = 0x0001;  // the smallest subnormal
  for (auto& row : in.a) row[0] = 0x3c00;  // 1
  in.a[3][0] = 0x7c00;                     // infinity
  in.a[4][0] = 0xfc00;                     // -infinity
  in.a[5][0] = 0x7e01;                     // NaN
  in.c[6][1] = 0x0001;                     // a subnormal sum
  std::fill(in.a[6].begin() + 1, in.a[6].end(), 0x8000);
  const auto words = run_warpgroup(form, lay_out(form, in), warpgroup_kernel(form));
  EXPECT_EQ(element_of_d(form, words, 3, 1), 0x7c00u);
  EXPECT_EQ(element_of_d(form, words, 4, 1), 0xfc00u);
  EXPECT_EQ(element_of_d(form, words, 5, 1), 0x7fffu) << "the canonical NaN";
  EXPECT_EQ(element_of_d(form, words, 6, 1), 0x0002u);
}

// Two products with the same accumulator: the second one adds to the first one's.
TEST(Warpgroup, AccumulatesInProgramOrder) {
  WarpgroupCase form{"f32", "f16", "f16", 16};
  const std::string once = warpgroup_kernel(form);
  const std::size_t begin = once.find("  wgmma.mma_async");
  const std::string product = once.substr(begin, once.find('\n', begin) + 1 - begin);
  const WarpgroupMatrices in = random_matrices(form, 3);
  const auto words = run_warpgroup(form, lay_out(form, in), warpgroup_kernel(form, product + product));
  for (unsigned row = 0; row < warpgroup_rows; ++row) {
    for (unsigned column = 0; column < form.n; ++column) {
      WarpgroupMatrices next = in;
      next.c[row][column] = expected_element(form, in, row, column);
      EXPECT_EQ(element_of_d(form, words, row, column), expected_element(form, next, row, column));
    }
  }
}

TEST(Warpgroup, TakesAConstantOrNegatedScale) {
  WarpgroupCase form{"f32", "f16", "f16", 8};
  const WarpgroupMatrices in = random_matrices(form, 4);
  const std::string kernel = warpgroup_kernel(form);
  const std::size_t at = kernel.find(", %scale, ");
  for (const auto& [scale, adds] :
       {std::pair{"1", true}, {"0", false}, {"!%scale", false}, {"%scale", true}}) {
    WarpgroupCase expected = form;
    expected.adds = adds;
    std::string text = kernel;
    text.replace(at, 10, ", " + std::string(scale) + ", ");
    const auto words = run_warpgroup(form, lay_out(form, in), text);
    EXPECT_EQ(element_of_d(form, words, 9, 5), expected_element(expected, in, 9, 5)) << scale;
  }
}

// ---------------------------------------------------------------- sparse A

TEST(WarpgroupSparse, MultipliesEveryType) {
  for (const Types& types : all_types()) {
    if (std::string(types.a) == "b1") continue;
    for (const bool in_registers : {false, true}) {
      for (const unsigned selector : {0u, 1u}) {
        WarpgroupCase form{types.d, types.a, types.b, 24, in_registers};
        form.is_sparse = true;
        form.selector = selector;
        form.layout_a.pieces = 2;
        form.layout_b.pieces = 4;
        if (selector == 0 || bits_of_element(types.a) != 8) check_product(form, 5 + selector);
      }
    }
  }
}

TEST(WarpgroupSparse, ReadsTransposedOperands) {
  for (const unsigned pieces : {1u, 2u, 4u, 8u}) {
    WarpgroupCase form{"f32", "bf16", "bf16", 256};
    form.is_sparse = true;
    form.layout_a = {.pieces = pieces, .mn_major = true};
    form.layout_b = {.pieces = pieces, .mn_major = true};
    form.scale_b = -1;
    check_product(form);
  }
}

// An element that is not stored does not multiply: infinity in its line of B has no effect.
TEST(WarpgroupSparse, SkipsZeros) {
  WarpgroupCase form{"f32", "f16", "f16", 8};
  form.is_sparse = true;
  WarpgroupMatrices in = random_matrices(form, 6);
  for (auto& row : in.positions) {
    for (unsigned index = 0; index < form.stored(); ++index) row[index] = index / 2 * 4 + 1 + index % 2;
  }
  for (unsigned k = 0; k < form.k(); k += 4) in.b[k].assign(form.n, 0x7c00);
  const auto words = run_warpgroup(form, lay_out(form, in), warpgroup_kernel(form));
  EXPECT_EQ(element_of_d(form, words, 20, 3), expected_element(form, in, 20, 3));
}

// ---------------------------------------------------------------- what is rejected or reported

std::string failure_of_product(const std::string& product) {
  const WarpgroupCase form{"f32", "f16", "f16", 8};
  std::string failure;
  run_warpgroup(form, lay_out(form, random_matrices(form, 1)), warpgroup_kernel(form, "  " + product + ";\n"),
                &failure);
  return failure;
}

TEST(Warpgroup, RejectsUnknownForms) {
  const std::string d = " {%d0, %d1, %d2, %d3}, ";
  const std::string head = "wgmma.mma_async.sync.aligned.";
  EXPECT_EQ(failure_of_product(head + "m64n8k16.f32.f16.f16" + d + "%da, %db, %scale, 1, 1, 0, 0"), "");
  EXPECT_THAT(failure_of_product(head + "m64n8k8.f32.f16.f16" + d + "%da, %db, %scale, 1, 1, 0, 0"),
              HasSubstr("wgmma"));
  EXPECT_THAT(failure_of_product(head + "m64n12k16.f32.f16.f16" + d + "%da, %db, %scale, 1, 1, 0, 0"),
              HasSubstr("wgmma"));
  EXPECT_THAT(failure_of_product(head + "m64n8k16.f32.f16.bf16" + d + "%da, %db, %scale, 1, 1, 0, 0"),
              HasSubstr("wgmma"));
  EXPECT_THAT(failure_of_product(head + "m64n8k256.s32.b1.b1.xor.popc" + d + "%da, %db, %scale"),
              HasSubstr("'.xor'"));
  EXPECT_THAT(failure_of_product(head + "m64n8k8.f32.tf32.tf32" + d + "%da, %db, %scale, 1, 1, 0, 0"),
              HasSubstr("malformed operands"));
  EXPECT_THAT(failure_of_product(head + "m64n8k16.f32.f16.f16" + d + "%da, %db, %scale, 2, 1, 0, 0"),
              HasSubstr("malformed operands"));
  EXPECT_THAT(
      failure_of_product(head + "m64n8k16.satfinite.f32.f16.f16" + d + "%da, %db, %scale, 1, 1, 0, 0"),
      HasSubstr("wgmma"));
}

TEST(Warpgroup, FailsPastTheEndOfSharedMemory) {
  const WarpgroupCase form{"f32", "f16", "f16", 8};
  WarpgroupOperands operands = lay_out(form, random_matrices(form, 1));
  operands.b = (operands.b & ~std::uint64_t{0x3fff}) | 0x20000 / 16;
  std::string failure;
  run_warpgroup(form, operands, warpgroup_kernel(form), &failure);
  EXPECT_THAT(failure, HasSubstr("shared memory access out of range: address 0x20000"));
}

TEST(Warpgroup, FailsInADivergedWarp) {
  EXPECT_THAT(failure_of_product("mov.u32 %t, %tid.x;\n  setp.lt.u32 %more, %t, 12;\n  @%more "
                                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                                 "{%d0, %d1, %d2, %d3}, %da, %db, %scale, 1, 1, 0, 0"),
              HasSubstr("a partial warp executed"));
}

std::vector<Finding> findings_of_product(const WarpgroupOperands& operands, const std::string& kernel) {
  LaunchChecks checks{{true, true, true, true}};
  std::string failure;
  run_warpgroup({"f32", "f16", "f16", 8}, operands, kernel, &failure, &checks);
  return checks.findings;
}

TEST(Warpgroup, ReadsAreChecked) {
  const WarpgroupCase form{"f32", "f16", "f16", 8};
  const std::string kernel = warpgroup_kernel(form);
  const WarpgroupOperands operands = lay_out(form, random_matrices(form, 1));
  EXPECT_TRUE(findings_of_product(operands, kernel).empty());

  std::string without_barrier = kernel;
  without_barrier.replace(without_barrier.find("bar.sync 0;"), 11, "");
  const std::vector<Finding> races = findings_of_product(operands, without_barrier);
  ASSERT_FALSE(races.empty());
  EXPECT_TRUE(std::ranges::any_of(
      races, [](const Finding& each) { return each.kind == FindingKind::unfinished_operation; }));

  WarpgroupOperands moved = operands;
  moved.b += 32768 / 16;
  const std::vector<Finding> unwritten = findings_of_product(moved, kernel);
  ASSERT_FALSE(unwritten.empty());
  EXPECT_EQ(unwritten[0].kind, FindingKind::uninitialized_read);
  EXPECT_THAT(unwritten[0].place.opcode, HasSubstr("wgmma.mma_async"));
  const std::string text = with_header(kernel);
  const auto before = text.begin() + static_cast<std::ptrdiff_t>(text.find("wgmma.mma_async"));
  EXPECT_EQ(unwritten[0].place.line, 1 + std::count(text.begin(), before, '\n'));

  moved.b += 65536 / 16;
  const std::vector<Finding> outside = findings_of_product(moved, kernel);
  ASSERT_FALSE(outside.empty());
  EXPECT_EQ(outside[0].kind, FindingKind::out_of_bounds);
}

/// Replaces the first `from`, which must exist.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Warpgroup, OperandsStayUntilAllProductsAreComplete) {
  const WarpgroupCase form{"f32", "f16", "f16", 8};
  const WarpgroupOperands operands = lay_out(form, random_matrices(form, 1));
  const std::string commit = "  wgmma.commit_group.sync.aligned;\n";
  const std::string wait = "  wgmma.wait_group.sync.aligned 0;\n";
  const std::string barrier = "  bar.sync 0;\n";
  const std::string overwrite =
      "  mov.u32 %t, %tid.x;\nagain:\n  setp.lt.u32 %more, %t, %words;\n  @!%more bra overwritten;\n"
      "  mov.u32 %at, tile;\n  mad.lo.u32 %at, %t, 4, %at;\n  st.shared.b32 [%at], %t;\n"
      "  add.u32 %t, %t, 128;\n  bra again;\noverwritten:\n";
  const std::string correct = with(warpgroup_kernel(form), wait, wait + barrier + overwrite);
  const auto describes = [&](const std::string& kernel) {
    const std::vector<Finding> found = findings_of_product(operands, kernel);
    return found.empty() ? std::string() : found.front().detail;
  };
  EXPECT_EQ(describes(correct), "");
  EXPECT_THAT(describes(with(correct, wait, "")), HasSubstr("wgmma.wait_group"));
  EXPECT_THAT(describes(with(correct, commit, "")), HasSubstr("wgmma.commit_group and a wait are missing"));
  EXPECT_THAT(describes(with(correct, wait, "  wgmma.wait_group.sync.aligned 1;\n")),
              HasSubstr("no wgmma.wait_group has waited for the group of the matrix product"));
  const std::string at_once = with(correct, wait + barrier, wait);
  EXPECT_EQ(describes(at_once), "") << "the product of four warps is complete for each of them";
  EXPECT_EQ(run_warpgroup(form, operands, at_once), run_warpgroup(form, operands, warpgroup_kernel(form)));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
