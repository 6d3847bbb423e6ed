#include "cli/quality/quality_inputs.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "cli/diagnostics.h"
#include "models/proplusplus/schedule.h"
#include "report/kernel_name.h"
#include "report/number.h"
#include "report/sites.h"
#include "support/text.h"

namespace lynxpp::cli::rating {
namespace {

using models::proplusplus::BlockSteps;
using models::proplusplus::KernelRun;
using models::proplusplus::OccupancyLimits;
using report::ActivityRecord;
using report::LaunchRecord;
using report::ResultValue;
using report::SitesRecord;
using LaunchKey = std::pair<std::string, std::uint64_t>;

/// The cost of each instruction, of one launch or several.
using SiteCosts = std::map<std::pair<const SitesRecord*, std::uint32_t>, double>;

/// Bytes of the sectors that warps request.
struct Requested {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

/// A launch with its counts.
struct Counted {
  const ActivityRecord* activity = nullptr;
  KernelRun run;
  OccupancyLimits limits;
  PerCriterion<SiteCosts> costs;
};

struct Timeline {
  std::vector<const ActivityRecord*> activities;  ///< in order
  std::map<std::uint64_t, Counted> counted;       ///< by order
  std::set<std::uint64_t> overlapping;            ///< copies, by order
};

std::vector<std::uint64_t> counts_of(const LaunchRecord& record, const std::string& name) {
  for (const ResultValue& result : record.results) {
    const auto* values = std::get_if<std::vector<std::uint64_t>>(&result.values);
    if (result.name == name && values != nullptr) return *values;
  }
  return {};
}

/// Returns 0 past the end: another version's record may lack values.
std::uint64_t at(const std::vector<std::uint64_t>& values, std::size_t index) {
  return index < values.size() ? values[index] : 0;
}

bool has(const std::vector<std::string>& labels, const char* label) {
  return std::ranges::find(labels, label) != labels.end();
}

// ---- counts ----------------------------------------------------------------------------------------------

/// Counts instructions by kind and adds the cost of each.
Requested count_instructions(const LaunchRecord& record, const SitesRecord& sites, Counted& counted) {
  constexpr std::uint64_t sector_bytes = 32;
  Requested requested;
  models::proplusplus::Counts& counts = counted.run.counts;
  const auto executions = counts_of(record, "executions");
  const auto accesses = counts_of(record, "accesses");
  const auto sectors = counts_of(record, "sectors");
  const auto waits = counts_of(record, "waits");
  const auto to_shared = counts_of(record, "accesses_to_shared");
  const auto to_local = counts_of(record, "accesses_to_local");
  for (std::uint32_t i = 0; i < sites.instructions.size(); ++i) {
    const SitesRecord::Instruction& instruction = sites.instructions[i];
    const std::vector<std::string>& labels = sites.labels[instruction.labels];
    const bool is_double = sites.opcodes[instruction.opcode].find(".f64") != std::string::npos;
    const bool is_floating = has(labels, "FLOATING_POINT");
    const bool is_integer = has(labels, "INTEGER");
    const auto cost = [&](Criterion criterion, std::uint64_t amount) {
      if (amount != 0) counted.costs[criterion][{&sites, i}] += static_cast<double>(amount);
    };
    const double products = models::proplusplus::matrix_products(sites.opcodes[instruction.opcode]);
    if (products > 0) {
      counts.matrix += products * static_cast<double>(at(executions, i));
      cost(Criterion::instructions,
           static_cast<std::uint64_t>(products * static_cast<double>(at(executions, i))));
    } else if (has(labels, "ARITHMETIC") && (is_floating || is_integer)) {
      (is_integer ? counts.integers : is_double ? counts.doubles : counts.singles) += at(executions, i);
      cost(Criterion::instructions, at(executions, i));
    }
    const std::uint64_t made = at(accesses, i);
    // A copy from global to shared memory is counted by its source.
    const bool is_global = has(labels, "GLOBAL") || has(labels, "GENERIC");
    if (is_global) {
      counts.globals += made;
      cost(Criterion::memory_hierarchy, made);
    } else {
      (has(labels, "SHARED")  ? counts.shared
       : has(labels, "LOCAL") ? counts.locals
                              : counts.textures) += made;
    }
    counts.shared += at(to_shared, i);
    counts.locals += at(to_local, i);
    (has(labels, "MEM_WRITE") ? requested.written : requested.read) += at(sectors, i) * sector_bytes;
    cost(Criterion::memory_coalescing, at(sectors, i));
    cost(Criterion::synchronization, at(waits, i));
  }
  return requested;
}

/// Counts the instructions of lanes and of warps from the basic blocks.
void count_blocks(const LaunchRecord& record, const SitesRecord& sites, Counted& counted) {
  constexpr std::uint64_t warp = 32;
  const auto lanes = counts_of(record, "lanes");
  const auto issues = counts_of(record, "issues");
  for (std::size_t i = 0; i < sites.blocks.size(); ++i) {
    const SitesRecord::Block& block = sites.blocks[i];
    counted.run.counts.lane_instructions += at(lanes, i) * block.instructions;
    counted.run.counts.warp_instructions += at(issues, i) * block.instructions;
    const std::uint64_t idle = at(issues, i) * warp - std::min(at(issues, i) * warp, at(lanes, i));
    if (idle != 0 && block.instructions != 0)
      counted.costs[Criterion::warp_efficiency][{&sites, block.first}] +=
          static_cast<double>(idle * block.instructions);
  }
}

models::proplusplus::Configuration configuration_of(const LaunchRecord& record,
                                                    const ActivityRecord::Launch& launch) {
  models::proplusplus::Configuration configuration;
  configuration.grid_size = std::uint64_t{record.grid[0]} * record.grid[1] * record.grid[2];
  configuration.block_size = record.block[0] * record.block[1] * record.block[2];
  configuration.registers = static_cast<std::uint32_t>(launch.registers.value_or(0));
  configuration.shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
  return configuration;
}

/// Computes balance and stalls from the modelled schedule.
void schedule_blocks(const LaunchRecord& record, const Hardware& hardware, Counted& counted) {
  const auto longest = counts_of(record, "longest");
  const auto active = counts_of(record, "active");
  std::vector<BlockSteps> blocks;
  for (std::size_t i = 0; i < longest.size(); ++i) blocks.push_back({longest[i], at(active, i)});
  const models::proplusplus::Configuration& configuration = counted.run.configuration;
  const std::uint32_t resident =
      models::occupancy(hardware.machine,
                        {configuration.block_size, configuration.registers, configuration.shared_bytes})
          .blocks;
  const auto schedule =
      models::proplusplus::schedule(blocks, hardware.multiprocessors, std::max(1u, resident));
  counted.run.balance = schedule.balance(hardware.machine.residency.warps);
  for (const ResultValue& result : record.results) {
    if (result.name != "stalled" || !result.denominators) continue;
    const double resident_steps = report::number_at(*result.denominators, 0).as_double();
    const double waited = report::number_at(result.values, 0).as_double();
    counted.run.stalled = resident_steps > 0 ? waited / resident_steps : 0;
  }
}

Counted count(const ActivityRecord& activity, const LaunchRecord& record, const SitesRecord& sites,
              const Hardware& hardware) {
  Counted counted;
  counted.activity = &activity;
  counted.run.configuration = configuration_of(record, *activity.launch);
  counted.limits = occupancy_limits(counted.run.configuration, hardware);
  const Requested requested = count_instructions(record, sites, counted);
  const std::vector<std::uint64_t>& arrays = activity.launch->array_bytes;
  counted.run.counts.moved_bytes = models::proplusplus::bytes_past_caches(
      requested.read, requested.written, std::accumulate(arrays.begin(), arrays.end(), std::uint64_t{0}));
  count_blocks(record, sites, counted);
  schedule_blocks(record, hardware, counted);
  return counted;
}

// ---- copies and times ------------------------------------------------------------------------------------

bool crosses(const ActivityRecord::Copy& copy) {
  return copy.direction == "to device" || copy.direction == "to host";
}

/// Returns the copies that stream order allows to run concurrently with a kernel: asynchronous, on another
/// stream than a launch, with no wait between the two. Copies on the default stream never overlap.
std::set<std::uint64_t> overlapping_copies(const std::vector<const ActivityRecord*>& activities) {
  std::set<std::uint64_t> found;
  std::vector<const ActivityRecord*> copies;
  std::set<std::uint64_t> launching;
  const auto close = [&] {
    for (const ActivityRecord* copy : copies) {
      const bool is_beside =
          std::ranges::any_of(launching, [&](std::uint64_t stream) { return stream != copy->stream; });
      if (is_beside) found.insert(copy->order);
    }
    copies.clear();
    launching.clear();
  };
  for (const ActivityRecord* each : activities) {
    if (each->wait) close();
    if (each->launch && each->stream != 0) launching.insert(each->stream);
    if (each->copy && crosses(*each->copy) && each->copy->asynchronous && each->stream != 0)
      copies.push_back(each);
  }
  close();
  return found;
}

/// Returns the modelled time between kernels: a gap after each launch but the last, and the non-overlapping
/// copies between the first and the last launch.
double assumed_between(const std::vector<const ActivityRecord*>& activities, const Timeline& timeline,
                       const Hardware& hardware) {
  using namespace models::proplusplus;  // NOLINT(google-build-using-namespace): its constants
  double between = 0;
  double copied = 0;
  bool has_launched = false;
  for (const ActivityRecord* each : activities) {
    if (each->launch) {
      if (has_launched) between += hardware.gap_seconds + copied;
      has_launched = true;
      copied = 0;
    }
    if (each->copy && crosses(*each->copy) && !timeline.overlapping.contains(each->order))
      copied += assumed_copy_seconds + static_cast<double>(each->copy->bytes) / assumed_link_rate;
  }
  return between;
}

/// Returns the measured time between kernels, from the host's clock and the kernels' times in the native run.
double measured_between(const std::vector<const ActivityRecord*>& timed) {
  double first = -1;
  double last = 0;
  double running = 0;
  for (const ActivityRecord* each : timed) {
    if (!each->launch) continue;
    const double milliseconds = each->launch->milliseconds.value_or(0);
    if (first < 0) first = each->host_ms;
    last = std::max(last, each->host_ms + milliseconds);
    running += milliseconds;
  }
  return first < 0 ? 0 : std::max(0.0, last - first - running) / 1e3;
}

// ---- subjects --------------------------------------------------------------------------------------------

bool starts_with(const std::vector<std::string>& ranges, const std::vector<std::string>& path) {
  return ranges.size() >= path.size() && std::equal(path.begin(), path.end(), ranges.begin());
}

std::string costliest(const SiteCosts& costs) {
  const auto most =
      std::ranges::max_element(costs, {}, [](const SiteCosts::value_type& each) { return each.second; });
  if (most == costs.end()) return {};
  const report::SiteLabel label =
      label_of(most->first.first, report::SiteKind::instruction, most->first.second);
  std::string location = label.source();
  if (location.empty()) location = "PTX line " + std::to_string(label.ptx_line);
  constexpr std::size_t name_width = 40;
  return label.opcode + " at " + location + " of " + report::short_kernel_name(label.function, name_width);
}

std::string limiting(const OccupancyLimits& limits) {
  const double least = limits.least();
  if (least >= 1) return {};
  if (limits.by_grid == least) return "the grid has too few blocks";
  if (limits.by_registers == least && limits.by_registers < limits.by_blocks) return "registers";
  if (limits.by_shared == least && limits.by_shared < limits.by_blocks) return "shared memory";
  return "the block size";
}

std::string largest_copy(const std::vector<const ActivityRecord*>& activities, const Timeline& timeline) {
  const ActivityRecord* largest = nullptr;
  for (const ActivityRecord* each : activities) {
    if (!each->copy || !crosses(*each->copy) || timeline.overlapping.contains(each->order)) continue;
    if (largest == nullptr || each->copy->bytes > largest->copy->bytes) largest = each;
  }
  if (largest == nullptr) return {};
  return "a copy of " + std::to_string(largest->copy->bytes) + " bytes " + largest->copy->direction;
}

void describe_sites(Subject& subject, const std::vector<const Counted*>& launches) {
  for (std::size_t i = 0; i < models::proplusplus::criterion_count; ++i) {
    SiteCosts sum;
    for (const Counted* each : launches) {
      for (const auto& [site, cost] : each->costs.values[i]) sum[site] += cost;
    }
    subject.sites.values[i] = costliest(sum);
  }
  const auto slowest = std::ranges::max_element(
      launches, {}, [](const Counted* each) { return each->run.seconds * (1 - each->limits.least()); });
  if (slowest != launches.end())
    subject.sites[Criterion::occupancy] =
        (*slowest)->limits.least() < 1
            ? limiting((*slowest)->limits) + ", " +
                  report::short_kernel_name(demangle((*slowest)->activity->launch->kernel), 40)
            : "";
}

/// Returns the subject that consists of these activities.
Subject subject_of(Subject::Kind kind, const std::string& name,
                   const std::vector<const ActivityRecord*>& activities, const Timeline& timeline,
                   const Runs& runs, const Hardware& hardware,
                   const std::vector<const ActivityRecord*>& timed) {
  Subject subject;
  subject.kind = kind;
  subject.name = name;
  std::vector<const Counted*> launches;
  std::map<std::uint64_t, std::uint64_t> arrays;
  for (const ActivityRecord* each : activities) {
    if (each->copy && crosses(*each->copy))
      subject.primitive.copies.push_back({each->copy->bytes, timeline.overlapping.contains(each->order)});
    if (!each->launch) continue;
    for (std::size_t i = 0; i < each->launch->array_numbers.size(); ++i)
      arrays[each->launch->array_numbers[i]] = each->launch->array_bytes[i];
    const auto counted = timeline.counted.find(each->order);
    if (counted == timeline.counted.end()) {
      ++subject.left_out;
      continue;
    }
    launches.push_back(&counted->second);
    subject.primitive.kernels.push_back(counted->second.run);
  }
  subject.launches = launches.size();
  subject.problem_arrays = arrays.size();
  for (const auto& [number, bytes] : arrays) subject.primitive.problem_bytes += bytes;
  if (runs.problem_bytes) subject.primitive.problem_bytes = *runs.problem_bytes;
  subject.primitive.between_seconds =
      runs.modelled ? assumed_between(activities, timeline, hardware) : measured_between(timed);
  // The time between the launches of one kernel belongs to other kernels or the program.
  const bool is_kernel = kind == Subject::Kind::kernel;
  if (is_kernel) subject.primitive.between_seconds = 0;
  subject.criteria = criteria_of(subject.primitive, hardware,
                                 is_kernel ? models::proplusplus::SynchronizationShares{1, 0}
                                           : models::proplusplus::SynchronizationShares{});
  if (is_kernel) subject.criteria[Criterion::data_transfer].reset();
  describe_sites(subject, launches);
  subject.sites[Criterion::data_transfer] = largest_copy(activities, timeline);
  return subject;
}

// ---- records ---------------------------------------------------------------------------------------------

std::vector<const ActivityRecord*> activities_of(const std::vector<report::Record>& records) {
  std::vector<const ActivityRecord*> found;
  for (const report::Record& record : records) {
    if (const auto* activity = std::get_if<ActivityRecord>(&record)) found.push_back(activity);
  }
  std::ranges::sort(found, {}, &ActivityRecord::order);
  return found;
}

models::proplusplus::DeviceFigures figures_of(const report::DeviceRecord& record) {
  const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  return {record.device,
          static_cast<int>(record.compute_capability),
          narrow(record.multiprocessors),
          narrow(record.clock_khz),
          narrow(record.memory_clock_khz),
          narrow(record.memory_bus_bits),
          narrow(record.threads_per_sm),
          narrow(record.blocks_per_sm),
          narrow(record.registers_per_sm),
          narrow(record.shared_per_sm),
          narrow(record.reserved_shared_per_block)};
}

/// Joins the launches with their counts.
void count_launches(const std::vector<report::Record>& records, const Hardware& hardware,
                    Timeline& timeline) {
  std::map<LaunchKey, const LaunchRecord*> launches;
  std::map<LaunchKey, const SitesRecord*> sites;
  for (const report::Record& record : records) {
    if (const auto* launch = std::get_if<LaunchRecord>(&record); launch != nullptr && launch->sites)
      launches[{launch->kernel, launch->launch}] = launch;
    if (const auto* table = std::get_if<SitesRecord>(&record)) sites[{table->kernel, table->table}] = table;
  }
  for (const ActivityRecord* activity : timeline.activities) {
    if (!activity->launch) continue;
    const auto launch = launches.find({activity->launch->kernel, activity->launch->launch});
    if (launch == launches.end()) continue;
    const auto table = sites.find({launch->second->kernel, *launch->second->sites});
    if (table == sites.end()) continue;
    timeline.counted.emplace(activity->order, count(*activity, *launch->second, *table->second, hardware));
  }
}

/// Sets the times of the launches, 0 (unknown) if a launch was not timed, and the bytes that a modelled
/// memory transferred: sectors that a cache serves are not traffic of DRAM.
void take_times(const std::vector<const ActivityRecord*>& timed, Timeline& timeline) {
  std::map<LaunchKey, const ActivityRecord::Launch*> launches;
  for (const ActivityRecord* each : timed) {
    if (each->launch && each->launch->milliseconds)
      launches[{each->launch->kernel, each->launch->launch}] = &*each->launch;
  }
  for (auto& [order, counted] : timeline.counted) {
    const auto found = launches.find({counted.activity->launch->kernel, counted.activity->launch->launch});
    counted.run.seconds = found != launches.end() ? *found->second->milliseconds / 1e3 : 0;
    if (found == launches.end() || !found->second->memory_bytes) continue;
    counted.run.counts.moved_bytes = static_cast<std::uint64_t>(*found->second->memory_bytes);
  }
}

/// Replaces balance and stalls of the modelled schedule by those that the GPU's clocks measured. Returns true
/// if all launches have them.
bool take_clocks(const std::vector<report::Record>& clocked, const Hardware& hardware, Timeline& timeline) {
  std::map<LaunchKey, const LaunchRecord*> launches;
  for (const report::Record& record : clocked) {
    if (const auto* launch = std::get_if<LaunchRecord>(&record))
      launches[{launch->kernel, launch->launch}] = launch;
  }
  bool has_all = !timeline.counted.empty();
  for (auto& [order, counted] : timeline.counted) {
    const auto found = launches.find({counted.activity->launch->kernel, counted.activity->launch->launch});
    has_all &= found != launches.end();
    if (found == launches.end()) continue;
    const auto ratio_of = [&](const char* name) {
      for (const ResultValue& result : found->second->results) {
        if (result.name != name || !result.denominators) continue;
        const double whole = report::number_at(*result.denominators, 0).as_double();
        return whole > 0 ? report::number_at(result.values, 0).as_double() / whole : 0;
      }
      return 0.0;
    };
    counted.run.balance = std::min(1.0, ratio_of("average_warps_per_sm") / hardware.machine.residency.warps);
    counted.run.stalled = std::min(1.0, ratio_of("stalled"));
  }
  return has_all;
}

/// Returns every prefix of the ranges that have activities, in order of appearance.
std::vector<std::vector<std::string>> paths_of(const std::vector<const ActivityRecord*>& activities) {
  std::vector<std::vector<std::string>> paths;
  for (const ActivityRecord* each : activities) {
    for (std::size_t depth = 1; depth <= each->ranges.size(); ++depth) {
      const auto end = each->ranges.begin() + static_cast<std::ptrdiff_t>(depth);
      std::vector<std::string> path(each->ranges.begin(), end);
      if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
    }
  }
  return paths;
}

template <typename Keep>
std::vector<const ActivityRecord*> those(const std::vector<const ActivityRecord*>& activities,
                                         const Keep& keep) {
  std::vector<const ActivityRecord*> kept;
  std::ranges::copy_if(activities, std::back_inserter(kept), [&](const auto* each) { return keep(*each); });
  return kept;
}

}  // namespace

Result<Inputs> inputs_of(const Runs& runs) {
  Inputs inputs;
  Timeline timeline;
  timeline.activities = activities_of(runs.counted);
  const std::vector<const ActivityRecord*> timed = activities_of(runs.timed);
  for (const report::Record& record : runs.counted) {
    if (const auto* device = std::get_if<report::DeviceRecord>(&record))
      inputs.hardware = hardware_of(figures_of(*device), &inputs.assumes_hardware);
  }
  inputs.device = inputs.hardware.name;
  inputs.times = runs.modelled ? Times::modelled : Times::measured;
  if (runs.modelled) {
    inputs.hardware = models::proplusplus::hardware_of(*runs.modelled);
    inputs.device = runs.modelled->name;
    inputs.assumes_hardware = false;
  }
  const bool has_launches =
      std::ranges::any_of(timeline.activities, [](const auto* each) { return each->launch.has_value(); });
  if (!has_launches) {
    return nothing_measured(
        "the program launched no kernel",
        "`lynxpp run` shows more; a static CUDA runtime in a stripped program is not seen without a GPU");
  }
  count_launches(runs.counted, inputs.hardware, timeline);
  if (timeline.counted.empty())
    return nothing_measured("none of the program's kernels could be instrumented",
                            "`lynxpp run -s quality` shows why, kernel by kernel");
  take_times(timed, timeline);
  inputs.clocks_warps = take_clocks(runs.clocked, inputs.hardware, timeline);
  timeline.overlapping = overlapping_copies(timeline.activities);

  const auto add = [&](Subject::Kind kind, const std::string& name, const auto& keep,
                       std::vector<std::string> path = {}) {
    Subject subject = subject_of(kind, name, those(timeline.activities, keep), timeline, runs,
                                 inputs.hardware, those(timed, keep));
    subject.path = std::move(path);
    if (subject.launches != 0) inputs.subjects.push_back(std::move(subject));
  };
  add(Subject::Kind::program, "(program)", [](const ActivityRecord&) { return true; });
  for (const std::vector<std::string>& path : paths_of(timeline.activities)) {
    std::string name;
    for (const std::string& range : path) name += (name.empty() ? "" : "/") + range;
    add(
        Subject::Kind::range, name,
        [&](const ActivityRecord& each) { return starts_with(each.ranges, path); }, path);
  }
  std::set<std::string> seen;
  for (const ActivityRecord* each : timeline.activities) {
    if (!each->launch || !seen.insert(each->launch->kernel).second) continue;
    inputs.estimates_registers |= each->launch->registers_are_estimated;
    add(Subject::Kind::kernel, demangle(each->launch->kernel), [&](const ActivityRecord& other) {
      return other.launch && other.launch->kernel == each->launch->kernel;
    });
  }
  return inputs;
}

}  // namespace lynxpp::cli::rating
