#include "report/findings/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "report/kernel_name.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

std::string text_of(double value) {
  constexpr double exact = 1e18;
  if (std::floor(value) == value && std::fabs(value) < exact)
    return to_text(Number::of(static_cast<WideInteger>(value)));
  char digits[32];
  std::snprintf(digits, sizeof digits, value < 9.95 ? "%.2f" : "%.1f", value);
  return digits;
}

std::string_view text_of(LocationKind kind) {
  switch (kind) {
    case LocationKind::load: return "loads";
    case LocationKind::store: return "stores";
    case LocationKind::copy: return "asynchronous copies";
    case LocationKind::atomic: return "atomics";
    case LocationKind::loop: return "loops";
    case LocationKind::branch: break;
  }
  return "branches";
}

/// Returns the text for {name} in a sentence.
std::string filling(std::string_view name, const FindingRule& rule, const View& view) {
  if (name == "what") return std::string(text_of(view.kind()));
  if (name == "distance") return view.distance();
  if (name == "combined") return view.combined();
  const std::size_t colon = name.find(':');
  const std::string noun(colon == std::string_view::npos ? "" : name.substr(colon + 1));
  name = name.substr(0, colon);
  const bool is_percent = name.ends_with('%');
  if (is_percent) name.remove_suffix(1);
  const auto known = std::ranges::find(rule.numbers, name, &NamedMeasure::name);
  if (known == rule.numbers.end()) return "?";
  const double value = known->measure(view);
  if (is_percent) return percent_text(value);
  return text_of(value) + (noun.empty() ? "" : " " + noun + (value == 1 ? "" : "s"));
}

std::string filled(const FindingRule& rule, const View& view) {
  std::string text;
  std::string_view rest = rule.sentence;
  while (true) {
    const std::size_t open = rest.find('{');
    text += rest.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = rest.find('}', open);
    text += filling(rest.substr(open + 1, close - open - 1), rule, view);
    rest.remove_prefix(close + 1);
  }
}

/// Returns the class of operations that a finding is about; empty: none that can be measured.
std::string_view operation_of(std::string_view rule, const LocationFacts* location) {
  if (rule == "low occupancy") return "occupancy";
  if (rule == "local memory") return "local-memory";
  if (location == nullptr) return {};
  const bool is_in_shared = location->is_shared || rule.ends_with("bank conflicts");
  switch (location->kind) {
    case LocationKind::load:
    case LocationKind::store: return is_in_shared ? "shared-access" : "global-access";
    case LocationKind::copy: return "async-copy";
    case LocationKind::atomic: return "atomic";
    case LocationKind::branch: return "branch";
    case LocationKind::loop: break;
  }
  return {};
}

bool is_at(const SiteLabel& label, const LimitLocation& location) {
  return location.line != 0 ? label.line == location.line && label.file == location.file
                            : label.ptx_line == location.ptx_line;
}

/// Returns what the operations of these lines cost at most. Lines that were not found to be costly share what
/// the costly ones leave.
Gain gain_at(std::span<const SiteLabel> labels, const Limit& limit) {
  const Gain& all = limit.of_remedy();
  if (limit.lines.empty() || labels.empty()) return all;
  const auto has = [](const LineLimit& line, const SiteLabel& label) {
    return std::ranges::any_of(line.locations, [&](const auto& location) { return is_at(label, location); });
  };
  Gain found{0, 0, 0}, rest = all;
  for (const LineLimit& each : limit.lines) {
    const Gain& line = each.of_remedy();
    rest = {rest.at_most - line.at_most, rest.low - line.high, rest.high - line.low};
    if (std::ranges::any_of(labels, [&](const SiteLabel& label) { return has(each, label); }))
      found = {found.at_most + line.at_most, found.low + line.low, found.high + line.high};
  }
  const bool are_all_found = std::ranges::all_of(labels, [&](const SiteLabel& label) {
    return std::ranges::any_of(limit.lines, [&](const LineLimit& each) { return has(each, label); });
  });
  const auto with_rest = [&](double of_found, double of_rest) {
    return of_found + (are_all_found ? 0 : std::max(of_rest, 0.0));
  };
  const double at_most = std::min(all.at_most, with_rest(found.at_most, rest.at_most));
  return {at_most, std::min(at_most, with_rest(found.low, rest.low)),
          std::max(at_most, std::min(all.high, with_rest(found.high, rest.high)))};
}

/// Replaces the estimate if the kernel's limits have the operations with a clear result. They are ordered by
/// time: the first one counts.
void apply_limits(KernelFinding& finding, const LocationFacts* location, std::span<const SiteLabel> labels,
                  std::span<const KernelLimits> limits) {
  const std::string_view operation = operation_of(finding.rule, location);
  for (const KernelLimits& kernel : limits) {
    if (kernel.kernel != finding.kernel) continue;
    const auto limit = std::ranges::find(kernel.limits, operation, &Limit::operation);
    if (limit == kernel.limits.end() || verdict_of(limit->of_remedy()) == Verdict::unclear) continue;
    const Gain gain = gain_at(labels, *limit);
    finding.benefit = finding.weight * gain.at_most;
    finding.basis = kernel.is_modelled ? Basis::modelled : Basis::measured;
    finding.interval.reset();
    if (!kernel.is_modelled) finding.interval = {finding.weight * gain.low, finding.weight * gain.high};
    return;
  }
}

std::optional<KernelFinding> apply(const FindingRule& rule, const KernelFacts& kernel,
                                   const LocationFacts* location) {
  const View view(kernel, location);
  const bool has_all = std::ranges::all_of(rule.needs, [&](std::string_view name) { return view.has(name); });
  if (!has_all || !(rule.measure(view) >= rule.threshold)) return std::nullopt;
  KernelFinding finding;
  finding.rule = rule.name;
  finding.kernel = kernel.kernel;
  finding.device = kernel.device;
  finding.ranges = kernel.ranges;
  finding.weight = kernel.weight;
  if (location != nullptr) finding.instructions = location->instructions.size();
  if (location != nullptr)
    finding.location = label_of(kernel.sites, SiteKind::instruction, location->instruction);
  if (rule.saving != nullptr) {
    const double saving = std::clamp(rule.saving(view), 0.0, 1.0);
    finding.benefit = kernel.weight * saving;
    if (location != nullptr) {
      const auto [low, high] = range_of_estimate(saving);
      finding.interval = {kernel.weight * low, kernel.weight * high};
    }
  }
  finding.sentence = filled(rule, view);
  finding.why = rule.why;
  finding.what_to_try = rule.what_to_try;
  return finding;
}

bool have_common_cause(const KernelFacts& kernel, const LocationFacts& a, const LocationFacts& b) {
  const SitesRecord::Instruction& of_a = kernel.sites->instructions[a.instruction];
  const SitesRecord::Instruction& of_b = kernel.sites->instructions[b.instruction];
  if (a.kind != b.kind || of_a.stride != of_b.stride) return false;
  const bool share_line =
      of_a.line != 0 && of_a.line == of_b.line && of_a.file == of_b.file && of_a.call_site == of_b.call_site;
  const bool share_object = of_a.object != SitesRecord::unknown && of_a.object == of_b.object &&
                            of_a.stride != SitesRecord::unknown;
  return share_line || share_object;
}

/// Accesses with one cause, the costliest first.
using Accesses = std::vector<const LocationFacts*>;

/// Returns the locations to which the rule applies.
std::vector<Accesses> groups_of(const FindingRule& rule, const KernelFacts& kernel) {
  std::vector<Accesses> groups;
  for (const LocationFacts& location : kernel.locations) {
    if (std::ranges::count(rule.kinds, location.kind) == 0 || !apply(rule, kernel, &location)) continue;
    const auto known = std::ranges::find_if(groups, [&](const Accesses& group) {
      return rule.has_common_causes && std::ranges::any_of(group, [&](const LocationFacts* each) {
               return have_common_cause(kernel, *each, location);
             });
    });
    if (known == groups.end()) {
      groups.push_back({&location});
    } else {
      known->push_back(&location);
    }
  }
  for (Accesses& group : groups) {
    std::ranges::stable_sort(group, std::greater<>(), [&](const LocationFacts* each) {
      return rule.saving == nullptr ? 0 : rule.saving(View(kernel, each));
    });
  }
  return groups;
}

LocationFacts sum_of(const Accesses& group) {
  LocationFacts sum = *group.front();
  for (const LocationFacts* each : std::span(group).subspan(1)) {
    sum.facts.add(each->facts);
    sum.instructions.insert(each->instructions.begin(), each->instructions.end());
  }
  return sum;
}

std::vector<SiteLabel> labels_of(const KernelFacts& kernel, const Accesses& group) {
  std::vector<SiteLabel> labels;
  for (const LocationFacts* each : group) {
    if (std::optional<SiteLabel> label = label_of(kernel.sites, SiteKind::instruction, each->instruction))
      labels.push_back(std::move(*label));
  }
  return labels;
}

/// Returns "; with those of argument 2 (int*)" for the accesses after the first: the objects if all are in
/// one line, else the lines.
std::string together_text(std::span<const SiteLabel> labels) {
  constexpr std::size_t most = 3;
  if (labels.size() < 2) return {};
  const auto line_of = [](const SiteLabel& label) { return location_text(label); };
  const std::string first = line_of(labels.front());
  const bool is_one_line =
      std::ranges::all_of(labels, [&](const SiteLabel& each) { return line_of(each) == first; });
  std::vector<std::string> names;
  for (const SiteLabel& each : labels.subspan(1)) {
    std::string name = is_one_line ? each.object : line_of(each);
    if (name.empty()) name = each.opcode;
    if (name != (is_one_line ? labels.front().object : first) && std::ranges::count(names, name) == 0)
      names.push_back(std::move(name));
  }
  if (names.empty()) return {};
  std::string text = is_one_line ? "; together with those of " : "; together with those in ";
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

/// Returns the part before " (" with '-' for each blank.
std::string id_part(std::string text) {
  text.resize(std::min(text.find(" ("), text.size()));
  std::ranges::replace(text, ' ', '-');
  return text;
}

void set_ids(std::vector<KernelFinding>& findings) {
  std::vector<KernelFinding*> by_line;
  for (KernelFinding& each : findings) by_line.push_back(&each);
  std::ranges::stable_sort(by_line, {}, [](const KernelFinding* each) {
    return each->location ? std::pair(each->location->line, each->location->id)
                          : std::pair(std::uint32_t{0}, std::uint64_t{0});
  });
  std::map<std::string, int> numbers;
  for (KernelFinding* each : by_line) {
    each->id = id_part(each->rule) + ":" + base_name(demangle(each->kernel));
    if (each->location && !each->location->opcode.empty()) each->id += ":" + each->location->opcode;
    if (each->location && !each->location->object.empty()) each->id += ":" + id_part(each->location->object);
    const int number = ++numbers[each->id];
    if (number > 1) each->id += "#" + std::to_string(number);
  }
}

}  // namespace

std::string_view text_of(Basis basis) {
  switch (basis) {
    case Basis::estimated: return "estimated";
    case Basis::modelled: return "modelled";
    case Basis::measured: break;
  }
  return "measured";
}

std::pair<double, double> range_of_estimate(double saving) {
  // Work adds up in the estimate; on a GPU it overlaps, and the longest part hides the others. The odds of
  // the saving, whatever their size, differ by up to this factor.
  constexpr double factor = 9;
  const double rest = 1 - saving;
  return {saving / (saving + factor * rest), factor * saving / (factor * saving + rest)};
}

std::string percent_text(double share) {
  char digits[32];
  const double percent = 100 * share;
  std::snprintf(digits, sizeof digits, percent > 0 && percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
  return digits;
}

std::string interval_text(double low, double high) {
  const std::string first = percent_text(low), last = percent_text(high);
  return first == last ? first : first.substr(0, first.size() - 2) + " to " + last;
}

std::vector<KernelFinding> findings_of(const RunFacts& facts, std::span<const FindingRule> rules) {
  std::vector<KernelFinding> findings;
  const auto keep = [&](std::optional<KernelFinding> finding, const LocationFacts* location,
                        const std::vector<SiteLabel>& labels) {
    if (!finding) return;
    finding->sentence += together_text(labels);
    apply_limits(*finding, location, labels, facts.limits);
    findings.push_back(std::move(*finding));
  };
  for (const KernelFacts& kernel : facts.kernels) {
    for (const FindingRule& rule : rules) {
      if (rule.kinds.empty()) keep(apply(rule, kernel, nullptr), nullptr, {});
      for (const Accesses& group : groups_of(rule, kernel)) {
        const LocationFacts sum = sum_of(group);
        keep(apply(rule, kernel, &sum), &sum, labels_of(kernel, group));
      }
    }
  }
  std::ranges::stable_sort(findings, [](const KernelFinding& a, const KernelFinding& b) {
    if (a.benefit.has_value() != b.benefit.has_value()) return a.benefit.has_value();
    return a.benefit ? *a.benefit > *b.benefit : a.weight > b.weight;
  });
  set_ids(findings);
  return findings;
}

std::string location_text(const SiteLabel& location) {
  std::string text = location.source();
  for (const std::string& call : location.inlined_at) text += ", inlined at " + call;
  if (location.line != 0) return text;
  return location.ptx_line == 0 ? "" : "PTX line " + std::to_string(location.ptx_line);
}

}  // namespace lynxpp::report
