#include "interposer/session/session.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "interposer/engine_api.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// Limit on waiting for threads that are in the middle of a launch when the program ends.
constexpr std::chrono::milliseconds patience(1000);
/// The program's waits collect results if more launches than this are outstanding.
constexpr std::size_t launches_left_to_worker = 1024;

bool compiles_ahead(const Configuration& configuration, Session::Results results) {
  if (configuration.times_only() || configuration.first_launch == FirstLaunch::alone) return false;
  return configuration.first_launch == FirstLaunch::native || results == Session::Results::in_background;
}

}  // namespace

Session::Session(Configuration configuration, std::unique_ptr<report::Sink> sink, Results results)
    : configuration_(std::move(configuration)),
      trials_(configuration_.trials ? std::make_unique<Trials>(*configuration_.trials) : nullptr),
      streams_(configuration_.times_only() ? std::string() : configuration_.trace),
      kernels_(configuration_),
      recorder_(configuration_, std::move(sink), kernels_, trials_.get(),
                [this] { return is_interrupted(); }),
      maker_(configuration_, compiles_ahead(configuration_, results), variants_,
             [this](const std::string& kernel) { return kernels_.selects(kernel); }),
      timeline_(configuration_.timeline),
      planner_(configuration_, kernels_, variants_, maker_),
      sharing_(results_, configuration_.own_records, configuration_.may_share()),
      room_(configuration_, kernels_, streams_, sharing_, results_),
      path_(parts()),
      graphs_(parts(), path_),
      results_(
          {.settle = [this](Pending& pending,
                            const Result<std::span<std::byte>>& bytes) { recorder_.settle(pending, bytes); },
           .lose = [this](const Pending& pending,
                          const std::string& reason) { recorder_.lose(pending, reason); }},
          configuration_.patience) {
  if (results == Results::in_background) results_.use_worker([this] { return collect_in_background(); });
}

bool Session::attach(const std::string& list, std::string& problem, std::optional<NamePattern> kernels) {
  auto attached = std::make_shared<Attached>();
  problem.clear();
  const bool begins_trials = trials_ != nullptr && list == LYNXPP_TRIALS_ATTACHED;
  if (!begins_trials) {
    const bool has_stack = run_with_stack(compilers_stack, [&] { problem = attached->add_all(list); });
    if (!has_stack) problem = "error: not enough memory for the compiler's stack\n";
    if (trials_ != nullptr && !attached->specifications.empty())
      problem = "error: the process runs trials (LYNXPP_TRIALS), which count nothing\n";
  }
  if (!problem.empty()) return false;
  const bool is_detached = attached->specifications.empty() && !begins_trials;
  kernels_.attach(is_detached ? nullptr : std::move(attached), std::move(kernels));
  maker_.forget([](const VariantsAhead::Key&) { return true; }, {});
  sharing_.close();
  return true;
}

void Session::inherit(const Session& parent) {
  std::shared_ptr<Attached> attached;
  if (const std::shared_ptr<const Attached> of_parent = parent.kernels_.attached_of_child()) {
    attached = std::make_shared<Attached>(*of_parent);
    attached->has_launches = false;
    for (std::size_t i = 0; i < attached->reports.size(); ++i)
      attached->host[i] = attached->reports[i]->initial_state();
  }
  kernels_.inherit(parent.kernels_, std::move(attached));
}

SessionStatus Session::status() {
  SessionStatus status;
  status.launches = configuration_.launches_text;
  status.output = configuration_.output;
  status.prints_table = configuration_.prints_table;
  const KnownKernels::State state(kernels_);
  status.kernels = kernels_.filter();
  if (kernels_.attached_now() != nullptr && !kernels_.is_over()) {
    for (const engine::SpecificationPtr& each : kernels_.attached_now()->specifications)
      status.specifications.push_back(each->name());
  }
  for (Seen* const seen : kernels_.all()) {
    if (status.device.empty()) status.device = seen->timing.device;
    seen->add_unselected();
    status.outstanding += seen->outstanding;
    status.lost += seen->lost;
    KernelStatus& kernel =
        status.seen.emplace_back(seen->name, seen->coverage.launches, seen->coverage.instrumented_launches);
    kernel.timed = seen->timing.launches;
    kernel.milliseconds = seen->timing.execute;
    kernel.is_modelled = !seen->timing.modelled.empty();
    if (seen->timing.original) kernel.warps_per_sm = seen->timing.original->warps_per_sm;
    kernel.most_warps_per_sm = seen->most_warps_per_sm;
    for (const report::CoverageRecord& each : seen->earlier) {
      kernel.launches += each.launches;
      kernel.instrumented += each.instrumented_launches;
    }
  }
  return status;
}

// ---- collecting

bool Session::collect_in_background() {
  sharing_.close_due();
  if (!kernels_.is_over()) results_.collect(ResultsPipeline::Which::arrived, patience);
  return kernels_.is_over() || (sharing_.is_empty() && results_.size() == 0);
}

void Session::waited() {
  if (kernels_.is_over() || Launches::is_in_this_thread()) return;
  if (configuration_.timeline && attached()) recorder_.write(timeline_.wait());
  if (!results_.has_worker() || results_.size() > launches_left_to_worker) collect();
}

void Session::collect() {
  if (kernels_.is_over() || results_.is_collecting_here() || Launches::is_in_this_thread()) return;
  sharing_.close_due();
  results_.collect(ResultsPipeline::Which::ended, patience);
}

void Session::save_results(std::span<const device::Device* const> ending) {
  if (kernels_.is_over()) return;
  maker_.forget(
      [&](const VariantsAhead::Key& key) { return std::ranges::find(ending, key.device) != ending.end(); },
      configuration_.patience);
  const std::vector<const device::Device*> devices(ending.begin(), ending.end());
  const bool is_over = results_.settle_ending(ending, [this, devices] {
    sharing_.close_pending(
        [&](const SharingOwner& owner) {
          return devices.empty() || std::ranges::find(devices, owner.device) != devices.end();
        },
        configuration_.patience);
  });
  // A launch that does not end also prevents unloading, which waits for the device.
  if (!is_over) return;
  if (trials_ != nullptr) trials_->forget_devices(ending);
  planner_.drop([&](const InstrumentedKernel& kernel) {
    return std::ranges::find(ending, kernel.device) != ending.end();
  });
  graphs_.forget_devices(ending);
}

void Session::copied(const CopyCall& call) {
  if (configuration_.timeline && attached()) recorder_.write(timeline_.copy(call));
}

void Session::forget_image(std::uint64_t image) {
  kernels_.forget_image(image);
  if (trials_ != nullptr) trials_->forget_image(image);
  sharing_.close([&](const SharingOwner& owner) { return owner.image == image; });
  graphs_.forget_image(image);
  maker_.forget([&](const VariantsAhead::Key& key) { return key.image == image; }, {});
  planner_.drop([&](const InstrumentedKernel& kernel) { return kernel.image == image; });
}

// ---- the end

void Session::finish() {
  // A signal handler of the program may end it while this thread is inside a launch; a launch on another
  // thread may never end, and must not keep the program from ending either.
  if (Launches::is_in_this_thread() || results_.is_collecting_here() || !launches_.are_made_within(patience))
    return finish_now();
  maker_.stop();
  results_.begin_end();
  const bool is_over = results_.ends(
      [this] {
        sharing_.close_pending([](const SharingOwner&) { return true; }, configuration_.patience);
        results_.collect(ResultsPipeline::Which::all);
      },
      configuration_.patience);
  if (!is_over) {
    results_.ends([this] { results_.collect_completed(patience); }, patience);
    return write_incomplete_records();
  }
  recorder_.finish([this] { stop_parts(); });
}

void Session::close_at_once() {
  constexpr std::chrono::milliseconds time_to_end(20), pause(1);
  const auto latest = std::chrono::steady_clock::now() + time_to_end;
  do {
    const bool are_closed = sharing_.close_at_once(time_to_end);
    results_.collect(ResultsPipeline::Which::arrived, pause);
    if (are_closed && results_.size() == 0) return;
    std::this_thread::sleep_for(pause);
  } while (std::chrono::steady_clock::now() < latest);
}

bool Session::is_interrupted() const {
  return kernels_.is_held_by_caller() || recorder_.is_held_by_caller() || sharing_.is_held_by_caller() ||
         variants_.is_held_by_caller() || graphs_.is_held_by_caller();
}

void Session::finish_now() {
  // Closing may block, and needs locks that this thread may hold.
  if (!is_interrupted()) results_.ends([this] { close_at_once(); }, patience);
  results_.collect_completed(patience);
  write_incomplete_records();
}

void Session::write_incomplete_records() {
  recorder_.finish_within(patience, [this] { stop_parts(); });
}

void Session::stop_parts() {
  results_.stop();
  variants_.stop();
  sharing_.stop();
}

}  // namespace lynxpp::interposer
