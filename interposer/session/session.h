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
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
#include "interposer/dump_folder.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/results/results_worker.h"
#include "interposer/results/timeline.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/variants_ahead.h"
#include "interposer/trials/trials.h"
#include "report/record.h"
#include "support/tensor_boxes.h"

namespace lynxpp::interposer {

struct BlockRoom;
struct Learned;

/// Thread safe.
class Session {
 public:
  struct Seen;

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
  ~Session();

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
  void measure_each_launch();

  /// Called before the program's stream is captured or destroyed, and before anything is done with it: begins
  /// collecting the results of launches on it that share counters.
  void leave_stream(void* stream, bool is_destroyed);

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
  struct Attached;
  struct Graph;
  struct GraphNode;
  struct Kernel;
  struct LastResults;
  struct Pending;
  struct Plan;
  class Launching;
  struct SettledBatch;
  struct Shared;
  class Outstanding;
  using KernelPtr = std::shared_ptr<Kernel>;
  using PlanPtr = std::shared_ptr<const Plan>;
  using PendingPtr = std::unique_ptr<Pending>;
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
  /// Configuration::compile_budget. Precondition: `state_` is held.
  bool is_deferred(const Seen& seen, const device::Device& device) const;
  /// Returns a kernel that is not instrumented for this reason.
  static KernelPtr deferred();
  BlockRoom room_of(const Attached& attached, const device::Launch& launch) const;
  /// Returns the slot of the variant for such launches, whatever else it was created for; null if there is
  /// none.
  KernelPtr* place_of_kernel(Seen& seen, const Attached& attached, const device::Device& device,
                             const device::Launch& launch, std::uint64_t image) const;
  static bool is_current(const Kernel& kernel, const Seen& seen,
                         const std::shared_ptr<const Attached>& attached);
  /// Returns null if the launch has no plan yet. Precondition: `state_` is held.
  PlanPtr known_plan(const Kernel& kernel, const device::Launch& launch) const;
  /// `keeps_counters`: large arrays of counters may stay in device memory (device/counter_memory.h).
  Result<PlanPtr> plan_for(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                           bool keeps_counters);
  /// Prepares everything for a launch except its readback. Moves `activity` from the caller unless it is
  /// recorded in any case.
  PendingPtr pending_for(PlanPtr plan, const Kernel& kernel, device::Device& device,
                         const device::Launch& launch, report::ActivityRecord& activity);
  PendingPtr pending_with(PlanPtr plan, device::Device& device, const device::Launch& launch,
                          report::ActivityRecord& activity);
  Status launch_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        report::ActivityRecord& activity);
  /// Starts streaming the launch's traces if this is requested and possible.
  Status begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                       const device::Launch& launch);
  Status launch_with(const Kernel& kernel, device::Device& device, const device::Launch& launch,
                     PendingPtr pending, Outstanding& outstanding);
  /// Precondition: `state_` is held.
  static void note_refusal(Seen& seen, const Status& launched);
  /// Begins collecting the results of a variant that was launched.
  void begin_collecting(PendingPtr pending, std::unique_ptr<device::Buffer> buffer, device::Device& device,
                        const device::Launch& launch, Outstanding& outstanding);
  void note_unmeasured(Seen& seen, const Kernel& kernel, device::Device& device,
                       const device::Launch& launch);
  bool launch_unmeasured(Seen& seen, const Kernel& kernel, device::Device& device,
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
  /// Precondition: `state_` is held.
  void keep(PendingPtr pending, Outstanding& outstanding);
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
  /// Continues after an allocation failed with `taken`, when `settled_` was `settled`.
  Status take_memory_after_collecting(Status taken, std::uint64_t settled,
                                      const std::function<Status()>& take);
  /// Precondition: `state_` is held.
  bool is_crowded() const;
  /// Waits until few enough launches are outstanding. Returns false if there are still too many.
  bool has_room_for_launches();
  /// Same, but returns at once if few are outstanding.
  bool makes_room();
  /// Collects results until `is_enough`, which may be called several times. Returns false if no more arrived,
  /// now or while another launch waited for them.
  bool take_results_until(const std::function<bool()>& is_enough);
  void drop_kernels(const std::function<bool(const Kernel&)>& is_dropped);
  void drop_graphs(const std::function<bool(const Graph&)>& is_dropped);
  /// At level trace, logs the program's allocations if they have changed since the last launch.
  void log_allocations(device::Device& device);

  // ---- launches that share counters (session_sharing.cpp)
  /// True if the launch shares counters with others; otherwise counts it as one with a record of its own.
  /// Precondition: `state_` is held.
  bool shares(const Plan& plan, device::Device& device, const device::Launch& launch) const;
  /// Returns the open counters that the launch can add to, or null. They are not read back until the caller,
  /// launch_shared(), has made the launch.
  std::shared_ptr<Shared> join(const Plan& plan, const device::Launch& launch,
                               const std::vector<std::string>& ranges);
  Result<std::shared_ptr<Shared>> open_shared(const Kernel& kernel, const PlanPtr& plan,
                                              device::Device& device, const device::Launch& launch,
                                              report::ActivityRecord& activity);
  Status launch_shared(const Kernel& kernel, const PlanPtr& plan, device::Device& device,
                       const device::Launch& launch, report::ActivityRecord& activity,
                       Outstanding& outstanding);
  using Choice = std::function<bool(const Shared&)>;
  /// Closes shared counters, so that no launch joins, and begins collecting their results: all if launches
  /// have added to them long enough; or the chosen ones. Those of launches in progress, and those that
  /// Device::read_back_shared() keeps, are closed but left for later. Waits at most a second. No lock is
  /// held.
  void close_due();
  void close_shared(const Choice& is_closed);
  /// Same, until none of those that are chosen now is left or Configuration::patience is over.
  void close_all_pending(const Choice& is_closed);
  /// Closes all because the process dies, whatever work of the program this delays, and gives short launches
  /// time to end.
  void close_at_once();
  /// Begins collecting the results of closed counters of the stream, on which the caller has just launched.
  void close_after_launch(void* stream);
  /// Precondition of this and the next: `closing_` is held, `state_` is not.
  void take_shared(const Choice& is_closed, bool after_launch);
  void read_back(std::shared_ptr<Shared> shared, bool after_launch);
  /// Notes that the results of its launches are lost. Precondition: `state_` is held.
  static void note_lost(const Pending& pending, const std::string& reason);

  // ---- launching graphs (session_graphs.cpp)
  /// Returns null if the device cannot launch it with variants; coverage then says so.
  std::shared_ptr<Graph> graph_of(device::Device& device, const GraphLaunch& launch);
  /// Orders a launch without variants after earlier ones with variants; the caller makes it.
  GraphLaunched order_after_variants(const device::Device& device, const GraphLaunch& launch);
  /// Returns null if the graph is unknown.
  std::shared_ptr<Graph> take_graph(std::uint64_t id);
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

  // ---- making variants (session_variants.cpp)
  void make(Seen& seen, Kernel& kernel, const device::Launch& launch, const KernelSource& source);
  Status prepare(Seen& seen, Kernel& kernel, const device::Launch& launch, const KernelSource& source);
  void note_made(Seen& seen, const Kernel& kernel, const engine::Request& request, const KernelPtx& ptx);
  bool make_with_spare_counters(Seen& seen, Kernel& kernel, const device::Launch& launch,
                                engine::Request request);
  Status make_best_variant(Seen& seen, Kernel& kernel, const device::Launch& launch,
                           engine::Request& request);
  static Status check_replay(const Kernel& kernel, const device::Launch& launch);
  static Result<std::string> obstacle_to_block_counters(const Kernel& kernel, const device::Launch& launch);
  Status keep_occupancy(Seen& seen, Kernel& kernel, const device::Launch& launch, engine::Request& request);
  /// Instruments and loads, unless the resulting text equals `refused`.
  Status make_variant(Seen& seen, Kernel& kernel, const device::Launch& launch,
                      const engine::Request& request, const std::string& refused = {});
  /// Shares the variant of a kernel with the same text. Adds up the times of creating both.
  bool share_variant(Seen& seen, Kernel& kernel);

  // ---- compiling ahead (session_ahead.cpp)
  static VariantsAhead::Key key_of(const Seen& seen, const Kernel& kernel);
  /// Returns the request for a variant without knowledge of a launch.
  engine::Request request_for(const Attached& attached, const device::Device& device, const std::string& text,
                              std::string kernel, const Learned& learned) const;
  /// Returns a job that instruments and compiles the kernel of the module for blocks like those of `block`.
  VariantsAhead::Job job_for(VariantsAhead::Key key, std::shared_ptr<const Attached> attached,
                             device::Device& device, std::shared_ptr<const std::string> text,
                             const std::uint32_t (&block)[3]) const;
  /// Queues the other kernels of a module with few kernels.
  void compile_others(const Seen& seen, const Kernel& kernel, const device::Launch& launch,
                      const std::string& text);
  /// True if the original kernel runs because a thread is compiling the variant, and counts the launch. May
  /// then have released `state`.
  bool runs_original(State& state, Seen& seen, const Kernel& kernel, const device::Launch& launch,
                     const KernelSource& source);
  /// Loads the variant of kernel.instrumented, which may have been compiled ahead.
  Result<std::unique_ptr<device::Variant>> load(const Seen& seen, const Kernel& kernel,
                                                const device::Launch& launch);
  void stop_compiling();

  // ---- taking results (session_report.cpp)
  static bool note_wrapped_words(Pending& pending, double milliseconds);
  /// The launches that drain() settles, up to the first of another kind.
  enum class Settled : std::uint8_t {
    arrived,  ///< their results are on the host
    ended,    ///< they are over; waits for copies of their results
    all,      ///< waits for the launches
  };
  /// Precondition of this and the next: `taking_` is held.
  void drain(Settled which);
  /// Returns the first outstanding launch of this kind, or of those that follow if looks_past_first_.
  PendingPtr take(Settled which, SettledBatch& together);
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
  std::uint64_t number_of_sites(const Plan& plan);
  void report_ends();
  /// Precondition: `records_` is held.
  void write_final_records();
  /// Waits up to a second for threads that are in the middle of a launch.
  bool launches_are_made() const;
  void note_missing_results();
  /// Runs `work` on a separate thread. Returns false if it has not finished and no result was collected for
  /// `patience`.
  bool ends(std::function<void()> work, std::chrono::milliseconds patience);
  /// Returns the launches on these devices; on all devices if the ending contexts are unknown.
  std::deque<PendingPtr> take_all_of(std::span<const device::Device* const> ending);
  /// The results that no thread is waiting for yet are lost.
  void give_up(LastResults& last);
  /// Writes what is complete and, as notes, what is missing.
  void collect_completed();
  void write_final_records_incomplete();
  /// Returns true if no results are outstanding.
  bool collect_in_background();

  const Configuration configuration_;
  const std::unique_ptr<Trials> trials_;  ///< null: not requested
  DumpFolder dump_;
  TraceStreams streams_;              // outlives all launches
  std::atomic<bool> ending_ = false;  // true: only finish() collects results
  std::atomic<bool> finished_ = false;
  std::atomic<bool> has_seen_launches_ = false;
  std::atomic<bool> has_measured_ = false;
  std::atomic<std::uint64_t> choices_ = 0;
  std::atomic<int> launching_ = 0;                              // threads that are in the middle of a launch
  std::atomic<int> helpers_ = 0;                                // threads of ends()
  std::atomic<std::uint64_t> settled_ = 0;                      // launches whose results were collected
  std::atomic<std::uint64_t> waited_till_ = ~std::uint64_t{0};  // value of `settled_` when no more arrived

  /// Held from finding shared counters until their event is recorded, so that leave_stream() can wait for
  /// that.
  std::timed_mutex closing_;
  std::atomic<bool> may_share_;           // false: every launch has a record of its own
  std::atomic<bool> has_closed_ = false;  // true: some of shared_ are closed

  // Three more locks, acquired in this order.
  OwnedMutex<std::timed_mutex> taking_;  // held while collecting results, to keep their order
  bool looks_past_first_ = false;        // guarded by taking_: the first outstanding launch does not end
  OwnedMutex<std::timed_mutex>
      records_;  // held while writing records: guards the sink and the reports' state
  // Recursive, because a signal handler may end the program in the middle of a launch.
  StateMutex state_;                     // guards the members below; never held while compiling or waiting
  std::condition_variable_any changed_;  // a variant was created
  std::unique_ptr<report::Sink> sink_;
  std::shared_ptr<const Attached> attached_;
  std::optional<NamePattern> kernels_;                 // nullopt: the configuration's
  std::vector<std::shared_ptr<const Attached>> ever_;  // those with an ON_END
  bool ever_attached_ = false;
  std::unordered_map<KernelKey, std::unique_ptr<Seen>, KernelKey::Hash, KernelKey::Equal> seen_;
  std::unordered_map<std::string_view, Seen*> first_of_name_;         // in `seen_`
  std::unordered_map<std::uint64_t, std::string> modules_;            // by image
  std::unordered_map<std::uint64_t, std::shared_ptr<Graph>> graphs_;  // by id of the executable graph
  std::deque<PendingPtr> pending_;
  std::deque<PendingPtr> given_up_;  // not accessed again: their contexts have ended
  std::uint64_t pending_bytes_ = 0;
  std::vector<std::shared_ptr<Shared>> shared_;     // counters that launches share, and are not read back yet
  std::vector<std::shared_ptr<Shared>> abandoned_;  // not accessed again: their streams do not exist
  std::chrono::steady_clock::time_point next_closing_;
  std::shared_ptr<const device::LiveAllocations> logged_allocations_;
  std::chrono::duration<double> making_{0};     ///< time that threads have spent on making variants
  std::set<std::string> warned_problems_;       ///< of kernels; each causes one warning
  const std::unique_ptr<VariantsAhead> ahead_;  ///< null: not wanted
  Timeline timeline_;
  TensorBoxReader find_tensor_box_;
  std::vector<std::pair<std::uint64_t, std::string>> told_devices_;  // ordinal and name; guarded by records_
  std::unique_ptr<ResultsWorker> worker_;
};

}  // namespace lynxpp::interposer
