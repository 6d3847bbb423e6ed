#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/check.h"
#include "support/text.h"

namespace lynxpp::interposer {

void Session::select_kernels(std::optional<NamePattern> kernels) {
  if (!kernels_ && !kernels) return;
  kernels_ = std::move(kernels);
  for (const auto& [key, seen] : seen_) seen->wanted = selects(key.kernel);
}

bool Session::selects(const std::string& kernel) const {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  const std::optional<NamePattern>& pattern = kernels_ ? kernels_ : configuration_.kernels;
  return !pattern || pattern->matches(kernel);
}

SessionStatus Session::status() {
  SessionStatus status;
  status.launches = configuration_.launches_text;
  status.output = configuration_.output;
  status.prints_table = configuration_.prints_table;
  const State state(state_);
  status.kernels = kernels_ ? kernels_->text() : configuration_.kernels_text();
  if (attached_ != nullptr && !finished_) {
    for (const engine::SpecificationPtr& each : attached_->specifications)
      status.specifications.push_back(each->name());
  }
  for (const auto& [key, seen] : seen_) {
    if (status.device.empty()) status.device = seen->timing.device;
    seen->add_unselected();
    status.outstanding += seen->outstanding;
    status.lost += seen->lost;
    KernelStatus& kernel =
        status.seen.emplace_back(key.kernel, seen->coverage.launches, seen->coverage.instrumented_launches);
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

}  // namespace lynxpp::interposer
