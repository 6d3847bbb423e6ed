// Findings about a run, derived from its records by rules; those with the largest benefit come first.
//
//   for (const KernelFinding& each : findings_of(summary)) print(each.sentence, each.what_to_try);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/findings/rules.h"
#include "report/sites.h"

namespace lynxpp::report {

/// Origin of a gain: counts and a model of their cost, or trials on the modelled clock or on the device.
enum class Basis { estimated, modelled, measured };

/// Returns "measured".
std::string_view text_of(Basis basis);

/// Accesses with one cause are one finding: those of one line and kind, and those of one object, whose
/// neighbouring lanes are equally far apart. Its counts are their sums, and the sentence names them.
struct KernelFinding {
  /// "bank-conflicts:transpose:ld.shared.f32:tile", the same after edits that leave these: rule, kernel,
  /// opcode and object; further findings with the same ones end with "#2", "#3", ….
  std::string id;
  std::string rule;
  std::string kernel;  ///< mangled
  std::string device;
  std::vector<std::string> ranges;
  std::optional<SiteLabel> location;  ///< of the costliest access; nullopt: the kernel itself
  std::size_t instructions = 0;       ///< instructions that were merged
  /// Share of the run that a repair saves (in units of RunFacts::weight): an upper bound if modelled or
  /// measured, else an estimate, which the real saving may exceed.
  std::optional<double> benefit;
  Basis basis = Basis::estimated;  ///< of `benefit`
  /// 95 % confidence interval of a measured benefit; range_of_estimate() for an estimate about a location.
  std::optional<std::pair<double, double>> interval = {};
  double weight = 0;  ///< the kernel's share of the run
  std::string sentence;
  std::string why;
  std::string what_to_try;
};

/// Returns the range around an estimated saving, a share of the kernel's work from 0 to 1, that contained the
/// savings of 26 of 30 known repairs (docs/findings.md#how-good-estimates-are).
std::pair<double, double> range_of_estimate(double saving);

/// Returns findings by decreasing benefit, then those without an estimate by the kernel's share. Measured
/// limits of the facts replace estimates.
std::vector<KernelFinding> findings_of(const RunFacts& facts,
                                       std::span<const FindingRule> rules = finding_rules());

/// True if the finding may save at least 1 % of the run or, without an estimate, concerns at least 5 % of it.
bool is_worth_a_line(const KernelFinding& finding);

/// Returns the share of the run that the findings may save together: for each kernel, at most the kernel's
/// share.
double benefit_together(std::span<const KernelFinding> findings);

/// Returns "transpose.cu:24 (st.global.f32, argument 1 (float*))"; empty if unknown or about the kernel.
std::string location_text(const KernelFinding& finding);

/// Returns "transpose.cu:24" or "PTX line 31"; empty if unknown.
std::string location_text(const SiteLabel& location);

/// Returns "38 %", "0.4 %".
std::string percent_text(double share);

/// Returns "40 to 55 %", or "40 %" if both ends have the same text.
std::string interval_text(double low, double high);

/// Returns the findings as lines of at most `width` characters; empty if all together save less than 1 %
/// of the run. Shows at most `most` findings, and only those that may save at least 1 %; otherwise the first
/// three.
std::string findings_text(const std::vector<KernelFinding>& findings, Weight weight, std::size_t width,
                          std::size_t most = 10);

/// Returns a few lines about the run: what was measured, and the kernels with the largest shares.
std::string overview_text(const RunFacts& facts, std::size_t width, std::size_t most = 10);

/// Returns overview, findings, and what was not instrumented, if anything.
std::string summary_text(const Summary& summary, std::size_t width);

/// Returns a section of a plain page.
std::string findings_html(const std::vector<KernelFinding>& findings, Weight weight);

}  // namespace lynxpp::report
