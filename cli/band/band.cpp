// `lynxpp band`: how much kernels suffer from partition camping, and their predicted times at other numbers
// of active warps.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/band/arguments.h"
#include "cli/band/band_output.h"
#include "cli/band/calibrations.h"
#include "cli/band/program_runs.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/modelled/caches.h"
#include "cli/modelled/kernels.h"
#include "cli/preload.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using namespace models::campprof;
/// A kernel to compute the band of.
struct Measured {
  std::string name;
  Kernel kernel;
  std::vector<std::string> notes;
  std::optional<models::clock::Traffic> traffic;
  std::vector<NamedHotSpot> hot;
  std::optional<AddedArithmetic> arithmetic;
};

std::uint32_t warps_of(std::uint64_t threads) { return static_cast<std::uint32_t>((threads + 31) / 32); }

/// Returns the warps that are busy; fewer than fit if the grid has too few blocks.
std::uint32_t busy_warps(std::uint32_t fitting, std::uint64_t blocks, std::uint64_t block_threads,
                         const Calibration& calibration) {
  const std::uint64_t each = (blocks + calibration.multiprocessors - 1) / calibration.multiprocessors;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(fitting, each * warps_of(block_threads)));
}

/// Adds a note if multiprocessors are idle, because in the benchmarks all are busy.
void note_idle(std::uint64_t blocks, const Calibration& calibration, std::vector<std::string>& notes) {
  if (blocks >= calibration.multiprocessors) return;
  notes.push_back("the grid's " + std::to_string(blocks) + " blocks leave " +
                  std::to_string(calibration.multiprocessors - blocks) + " of " +
                  std::to_string(calibration.multiprocessors) +
                  " multiprocessors idle: the band assumes that all are busy and is too low");
}

// ---- typed numbers

Result<Measured> typed(const BandArguments& arguments, const Calibration& calibration) {
  if (arguments.warps == 0)
    return failure("the kernel's active warps are not known", "use --warps, or give a program to run");
  Measured measured{"kernel", {}, {}, {}, {}, {}};
  std::copy_n(arguments.loads, 3, measured.kernel.reads.begin());
  std::copy_n(arguments.stores, 3, measured.kernel.writes.begin());
  const std::uint32_t most = arguments.most_warps != 0 ? arguments.most_warps : calibration.most_warps;
  if (most > calibration.most_warps)
    return failure("a multiprocessor of " + calibration.device + " holds " +
                   std::to_string(calibration.most_warps) + " warps, not " + std::to_string(most));
  measured.kernel.most_warps = most;
  measured.kernel.warps = arguments.warps;
  if (arguments.blocks != 0 && arguments.block_threads != 0) {
    measured.kernel.warps =
        busy_warps(arguments.warps, arguments.blocks, arguments.block_threads, calibration);
    if (measured.kernel.warps != arguments.warps)
      measured.notes.push_back("the grid has blocks for " + std::to_string(measured.kernel.warps) +
                               " active warps only");
  }
  if (arguments.blocks != 0) note_idle(arguments.blocks, calibration, measured.notes);
  if (arguments.milliseconds > 0) measured.kernel.milliseconds = arguments.milliseconds;
  return measured;
}

// ---- a program's kernels

double value_of(const report::LaunchRecord& launch, std::string_view name) {
  for (const report::ResultValue& result : launch.results) {
    if (result.name == name) return report::number_at(result, 0).as_double();
  }
  return 0;
}

/// Returns the counts of one launch, averaged over the launches.
Counts counts_of(const std::vector<report::LaunchRecord>& launches, const std::string& prefix) {
  Counts counts{};
  for (std::size_t type = 0; type < counts.size(); ++type) {
    const std::string name = prefix + std::to_string(transaction_bytes[type]);
    for (const report::LaunchRecord& launch : launches) counts[type] += value_of(launch, name);
    counts[type] /= static_cast<double>(launches.size());
  }
  return counts;
}

bool has_same_shape(const report::LaunchRecord& a, const report::LaunchRecord& b) {
  return std::equal(a.grid, a.grid + 3, b.grid) && std::equal(a.block, a.block + 3, b.block);
}

/// Returns the time of one launch; 0 if `timing` is nullopt.
double milliseconds_of(const std::optional<report::TimingRecord>& timing) {
  return timing && timing->launches != 0 ? timing->execute / static_cast<double>(timing->launches) : 0;
}

/// Adds the times with added arithmetic, or a note if they are inconclusive; adds a note if the additions
/// reduce occupancy.
void add_arithmetic(const Launches& launches, std::uint32_t added, Measured& measured) {
  if (added == 0) return;
  AddedArithmetic arithmetic{added,
                             0,
                             0,
                             milliseconds_of(launches.timing),
                             milliseconds_of(launches.before),
                             milliseconds_of(launches.after)};
  for (const report::LaunchRecord& launch : launches.with_instructions) {
    arithmetic.instructions += value_of(launch, "instructions");
    arithmetic.accesses += value_of(launch, "accesses");
  }
  const Result<double> part = part_of_instructions(arithmetic);
  if (!part) {
    measured.notes.push_back(part.error().diagnostics.front().message);
    return;
  }
  measured.arithmetic = arithmetic;
  const auto& variant = launches.after->variant;
  if (variant && variant->warps_per_sm != launches.timing->original->warps_per_sm)
    measured.notes.push_back("with added arithmetic a multiprocessor holds " +
                             std::to_string(variant->warps_per_sm) + " warps of it");
}

/// Fails with the reason if the kernel has no band.
Result<Measured> measured_of(const std::string& kernel, const Launches& launches,
                             const Calibration& calibration, std::uint32_t added_arithmetic) {
  const std::vector<report::LaunchRecord>& counted = launches.counted;
  Measured measured{demangle(kernel), {}, {}, launches.traffic, {}, {}};
  const std::string& name = measured.name;
  const bool is_same_device = calibration.is_modelled || counted.front().device == calibration.device;
  if (!is_same_device)
    return failure(
        name + " ran on " + counted.front().device + ", but the calibration is of " + calibration.device,
        "lynxpp band calibrate");
  for (const report::LaunchRecord& launch : counted) {
    if (!has_same_shape(launch, counted.front()))
      return failure(name + ": its launches have different grids or blocks, so they have no common time",
                     "choose launches with equal grids and blocks with -l");
  }
  if (!launches.timing || !launches.timing->original || launches.timing->launches == 0)
    return failure(name + ": its time and resident blocks are unknown");
  const std::uint32_t* const grid = counted.front().grid;
  const std::uint32_t* const block = counted.front().block;
  const std::uint64_t blocks = std::uint64_t{grid[0]} * grid[1] * grid[2];
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  measured.kernel.reads = counts_of(counted, "gld_");
  measured.kernel.writes = counts_of(counted, "gst_");
  measured.kernel.most_warps = static_cast<std::uint32_t>(launches.timing->original->warps_per_sm);
  measured.kernel.warps = busy_warps(measured.kernel.most_warps, blocks, threads, calibration);
  measured.kernel.milliseconds = milliseconds_of(launches.timing);
  add_arithmetic(launches, added_arithmetic, measured);
  note_idle(blocks, calibration, measured.notes);
  double atomics = 0;
  for (const report::LaunchRecord& launch : counted) atomics += value_of(launch, "atomic_transactions");
  if (atomics > 0) measured.notes.emplace_back("it makes atomic operations, which the band does not include");
  std::vector<const report::LaunchRecord*> with_hot_spots;
  for (const report::LaunchRecord& launch : launches.with_hot_spots) with_hot_spots.push_back(&launch);
  std::string note;
  Result<std::vector<NamedHotSpot>> hot =
      named_hot_spots_of(with_hot_spots, launches.sites ? &*launches.sites : nullptr, note);
  if (!hot) return hot.error();
  measured.hot = std::move(*hot);
  if (!note.empty()) measured.notes.push_back(note);
  if (counted.size() > 1)
    measured.notes.push_back("means of " + std::to_string(counted.size()) + " launches");
  return measured;
}

Result<std::vector<Measured>> of_program(const BandArguments& arguments, const Calibration& calibration) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  const Filters filters{{"--kernels", arguments.kernels}, {"--launches", arguments.launches}};
  if (Status understood = check_filters(filters); !understood) return understood.error();
  const ProgramSearch program = find_program(arguments.command.front());
  if (program.outcome != ProgramSearch::Outcome::found)
    return failure("cannot find the program '" + arguments.command.front() + "'");
  if (Status present = check_device(calibration.is_modelled ? "cpu" : "cuda"); !present)
    return present.error();
  auto kernels = run_program({program.path, *library}, arguments, calibration);
  if (!kernels) return kernels.error();
  std::vector<Measured> all;
  for (const auto& [kernel, launches] : *kernels) {
    Result<Measured> measured = measured_of(kernel, launches, calibration, arguments.added_arithmetic);
    if (measured) {
      all.push_back(std::move(*measured));
    } else {
      print(measured.error().diagnostics);
    }
  }
  if (all.empty()) return failure("no kernel of the program has a band");
  return all;
}

// ---- output

Status write_pictures(const BandArguments& arguments, const std::vector<KernelBand>& bands,
                      const BandContext& context) {
  if (!arguments.svg.empty()) {
    if (bands.size() != 1)
      return failure("--svg draws one kernel; there are " + std::to_string(bands.size()),
                     "choose one with -k, or use --html");
    if (!write_file(arguments.svg, band_svg(bands.front(), context)))
      return failure("cannot write " + arguments.svg);
  }
  if (!arguments.html.empty() && !write_file(arguments.html, band_html(bands, context)))
    return failure("cannot write " + arguments.html);
  if (!arguments.csv.empty() && !write_file(arguments.csv, band_csv(bands, context)))
    return failure("cannot write " + arguments.csv);
  return success();
}

/// Returns the lines by the paper's regression; nullopt, with a note, if it yields none here.
std::optional<Band> regression_of(const Calibration& calibration, Measured& measured) {
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  Result<Band> band = equations ? band_of(calibration, *equations, measured.kernel) : equations.error();
  if (band) return std::move(*band);
  measured.notes.push_back("no lines by regression: " + band.error().diagnostics.front().message);
  return std::nullopt;
}

Status show_bands(const BandArguments& arguments) {
  if (arguments.is_cold) return failure("--cold requires --cache", "lynxpp band --cache --cold -- ./app");
  if (arguments.added_arithmetic != 0 && arguments.command.empty())
    return failure("--arithmetic requires a program", "lynxpp band --arithmetic 4 -- ./app");
  const Result<Calibration> calibration = find_calibration(arguments.calibration);
  if (!calibration) return calibration.error();
  const Form form = find_form(arguments.equation).value_or(Form::samples);
  const Result<Equations> equations = equations_of(*calibration, form);
  if (!equations) return equations.error();
  std::vector<Measured> all;
  if (arguments.command.empty()) {
    Result<Measured> one = typed(arguments, *calibration);
    if (!one) return one.error();
    all.push_back(std::move(*one));
  } else {
    auto found = of_program(arguments, *calibration);
    if (!found) return found.error();
    all = std::move(*found);
  }
  const BandContext context{*calibration, std::string(name_of(form))};
  double core_mhz = 1;
  if (calibration->is_modelled) {
    const Result<models::Machine> machine = models::find_machine(calibration->device);
    if (machine && machine->timing) core_mhz = machine->timing->core_mhz;
  }
  std::vector<KernelBand> bands;
  for (Measured& each : all) {
    Result<Band> band = band_of(*calibration, *equations, each.kernel);
    if (!band) {
      for (const Diagnostic& problem : band.error().diagnostics)
        print_error(each.name + ": " + problem.message, problem.hint);
      for (const NamedHotSpot& spot : each.hot) print_warning(each.name + ": " + sentence_of(spot));
      continue;
    }
    std::optional<Band> regression;
    if (arguments.equation == "both") regression = regression_of(*calibration, each);
    bands.push_back({std::move(each.name), each.kernel, std::move(*band), std::move(each.notes),
                     std::move(each.hot), std::move(each.traffic), core_mhz, std::move(regression),
                     each.arithmetic});
  }
  if (bands.empty()) return failure("no band to show");
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (i > 0 && !arguments.json) std::puts("");
    const std::string text = arguments.json ? band_json(bands[i], context) : band_text(bands[i], context);
    std::fputs(text.c_str(), stdout);
  }
  return write_pictures(arguments, bands, context);
}

// ---- caches

Status show_caches(const BandArguments& arguments) {
  if (arguments.command.empty()) return failure("--cache requires a program", "lynxpp band --cache -- ./app");
  if (!arguments.launches.empty())
    return failure("--cache covers all launches of a kernel", "leave out --launches");
  if (!arguments.csv.empty()) return failure("--csv cannot be used with --cache", "use --json");
  if (arguments.added_arithmetic != 0)
    return failure("--arithmetic cannot be used with --cache", "leave out --cache");
  const Result<models::Machine> machine = models::find_machine(arguments.machine);
  if (!machine) return machine.error();
  if (!machine->timing || (!machine->timing->l1 && !machine->timing->l2))
    return failure("the machine " + machine->name + " has no caches with a timing",
                   "use -m compute_9_0, or a file with 'timing' that has 'l1' or 'l2'");
  using models::clock::CachesBefore;
  const auto kernels = run_modelled(arguments.command, arguments.machine, arguments.kernels,
                                    arguments.is_cold ? CachesBefore::emptied : CachesBefore::kept);
  if (!kernels) return kernels.error();
  std::vector<KernelCaches> all;
  for (const ModelledKernel& kernel : *kernels) all.push_back(caches_of(kernel, *machine));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && !arguments.json) std::puts("");
    const std::string text = arguments.json ? caches_json(all[i], *machine) : caches_text(all[i], *machine);
    std::fputs(text.c_str(), stdout);
  }
  if (!arguments.svg.empty()) {
    if (all.size() != 1)
      return failure("--svg draws one kernel; there are " + std::to_string(all.size()),
                     "choose one with -k, or use --html");
    if (!write_file(arguments.svg, caches_svg(all.front(), *machine)))
      return failure("cannot write " + arguments.svg);
  }
  if (!arguments.html.empty() && !write_file(arguments.html, caches_html(all, *machine)))
    return failure("cannot write " + arguments.html);
  return success();
}

}  // namespace

int band(const BandArguments& arguments) {
  const Status shown = arguments.is_of_caches ? show_caches(arguments) : show_bands(arguments);
  return shown ? exit_success : failed(shown.error());
}

}  // namespace lynxpp::cli
