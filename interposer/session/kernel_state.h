// The state of a kernel: its variants, its launches' common properties, and its coverage.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/dump_folder.h"
#include "interposer/results/launched_words.h"
#include "interposer/results/probe_buffer.h"
#include "interposer/session/attached.h"
#include "report/record.h"
#include "support/result.h"
#include "support/thread_safety.h"

namespace lynxpp::interposer {

inline std::string first_message(const Failure& failure) {
  if (failure.diagnostics.empty()) return "unknown reason";
  const Diagnostic& diagnostic = failure.diagnostics.front();
  std::string text = diagnostic.message;
  if (diagnostic.location.line != 0) text += " (PTX line " + std::to_string(diagnostic.location.line) + ")";
  return text;
}

inline void add_once(std::vector<std::string>& notes, const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

/// The state of kernels, which KnownKernels::State locks.
class LYNXPP_CAPABILITY("state of kernels") KernelsState {};
inline constexpr KernelsState kernels_state;

struct LaunchPlan;
struct Seen;
struct SharedCounters;

/// Stack size for compilers, which recurse; threads that launch may have less.
inline constexpr std::size_t compilers_stack = std::size_t{1} << 20;

/// Launch properties that affect occupancy.
struct BlockRoom {
  std::uint64_t threads = 0;
  std::uint32_t shared_bytes = 0;

  bool operator==(const BlockRoom&) const = default;
};

/// Properties that a kernel's launches have shown and that determine later variants.
struct Learned {
  /// A launch took so long that a narrow counter or an index may have overflowed.
  bool wide_counters = false;
  bool replays = true;  ///< accesses that follow from parameters need no probe; false: a replay has failed

  bool operator==(const Learned&) const = default;
};

/// A kernel of one image on one device, instrumented for launches of one shape or found impossible to
/// instrument. Only the creating thread accesses it until `is_made`; it is immutable afterwards.
struct InstrumentedKernel {
  bool is_made = false;  ///< guarded by VariantCache
  std::string name;      ///< mangled
  device::Device* device = nullptr;
  std::uint64_t image = 0;
  std::shared_ptr<const Attached> attached;
  engine::Instrumented instrumented;
  DumpFolder::Files dumped;
  std::size_t sites = 0;                     ///< index of this variant's table in Seen::sites
  std::shared_ptr<device::Variant> variant;  ///< variants with the same text share one
  std::shared_ptr<const report::DeviceRecord> device_record;
  engine::LaunchShape shape;      ///< shape of the launches that it is for
  BlockRoom room;                 ///< … if counters may be in shared memory
  Learned learned;                ///< guarded by VariantCache
  std::string problem;            ///< why it runs uninstrumented; empty if it is instrumented
  bool lacks_ptx = false;         ///< true if the problem is that its PTX is not available
  std::string ptx_origin;         ///< KernelPtx::origin
  std::vector<std::string> idle;  ///< specifications for which it has no site
  std::shared_ptr<const std::vector<report::SitesRecord::PtxPart>> ptx;  ///< null: not reported
  /// Time spent on creating it, in milliseconds.
  struct Spent {
    double parse = 0, instrument = 0, emit = 0, load = 0;
  } spent;
  /// Words that its last launch counted.
  std::shared_ptr<const LaunchedWords> words LYNXPP_GUARDED_BY(kernels_state);
};

/// The common part of launches of one variant with one grid, except counted words: created once for many
/// launches. Owns everything that they and their reports need.
struct LaunchPlan {
  std::shared_ptr<InstrumentedKernel> kernel;  ///< null: the original was timed
  std::shared_ptr<const Attached> attached;
  Seen* seen = nullptr;
  std::string module;  ///< report::LaunchPlace::module
  device::DeviceInfo device;
  std::shared_ptr<const report::DeviceRecord> device_record;  ///< null: the original was timed
  std::size_t sites = 0;                                      ///< index in Seen::sites
  std::shared_ptr<const cod::SiteTable> site_table;
  cod::LaunchView view;
  std::shared_ptr<const engine::Counting> counting;
  std::shared_ptr<device::Variant> variant;    ///< stays loaded while it runs
  std::shared_ptr<const LaunchedWords> words;  ///< null: no words are counted
  std::optional<device::KernelNeeds> needs;    ///< for launches whose words are counted
  ProbeLayout layout;
  mutable std::atomic<std::uint64_t> own_records = 0;         ///< launches that had a record of their own
  mutable std::vector<std::shared_ptr<SharedCounters>> open;  ///< guarded by CounterSharing
};

/// Launches that ran uninstrumented because memory for their counters was missing.
struct LackOfMemory {
  std::uint64_t launches = 0;
  std::uint64_t bytes = 0;  ///< largest size of a launch's probe buffers
  std::string why;

  void add(std::uint64_t wanted, std::string reason) {
    ++launches;
    bytes = std::max(bytes, wanted);
    why = std::move(reason);
  }
};

/// Assigns the numbers of a kernel's launches.
struct LaunchNumbers {
  std::map<int, std::uint64_t> by_device;  ///< launches so far, by the device's ordinal
  std::uint64_t elsewhere = 0;             ///< launches that were only counted, on an unknown device

  /// Returns the number of the next launch on the device.
  std::uint64_t next(int ordinal) { return elsewhere + by_device[ordinal]++; }
};

/// A kernel's state. Lives as long as the session.
struct Seen {
  /// The site tables of its variants, each stored once, and whether the report has it.
  struct Sites {
    std::shared_ptr<const cod::SiteTable> table;
    std::optional<std::uint64_t> number = {};                                        ///< nullopt: not written
    std::shared_ptr<const std::vector<report::SitesRecord::PtxPart>> ptx = nullptr;  ///< null: not reported
  };

  explicit Seen(std::string name_of_kernel = "") : name(std::move(name_of_kernel)) {
    coverage.kernel = timing.kernel = name;
  }

  const std::string name;                      ///< mangled
  std::atomic<std::uint64_t> outstanding = 0;  ///< launches whose results are not collected yet

  bool wanted LYNXPP_GUARDED_BY(kernels_state) = true;  ///< by LYNXPP_KERNELS or the filter that overrides it
  Learned learned LYNXPP_GUARDED_BY(kernels_state);
  /// Launches that ran uninstrumented because of a problem.
  std::uint64_t unmeasured LYNXPP_GUARDED_BY(kernels_state) = 0;
  LaunchNumbers numbers LYNXPP_GUARDED_BY(kernels_state);
  /// Launches, by device ordinal, that no filter selected. They are counted without holding the state.
  std::map<int, std::atomic<std::uint64_t>> unselected LYNXPP_GUARDED_BY(kernels_state);
  /// Launches that are never instrumented, by kind.
  std::map<std::string, std::uint64_t> natively LYNXPP_GUARDED_BY(kernels_state);
  std::uint64_t lost LYNXPP_GUARDED_BY(kernels_state) = 0;  ///< launches whose results are lost
  LackOfMemory no_room LYNXPP_GUARDED_BY(kernels_state);
  /// Under the current or last specifications.
  report::CoverageRecord coverage LYNXPP_GUARDED_BY(kernels_state);
  /// Under other specifications.
  std::vector<report::CoverageRecord> earlier LYNXPP_GUARDED_BY(kernels_state);
  report::TimingRecord timing LYNXPP_GUARDED_BY(kernels_state);
  std::uint64_t most_warps_per_sm LYNXPP_GUARDED_BY(kernels_state) = 0;  ///< of the device; 0: unknown
  /// Plans of its last launches, if later launches can use them.
  std::vector<std::shared_ptr<const LaunchPlan>> plans LYNXPP_GUARDED_BY(kernels_state);
  std::vector<Sites> sites LYNXPP_GUARDED_BY(kernels_state);
  /// Tables of all kernels of this name; used in the first of them only.
  std::uint64_t written_sites LYNXPP_GUARDED_BY(kernels_state) = 0;

  /// Returns the record for a launch made while `attached` was attached.
  report::CoverageRecord& coverage_of(const Attached& attached) LYNXPP_REQUIRES(kernels_state) {
    const auto found = std::ranges::find(earlier, attached.names, &report::CoverageRecord::specs);
    return found != earlier.end() ? *found : coverage;
  }

  /// Begins coverage of launches under these specifications.
  void begin_coverage(const std::vector<std::string>& specs) LYNXPP_REQUIRES(kernels_state);

  /// Writes counts that were only accumulated so far to the record.
  void close_coverage() LYNXPP_REQUIRES(kernels_state);

  /// Adds the launches counted in `unselected` to the others.
  void add_unselected() LYNXPP_REQUIRES(kernels_state) {
    for (auto& [ordinal, launches] : unselected) {
      const std::uint64_t more = launches.exchange(0, std::memory_order_relaxed);
      coverage.launches += more;
      numbers.by_device[ordinal] += more;
    }
  }

  std::size_t index_of(const std::shared_ptr<const cod::SiteTable>& table) LYNXPP_REQUIRES(kernels_state) {
    const auto known =
        std::find_if(sites.begin(), sites.end(), [&](const Sites& each) { return *each.table == *table; });
    if (known != sites.end()) return static_cast<std::size_t>(known - sites.begin());
    sites.push_back({table});
    return sites.size() - 1;
  }
};

/// A launch in progress counts as outstanding, so that it is reported missing if the program ends meanwhile.
class Outstanding {
 public:
  explicit Outstanding(Seen& seen) : seen_(&seen) { ++seen.outstanding; }
  ~Outstanding() {
    if (seen_ != nullptr) --seen_->outstanding;
  }
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;

  /// The launch stays outstanding until its results are settled.
  void settled_later() { seen_ = nullptr; }

 private:
  Seen* seen_;
};

using KernelPtr = std::shared_ptr<InstrumentedKernel>;
using PlanPtr = std::shared_ptr<const LaunchPlan>;

}  // namespace lynxpp::interposer
