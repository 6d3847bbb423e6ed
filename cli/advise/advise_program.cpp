// `lynxpp advise -- PROGRAM`: runs the program under the specification that observes accesses, reads the
// records and shows the model's results.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/advise/advice_page.h"
#include "cli/advise/advised_sharing.h"
#include "cli/advise/arguments.h"
#include "cli/advise/bounds_output.h"
#include "cli/advise/words.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/run_arguments.h"
#include "models/cumapz/observation.h"
#include "models/cumapz/terms.h"
#include "models/machine.h"
#include "observe/records.h"
#include "observe/specification.h"
#include "report/number.h"
#include "report/reader.h"
#include "report/tables/text_table.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using models::AccessSite;
using models::location_of;
using models::Machine;
using models::Observation;
using models::cumapz::ObservedTotals;
using models::cumapz::ReferenceTotals;
using models::cumapz::Terms;

constexpr const char* records_name = "records.jsonl";

/// A temporary folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = std::filesystem::temp_directory_path().string() + "/lynxpp-advise-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  ///< empty if the folder could not be created

 private:
  std::string path_;
};

struct ObservedLaunch {
  Observation observation;
  ObservedTotals totals;
  Terms terms;
  std::optional<models::cumapz::Bounds> bounds;  ///< nullopt if the machine has no caches
};

/// The term that lowers the estimate most (larger is better) and the accesses responsible for it.
struct WorstTerm {
  std::string term = "-";
  std::string location;
};

/// Returns the location of the reference with the largest `loss`; empty if none has any.
template <typename Loss>
std::string worst_location(const ObservedLaunch& launch, Loss loss) {
  const std::vector<ReferenceTotals>& references = launch.totals.totals.references;
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (loss(references[i]) > 0 && (!worst || loss(references[i]) > loss(references[*worst]))) worst = i;
  }
  return worst ? location_of(launch.observation.sites[launch.totals.sites[*worst]]) : "";
}

std::string most_skewed(const ObservedLaunch& launch, const Machine& machine) {
  std::string location;
  double most = 0;
  for (std::size_t i = 0; i < launch.totals.channel_sites.size(); ++i) {
    const models::cumapz::ChannelUse& use = launch.totals.totals.channel_uses[i];
    const double skew = (models::cumapz::skew_of(use, machine) - 1) * static_cast<double>(use.bytes);
    if (skew <= most) continue;
    most = skew;
    location = location_of(launch.observation.sites[launch.totals.channel_sites[i]]);
  }
  return location;
}

/// Returns the term that lowers the estimate most.
WorstTerm worst_term(const ObservedLaunch& launch, const Machine& machine) {
  const Terms& terms = launch.terms;
  WorstTerm worst;
  double least = 0.995;  // ignores terms that round to 1
  const auto consider = [&](const char* term, double value, auto location) {
    if (value >= least || !machine.advises(term)) return;
    least = value;
    worst = {term, location()};
  };
  consider("data_reuse", terms.data_reuse, [&] {
    return worst_location(launch, [](const ReferenceTotals& each) {
      const bool is_fetch = each.kind == models::cumapz::Statement::Kind::fetch;
      return is_fetch ? each.global.transferred_bytes : 0;
    });
  });
  consider("lat_hiding", terms.latency_hiding, [] { return std::string(); });
  consider("bw_util", terms.bandwidth_use, [&] {
    return worst_location(launch, [](const ReferenceTotals& each) {
      return each.global.transferred_bytes - each.global.requested_bytes;
    });
  });
  consider("ch_skew", 1 / terms.channel_skew, [&] { return most_skewed(launch, machine); });
  consider("branch_eff", terms.branch_efficiency,
           [&] { return worst_location(launch, [](const ReferenceTotals& each) { return each.diverged; }); });
  consider("shm_eff", std::sqrt(terms.shared_efficiency), [&] {
    return worst_location(
        launch, [](const ReferenceTotals& each) { return each.shared.served - each.shared.requests; });
  });
  return worst;
}

std::string grouped(std::int64_t value) { return report::to_text(report::Number::of(value)); }

void print_terms(const std::vector<ObservedLaunch>& launches, const Machine& machine) {
  report::TextColumn kernel{{"kernel"}, {}, false}, launch{{"launch"}, {}}, hurts{{"hurts most"}, {}, false};
  std::vector<report::TextColumn> numbers{
      {{"blocks", "observed"}, {}}, {{"estimate"}, {}},  {{"data_reuse"}, {}},
      {{"lat_hiding"}, {}},         {{"bw_util"}, {}},   {{"ch_skew"}, {}},
      {{"branch_eff"}, {}},         {{"shm_eff"}, {}},   {{"arithmetic"}, {}},
      {{"accesses"}, {}},           {{"in shared"}, {}}, {{"global"}, {}}};
  report::TextColumn time{{"µs"}, {}}, by{{"bound by"}, {}, false};
  for (const ObservedLaunch& each : launches) {
    const Terms& terms = each.terms;
    const Observation& observation = each.observation;
    if (each.bounds) {
      time.cells.push_back(microseconds_text(*each.bounds, machine));
      by.cells.emplace_back(name_of(each.bounds->slowest()));
    }
    const WorstTerm worst = worst_term(each, machine);
    kernel.cells.push_back(observation.kernel.substr(0, observation.kernel.find('(')));
    launch.cells.push_back(std::to_string(observation.launch));
    hurts.cells.push_back(worst.term + (worst.location.empty() ? "" : " at " + worst.location));
    const std::string cells[] = {
        std::to_string(observation.blocks.size()) + " of " + std::to_string(observation.grid_blocks()),
        term_text(terms.estimate),
        term_text(terms.data_reuse),
        term_text(terms.latency_hiding),
        term_text(terms.bandwidth_use),
        each.totals.has_first_blocks ? term_text(terms.channel_skew) : "?",
        term_text(terms.branch_efficiency),
        term_text(terms.shared_efficiency),
        term_text(each.totals.arithmetic.of_resident_warps),
        grouped(terms.accesses),
        grouped(terms.hits),
        grouped(terms.global_accesses)};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i].cells.push_back(cells[i]);
  }
  std::vector<report::TextColumn> columns{std::move(kernel), std::move(launch)};
  columns.push_back(numbers.front());
  if (models::cumapz::has_bounds(machine)) columns.insert(columns.end(), {std::move(time), std::move(by)});
  columns.insert(columns.end(), numbers.begin() + 1, numbers.end());
  columns.push_back(std::move(hurts));
  print_text(report::render_columns(columns) + withheld_terms(machine));
}

/// Returns how often threads of the whole launch execute the sites of a reference.
std::uint64_t executions_of(const Observation& observation, std::uint32_t reference) {
  std::uint64_t executions = 0;
  for (const AccessSite& site : observation.sites)
    executions += site.reference == reference ? site.executions : 0;
  return executions;
}

void print_references(const ObservedLaunch& launch) {
  print_text("\n" + launch.observation.kernel + ", launch " + std::to_string(launch.observation.launch) +
             "\n");
  report::TextColumn location{{"location"}, {}, false}, does{{"does"}, {}, false},
      opcode{{"opcode"}, {}, false};
  std::vector<report::TextColumn> numbers{{{"executions", "in launch"}, {}},
                                          {{"warps"}, {}},
                                          {{"diverged"}, {}},
                                          {{"accesses"}, {}},
                                          {{"in shared"}, {}},
                                          {{"bytes"}, {}},
                                          {{"moved"}, {}},
                                          {{"transactions"}, {}},
                                          {{"requests"}, {}},
                                          {{"served"}, {}}};
  const std::vector<ReferenceTotals>& references = launch.totals.totals.references;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const ReferenceTotals& each = references[i];
    location.cells.push_back(location_of(launch.observation.sites[launch.totals.sites[i]]));
    does.cells.emplace_back(word_of(each.kind));
    opcode.cells.push_back(each.text);
    const std::int64_t cells[] = {
        static_cast<std::int64_t>(executions_of(launch.observation, launch.totals.sites[i])),
        each.warps,
        each.diverged,
        each.accesses,
        each.hits,
        each.global.requested_bytes,
        each.global.transferred_bytes,
        each.global.transactions,
        each.shared.requests,
        each.shared.served};
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k].cells.push_back(grouped(cells[k]));
  }
  std::vector<report::TextColumn> columns{std::move(location), std::move(does), std::move(opcode)};
  columns.insert(columns.end(), numbers.begin(), numbers.end());
  print_text(report::render_columns(columns, 2));
}

nlohmann::ordered_json json_of(const ObservedLaunch& launch, const Machine& machine) {
  nlohmann::ordered_json object;
  const Observation& observation = launch.observation;
  object["kernel"] = observation.kernel;
  object["launch"] = observation.launch;
  object["device"] = observation.device;
  object["machine"] = machine.name;
  object["grid"] = observation.grid;
  object["block"] = observation.block;
  object["blocks_observed"] = observation.blocks.size();
  object["dropped"] = observation.dropped;
  const Terms& terms = launch.terms;
  object["modelled"] = {
      {"estimate", terms.estimate},         {"data_reuse", terms.data_reuse},
      {"lat_hiding", terms.latency_hiding}, {"bw_util", terms.bandwidth_use},
      {"ch_skew", terms.channel_skew},      {"branch_eff", terms.branch_efficiency},
      {"shm_eff", terms.shared_efficiency}, {"arithmetic", launch.totals.arithmetic.of_resident_warps}};
  if (launch.bounds) object["bounds"] = bounds_json(*launch.bounds, machine);
  object["trust"] = trust::line_of({trust::Number::advised_program});
  object["skew_observed"] = launch.totals.has_first_blocks;
  const WorstTerm worst = worst_term(launch, machine);
  object["hurts"] = {{"term", worst.term}, {"place", worst.location}};  // english: ok
  object["occupancy"] = launch.totals.totals.occupancy.share;
  object["accesses"] = terms.accesses;
  object["in_shared"] = terms.hits;
  object["global_accesses"] = terms.global_accesses;
  object["references"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < launch.totals.sites.size(); ++i) {
    const ReferenceTotals& each = launch.totals.totals.references[i];
    const AccessSite& site = observation.sites[launch.totals.sites[i]];
    object["references"].push_back({{"file", site.file},
                                    {"line", site.line},
                                    {"ptx_line", site.ptx_line},
                                    {"does", word_of(each.kind)},
                                    {"opcode", each.text},
                                    {"executions", executions_of(observation, launch.totals.sites[i])},
                                    {"warps", each.warps},
                                    {"diverged", each.diverged},
                                    {"accesses", each.accesses},
                                    {"in_shared", each.hits},
                                    {"bytes", each.global.requested_bytes},
                                    {"moved_bytes", each.global.transferred_bytes},
                                    {"transactions", each.global.transactions},
                                    {"shared_requests", each.shared.requests},
                                    {"shared_served", each.shared.served}});
  }
  return object;
}

// ---- the run

RunArguments run_arguments(const AdviseArguments& arguments, const std::string& folder) {
  RunArguments run;
  run.specifications = {folder + "/memory_accesses.cod"};
  run.kernels = arguments.observed.kernels;
  run.launches = arguments.observed.launches;
  run.output = folder + "/" + records_name;
  run.device = arguments.observed.device;
  run.dump = folder + "/ptx";
  run.timing = true;  // to learn the kernels' register counts
  run.command = arguments.command;
  return run;
}

/// Creates the folder. Fails if it is not empty: files of an earlier run would be taken for this run's.
Status make_empty(const std::string& folder) {
  std::error_code error;
  if (folder.empty()) return failure("cannot create a temporary folder");
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_empty(folder, error) && !error)
    return failure("the folder " + folder + " is not empty", "name another one with --keep");
  if (error) return failure("cannot use the folder " + folder + ": " + error.message());
  return success();
}

/// Runs the program to its end and returns its exit status.
Result<int> observe_program(const AdviseArguments& arguments, const std::string& folder) {
  const observe::Choice choice{arguments.observed.blocks, arguments.observed.seed};
  const RunArguments run_with = run_arguments(arguments, folder);
  if (!write_file(run_with.specifications.front(), observe::specification_text(choice)))
    return failure("cannot write to the folder " + folder);
  const pid_t child = ::fork();
  if (child < 0) return failure("cannot start a process");
  if (child == 0) {
    ::setenv("LYNXPP_TABLE", "0", 1);
    if (arguments.json) ::dup2(STDERR_FILENO, STDOUT_FILENO);  // keeps standard output valid JSON
    std::_Exit(run(run_with));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failure("cannot wait for the program");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void warn_of_textures(const std::string& kernel, const decltype(observe::Transfers::textures)& textures) {
  const auto found = textures.find(kernel);
  if (found == textures.end()) return;
  print_warning(demangle(kernel) + ": accesses by " + std::to_string(found->second) +
                (found->second == 1 ? " instruction on a texture or surface were not observed"
                                    : " instructions on textures and surfaces were not observed"));
}

/// The transfers in the kernels' PTX; each file is read on first use.
class KnownTransfers {
 public:
  explicit KnownTransfers(std::string folder) : folder_(std::move(folder)) {}

  const observe::Transfers* of(const std::string& kernel) {
    const auto [known, is_new] = transfers_.try_emplace(kernel);
    if (is_new) {
      std::string text;
      const std::string path = folder_ + "/" + kernel.substr(0, 200) + ".ptx";  // as LYNXPP_DUMP names it
      if (read_file(path, text)) {
        Result<observe::Transfers> found = observe::find_transfers(std::move(text), path);
        if (found) known->second = std::move(*found);
        if (found) warn_of_textures(kernel, known->second->textures);
      }
    }
    return known->second ? &*known->second : nullptr;
  }

 private:
  std::string folder_;
  std::map<std::string, std::optional<observe::Transfers>> transfers_;
};

/// Returns the registers per thread of each kernel, by demangled name, if the device reports them.
std::map<std::string, std::uint32_t> registers_of(const std::vector<report::Record>& records) {
  std::map<std::string, std::uint32_t> registers;
  for (const report::Record& each : records) {
    const auto* timing = std::get_if<report::TimingRecord>(&each);
    if (timing != nullptr && timing->original)
      registers[demangle(timing->kernel)] = static_cast<std::uint32_t>(timing->original->registers);
  }
  return registers;
}

void warn_of_coverage(const std::vector<report::Record>& records) {
  for (const report::Record& each : records) {
    const auto* coverage = std::get_if<report::CoverageRecord>(&each);
    if (coverage != nullptr && !coverage->instrumented)
      print_warning(demangle(coverage->kernel) + " was not observed: " + coverage->reason);
  }
}

/// Analyses the observations. Prints warnings, and leaves out launches that the model cannot analyse.
std::vector<ObservedLaunch> analyse(std::vector<Observation> observations, const Machine& machine,
                                    const std::map<std::string, std::uint32_t>& registers,
                                    std::uint32_t given_registers) {
  std::vector<ObservedLaunch> launches;
  for (Observation& observation : observations) {
    const std::string name = observation.kernel + ", launch " + std::to_string(observation.launch);
    if (observation.dropped != 0)
      print_warning(
          name + ": " + std::to_string(observation.dropped) + " accesses did not fit into the buffer",
          "thread blocks with missing accesses are left out; --blocks N observes fewer blocks");
    if (observation.blocks.empty()) {
      print_warning(name + ": no thread block was observed completely");
      continue;
    }
    const auto known = registers.find(observation.kernel);
    const std::uint32_t own = known == registers.end() ? 0 : known->second;
    Result<ObservedTotals> totals =
        models::cumapz::totals_of(observation, machine, given_registers != 0 ? given_registers : own);
    if (!totals) {
      print(totals.error().diagnostics);
      continue;
    }
    const Terms terms = models::cumapz::terms_of(totals->totals, machine);
    std::optional<models::cumapz::Bounds> bounds;
    if (models::cumapz::has_bounds(machine)) bounds = bounds_of(totals->totals, machine);
    launches.push_back({std::move(observation), std::move(*totals), terms, bounds});
  }
  return launches;
}

/// Shows the launches as text, JSON or a page. If the page cannot be written, prints an error and returns
/// false.
bool show(const std::vector<ObservedLaunch>& launches, const Machine& machine,
          const AdviseArguments& arguments) {
  std::vector<nlohmann::ordered_json> objects;
  for (const ObservedLaunch& each : launches) {
    if (!arguments.json && arguments.html.empty()) break;
    objects.push_back(json_of(each, machine));
    if (arguments.observed.sharing || !arguments.html.empty()) add_sharing(each.observation, objects.back());
  }
  if (arguments.json) {
    for (const nlohmann::ordered_json& object : objects) print_line(object);
  } else if (!launches.empty()) {
    print_text("modelled for " + machine.name + " from observed accesses\n\n");
    print_terms(launches, machine);
    for (const ObservedLaunch& each : launches) {
      if (arguments.references) print_references(each);
      if (arguments.observed.sharing) print_text(text_of_sharing(each.observation));
    }
    print_text("\n" + trust::line_of({trust::Number::advised_program}) + "\n");
  }
  return write_advice_page(arguments.html, machine.name, objects);
}

}  // namespace

int advise_program(const AdviseArguments& arguments) {
  const Result<Machine> machine = models::find_machine(arguments.machine);
  if (!machine) return print(machine.error().diagnostics), exit_input_error;
  const Observed& observed = arguments.observed;
  std::optional<TemporaryFolder> temporary;
  const std::string& given = observed.from.empty() ? observed.keep : observed.from;
  if (given.empty()) temporary.emplace();
  const std::string folder = temporary ? temporary->path() : given;
  int status = exit_success;
  if (observed.from.empty()) {
    if (Status made = make_empty(folder); !made) return print(made.error().diagnostics), exit_input_error;
    std::fflush(nullptr);
    const Result<int> ended = observe_program(arguments, folder);
    if (!ended) return print(ended.error().diagnostics), exit_input_error;
    status = *ended;
    if (status != 0 && status != exit_nothing_measured)
      print_warning("the program exited with status " + std::to_string(status));
  }
  const Result<report::Reading> reading = report::read_json_lines_file(folder + "/" + records_name);
  if (!reading) {
    if (!observed.from.empty()) print(reading.error().diagnostics);
    return status != 0 ? status : observed.from.empty() ? exit_nothing_measured : exit_input_error;
  }
  warn_of_coverage(reading->records);
  KnownTransfers transfers(folder + "/ptx");
  Result<std::vector<Observation>> observations = observe::observations_of(
      reading->records, [&](const std::string& kernel) { return transfers.of(kernel); });
  if (!observations) return print(observations.error().diagnostics), exit_input_error;
  const std::vector<ObservedLaunch> launches = analyse(
      std::move(*observations), *machine, registers_of(reading->records), arguments.observed.registers);
  const bool is_shown = show(launches, *machine, arguments);
  return status != 0 || is_shown ? status : exit_input_error;
}

}  // namespace lynxpp::cli
