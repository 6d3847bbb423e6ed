#include "device/cpu/runtime_counters.h"

#include <cstdlib>
#include <fstream>
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

}  // namespace

std::optional<std::string> counters_path() {
  const char* path = std::getenv("LYNXPP_CPU_COUNTERS");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

void write_counters(const std::string& path, const std::string& kernel, std::uint64_t launch,
                    const LaunchShape& shape, const LaunchCounters& counters) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array();
  for (const BlockCounters& block : counters.blocks) blocks.push_back(to_json(block));
  const nlohmann::ordered_json line = {{"kernel", kernel},
                                       {"launch", launch},
                                       {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
                                       {"block", {shape.block.x, shape.block.y, shape.block.z}},
                                       {"thread_instructions", counters.thread_instructions},
                                       {"warp_instructions", counters.warp_instructions},
                                       {"blocks", std::move(blocks)}};
  const std::string text = line.dump() + "\n";

  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text << std::flush;
  if (!file) log().error("cannot write the counters to '{}' (LYNXPP_CPU_COUNTERS)", path);
}

}  // namespace lynxpp::device::cpu
