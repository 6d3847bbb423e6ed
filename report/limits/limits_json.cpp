// Limits as JSON (docs/schema/limits.schema.json).
#include <nlohmann/json.hpp>
#include <utility>

#include "report/limits/limits.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

void add(Json& object, const Gain& gain) {
  object["at_most"] = gain.at_most;
  object["low"] = gain.low;
  object["high"] = gain.high;
}

Json json_of(const std::vector<LimitLocation>& locations) {
  Json all = Json::array();
  for (const LimitLocation& each : locations)
    all.push_back(
        {{"file", each.file}, {"line", each.line}, {"ptx_line", each.ptx_line}, {"opcodes", each.opcodes}});
  return all;
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::limited: return "limited";
    case Verdict::unclear: return "unclear";
    case Verdict::not_limited: break;
  }
  return "not limited";
}

Json json_of(const Limit& limit) {
  Json object{{"operation", limit.operation}};
  add(object, limit.gain);
  object["pattern"] = nullptr;
  if (limit.pattern) {
    object["pattern"] = Json::object();
    add(object["pattern"], *limit.pattern);
  }
  object["reuse"] = nullptr;
  if (limit.reuse) {
    object["reuse"] = Json::object();
    add(object["reuse"], *limit.reuse);
  }
  object["cost"] = limit.cost;
  object["verdict"] = name_of(verdict_of(limit.gain));
  object["advice"] = advice_on(limit.operation);
  object["locations"] = json_of(limit.locations);
  object["lines"] = Json::array();
  for (const LineLimit& each : limit.lines) {
    Json line = Json::object();
    add(line, each.gain);
    for (const auto& [name, gain] : {std::pair("pattern", &each.pattern), std::pair("reuse", &each.reuse)}) {
      line[name] = nullptr;
      if (!*gain) continue;
      line[name] = Json::object();
      add(line[name], **gain);
    }
    line["locations"] = json_of(each.locations);
    object["lines"].push_back(std::move(line));
  }
  object["registers"] = limit.registers;
  object["notes"] = limit.notes;
  object["left_out"] = limit.left_out;
  return object;
}

Json json_of(const KernelLimits& kernel) {
  Json object{{"kernel", kernel.kernel},
              {"demangled", demangle(kernel.kernel)},
              {"module", kernel.module},
              {"device", kernel.device},
              {"grid", kernel.grid},
              {"block", kernel.block},
              {"shared_bytes", kernel.shared_bytes},
              {"is_modelled", kernel.is_modelled},
              {"launches", kernel.launches},
              {"replays", kernel.replays},
              {"timed", kernel.timed},
              {"native_ms", kernel.native_ms},
              {"share", kernel.share},
              {"registers", kernel.registers},
              {"blocks_per_sm", kernel.blocks_per_sm},
              {"limits", Json::array()},
              {"lines", Json::array()},
              {"untried", Json::array()},
              {"remedies", Json::array()},
              {"waves", nullptr},
              {"moving", nullptr},
              {"arithmetic", nullptr},
              {"shared", nullptr}};
  for (const Limit& each : kernel.limits) object["limits"].push_back(json_of(each));
  for (const LineSum& each : kernel.lines) {
    object["lines"].push_back({{"file", each.location.file},
                               {"line", each.location.line},
                               {"ptx_line", each.location.ptx_line},
                               {"at_most", each.at_most},
                               {"operations", each.operations}});
  }
  for (const Untried& each : kernel.untried)
    object["untried"].push_back({{"operation", each.operation}, {"reason", each.reason}});
  for (const Remedy& each : kernel.remedies) {
    Json remedy{{"operation", each.operation}};
    add(remedy["gain"], each.gain);
    remedy["predicted_by"] = each.predicted_by;
    remedy["predicted"] = nullptr;
    if (each.predicted) {
      remedy["predicted"] = Json::object();
      add(remedy["predicted"], *each.predicted);
    }
    remedy["results"] = each.results;
    object["remedies"].push_back(std::move(remedy));
  }
  if (kernel.waves) {
    object["waves"] = {{"blocks", kernel.waves->blocks},
                       {"multiprocessors", kernel.waves->multiprocessors},
                       {"blocks_per_sm", kernel.waves->blocks_per_sm},
                       {"waves", kernel.waves->full()},
                       {"idle", kernel.waves->idle()}};
  }
  if (kernel.moving) {
    object["moving"] = {{"read_bytes", kernel.moving->read_bytes},
                        {"written_bytes", kernel.moving->written_bytes},
                        {"ms", kernel.moving->ms},
                        {"at_most", kernel.moving->at_most}};
  }
  for (const auto& [name, needed] : {std::pair("arithmetic", kernel.arithmetic), {"shared", kernel.shared}}) {
    if (!needed) continue;
    object[name] = Json::object();
    add(object[name], *needed);
  }
  return object;
}

}  // namespace

std::string limits_json(std::span<const KernelLimits> kernels, const std::vector<std::string>& command) {
  Json object{{"record", "limits"},
              {"command", command},
              {"trust", trust_line_of(kernels)},
              {"kernels", Json::array()}};
  for (const KernelLimits& each : kernels) object["kernels"].push_back(json_of(each));
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::report
