#include "cli/band/program_runs.h"

#include <filesystem>
#include <variant>

#include "cli/band/arguments.h"
#include "cli/child.h"
#include "cli/diagnostics.h"
#include "cli/modelled/kernels.h"
#include "cli/preload.h"
#include "observe/added_arithmetic.h"
#include "observe/hot_spots.h"
#include "report/reader.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using models::campprof::Calibration;

/// The measurement that a run makes.
enum class Purpose { counts, times, before, after };

const std::string transactions = "memory_transactions";

const char* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::counts: return "with memory_transactions and hot_spots";
    case Purpose::times: return "uninstrumented";
    case Purpose::before:
    case Purpose::after: break;
  }
  return "with arithmetic added";
}

void take(const report::Record& record, Purpose purpose, std::map<std::string, Launches>& kernels) {
  if (const auto* launch = std::get_if<report::LaunchRecord>(&record);
      launch != nullptr && purpose == Purpose::counts) {
    Launches& launches = kernels[launch->kernel];
    (launch->spec == transactions  ? launches.counted
     : launch->spec == "hot_spots" ? launches.with_hot_spots
                                   : launches.with_instructions)
        .push_back(*launch);
  }
  if (const auto* sites = std::get_if<report::SitesRecord>(&record);
      sites != nullptr && purpose == Purpose::counts)
    kernels[sites->kernel].sites = *sites;
  if (const auto* timing = std::get_if<report::TimingRecord>(&record);
      timing != nullptr && purpose != Purpose::counts) {
    Launches& launches = kernels[timing->kernel];
    (purpose == Purpose::times    ? launches.timing
     : purpose == Purpose::before ? launches.before
                                  : launches.after) = *timing;
  }
}

class ProgramRuns {
 public:
  ProgramRuns(const ProgramToRun& program, const BandArguments& arguments, const Calibration& calibration)
      : program_(program), arguments_(arguments), calibration_(calibration) {}

  Result<std::map<std::string, Launches>> run() {
    if (!folder_.exists()) return failure("cannot create a temporary folder");
    if (Status written = write_specifications(); !written) return written.error();
    std::map<std::string, Launches> kernels;
    for (const Purpose purpose : {Purpose::counts, Purpose::times, Purpose::before, Purpose::after}) {
      if (arguments_.added_arithmetic == 0 && purpose > Purpose::times) break;
      const Result<report::Reading> reading = run_once(purpose);
      if (!reading) return reading.error();
      for (const report::Record& record : reading->records) take(record, purpose, kernels);
    }
    std::erase_if(kernels, [](const auto& each) { return each.second.counted.empty(); });
    if (Status read = read_traffic(kernels); !read) return read.error();
    if (kernels.empty())
      return nothing_measured("the program launched no kernel that could be measured",
                              "`lynxpp run -s memory_transactions` shows why");
    return kernels;
  }

 private:
  Status write_specifications() const {
    const std::uint32_t added = arguments_.added_arithmetic;
    const std::pair<const char*, std::string> texts[] = {
        {"hot_spots.cod", observe::hot_spots_specification()},
        {"access_counts.cod", observe::access_counts_specification()},
        {"before.cod", observe::added_arithmetic_specification(1)},
        {"after.cod", observe::added_arithmetic_specification(1 + added)}};
    for (const auto& [name, text] : texts) {
      if (!write_file(folder_.file(name), text)) return failure("cannot write " + folder_.file(name));
    }
    return success();
  }

  std::string specifications(Purpose purpose) const {
    switch (purpose) {
      case Purpose::counts:
        return transactions + "," + folder_.file("hot_spots.cod") +
               (arguments_.added_arithmetic != 0 ? "," + folder_.file("access_counts.cod") : "");
      case Purpose::times: return transactions;
      case Purpose::before: return folder_.file("before.cod");
      case Purpose::after: break;
    }
    return folder_.file("after.cod");
  }

  /// Reads the traffic of the timed run.
  Status read_traffic(std::map<std::string, Launches>& kernels) const {
    std::string lines;
    if (!calibration_.is_modelled || !read_file(folder_.file("counters.jsonl"), lines)) return success();
    Result<std::vector<ModelledKernel>> modelled = read_modelled(lines);
    if (!modelled) return modelled.error();
    for (ModelledKernel& each : *modelled) {
      const auto found = kernels.find(each.kernel);
      if (found != kernels.end() && each.launches != 0) found->second.traffic = std::move(each.traffic);
    }
    return success();
  }

  Result<report::Reading> run_once(Purpose purpose) {
    const std::string records = folder_.file("records.jsonl");
    std::error_code ignored;
    std::filesystem::remove(records, ignored);
    Variables variables{{"LD_PRELOAD", with_other_preloads(program_.library)},
                        {"LYNXPP_SPEC", specifications(purpose)},
                        {"LYNXPP_LAUNCH_RECORDS", "all"},
                        {"LYNXPP_OUTPUT", records}};
    if (purpose != Purpose::counts)
      variables["LYNXPP_TIMING"] = purpose == Purpose::times ? "original" : "variant";
    if (!arguments_.kernels.empty()) variables["LYNXPP_KERNELS"] = arguments_.kernels;
    if (!arguments_.launches.empty()) variables["LYNXPP_LAUNCHES"] = arguments_.launches;
    variables["LYNXPP_DEVICE"] = calibration_.is_modelled ? "cpu" : "cuda";
    if (calibration_.is_modelled) variables["LYNXPP_CPU_CLOCK"] = calibration_.device;
    if (purpose == Purpose::counts) variables["LYNXPP_CPU_CLOCK_TIMES"] = "0";
    if (calibration_.is_modelled && purpose == Purpose::times)
      variables["LYNXPP_CPU_COUNTERS"] = folder_.file("counters.jsonl");
    const Result<ChildRun> run =
        run_child(program_.path, arguments_.command, variables, folder_, name_of(purpose));
    if (!run) return run.error();
    if (!std::filesystem::exists(records, ignored)) return report::Reading{};
    return report::read_json_lines_file(records);
  }

  const ProgramToRun& program_;
  const BandArguments& arguments_;
  const Calibration& calibration_;
  WorkFolder folder_;
};

}  // namespace

Result<std::map<std::string, Launches>> run_program(const ProgramToRun& program,
                                                    const BandArguments& arguments,
                                                    const Calibration& calibration) {
  return ProgramRuns(program, arguments, calibration).run();
}

}  // namespace lynxpp::cli
