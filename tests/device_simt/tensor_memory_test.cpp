// tcgen05.ld, st and cp: tensor memory's transfers, compared with the ISA's figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "tensor_core_fixture.h"

namespace lynxpp::device::cpu::test::tensor_memory_tests {
namespace {

// ---------------------------------------------------------------- ld, st

/// A shape: registers per repetition, and the word of a register as the figures show it.
struct Shape {
  const char* name;
  unsigned registers;
  unsigned rows;
  unsigned most;  ///< repetitions
};
const Shape shapes[] = {{"32x32b", 1, 32, 128},
                        {"16x64b", 1, 16, 128},
                        {"16x128b", 2, 16, 64},
                        {"16x256b", 4, 16, 32},
                        {"16x32bx2", 1, 16, 128}};
constexpr unsigned half_distance = 136;  ///< columns between the halves of .16x32bx2

struct Word {
  unsigned row, column;  ///< the column counts registers
};
/// The figures of matrix fragments: which word register `r` of a thread holds.
Word word_of(const std::string& shape, unsigned thread, unsigned r) {
  if (shape == "32x32b") return {thread, r};
  if (shape == "16x32bx2") return {thread % 16, r};
  if (shape == "16x64b") {
    // Rows 0 to 7 belong to even threads, two columns to threads 0 and 2 of four.
    return {thread / 4 + (thread % 2 == 0 ? 0u : 8u), 2 * r + (thread % 4 < 2 ? 0 : 1)};
  }
  // Blocks of 8 × 4 columns, or 8 × 8: four threads hold a row; registers alternate between the halves.
  const unsigned per_thread = shape == "16x128b" ? 1 : 2;
  const unsigned half = r / per_thread % 2;
  return {thread / 4 + 8 * half,
          r / (2 * per_thread) * 4 * per_thread + thread % 4 * per_thread + r % per_thread};
}

/// Returns the columns that register `r` of a thread covers: one, or two whose lower halves it packs.
unsigned first_column(const Shape& shape, unsigned thread, unsigned r, bool packs) {
  const unsigned column = word_of(shape.name, thread, r).column * (packs ? 2 : 1);
  const bool is_second = std::string(shape.name) == "16x32bx2" && thread >= 16;
  return column + (is_second ? half_distance : 0);
}

std::string registers(unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%v" : ", %v") + std::to_string(i);
  return text + "}";
}

struct TransferCase {
  Shape shape;
  unsigned times;
  bool packs;
  unsigned count() const { return shape.registers * times; }
};

std::vector<TransferCase> transfers() {
  std::vector<TransferCase> made;
  for (const Shape& shape : shapes) {
    for (unsigned times = 1; times <= shape.most; times *= times < 8 ? 2 : 4) {
      for (const bool packs : {false, true}) {
        if (times <= 32) made.push_back({shape, times, packs});
      }
    }
    made.push_back({shape, shape.most, false});
  }
  return made;
}

/// The address that each warp uses: its lanes, from the lower or upper half.
std::string address(const TransferCase& each, bool upper) {
  return "  add.u32 %at, %taddr, %lanes;\n" +
         std::string(upper && each.shape.rows == 16 ? "  add.u32 %at, %at, 0x100000;\n" : "");
}
std::string distance(const TransferCase& each) {
  return std::string(each.shape.name) == "16x32bx2" ? ", " + std::to_string(half_distance) : "";
}

TEST(TensorMemory, LoadsEveryShape) {
  for (const TransferCase& each : transfers()) {
    for (const bool upper : {false, true}) {
      TensorProgram program;
      program.columns = 512;
      program.tensor[0] = numbered_image(program.columns);
      program.code = address(each, upper) + "  tcgen05.ld.sync.aligned." + each.shape.name + ".x" +
                     std::to_string(each.times) + (each.packs ? ".pack::16b" : "") + ".b32 " +
                     registers(each.count()) + ", [%at]" + distance(each) +
                     ";\n  tcgen05.wait::ld.sync.aligned;\n  mul.wide.u32 %offset, %t, 4;\n"
                     "  add.u64 %scratch, %scratch, %offset;\n";
      for (unsigned r = 0; r < each.count(); ++r)
        program.code +=
            "  st.global.b32 [%scratch+" + std::to_string(r * 512) + "], %v" + std::to_string(r) + ";\n";
      const TensorImage before = program.tensor[0];
      ASSERT_EQ(program.run(), "") << each.shape.name << " x" << each.times;
      EXPECT_EQ(program.tensor[0], before);
      for (unsigned t = 0; t < 128; ++t) {
        for (unsigned r = 0; r < each.count(); ++r) {
          const unsigned lane = t / 32 * 32 + (upper && each.shape.rows == 16 ? 16 : 0) +
                                word_of(each.shape.name, t % 32, r).row;
          const unsigned column = first_column(each.shape, t % 32, r, each.packs);
          const std::uint32_t expected =
              each.packs ? (before[column][lane] & 0xffff) | before[column + 1][lane] << 16
                         : before[column][lane];
          ASSERT_EQ(program.scratch[r * 128 + t], expected)
              << each.shape.name << " x" << each.times << " of thread " << t << ", register " << r;
        }
      }
    }
  }
}

TEST(TensorMemory, StoresEveryShape) {
  for (const TransferCase& each : transfers()) {
    for (const bool upper : {false, true}) {
      TensorProgram program;
      program.columns = 512;
      program.tensor[0] = numbered_image(program.columns);
      program.code = address(each, upper);
      for (unsigned r = 0; r < each.count(); ++r)
        program.code +=
            "  mad.lo.u32 %v" + std::to_string(r) + ", %t, 40503, " + std::to_string(r * 77777777) + ";\n";
      program.code += std::string("  tcgen05.st.sync.aligned.") + each.shape.name + ".x" +
                      std::to_string(each.times) + (each.packs ? ".unpack::16b" : "") + ".b32 [%at]" +
                      distance(each) + ", " + registers(each.count()) +
                      ";\n  tcgen05.wait::st.sync.aligned;\n";
      TensorImage expected = program.tensor[0];
      for (unsigned t = 0; t < 128; ++t) {
        for (unsigned r = 0; r < each.count(); ++r) {
          const unsigned lane = t / 32 * 32 + (upper && each.shape.rows == 16 ? 16 : 0) +
                                word_of(each.shape.name, t % 32, r).row;
          const unsigned column = first_column(each.shape, t % 32, r, each.packs);
          const std::uint32_t value = t * 40503 + r * 77777777;
          expected[column][lane] = each.packs ? value & 0xffff : value;
          if (each.packs) expected[column + 1][lane] = value >> 16;
        }
      }
      ASSERT_EQ(program.run(), "") << each.shape.name << " x" << each.times;
      ASSERT_EQ(program.tensor[0], expected) << each.shape.name << " x" << each.times;
    }
  }
}

TEST(TensorMemory, ReducesWhatAThreadLoads) {
  struct Case {
    const char *shape, *reduction;
    std::uint32_t (*combine)(std::uint32_t, std::uint32_t);
  };

  static const auto real = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  constexpr std::uint32_t nan = 0x7fff'ffff;
  const Case cases[] = {
      {"32x32b", "min.u32", [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"16x32bx2", "u32.max", [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"32x32b", "max.s32",
       [](std::uint32_t a, std::uint32_t b) {
         return static_cast<std::uint32_t>(
             std::max(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
       }},
      {"32x32b", "min.f32",
       [](std::uint32_t a, std::uint32_t b) {
         if (std::isnan(real(a))) return std::isnan(real(b)) ? nan : b;
         return std::isnan(real(b)) || real(a) < real(b) ? a : b;
       }},
      {"16x32bx2", "max.abs.NaN.f32", [](std::uint32_t a, std::uint32_t b) {
         if (std::isnan(real(a)) || std::isnan(real(b))) return nan;
         return std::bit_cast<std::uint32_t>(std::max(std::abs(real(a)), std::abs(real(b))));
       }}};
  for (const Case& each : cases) {
    TensorProgram program;
    program.columns = 512;
    program.tensor[0] = numbered_image(program.columns);
    for (unsigned lane = 0; lane < 128; lane += 3) program.tensor[0][2][lane] = 0x7fc0'0000;
    const bool has_halves = std::string(each.shape) == "16x32bx2";
    program.code = std::string("  add.u32 %at, %taddr, %lanes;\n  tcgen05.ld.red.sync.aligned.") +
                   each.shape + ".x4." + each.reduction + " {%v0, %v1, %v2, %v3}, %v4, [%at]" +
                   (has_halves ? ", 136" : "") +
                   ";\n  tcgen05.wait::ld.sync.aligned;\n  mul.wide.u32 %offset, %t, 4;\n"
                   "  add.u64 %scratch, %scratch, %offset;\n  st.global.b32 [%scratch], %v4;\n"
                   "  st.global.b32 [%scratch+512], %v3;\n";
    const TensorImage before = program.tensor[0];
    ASSERT_EQ(program.run(), "") << each.reduction;
    for (unsigned t = 0; t < 128; ++t) {
      const unsigned lane = has_halves ? t / 32 * 32 + t % 16 : t;
      const unsigned column = has_halves && t % 32 >= 16 ? 136 : 0;
      std::uint32_t expected = before[column][lane];
      for (unsigned i = 1; i < 4; ++i) expected = each.combine(expected, before[column + i][lane]);
      ASSERT_EQ(program.scratch[t], expected) << each.reduction << " of thread " << t;
      ASSERT_EQ(program.scratch[128 + t], before[column + 3][lane]);
    }
  }
}

TEST(TensorMemory, ReductionsOrderZerosAndNan) {
  const auto reduced = [](const std::string& reduction, std::uint32_t a, std::uint32_t b) {
    TensorProgram program;
    program.tensor[0] = numbered_image(program.columns);
    program.tensor[0][0].fill(a);
    program.tensor[0][1].fill(b);
    program.code = "  add.u32 %at, %taddr, %lanes;\n  tcgen05.ld.red.sync.aligned.32x32b.x2." + reduction +
                   " {%v0, %v1}, %v4, [%at];\n  tcgen05.wait::ld.sync.aligned;\n"
                   "  st.global.b32 [%scratch], %v4;\n";
    EXPECT_EQ(program.run(), "");
    return program.scratch[0];
  };
  constexpr std::uint32_t minus_zero = 0x8000'0000, nan = 0x7fff'ffff, one = 0x3f80'0000,
                          minus_one = 0xbf80'0000;
  EXPECT_EQ(reduced("min.f32", 0, minus_zero), minus_zero);
  EXPECT_EQ(reduced("max.f32", minus_zero, 0), 0u);
  EXPECT_EQ(reduced("min.abs.f32", minus_one, 0x7fc0'0000), one);
  EXPECT_EQ(reduced("min.NaN.f32", one, 0xffc0'0001), nan);
  EXPECT_EQ(reduced("max.f32", 0x7fc0'0000, 0xffc0'0001), nan);
  EXPECT_EQ(reduced("max.f32", minus_one, 0xff80'0000), minus_one);
}

// ---------------------------------------------------------------- cp

TEST(TensorMemory, IsFilledFromSharedMemory) {
  struct Fill {
    const char* shape;
    unsigned rows, bytes;
    unsigned first_row[4];  ///< that lanes 32 q to 32 q + 31 receive
  };
  const Fill fills[] = {{"128x256b", 128, 32, {0, 32, 64, 96}},
                        {"128x128b", 128, 16, {0, 32, 64, 96}},
                        {"64x128b.warpx2::02_13", 64, 16, {0, 32, 0, 32}},
                        {"64x128b.warpx2::01_23", 64, 16, {0, 0, 32, 32}},
                        {"32x128b.warpx4", 32, 16, {0, 0, 0, 0}}};
  for (const Fill& each : fills) {
    for (const unsigned pieces : {1u, 2u, 4u, 8u}) {
      TensorProgram program;
      program.columns = 32;
      program.tensor[0] = numbered_image(program.columns);
      const OperandLayout layout{pieces, false, 0, 1};
      const auto byte = [](unsigned row, unsigned k) { return (row * 37 + k * 101 + row * k) & 0xff; };
      const PlacedMatrix placed = place_matrix(program.image[0], layout, 8, each.rows, each.bytes, byte);
      program.a = tensor_core_descriptor(layout, placed);
      program.code = std::string("  add.u32 %v1, %taddr, 5;\n  @%first tcgen05.cp.cta_group::1.") +
                     each.shape + " [%v1], %da;\n" + commit_and_wait();
      TensorImage expected = program.tensor[0];
      for (unsigned lane = 0; lane < 128; ++lane) {
        const unsigned row = each.first_row[lane / 32] + lane % 32;
        for (unsigned k = 0; k < each.bytes; ++k) {
          std::uint32_t& word = expected[5 + k / 4][lane];
          word = (word & ~(0xffu << k % 4 * 8)) | byte(row, k) << k % 4 * 8;
        }
      }
      ASSERT_EQ(program.run(), "") << each.shape;
      ASSERT_EQ(program.tensor[0], expected) << each.shape << " of " << pieces << " pieces";
    }
  }
}

TEST(TensorMemory, IsFilledWithNarrowElements) {
  for (const unsigned bits : {4u, 6u}) {
    TensorProgram program;
    program.columns = 32;
    program.tensor[0] = numbered_image(program.columns);
    const auto element = [&](unsigned row, unsigned i) { return (row * 5 + i * 3) & ((1u << bits) - 1); };
    const auto byte = [&](unsigned row, unsigned at) {
      std::uint32_t found = at * 8 >= 16 * bits ? 0xa5 : 0;  // padding
      for (unsigned bit = 0; at * 8 < 16 * bits && bit < 8; ++bit) {
        const unsigned from = at * 8 + bit;
        found |= (element(row, from / bits) >> from % bits & 1) << bit;
      }
      return found;
    };
    const PlacedMatrix placed = place_matrix(program.image[0], {}, 8, 128, 16, byte);
    program.a = tensor_core_descriptor({}, placed);
    program.code = std::string("  @%first tcgen05.cp.cta_group::1.128x128b.b8x16.") +
                   (bits == 4 ? "b4x16_p64" : "b6x16_p32") + " [%taddr], %da;\n" + commit_and_wait();
    TensorImage expected = program.tensor[0];
    for (unsigned lane = 0; lane < 128; ++lane) {
      for (unsigned word = 0; word < 4; ++word) {
        expected[word][lane] = 0;
        for (unsigned i = 0; i < 4; ++i)
          expected[word][lane] |= element(lane, word * 4 + i) << (bits == 4 ? 2 : 1) << i * 8;
      }
    }
    ASSERT_EQ(program.run(), "");
    ASSERT_EQ(program.tensor[0], expected) << bits;
  }
}

TEST(TensorMemory, IsFilledInBothBlocks) {
  TensorProgram program;
  program.blocks = 2;
  TensorImage expected[2];
  for (unsigned block = 0; block < 2; ++block) {
    expected[block] = program.tensor[block] = numbered_image(program.columns);
    const auto byte = [block](unsigned row, unsigned k) { return (row * 37 + k * 101 + block * 13) & 0xff; };
    program.a = tensor_core_descriptor({}, place_matrix(program.image[block], {}, 8, 32, 16, byte));
    for (unsigned lane = 0; lane < 128; ++lane) {
      for (unsigned word = 0; word < 4; ++word) {
        expected[block][word][lane] = 0;
        for (unsigned i = 0; i < 4; ++i)
          expected[block][word][lane] |= byte(lane % 32, word * 4 + i) << i * 8;
      }
    }
  }
  program.code = in_first_block("tcgen05.cp.cta_group::2.32x128b.warpx4 [%taddr], %da;\n");
  ASSERT_EQ(program.run(), "");
  EXPECT_EQ(program.tensor[0], expected[0]);
  EXPECT_EQ(program.tensor[1], expected[1]);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::tensor_memory_tests
