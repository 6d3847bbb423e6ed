// Kernels as `lynxpp characterize` sees them: a few ratios of each, and how these go together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/reader.h"

namespace lynxpp::cli {

/// What is measured with.
inline constexpr const char* characterize_specifications =
    "instruction_count,branch_divergence,memory_efficiency";

/// In the order of KernelCharacter::measures.
inline constexpr std::array<const char*, 4> measure_names{"simd", "divergence", "memory", "intensity"};

/// Of all launches of one kernel in one run.
struct KernelCharacter {
  std::string program;
  std::string kernel;  ///< demangled
  std::uint64_t launches = 0;
  double thread_instructions = 0;
  double warp_instructions = 0;
  /// Lanes that do something, branches that diverge, bytes asked for over bytes moved, instructions that
  /// access memory; none where nothing of the kind was executed.
  std::array<std::optional<double>, measure_names.size()> measures;
};

/// In the order of the kernels' first launches.
std::vector<KernelCharacter> characters_of(const std::string& program,
                                           const std::vector<report::Record>& records);

struct MeasureCorrelation {
  std::size_t one = 0;  ///< index into measure_names
  std::size_t other = 0;
  std::optional<double> value;  ///< none: fewer than three kernels, or a measure that does not vary
  std::size_t kernels = 0;      ///< that have both measures
};

/// Pearson's, of each two measures.
std::vector<MeasureCorrelation> correlations_of(const std::vector<KernelCharacter>& kernels);

}  // namespace lynxpp::cli
