// Kernels as `lynxpp characterize` shows them: a few ratios of each, and how they correlate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/reader.h"

namespace lynxpp::cli {

/// The specifications used for measuring.
inline constexpr const char* characterize_specifications =
    "instruction_count,branch_divergence,memory_efficiency";

/// In the order of KernelCharacter::measures.
inline constexpr std::array<const char*, 4> measure_names{"simd", "divergence", "memory", "intensity"};

/// All launches of one kernel in one run.
struct KernelCharacter {
  std::string program;
  std::string kernel;  ///< demangled
  std::uint64_t launches = 0;
  double thread_instructions = 0;
  double warp_instructions = 0;
  /// Active lanes, branches that diverge, requested bytes per transferred byte, and instructions that access
  /// memory, each as a share; nullopt if nothing of the kind was executed.
  std::array<std::optional<double>, measure_names.size()> measures;
};

/// Returns the kernels in the order of their first launches.
std::vector<KernelCharacter> characters_of(const std::string& program,
                                           const std::vector<report::Record>& records);

struct MeasureCorrelation {
  std::size_t one = 0;  ///< index into measure_names
  std::size_t other = 0;
  std::optional<double> value;  ///< nullopt: fewer than three kernels, or a measure is constant
  std::size_t kernels = 0;      ///< that have both measures
};

/// Returns Pearson's correlation of each pair of measures.
std::vector<MeasureCorrelation> correlations_of(const std::vector<KernelCharacter>& kernels);

}  // namespace lynxpp::cli
