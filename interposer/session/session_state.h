// A launch session's state, shared by the files that implement it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/graphs.h"
#include "instrumentors/catalogue.h"
#include "interposer/results/emitted.h"
#include "interposer/results/launched_words.h"
#include "interposer/results/live_arrays.h"
#include "interposer/results/probe_buffer.h"
#include "interposer/session/session.h"
#include "support/recycled.h"
#include "support/text.h"

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

/// A set of specifications, shared by the launches made while it was attached.
struct Session::Attached {
  std::vector<engine::SpecificationPtr> specifications;
  std::vector<std::string> names;           ///< names of `specifications`
  std::vector<std::uint64_t> every_launch;  ///< for each specification: launches sampled, every n-th
  std::vector<std::shared_ptr<const cod::HostReport>> reports;
  bool counts_shared_memory = false;
  bool emits_addresses = false;
  bool adds_up = true;  ///< launches can share counters: are_sums() of all specifications
  // Guarded by Session::records_: host variables, and whether a launch has been reported.
  mutable std::vector<std::vector<std::byte>> host;
  mutable bool has_launches = false;

  /// True if launches are trials (Configuration::trials).
  bool is_of_trials() const { return specifications.empty(); }

  /// True if some specification wants a kernel's launch with this number.
  bool samples(std::uint64_t launch) const {
    return is_of_trials() || std::any_of(every_launch.begin(), every_launch.end(),
                                         [&](std::uint64_t every) { return launch % every == 0; });
  }

  /// Adds all specifications of the list. Returns an error message; empty on success.
  std::string add_all(const std::string& list) {
    if (trim(list).empty()) return {};
    const Result<std::vector<instrumentors::LoadedSpecification>> loaded = instrumentors::parse_list(list);
    if (!loaded) return render(loaded.error().diagnostics);
    for (const instrumentors::LoadedSpecification& item : *loaded) {
      if (Status added = add(item); !added) return render(added.error().diagnostics, item.source);
    }
    return {};
  }

  Status add(const instrumentors::LoadedSpecification& item) {
    Result<engine::SpecificationPtr> specification = cod::compile(item.source, item.path);
    if (!specification) return specification.error();
    Result<std::shared_ptr<const cod::HostReport>> compiled = (*specification)->compile_host();
    if (!compiled) return compiled.error();
    every_launch.push_back((*specification)->sampling().launches);
    names.push_back((*specification)->name());
    emits_addresses |= (*specification)->emits_addresses();
    adds_up &= are_sums(**specification);
    specifications.push_back(std::move(*specification));
    host.push_back((*compiled)->initial_state());
    reports.push_back(std::move(*compiled));
    counts_shared_memory = LaunchedWords::count_shared_memory(specifications);
    return success();
  }
};

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
struct Session::Kernel {
  bool is_made = false;  ///< guarded by Session::state_
  device::Device* device = nullptr;
  std::uint64_t image = 0;
  std::shared_ptr<const Attached> attached;
  engine::Instrumented instrumented;
  DumpFolder::Files dumped;
  std::size_t sites = 0;                     ///< index of this variant's table in Seen::sites
  std::shared_ptr<device::Variant> variant;  ///< variants with the same text share one
  std::shared_ptr<const report::DeviceRecord> device_record;
  engine::LaunchShape shape;  ///< shape of the launches that it is for
  BlockRoom room;             ///< … if counters may be in shared memory
  Learned learned;
  std::string problem;     ///< why it runs uninstrumented; empty if it is instrumented
  bool lacks_ptx = false;  ///< true if the problem is that its PTX is not available
  /// Words that its last launch counted. Guarded by Session::state_.
  std::shared_ptr<const LaunchedWords> words;
  /// Plans of its last launches, if they can share one. Guarded by Session::state_.
  std::vector<std::shared_ptr<const Plan>> plans;
};

/// The common part of launches of one variant with one grid, except counted words: created once for many
/// launches. Owns everything that they and their reports need.
struct Session::Plan {
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
  // Guarded by Session::state_: launches that had a record of their own, and counters that others add to.
  mutable std::uint64_t own_records = 0;
  mutable std::vector<std::shared_ptr<Shared>> open;

  /// `tensor_copies`: the launch's. Launches whose copies move other amounts share no counters.
  bool is_for(const device::Launch& launch, const std::vector<cod::TensorCopySize>& tensor_copies) const {
    return std::ranges::equal(view.grid, launch.grid) && std::ranges::equal(view.block, launch.block) &&
           view.tensor_copies == tensor_copies;
  }
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

/// A kernel's state. Lives as long as the session. Guarded by Session::state_.
struct Session::Seen {
  bool wanted = true;  ///< by LYNXPP_KERNELS or the filter that overrides it
  Learned learned;
  std::uint64_t unmeasured = 0;  ///< launches that ran uninstrumented because of a problem
  LaunchNumbers numbers;
  /// Launches, by device ordinal, that no filter selected and that were counted without holding `state_`.
  std::map<int, std::atomic<std::uint64_t>> unselected;
  std::map<std::string, std::uint64_t> natively;  ///< launches that are never instrumented, by kind
  std::atomic<std::uint64_t> outstanding = 0;     ///< launches whose results are not collected yet
  std::uint64_t lost = 0;                         ///< launches whose results are lost
  LackOfMemory no_room;
  report::CoverageRecord coverage;              ///< under the current or last specifications
  std::vector<report::CoverageRecord> earlier;  ///< under other specifications
  report::TimingRecord timing;
  std::uint64_t most_warps_per_sm = 0;  ///< of the device; 0: unknown
  std::vector<KernelPtr> kernels;
  /// The site tables of its variants, each stored once, and whether the report has it.
  struct Sites {
    std::shared_ptr<const cod::SiteTable> table;
    std::optional<std::uint64_t> number = {};                                        ///< nullopt: not written
    std::shared_ptr<const std::vector<report::SitesRecord::PtxPart>> ptx = nullptr;  ///< null: not reported
  };
  std::vector<Sites> sites;
  /// Returns the record for a launch made while `attached` was attached.
  report::CoverageRecord& coverage_of(const Attached& attached) {
    const auto found = std::ranges::find(earlier, attached.names, &report::CoverageRecord::specs);
    return found != earlier.end() ? *found : coverage;
  }

  /// Begins coverage of launches under these specifications.
  void begin_coverage(const std::vector<std::string>& specs);

  /// Writes counts that were only accumulated so far to the record.
  void close_coverage();

  /// Adds the launches counted in `unselected` to the others.
  void add_unselected() {
    for (auto& [ordinal, launches] : unselected) {
      const std::uint64_t more = launches.exchange(0, std::memory_order_relaxed);
      coverage.launches += more;
      numbers.by_device[ordinal] += more;
    }
  }

  std::uint64_t written_sites = 0;  ///< tables of all kernels of this name; used in the first of them only

  std::size_t index_of(const std::shared_ptr<const cod::SiteTable>& table) {
    const auto known =
        std::find_if(sites.begin(), sites.end(), [&](const Sites& each) { return *each.table == *table; });
    if (known != sites.end()) return static_cast<std::size_t>(known - sites.begin());
    sites.push_back({table});
    return sites.size() - 1;
  }
};

/// An instrumented launch whose results (or an original launch whose time) are outstanding, or several that
/// shared counters.
struct Session::Pending : Recycled<Pending> {
  std::shared_ptr<const Plan> plan;
  std::uint64_t launch = 0;
  std::uint64_t last = 0;  ///< several: the greatest number; `launch` is the least
  std::uint64_t launches = 1;
  report::ActivityRecord activity;
  report::LaunchPlace place;                                   ///< without its module
  const device::Device* on = nullptr;                          ///< compared only
  std::unique_ptr<device::CounterMemory> kept;                 ///< null: none. Destroyed after the readback
  LaunchedWords::Finished words;                               ///< its word counts and notes
  std::shared_ptr<const device::LiveAllocations> allocations;  ///< null unless results contain addresses
  std::chrono::steady_clock::time_point begin;                 ///< before the launch was made
  bool counters_may_have_wrapped = false;
  bool indices_may_have_wrapped = false;
  std::optional<Trials::Run> trial;        ///< the launch only has a time
  std::unique_ptr<LaunchStreams> streams;  ///< null: none. Destroyed after the readback
  std::unique_ptr<LiveArrays> live;        ///< likewise
  std::unique_ptr<device::Readback> readback;
};

/// Counters that launches of one plan on one stream, made in the same ranges, add to.
struct Session::Shared {
  device::Device* device = nullptr;
  std::uint64_t image = 0;
  void* stream = nullptr;            ///< the program's
  std::vector<std::uint64_t> words;  ///< the hidden parameter of all its launches
  std::unique_ptr<device::Buffer> buffer;
  // Guarded by Session::state_ until it is read back.
  PendingPtr pending;             ///< the launches so far
  bool is_open = true;            ///< launches may join
  std::uint64_t in_progress = 0;  ///< threads that are launching with it
};

/// Outstanding launches of contexts that end, shared with the thread that waits for them.
struct Session::LastResults {
  std::mutex mutex;
  std::deque<PendingPtr> waiting;

  void add(std::deque<PendingPtr> more) {
    const std::lock_guard lock(mutex);
    std::ranges::move(more, std::back_inserter(waiting));
  }

  /// Returns null if none is left.
  PendingPtr next() {
    const std::lock_guard lock(mutex);
    if (waiting.empty()) return nullptr;
    PendingPtr first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }
};

/// A kernel node of a graph that is being launched.
struct Session::GraphNode {
  std::size_t index = 0;  ///< index in GraphLaunch::kernels
  const GraphLaunch::Kernel* kernel = nullptr;
  Seen* seen = nullptr;
  std::uint64_t number = 0;  ///< among the kernel's launches
  bool is_wanted = false;    ///< its results are wanted
  device::Launch launch;
  report::ActivityRecord activity;
  KernelPtr made;           ///< null: the original runs
  std::uint64_t first = 0;  ///< offset in the graph's buffers
  PendingPtr pending;
};

/// An executable graph of the program, as the session launches it.
struct Session::Graph {
  /// The kernels it was created with: while these are unchanged, the graph is reused.
  struct Made {
    std::size_t index = 0;  ///< index in GraphLaunch::kernels
    KernelPtr kernel;
    std::uint64_t bytes = 0;
    std::uint32_t shared_bytes = 0;
    std::vector<std::uint64_t> probe;  ///< computed for buffers at address 0

    bool operator==(const Made&) const = default;
  };

  const device::Device* device = nullptr;  ///< compared only
  /// Version of the graph and of functions' attributes.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version;
  std::vector<Made> made;                      ///< guarded by Session::state_
  std::unique_ptr<device::ProgramGraph> runs;  // destroyed before the objects that it uses
  std::string problem;                         ///< why the graph runs without variants
  /// A refused graph may succeed when the driver has memory again: retries after 1, 2, 4, … launches.
  std::uint64_t launches_between = 1;
  std::uint64_t launches_since = 0;

  bool tries_again() {
    if (problem.empty()) return true;
    if (++launches_since < launches_between) return false;
    launches_between *= 2;
    launches_since = 0;
    return true;
  }
};

/// Launches of one device that are settled in succession.
struct Session::SettledBatch {
  const device::Device* on = nullptr;
  std::unique_ptr<device::CallGroup> calls;
};

/// A launch waits for results if more than this is outstanding.
inline constexpr std::uint64_t outstanding_bytes_limit = 512ull << 20;
inline constexpr std::size_t outstanding_launches_limit = 4096;
/// The program's waits collect results if more launches than this are outstanding.
inline constexpr std::size_t launches_left_to_worker = 1024;

/// A launch in progress counts as outstanding, so that it is reported missing if the program ends meanwhile.
class Session::Outstanding {
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

/// During its lifetime, the thread is in the middle of a launch.
class Session::Launching {
 public:
  explicit Launching(Session& session) : session_(session) {
    ++session_.launching_;
    ++depth_;
  }
  ~Launching() {
    --depth_;
    --session_.launching_;
  }
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;

  static bool is_in_this_thread() { return depth_ != 0; }

 private:
  Session& session_;
  static thread_local int depth_;
};

}  // namespace lynxpp::interposer
