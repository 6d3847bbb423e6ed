#include "models/machine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "models/embedded.h"
#include "support/json.h"
#include "support/text.h"

namespace lynxpp::models {
namespace {

using nlohmann::json;

/// Reads an object's members and collects errors.
class Members {
 public:
  Members(const json& object, std::string path, std::string file, Diagnostics& problems)
      : object_(object), path_(std::move(path)), file_(std::move(file)), problems_(problems) {
    if (!object_.is_object()) add((path_.empty() ? "the file" : path_) + " is not an object");
  }

  void number(const char* name, std::uint32_t& value, std::uint32_t least, std::uint32_t most) {
    const json* member = find(name);
    if (member == nullptr) return;
    const bool is_number = member->is_number_unsigned();
    const auto given = is_number ? member->get<std::uint64_t>() : 0;
    if (!is_number || given < least || given > most) {
      return add("'" + path_ + name + "' must be an integer from " + std::to_string(least) + " to " +
                 std::to_string(most));
    }
    value = static_cast<std::uint32_t>(given);
  }

  void correlation(const char* name, std::map<std::string, double>& values) {
    const json* member = find(name);
    if (member == nullptr) return;
    if (!member->is_number() || std::abs(member->get<double>()) > 1)
      return add("'" + path_ + name + "' must be a number from -1 to 1");
    values[name] = member->get<double>();
  }

  void text(const char* name, std::string& value) {
    const json* member = find(name);
    if (member == nullptr) return;
    if (!member->is_string()) return add("'" + path_ + name + "' must be a string");
    value = member->get<std::string>();
  }

  void flag(const char* name, bool& value) {
    const json* member = find(name);
    if (member == nullptr) return;
    if (!member->is_boolean()) return add("'" + path_ + name + "' must be true or false");
    value = member->get<bool>();
  }

  Members members(const char* name) {
    static const json nothing = json::object();
    const json* member = find(name);
    return {member == nullptr ? nothing : *member, path_ + name + ".", file_, problems_};
  }

  /// True if an optional member is present.
  bool has(const char* name) {
    asked_.insert(name);
    return object_.is_object() && object_.contains(name);
  }

  /// Reports members that were never requested: they are misspelt.
  void refuse_others() {
    if (!object_.is_object()) return;
    for (const auto& [name, value] : object_.items()) {
      if (asked_.contains(name)) continue;
      const std::string close = closest_match(name, {asked_.begin(), asked_.end()});
      add("there is no member '" + path_ + name + "'", close.empty() ? "" : "did you mean '" + close + "'?");
    }
  }

 private:
  const json* find(const char* name) {
    asked_.insert(name);
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    add("'" + path_ + name + "' is missing");
    return nullptr;
  }

  void add(std::string message, std::string hint = {}) {
    problems_.push_back({Severity::error, {file_, 0, 0, 1}, std::move(message), std::move(hint)});
  }

  const json& object_;
  std::string path_;  ///< of the object, with a trailing dot
  std::string file_;
  Diagnostics& problems_;
  std::set<std::string> asked_;
};

constexpr std::uint32_t any = std::numeric_limits<std::uint32_t>::max() / 2;

void read_global(Members members, GlobalMemory& global, Diagnostics& problems, const std::string& file) {
  std::string coalescing;
  members.text("coalescing", coalescing);
  members.number("channels", global.channels, 1, 4096);
  members.number("channel_width", global.channel_width, 0, 1u << 20);
  members.refuse_others();
  if (coalescing == "segments" || coalescing == "sectors") {
    global.coalescing = coalescing == "segments" ? Coalescing::segments : Coalescing::sectors;
  } else if (!coalescing.empty()) {
    problems.push_back({Severity::error,
                        {file, 0, 0, 1},
                        "'global.coalescing' cannot be '" + coalescing + "'",
                        "it must be 'segments' or 'sectors'"});
  }
}

void read_limits(Members& top, Machine& machine) {
  Members residency = top.members("residency");
  residency.number("threads", machine.residency.threads, 1, any);
  residency.number("blocks", machine.residency.blocks, 1, any);
  residency.number("warps", machine.residency.warps, 1, any);
  residency.number("block_threads", machine.residency.block_threads, 1, 1024);
  residency.refuse_others();
  Members registers = top.members("registers");
  registers.number("count", machine.registers.count, 1, any);
  registers.number("partitions", machine.registers.partitions, 1, 64);
  registers.number("unit", machine.registers.unit, 1, 1u << 16);
  registers.flag("of_block", machine.registers.of_block);
  registers.number("warp_unit", machine.registers.warp_unit, 1, 64);
  registers.refuse_others();
  Members shared = top.members("shared");
  shared.number("banks", machine.shared.banks, 1, 256);
  shared.number("bank_width", machine.shared.bank_width, 1, 64);
  shared.number("bytes", machine.shared.bytes, 1, any);
  shared.number("unit", machine.shared.unit, 1, 1u << 20);
  shared.number("of_each_block", machine.shared.of_each_block, 0, 1u << 20);
  shared.refuse_others();
}

CacheTiming read_cache(Members members, std::vector<std::string>& problems) {
  CacheTiming cache;
  members.number("bytes", cache.bytes, 1, any);
  members.number("line", cache.line, 1, 1u << 12);
  members.number("sector", cache.sector, 1, 1u << 12);
  members.number("ways", cache.ways, 1, 1u << 16);
  members.number("latency", cache.latency, 0, 1u << 20);
  members.number("occupancy", cache.occupancy, 0, 1u << 20);
  if (members.has("partial")) members.number("partial", cache.partial, 1, 1u << 20);
  members.refuse_others();
  if (cache.line == 0 || cache.sector == 0 || cache.ways == 0) return cache;
  if (cache.line % cache.sector != 0 || cache.line / cache.sector > 32)
    problems.emplace_back("a cache's line must be 1 to 32 sectors");
  if (cache.bytes % (std::uint64_t{cache.line} * cache.ways) != 0)
    problems.emplace_back("a cache's 'bytes' must be a multiple of 'line' times 'ways'");
  return cache;
}

void read_correlations(Members members, std::map<std::string, double>& correlations) {
  for (const char* const term : {"data_reuse", "lat_hiding", "bw_util", "ch_skew", "branch_eff", "shm_eff"}) {
    if (members.has(term)) members.correlation(term, correlations);
  }
  members.refuse_others();
}

Timing read_timing(Members members, std::vector<std::string>& problems) {
  constexpr std::uint32_t most_cycles = 1u << 20;
  Timing timing;
  members.number("multiprocessors", timing.multiprocessors, 1, 4096);
  members.number("schedulers", timing.schedulers, 1, 64);
  members.number("core_mhz", timing.core_mhz, 1, 1u << 20);
  members.number("memory_mhz", timing.memory_mhz, 1, 1u << 20);
  members.number("launch_gap_ns", timing.launch_gap_ns, 0, 1'000'000'000);
  Members arithmetic = members.members("arithmetic");
  arithmetic.number("issue", timing.arithmetic.issue, 1, most_cycles);
  arithmetic.number("special", timing.arithmetic.special, 1, most_cycles);
  arithmetic.number("wide", timing.arithmetic.wide, 1, most_cycles);
  arithmetic.number("latency", timing.arithmetic.latency, 1, most_cycles);
  arithmetic.refuse_others();
  Members shared = members.members("shared");
  shared.number("turn", timing.shared.turn, 1, most_cycles);
  shared.number("latency", timing.shared.latency, 0, most_cycles);
  shared.refuse_others();
  Members memory = members.members("memory");
  memory.number("latency", timing.memory.latency, 0, most_cycles);
  memory.number("gap", timing.memory.gap, 1, most_cycles);
  memory.number("in_flight", timing.memory.in_flight, 1, any);
  memory.number("overhead", timing.memory.overhead, 0, most_cycles);
  memory.number("bytes_per_cycle", timing.memory.bytes_per_cycle, 1, 1u << 20);
  memory.number("atomic", timing.memory.atomic, 0, most_cycles);
  memory.refuse_others();
  if (members.has("l1")) timing.l1 = read_cache(members.members("l1"), problems);
  if (members.has("l2")) timing.l2 = read_cache(members.members("l2"), problems);
  members.refuse_others();
  return timing;
}

void read_caches(Members& top, Machine& machine) {
  Members texture = top.members("texture");
  texture.number("line", machine.texture.line, 1, 128);
  texture.number("bytes", machine.texture.bytes, 1, any);
  texture.refuse_others();
  Members latency = top.members("latency");
  latency.number("cycles", machine.latency.cycles, 1, 1u << 20);
  latency.number("issue", machine.latency.issue, 1, 1u << 10);
  latency.refuse_others();
}

}  // namespace

Result<Machine> parse_machine(std::string_view text, const std::string& file) {
  const Result<json> parsed = parse_json<json>(text, {file, 1, 1, 1}, true);
  if (!parsed) return parsed.error();
  const json& document = *parsed;
  Machine machine;
  Diagnostics problems;
  Members top(document, "", file, problems);
  top.text("name", machine.name);
  top.text("source", machine.source);
  top.number("warp_size", machine.warp_size, 32, 32);
  top.number("access_group", machine.access_group, 1, 32);
  read_limits(top, machine);
  read_global(top.members("global"), machine.global, problems, file);
  read_caches(top, machine);
  std::vector<std::string> mishaps;
  if (top.has("timing")) machine.timing = read_timing(top.members("timing"), mishaps);
  if (top.has("correlations")) read_correlations(top.members("correlations"), machine.correlations);
  for (std::string& each : mishaps)
    problems.push_back({Severity::error, {file, 0, 0, 1}, std::move(each), ""});
  top.refuse_others();
  if (problems.empty() && 128 % machine.texture.line != 0)
    problems.push_back({Severity::error, {file, 0, 0, 1}, "'texture.line' must divide 128", ""});
  if (problems.empty() && machine.warp_size % machine.access_group != 0) {
    problems.push_back({Severity::error, {file, 0, 0, 1}, "'access_group' must divide 'warp_size'", ""});
  }
  if (!problems.empty()) return Failure{std::move(problems)};
  return machine;
}

Result<Machine> find_machine(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    std::string text;
    if (!read_file(name, text)) return failure(cannot_read(name));
    return parse_machine(text, name);
  }
  for (const EmbeddedText& entry : embedded_machines()) {
    if (entry.name == name) return parse_machine(entry.text, name);
  }
  const std::string close = closest_match(name, machine_names());
  return failure("there is no machine '" + name + "'",
                 close.empty() ? "`lynxpp advise --machine list` names them; a file's name ends with .json"
                               : "did you mean '" + close + "'?");
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& entry : embedded_machines()) names.emplace_back(entry.name);
  return names;
}

}  // namespace lynxpp::models
