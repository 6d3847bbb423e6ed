// Advice on shared memory as text.
#include <algorithm>

#include "report/kernel_name.h"
#include "report/number.h"
#include "report/tables/text_table.h"
#include "report/words/word_profiles.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t action_width = 10;
/// Findings shown per kernel; a page has all of them.
constexpr std::size_t shown_findings = 10;

std::string action_line(std::string_view action, const std::string& array, const std::string& reason,
                        std::size_t width) {
  std::string text = "  " + std::string(action) + std::string(action_width - action.size(), ' ');
  return text + printable(array) + "\n" + wrapped(printable(reason), 2 + action_width + 2, width);
}

std::string staging_text(const models::StagingAdvice& advice, std::size_t width) {
  std::string text = wrapped(printable(advice.summary) + ".", 2, width);
  for (const models::Placement& each : advice.placements) {
    if (each.advised != models::Staging::leave)
      text += action_line(name_of(each.advised), each.array, each.reason + ".", width);
  }
  return text;
}

/// True if the advice is to stage an array or to drop one.
bool changes(const models::StagingAdvice& advice) {
  return std::ranges::any_of(advice.placements, [](const models::Placement& each) {
    return each.advised == models::Staging::stage || each.advised == models::Staging::drop;
  });
}

std::string findings_text(const std::vector<models::Finding>& findings, std::size_t width) {
  std::string text;
  std::size_t shown = 0, further = 0;
  for (const models::Finding& each : findings) {
    if (each.what_to_try.empty()) continue;
    if (++shown > shown_findings) {
      ++further;
      continue;
    }
    text += wrapped(
        printable(each.rule + ": " + each.array + ": " + each.sentence + ". Try: " + each.what_to_try + "."),
        2, width);
  }
  if (further != 0)
    text += "  (" + to_text(Number::of(static_cast<WideInteger>(further))) +
            " more findings: see an HTML report)\n";
  return text;
}

}  // namespace

std::string advice_text(const std::vector<LaunchAdvice>& advice, std::size_t width) {
  if (advice.empty()) return {};
  std::string text = "== lynxpp: advice on shared memory ==\n";
  bool lacks_profile = false, suggests = false;
  for (const LaunchAdvice& each : advice) {
    std::string kernel = short_kernel_name(demangle(each.kernel), width) + "\n";
    if (each.launches > 1) {
      kernel = short_kernel_name(demangle(each.kernel), width / 2) + ", launch " +
               std::to_string(each.launch) + ", which has the most accesses of " +
               std::to_string(each.launches) + "\n";
    }
    lacks_profile |= !each.staging;
    suggests |= each.staging && changes(*each.staging);
    text += kernel + (each.staging ? staging_text(*each.staging, width) : "") +
            findings_text(each.findings, width);
  }
  if (lacks_profile) {
    text +=
        "For arrays worth staging in shared memory, use both profiles:\n  -s "
        "shared_memory_profile,device_memory_profile\n";
  }
  if (suggests) text += "Accesses are not time: 'lynxpp limits' measures the possible gain.\n";
  return text;
}

}  // namespace lynxpp::report
