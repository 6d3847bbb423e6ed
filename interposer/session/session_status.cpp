#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/text.h"

namespace lynxpp::interposer {

void Session::select_kernels(std::optional<KernelSelection> kernels) {
  if (kernels_ == nullptr && !kernels) return;
  kernels_ = kernels ? std::make_unique<const KernelSelection>(std::move(*kernels)) : nullptr;
  for (const auto& [key, seen] : seen_) seen->wanted = selects(key.kernel);
}

bool Session::selects(const std::string& kernel) const {
  const std::regex* const pattern = kernels_ != nullptr      ? &kernels_->pattern
                                    : configuration_.kernels ? &*configuration_.kernels
                                                             : nullptr;
  return pattern == nullptr || std::regex_search(kernel, *pattern) ||
         std::regex_search(demangle(kernel), *pattern);
}

SessionStatus Session::status() {
  SessionStatus status;
  status.launches = configuration_.launches_text;
  status.output = configuration_.output;
  status.prints_table = configuration_.prints_table;
  const State state(state_);
  status.kernels = kernels_ != nullptr ? kernels_->text : configuration_.kernels_text;
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
    for (const report::CoverageRecord& each : seen->earlier) {
      kernel.launches += each.launches;
      kernel.instrumented += each.instrumented_launches;
    }
  }
  return status;
}

}  // namespace lynxpp::interposer
