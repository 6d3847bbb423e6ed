// Every perturbation of random kernels, and of operations on special values: the memory after the launch is
// byte for byte that of the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/perturb/fixture.h"
#include "tests/random_ptx/generator.h"

namespace lynxpp::ptx::testing {
namespace {

constexpr std::uint32_t blocks = 2;

std::vector<std::byte> bytes_of(const std::vector<random_ptx::Word>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(random_ptx::Word));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

KernelRun run_of(const random_ptx::Program& program) {
  const std::size_t threads = std::size_t{blocks} * program.threads();
  constexpr std::size_t private_bytes = 4096;
  KernelRun run{program.text, program.kernel, blocks, {program.block[0], program.block[1]}, {}};
  run.buffers.push_back(bytes_of(program.in));
  run.buffers.emplace_back(threads * program.words_of_output * sizeof(random_ptx::Word));
  run.buffers.emplace_back(threads * private_bytes);
  run.buffers.emplace_back(random_ptx::sum_count * sizeof(std::uint64_t));
  return run;
}

class Results : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Results, AreThoseOfTheKernel) {
  const random_ptx::Program program = random_ptx::random_program({.seed = GetParam()});
  const KernelRun run = run_of(program);
  const auto native = buffers_after(run, program.text, {});
  std::size_t sites = 0;
  for (const Perturbation& each : all_perturbations()) {
    const engine::Instrumented variant = perturbed(program.text, program.kernel, each);
    for (const PerturbedSite& site : variant.perturbed) sites += site.is_perturbed ? 1 : 0;
    EXPECT_EQ(buffers_after(run, variant.ptx, variant.probe), native) << to_text(each);
  }
  EXPECT_GT(sites, 100) << "the program has too few operations to test anything";
}

/// A kernel whose threads apply operations to pairs of special values: lines `%d = op %a, %b(, %a)`.
std::string kernel_of_pairs(const std::string& type, const std::vector<std::string>& operations) {
  const std::string bytes = type == "f64" ? "8" : "4";
  const std::string out_bytes = std::to_string(operations.size() * (type == "f64" ? 8 : 4));
  std::string text =
      ".version 8.0 .target sm_80 .address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg ." +
      type +
      " %a, %b, %d; .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
      "and.b32 %r2, %r1, 15; shr.u32 %r3, %r1, 4;\n"
      "mad.wide.u32 %rd3, %r2, " +
      bytes + ", %rd1; mad.wide.u32 %rd4, %r3, " + bytes +
      ", %rd1;\n"
      "mad.wide.u32 %rd5, %r1, " +
      out_bytes +
      ", %rd2;\n"
      "ld.global." +
      type + " %a, [%rd3]; ld.global." + type + " %b, [%rd4];\n";
  std::size_t at = 0;
  for (const std::string& operation : operations) {
    const bool is_fused = operation.starts_with("fma");
    const bool has_one = operation.starts_with("sqrt") || operation.starts_with("cvt");
    text += operation + "." + type + " %d, %a" + (has_one ? "" : ", %b") + (is_fused ? ", %a" : "") + ";\n" +
            "st.global." + type + " [%rd5+" + std::to_string(at) + "], %d;\n";
    at += type == "f64" ? 8 : 4;
  }
  return text + "ret;\n}\n";
}

template <typename Word>
void expect_equal_results(const std::string& type, const std::vector<std::string>& operations,
                          const std::array<Word, 16>& values) {
  KernelRun run{kernel_of_pairs(type, operations), "k", 1, {256, 1}, {}};
  const auto bytes = std::as_bytes(std::span(values));
  run.buffers.emplace_back(bytes.begin(), bytes.end());
  run.buffers.emplace_back(256 * operations.size() * sizeof(Word));
  const auto native = buffers_after(run, run.ptx, {});
  for (const Perturbation& each : all_perturbations()) {
    const engine::Instrumented variant = perturbed(run.ptx, run.kernel, each);
    EXPECT_EQ(buffers_after(run, variant.ptx, variant.probe), native) << type << " " << to_text(each);
  }
}

TEST(SpecialValues, SinglePrecision) {
  // zeros, ones, infinities, quiet and signalling NaNs with payloads, subnormal and extreme numbers
  expect_equal_results<std::uint32_t>(
      "f32",
      {"add", "add.ftz", "add.rz", "sub.rn", "mul", "mul.ftz", "mul.rp", "fma.rn", "fma.rn.ftz", "fma.rm",
       "min", "max", "div.rn", "sqrt.rn", "cvt.rni.f32"},
      {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345, 0x7f800001,
       0xff812345, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x34000000});
}

TEST(SpecialValues, DoublePrecision) {
  expect_equal_results<std::uint64_t>(
      "f64",
      {"add", "add.rz", "sub.rn", "mul", "mul.rp", "fma.rn", "fma.rm", "min", "max", "div.rn", "sqrt.rn"},
      {0, 1ULL << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
       0x7ff8000000000001, 0xfff8000012345678, 0x7ff0000000000001, 0xfff0000012345678, 1, 0x800fffffffffffff,
       0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x3cb0000000000000});
}

TEST(LongKernels, RepeatOneOfSeveralOperations) {
  constexpr std::size_t operations = 5000;
  std::string text =
      ".version 8.0 .target sm_80 .address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
      ".reg .f32 %f<3>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\nld.global.f32 %f1, [%rd1];\n"
      "ld.global.f32 %f2, [%rd1+4];\n";
  for (std::size_t i = 0; i < operations; ++i) text += "add.f32 %f1, %f1, %f2;\n";
  text += "st.global.f32 [%rd1], %f1;\nret;\n}\n";
  const engine::Instrumented variant = perturbed(text, "k", {Operation::fp32, Form::again, {}});
  ASSERT_EQ(variant.perturbed.size(), operations);
  EXPECT_EQ(std::ranges::count_if(variant.perturbed, &PerturbedSite::is_perturbed), (operations + 2) / 3);
  EXPECT_EQ(variant.perturbed[1].note, "bounds the variant's text");
  const engine::Instrumented of_a_line = perturbed(text, "k", {Operation::fp32, Form::again, {9}});
  EXPECT_TRUE(of_a_line.perturbed.at(0).is_perturbed);
}

INSTANTIATE_TEST_SUITE_P(RandomKernels, Results, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace lynxpp::ptx::testing
