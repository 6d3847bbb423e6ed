#include "interposer/trials/choices.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "support/text.h"

namespace lynxpp::interposer {

Result<TrialChoices> parse_trial_choices(const std::string& trials, const std::string& launches,
                                         const std::string& replay) {
  TrialChoices choices;
  choices.tries_remedies = trials == "remedies";
  if (trials != "classes" && trials != "remedies") {
    for (const std::string& text : split(trials, ',')) {
      Result<ptx::Perturbation> perturbation = ptx::parse_perturbation(trim(text));
      if (!perturbation) {
        Diagnostic problem = perturbation.error().diagnostics.front();
        return failure("LYNXPP_TRIALS: " + problem.message, problem.hint);
      }
      choices.perturbations.push_back(std::move(*perturbation));
    }
  }
  if (!launches.empty()) {
    const char* const end = launches.data() + launches.size();
    const auto [last, error] = std::from_chars(launches.data(), end, choices.launches);
    if (error != std::errc() || last != end || choices.launches == 0)
      return failure("LYNXPP_TRIAL_LAUNCHES: '" + launches + "' is not a number of launches");
  }
  if (replay == "0") {
    choices.replay = ReplayChoice::never;
  } else if (replay == "1") {
    choices.replay = ReplayChoice::always;
  } else if (!replay.empty()) {
    return failure("LYNXPP_TRIAL_REPLAY: '" + replay + "' is neither 0 nor 1");
  }
  return choices;
}

}  // namespace lynxpp::interposer
