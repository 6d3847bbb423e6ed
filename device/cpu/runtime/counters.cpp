#include "device/cpu/runtime/counters.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "support/log.h"

namespace lynxpp::device::cpu {
namespace {

nlohmann::ordered_json to_json(const BlockCounters& block) {
  return {{"function", block.function},
          {"block", block.block},
          {"instructions", block.instructions},
          {"warp_executions", block.warp_executions},
          {"thread_executions", block.thread_executions},
          {"warp_instructions", block.warp_instructions},
          {"thread_instructions", block.thread_instructions}};
}

using Json = nlohmann::ordered_json;

Json to_json(const GlobalAccessCounts& global) {
  return {{"requests", global.requests}, {"sectors", global.sectors}, {"bytes", global.bytes}};
}

Json to_json(const SharedAccessCounts& shared) {
  return {{"accesses", shared.accesses},
          {"wavefronts", shared.wavefronts},
          {"least_wavefronts", shared.least_wavefronts}};
}

Json to_json(const SiteCounters& site) {
  Json json = {{"function", site.function},
               {"instruction", site.instruction},
               {"block", site.block},
               {"line", site.line},
               {"opcode", site.opcode},
               {"warp_issues", site.warp_issues},
               {"active_lanes", site.active_lanes},
               {"executing_warps", site.executing_warps},
               {"thread_executions", site.thread_executions}};
  if (site.divergent != 0) json["divergent"] = site.divergent;
  if (site.global.requests != 0) json["global"] = to_json(site.global);
  if (site.shared.accesses != 0) json["shared"] = to_json(site.shared);
  return json;
}

Json totals(const LaunchCounters& counters) {
  const auto by_kind = [&](auto member) {
    return Json{{"loads", to_json(counters.loads.*member)},
                {"stores", to_json(counters.stores.*member)},
                {"atomics", to_json(counters.atomics.*member)}};
  };
  std::map<std::string, std::uint64_t> opcodes;
  for (const SiteCounters& site : counters.sites) opcodes[site.opcode] += site.thread_executions;
  const BranchCounters& branches = counters.branches;
  const BarrierCounters& barriers = counters.barriers;
  return {{"thread_instructions", counters.thread_instructions},
          {"warp_instructions", counters.warp_instructions},
          {"global", by_kind(&MemoryCounters::global)},
          {"shared", by_kind(&MemoryCounters::shared)},
          {"branches",
           {{"warps", branches.warps}, {"threads", branches.threads}, {"divergent", branches.divergent}}},
          {"barriers", {{"warps", barriers.warps}, {"threads", barriers.threads}}},
          {"opcodes", opcodes}};
}

}  // namespace

std::optional<std::string> counters_path() {
  const char* path = std::getenv("LYNXPP_CPU_COUNTERS");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

void write_counters(const std::string& path, const CountedLaunch& launch, const LaunchCounters& counters) {
  Json blocks = Json::array();
  for (const BlockCounters& block : counters.blocks) blocks.push_back(to_json(block));
  Json sites = Json::array();
  for (const SiteCounters& site : counters.sites) {
    if (site.warp_issues != 0) sites.push_back(to_json(site));
  }
  const auto& [grid, block, shared_bytes] = launch.shape;
  Json line = {{"kernel", launch.kernel},
               {"launch", launch.number},
               {"grid", {grid.x, grid.y, grid.z}},
               {"block", {block.x, block.y, block.z}}};
  if (launch.is_instrumented) line["instrumented"] = true;
  line.update(totals(counters));
  line["blocks"] = std::move(blocks);
  line["sites"] = std::move(sites);
  const std::string text = line.dump() + "\n";

  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text << std::flush;
  if (!file) log().error("cannot write the counters to '{}' (LYNXPP_CPU_COUNTERS)", path);
}

}  // namespace lynxpp::device::cpu
