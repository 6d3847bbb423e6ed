// Kernels that frameworks generate with wgmma (tests/corpus/frameworks) compute the products that they
// should.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

std::shared_ptr<LoadedModule> load_framework(const std::string& name) {
  const std::string path = std::string(LYNXPP_SOURCE_DIR) + "/tests/corpus/frameworks/" + name + ".ptx.gz";
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");
  std::array<char, 4096> part;
  for (int read = 1; file != nullptr && read > 0;) {
    read = gzread(file, part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(std::max(read, 0)));
  }
  gzclose(file);
  Result<std::shared_ptr<LoadedModule>> module = load_module(text, name);
  EXPECT_TRUE(module) << path;
  return module ? *module : nullptr;
}

using Halves = std::vector<std::uint16_t>;

std::uint16_t half_of(float value) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)); }
float float_of(std::uint16_t half) { return std::bit_cast<_Float16>(half); }

/// Returns multiples of 1/4 in [-1, 1]: their products and sums are exact.
Halves halves(std::size_t count, unsigned seed) {
  Halves made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(half_of(static_cast<float>((i * 2654435761u + seed) >> 7 & 7) / 4 - 1));
  return made;
}

TEST(FrameworkProducts, TritonMultipliesMatrices) {
  const auto module = load_framework("triton/matmul_kernel");
  ASSERT_NE(module, nullptr);
  constexpr std::uint32_t m = 256;
  constexpr std::uint32_t n = 128;
  constexpr std::uint32_t k = 96;
  const Halves a = halves(m * k, 1);
  const Halves b = halves(k * n, 2);
  Halves out(m * n, 77);
  const Arguments arguments(a.data(), b.data(), out.data(), m, n, k, std::uint64_t{0}, std::uint64_t{0});
  ASSERT_EQ(text_of(module->launch("matmul_kernel", {{m / 128, n / 128, 1}, {256, 1, 1}, 65536},
                                   arguments.bytes(), nullptr)),
            "");
  for (std::uint32_t row = 0; row < m; ++row) {
    for (std::uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::uint32_t i = 0; i < k; ++i) sum += float_of(a[row * k + i]) * float_of(b[i * n + column]);
      ASSERT_EQ(out[row * n + column], half_of(sum)) << row << ", " << column;
    }
  }
}

// softmax(scale · Q Kᵀ) V for each head; Triton rounds probabilities to halves before the second product.
TEST(FrameworkProducts, TritonComputesAttention) {
  const auto module = load_framework("triton/attention_kernel");
  ASSERT_NE(module, nullptr);
  constexpr std::uint32_t heads = 2;
  constexpr std::uint32_t length = 128;
  constexpr std::uint32_t width = 64;
  constexpr float scale = 0.125f;
  const Halves q = halves(heads * length * width, 3);
  const Halves k = halves(heads * length * width, 4);
  const Halves v = halves(heads * length * width, 5);
  Halves out(heads * length * width, 77);
  const Arguments arguments(q.data(), k.data(), v.data(), out.data(), scale, length, std::uint64_t{0},
                            std::uint64_t{0});
  ASSERT_EQ(text_of(module->launch("attention_kernel", {{length / 64, heads, 1}, {128, 1, 1}, 65536},
                                   arguments.bytes(), nullptr)),
            "");
  double largest = 0;
  for (std::uint32_t head = 0; head < heads; ++head) {
    const std::size_t first = std::size_t{head} * length * width;
    for (std::uint32_t row = 0; row < length; ++row) {
      std::vector<double> weights(length);
      double total = 0;
      for (std::uint32_t other = 0; other < length; ++other) {
        double score = 0;
        for (std::uint32_t i = 0; i < width; ++i)
          score += float_of(q[first + row * width + i]) * float_of(k[first + other * width + i]);
        total += weights[other] = std::exp(score * scale);
      }
      for (std::uint32_t i = 0; i < width; ++i) {
        double sum = 0;
        for (std::uint32_t other = 0; other < length; ++other)
          sum += weights[other] / total * float_of(v[first + other * width + i]);
        largest = std::max(largest, std::fabs(sum));
        ASSERT_NEAR(float_of(out[first + row * width + i]), sum, 1e-3) << head << ", " << row << ", " << i;
      }
    }
  }
  EXPECT_GT(largest, 0.1);
}

std::vector<float> floats(std::size_t count, unsigned seed) {
  std::vector<float> made;
  for (const std::uint16_t half : halves(count, seed)) made.push_back(float_of(half));
  return made;
}

// 64 x 32 elements of A Bᵀ for each block, with ten elements along k, padded with zeros.
TEST(FrameworkProducts, XlaMultipliesNarrowMatrices) {
  const auto module = load_framework("xla/gemm_fusion_dot_general_12.2");
  ASSERT_NE(module, nullptr);
  constexpr std::uint32_t m = 128;
  constexpr std::uint32_t n = 512;
  constexpr std::uint32_t k = 10;
  const std::vector<float> a = floats(m * k, 6);
  const std::vector<float> b = floats(n * k, 7);
  std::vector<float> out(m * n, -77);
  const Arguments arguments(a.data(), b.data(), out.data());
  ASSERT_EQ(
      text_of(module->launch("gemm_fusion_dot_general_12", {{m / 64 * n / 32, 1, 1}, {128, 1, 1}, 16384},
                             arguments.bytes(), nullptr)),
      "");
  for (std::uint32_t row = 0; row < m; ++row) {
    for (std::uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::uint32_t i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
      ASSERT_EQ(out[row * n + column], sum) << row << ", " << column;
    }
  }
}

// Each block computes 64 rows of the product of a quarter of the columns of A and rows of B.
TEST(FrameworkProducts, XlaSplitsProducts) {
  const auto module = load_framework("xla/gemm_fusion_dot_3.13");
  ASSERT_NE(module, nullptr);
  constexpr std::uint32_t m = 1024;
  constexpr std::uint32_t n = 10;
  constexpr std::uint32_t k = 512;
  constexpr std::uint32_t parts = 4;
  const std::vector<float> a = floats(m * k, 8);
  const std::vector<float> b = floats(k * n, 9);
  std::vector<float> out(parts * m * n, -77);
  const Arguments arguments(a.data(), b.data(), out.data());
  ASSERT_EQ(text_of(module->launch("gemm_fusion_dot_3", {{parts * m / 64, 1, 1}, {128, 1, 1}, 65536},
                                   arguments.bytes(), nullptr)),
            "");
  for (std::uint32_t part = 0; part < parts; ++part) {
    for (std::uint32_t row = 0; row < m; ++row) {
      for (std::uint32_t column = 0; column < n; ++column) {
        float sum = 0;
        for (std::uint32_t i = part * k / parts; i < (part + 1) * k / parts; ++i)
          sum += a[row * k + i] * b[i * n + column];
        ASSERT_EQ(out[(part * m + row) * n + column], sum) << part << ", " << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
