// Launches a kernel with counted executions and compares with the cpu device's own counters.
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

/// Blocks and instructions, by threads and by warps: everything that can be counted.
extern const char* const everything;
/// Blocks, by threads.
extern const char* const threads_only;
/// Sums over all blocks and instructions: counters with equal factors in all sums are merged.
extern const char* const only_sums;
/// Instructions executed by threads and by warps.
extern const char* const only_instructions;

/// Returns a module with the given functions and the kernel k(out). %r4 is the thread's number, %rd1 its
/// address in `out`, %r5 a random value per lane, %r6 a random uniform value; %r7 and %r8 are zero.
std::string module_of(const std::string& functions, const std::string& body);

/// The number and seed of a test's random kernels: LYNXPP_RANDOM_KERNELS and LYNXPP_RANDOM_SEED, or the
/// test's defaults.
struct RandomKernels {
  RandomKernels(int usual_count, std::uint32_t usual_seed);
  int count = 0;
  std::mt19937 random;
  /// True if all default kernels are included: only then are their common properties known.
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

  /// Makes variants for launches of this shape instead of the launch's own, which knows the shape of blocks.
  void assume(const ptx::LaunchShape& shape) { shape_ = shape; }

  /// Lanes add their values separately above this value instead of 2^27.
  void sum_at_most(std::uint32_t number) { most_summed_ = number; }

  /// Runs the original kernel, whose output and device counters are the reference.
  void native();

  /// Returns the arrays of the specification. `plain`: every handler runs and nothing is derived.
  std::vector<std::vector<std::uint64_t>> count(const std::string& specification, bool plain, bool wide,
                                                int sm);

  /// Compares all of `everything` with the device and with plain handlers. Requires ptxas.
  void expect_exact(bool wide = false, int sm = 90);

  /// Same, without ptxas, which takes too long for thousands of kernels.
  bool is_exact(bool wide = false, int sm = 90);
  /// Same for `only_sums`.
  bool has_exact_sums(bool wide = false, int sm = 90);
  /// Same for `only_instructions`.
  bool has_exact_instructions(bool wide = false, int sm = 90);

  const std::string& variant() const { return variant_; }
  /// The plan of the last count that was not plain.
  const ptx::CountPlan& plan() const { return *counting_->plan; }
  const engine::Counting& counting() const { return *counting_; }

 private:
  void order_counters();
  bool has_exact(const char* specification, const std::vector<std::uint64_t>& expected, bool wide, int sm);
  void run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
           device::cpu::LaunchCounters* counters);

  const std::string ptx_;
  const std::array<std::uint32_t, 3> grid_, block_;
  const std::uint32_t threads_;  ///< per block
  ptx::LaunchShape shape_;
  std::optional<std::uint32_t> most_summed_;
  device::cpu::LaunchCounters counters_;
  std::vector<std::uint32_t> output_, native_output_;
  std::string variant_;
  std::shared_ptr<const SiteTable> sites_;  ///< of the variant
  std::shared_ptr<const engine::Counting> counting_;
};

}  // namespace lynxpp::cod
