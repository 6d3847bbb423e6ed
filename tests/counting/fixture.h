// A launch of a kernel whose executions are counted, beside the cpu device's own counters.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cod/site_table.h"
#include "device/cpu/simt/execute/executor.h"
#include "engine/counters.h"
#include "ptx/analysis/launch_shape.h"

namespace lynxpp::cod {

/// Blocks and instructions, by threads and by warps: all that can be counted.
extern const char* const everything;
/// Of blocks, by threads.
extern const char* const threads_only;
/// What all blocks and instructions add up to: counters with the same part in all sums are one.
extern const char* const only_sums;
/// How many instructions threads and warps have run.
extern const char* const only_instructions;

/// A module with the kernel k(out), which has functions, %r4 the thread's number, %rd1 its place in `out`,
/// %r5 random and differing, %r6 random, %r7 and %r8 zero.
std::string module_of(const std::string& functions, const std::string& body);

/// How many kernels a test makes at random, and from which numbers: LYNXPP_RANDOM_KERNELS and
/// LYNXPP_RANDOM_SEED, or else what is usual for it.
struct RandomKernels {
  RandomKernels(int usual_count, std::uint32_t usual_seed);
  int count = 0;
  std::mt19937 random;
  /// all the usual ones are among them: only of these it is known what they have in common
  bool has_usual = false;
};

class CountedLaunch {
 public:
  CountedLaunch(const std::string& ptx, std::uint32_t blocks, std::uint32_t threads)
      : CountedLaunch(ptx, {blocks, 1, 1}, threads) {}
  CountedLaunch(const std::string& ptx, const std::array<std::uint32_t, 3>& grid, std::uint32_t threads)
      : CountedLaunch(ptx, grid, std::array{threads, 1u, 1u}) {}
  CountedLaunch(const std::string& ptx, const std::array<std::uint32_t, 3>& grid,
                const std::array<std::uint32_t, 3>& block)
      : ptx_(ptx),
        grid_(grid),
        block_(block),
        threads_(block[0] * block[1] * block[2]),
        shape_{threads_ % 32 == 0, block[0] % 32 == 0} {}

  /// Variants are made for launches of this shape instead of the launch's own, of which is known what blocks
  /// are like.
  void assume(const ptx::LaunchShape& shape) { shape_ = shape; }

  /// Lanes add their numbers one by one above this instead of 2^27.
  void sum_at_most(std::uint32_t number) { most_summed_ = number; }

  /// Runs the original: its output and the device's counters are what the others are compared with.
  void native();

  /// The arrays of the specification; `plain`: every handler runs, nothing is worked out.
  std::vector<std::vector<std::uint64_t>> count(const std::string& specification, bool plain, bool wide,
                                                int sm);

  /// All of `everything`, against the device and against plain handlers; takes ptxas.
  void expect_exact(bool wide = false, int sm = 90);

  /// Without ptxas, which takes too long for thousands of kernels.
  bool is_exact(bool wide = false, int sm = 90);
  /// The same for `only_sums`.
  bool has_exact_sums(bool wide = false, int sm = 90);
  /// … for `only_instructions`.
  bool has_exact_instructions(bool wide = false, int sm = 90);

  const std::string& variant() const { return variant_; }
  /// Of the last count that was not plain.
  const ptx::CountPlan& plan() const { return *counting_->plan; }
  const engine::Counting& counting() const { return *counting_; }

 private:
  void order_counters();
  bool has_exact(const char* specification, const std::vector<std::uint64_t>& expected, bool wide, int sm);
  void run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
           device::cpu::LaunchCounters* counters);

  const std::string ptx_;
  const std::array<std::uint32_t, 3> grid_, block_;
  const std::uint32_t threads_;  ///< of a block
  ptx::LaunchShape shape_;
  std::optional<std::uint32_t> most_summed_;
  device::cpu::LaunchCounters counters_;
  std::vector<std::uint32_t> output_, native_output_;
  std::string variant_;
  std::shared_ptr<const SiteTable> sites_;  ///< of the variant
  std::shared_ptr<const engine::Counting> counting_;
};

}  // namespace lynxpp::cod
