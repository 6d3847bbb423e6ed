// The variant that each trial of a kernel runs: the schedule of classes and lines (models/limits/schedule.h),
// or a fixed list of variants in turn.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "models/limits/schedule.h"
#include "ptx/perturb/perturbation.h"

namespace lynxpp::interposer {

using models::limits::TrialId;

/// Not thread safe.
class Turns {
 public:
  virtual ~Turns() = default;

  /// Returns what the next launch runs; nullopt once nothing is left to try.
  virtual std::optional<TrialId> next() = 0;
  /// Returns what next() chose; nullopt: the original.
  virtual std::optional<ptx::Perturbation> perturbation(TrialId id) const = 0;
  /// Adds the time of a launch that next() chose; NaN: it could not be measured.
  virtual void add(TrialId id, double milliseconds) = 0;
  /// Abandons a variant that cannot be made.
  virtual void drop(TrialId id) = 0;
};

/// Sites of one class of operations in a kernel.
struct ClassSites {
  ptx::Operation operation = ptx::Operation::shared_access;
  std::vector<ptx::PerturbedSite> sites;
};

/// Returns turns for all classes, then for source lines. `launches` limits the trials of classes, and again
/// those of lines.
std::unique_ptr<Turns> turns_of_classes(const std::vector<ClassSites>& classes, std::size_t launches,
                                        bool is_deterministic);

/// Returns turns that repeat the original and then each variant, up to `launches` trials.
std::unique_ptr<Turns> turns_of_list(std::vector<ptx::Perturbation> perturbations, std::size_t launches);

}  // namespace lynxpp::interposer
