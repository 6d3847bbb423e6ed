// The part of the session whose launches are trials (LYNXPP_TRIALS).
#include <exception>
#include <utility>

#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {

bool Session::launch_trials(Seen& seen, device::Device& device, const device::Launch& launch,
                            const KernelSource& source, const report::ActivityRecord& activity) {
  Trials::Launched launched = trials_->launch(seen.coverage.module, device, launch, source);
  // The launches have been made, whatever fails from here on.
  try {
    {
      const report::DeviceRecord record = record_of(device);
      const std::lock_guard records(records_);
      if (!finished_) tell(record);
    }
    for (Trials::Made& made : launched.outstanding) {
      Outstanding outstanding(seen);
      auto plan = std::make_shared<LaunchPlan>();
      plan->seen = &seen;
      plan->device = device.info();
      plan->device_record = std::make_shared<const report::DeviceRecord>(record_of(device));
      plan->variant = std::move(made.variant);
      report::ActivityRecord own = activity;
      PendingPtr pending = pending_with(std::move(plan), device, launch, own);
      pending->trial = made.run;
      pending->readback = std::move(made.readback);
      add(std::move(pending), outstanding);
    }
  } catch (const std::exception& error) {
    log().error("{}: times of trials are lost: {}", demangle(seen.coverage.kernel), error.what());
  }
  return launched.is_made;
}

}  // namespace lynxpp::interposer
