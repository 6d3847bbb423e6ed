// Instruments kernels and loads their variants, for one launch or ahead of it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/configuration.h"
#include "interposer/dump_folder.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/kernel_state.h"
#include "interposer/session/variant_cache.h"
#include "interposer/session/variants_ahead.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Thread safe. No lock is held while the compiler works.
class VariantMaker {
 public:
  /// True if the kernel of this (mangled) name is wanted.
  using Selects = std::function<bool(const std::string& kernel)>;

  /// `compiles_ahead`: threads compile variants before a launch needs them. `configuration` and `variants`
  /// must outlive the object.
  VariantMaker(const Configuration& configuration, bool compiles_ahead, VariantCache& variants,
               Selects selects);

  /// Instruments the kernel and loads the variant, or says in InstrumentedKernel::problem why that is
  /// impossible. Returns what is known of the kernel after that. Does not throw.
  Learned make(InstrumentedKernel& kernel, const device::Launch& launch, const KernelSource& source);
  /// True if the original kernel runs because a thread is compiling the variant, which is not in the cache.
  bool runs_original(const VariantCache::Wanted& wanted, const device::Launch& launch,
                     const KernelSource& source);
  /// Forgets the chosen variants that are compiled ahead. Waits for those being compiled, at most `patience`.
  void forget(const std::function<bool(const VariantsAhead::Key&)>& is_chosen,
              std::chrono::milliseconds patience);
  /// Ends compiling ahead.
  void stop();

 private:
  Status prepare(InstrumentedKernel& kernel, const device::Launch& launch, const KernelSource& source,
                 Learned& learned);
  void note_problem(InstrumentedKernel& kernel, const Failure& failure);
  bool make_with_spare_counters(InstrumentedKernel& kernel, const device::Launch& launch,
                                engine::Request request);
  Status make_best_variant(InstrumentedKernel& kernel, const device::Launch& launch,
                           engine::Request& request);
  static Status check_replay(const InstrumentedKernel& kernel, const device::Launch& launch);
  static Result<std::string> obstacle_to_block_counters(const InstrumentedKernel& kernel,
                                                        const device::Launch& launch);
  Status keep_occupancy(InstrumentedKernel& kernel, const device::Launch& launch, engine::Request& request);
  /// Instruments and loads, unless the resulting text equals `refused`.
  Status make_variant(InstrumentedKernel& kernel, const device::Launch& launch,
                      const engine::Request& request, const std::string& refused = {});
  static VariantsAhead::Key key_of(const InstrumentedKernel& kernel);
  /// Returns the request for a variant without knowledge of a launch.
  engine::Request request_for(const Attached& attached, const device::Device& device, const std::string& text,
                              std::string kernel, const Learned& learned) const;
  /// Returns a job that instruments and compiles the kernel of the module for blocks like those of `block`.
  VariantsAhead::Job job_for(VariantsAhead::Key key, std::shared_ptr<const Attached> attached,
                             device::Device& device, std::shared_ptr<const std::string> text,
                             const std::uint32_t (&block)[3]) const;
  /// Queues the other kernels of a module with few kernels.
  void compile_others(const InstrumentedKernel& kernel, const device::Launch& launch,
                      const std::string& text);
  /// Loads the variant of kernel.instrumented, which may have been compiled ahead.
  Result<std::unique_ptr<device::Variant>> load(const InstrumentedKernel& kernel,
                                                const device::Launch& launch);

  const Configuration& configuration_;
  const bool streams_traces_;
  VariantCache& variants_;
  const Selects selects_;
  DumpFolder dump_;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  /// Problems of kernels; each causes one warning.
  std::set<std::string> warned_problems_ LYNXPP_GUARDED_BY(mutex_);
  const std::unique_ptr<VariantsAhead> ahead_;  ///< null: not wanted
};

}  // namespace lynxpp::interposer
