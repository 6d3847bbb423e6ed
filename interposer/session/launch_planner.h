// Chooses the variant of a launch, and computes what its launches have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"
#include "interposer/configuration.h"
#include "interposer/graph_launch.h"
#include "interposer/session/kernel_state.h"
#include "interposer/session/known_kernels.h"
#include "interposer/session/variant_cache.h"
#include "interposer/session/variant_maker.h"
#include "support/result.h"
#include "support/tensor_boxes.h"

namespace lynxpp::interposer {

/// Thread safe, without a lock of its own.
class LaunchPlanner {
 public:
  /// The arguments must outlive the object.
  LaunchPlanner(const Configuration& configuration, KnownKernels& kernels, VariantCache& variants,
                VariantMaker& maker)
      : configuration_(configuration), kernels_(kernels), variants_(variants), maker_(maker) {}

  /// Sets the reader of tensor maps' boxes. Call it before the first launch.
  void use_tensor_boxes(TensorBoxReader reader) { find_tensor_box_ = std::move(reader); }

  /// Returns the variant for the launch, after creating it or waiting for another thread that is creating it;
  /// a kernel that cannot be instrumented has a problem. Null if the original must run: the session has
  /// ended, or a thread compiles the variant meanwhile. The state of kernels must not be held.
  KernelPtr kernel_for(Seen& seen, const std::shared_ptr<const Attached>& attached, device::Device& device,
                       const device::Launch& launch, const KernelSource& source);
  /// Returns the plan for launches of the variant like this one. `keeps_counters`: large arrays of counters
  /// may stay in device memory (device/counter_memory.h).
  Result<PlanPtr> plan_for(Seen& seen, const KernelPtr& made, device::Device& device,
                           const device::Launch& launch, bool keeps_counters);
  /// Returns the plan of an earlier launch like this one; null if none can be used now. Precondition:
  /// something is attached.
  PlanPtr known_plan(const Seen& seen, const device::Device& device, const device::Launch& launch,
                     std::uint64_t image) const LYNXPP_REQUIRES(kernels_state);
  /// Drops the chosen variants and their plans. They are unloaded when nothing uses them.
  void drop(const std::function<bool(const InstrumentedKernel&)>& is_dropped);

 private:
  BlockRoom room_of(const Attached& attached, const device::Launch& launch) const;
  /// True if the launch can use the plan, which is of the launch's kernel. Launches whose tensor copies move
  /// other amounts share no counters.
  bool fits(const LaunchPlan& plan, const device::Launch& launch) const;
  /// True if the kernel gets no variant yet: it has hardly been launched, and others have taken
  /// Configuration::compile_budget, or a fifth of it if several modules have a kernel of its name.
  bool is_deferred(const Seen& seen, const device::Device& device) const LYNXPP_REQUIRES(kernels_state);
  /// Records a newly created variant, or the attempt, in coverage.
  void note_made(Seen& seen, InstrumentedKernel& kernel, const Learned& learned);
  /// Moves the plans with these kernels.
  static void drop_plans(Seen& seen, std::vector<PlanPtr>& dropped,
                         const std::function<bool(const InstrumentedKernel&)>& is_dropped)
      LYNXPP_REQUIRES(kernels_state);

  const Configuration& configuration_;
  KnownKernels& kernels_;
  VariantCache& variants_;
  VariantMaker& maker_;
  TensorBoxReader find_tensor_box_;
};

}  // namespace lynxpp::interposer
