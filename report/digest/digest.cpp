#include "report/digest/digest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "report/coverage_share.h"
#include "report/findings/facts.h"
#include "report/findings/findings.h"
#include "report/sites.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

/// A number of JSON: an integer if it is one.
Json amount(double value) {
  const bool is_count = std::floor(value) == value && std::fabs(value) < 9e15;
  return is_count ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// A share with three digits after the point.
Json share(double value) { return std::round(value * 1000) / 1000; }

// ---- counts per source line

/// Counts of a line or, without source lines, of a line of PTX.
struct LineCounts {
  std::string kernel;
  const SitesRecord* sites = nullptr;
  std::uint32_t file = SitesRecord::unknown;
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;  ///< of its first instruction
  std::map<std::string, double> counts;

  double work() const {
    const auto get = [this](const char* name) {
      const auto found = counts.find(name);
      return found == counts.end() ? 0 : found->second;
    };
    return 0.25 * get("warp_instructions") + 2 * get("sectors") + get("wavefronts") +
           get("atomic_operations");
  }
};

struct CountedArray {
  std::string_view spec, array, name;
};

constexpr CountedArray counted_arrays[] = {{"memory_efficiency", "requests", "requests"},
                                           {"memory_efficiency", "sectors", "sectors"},
                                           {"memory_efficiency", "bytes_asked", "requested_bytes"},
                                           {"shared_bank_conflicts", "wavefronts", "wavefronts"},
                                           {"shared_bank_conflicts", "conflicts", "conflicts"},
                                           {"branch_divergence", "branches", "branches"},
                                           {"branch_divergence", "divergent", "divergent_branches"},
                                           {"atomic_contention", "lanes", "atomic_operations"}};

class LineCounter {
 public:
  explicit LineCounter(const Summary& summary) : summary_(summary) {}

  std::vector<LineCounts> count() {
    for (const SpecificationTotals& totals : summary_.specifications) {
      for (const KernelTotals& kernel : totals.kernels) {
        for (const ArrayTotals& array : kernel.arrays) add(totals.spec, kernel, array);
      }
    }
    std::vector<LineCounts> lines;
    for (auto& [key, line] : lines_) lines.push_back(std::move(line));
    std::ranges::stable_sort(lines, std::greater<>(), &LineCounts::work);
    return lines;
  }

 private:
  void add(const std::string& spec, const KernelTotals& kernel, const ArrayTotals& array) {
    const SitesRecord* const sites = summary_.sites_of(kernel);
    if (sites == nullptr || !array.site_kind) return;
    if (spec == "basic_block_count" && array.name == "warp_executions") {
      for (std::size_t i = 0; i < sites->instructions.size(); ++i) {
        const std::size_t block = sites->instructions[i].block;
        if (block < array.each.size()) add(kernel, *sites, i, "warp_instructions", array.each[block]);
      }
      return;
    }
    const auto counted = std::ranges::find_if(counted_arrays, [&](const CountedArray& each) {
      return each.spec == spec && each.array == array.name;
    });
    if (counted == std::end(counted_arrays) || array.site_kind != SiteKind::instruction) return;
    for (std::size_t i = 0; i < std::min(array.each.size(), sites->instructions.size()); ++i)
      add(kernel, *sites, i, std::string(counted->name), array.each[i]);
  }

  void add(const KernelTotals& kernel, const SitesRecord& sites, std::size_t id, const std::string& name,
           const FoldedNumber& number) {
    const double value = number.value().as_double();
    if (!(value > 0)) return;
    const SitesRecord::Instruction& site = sites.instructions[id];
    const bool has_line = site.line != 0;
    LineCounts& line = lines_[{kernel.kernel, has_line ? site.file : SitesRecord::unknown,
                               has_line ? site.line : site.ptx_line}];
    if (line.sites == nullptr) line = {kernel.kernel, &sites, site.file, site.line, site.ptx_line, {}};
    line.ptx_line = std::min(line.ptx_line, site.ptx_line);
    line.counts[name] += value;
  }

  const Summary& summary_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, LineCounts> lines_;
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns the paths of the files that entries of these lists name.
Json sources_of(const Summary& summary, const std::initializer_list<Json>& lists) {
  std::map<std::string, std::string> paths;
  for (const auto& [key, sites] : summary.sites) {
    for (const std::string& path : sites.files) paths[file_name(path)] = path;
  }
  Json sources = Json::object();
  for (const Json& list : lists) {
    for (const Json& entry : list) {
      const auto file = entry.find("file");
      if (file == entry.end()) continue;
      const auto path = paths.find(file->get<std::string>());
      if (path != paths.end()) sources[path->first] = path->second;
    }
  }
  return sources;
}

Json json_of(const LineCounts& line) {
  Json object{{"kernel", demangle(line.kernel)}};
  if (line.line != 0 && line.file < line.sites->files.size()) {
    object["file"] = file_name(line.sites->files[line.file]);
    object["line"] = line.line;
  } else {
    object["ptx_line"] = line.ptx_line;
  }
  for (const auto& [name, value] : line.counts) object[name] = amount(value);
  return object;
}

// ---- findings and kernels

Json json_of(const KernelFinding& finding, Weight weight) {
  Json object{{"id", finding.id}, {"class", finding.rule}, {"kernel", demangle(finding.kernel)}};
  if (finding.location) {
    const SiteLabel& at = *finding.location;
    if (at.line != 0) {
      object["file"] = at.file;
      object["line"] = at.line;
    }
    if (!at.inlined_at.empty()) object["inlined_at"] = at.inlined_at;
    if (at.ptx_line != 0) object["ptx_line"] = at.ptx_line;
    if (!at.opcode.empty()) object["opcode"] = at.opcode;
    if (!at.object.empty()) object["object"] = at.object;
  }
  object["what"] = finding.sentence;
  object["why"] = finding.why;
  object["remedy"] = finding.what_to_try;
  object["gain"] = nullptr;
  if (finding.benefit) {
    object["gain"] = {
        {"share", share(*finding.benefit)}, {"of", text_of(weight)}, {"basis", text_of(finding.basis)}};
    if (finding.interval)
      object["gain"]["interval"] = {share(finding.interval->first), share(finding.interval->second)};
  }
  return object;
}

Json json_of(const KernelFacts& kernel) {
  Json object{
      {"kernel", demangle(kernel.kernel)}, {"device", kernel.device}, {"share", share(kernel.weight)}};
  const std::pair<const char*, const char*> facts[] = {
      {"launches", "launches"},
      {"blocks", "blocks"},
      {"block_threads", "block_threads"},
      {"warp_instructions", "instruction_count.warp_instructions"},
      {"thread_instructions", "instruction_count.thread_instructions"},
      {"requested_bytes", "traffic.requested"},
      {"sector_bytes", "traffic.transferred"},
      {"milliseconds", "milliseconds"}};
  for (const auto& [name, fact] : facts) {
    if (const double* const value = kernel.facts.find(fact)) object[name] = amount(*value);
  }
  const double shared = kernel.facts.get("work.shared");
  if (shared > 0) object["wavefronts"] = amount(shared);
  return object;
}

// ---- coverage

Json not_measured_of(const CoverageRecord& record) {
  return {{"kernel", demangle(record.kernel)},
          {"launches", record.launches - std::min(record.launches, record.instrumented_launches)},
          {"reason", gap_of(record)}};
}

Json coverage_of(const Summary& summary) {
  std::uint64_t launches = 0, measured_launches = 0, measured_kernels = 0;
  for (const CoverageRecord& each : summary.coverage) {
    launches += each.launches;
    measured_launches += each.instrumented_launches;
    measured_kernels += gap_of(each).empty() ? 1 : 0;
  }
  return {{"kernels", summary.coverage.size()},
          {"measured_kernels", measured_kernels},
          {"launches", launches},
          {"measured_launches", measured_launches}};
}

Json json_of(const CheckResults& checks) {
  constexpr std::size_t most = 10;
  Json object{{"checks", checks.checks}, {"has_run", checks.has_run}, {"count", checks.findings.size()}};
  object["findings"] = Json::array();
  for (std::size_t i = 0; i < std::min(most, checks.findings.size()); ++i)
    object["findings"].push_back(Json::parse(checks.findings[i], nullptr, false));
  return object;
}

/// A list of the document, most important entry first.
struct List {
  const char* name;
  std::vector<Json> entries;
};

}  // namespace

void DigestSink::process(const ProcessRecord& record) {
  if (command_.empty()) command_ = record.command;
  SummarySink::process(record);
}

std::string to_digest(const DigestSink& sink, const std::optional<CheckResults>& checks,
                      std::optional<int> exit_code) {
  const Summary& summary = sink.summary();
  RunFacts facts = facts_of(summary);
  List kernels{"kernels", {}}, findings{"findings", {}}, lines{"lines", {}}, missing{"not_measured", {}};
  for (const KernelFinding& each : findings_of(facts))
    findings.entries.push_back(json_of(each, facts.weight));
  std::ranges::stable_sort(facts.kernels, std::greater<>(), &KernelFacts::weight);
  for (const KernelFacts& each : facts.kernels) kernels.entries.push_back(json_of(each));
  for (const LineCounts& each : LineCounter(summary).count()) lines.entries.push_back(json_of(each));
  for (const CoverageRecord& each : summary.coverage) {
    if (!gap_of(each).empty()) missing.entries.push_back(not_measured_of(each));
  }
  const std::vector<List> lists{std::move(findings), std::move(kernels), std::move(lines),
                                std::move(missing)};
  for (std::size_t most = 40;; most = most * 3 / 4) {
    Json object{{"record", "digest"}, {"version", 2}, {"command", sink.command()}};
    object["exit_code"] = exit_code ? Json(*exit_code) : Json(nullptr);
    object["coverage"] = coverage_of(summary);
    for (const List& list : lists) {
      object[list.name] = Json::array();
      for (std::size_t i = 0; i < std::min(most, list.entries.size()); ++i)
        object[list.name].push_back(list.entries[i]);
    }
    object["sources"] = sources_of(summary, {object["findings"], object["lines"]});
    object["trust"] = trust_line_of(summary, !object["findings"].empty());
    object["checks"] = checks ? json_of(*checks) : Json(nullptr);
    for (const List& list : lists)
      object["left_out"][list.name] = list.entries.size() - std::min(most, list.entries.size());
    const std::string text = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    if (text.size() <= digest_bytes || most <= 1) return text;
  }
}

}  // namespace lynxpp::report
