// Every perturbation of random kernels: the memory after the launch is byte for byte that of the kernel.
#include <gtest/gtest.h>

#include <cstring>

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

INSTANTIATE_TEST_SUITE_P(RandomKernels, Results, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace lynxpp::ptx::testing
