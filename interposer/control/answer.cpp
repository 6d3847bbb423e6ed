#include "interposer/control/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/json.h"

namespace lynxpp::interposer {
namespace {

using nlohmann::json;

/// Limits the number of reported kernels to those launched most.
constexpr std::size_t most_kernels = 200;

std::string text_of(const json& value) {
  // Paths and texts of specifications may contain arbitrary bytes.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string text_of_status(SessionStatus status, const ProcessFacts& process) {
  json told = {{"device", status.device.empty() ? process.device : status.device},
               {"specifications", status.specifications},
               {"kernels", status.kernels},
               {"launches", status.launches},
               {"output", status.output},
               {"table", status.prints_table},
               {"outstanding", status.outstanding},
               {"lost", status.lost}};
  std::uint64_t seen = 0;
  std::uint64_t instrumented = 0;
  for (const KernelStatus& each : status.seen) {
    seen += each.launches;
    instrumented += each.instrumented;
  }
  told["launched"] = process.launched;
  told["seen"] = seen;
  told["instrumented"] = instrumented;
  std::ranges::sort(status.seen, [](const KernelStatus& a, const KernelStatus& b) {
    return std::pair(b.launches, a.kernel) < std::pair(a.launches, b.kernel);
  });
  if (status.seen.size() > most_kernels) status.seen.resize(most_kernels);
  json kernels = json::array();
  for (const KernelStatus& each : status.seen) {
    kernels.push_back({{"kernel", each.kernel},
                       {"launches", each.launches},
                       {"instrumented", each.instrumented},
                       {"timed", each.timed},
                       {"milliseconds", each.milliseconds},
                       {"modelled", each.is_modelled},
                       {"warps_per_sm", each.warps_per_sm},
                       {"most_warps_per_sm", each.most_warps_per_sm}});
  }
  told["seen_kernels"] = std::move(kernels);
  return text_of(told);
}

std::string text_of_running(Session& session) {
  const Result<std::vector<RunningLaunch>> launches = session.running();
  if (!launches) return refusal(launches.error().diagnostics.front().message);
  json running = json::array();
  for (const RunningLaunch& each : *launches) {
    running.push_back({{"kernel", each.kernel},
                       {"launch", each.launch},
                       {"grid", each.grid},
                       {"block", each.block},
                       {"seconds", each.seconds},
                       {"findings", each.findings}});
  }
  return text_of({{"specifications", session.status().specifications}, {"running", std::move(running)}});
}

/// Returns a member that must be a string; null if it is missing or not a string.
const std::string* text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() ? found->get_ptr<const std::string*>() : nullptr;
}

/// Returns why nothing was attached, or nullopt on success.
std::optional<std::string> attach_as_asked(Session& session, const json& wish) {
  const std::string* const list = wish.is_object() ? text_in(wish, "specifications") : nullptr;
  if (list == nullptr || list->find_first_not_of(" ,") == std::string::npos)
    return "the request names no specification";
  std::optional<NamePattern> kernels;
  if (wish.contains("kernels")) {
    const std::string* const pattern = text_in(wish, "kernels");
    if (pattern == nullptr) return "the kernel filter is not a string";
    Result<NamePattern> parsed = NamePattern::parse(*pattern);
    if (!parsed) return parsed.error().diagnostics.front().message;
    kernels = std::move(*parsed);
  }
  std::string problem;
  if (!session.attach(*list, problem, std::move(kernels))) return problem;
  return std::nullopt;
}

}  // namespace

std::string refusal(const std::string& why) { return text_of({{"error", why}}); }

Answer answer(Session& session, std::string_view request, const ProcessFacts& process) {
  const Result<json> parsed = parse_json<json>(request, {});
  if (!parsed || !parsed->is_object() || parsed->size() != 1) return {refusal("invalid request"), {}};
  const json& asked = *parsed;
  const std::string& what = asked.begin().key();
  if (what == "status") return {text_of_status(session.status(), process), {}};
  if (what == "why") return {text_of_running(session), {}};
  if (what == "attach") {
    if (const auto problem = attach_as_asked(session, *asked.begin())) return {refusal(*problem), {}};
  } else if (what == "detach") {
    std::string none;
    session.attach("", none);
  } else {
    return {refusal("invalid request"), {}};
  }
  SessionStatus status = session.status();
  const bool attached = !status.specifications.empty();
  return {text_of_status(std::move(status), process), attached};
}

}  // namespace lynxpp::interposer
