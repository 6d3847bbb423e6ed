#include "cli/limits/trials.h"

#include <cstdlib>
#include <variant>

#include "cli/diagnostics.h"
#include "cli/preload.h"
#include "models/machine.h"
#include "ptx/perturb/perturbation.h"
#include "report/reader.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// Returns the machine whose clock times kernels without a GPU.
Result<std::string> clock_machine(const LimitsArguments& arguments) {
  const Option given = option_or_variable(arguments.machine, "--machine", "LYNXPP_CPU_CLOCK");
  const std::string name = given.text.empty() ? "compute_9_0" : given.text;
  const Result<models::Machine> machine = models::find_machine(name);
  if (!machine) return machine.error();
  if (!machine->timing)
    return failure("the machine " + machine->name + " has no timing", "choose one with a timing with -m");
  return name;
}

/// Returns the value of LYNXPP_TRIALS.
Result<std::string> trials_of(const LimitsArguments& arguments) {
  std::string list;
  for (const std::string& text : arguments.perturbations) {
    for (const std::string& each : split(text, ',')) {
      const Result<ptx::Perturbation> known = ptx::parse_perturbation(each);
      if (!known) return known.error();
      list += (list.empty() ? "" : ",") + ptx::to_text(*known);
    }
  }
  if (!list.empty() && arguments.tries) return failure("--try tries all classes; it excludes -p");
  if (!list.empty()) return list;
  return std::string(arguments.tries ? "remedies" : "classes");
}

}  // namespace

Result<Variables> trial_variables(const LimitsArguments& arguments, const std::string& output) {
  const Option kernels = option_or_variable(arguments.kernels, "--kernels", "LYNXPP_KERNELS");
  if (Status understood = check_filters({kernels, {}}); !understood) return understood.error();
  const Option device = option_or_variable(arguments.device, "--device", "LYNXPP_DEVICE");
  if (Status present = check_device(device.text); !present) return present.error();
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  const Result<std::string> machine = clock_machine(arguments);
  if (!machine) return machine.error();
  const Result<std::string> trials = trials_of(arguments);
  if (!trials) return trials.error();
  Variables variables{{"LD_PRELOAD", with_other_preloads(*library)},
                      {"LYNXPP_TRIALS", *trials},
                      {"LYNXPP_TRIAL_LAUNCHES", std::to_string(arguments.launches)},
                      {"LYNXPP_CPU_CLOCK", *machine},
                      {"LYNXPP_OUTPUT", output},
                      {"LYNXPP_TABLE", "0"}};
  if (arguments.replay) variables["LYNXPP_TRIAL_REPLAY"] = "1";
  if (!kernels.text.empty()) variables["LYNXPP_KERNELS"] = kernels.text;
  if (!device.text.empty()) variables["LYNXPP_DEVICE"] = device.text;
  return variables;
}

Result<Trials> read_trials(const std::string& path) {
  Result<report::Reading> reading = report::read_json_lines_file(path);
  if (!reading) return reading.error();
  print(reading->diagnostics);
  Trials found;
  for (report::Record& record : reading->records) {
    if (auto* const trial = std::get_if<report::TrialRecord>(&record))
      found.trials.push_back(std::move(*trial));
    if (auto* const device = std::get_if<report::DeviceRecord>(&record))
      found.devices.push_back(std::move(*device));
    if (auto* const coverage = std::get_if<report::CoverageRecord>(&record))
      found.coverage.push_back(std::move(*coverage));
  }
  return found;
}

}  // namespace lynxpp::cli
