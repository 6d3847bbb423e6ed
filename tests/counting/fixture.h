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
#include "tests/support/golden_file.h"

namespace lynxpp::cod {

/// Blocks and instructions, by threads and by warps: everything that can be counted.
extern const char* const everything;
/// Sums over all blocks and instructions: counters with equal factors in all sums are merged.
extern const char* const only_sums;
/// Instructions executed by threads and by warps.
extern const char* const only_instructions;

/// Reads tests/counting/golden/NAME.ptx.
GoldenFile golden_kernel(const std::string& name);

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

/// How a variant counts.
enum class Form {
  narrow,        ///< 32-bit counters, for sm_90
  wide,          ///< 64-bit counters
  before_sm_80,  ///< for sm_75, without redux.sync
  plain          ///< every handler runs, and nothing is derived
};
constexpr Form derived_forms[] = {Form::narrow, Form::wide, Form::before_sm_80};

struct Grid {
  std::array<std::uint32_t, 3> blocks;
  std::array<std::uint32_t, 3> threads;  ///< per block
};

/// A launch of k(out), which may have another parameter.
class CountedLaunch {
 public:
  CountedLaunch(const std::string& ptx, std::uint32_t blocks, std::uint32_t threads)
      : CountedLaunch(ptx, {{blocks, 1, 1}, {threads, 1, 1}}) {}
  CountedLaunch(const std::string& ptx, const Grid& grid, std::optional<std::uint32_t> parameter = {})
      : ptx_(ptx),
        grid_(grid),
        threads_(grid.threads[0] * grid.threads[1] * grid.threads[2]),
        parameter_(parameter),
        shape_{threads_ % 32 == 0, grid.threads[0] % 32 == 0} {}

  /// Makes variants for launches of this shape instead of the launch's own, which knows the shape of blocks.
  void assume(const ptx::LaunchShape& shape) { shape_ = shape; }

  /// Lanes add their values separately above this value instead of 2^27.
  void sum_at_most(std::uint32_t number) { most_summed_ = number; }

  /// Runs the original kernel, whose output and device counters are the reference.
  void native();

  /// Returns the arrays of the specification.
  std::vector<std::vector<std::uint64_t>> count(const std::string& specification, Form form = Form::narrow);

  /// Compares all of `everything` with the device. The reason is a test failure.
  bool is_exact(Form form = Form::narrow);
  /// Same for `only_sums`.
  bool has_exact_sums(Form form = Form::narrow);
  /// Same for `only_instructions`.
  bool has_exact_instructions(Form form = Form::narrow);

  const std::string& variant() const { return variant_; }
  /// The plan of the last count that was not plain.
  const ptx::CountPlan& plan() const { return *counting_->plan; }
  const engine::Counting& counting() const { return *counting_; }
  /// The counters of native(), in the order of the variant's functions after is_exact().
  const device::cpu::LaunchCounters& device_counters() const { return counters_; }

 private:
  void order_counters();
  bool has_exact(const char* specification, const std::vector<std::uint64_t>& expected, Form form);
  void run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
           device::cpu::LaunchCounters* counters);

  const std::string ptx_;
  const Grid grid_;
  const std::uint32_t threads_;  ///< per block
  const std::optional<std::uint32_t> parameter_;
  ptx::LaunchShape shape_;
  std::optional<std::uint32_t> most_summed_;
  device::cpu::LaunchCounters counters_;
  std::vector<std::uint32_t> output_, native_output_;
  std::string variant_;
  std::shared_ptr<const SiteTable> sites_;  ///< of the variant
  std::shared_ptr<const engine::Counting> counting_;
};

}  // namespace lynxpp::cod
