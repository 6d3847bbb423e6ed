// The order of the interposer's locks. A thread that holds a lock waits only for locks further down this
// table; builds with checks (support/check.h) fail otherwise. liblynxpp.so and the engine each check their
// own locks.
#pragma once

#include <cstdint>

namespace lynxpp {

enum class LockRank : std::uint8_t {
  graph,          ///< preload::ExecutableGraph::mutex: held during the graph's launches
  opening,        ///< the start of the engine by liblynxpp.so
  attaching,      ///< a change of what is attached, in liblynxpp.so
  engine,         ///< the creation of the process's engine
  closing,        ///< CounterSharing::closing_: reading back shared counters
  taking,         ///< ResultsPipeline::taking_: the order of results
  records,        ///< Recorder::mutex_: the sink and the reports' variables
  state,          ///< KnownKernels::mutex_: what is attached, and the state of kernels
  graphs,         ///< GraphLauncher::mutex_: the program's graphs
  variants,       ///< VariantCache::mutex_
  sharing,        ///< CounterSharing::mutex_: counters that are open
  results,        ///< ResultsPipeline::mutex_: the queue of outstanding launches
  readback,       ///< SharedReadback: the results of a graph's launch
  traces,         ///< LaunchStreams::Core: the rings of a launch
  trials,         ///< Trials::mutex_
  trial_variant,  ///< TrialVariants::Entry: held while the variant is made
  contexts,       ///< DeviceContexts::mutex_: held while a device is made
  binding,        ///< changes of the imports of loaded objects, in liblynxpp.so
  leaf,           ///< every mutex whose owner waits for no other
};

/// The ranked locks that a thread holds.
class HeldLocks {
 public:
  /// True if the thread may wait for a lock of this rank.
  bool may_wait_for(LockRank rank) const { return held_ >> static_cast<unsigned>(rank) == 0; }
  void acquired(LockRank rank) { held_ |= bit(rank); }
  void released(LockRank rank) { held_ &= ~bit(rank); }

  static HeldLocks& of_thread() {
    static thread_local HeldLocks held;
    return held;
  }

 private:
  static std::uint32_t bit(LockRank rank) { return std::uint32_t{1} << static_cast<unsigned>(rank); }

  std::uint32_t held_ = 0;  ///< a bit per rank
};

}  // namespace lynxpp
