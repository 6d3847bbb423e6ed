// The part of the session that describes launches that are not over.
#include <chrono>
#include <cstddef>
#include <utility>

#include "interposer/results/emitted.h"
#include "interposer/session/session.h"

namespace lynxpp::interposer {
namespace {

/// Limit on waiting for another thread that collects results.
constexpr std::chrono::milliseconds most_waiting(1000);

/// Runs the reports of the specifications that ask for running launches on copies of their arrays.
template <typename View>
std::vector<std::string> findings_of(const std::vector<engine::SpecificationPtr>& specifications,
                                     const std::vector<std::shared_ptr<const cod::HostReport>>& reports,
                                     View view_of_specification) {
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < specifications.size(); ++i) {
    if (!specifications[i]->asks_if_running()) continue;
    cod::LaunchView view = view_of_specification(i);
    view.is_running = true;
    view.emit = [](const cod::Emitted&) {};
    view.print = [&](std::string_view text) { findings.emplace_back(text); };
    if (const Status ran = reports[i]->run(view); !ran) {
      const std::vector<std::string> mishaps = mishaps_of(ran.error());
      findings.insert(findings.end(), mishaps.begin(), mishaps.end());
    }
  }
  return findings;
}

}  // namespace

Result<std::vector<RunningLaunch>> Session::running() {
  std::vector<RunningLaunch> found;
  const bool has_visited = results_.visit(most_waiting, [&](Pending& pending) {
    const LaunchPlan& plan = *pending.plan;
    if (plan.variant == nullptr || pending.readback->is_over()) return;
    RunningLaunch& launch = found.emplace_back();
    launch.kernel = plan.seen->name;
    launch.launch = pending.launch;
    std::copy(std::begin(plan.view.grid), std::end(plan.view.grid), launch.grid);
    std::copy(std::begin(plan.view.block), std::end(plan.view.block), launch.block);
    launch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - pending.begin).count();
    if (pending.live == nullptr) return;
    std::vector<std::byte> bytes(plan.layout.bytes);
    pending.live->copy_to(bytes);
    launch.findings = findings_of(plan.attached->specifications, plan.attached->reports, [&](std::size_t i) {
      return Recorder::view_of(pending, i, bytes, plan.view);
    });
  });
  if (!has_visited) return failure("another thread is collecting results; ask again");
  return found;
}

}  // namespace lynxpp::interposer
