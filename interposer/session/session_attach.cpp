#include "interposer/session/session.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "interposer/allocations.h"
#include "interposer/engine_api.h"
#include "interposer/session/session_state.h"
#include "support/check.h"
#include "support/log.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::interposer {

thread_local int Session::Launching::depth_ = 0;

namespace {

bool compiles_ahead(const Configuration& configuration, Session::Results results) {
  if (configuration.times_only() || configuration.first_launch == FirstLaunch::alone) return false;
  return configuration.first_launch == FirstLaunch::native || results == Session::Results::in_background;
}

}  // namespace

Session::Session(Configuration configuration, std::unique_ptr<report::Sink> sink, Results results)
    : configuration_(std::move(configuration)),
      trials_(configuration_.trials ? std::make_unique<Trials>(*configuration_.trials) : nullptr),
      streams_(configuration_.times_only() ? std::string() : configuration_.trace),
      sink_(std::move(sink)),
      maker_(configuration_, compiles_ahead(configuration_, results), variants_,
             [this](const std::string& kernel) {
               const State state(state_);
               return selects(kernel);
             }),
      timeline_(configuration_.timeline),
      sharing_(results_, configuration_.own_records, configuration_.may_share()),
      results_({.settle = [this](Pending& pending,
                                 const Result<std::span<std::byte>>& bytes) { settle(pending, bytes); },
                .lose = [this](const Pending& pending, const std::string& reason) { lose(pending, reason); }},
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
  {
    const State state(state_);
    select_kernels(std::move(kernels));
    attached_ = attached->specifications.empty() && !begins_trials ? nullptr : attached;
    if (attached_ != nullptr) {
      for (const auto& [key, seen] : seen_) seen->begin_coverage(attached_->names);
    }
    choices_.fetch_add(1, std::memory_order_release);
    ever_attached_ |= attached_ != nullptr;
    keep_for_end(attached);
  }
  maker_.forget([](const VariantsAhead::Key&) { return true; }, {});
  sharing_.close();
  return true;
}

void Session::inherit(const Session& parent) {
  const State state(state_);
  kernels_ = parent.kernels_;
  ever_attached_ = parent.ever_attached_;
  if (parent.attached_ == nullptr) return;
  const auto attached = std::make_shared<Attached>(*parent.attached_);
  attached->has_launches = false;
  for (std::size_t i = 0; i < attached->reports.size(); ++i)
    attached->host[i] = attached->reports[i]->initial_state();
  attached_ = attached;
  keep_for_end(attached);
}

void Session::keep_for_end(const std::shared_ptr<const Attached>& attached) {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  const auto has_end = [](const auto& report) { return report->has_end(); };
  if (std::ranges::any_of(attached->reports, has_end)) ever_.push_back(attached);
}

bool Session::attached() {
  const State state(state_);
  return attached_ != nullptr && !finished_;
}

}  // namespace lynxpp::interposer
