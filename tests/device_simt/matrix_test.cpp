// mma in every shape and type, compared with full matrix products; moves of matrices.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "kernel_fixture.h"
#include "operation_fixture.h"
#include "tests/support/readable_name.h"

namespace lynxpp::device::cpu::test {
namespace {

unsigned bits_of_type(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "tf32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "s4" || type == "u4") return 4;
  return type == "b1" ? 1 : 8;
}

/// Encodes a small integer in a floating format, or any value in the others.
std::uint64_t encode(const std::string& type, int value) {
  const auto sign = static_cast<std::uint64_t>(value < 0 ? 0x80 : 0);
  constexpr std::uint64_t e4m3[] = {0x00, 0x38, 0x40, 0x44, 0x48};
  constexpr std::uint64_t e5m2[] = {0x00, 0x3c, 0x40, 0x42, 0x44};
  if (type == "f64") return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  if (type == "f32" || type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "bf16") return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
  if (type == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  if (type == "e4m3") return sign | e4m3[std::abs(value)];
  if (type == "e5m2") return sign | e5m2[std::abs(value)];
  const unsigned bits = bits_of_type(type);
  return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1);
}

int random_value(const std::string& type, std::mt19937& random) {
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  if (type == "s8") return between(-128, 127);
  if (type == "u8") return between(0, 255);
  if (type == "s4") return between(-8, 7);
  if (type == "u4") return between(0, 15);
  if (type == "b1") return between(0, 1);
  if (type == "s32") return between(-1000, 1000);
  return between(-4, 4);
}

using Matrix = std::vector<std::vector<int>>;

Matrix random_matrix(unsigned rows, unsigned columns, const std::string& type, std::mt19937& random) {
  Matrix matrix(rows, std::vector<int>(columns));
  for (auto& row : matrix) {
    for (int& value : row) value = random_value(type, random);
  }
  return matrix;
}

struct Place {
  unsigned lane, element;
};

/// In the ISA's terms, a lane's group is lane / 4 and its index there lane % 4; a lane holds runs of adjacent
/// elements that fill a register.
Place place_in_a(unsigned row, unsigned column, unsigned run, bool tall) {
  const unsigned lane = row % 8 * 4 + column / run % 4;
  const unsigned block = column / (4 * run);
  const unsigned reg = tall ? block * 2 + row / 8 : block;
  return {lane, reg * run + column % run};
}
Place place_in_b(unsigned row, unsigned column, unsigned run) {
  return {column * 4 + row / run % 4, row / (4 * run) * run + row % run};
}
Place place_in_c(unsigned row, unsigned column) {
  return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2};
}

struct MmaCase {
  unsigned m, n, k;
  std::string d, a, b, c;
  std::string combination = {};  ///< ".xor.popc"
};

OperandGroup registers_for(unsigned rows, unsigned columns, const std::string& type) {
  const unsigned bits = bits_of_type(type);
  const unsigned width = bits == 64 ? 64 : 32;
  return {rows * columns * bits / 32 / width, width};
}

void put(std::vector<WarpValues>& registers, std::size_t first, Place place, unsigned bits,
         std::uint64_t value) {
  const unsigned width = bits == 64 ? 64 : 32;
  const unsigned bit = place.element * bits;
  registers[first + bit / width][place.lane] |= value << (bit % width);
}

std::uint64_t get(const std::vector<WarpValues>& registers, Place place, unsigned bits) {
  const unsigned width = bits == 64 ? 64 : 32;
  const unsigned bit = place.element * bits;
  const std::uint64_t word = registers[bit / width][place.lane] >> (bit % width);
  return bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
}

class Mma : public ::testing::TestWithParam<MmaCase> {};

TEST_P(Mma, MultipliesFullMatrices) {
  const MmaCase& form = GetParam();
  std::mt19937 random(7);
  const Matrix a = random_matrix(form.m, form.k, form.a, random);
  const Matrix b = random_matrix(form.k, form.n, form.b, random);
  const Matrix c = random_matrix(form.m, form.n, form.c, random);
  const auto group_a = registers_for(form.m, form.k, form.a);
  const auto group_b = registers_for(form.k, form.n, form.b);
  const auto group_c = registers_for(form.m, form.n, form.c);
  std::vector<WarpValues> in(group_a.count + group_b.count + group_c.count);
  const auto run = [](const std::string& type) { return std::max(1u, 32 / bits_of_type(type)); };
  for (unsigned k = 0; k < form.k; ++k) {
    for (unsigned m = 0; m < form.m; ++m)
      put(in, 0, place_in_a(m, k, run(form.a), form.m == 16), bits_of_type(form.a), encode(form.a, a[m][k]));
    for (unsigned n = 0; n < form.n; ++n)
      put(in, group_a.count, place_in_b(k, n, run(form.b)), bits_of_type(form.b), encode(form.b, b[k][n]));
  }
  for (unsigned m = 0; m < form.m; ++m) {
    for (unsigned n = 0; n < form.n; ++n)
      put(in, group_a.count + group_b.count, place_in_c(m, n), bits_of_type(form.c), encode(form.c, c[m][n]));
  }
  const std::string shape =
      "m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k);
  const std::string opcode = "mma.sync.aligned." + shape + ".row.col." + form.d + "." + form.a + "." +
                             form.b + "." + form.c + form.combination;
  const std::vector<WarpValues> out =
      run_form({opcode, {registers_for(form.m, form.n, form.d)}, {group_a, group_b, group_c}}, in);
  for (unsigned m = 0; m < form.m; ++m) {
    for (unsigned n = 0; n < form.n; ++n) {
      int sum = c[m][n];
      for (unsigned k = 0; k < form.k; ++k)
        sum += form.combination == ".xor.popc" ? a[m][k] ^ b[k][n] : a[m][k] * b[k][n];
      const unsigned bits = bits_of_type(form.d);
      EXPECT_EQ(get(out, place_in_c(m, n), bits), encode(form.d, sum)) << opcode << " at " << m << ", " << n;
    }
  }
}

std::vector<MmaCase> mma_cases() {
  std::vector<MmaCase> cases;
  for (const unsigned k : {8u, 16u}) {
    for (const char* d : {"f16", "f32"}) {
      for (const char* c : {"f16", "f32"}) cases.push_back({16, 8, k, d, "f16", "f16", c});
    }
    cases.push_back({16, 8, k, "f32", "bf16", "bf16", "f32"});
    cases.push_back({16, 8, k / 2, "f32", "tf32", "tf32", "f32"});
  }
  cases.push_back({8, 8, 4, "f64", "f64", "f64", "f64"});
  for (const unsigned k : {4u, 8u, 16u}) cases.push_back({16, 8, k, "f64", "f64", "f64", "f64"});
  for (const char* a : {"s8", "u8"}) {
    for (const char* b : {"s8", "u8"}) {
      cases.push_back({8, 8, 16, "s32", a, b, "s32"});
      for (const unsigned k : {16u, 32u}) cases.push_back({16, 8, k, "s32", a, b, "s32"});
    }
  }
  for (const char* a : {"s4", "u4"}) {
    for (const char* b : {"s4", "u4"}) {
      cases.push_back({8, 8, 32, "s32", a, b, "s32"});
      for (const unsigned k : {32u, 64u}) cases.push_back({16, 8, k, "s32", a, b, "s32"});
    }
  }
  for (const char* combination : {".xor.popc", ".and.popc"}) {
    cases.push_back({8, 8, 128, "s32", "b1", "b1", "s32", combination});
    for (const unsigned k : {128u, 256u}) cases.push_back({16, 8, k, "s32", "b1", "b1", "s32", combination});
  }
  for (const char* a : {"e4m3", "e5m2"}) {
    for (const char* b : {"e4m3", "e5m2"}) {
      for (const unsigned k : {16u, 32u}) cases.push_back({16, 8, k, "f32", a, b, "f32"});
    }
  }
  return cases;
}

std::string name_of_case(const ::testing::TestParamInfo<MmaCase>& info) {
  const MmaCase& form = info.param;
  std::string name = "m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" +
                     std::to_string(form.k) + "_" + form.d + "_" + form.a + "_" + form.b + "_" + form.c;
  if (!form.combination.empty()) name += form.combination == ".xor.popc" ? "_xor" : "_and";
  return name;
}

INSTANTIATE_TEST_SUITE_P(Forms, Mma, ::testing::ValuesIn(mma_cases()), name_of_case);

struct SparseCase {
  unsigned k;
  const char *d, *a, *b;
  unsigned providers;  ///< lanes of a group of four that hold metadata
};

class SparseMma : public ::testing::TestWithParam<SparseCase> {};

// A chunk of four elements stores two, of two elements one, and of eight 4-bit elements two pairs. 16 bits of
// metadata belong to row g and 16 to row g + 8; with four providers, 32 bits belong to one row.
TEST_P(SparseMma, MultipliesTheElementsThatMetadataSelect) {
  const SparseCase& form = GetParam();
  const unsigned bits = bits_of_type(form.a);
  const unsigned stored = bits == 32 ? 1 : bits == 4 ? 4 : 2;
  const auto run = [](const std::string& type) { return std::max(1u, 32 / bits_of_type(type)); };
  for (unsigned selector = 0; selector < 4 / form.providers; ++selector) {
    std::mt19937 random(selector + 1);
    const Matrix a = random_matrix(16, form.k / 2, form.a, random);
    const Matrix b = random_matrix(form.k, 8, form.b, random);
    const Matrix c = random_matrix(16, 8, form.d, random);
    const auto group_a = registers_for(16, form.k / 2, form.a);
    const auto group_b = registers_for(form.k, 8, form.b);
    const auto group_c = registers_for(16, 8, form.d);
    std::vector<WarpValues> in(group_a.count + group_b.count + group_c.count + 1);
    in.back().fill(0x9c36'e4b1);
    Matrix sums = c;
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned column = 0; column < 8; ++column)
        put(in, group_a.count + group_b.count, place_in_c(row, column), bits_of_type(form.d),
            encode(form.d, c[row][column]));
      for (unsigned chunk = 0; chunk < form.k / 2 / stored; ++chunk) {
        const unsigned low = static_cast<unsigned>(random()) % 3;
        const unsigned high = low + 1 + static_cast<unsigned>(random()) % (3 - low);
        const unsigned nibble = stored == 1 ? (low == 0 ? 0b0100u : 0b1110u) : low | high << 2;
        const unsigned upper = row / 8;
        const unsigned lane =
            form.providers == 4 ? upper + chunk / 8 * 2 : selector * form.providers + chunk / 4;
        const unsigned shift = form.providers == 4 ? chunk % 8 * 4 : upper * 16 + chunk % 4 * 4;
        std::uint64_t& word = in.back()[row % 8 * 4 + lane];
        word = (word & ~(std::uint64_t{0xf} << shift)) | std::uint64_t{nibble} << shift;
        for (unsigned each = 0; each < stored; ++each) {
          const unsigned index = chunk * stored + each;
          unsigned k = 2 * stored * chunk + (each == 0 ? low : high);
          if (stored == 1) k = 2 * chunk + (low == 0 ? 0 : 1);
          if (stored == 4) k = 8 * chunk + 2 * (each < 2 ? low : high) + each % 2;
          put(in, 0, place_in_a(row, index, run(form.a), true), bits, encode(form.a, a[row][index]));
          for (unsigned column = 0; column < 8; ++column) sums[row][column] += a[row][index] * b[k][column];
        }
      }
    }
    for (unsigned k = 0; k < form.k; ++k) {
      for (unsigned column = 0; column < 8; ++column)
        put(in, group_a.count, place_in_b(k, column, run(form.b)), bits, encode(form.b, b[k][column]));
    }
    const std::string opcode = std::string("mma.sp") + (selector % 2 != 0 ? "::ordered_metadata" : "") +
                               ".sync.aligned.m16n8k" + std::to_string(form.k) + ".row.col." + form.d + "." +
                               form.a + "." + form.b + "." + form.d;
    const std::vector<WarpValues> out = run_form(
        {opcode, {group_c}, {group_a, group_b, group_c, {1, 32}}, ", " + std::to_string(selector)}, in);
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned column = 0; column < 8; ++column) {
        EXPECT_EQ(get(out, place_in_c(row, column), bits_of_type(form.d)), encode(form.d, sums[row][column]))
            << opcode << " with selector " << selector << " at " << row << ", " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SparseMma,
    ::testing::Values(SparseCase{16, "f32", "f16", "f16", 1}, SparseCase{32, "f16", "f16", "f16", 2},
                      SparseCase{16, "f32", "bf16", "bf16", 1}, SparseCase{32, "f32", "bf16", "bf16", 2},
                      SparseCase{8, "f32", "tf32", "tf32", 1}, SparseCase{16, "f32", "tf32", "tf32", 2},
                      SparseCase{32, "s32", "s8", "u8", 2}, SparseCase{64, "s32", "u8", "s8", 4},
                      SparseCase{64, "s32", "s4", "u4", 2}, SparseCase{128, "s32", "u4", "u4", 4},
                      SparseCase{64, "f32", "e4m3", "e5m2", 4}),
    [](const auto& each) {
      const SparseCase& form = each.param;
      return "k" + std::to_string(form.k) + "_" + form.d + "_" + form.a + "_" + form.b;
    });

TEST(Matrix, SaturatesOnRequest) {
  const std::vector<OperandGroup> sources = {{1, 32}, {1, 32}, {2, 32}};
  std::vector<WarpValues> in(4);
  for (unsigned lane = 0; lane < 32; ++lane) {
    in[0][lane] = in[1][lane] = 0x7f7f7f7f;
    in[2][lane] = in[3][lane] = 0x7fffffff;
  }
  const std::string types = ".s32.s8.s8.s32";
  const auto wrapped = run_form({"mma.sync.aligned.m8n8k16.row.col" + types, {{2, 32}}, sources}, in);
  const auto clamped =
      run_form({"mma.sync.aligned.m8n8k16.row.col.satfinite" + types, {{2, 32}}, sources}, in);
  EXPECT_EQ(wrapped[1][31], (0x7fffffffu + 16 * 127 * 127));
  EXPECT_EQ(clamped[1][31], 0x7fffffffu);
}

TEST(Matrix, RejectsUnknownFormsByName) {
  for (const char* opcode : {"mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                             "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32",
                             "mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                             "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32",
                             "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16"}) {
    const auto module = load(kernel_of({opcode, {{4, 32}}, {{4, 32}, {2, 32}, {4, 32}}}));
    ASSERT_NE(module, nullptr);
    const Status compiled = module->compile("test", {});
    EXPECT_NE(text_of(compiled).find(std::string("'") + opcode + "' is not supported"), std::string::npos)
        << text_of(compiled);
  }
}

TEST(Matrix, TransposesBetweenLanes) {
  std::vector<WarpValues> in(1);
  for (unsigned lane = 0; lane < 32; ++lane) in[0][lane] = (lane * 2 + 1) << 16 | lane * 2;
  const auto out = run_form({"movmatrix.sync.aligned.m8n8.trans.b16", {{1, 32}}, {{1, 32}}}, in);
  for (unsigned row = 0; row < 8; ++row) {
    for (unsigned column = 0; column < 8; ++column) {
      const unsigned lane = row * 4 + column / 2;
      EXPECT_EQ(out[0][lane] >> (column % 2 * 16) & 0xffff, column * 8 + row);
    }
  }
}

/// Moves 8 x 8 matrices from shared memory to registers, and back to other rows.
std::string matrix_kernel(unsigned count, bool transposes) {
  const std::string x = ".x" + std::to_string(count) + (transposes ? ".trans" : "");
  const std::string registers = count == 1 ? "{%r0}" : count == 2 ? "{%r0, %r1}" : "{%r0, %r1, %r2, %r3}";
  return ".visible .entry test(.param .u64 p0, .param .u64 p1) {\n"
         "  .shared .align 16 .b8 from[512];\n  .shared .align 16 .b8 to[512];\n"
         "  .reg .b32 %r<4>, %t, %a, %b;\n  .reg .b64 %x, %y, %at;\n  .reg .b64 %v<2>;\n"
         "  ld.param.u64 %x, [p0];\n  ld.param.u64 %y, [p1];\n  mov.u32 %t, %tid.x;\n"
         "  mul.wide.u32 %at, %t, 16;\n  add.u64 %x, %x, %at;\n  add.u64 %y, %y, %at;\n"
         "  mov.u32 %a, from;\n  mad.lo.u32 %a, %t, 16, %a;\n  mov.u32 %b, to;\n  mad.lo.u32 %b, %t, 16, "
         "%b;\n"
         "  ld.global.v2.b64 {%v0, %v1}, [%x];\n  st.shared.v2.b64 [%a], {%v0, %v1};\n  bar.sync 0;\n"
         "  ldmatrix.sync.aligned.m8n8" +
         x + ".shared.b16 " + registers +
         ", [%a];\n"
         "  stmatrix.sync.aligned.x" +  // in CUTLASS's order
         std::to_string(count) +
         ".m8n8.shared.b16 [%b], " + registers +
         ";\n"
         "  bar.sync 0;\n  ld.shared.v2.b64 {%v0, %v1}, [%b];\n  st.global.v2.b64 [%y], {%v0, %v1};\n  "
         "ret;\n}\n";
}

TEST(Matrix, MovesBetweenSharedMemoryAndRegisters) {
  for (const unsigned count : {1u, 2u, 4u}) {
    for (const bool transposes : {false, true}) {
      std::array<std::uint16_t, 256> from{};
      std::array<std::uint16_t, 256> to{};
      for (unsigned i = 0; i < 256; ++i) from[i] = static_cast<std::uint16_t>(1000 + i);
      const auto module = load(matrix_kernel(count, transposes));
      ASSERT_NE(module, nullptr);
      const auto* const source = from.data();
      auto* const target = to.data();
      ASSERT_EQ(text_of(module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, Arguments(source, target).bytes(),
                                       nullptr)),
                "");
      for (unsigned i = 0; i < count * 64; ++i) {
        const unsigned row = i / 8 % 8;
        const unsigned column = i % 8;
        const unsigned other = i / 64 * 64 + column * 8 + row;
        EXPECT_EQ(to[i], from[transposes ? other : i]) << count << " " << transposes << " " << i;
      }
    }
  }
}

/// Lanes that name no row provide an address outside shared memory.
TEST(Matrix, UsesTheAddressesOfLanesThatNameRows) {
  for (const unsigned count : {1u, 2u, 4u}) {
    const std::string x = ".x" + std::to_string(count) + ".shared.b16 ";
    const std::string registers = count == 1 ? "{%r0}" : count == 2 ? "{%r0, %r1}" : "{%r0, %r1, %r2, %r3}";
    const auto module = load(
        ".visible .entry test() {\n  .shared .align 16 .b8 rows[512];\n  .reg .b32 %r<4>, %t, %a;\n"
        "  .reg .pred %p;\n  mov.u32 %t, %tid.x;\n  mov.u32 %a, rows;\n  mad.lo.u32 %a, %t, 16, %a;\n"
        "  st.shared.v4.u32 [%a], {%t, %t, %t, %t};\n  bar.sync 0;\n"
        "  setp.ge.u32 %p, %t, " +
        std::to_string(count * 8) + ";\n  @%p mov.u32 %a, 0xfffff0;\n  ldmatrix.sync.aligned.m8n8" + x +
        registers + ", [%a];\n  stmatrix.sync.aligned.m8n8" + x + "[%a], " + registers + ";\n  ret;\n}\n");
    ASSERT_NE(module, nullptr);
    const LaunchShape one_warp{{1, 1, 1}, {32, 1, 1}, 0};
    LaunchCounters counters;
    LaunchChecks checks{.selection = {.memory = true, .race = true, .init = true, .sync = true}};
    ASSERT_EQ(text_of(module->launch("test", one_warp, {}, nullptr)), "") << count;
    ASSERT_EQ(text_of(module->launch("test", one_warp, {}, nullptr, nullptr, &checks)), "") << count;
    EXPECT_TRUE(checks.findings.empty()) << count;
    ASSERT_EQ(text_of(module->launch("test", one_warp, {}, &counters)), "") << count;
    // A matrix is one row of all banks.
    EXPECT_EQ(counters.loads.shared.accesses, 1u) << count;
    EXPECT_EQ(counters.loads.shared.wavefronts, count) << count;
    EXPECT_EQ(counters.loads.shared.least_wavefronts, count) << count;
    EXPECT_EQ(counters.stores.shared.wavefronts, count + 4) << count;
  }
}

TEST(Matrix, RequiresAllLanesOfTheWarp) {
  const auto module = load(
      ".visible .entry test() {\n  .reg .b32 %r<4>;\n  .reg .pred %p;\n  mov.u32 %r0, %laneid;\n"
      "  setp.lt.u32 %p, %r0, 7;\n  @%p bra skip;\n"
      "  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\nskip:\n  ret;\n}\n");
  ASSERT_NE(module, nullptr);
  const Status status = module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, {}, nullptr);
  EXPECT_NE(text_of(status).find("must execute together"), std::string::npos) << text_of(status);
}

struct WmmaCase {
  unsigned m, n, k;
  std::string d, a, c;
  unsigned a_registers, b_registers;
  std::string combination = {};
  std::string rounding = {};
};

class Wmma : public ::testing::TestWithParam<WmmaCase> {};

std::string register_list(const char* name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + std::string(name) + std::to_string(i);
  return text + "}";
}

std::vector<std::uint8_t> packed(const Matrix& matrix, const std::string& type, bool in_columns) {
  const unsigned bits = bits_of_type(type);
  const std::size_t rows = matrix.size();
  const std::size_t columns = matrix[0].size();
  std::vector<std::uint8_t> bytes(rows * columns * bits / 8);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t bit = (in_columns ? j * rows + i : i * columns + j) * bits;
      const std::uint64_t value = encode(type, matrix[i][j]);
      for (unsigned b = 0; b < bits; ++b) {
        const auto one = static_cast<std::uint8_t>((value >> b & 1) << ((bit + b) % 8));
        bytes[(bit + b) / 8] |= one;
      }
    }
  }
  return bytes;
}

TEST_P(Wmma, MultipliesFullMatrices) {
  const WmmaCase& form = GetParam();
  std::mt19937 random(11);
  const Matrix a = random_matrix(form.m, form.k, form.a, random);
  const Matrix b = random_matrix(form.k, form.n, form.a, random);
  const Matrix c = random_matrix(form.m, form.n, form.c, random);
  const std::string shape =
      "m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k);
  const unsigned c_registers = registers_for(form.m, form.n, form.c).count;
  const unsigned d_registers = registers_for(form.m, form.n, form.d).count;
  const std::string width = form.a == "f64" ? ".b64" : ".b32";
  const std::string types =
      form.a == "f16" ? form.d + "." + form.c : form.d + "." + form.a + "." + form.a + "." + form.c;
  const std::string n = std::to_string(form.n);
  const std::string k = std::to_string(form.k);
  const auto module = load(
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {\n"
      "  .reg .b64 %p<4>;\n  .reg " +
      width +
      " %a<8>, %b<8>, %c<8>, %d<8>;\n"
      "  ld.param.u64 %p0, [p0];\n  ld.param.u64 %p1, [p1];\n  ld.param.u64 %p2, [p2];\n"
      "  ld.param.u64 %p3, [p3];\n"
      "  wmma.load.a.sync.aligned.row." +
      shape + ".global." + form.a + " " + register_list("a", form.a_registers) + ", [%p0], " + k +
      ";\n"
      "  wmma.load.b.sync.aligned.col." +
      shape + ".global." + form.a + " " + register_list("b", form.b_registers) + ", [%p1], " + k +
      ";\n"
      "  wmma.load.c.sync.aligned.row." +
      shape + "." + form.c + " " + register_list("c", c_registers) + ", [%p2], " + n +
      ";\n"
      "  wmma.mma" +
      form.combination + ".sync.aligned.row.col." + shape + "." + types + form.rounding + " " +
      register_list("d", d_registers) + ", " + register_list("a", form.a_registers) + ", " +
      register_list("b", form.b_registers) + ", " + register_list("c", c_registers) +
      ";\n"
      "  wmma.store.d.sync.aligned.row." +
      shape + ".global." + form.d + " [%p3], " + register_list("d", d_registers) + ", " + n +
      ";\n  ret;\n}\n");
  ASSERT_NE(module, nullptr);
  const std::vector<std::uint8_t> memory[3] = {packed(a, form.a, false), packed(b, form.a, true),
                                               packed(c, form.c, false)};
  Matrix expected = c;
  for (unsigned i = 0; i < form.m; ++i) {
    for (unsigned j = 0; j < form.n; ++j) {
      for (unsigned at = 0; at < form.k; ++at)
        expected[i][j] += form.combination == ".xor.popc" ? a[i][at] ^ b[at][j] : a[i][at] * b[at][j];
    }
  }
  std::vector<std::uint8_t> result(packed(expected, form.d, false).size());
  ASSERT_EQ(
      text_of(module->launch(
          "test", {{1, 1, 1}, {32, 1, 1}, 0},
          Arguments(memory[0].data(), memory[1].data(), memory[2].data(), result.data()).bytes(), nullptr)),
      "");
  EXPECT_EQ(result, packed(expected, form.d, false));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Wmma,
    ::testing::Values(
        WmmaCase{16, 16, 16, "f32", "f16", "f32", 8, 8}, WmmaCase{16, 16, 16, "f16", "f16", "f16", 8, 8},
        WmmaCase{32, 8, 16, "f32", "f16", "f16", 8, 8}, WmmaCase{8, 32, 16, "f16", "f16", "f32", 8, 8},
        WmmaCase{16, 16, 16, "f32", "bf16", "f32", 4, 4}, WmmaCase{8, 32, 16, "f32", "bf16", "f32", 2, 8},
        WmmaCase{32, 8, 16, "f32", "bf16", "f32", 8, 2}, WmmaCase{16, 16, 8, "f32", "tf32", "f32", 4, 4},
        WmmaCase{8, 8, 4, "f64", "f64", "f64", 1, 1}, WmmaCase{8, 8, 4, "f64", "f64", "f64", 1, 1, "", ".rn"},
        WmmaCase{16, 16, 16, "s32", "s8", "s32", 2, 2}, WmmaCase{32, 8, 16, "s32", "u8", "s32", 4, 1},
        WmmaCase{8, 32, 16, "s32", "s8", "s32", 1, 4}, WmmaCase{8, 8, 32, "s32", "s4", "s32", 1, 1},
        WmmaCase{8, 8, 32, "s32", "u4", "s32", 1, 1},
        WmmaCase{8, 8, 128, "s32", "b1", "s32", 1, 1, ".xor.popc"},
        WmmaCase{8, 8, 128, "s32", "b1", "s32", 1, 1, ".and.popc"}),
    [](const auto& each) {
      const WmmaCase& form = each.param;
      return "m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k) +
             "_" + name_of_text(form.d + "_" + form.a + "_" + form.c + form.combination + form.rounding);
    });

}  // namespace
}  // namespace lynxpp::device::cpu::test
