// Findings in words: what rules make of the records of a run, those that promise the most first.
//
//   for (const KernelFinding& each : findings_of(summary)) print(each.sentence, each.what_to_try);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/findings/rules.h"
#include "report/sites.h"

namespace lynxpp::report {

struct KernelFinding {
  std::string rule;
  std::string kernel;  ///< mangled
  std::string device;
  std::vector<std::string> ranges;
  std::optional<SiteLabel> place;  ///< the first instruction's; nullopt: the kernel itself
  std::size_t instructions = 0;    ///< instructions of the place
  /// An estimate: the share of the run (of what, the facts' weight says) that might be saved at most.
  std::optional<double> benefit;
  double weight = 0;  ///< the kernel's share of the run
  std::string sentence;
  std::string why;
  std::string what_to_try;
};

/// In order of their benefit; behind them those without an estimate, by the kernel's share.
std::vector<KernelFinding> findings_of(const RunFacts& facts,
                                       std::span<const FindingRule> rules = finding_rules());

/// "transpose.cu:24" or "PTX line 31"; empty where nothing is known.
std::string place_text(const SiteLabel& place);

/// "38 %", "0.4 %".
std::string percent_text(double share);

/// As lines of at most `width` characters; empty when there is none. `most`: findings that are shown; those
/// that promise less than a hundredth of the run are not.
std::string findings_text(const std::vector<KernelFinding>& findings, Weight weight, std::size_t width,
                          std::size_t most = 10);

/// The run in a few lines: what was seen, and the kernels with the greatest shares.
std::string overview_text(const RunFacts& facts, std::size_t width, std::size_t most = 10);

/// Overview, findings, and what was not instrumented, of which there is more than nothing.
std::string summary_text(const Summary& summary, std::size_t width);

/// A part of a plain page.
std::string findings_html(const std::vector<KernelFinding>& findings, Weight weight);

}  // namespace lynxpp::report
