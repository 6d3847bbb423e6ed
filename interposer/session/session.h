// The launch session: what happens to a kernel launch while specifications are attached.
//
//   launch ▶ wanted? ▶ instrument once per (device, image, kernel, shape) ▶ buffers ▶ launch
//   the variant ▶ results on their way back
//   a thread of its own: results ready ▶ ON_REPORT ▶ launch record ▶ sinks
//
// Threads launch beside each other: no lock is held while the compiler or a device works. A launch waits only
// for the variant it needs while another thread makes it, and for the device when a great many results are
// outstanding.
#pragma once

#include <atomic>
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
#include "report/record.h"

namespace lynxpp::interposer {

struct BlockRoom;
struct Learned;

/// Thread safe.
class Session {
 public:
  struct Seen;

  /// A kernel on a device, as launch() has found it. Neither is there when later launches may differ.
  struct Found {
    std::atomic<std::uint64_t>* unselected = nullptr;  ///< no filter selects it: counts its launches
    Seen* selected = nullptr;
    std::uint64_t image = 0;  ///< KernelSource::image
  };

  /// Who takes the results of launches that are over, besides collect(), save_results() and finish().
  enum class Results : std::uint8_t {
    in_background,  ///< a thread of the session's
    on_demand,      ///< nobody
  };

  Session(Configuration configuration, std::unique_ptr<report::Sink> sink,
          Results results = Results::in_background);
  ~Session();

  /// Replaces the attached specifications: names or paths, separated by commas; empty detaches. `kernels`
  /// stands in the place of the configuration's until the next call. False: nothing changed; `problem` is the
  /// rendered diagnostics, source lines and carets included.
  bool attach(const std::string& list, std::string& problem,
              std::optional<NamePattern> kernels = std::nullopt);
  bool attached();

  /// Continues, in the child of a fork, the session of its parent: with the specifications and kernels
  /// that were chosen there, and no launches.
  void inherit(const Session& parent);

  /// What there is now. Launches wait for it no longer than for each other.
  SessionStatus status();

  /// Makes the launch with the instrumented variant. Its results are taken later, by another thread. False:
  /// the caller makes the original one (the reason stands in the coverage record).
  ///
  /// `found`: where not null, gets what is to be known for the next launches of this kernel on this device,
  /// as long as choices() is what it was before the call. Launches of a stream that is being captured are
  /// none.
  bool launch(device::Device& device, const device::Launch& launch, const KernelSource& source,
              Found* found = nullptr);

  /// The same for a kernel that a filter selects, with nothing looked up by name and nothing made. nullopt:
  /// it was not launched before as it is now, and nothing was done; launch() is to be called.
  std::optional<bool> launch_again(device::Device& device, const device::Launch& launch, const Found& found);

  /// Another number when something was attached or detached, or other kernels were selected.
  std::uint64_t choices() const { return choices_.load(std::memory_order_acquire); }

  /// Makes the launch of a graph, with variants of the kernels that are wanted; each of its kernels counts as
  /// a launch. Launches of one graph come one after the other.
  GraphLaunched launch(device::Device& device, const GraphLaunch& launch);

  /// The executable graph is going away.
  void forget_graph(std::uint64_t id);

  /// The program has launched the kernel so many times in a way that is never instrumented ("by graphs").
  void launched_natively(std::string_view kernel, std::uint64_t launches, const std::string& way);

  /// Writes the records of launches that are over. Waits for no launch; for another thread that writes
  /// records, so that what was over before the call is written behind it.
  void collect();

  /// Whose names launches carry. Before the first one.
  void use_ranges(RangeReader reader) { timeline_.use_ranges(std::move(reader)); }

  /// The program has called for a copy.
  void copied(const CopyCall& call);

  /// Whether all activities are to be told.
  bool has_timeline() const { return configuration_.timeline; }

  /// Drops variants of an image that is going away.
  void forget_image(std::uint64_t image);

  /// Waits for outstanding results and writes their records, and drops the variants of devices whose contexts
  /// end. Not when none has come for Configuration::patience: those of these devices are then lost.
  void save_results(std::span<const device::Device* const> ending);

  /// Waits for outstanding results and writes every record. Later launches are not instrumented. A launch
  /// that some thread is in the midst of is not waited for longer than a second, results not when none has
  /// come for Configuration::patience: what is missing then stands in coverage.
  void finish();

  /// Whether the program launched anything while specifications were attached.
  bool has_seen_launches() const { return has_seen_launches_; }

  /// True if some launch was instrumented, or timed if that was requested.
  bool has_measured() const { return has_measured_; }

  /// True if a table of launches is wanted at the end.
  bool wants_table() const {
    return ever_attached_ && configuration_.prints_table && !configuration_.times_only();
  }

  /// The same as finish() from anywhere, while other threads, or this one, are in the midst of a launch:
  /// writes what is complete, and what is missing as a note. Waits at most a second.
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
  struct SettledTogether;
  class Outstanding;
  using KernelPtr = std::shared_ptr<Kernel>;
  using PlanPtr = std::shared_ptr<const Plan>;
  using PendingPtr = std::unique_ptr<Pending>;
  using State = std::unique_lock<std::recursive_timed_mutex>;

  /// Keeps a specification that has an ON_END. Precondition: `state_` is held.
  void keep_for_end(const std::shared_ptr<const Attached>& attached);

  // ---- launching (session.cpp)
  /// Precondition: `state_` is held.
  Seen& seen(std::string_view kernel, const std::string& module);
  /// LaunchPlace::module of the image. Lets go of `state` where it is new.
  std::string module_of(State& state, const KernelSource& source);
  /// Precondition of these (session_status.cpp): `state_` is held.
  void select_kernels(std::optional<NamePattern> kernels);
  bool selects(const std::string& kernel) const;
  void count_natively(Seen& seen, std::uint64_t launches, const std::string& way);
  void note_found(Found& found, Seen& seen, const device::Device& device, const KernelSource& source) const;
  /// Whether the launch of this number is wanted. Precondition of these: `state_` is held.
  bool wanted(Seen& seen, std::uint64_t number) const;
  /// Made by this call where it is missing, or by another thread that is waited for. Lets go of `state`
  /// meanwhile. Null: the session has finished.
  KernelPtr kernel_for(State& state, Seen& seen, const std::shared_ptr<const Attached>& attached,
                       device::Device& device, const device::Launch& launch, const KernelSource& source);
  BlockRoom room_of(const Attached& attached, const device::Launch& launch) const;
  /// Where the variant for such launches is, whatever it was made for besides; null: there is none.
  KernelPtr* place_of_kernel(Seen& seen, const Attached& attached, const device::Device& device,
                             const device::Launch& launch, std::uint64_t image) const;
  static bool is_current(const Kernel& kernel, const Seen& seen,
                         const std::shared_ptr<const Attached>& attached);
  /// Precondition: `state_` is held. Null: there is none.
  static PlanPtr known_plan(const Kernel& kernel, const device::Launch& launch);
  Result<PlanPtr> plan_for(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch);
  /// All of a launch but its readback. Takes the activity along, unless it is to be told of anyway. Failure:
  /// it cannot be made with the variant.
  Result<PendingPtr> pending_for(Seen& seen, Kernel& kernel, device::Device& device,
                                 const device::Launch& launch, report::ActivityRecord& activity);
  PendingPtr pending_with(PlanPtr plan, device::Device& device, const device::Launch& launch,
                          report::ActivityRecord& activity);
  Status launch_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        report::ActivityRecord& activity);
  /// Has the launch's traces streamed, where that is wanted and possible.
  Status begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                       const device::Launch& launch);
  Status launch_with(const Kernel& kernel, device::Device& device, const device::Launch& launch,
                     PendingPtr pending, Outstanding& outstanding);
  /// Precondition: `state_` is held.
  static void note_refusal(Seen& seen, const Status& launched);
  /// Of a variant that has been launched.
  void take_back(PendingPtr pending, std::unique_ptr<device::Buffer> buffer, device::Device& device,
                 const device::Launch& launch, Outstanding& outstanding);
  void note_unmeasured(Seen& seen, const Kernel& kernel, device::Device& device,
                       const device::Launch& launch);
  bool launch_unmeasured(Seen& seen, const Kernel& kernel, device::Device& device,
                         const device::Launch& launch, report::ActivityRecord& activity);
  Status time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                       report::ActivityRecord& activity);
  /// Whether the launch, which is wanted, was made with the variant or timed; its activity is written later
  /// then.
  bool make_launch(Seen& seen, const std::shared_ptr<const Attached>& attached, device::Device& device,
                   const device::Launch& launch, const KernelSource& source,
                   report::ActivityRecord& activity);
  /// Writes the device's record once, and what is known of the kernel before it is instrumented. Where
  /// activities are told; precondition of this and the next: none of the locks is held.
  void note_device(device::Device& device, const device::Launch& launch, report::ActivityRecord& activity);
  /// Writes it once. Precondition: `records_` is held.
  void tell(const report::DeviceRecord& device);
  void write(const report::ActivityRecord& activity);
  /// What the kernels take of an SM; `variant` may be null.
  void note_resources(Seen& seen, device::Device& device, const device::Launch& launch,
                      const device::Launch& variant_launch, const device::Variant* variant);
  void add(PendingPtr pending, Outstanding& outstanding);
  /// Precondition: `state_` is held.
  void keep(PendingPtr pending, Outstanding& outstanding);
  /// Of the device; where there is no room, results of other launches are taken first.
  Result<std::unique_ptr<device::Buffer>> allocate(Seen& seen, device::Device& device, std::uint64_t bytes,
                                                   const device::Launch& launch);
  /// Has `take` take it, and again when results of other launches have been taken.
  Status take_memory(const std::function<Status()>& take);
  /// When it was refused with `taken`; `settled_` was `settled` before.
  Status take_memory_of_others(Status taken, std::uint64_t settled, const std::function<Status()>& take);
  /// Precondition: `state_` is held.
  bool is_crowded() const;
  /// Waits until there are not too many outstanding launches. False: there still are.
  bool has_room_for_launches();
  /// The same, at once where there are few.
  bool makes_room();
  /// Takes results until `is_enough`, which may then be asked several times. False: no more came, now or when
  /// another launch has waited for them.
  bool take_results_until(const std::function<bool()>& is_enough);
  void drop_kernels(const std::function<bool(const Kernel&)>& is_dropped);
  void drop_graphs(const std::function<bool(const Graph&)>& is_dropped);
  /// At level trace, what memory the program has, where that has changed since the last launch.
  void log_allocations(device::Device& device);

  // ---- launching graphs (session_graphs.cpp)
  /// Null: the device launches none, which coverage then says.
  std::shared_ptr<Graph> graph_of(device::Device& device, const GraphLaunch& launch);
  /// Orders a launch that has no variants after earlier ones that had; the caller makes it.
  GraphLaunched launch_behind(const device::Device& device, const GraphLaunch& launch);
  /// Null if the graph is unknown.
  std::shared_ptr<Graph> take_graph(std::uint64_t id);
  GraphLaunched launch_original(Graph& graph, const GraphLaunch& launch, const std::string& reason);
  /// LaunchPlace::module of each of its kernels. Lets go of `state` where one is new.
  std::vector<std::string> modules_of(State& state, const GraphLaunch& launch);
  std::vector<GraphNode> nodes_of(const GraphLaunch& launch, const std::vector<std::string>& modules,
                                  int ordinal);
  void choose_variants(std::vector<GraphNode>& nodes, Graph& graph,
                       const std::shared_ptr<const Attached>& attached, device::Device& device,
                       const GraphLaunch& launch);
  Status make_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);
  /// As take_memory(); where there is none, the nodes' launches count as made without.
  Status reserve(const std::vector<GraphNode>& nodes, std::uint64_t bytes,
                 const std::function<Status()>& take);
  Status launch_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);
  void take_back_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch);

  // ---- making variants (session_variants.cpp)
  void make(Seen& seen, Kernel& kernel, const device::Launch& launch, const KernelSource& source);
  Status prepare(Seen& seen, Kernel& kernel, const device::Launch& launch, const KernelSource& source);
  void note_made(Seen& seen, const Kernel& kernel, const engine::Request& request, const KernelPtx& ptx);
  bool make_with_spare_counters(Seen& seen, Kernel& kernel, const device::Launch& launch,
                                engine::Request request);
  static Result<std::string> obstacle_to_block_counters(const Kernel& kernel, const device::Launch& launch);
  Status keep_occupancy(Seen& seen, Kernel& kernel, const device::Launch& launch, engine::Request& request);
  /// Instruments and loads, unless the text is that which was `refused`.
  Status make_variant(Seen& seen, Kernel& kernel, const device::Launch& launch,
                      const engine::Request& request, const std::string& refused = {});
  /// With a kernel whose text is the same. Adds up the times of making both.
  bool share_variant(Seen& seen, Kernel& kernel);

  // ---- taking results (session_report.cpp)
  static bool note_wrapped_words(Pending& pending, double milliseconds);
  /// Precondition of this and the next: `taking_` is held.
  void drain(bool wait);
  /// The first outstanding launch, if its results are there or `wait`, or when too many are outstanding.
  PendingPtr take(bool wait, SettledTogether& together);
  /// Writes the records of a launch, or that they are lost. Precondition: `records_` is held.
  void settle(Pending& pending, const Result<std::span<std::byte>>& bytes);
  void report(Pending& pending, std::span<std::byte> bytes);
  void add_times(const Pending& pending);
  /// For the kernel's later variants.
  void learn(Seen& seen, const Learned& shown);
  static void fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes);
  void report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                            const cod::LaunchView& launched);
  /// Of the table of its sites, which is written once.
  std::uint64_t number_of_sites(const Plan& plan);
  void report_ends();
  /// Precondition: `records_` is held.
  void close_books();
  /// Waits a second for threads that are in the midst of a launch.
  bool launches_are_made() const;
  void note_missing_results();
  /// Has `work` done by a thread of its own. False: it has not come to an end, and no result was taken for
  /// `patience`.
  bool ends(std::function<void()> work, std::chrono::milliseconds patience);
  /// Those of the devices; of all where nobody knows which contexts end.
  std::deque<PendingPtr> take_all_of(std::span<const device::Device* const> ending);
  /// Those that nobody waits for yet are lost.
  void give_up(LastResults& last);
  /// Writes what is complete and, as notes, what is missing.
  void take_what_is_there();
  void close_books_without_rest();
  /// True when there is nothing left to look for.
  bool collect_in_background();

  const Configuration configuration_;
  DumpFolder dump_;
  TraceStreams streams_;              // outlives all launches
  std::atomic<bool> ending_ = false;  // nobody but finish() takes results any more
  std::atomic<bool> finished_ = false;
  std::atomic<bool> has_seen_launches_ = false;
  std::atomic<bool> has_measured_ = false;
  std::atomic<std::uint64_t> choices_ = 0;
  std::atomic<int> launching_ = 0;                              // threads in the midst of a launch
  std::atomic<int> helpers_ = 0;                                // threads of ends()
  std::atomic<std::uint64_t> settled_ = 0;                      // launches whose results were taken
  std::atomic<std::uint64_t> waited_till_ = ~std::uint64_t{0};  // what `settled_` was when no more came

  // Three locks, taken in this order.
  OwnedMutex taking_;              // held by who takes results, so that their order is kept
  bool looks_past_first_ = false;  // guarded by taking_: the first outstanding launch goes on and on
  std::timed_mutex records_;       // while records are written: guards the sink and what reports keep
  // Recursive, since a signal handler may end the program in the midst of a launch.
  std::recursive_timed_mutex state_;     // guards what follows; never held while a compiler or a device works
  std::condition_variable_any changed_;  // a variant has been made
  std::unique_ptr<report::Sink> sink_;
  std::shared_ptr<const Attached> attached_;
  std::optional<NamePattern> kernels_;                 // nullopt: the configuration's
  std::vector<std::shared_ptr<const Attached>> ever_;  // those with an ON_END
  bool ever_attached_ = false;
  std::unordered_map<KernelKey, std::unique_ptr<Seen>, KernelKey::Hash, KernelKey::Equal> seen_;
  std::unordered_map<std::string_view, Seen*> first_of_name_;         // among them
  std::unordered_map<std::uint64_t, std::string> modules_;            // by image
  std::unordered_map<std::uint64_t, std::shared_ptr<Graph>> graphs_;  // by the executable graph's number
  std::deque<PendingPtr> pending_;
  std::deque<PendingPtr> given_up_;  // never looked at: their contexts have ended
  std::uint64_t pending_bytes_ = 0;
  std::shared_ptr<const device::LiveAllocations> logged_allocations_;
  std::set<std::string> warned_problems_;  ///< of kernels; each is a warning once
  Timeline timeline_;
  std::vector<std::pair<std::uint64_t, std::string>> told_devices_;  // ordinal and name; guarded by records_
  std::unique_ptr<ResultsWorker> worker_;
};

}  // namespace lynxpp::interposer
