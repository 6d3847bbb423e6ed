#include "device/cpu/runtime/checks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/wanted_checks.h"
#include "support/call_site.h"
#include "support/log.h"
#include "support/output_file.h"
#include "support/own_program.h"
#include "support/setting.h"
#include "support/text.h"
#include "support/trust.h"
#include "support/whole_output.h"

namespace lynxpp::device::cpu {
namespace {

using Json = nlohmann::ordered_json;

bool explores() { return wanted_seeds() != std::vector<std::uint32_t>{1}; }

struct KeptFinding {
  std::string kernel;
  Finding finding;
  std::uint64_t instructions = 0;      ///< instructions that share it: an unrolled loop repeats a source line
  std::uint32_t judged = 1;            ///< orders, in the launch with the most
  std::set<std::uint32_t> seeds = {};  ///< of the orders in which it appears
};

/// A source location if known, otherwise an instruction.
struct FoundAt {
  std::string file;
  std::uint32_t line = 0;

  explicit FoundAt(const FindingPlace& place)
      : file(place.source_file), line(place.source_file.empty() ? place.line : place.source_line) {}
  auto operator<=>(const FoundAt&) const = default;
};

/// Findings of one kind in a function of a kernel, at one location, with the location of the other access.
struct FoundWhere {
  std::string kernel;
  std::string function;
  FindingKind kind;
  std::string access;  ///< "ld" or "st" if there is no other location
  FoundAt at;
  std::optional<FoundAt> other;

  FoundWhere(const std::string& of_kernel, const Finding& finding)
      : kernel(of_kernel), function(finding.place.function), kind(finding.kind), at(finding.place) {
    if (finding.is_by_library) {
      at = FoundAt({});
    } else if (finding.other) {
      other.emplace(*finding.other);
    } else {
      access = finding.place.opcode.substr(0, finding.place.opcode.find('.'));
    }
    if (!explores()) return;
    // In another order, the same accesses race the other way round, and a hang shows at another warp.
    if (other && check_of(kind) == "race" && *other < at) std::swap(*other, at);
    if (kind == FindingKind::endless_barrier) at = FoundAt({});
  }
  auto operator<=>(const FoundWhere&) const = default;
};

/// The process's findings. Never destroyed, because programs launch in static destructors.
struct Kept {
  std::mutex mutex;
  bool is_reported = false;
  std::uint64_t launches = 0;
  std::vector<KeptFinding> findings;  // in order of detection
  std::map<FoundWhere, std::size_t> places;
  std::map<std::pair<std::string, std::string>, std::uint64_t> unexplored;  // launches, by kernel and reason
  std::set<std::pair<std::size_t, std::pair<std::uint32_t, std::uint32_t>>> instructions;  // by finding
};

Kept& kept() {
  static auto* const all = new Kept;
  return *all;
}

// ---------------------------------------------------------------- text

std::string triple(const std::uint32_t* values) {
  return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
         std::to_string(values[2]) + ")";
}

/// "\n    at load(int*) (tile.cu:12)\n    called from reduce(int*) (tile.cu:30)"; empty for a single frame.
std::string text_of(const DeviceStack& stack) {
  if (stack.frames.size() < 2) return "";
  std::string text;
  for (const StackFrame& each : stack.frames) {
    if (stack.omitted != 0 && &each == &stack.frames.back())
      text += "\n    called through " + std::to_string(stack.omitted) + " more frames";
    text += text.empty() ? "\n    at " : "\n    called from ";
    text += each.function.empty() ? "an inlined function" : demangle(each.function);
    if (!each.source_file.empty()) {
      text += " (" + each.source_file + ":" + std::to_string(each.source_line) + ")";
    } else if (each.line != 0) {
      text += " (PTX line " + std::to_string(each.line) + ")";
    }
  }
  return text;
}

/// "store by thread (1, 0, 0) of block (0, 0, 0), tile.cu:12 (PTX line 42)"
std::string text_of(const FindingPlace& place, const std::string& kernel) {
  std::string text = place.action;
  if (place.has_thread) text += " by thread " + triple(place.thread) + " of block " + triple(place.block);
  const std::string stack = text_of(place.stack);
  if (!place.function.empty() && place.function != kernel && stack.empty())
    text += " in " + demangle(place.function);
  if (!place.source_file.empty()) text += ", " + place.source_file + ":" + std::to_string(place.source_line);
  if (place.line != 0) text += " (PTX line " + std::to_string(place.line) + ")";
  return text + stack;
}

/// Returns "in 3 of 8 schedules; --seed 5 reproduces it, where" and the deviations from schedule 1.
std::string text_of_orders(const KeptFinding& kept) {
  if (!explores()) return "";
  const std::uint32_t seed = *kept.seeds.begin();
  std::string text = "\n  in " + std::to_string(kept.seeds.size()) + " of " + std::to_string(kept.judged) +
                     (kept.judged == 1 ? " schedule" : " schedules") + "; --seed " + std::to_string(seed) +
                     " reproduces it";
  const std::vector<std::string>& deviations = kept.finding.orders.deviations;
  if (!deviations.empty()) text += ", where";
  for (const std::string& each : deviations) text += "\n    " + each;
  return text;
}

/// Returns the text of a finding without its class and a final line break.
std::string text_of(const KeptFinding& kept) {
  const Finding& finding = kept.finding;
  std::string text(name_of(finding.kind));
  text += " in kernel " + demangle(kept.kernel);
  text += finding.count == 1 ? "" : ", " + std::to_string(finding.count) + " times";
  if (kept.instructions > 1) {
    text += " in " + std::to_string(kept.instructions) +
            (finding.other ? " pairs of instructions" : " instructions");
  }
  text += ":\n  " + text_of(finding.place, kept.kernel);
  if (finding.other) {
    text += check_of(finding.kind) == "race" || finding.kind == FindingKind::barrier_in_use ? "\n  after "
                                                                                            : "\n  ";
    text += text_of(*finding.other, kept.kernel);
  }
  if (!finding.detail.empty()) text += "\n  " + finding.detail;
  return text + text_of_orders(kept);
}

/// Explains for which launches of a kernel not all schedules were run.
std::string text_of_unexplored(const std::string& kernel, const std::string& reason, std::uint64_t launches) {
  return "kernel " + demangle(kernel) + ": not all schedules were run in " + std::to_string(launches) +
         (launches == 1 ? " launch: " : " launches: ") + reason;
}

// ---------------------------------------------------------------- JSON

Json to_json(const DeviceStack& stack) {
  Json json = Json::array();
  for (const StackFrame& each : stack.frames) {
    Json& frame = json.emplace_back(Json::object());
    if (!each.function.empty()) frame["function"] = each.function;
    if (each.line != 0) frame["ptx_line"] = each.line;
    if (each.source_file.empty()) continue;
    frame["source_file"] = each.source_file;
    frame["source_line"] = each.source_line;
  }
  return json;
}

Json to_json(const FindingPlace& place) {
  Json json = {{"action", place.action}};
  if (place.has_thread) {
    json["block"] = {place.block[0], place.block[1], place.block[2]};
    json["thread"] = {place.thread[0], place.thread[1], place.thread[2]};
  }
  if (!place.function.empty()) json["function"] = place.function;
  if (!place.opcode.empty()) json["opcode"] = place.opcode;
  if (place.line != 0) json["ptx_line"] = place.line;
  if (!place.source_file.empty()) {
    json["source_file"] = place.source_file;
    json["source_line"] = place.source_line;
  }
  if (!place.stack.frames.empty()) json["stack"] = to_json(place.stack);
  if (place.stack.omitted != 0) json["omitted_frames"] = place.stack.omitted;
  return json;
}

Json to_json(const KeptFinding& kept) {
  const Finding& finding = kept.finding;
  Json json = {{"type", "finding"},
               {"check", check_of(finding.kind)},
               {"class", name_of(class_of(finding.kind))},
               {"kind", name_of(finding.kind)},
               {"message", text_of(kept)},
               {"kernel", kept.kernel},
               {"count", finding.count},
               {"place", to_json(finding.place)}};  // english: ok
  if (kept.instructions > 1) json["instructions"] = kept.instructions;
  if (finding.other) json["other"] = to_json(*finding.other);
  if (!finding.detail.empty()) json["detail"] = finding.detail;
  if (!explores()) return json;
  json["orders"] = {{"found", kept.seeds.size()}, {"judged", kept.judged}, {"seed", *kept.seeds.begin()}};
  if (!finding.orders.deviations.empty()) json["orders"]["deviations"] = finding.orders.deviations;
  return json;
}

// ---------------------------------------------------------------- leaks

struct Leak {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::string kind;
};

/// Finds memory that the program has not freed, by the call that allocated it.
std::map<std::string, Leak> find_leaks() {
  std::map<std::string, Leak> leaks;
  for (const LiveAllocation& each : allocations().live()->sorted) {
    if (each.kind == AllocationKind::registered_host) continue;
    Leak& leak = leaks[std::string(each.site.chain)];
    ++leak.allocations;
    leak.bytes += each.bytes;
    leak.kind = device::name_of(each.kind);
  }
  for (const Allocation& each : allocations().live_arrays()) {
    Leak& leak = leaks[std::string(call_site(each.stack).chain)];
    ++leak.allocations;
    leak.bytes += each.bytes;
    leak.kind = "array";
  }
  return leaks;
}

std::string text_of(const std::string& site, const Leak& leak) {
  return "leak of " + std::to_string(leak.bytes) + " bytes of " + leak.kind + " memory in " +
         std::to_string(leak.allocations) + (leak.allocations == 1 ? " allocation" : " allocations") +
         (site.empty() ? "" : " by " + site);
}

Json to_json(const std::string& site, const Leak& leak) {
  return {{"type", "leak"},
          {"class", name_of(class_of(FindingKind::leak))},
          {"message", text_of(site, leak)},
          {"site", site},
          {"kind", leak.kind},
          {"allocations", leak.allocations},
          {"bytes", leak.bytes}};
}

// ---------------------------------------------------------------- summary

/// Numbers of findings, by FindingClass.
using ClassCounts = std::array<std::size_t, 3>;

std::size_t& count_of(ClassCounts& counts, FindingClass of_class) {
  return counts[static_cast<std::size_t>(of_class)];
}

/// Returns "2 errors, 1 hazard"; "no findings" if all counts are 0.
std::string text_of(const ClassCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(counts[i]) + " ";
    text += name_of(static_cast<FindingClass>(i));
    if (counts[i] != 1) text += "s";
  }
  return text.empty() ? "no findings" : text;
}

/// Returns the program's file; empty if it is unknown.
std::string program_file() {
  char path[PATH_MAX];
  find_own_program(path);
  return path;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_lines(const std::string& lines) {
  static const std::string path = [] {
    const char* const value = setting("LYNXPP_CPU_CHECK_OUTPUT");
    return std::string(value != nullptr ? value : "");
  }();
  if (path.empty()) return;
  if (const Status written = append_to_output(path, lines); !written)
    log().error("{} (LYNXPP_CPU_CHECK_OUTPUT)", written.error().diagnostics.front().message);
}

}  // namespace

void keep_findings(const std::string& kernel, LaunchChecks checks) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  ++all.launches;
  if (!checks.unexplored.empty()) ++all.unexplored[{kernel, checks.unexplored}];
  for (Finding& finding : checks.findings) {
    const auto [known, is_new] = all.places.try_emplace({kernel, finding}, all.findings.size());
    const std::pair lines(finding.place.line, finding.other ? finding.other->line : 0);
    const FoundOrders& orders = finding.orders;
    if (is_new) {
      all.findings.push_back({.kernel = kernel, .finding = finding});
    } else {
      Finding& earlier = all.findings[known->second].finding;
      earlier.count += finding.count;
      // The seed that is reported is the smallest: its deviations belong to it.
      if (!orders.seeds.empty() && orders.seeds.front() < earlier.orders.seeds.front())
        earlier.orders = orders;
    }
    KeptFinding& kept_finding = all.findings[known->second];
    kept_finding.seeds.insert(orders.seeds.begin(), orders.seeds.end());
    if (orders.seeds.empty()) kept_finding.seeds.insert(1);
    // Launches that cannot be repeated add order 1 to those of --seed.
    const auto seen = static_cast<std::uint32_t>(kept_finding.seeds.size());
    kept_finding.judged = std::max({kept_finding.judged, orders.judged, seen});
    if (all.instructions.emplace(known->second, lines).second) ++all.findings[known->second].instructions;
  }
}

void report_checks() {
  if (wanted_checks() == nullptr && !wants_leaks()) return;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  if (std::exchange(all.is_reported, true)) return;
  const std::map<std::string, Leak> leaks = wants_leaks() ? find_leaks() : std::map<std::string, Leak>{};
  // Skip processes that did not use the device, such as shells that started the program.
  if (all.findings.empty() && leaks.empty() && all.launches == 0) return;
  ClassCounts counts{};
  std::string text, lines;
  const auto add = [&](FindingKind kind, const std::string& message, const Json& json) {
    ++count_of(counts, class_of(kind));
    text += std::string(name_of(class_of(kind))) + ": " + message + "\n";
    lines += line_of(json);
  };
  for (const KeptFinding& each : all.findings) add(each.finding.kind, text_of(each), to_json(each));
  for (const auto& [site, leak] : leaks) add(FindingKind::leak, text_of(site, leak), to_json(site, leak));
  const std::string message =
      text_of(counts) + " in " + std::to_string(all.launches) + (all.launches == 1 ? " launch" : " launches");
  const std::string trust = trust::line_of({trust::Number::checks});
  Json summary = {{"type", "summary"},
                  {"message", message},
                  {"findings", all.findings.size() + leaks.size()},
                  {"errors", count_of(counts, FindingClass::error)},
                  {"hazards", count_of(counts, FindingClass::hazard)},
                  {"warnings", count_of(counts, FindingClass::warning)},
                  {"launches", all.launches},
                  {"program", program_file()},
                  {"trust", trust}};
  for (const auto& [which, launches] : all.unexplored) {
    const std::string why = text_of_unexplored(which.first, which.second, launches);
    text += why + "\n";
    summary["unexplored"].push_back(
        {{"kernel", which.first}, {"message", why}, {"reason", which.second}, {"launches", launches}});
  }
  text += trust + "\n";
  lines += line_of(summary);
  text = "== lynxpp check: " + message + " ==\n" + text;
  static_cast<void>(write_whole(STDERR_FILENO, text));
  write_lines(lines);
}

}  // namespace lynxpp::device::cpu
