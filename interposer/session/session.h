// The launch session: handles each kernel launch while specifications are attached.
//
//   launch ▶ wanted? ▶ instrument once per (device, image, kernel, shape) ▶ buffers ▶ launch
//   the variant ▶ readback of results
//   separate thread: results ready ▶ ON_REPORT ▶ launch record ▶ sinks
//
// Threads launch concurrently: no lock is held while the compiler or a device works. A launch waits only if
// another thread is creating the variant that it needs, or for the device if very many results are
// outstanding.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/configuration.h"
#include "interposer/control/session_status.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/results/timeline.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/attached.h"
#include "interposer/session/counter_sharing.h"
#include "interposer/session/kernel_state.h"
#include "interposer/session/pending.h"
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
  /// Cached result of launch() for a kernel on a device. Both pointers are null if later launches may differ.
  struct Found {
    std::atomic<std::uint64_t>* unselected = nullptr;  ///< no filter selects it: counts its launches
    Seen* selected = nullptr;
    std::uint64_t image = 0;  ///< KernelSource::image
  };

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
  bool attached();

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
              Found* found = nullptr);

  /// Same, for a kernel that a filter selects, without any look-up by name and without creating variants.
  /// Returns nullopt, without side effects, if the kernel was not launched like this before; call launch()
  /// then.
  std::optional<bool> launch_again(device::Device& device, const device::Launch& launch, const Found& found);

  /// From now on every launch has a record of its own.
  void measure_each_launch() {
    sharing_.stop_sharing();
    sharing_.close();
  }

  /// Called before the program's stream is captured or destroyed, and before anything is done with it: begins
  /// collecting the results of launches on it that share counters.
  void leave_stream(void* stream, bool is_destroyed) { sharing_.leave_stream(stream, is_destroyed); }

  /// Changes whenever specifications are attached or detached, or other kernels are selected.
  std::uint64_t choices() const { return choices_.load(std::memory_order_acquire); }

  /// Launches a graph with variants of the wanted kernels; each of its kernels counts as a launch. Launches
  /// of one graph never overlap.
  GraphLaunched launch(device::Device& device, const GraphLaunch& launch);

  /// Called before the executable graph goes away.
  void forget_graph(std::uint64_t id);

  /// Called after `launches` launches of the kernel in a way that is never instrumented ("by graphs").
  void launched_natively(std::string_view kernel, std::uint64_t launches, const std::string& way);

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
  void use_tensor_boxes(TensorBoxReader reader) { find_tensor_box_ = std::move(reader); }

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
  bool has_seen_launches() const { return has_seen_launches_; }

  /// True if some launch was instrumented, or timed if that was requested.
  bool has_measured() const { return has_measured_; }

  /// True if a table of launches is wanted at the end.
  bool wants_table() const {
    return ever_attached_ && configuration_.prints_table && !configuration_.times_only();
  }

  /// Same as finish(), callable at any time while this or other threads are launching: writes what is
  /// complete, and a note on what is missing. Waits at most a second.
  void finish_now();

 private:
  struct Graph;
  struct GraphNode;
  class Launching;
  using StateMutex = OwnedMutex<std::recursive_timed_mutex>;
  using State = std::unique_lock<StateMutex>;

  /// Keeps a specification that has an ON_END. Precondition: `state_` is held.
  void keep_for_end(const std::shared_ptr<const Attached>& attached);

  // ---- launching (session_seen.cpp)
  /// Precondition: `state_` is held.
  Seen& seen(std::string_view kernel, const std::string& module);
  /// Returns LaunchPlace::module of the image. Releases `state` if the image is new.
  std::string module_of(State& state, const KernelSource& source);
  /// Precondition of the members below (session_status.cpp): `state_` is held.
  void select_kernels(std::optional<NamePattern> kernels);
  bool selects(const std::string& kernel) const;
  void count_natively(Seen& seen, std::uint64_t launches, const std::string& way);
  void note_found(Found& found, Seen& seen, const device::Device& device, const KernelSource& source) const;
  /// True if the launch with this number is wanted. Precondition: `state_` is held.
  bool wanted(Seen& seen, std::uint64_t number) const;
  /// Returns the variant, after creating it or waiting for another thread that is creating it. Releases
  /// `state` meanwhile. Null: the session has finished.
  KernelPtr kernel_for(State& state, Seen& seen, const std::shared_ptr<const Attached>& attached,
                       device::Device& device, const device::Launch& launch, const KernelSource& source);
  /// True if the kernel gets no variant yet: it has hardly been launched, and others have taken
  /// Configuration::compile_budget, or a fifth of it if several modules have a kernel of its
  /// name. Precondition: `state_` is held.
  bool is_deferred(const Seen& seen, const device::Device& device) const;
  /// Returns a kernel that is not instrumented for this reason.
  static KernelPtr deferred();
  BlockRoom room_of(const Attached& attached, const device::Launch& launch) const;
  /// True if the launch can use the plan, which is of the launch's kernel. Launches whose tensor copies move
  /// other amounts share no counters.
  bool fits(const LaunchPlan& plan, const device::Launch& launch) const;
  /// Returns the plan of such launches; null if no plan can be used now. Precondition: `state_` is
  /// held and something is attached.
  PlanPtr known_plan(const Seen& seen, const device::Device& device, const device::Launch& launch,
                     std::uint64_t image) const;
  /// `keeps_counters`: large arrays of counters may stay in device memory (device/counter_memory.h).
  Result<PlanPtr> plan_for(Seen& seen, const KernelPtr& made, device::Device& device,
                           const device::Launch& launch, bool keeps_counters);
  /// Moves the plans with these kernels. Precondition: `state_` is held.
  static void drop_plans(Seen& seen, std::vector<PlanPtr>& dropped,
                         const std::function<bool(const InstrumentedKernel&)>& is_dropped);
  /// Records a newly created variant, or the attempt, in coverage.
  void note_made(Seen& seen, InstrumentedKernel& kernel, const Learned& learned);
  /// Prepares everything for a launch except its readback. Moves `activity` from the caller unless it is
  /// recorded in any case.
  PendingPtr pending_for(PlanPtr plan, device::Device& device, const device::Launch& launch,
                         report::ActivityRecord& activity);
  PendingPtr pending_with(PlanPtr plan, device::Device& device, const device::Launch& launch,
                          report::ActivityRecord& activity);
  Status launch_variant(Seen& seen, const KernelPtr& kernel, device::Device& device,
                        const device::Launch& launch, report::ActivityRecord& activity);
  /// Starts streaming the launch's traces if this is requested and possible.
  Status begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                       const device::Launch& launch);
  Status launch_with(device::Device& device, const device::Launch& launch, PendingPtr pending,
                     Outstanding& outstanding);
  /// Precondition: `state_` is held.
  static void note_refusal(Seen& seen, const Status& launched);
  /// Launches with counters that other launches share.
  Status launch_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                       report::ActivityRecord& activity, Outstanding& outstanding);
  Result<JoinedLaunch> open_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                                   report::ActivityRecord& activity);
  /// Returns the coverage that counts the launch. Precondition: `state_` is held.
  static report::CoverageRecord& note_instrumented(const LaunchPlan& plan);
  /// Begins collecting the results of a variant that was launched.
  void begin_collecting(PendingPtr pending, std::unique_ptr<device::Buffer> buffer, device::Device& device,
                        const device::Launch& launch, Outstanding& outstanding);
  void note_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                       const device::Launch& launch);
  bool launch_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                         const device::Launch& launch, report::ActivityRecord& activity);
  Status time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                       report::ActivityRecord& activity);
  /// Returns true if the launch, which is wanted, was made with the variant or timed; its activity is then
  /// written later.
  bool make_launch(Seen& seen, const std::shared_ptr<const Attached>& attached, device::Device& device,
                   const device::Launch& launch, const KernelSource& source,
                   report::ActivityRecord& activity);
  /// Returns true if the launch was made as a trial (session_trials.cpp).
  bool launch_trials(Seen& seen, device::Device& device, const device::Launch& launch,
                     const KernelSource& source, const report::ActivityRecord& activity);
  /// Writes the device's record once, and the kernel's properties before instrumentation, if activities are
  /// recorded. Precondition of this and the next: none of the locks is held.
  void note_device(device::Device& device, const device::Launch& launch, report::ActivityRecord& activity);
  /// Writes it once. Precondition: `records_` is held.
  void tell(const report::DeviceRecord& device);
  void write(const report::ActivityRecord& activity);
  /// Records the kernels' use of SM resources; `variant` may be null.
  void note_resources(Seen& seen, device::Device& device, const device::Launch& launch,
                      const device::Launch& variant_launch, const device::Variant* variant);
  void add(PendingPtr pending, Outstanding& outstanding);
  /// Allocates on the device; if memory is short, collects results of other launches first.
  Result<std::unique_ptr<device::Buffer>> allocate(Seen& seen, device::Device& device, std::uint64_t bytes,
                                                   const device::Launch& launch);
  template <typename Taken>
  Result<Taken> allocate(Seen& seen, std::uint64_t bytes, const std::function<Result<Taken>()>& take);
  /// Same, for counters that stay in device memory.
  Result<std::unique_ptr<device::CounterMemory>> keep_counters(Seen& seen, device::Device& device,
                                                               std::uint64_t bytes,
                                                               const device::Launch& launch);
  /// Calls `take` to allocate, and again after results of other launches were collected.
  Status take_memory(const std::function<Status()>& take);
  /// Continues after an allocation failed with `taken`, when ResultsPipeline::settled() was `settled`.
  Status take_memory_after_collecting(Status taken, std::uint64_t settled,
                                      const std::function<Status()>& take);
  bool is_crowded() const { return results_.is_crowded() || streams_.is_crowded(); }
  /// Waits until few enough launches are outstanding. Returns false if there are still too many.
  bool makes_room();
  void drop_kernels(const std::function<bool(const InstrumentedKernel&)>& is_dropped);
  void drop_graphs(const std::function<bool(const Graph&)>& is_dropped);
  /// At level trace, logs the program's allocations if they have changed since the last launch.
  void log_allocations(device::Device& device);

  // ---- launching graphs (session_graphs.cpp)
  /// Returns null if the device cannot launch it with variants; coverage then says so.
  std::shared_ptr<Graph> graph_of(device::Device& device, const GraphLaunch& launch);
  /// Orders a launch without variants after earlier ones with variants; the caller makes it.
  GraphLaunched order_after_variants(const device::Device& device, const GraphLaunch& launch);
  /// Returns null if the graph is unknown.
  std::shared_ptr<Graph> take_graph(std::uint64_t id);
  bool shows_running_launches();
  std::string take_apart(Graph& graph, const GraphLaunch& launch);
  GraphLaunched launch_apart(Graph& graph, device::Device& device, const GraphLaunch& launch);
  Status launch_kernel(std::size_t index, Graph& graph, device::Device& device, const GraphLaunch& launch);
  GraphLaunched launch_original(Graph& graph, const GraphLaunch& launch, const std::string& reason);
  /// Returns LaunchPlace::module of each of its kernels. Releases `state` if one is new.
  std::vector<std::string> modules_of(State& state, const GraphLaunch& launch);
  std::vector<GraphNode> nodes_of(const GraphLaunch& launch, const std::vector<std::string>& modules,
                                  int ordinal);
  void choose_variants(std::vector<GraphNode>& nodes, Graph& graph,
                       const std::shared_ptr<const Attached>& attached, device::Device& device,
                       const GraphLaunch& launch);
  Status make_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);
  /// Same as take_memory(); if it fails, the nodes' launches count as uninstrumented.
  Status reserve(const std::vector<GraphNode>& nodes, std::uint64_t bytes,
                 const std::function<Status()>& take);
  Status launch_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);
  void begin_collecting_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);

  // ---- taking results (session_report.cpp)
  static bool note_wrapped_words(Pending& pending, double milliseconds);
  /// Writes the records of a launch, or that they are lost. Precondition: `records_` is held.
  void settle(Pending& pending, const Result<std::span<std::byte>>& bytes);
  void report(Pending& pending, std::span<std::byte> bytes, std::span<const CounterPage> pages);
  void add_times(const Pending& pending);
  /// Applies to later variants of the kernel.
  void learn(Seen& seen, const Learned& shown);
  static void fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes);
  static void note_estimates(const Pending& pending, const cod::Specification& specification,
                             std::vector<std::string>& notes);
  /// Returns a specification's view of the launch, without the functions that receive what it emits.
  static cod::LaunchView view_of(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                                 const cod::LaunchView& launched);
  void report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                            const cod::LaunchView& launched);
  /// Returns the number of its site table, which is written once.
  std::uint64_t number_of_sites(const LaunchPlan& plan);
  void report_ends();
  /// Precondition: `records_` is held.
  void write_final_records();
  /// Waits up to a second for threads that are in the middle of a launch.
  bool launches_are_made() const;
  void note_missing_results();
  /// Notes that the results of its launches are lost.
  void lose(const Pending& pending, const std::string& reason);
  /// Closes all shared counters because the process dies, and gives short launches time to end.
  void close_at_once();
  void write_final_records_incomplete();
  /// True if the thread holds a lock: a signal handler ends the program in the middle of a launch.
  bool is_interrupted() const;
  /// Returns true if no results are outstanding.
  bool collect_in_background();

  const Configuration configuration_;
  const std::unique_ptr<Trials> trials_;  ///< null: not requested
  TraceStreams streams_;                  // outlives all launches
  std::atomic<bool> finished_ = false;
  std::atomic<bool> has_seen_launches_ = false;
  std::atomic<bool> has_measured_ = false;
  std::atomic<std::uint64_t> choices_ = 0;
  std::atomic<int> launching_ = 0;  // threads that are in the middle of a launch

  /// Held while writing records: guards the sink and the reports' state.
  OwnedMutex<std::timed_mutex> records_{LockRank::records};
  // Recursive, because a signal handler may end the program in the middle of a launch.
  StateMutex state_{LockRank::state};  // guards the members below; never held while compiling or waiting
  std::unique_ptr<report::Sink> sink_;
  std::shared_ptr<const Attached> attached_;
  std::optional<NamePattern> kernels_;                 // nullopt: the configuration's
  std::vector<std::shared_ptr<const Attached>> ever_;  // those with an ON_END
  bool ever_attached_ = false;
  std::unordered_map<KernelKey, std::unique_ptr<Seen>, KernelKey::Hash, KernelKey::Equal> seen_;
  std::unordered_map<std::string_view, Seen*> first_of_name_;          // in `seen_`
  std::unordered_map<std::string_view, std::size_t> modules_of_name_;  // entries of `seen_`
  std::unordered_map<std::uint64_t, std::string> modules_;             // by image
  std::unordered_map<std::uint64_t, std::shared_ptr<Graph>> graphs_;   // by id of the executable graph
  std::shared_ptr<const device::LiveAllocations> logged_allocations_;
  VariantCache variants_;
  VariantMaker maker_;
  Timeline timeline_;
  TensorBoxReader find_tensor_box_;
  std::vector<std::pair<std::uint64_t, std::string>> told_devices_;  // ordinal and name; guarded by records_
  CounterSharing sharing_;
  ResultsPipeline results_;  // destroyed first: its threads use the other members
};

}  // namespace lynxpp::interposer
