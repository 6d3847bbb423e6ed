#include "device/cpu/runtime/counters.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "support/log.h"
#include "support/output_file.h"
#include "support/setting.h"

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
  const OperationCounts& operations = site.operations;
  if (operations.tensor_copies != 0)
    json["tensor"] = {{"copies", operations.tensor_copies}, {"bytes", operations.tensor_bytes}};
  if (operations.expected_bytes != 0) json["expected_bytes"] = operations.expected_bytes;
  if (operations.completed_waits != 0) json["completed_waits"] = operations.completed_waits;
  if (operations.tensor_core_operations != 0)
    json["tensor_core_operations"] = operations.tensor_core_operations;
  if (operations.operand_matrices != 0)
    json["operands"] = {{"matrices", operations.operand_matrices},
                        {"wavefronts", operations.operand_wavefronts}};
  if (operations.copy_wavefronts != 0) json["copy_wavefronts"] = operations.copy_wavefronts;
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

/// Returns runs as [word, words, accesses of each].
Json runs_of(std::span<const std::pair<std::uint64_t, std::uint64_t>> words, std::uint64_t first) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < words.size();) {
    std::size_t end = i + 1;
    while (end < words.size() && words[end].second == words[i].second &&
           words[end].first == words[i].first + (end - i))
      ++end;
    runs.push_back({words[i].first - first, end - i, words[i].second});
    i = end;
  }
  return runs;
}

/// Writes the words of each array and those outside of arrays.
Json words_of(const WordCounters& counters, const std::vector<CountedArray>& arrays) {
  using Words = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Json json = Json::array();
  Words shared(counters.shared.begin(), counters.shared.end());
  std::ranges::sort(shared);
  if (!shared.empty()) json.push_back({{"space", "shared"}, {"runs", runs_of(shared, 0)}});
  Words global(counters.global.begin(), counters.global.end());
  std::ranges::sort(global);
  const auto position_of = [&](std::uint64_t word) {
    return std::ranges::lower_bound(global, word, {}, &Words::value_type::first) - global.begin();
  };
  const auto span_of = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    return std::span(global).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  Words outside;
  std::ptrdiff_t next = 0;
  for (const CountedArray& array : arrays) {
    const std::uint64_t first = array.address / 4;
    const std::ptrdiff_t begin = position_of(first);
    const std::ptrdiff_t end = position_of(first + (array.bytes + 3) / 4);
    const auto before = span_of(next, std::max(begin, next));
    outside.insert(outside.end(), before.begin(), before.end());
    next = std::max(end, next);
    if (begin == end) continue;
    Json of_array = {{"space", "global"}, {"address", array.address}, {"bytes", array.bytes}};
    if (array.allocation) of_array["allocation"] = *array.allocation;
    if (!array.allocation) of_array["variable"] = array.variable;
    of_array["runs"] = runs_of(span_of(begin, end), first);
    json.push_back(std::move(of_array));
  }
  const auto after = span_of(next, static_cast<std::ptrdiff_t>(global.size()));
  outside.insert(outside.end(), after.begin(), after.end());
  if (!outside.empty()) json.push_back({{"space", "global"}, {"runs", runs_of(outside, 0)}});
  return json;
}

Json to_json(const models::clock::SizeCounts& sizes) {
  return {{"32", sizes.of_32}, {"64", sizes.of_64}, {"128", sizes.of_128}};
}

Json to_json(const models::clock::RequestCounts& requests) {
  return {{"requests", requests.requests},
          {"bytes_asked", requests.bytes_asked},
          {"sectors", requests.sectors},
          {"lines", requests.lines}};
}

Json to_json(const models::clock::SampledLocality& locality) {
  return {{"sets", locality.sets},
          {"sampled_sets", locality.sampled_sets},
          {"first", locality.counts.first},
          {"first_sectors", locality.counts.first_sectors},
          {"stores", locality.counts.stores},
          {"distances", locality.counts.distances}};
}

Json to_json(const models::clock::KernelTime& time) {
  Json json = {{"machine", modelled_machine()->name},
               {"cycles", time.cycles},
               {"seconds", time.seconds},
               {"blocks_per_multiprocessor", time.blocks_per_multiprocessor},
               {"warps_per_multiprocessor", time.warps_per_multiprocessor},
               {"transactions",
                {{"loads", to_json(time.loads)},
                 {"stores", to_json(time.stores)},
                 {"atomics", to_json(time.atomics)}}}};
  json["requests"] = {{"loads", to_json(time.load_requests)}, {"stores", to_json(time.store_requests)}};
  Json& channels = json["channels"];
  for (const models::clock::ChannelCounts& each : time.channels) {
    channels["transactions"].push_back(each.transactions);
    channels["bytes"].push_back(each.bytes);
    channels["busy_cycles"].push_back(each.busy_cycles);
  }
  for (const auto& [name, counts] : {std::pair("l1", time.l1), std::pair("l2", time.l2)}) {
    if (counts) json[name] = {{"hits", counts->hits}, {"misses", counts->misses}};
  }
  if (time.l1_locality) json["l1"]["locality"] = to_json(*time.l1_locality);
  if (time.l2_locality) json["l2"]["locality"] = to_json(*time.l2_locality);
  json["traffic"] = {{"bin_cycles", time.traffic.bin_cycles},
                     {"over_time", time.traffic.over_time},
                     {"of_block", time.traffic.of_block}};
  return json;
}

}  // namespace

namespace {

struct Settings {
  std::optional<std::string> path;
  bool counts_words = false;
};

/// The environment is read once, because a program may change it while its other threads launch.
Settings& settings() {
  static Settings read = [] {
    const char* const path = setting("LYNXPP_CPU_COUNTERS");
    const char* const words = setting("LYNXPP_CPU_WORDS");
    Settings found;
    if (path != nullptr && *path != '\0') found.path = path;
    found.counts_words = words != nullptr && std::string_view(words) == "1";
    return found;
  }();
  return read;
}

}  // namespace

bool counts_words() { return settings().counts_words; }

std::vector<CountedArray> reachable_arrays(LoadedModule& module) {
  std::vector<CountedArray> arrays;
  for (const LiveAllocation& each : allocations().live()->sorted)
    arrays.push_back({each.address, each.bytes, each.number, {}});
  for (const auto& [name, storage] : module.variables()) {
    if (storage.bytes == 0) continue;
    const auto address = reinterpret_cast<std::uint64_t>(storage.address);
    arrays.push_back({address, storage.bytes, {}, std::string(name)});
  }
  std::ranges::sort(arrays, {}, &CountedArray::address);
  return arrays;
}

std::optional<std::string> counters_path() { return settings().path; }

void set_counters_path(std::optional<std::string> path) { settings().path = std::move(path); }

void write_counters(const std::string& path, const CountedLaunch& launch, const LaunchCounters& counters,
                    const std::optional<models::clock::KernelTime>& time) {
  Json blocks = Json::array();
  for (const BlockCounters& block : counters.blocks) blocks.push_back(to_json(block));
  Json sites = Json::array();
  for (const SiteCounters& site : counters.sites) {
    if (site.warp_issues != 0) sites.push_back(to_json(site));
  }
  const Dim3& grid = launch.shape.grid;
  const Dim3& block = launch.shape.block;
  Json line = {{"kernel", launch.kernel},
               {"launch", launch.number},
               {"grid", {grid.x, grid.y, grid.z}},
               {"block", {block.x, block.y, block.z}}};
  if (launch.is_instrumented) line["instrumented"] = true;
  if (launch.device != 0) line["device"] = launch.device;
  line.update(totals(counters));
  if (time) line["modelled"] = to_json(*time);
  line["blocks"] = std::move(blocks);
  line["sites"] = std::move(sites);
  if (counters.words) line["words"] = words_of(*counters.words, launch.arrays);
  const std::string text = line.dump() + "\n";

  static std::mutex mutex;
  static bool has_failed = false;
  const std::lock_guard lock(mutex);
  if (has_failed) return;
  const Status written = append_to_output(path, text);
  if (written) return;
  has_failed = true;
  log().error("{} (LYNXPP_CPU_COUNTERS); later counters are missing from the file",
              written.error().diagnostics.front().message);
}

}  // namespace lynxpp::device::cpu
