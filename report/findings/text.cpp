// Findings and the overview of a run, as text and as a section of a plain page.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "report/coverage_share.h"
#include "report/findings/findings.h"
#include "report/kernel_name.h"
#include "report/number.h"
#include "report/tables/bar_chart.h"
#include "report/tables/text_table.h"
#include "report/totals.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr double least_benefit = 0.01;      ///< of a finding that is shown
constexpr std::size_t most_small_ones = 3;  ///< findings that are shown if all are small

std::string sentence_of(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string kernel_of(const KernelFinding& finding) {
  const std::string path = path_of(finding.ranges);
  return demangle(finding.kernel) + (path.empty() ? "" : " in " + path);
}

std::string benefit_of(const KernelFinding& finding) {
  if (!finding.benefit) return "not estimated";
  std::string basis(text_of(finding.basis));
  if (finding.interval) {
    const auto& [low, high] = *finding.interval;
    if (percent_text(low) != percent_text(high)) basis += ", " + interval_text(low, high);
  }
  const double shown = *finding.benefit > 0 ? std::max(*finding.benefit, 0.001) : 0;
  return (finding.basis == Basis::estimated ? "may save about " : "saves at most ") + percent_text(shown) +
         " (" + basis + ")";
}

/// `same_rule`: the number of the first finding by the same rule.
std::string entry(const KernelFinding& finding, std::size_t number, std::size_t same_rule,
                  std::size_t width) {
  constexpr std::size_t indent = 4;
  const std::string location = location_text(finding);
  std::string text = std::to_string(number) + ". ";
  text += std::string(indent > text.size() ? indent - text.size() : 0, ' ') + finding.rule + ", " +
          benefit_of(finding) + ": ";
  const std::size_t taken = width_of(text) + (location.empty() ? 0 : 2 + width_of(location));
  const std::size_t room = width > taken + 20 ? width - taken : 20;
  text += short_kernel_name(kernel_of(finding), room) + (location.empty() ? "" : ", " + printable(location)) +
          "\n";
  text += wrapped(sentence_of(finding.sentence), indent, width);
  if (same_rule != number) return text + "    Why, and what to try: see " + std::to_string(same_rule) + ".\n";
  return text + wrapped("Why: " + finding.why + ".", indent, width) +
         wrapped("Try: " + finding.what_to_try + ".", indent, width);
}

/// Returns "… 4 more with less than 1 %, see an HTML report: divergent branch (hist.cu:30), …".
std::string others_text(const std::vector<const KernelFinding*>& others, const std::string& share) {
  constexpr std::size_t most = 3;
  std::string text = "… " + std::to_string(others.size()) + " more with " + share + ", see an HTML report: ";
  for (std::size_t i = 0; i < std::min(most, others.size()); ++i) {
    const std::string location = others[i]->location ? location_text(*others[i]->location) : "";
    text += (i == 0 ? "" : ", ") + others[i]->rule + " (" +
            printable(location.empty() ? short_kernel_name(kernel_of(*others[i]), 40) : location) + ")";
  }
  return text + (others.size() > most ? ", …" : "");
}

bool lacks_line(const KernelFinding& finding) { return finding.location && finding.location->line == 0; }

/// XLA compiles without line information. It names kernels by their instructions in HLO.
bool is_of_xla(const KernelFinding& finding) {
  return finding.kernel.find("fusion") != std::string::npos || finding.kernel.starts_with("wrapped_");
}

/// Says how to get source lines for the findings that lack them; empty if none does.
std::string line_hint(const std::vector<KernelFinding>& findings) {
  bool lacks_lines = false, is_xla = false;
  for (const KernelFinding& each : findings) {
    if (!lacks_line(each)) continue;
    (is_of_xla(each) ? is_xla : lacks_lines) = true;
  }
  std::string text;
  if (lacks_lines) text = "Compile with -lineinfo to see source lines instead of PTX lines.";
  if (is_xla) {
    text +=
        std::string(text.empty() ? "" : " ") +
        "XLA writes no source lines: with XLA_FLAGS=--xla_dump_to=FOLDER, the instruction of the kernel's "
        "name in *after_optimizations.txt has the line of Python.";
  }
  return text;
}

// ---------------------------------------------------------------- overview

struct OverviewColumn {
  std::vector<std::string> header;
  std::function<std::string(const KernelFacts&)> cell;  ///< empty if unknown
};

std::string count_text(double value) {
  return to_text(Number::of(static_cast<WideInteger>(value)), NumberStyle::compact);
}

std::string share_text(double part, double whole) { return whole > 0 ? percent_text(part / whole) : ""; }

/// Returns the conflicts among lanes that access different words of one bank.
double shared_conflicts(const Facts& facts) {
  return facts.get("shared_bank_conflicts.load_conflicts") +
         facts.get("shared_bank_conflicts.store_conflicts") +
         facts.get("atomic_contention.total_bank_conflicts");
}

std::vector<OverviewColumn> overview_columns(Weight weight) {
  const auto number = [](const char* name) {
    return [name](const KernelFacts& kernel) {
      const double* const value = kernel.facts.find(name);
      return value == nullptr ? "" : count_text(*value);
    };
  };
  return {
      {{"share of", std::string(text_of(weight))},
       [](const KernelFacts& kernel) { return percent_text(kernel.weight); }},
      {{"launches"}, number("launches")},
      {{"ms"},
       [](const KernelFacts& kernel) {
         const double* const value = kernel.facts.find("milliseconds");
         return value == nullptr ? "" : to_text(Number::of_real(*value));
       }},
      {{"warp", "instructions"}, number("instruction_count.warp_instructions")},
      {{"lanes", "active"},
       [](const KernelFacts& kernel) {
         return share_text(kernel.facts.get("instruction_count.thread_instructions"),
                           32 * kernel.facts.get("instruction_count.warp_instructions"));
       }},
      {{"divergent", "branches"},
       [](const KernelFacts& kernel) {
         return share_text(kernel.facts.get("branch_divergence.total_divergent"),
                           kernel.facts.get("branch_divergence.total_branches"));
       }},
      {{"sector bytes", "at L1"}, number("traffic.transferred")},
      {{"requested", "of these"},
       [](const KernelFacts& kernel) {
         return share_text(kernel.facts.get("traffic.requested"), kernel.facts.get("traffic.transferred"));
       }},
      {{"tensor", "operations"}, number("tensor.operations")},
      {{"of estimated", "tensor peak"},
       [](const KernelFacts& kernel) {
         const double* const share = kernel.facts.find("tensor.share");
         return share == nullptr ? "" : "at least " + percent_text(*share);
       }},
      {{"bank", "conflicts"},
       [](const KernelFacts& kernel) {
         return share_text(shared_conflicts(kernel.facts), kernel.facts.get("work.shared"));
       }},
  };
}

std::string headline(const RunFacts& facts) {
  double launches = 0, instructions = 0, moved = 0, asked = 0, boxes = 0, tensor_copies = 0;
  std::vector<std::string> devices;
  for (const KernelFacts& kernel : facts.kernels) {
    launches += kernel.facts.get("launches");
    instructions += kernel.facts.get("instruction_count.warp_instructions");
    moved += kernel.facts.get("traffic.transferred");
    asked += kernel.facts.get("traffic.requested");
    boxes += kernel.facts.get("memory_efficiency.tensor_copy_bytes");
    tensor_copies += kernel.facts.get("memory_efficiency.tensor_copies_without_bytes");
    if (std::ranges::count(devices, kernel.device) == 0) devices.push_back(kernel.device);
  }
  const auto several = [](double number, const std::string& name) {
    return count_text(number) + " " + name + (number == 1 ? "" : name.ends_with('h') ? "es" : "s");
  };
  std::string text = several(static_cast<double>(facts.kernels.size()), "kernel") + ", " +
                     several(launches, "launch") + " on ";
  for (const std::string& device : devices) text += (&device == &devices[0] ? "" : ", ") + printable(device);
  if (instructions > 0) text += "; " + count_text(instructions) + " warp instructions";
  if (moved > 0)
    text += "; global loads and stores request " + count_text(asked) + " bytes in " + count_text(moved) +
            " bytes of sectors at L1";
  if (boxes > 0) text += "; tensor copies move boxes of " + count_text(boxes) + " bytes in total";
  if (tensor_copies > 0)
    text += "; the bytes of " + count_text(tensor_copies) +
            (tensor_copies == 1 ? " tensor copy" : " tensor copies") + " are unknown";
  return text;
}

/// Groups the kernels by reason, in order of appearance.
/// Returns why an instrumented or uninstrumented kernel has no results.
std::string lack_of(const CoverageRecord& record) {
  if (std::string gap = gap_of(record); !gap.empty()) return gap;
  const auto lost =
      std::ranges::find_if(record.notes, [](const auto& note) { return note.starts_with("results lost"); });
  return lost != record.notes.end() ? printable(*lost) : "no results were recorded";
}

std::string nothing_measured(const std::vector<CoverageRecord>& seen, std::size_t width) {
  constexpr std::size_t most_reasons = 20, most_names = 5;
  if (seen.empty()) return {};
  std::vector<std::pair<std::string, std::vector<const CoverageRecord*>>> groups;
  for (const CoverageRecord& record : seen) {
    const std::string reason = lack_of(record);
    auto group = std::ranges::find(groups, reason, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
    group->second.push_back(&record);
  }
  std::string text = "== lynxpp: summary ==\nNo kernel was measured. These were launched:\n";
  for (std::size_t i = 0; i < std::min(most_reasons, groups.size()); ++i) {
    const auto& [reason, kernels] = groups[i];
    text += "  ";
    for (std::size_t each = 0; each < std::min(most_names, kernels.size()); ++each) {
      text += (each == 0 ? "" : ", ") + short_kernel_name(demangle(kernels[each]->kernel), width / 2);
    }
    if (kernels.size() > most_names) text += " and " + std::to_string(kernels.size() - most_names) + " more";
    text += ": " + reason + "\n";
  }
  if (groups.size() > most_reasons) text += "  … " + std::to_string(groups.size() - most_reasons) + " more\n";
  return text;
}

}  // namespace

bool is_worth_a_line(const KernelFinding& finding) {
  constexpr double least_weight = 0.05;
  return finding.benefit ? *finding.benefit >= least_benefit : finding.weight >= least_weight;
}

std::string location_text(const KernelFinding& finding) {
  std::string text = finding.location ? location_text(*finding.location) : "";
  if (text.empty() || finding.location->opcode.empty()) return text;
  if (finding.location->line == 0 && finding.instructions > 1)
    text += " and " + std::to_string(finding.instructions - 1) + " more";
  text += " (" + finding.location->opcode;
  return text + (finding.location->object.empty() ? ")" : ", " + finding.location->object + ")");
}

std::string overview_text(const RunFacts& facts, std::size_t width, std::size_t most) {
  if (facts.kernels.empty()) return {};
  std::vector<const KernelFacts*> kernels;
  for (const KernelFacts& each : facts.kernels) kernels.push_back(&each);
  std::ranges::stable_sort(kernels, std::greater<>(), &KernelFacts::weight);
  const std::size_t further = kernels.size() > most ? kernels.size() - most : 0;
  kernels.resize(kernels.size() - further);
  std::vector<TextColumn> columns;
  std::size_t taken = 0;
  for (const OverviewColumn& each : overview_columns(facts.weight)) {
    TextColumn column{each.header, {}};
    for (const KernelFacts* kernel : kernels) column.cells.push_back(each.cell(*kernel));
    if (std::ranges::all_of(column.cells, &std::string::empty)) continue;
    taken += column.width() + 2;
    columns.push_back(std::move(column));
  }
  std::vector<std::string> names;
  for (const KernelFacts* kernel : kernels) {
    const std::string path = path_of(kernel->ranges);
    names.push_back(demangle(kernel->kernel) + (path.empty() ? "" : " in " + path));
  }
  ShortNames shortened = short_kernel_names(names, width > taken + 16 ? width - taken : 16);
  columns.insert(columns.begin(), TextColumn{{"kernel"}, std::move(shortened.names), false});
  std::string text =
      "== lynxpp: summary ==\n" + wrapped(headline(facts) + ".", 0, width) + render_columns(columns);
  for (const std::string& line : shortened.legend) text += "  " + line + "\n";
  if (further != 0) text += "  … " + std::to_string(further) + " more kernels\n";
  return text;
}

double benefit_together(std::span<const KernelFinding> findings) {
  std::map<std::pair<std::string_view, std::vector<std::string>>, std::pair<double, double>> kernels;
  for (const KernelFinding& each : findings) {
    auto& [benefit, weight] = kernels[{each.kernel, each.ranges}];
    benefit += each.benefit.value_or(0);
    weight = each.weight;
  }
  double sum = 0;
  for (const auto& [kernel, of] : kernels) sum += std::min(of.first, of.second);
  return std::min(1.0, sum);
}

std::string findings_text(const std::vector<KernelFinding>& findings, Weight weight, std::size_t width,
                          std::size_t most) {
  const bool is_any_large = std::ranges::any_of(findings, is_worth_a_line);
  const double together = benefit_together(findings);
  if (!is_any_large && together < least_benefit) return {};
  const std::string unit(text_of(weight));
  std::string text = "== lynxpp: findings ==\n";
  text += wrapped(is_any_large ? "Ordered by the share of the run's " + unit + " that a repair may save."
                               : "Each finding may save less than 1 % of the run's " + unit + "; all " +
                                     std::to_string(findings.size()) + " together about " +
                                     percent_text(together) + ". The first ones:",
                  0, width);
  if (!is_any_large) most = most_small_ones;
  std::size_t shown = 0;
  std::vector<const KernelFinding*> others;
  std::vector<KernelFinding> listed;
  std::map<std::string, std::size_t> rules;
  for (const KernelFinding& each : findings) {
    if (shown >= most || is_any_large != is_worth_a_line(each)) {
      others.push_back(&each);
      continue;
    }
    const std::size_t first = rules.try_emplace(each.rule, ++shown).first->second;
    text += entry(each, shown, first, width);
    listed.push_back(each);
  }
  if (!others.empty())
    text +=
        wrapped(others_text(others, shown >= most ? "no more than the last one" : "less than 1 %"), 2, width);
  const std::string hint = line_hint(listed);
  return text + (hint.empty() ? "" : wrapped(hint + " An HTML report shows the PTX.", 2, width));
}

std::string summary_text(const Summary& summary, std::size_t width) {
  const RunFacts facts = facts_of(summary);
  const std::string share = coverage_share_text(coverage_share_of(summary), "the report's table");
  if (facts.kernels.empty())
    return share + (share.empty() ? "" : "\n") + nothing_measured(summary.coverage, width);
  const std::vector<KernelFinding> findings = findings_of(facts);
  std::string text = share + (share.empty() ? "" : "\n") + overview_text(facts, width);
  std::size_t missed = 0;
  for (const CoverageRecord& each : summary.coverage) missed += gap_of(each).empty() ? 0 : 1;
  if (missed != 0 && share.empty()) {
    text += wrapped(std::to_string(missed) + " of " + std::to_string(summary.coverage.size()) +
                        " kernels were not instrumented in every launch: see the report's table.",
                    0, width);
  }
  const std::string words = findings_text(findings, facts.weight, width);
  const char* const nothing = findings.empty() ? "No rule found anything to improve.\n"
                                               : "No rule found anything that would save 1 % of the run.\n";
  const std::string trust = trust_line_of(summary, !words.empty());
  return text + "\n" + (words.empty() ? nothing : words) +
         (trust.empty() ? "" : "\n" + wrapped(trust, 0, width));
}

std::string findings_html(const std::vector<KernelFinding>& findings, Weight weight) {
  constexpr std::size_t most = 50;
  if (findings.empty()) return {};
  std::string html = "<h2>Findings <span class=\"unit\">ordered by the share of the run's " +
                     escaped(text_of(weight)) + " that a repair may save</span></h2>\n<ol>\n";
  for (std::size_t i = 0; i < std::min(most, findings.size()); ++i) {
    const KernelFinding& each = findings[i];
    const std::string location = location_text(each);
    html += "<li><b>" + escaped(each.rule + ", " + benefit_of(each)) + "</b>: " + escaped(kernel_of(each)) +
            (location.empty() ? "" : ", " + escaped(location)) + "<br>" +
            escaped(sentence_of(each.sentence)) + "<br>Why: " + escaped(each.why) +
            ".<br>Try: " + escaped(each.what_to_try) + ".</li>\n";
  }
  html += "</ol>\n";
  if (findings.size() > most) html += "<p>and " + std::to_string(findings.size() - most) + " more</p>\n";
  if (const std::string hint = line_hint(findings); !hint.empty())
    html += "<p class=\"note\">" + escaped(hint) + "</p>\n";
  return html;
}

}  // namespace lynxpp::report
