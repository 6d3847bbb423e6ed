// The launch session: handles each kernel launch while specifications are attached. Composed of
//
//   LaunchPath, GraphLauncher   make launches: with the variant and plan of LaunchPlanner, which gets
//                               variants from VariantCache and VariantMaker, in the room of LaunchRoom
//   CounterSharing              counters that several launches add to
//   ResultsPipeline             results of launches ▶ Recorder ▶ records
//   KnownKernels                what is attached, and the state of each kernel
//
// Threads launch concurrently: no lock is held while the compiler or a device works. A launch waits only if
// another thread is creating the variant that it needs, or for the device if very many results are
// outstanding. lock_ranks.h orders the locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/device.h"
#include "interposer/configuration.h"
#include "interposer/control/session_status.h"
#include "interposer/graph_launch.h"
#include "interposer/results/timeline.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/counter_sharing.h"
#include "interposer/session/graph_launcher.h"
#include "interposer/session/known_kernels.h"
#include "interposer/session/launch_path.h"
#include "interposer/session/launch_planner.h"
#include "interposer/session/launch_room.h"
#include "interposer/session/launching.h"
#include "interposer/session/recorder.h"
#include "interposer/session/results_pipeline.h"
#include "interposer/session/variant_cache.h"
#include "interposer/session/variant_maker.h"
#include "interposer/trials/trials.h"
#include "report/record.h"
#include "support/tensor_boxes.h"

namespace lynxpp::interposer {

/// Thread safe.
class Session {
 public:
  using Found = FoundKernel;

  /// Determines what collects the results of finished launches, besides collect(), save_results() and
  /// finish().
  enum class Results : std::uint8_t {
    in_background,  ///< a thread of the session
    on_demand,      ///< nothing
  };

  Session(Configuration configuration, std::unique_ptr<report::Sink> sink,
          Results results = Results::in_background);

  /// Replaces the attached specifications: names or paths, separated by commas; empty detaches. `kernels`
  /// overrides the configuration's filter until the next call. Returns false if nothing changed; `problem`
  /// then holds the rendered diagnostics, with source lines and carets.
  bool attach(const std::string& list, std::string& problem,
              std::optional<NamePattern> kernels = std::nullopt);
  bool attached() { return kernels_.attached() != nullptr; }

  /// Continues the parent's session in the child of a fork: with the specifications and kernels selected
  /// there, and without launches.
  void inherit(const Session& parent);

  /// Returns the current status. Delays launches no more than other launches do.
  SessionStatus status();

  /// Returns the instrumented launches that are not over, oldest first; not those in graphs or that share
  /// counters. Fails if another thread collects results for too long.
  Result<std::vector<RunningLaunch>> running();

  /// Makes the launch with the instrumented variant. Another thread collects its results later. Returns false
  /// if the caller must make the original launch (the coverage record says why).
  ///
  /// `found`, if not null, receives cached lookup state for later launches of this kernel on this device. It
  /// is valid while choices() has the value that it had before the call, except for launches into a stream
  /// that is being captured.
  bool launch(device::Device& device, const device::Launch& launch, const KernelSource& source,
              Found* found = nullptr) {
    return path_.launch(device, launch, source, found);
  }

  /// Same, for a kernel that a filter selects, without any look-up by name and without creating variants.
  /// Returns nullopt, without side effects, if the kernel was not launched like this before; call launch()
  /// then.
  std::optional<bool> launch_again(device::Device& device, const device::Launch& launch, const Found& found) {
    return path_.launch_again(device, launch, found);
  }

  /// From now on every launch has a record of its own.
  void measure_each_launch() {
    sharing_.stop_sharing();
    sharing_.close();
  }

  /// Called before the program's stream is captured or destroyed, and before anything is done with it: begins
  /// collecting the results of launches on it that share counters.
  void leave_stream(void* stream, bool is_destroyed) { sharing_.leave_stream(stream, is_destroyed); }

  /// Changes whenever specifications are attached or detached, or other kernels are selected.
  std::uint64_t choices() const { return kernels_.choices(); }

  /// Launches a graph with variants of the wanted kernels; each of its kernels counts as a launch. Launches
  /// of one graph never overlap.
  GraphLaunched launch(device::Device& device, const GraphLaunch& launch) {
    return graphs_.launch(device, launch);
  }

  /// Called before the executable graph goes away.
  void forget_graph(std::uint64_t id) { graphs_.forget_graph(id); }

  /// Called after `launches` launches of the kernel in a way that is never instrumented ("by graphs").
  void launched_natively(std::string_view kernel, std::uint64_t launches, const std::string& way) {
    kernels_.launched_natively(kernel, launches, way);
  }

  /// Writes the records of finished launches. Does not wait for launches, but for copies of their results and
  /// for another thread that is writing records, so that everything that finished before the call is written
  /// when it returns.
  void collect();

  /// Called when the program has waited for the device. Returns immediately: the session's thread writes the
  /// records within milliseconds. If very many launches are outstanding, or the session has no thread
  /// (Results::on_demand), this is collect().
  void waited();

  /// Sets the reader of the range names that launches record. Call it before the first launch.
  void use_ranges(RangeReader reader) { timeline_.use_ranges(std::move(reader)); }

  /// Sets the reader of tensor maps' boxes. Call it before the first launch.
  void use_tensor_boxes(TensorBoxReader reader) { planner_.use_tensor_boxes(std::move(reader)); }

  /// Called when the program requests a copy.
  void copied(const CopyCall& call);

  /// True if all activities are recorded.
  bool has_timeline() const { return configuration_.timeline; }

  /// Drops the variants of an image that is going away.
  void forget_image(std::uint64_t image);

  /// Waits for outstanding results, writes their records, and drops the variants of devices whose contexts
  /// end. If no result arrives within Configuration::patience, the remaining results of these devices are
  /// lost.
  void save_results(std::span<const device::Device* const> ending);

  /// Waits for outstanding results and writes every record. Later launches are not instrumented. Waits at
  /// most a second for launches in progress on other threads, and for results until none has arrived for
  /// Configuration::patience; coverage then reports what is missing.
  void finish();

  /// True if the program launched anything while specifications were attached.
  bool has_seen_launches() const { return kernels_.has_seen_launches(); }

  /// True if some launch was instrumented, or timed if that was requested.
  bool has_measured() const { return room_.has_measured(); }

  /// True if a table of launches is wanted at the end.
  bool wants_table() const {
    return kernels_.ever_attached() && configuration_.prints_table && !configuration_.times_only();
  }

  /// Same as finish(), callable at any time while this or other threads are launching: writes what is
  /// complete, and a note on what is missing. Waits at most a second.
  void finish_now();

 private:
  /// Returns true if no results are outstanding.
  bool collect_in_background();
  /// Closes all shared counters because the process dies, and gives short launches time to end.
  void close_at_once();
  /// True if the thread holds a lock: a signal handler ends the program in the middle of a launch.
  bool is_interrupted() const;
  /// Nothing is settled, closed or waited for from now on.
  void stop_parts();
  void write_incomplete_records();
  LaunchParts parts() {
    return {configuration_, launches_, kernels_,  planner_,  room_,
            sharing_,       streams_,  timeline_, recorder_, trials_.get()};
  }

  const Configuration configuration_;
  const std::unique_ptr<Trials> trials_;  ///< null: not requested
  TraceStreams streams_;                  // outlives all launches
  Launches launches_;
  KnownKernels kernels_;
  Recorder recorder_;
  VariantCache variants_;
  VariantMaker maker_;
  Timeline timeline_;
  LaunchPlanner planner_;
  CounterSharing sharing_;
  LaunchRoom room_;
  LaunchPath path_;
  GraphLauncher graphs_;
  ResultsPipeline results_;  // destroyed first: its threads use the other members
};

}  // namespace lynxpp::interposer
