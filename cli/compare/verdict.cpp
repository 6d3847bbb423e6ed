#include "cli/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "cli/compare/noise.h"
#include "cli/compare/pairing.h"
#include "report/findings/facts.h"
#include "report/kernel_name.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::KernelFacts;
using report::KernelFinding;

constexpr const char* all_kernels = "all kernels";
/// Smaller changes are not worth a verdict: counts of kernels whose threads race vary by as much.
constexpr double least_change = 0.001;

struct Cost {
  std::string_view name;
  std::vector<std::string_view> facts;  ///< whose sum it is
  std::string_view work;                ///< the part of the estimated work that it contributes
  double noise = 0;
};

const std::vector<Cost>& all_costs() {
  static const std::vector<Cost> costs = {
      {"warp instructions", {"instruction_count.warp_instructions"}, "work.issue"},
      {"sectors",
       {"memory_efficiency.load_sectors", "memory_efficiency.store_sectors",
        "memory_efficiency.atomic_sectors"},
       "work.memory"},
      {"wavefronts",
       {"shared_bank_conflicts.load_wavefronts", "shared_bank_conflicts.store_wavefronts",
        "shared_bank_conflicts.atomic_wavefronts"},
       "work.shared"},
      {"atomic operations on one word", {"atomic.most_operations"}, "work.atomic"},
      {"launches", {"launches"}, "work.launch"},
      {"ms", {"milliseconds"}, {}, noise_of_times},
  };
  return costs;
}

/// Returns the cost in both runs; nullopt if a run did not measure it.
std::optional<CostChange> change_of(const Cost& cost, const report::Facts& a, const report::Facts& b) {
  CostChange change{cost.name, {}, 0};
  bool has_a = false, has_b = false;
  for (const std::string_view name : cost.facts) {
    has_a |= a.find(name) != nullptr;
    has_b |= b.find(name) != nullptr;
    change.value.a += a.get(name);
    change.value.b += b.get(name);
  }
  if (!has_a || !has_b) return std::nullopt;
  if (!cost.work.empty()) change.work = b.get(cost.work) - a.get(cost.work);
  return change;
}

void add_costs(const report::Facts& a, const report::Facts& b, KernelVerdict& kernel, std::size_t& costs) {
  for (const Cost& cost : all_costs()) {
    const std::optional<CostChange> change = change_of(cost, a, b);
    if (!change) continue;
    costs += cost.name == "launches" ? 0 : 1;
    const double growth = change->growth();
    if (growth > cost.noise) kernel.worse.push_back(*change);
    if (growth < -cost.noise / (1 + cost.noise)) kernel.better.push_back(*change);
  }
  const auto size = [](const CostChange& each) { return std::fabs(each.work); };
  std::ranges::stable_sort(kernel.better, std::greater<>(), size);
  std::ranges::stable_sort(kernel.worse, std::greater<>(), size);
}

/// Sums the costs over all kernels.
report::Facts total_of(const std::vector<KernelFacts>& kernels) {
  report::Facts total;
  for (const Cost& cost : all_costs()) {
    std::vector<std::string_view> names = cost.facts;
    if (!cost.work.empty()) names.push_back(cost.work);
    for (const std::string_view name : names) {
      for (const KernelFacts& kernel : kernels) {
        if (const double* const value = kernel.facts.find(name)) total.add(std::string(name), *value);
      }
    }
  }
  return total;
}

/// Finding `i` of the summary: those that are worth a line are numbered from 1.
std::vector<FindingChange> numbered(const std::vector<KernelFinding>& findings) {
  std::vector<FindingChange> list;
  std::size_t number = 0;
  for (const KernelFinding& each : findings) {
    const bool is_shown = report::is_worth_a_line(each);
    number += is_shown ? 1 : 0;
    list.push_back({is_shown ? number : 0, each});
  }
  return list;
}

/// True if the other run measured what the finding's rule needs, so that the finding would be known.
bool is_decided(const KernelFinding& finding, const KernelFacts& other, const report::Summary& summary) {
  const auto rules = report::finding_rules();
  const auto rule = std::ranges::find(rules, finding.rule, &report::FindingRule::name);
  if (rule == rules.end()) return false;
  return std::ranges::all_of(rule->needs, [&](std::string_view need) {
    const std::size_t dot = need.find('.');
    if (dot == std::string_view::npos) return other.facts.find(need) != nullptr;
    std::string_view spec = need.substr(0, dot);
    if (spec == "flow") spec = "basic_block_count";
    if (spec == "atomic") spec = "atomic_contention";
    return std::ranges::count(summary.specifications, spec, &report::SpecificationTotals::spec) != 0;
  });
}

/// One run: its findings, and its records.
struct Run {
  const report::Summary& summary;
  std::vector<FindingChange> findings;
};

/// Returns the numbered findings of `kernel` in `own` that `other` measured and does not have.
std::vector<FindingChange> missing(const KernelFacts& kernel, const Run& own, const KernelFacts& other_kernel,
                                   const Run& other) {
  std::vector<FindingChange> list;
  for (const FindingChange& each : own.findings) {
    const bool is_of_kernel = each.finding.kernel == kernel.kernel && each.finding.ranges == kernel.ranges;
    const bool is_common = std::ranges::any_of(
        other.findings, [&](const FindingChange& one) { return one.finding.id == each.finding.id; });
    if (is_of_kernel && each.number != 0 && !is_common &&
        is_decided(each.finding, other_kernel, other.summary))
      list.push_back(each);
  }
  return list;
}

double work_of(const std::vector<CostChange>& changes) {
  double work = 0;
  for (const CostChange& each : changes) work += std::fabs(each.work);
  return work;
}

std::string amount_text(double value) {
  const bool is_count = std::floor(value) == value && std::fabs(value) < 1e15;
  return report::to_text(is_count ? report::Number::of(static_cast<report::WideInteger>(value))
                                  : report::Number::of_real(value));
}

/// "270,336 → 16,384 wavefronts (-94 %)"
std::string cost_text(const CostChange& change) {
  return amount_text(change.value.a) + " → " + amount_text(change.value.b) + " " + std::string(change.name) +
         " (" + growth_text(change.growth()) + ")";
}

/// "finding 1 (bank conflicts) gone", "new findings 1 (bank conflicts), 3 (divergent branch)"
std::string findings_text(const std::vector<FindingChange>& findings, bool is_new) {
  std::string text = (is_new ? "new finding" : "finding") + std::string(findings.size() == 1 ? " " : "s ");
  for (std::size_t i = 0; i < findings.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(findings[i].number) + " (" + findings[i].finding.rule + ")";
  }
  return text + (is_new ? "" : " gone");
}

std::string half_text(const std::vector<CostChange>& costs, const std::vector<FindingChange>& findings,
                      bool is_new) {
  std::string text = costs.empty() ? "" : cost_text(costs.front());
  if (findings.empty()) return text;
  return text + (text.empty() ? "" : ", ") + findings_text(findings, is_new);
}

std::string short_name(const std::string& kernel) {
  constexpr std::size_t width = 48;
  return report::short_kernel_name(report::without_signature(kernel), width);
}

std::string further_text(std::size_t kernels) {
  if (kernels == 0) return {};
  return " and " + std::to_string(kernels) + " more kernel" + (kernels == 1 ? "" : "s");
}

/// Counts the kernels after the first, without the sums.
std::string further_text(const std::vector<KernelVerdict>& kernels) {
  const auto is_kernel = [](const KernelVerdict& each) { return each.kernel != all_kernels; };
  return further_text(static_cast<std::size_t>(std::count_if(kernels.begin() + 1, kernels.end(), is_kernel)));
}

std::string only_text(const std::string& side, const std::vector<std::string>& kernels) {
  if (kernels.empty()) return {};
  return "; only in " + side + ": " + short_name(kernels.front()) + further_text(kernels.size() - 1);
}

/// Removes small changes of costs. Returns true if there were any.
bool drop_small_changes(std::vector<KernelVerdict>& kernels) {
  const auto is_small = [](const CostChange& each) { return std::fabs(each.growth()) < least_change; };
  std::size_t dropped = 0;
  for (KernelVerdict& each : kernels)
    dropped += std::erase_if(each.better, is_small) + std::erase_if(each.worse, is_small);
  return dropped != 0;
}

std::string unchanged_text(const Verdict& verdict) {
  const std::string others = verdict.other_changes == 0 ? "" : std::to_string(verdict.other_changes) + " ";
  if (verdict.costs == 0) {
    return others.empty() ? "nothing changed"
                          : others + (verdict.other_changes == 1 ? "result" : "results") +
                                " changed; no cost was measured in both runs";
  }
  if (others.empty()) return "nothing changed";
  return "no cost changed, " + others + "other result" + (verdict.other_changes == 1 ? "" : "s") + " did";
}

}  // namespace

double CostChange::growth() const {
  if (value.a == value.b) return 0;
  return value.a == 0 ? std::numeric_limits<double>::infinity() : value.b / value.a - 1;
}

Verdict verdict_of(const Both<const report::Summary*>& summaries, const Comparison& comparison) {
  const Both<report::RunFacts> facts{facts_of(*summaries.a), facts_of(*summaries.b)};
  const Run first{*summaries.a, numbered(findings_of(facts.a))};
  const Run second{*summaries.b, numbered(findings_of(facts.b))};
  Verdict verdict;
  const Pairing pairing = pair_kernels(facts.a.kernels, facts.b.kernels);
  for (const auto& [one, other] : pairing.pairs) {
    const KernelFacts& a = facts.a.kernels[one];
    const KernelFacts& b = facts.b.kernels[other];
    KernelVerdict kernel{demangle(b.kernel), {}, {}, {}, {}};
    add_costs(a.facts, b.facts, kernel, verdict.costs);
    kernel.gone = missing(a, first, b, second);
    kernel.appeared = missing(b, second, a, first);
    if (kernel.is_better() || kernel.is_worse()) verdict.kernels.push_back(std::move(kernel));
  }
  for (const std::size_t each : pairing.only.a)
    verdict.only.a.push_back(demangle(facts.a.kernels[each].kernel));
  for (const std::size_t each : pairing.only.b)
    verdict.only.b.push_back(demangle(facts.b.kernels[each].kernel));
  if (!verdict.only.a.empty() || !verdict.only.b.empty()) {
    KernelVerdict all{all_kernels, {}, {}, {}, {}};
    add_costs(total_of(facts.a.kernels), total_of(facts.b.kernels), all, verdict.costs);
    if (all.is_better() || all.is_worse()) verdict.kernels.push_back(std::move(all));
  }
  std::ranges::stable_sort(verdict.kernels, std::greater<>(), [](const KernelVerdict& each) {
    return work_of(each.better) + work_of(each.worse);
  });
  for (const SpecificationChange& specification : comparison.specifications) {
    for (const KernelChange& kernel : specification.kernels)
      verdict.other_changes += kernel.results.size() + kernel.arrays.size();
  }
  return verdict;
}

std::string to_text(const Verdict& verdict) {
  std::vector<KernelVerdict> better, worse;
  const std::string only = only_text("A", verdict.only.a) + only_text("B", verdict.only.b);
  if (verdict.costs == 0) return unchanged_text(verdict) + only;
  std::vector<KernelVerdict> kernels = verdict.kernels;
  const bool has_small_changes = drop_small_changes(kernels);
  std::ranges::copy_if(kernels, std::back_inserter(better), &KernelVerdict::is_better);
  std::ranges::copy_if(kernels, std::back_inserter(worse), &KernelVerdict::is_worse);
  std::ranges::stable_sort(better, std::greater<>(), [](const auto& each) { return work_of(each.better); });
  std::ranges::stable_sort(worse, std::greater<>(), [](const auto& each) { return work_of(each.worse); });
  std::string text;
  if (!better.empty()) {
    text = short_name(better[0].kernel) + ": " + half_text(better[0].better, better[0].gone, false) +
           further_text(better);
  }
  if (!worse.empty()) {
    const bool is_same = !better.empty() && better[0].kernel == worse[0].kernel;
    text += (text.empty() ? "" : "; ") + std::string("worse: ") +
            (is_same ? "" : short_name(worse[0].kernel) + ": ") +
            half_text(worse[0].worse, worse[0].appeared, true) + further_text(worse);
  }
  if (text.empty()) {
    text = has_small_changes ? "no cost changed by 0.1 % or more" : unchanged_text(verdict);
  } else if (worse.empty()) {
    text += "; nothing got worse";
  }
  return text + only;
}

std::vector<std::string> failures_of(const Verdict& verdict, double share) {
  std::vector<std::string> lines;
  for (const KernelVerdict& kernel : verdict.kernels) {
    for (const CostChange& cost : kernel.worse) {
      // 1 % of 100 is not exactly 0.01.
      if (cost.growth() > share + 1e-9)
        lines.push_back(report::printable(kernel.kernel) + ": " + cost_text(cost));
    }
  }
  return lines;
}

}  // namespace lynxpp::cli
