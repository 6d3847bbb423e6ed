#include "report/findings/facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "report/findings/flow.h"
#include "report/findings/ratio.h"
#include "report/findings/tensor_peak.h"

namespace lynxpp::report {
namespace {

constexpr double cycles_of_instruction = 0.25;
constexpr double cycles_of_wavefront = 1;
constexpr double cycles_of_sector = 2;
constexpr double many_launches = 100;
constexpr double multiprocessors = 132;  ///< of current devices
constexpr double microseconds_of_launch = 3;
constexpr double cycles_of_launch = 5000;  ///< the same in cycles
constexpr double latency_of_instruction = 4;
constexpr double latency_of_request = 600;  ///< to device memory
/// Measured on an H200: 1.5 device cycles per operation on one word, from any multiprocessor.
constexpr double cycles_of_hot_operation = 1.5 * multiprocessors;
/// … and per operation on any word of 256 bytes one cycle, of one KB half a cycle.
constexpr double cycles_of_near_operation = 0.5 * multiprocessors;
constexpr double bytes_of_near_words = 1024;
constexpr double cycles_of_nearest_operation = 1.0 * multiprocessors;
constexpr double bytes_of_nearest_words = 256;

/// The cpu device has no multiprocessors, and its times mean nothing for a GPU unless a machine is modelled.
bool is_like_a_gpu(const std::string& device) { return device != "cpu"; }

double value_of(const FoldedNumber& number) { return number.value().as_double(); }

std::optional<LocationKind> kind_of(const std::vector<std::string>& labels) {
  const auto has = [&labels](std::string_view label) { return std::ranges::count(labels, label) != 0; };
  if (has("ASYNC_COPY")) return LocationKind::copy;
  if (has("ATOMIC")) return LocationKind::atomic;
  if (has("MEM_WRITE")) return LocationKind::store;
  if (has("MEM_READ")) return LocationKind::load;
  if (has("BRANCH")) return LocationKind::branch;
  return std::nullopt;
}

std::string full_name(const SpecificationTotals& totals, const std::string& result) {
  return totals.spec + "." + result;
}

/// Returns the bytes of an access: 16 for "ld.global.v4.f32".
double bytes_of(const std::string& opcode) {
  double bytes = 0, elements = 1;
  for (std::size_t dot = opcode.find('.'); dot != std::string::npos; dot = opcode.find('.', dot + 1)) {
    const std::size_t end = std::min(opcode.find('.', dot + 1), opcode.size());
    unsigned number = 0;
    const char* const first = opcode.data() + dot + 2;
    if (dot + 2 >= end || std::from_chars(first, opcode.data() + end, number).ptr != opcode.data() + end)
      continue;
    const char kind = opcode[dot + 1];
    if (kind == 'v') elements = number;
    if (kind == 'b' || kind == 'u' || kind == 's' || kind == 'f') bytes = number / 8.0;
  }
  return bytes * elements;
}

double product(const std::uint32_t (&extent)[3]) {
  return static_cast<double>(extent[0]) * extent[1] * extent[2];
}

class Collector {
 public:
  explicit Collector(const Summary& summary) : summary_(summary) {}

  RunFacts collect() {
    for (const SpecificationTotals& totals : summary_.specifications) {
      for (const KernelTotals& kernel : totals.kernels) add(totals, kernel);
    }
    for (std::size_t i = 0; i < run_.kernels.size(); ++i) add_flow(i);
    for (KernelFacts& kernel : run_.kernels) {
      add_atomics(kernel);
      add_traffic(kernel.facts);
      add_work(kernel.facts);
      Entries& entries = entries_[kernel.kernel];
      entries.work += kernel.facts.get("work");
      ++entries.count;
      entries.launches += kernel.facts.get("launches");
    }
    for (const TimingRecord& timing : summary_.timings) timings_.emplace(timing.kernel, &timing);
    for (KernelFacts& kernel : run_.kernels) {
      add_device(kernel);
      add_timing(kernel);
      add_tensor_work(kernel);
    }
    weigh();
    return std::move(run_);
  }

 private:
  /// Instructions of one kind, line and call are merged if their addresses point to one object with one
  /// stride, for example copies in an unrolled loop. Without lines, this applies to the whole kernel, and
  /// instructions without an object stay separate.
  struct LocationKey {
    LocationKind kind = LocationKind::load;
    std::uint32_t file = 0, line = 0, call_site = 0, object = 0, stride = 0, opcode = 0;
    std::uint64_t id = 0;  ///< set if the instruction has neither line nor object
    auto operator<=>(const LocationKey&) const = default;
  };
  using LocationIndex = std::map<LocationKey, std::size_t>;

  std::size_t index_of(const std::string& device, const KernelTotals& kernel) {
    const auto [known, is_new] =
        index_.try_emplace({kernel.kernel, kernel.module, device, kernel.ranges}, run_.kernels.size());
    if (!is_new) return known->second;
    KernelFacts& made = run_.kernels.emplace_back();
    made.kernel = kernel.kernel;
    made.device = device;
    made.ranges = kernel.ranges;
    locations_.emplace_back();
    flow_.emplace_back();
    return known->second;
  }

  void add(const SpecificationTotals& totals, const KernelTotals& kernel) {
    const std::size_t index = index_of(totals.device, kernel);
    KernelFacts& of = run_.kernels[index];
    of.facts.set("launches", static_cast<double>(kernel.launches));
    if (!kernel.grid.differs) of.facts.set("blocks", product(kernel.grid.extent));
    if (!kernel.block.differs) of.facts.set("block_threads", product(kernel.block.extent));
    of.facts.set("thread_blocks", kernel.thread_blocks);
    if (totals.spec == "kernel_runtime" && !is_like_a_gpu(totals.device)) return;
    for (const auto& [name, value] : kernel.scalars) of.facts.set(full_name(totals, name), value_of(value));
    const SitesRecord* const sites = summary_.sites_of(kernel);
    if (of.sites == nullptr) of.sites = sites;
    for (const ArrayTotals& array : kernel.arrays) {
      const std::string name = full_name(totals, array.name);
      if (array.site_kind && sites != nullptr && sites == of.sites) keep_counts(index, name, array);
      if (array.site_kind == SiteKind::instruction && sites != nullptr && sites == of.sites)
        add_locations(index, name, array);
      if (!array.site_kind) add_array(of.facts, name, array);
    }
  }

  static void add_array(Facts& facts, const std::string& name, const ArrayTotals& array) {
    if (!array.has_sum || array.summed_elements == 0) return;
    facts.set(name + ".sum", value_of(array.sum));
    if (array.has_extremes) facts.set(name + ".max", value_of(array.greatest));
    facts.set(name + ".mean", value_of(array.sum) / static_cast<double>(array.summed_elements));
  }

  void add_locations(std::size_t index, const std::string& name, const ArrayTotals& array) {
    KernelFacts& kernel = run_.kernels[index];
    const SitesRecord& sites = *kernel.sites;
    const std::size_t count = std::min(array.each.size(), sites.instructions.size());
    for (std::size_t id = 0; id < count; ++id) {
      const double value = value_of(array.each[id]);
      const SitesRecord::Instruction& instruction = sites.instructions[id];
      const std::optional<LocationKind> kind = kind_of(sites.labels[instruction.labels]);
      if (!(value > 0) || !kind) continue;
      location_of(index, id, *kind).facts.add(name, value);
    }
  }

  LocationFacts& location_of(std::size_t index, std::uint64_t id, LocationKind kind) {
    KernelFacts& kernel = run_.kernels[index];
    const SitesRecord& sites = *kernel.sites;
    const SitesRecord::Instruction& instruction = sites.instructions[id];
    LocationKey key{kind, instruction.file, instruction.line, instruction.call_site};
    const bool is_access = kind != LocationKind::branch && kind != LocationKind::loop;
    if (is_access) {
      key.object = instruction.object;
      key.stride = instruction.stride;
    }
    const bool has_object = is_access && instruction.object != SitesRecord::unknown;
    // On a line, operands with unknown objects differ only in the opcode.
    const bool needs_opcode = !has_object || instruction.line == 0 || kind == LocationKind::atomic;
    if (is_access && needs_opcode) key.opcode = instruction.opcode + 1;
    if (instruction.line == 0 && !has_object) key.id = id + 1;
    const auto [known, is_new] = locations_[index].try_emplace(key, kernel.locations.size());
    if (is_new) kernel.locations.push_back(new_location(sites, id, kind));
    LocationFacts& location = kernel.locations[known->second];
    location.instruction = std::min<std::uint64_t>(location.instruction, id);
    location.instructions.insert(id);
    return location;
  }

  static LocationFacts new_location(const SitesRecord& sites, std::uint64_t id, LocationKind kind) {
    const SitesRecord::Instruction& instruction = sites.instructions[id];
    const std::vector<std::string>& labels = sites.labels[instruction.labels];
    LocationFacts location;
    location.kind = kind;
    location.instruction = id;
    location.bytes = bytes_of(sites.opcodes[instruction.opcode]);
    location.is_shared = std::ranges::count(labels, "SHARED") != 0;
    if (instruction.stride == SitesRecord::unknown) return location;
    const std::string& text = sites.strides[instruction.stride];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), location.stride);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    location.lanes = is_number ? LanePattern::constant : LanePattern::run_time;
    const std::string& opcode = sites.opcodes[instruction.opcode];
    const auto has = [&opcode](const char* part) { return opcode.find(part) != std::string::npos; };
    location.is_combined = is_number && location.stride == 0 && kind == LocationKind::atomic &&
                           !has(".cas") && !has(".exch") && (has(".u32") || has(".s32") || has(".b32"));
    return location;
  }

  /// Stores counts by site for the costs of control flow.
  void keep_counts(std::size_t index, const std::string& name, const ArrayTotals& array) {
    const std::pair<const char*, std::vector<double>*> wanted[] = {
        {"basic_block_count.thread_executions", &flow_[index].threads},
        {"basic_block_count.warp_executions", &flow_[index].warps},
        {"branch_divergence.divergent", &flow_[index].divergent}};
    for (const auto& [known, values] : wanted) {
      if (name != known) continue;
      values->clear();
      for (const FoldedNumber& each : array.each) values->push_back(value_of(each));
    }
  }

  void add_flow(std::size_t index) {
    KernelFacts& kernel = run_.kernels[index];
    FlowCounts& counts = flow_[index];
    if (kernel.sites == nullptr || counts.threads.empty()) return;
    kernel.facts.set("flow", 1);
    counts.thread_blocks = std::max(1.0, kernel.facts.get("thread_blocks"));
    const FlowCosts costs = flow_costs_of(*kernel.sites, counts);
    for (const BranchCost& each : costs.branches) {
      if (is_part_of_a_loop(each, costs, *kernel.sites)) continue;
      Facts& facts = location_of(index, each.instruction, LocationKind::branch).facts;
      facts.add("flow.branches", each.branches);
      facts.add("flow.divergent", each.divergent);
      facts.add("flow.warp_instructions", each.warp_instructions);
      facts.add("flow.thread_instructions", each.thread_instructions);
      facts.add("flow.lost", each.lost);
    }
    for (const LoopCost& each : costs.loops) {
      Facts& facts = location_of(index, each.instruction, LocationKind::loop).facts;
      facts.add("flow.warp_entries", each.warp_entries);
      facts.add("flow.thread_entries", each.thread_entries);
      facts.add("flow.warp_iterations", each.warp_iterations);
      facts.add("flow.thread_iterations", each.thread_iterations);
      facts.add("flow.warp_instructions", each.warp_instructions);
      facts.add("flow.lost", each.lost);
    }
  }

  /// True for branches around the copies of an unrolled loop: they diverge because its trip counts differ.
  static bool is_part_of_a_loop(const BranchCost& branch, const FlowCosts& costs, const SitesRecord& sites) {
    const SitesRecord::Instruction& at = sites.instructions[branch.instruction];
    double lost = 0;
    for (const LoopCost& loop : costs.loops) {
      const SitesRecord::Instruction& of = sites.instructions[loop.instruction];
      const bool is_same = of.file == at.file && of.line == at.line && of.call_site == at.call_site;
      if (is_same) lost += loop.lost;
    }
    return at.line != 0 && lost > branch.lost;
  }

  /// Adds operations on the most updated word, and the time that they or those on near words take. Different
  /// instructions may update different words concurrently.
  static void add_atomics(KernelFacts& kernel) {
    double most = 0, most_cycles = 0;
    for (LocationFacts& location : kernel.locations) {
      double operations = location.facts.get("atomic_contention.hottest_word");
      const double lanes = location.facts.get("atomic_contention.lanes");
      if (operations <= 0 || lanes <= 0) continue;
      const double bytes_updated = lanes / operations * std::max(1.0, location.bytes);
      const auto in_part = [&](double bytes) { return lanes / std::max(1.0, bytes_updated / bytes); };
      double near = std::max(cycles_of_near_operation * in_part(bytes_of_near_words),
                             cycles_of_nearest_operation * in_part(bytes_of_nearest_words));
      if (location.is_combined) {
        const double combined = location.facts.get("atomic_contention.requests") / lanes;
        operations = std::ceil(operations * combined);
        near *= combined;
      }
      const double cycles = std::max(cycles_of_hot_operation * operations, near);
      location.facts.set("atomic.operations", operations);
      location.facts.set("atomic.cycles", cycles);
      most = std::max(most, operations);
      most_cycles = std::max(most_cycles, cycles);
    }
    kernel.facts.set("work.atomic", most_cycles);
    if (kernel.facts.find("atomic_contention.total_bank_conflicts") != nullptr)
      kernel.facts.set("atomic.most_operations", most);
  }

  /// Returns an upper bound of the cycles of a launch, on average: the work of its multiprocessors plus the
  /// latency of a warp whose instructions all depend on each other.
  static double cycles_of_a_launch(const Facts& facts, double work) {
    const double launches = facts.get("launches");
    const double blocks = ratio(facts.get("thread_blocks"), launches);
    const double warps = launches * blocks * std::ceil(std::max(1.0, facts.get("block_threads")) / 32);
    const double requests = facts.get("memory_efficiency.load_requests") +
                            facts.get("memory_efficiency.store_requests") +
                            facts.get("memory_efficiency.atomic_requests");
    return ratio(work, launches * std::min(multiprocessors, blocks)) +
           latency_of_instruction * ratio(facts.get("instruction_count.warp_instructions"), warps) +
           latency_of_request * ratio(requests, warps);
  }

  static void add_traffic(Facts& facts) {
    if (facts.find("memory_efficiency.load_bytes_moved") == nullptr) return;
    const auto of_both = [&facts](const std::string& what) {
      return facts.get("memory_efficiency.load_" + what) + facts.get("memory_efficiency.store_" + what);
    };
    facts.set("traffic.requested", of_both("bytes_asked"));
    facts.set("traffic.transferred", of_both("bytes_moved"));
  }

  static void add_work(Facts& facts) {
    const auto sum_of = [&facts](std::initializer_list<const char*> names) {
      double sum = 0;
      for (const char* name : names) sum += facts.get(name);
      return sum;
    };
    const double issue = cycles_of_instruction * sum_of({"instruction_count.warp_instructions"});
    const double shared = cycles_of_wavefront * sum_of({"shared_bank_conflicts.load_wavefronts",
                                                        "shared_bank_conflicts.store_wavefronts",
                                                        "shared_bank_conflicts.atomic_wavefronts"});
    const double memory =
        cycles_of_sector * sum_of({"memory_efficiency.load_sectors", "memory_efficiency.store_sectors",
                                   "memory_efficiency.atomic_sectors"});
    facts.set("work.issue", issue);
    facts.set("work.shared", shared);
    facts.set("work.memory", memory);
    const double work = issue + shared + memory + facts.get("work.atomic");
    // Consecutive launches are at least one launch time apart.
    const double launches = facts.get("launches");
    const double cycles = cycles_of_a_launch(facts, work);
    facts.set("launch.microseconds", cycles * microseconds_of_launch / cycles_of_launch);
    const double waiting =
        launches >= many_launches ? launches * multiprocessors * std::max(0.0, cycles_of_launch - cycles) : 0;
    facts.set("work.launch", waiting);
    facts.set("work", work + waiting);
  }

  void add_device(KernelFacts& kernel) const {
    if (!is_like_a_gpu(kernel.device)) return;
    const auto record = std::ranges::find(summary_.devices, kernel.device, &DeviceRecord::device);
    if (record != summary_.devices.end() && record->multiprocessors != 0)
      kernel.facts.set("multiprocessors", static_cast<double>(record->multiprocessors));
  }

  /// Sets the time. It covers the kernel in all ranges and is split in proportion to work.
  void add_timing(KernelFacts& kernel) {
    const auto found = timings_.find(kernel.kernel);
    if (found == timings_.end()) return;
    const TimingRecord& timing = *found->second;
    if (timing.original) {
      const KernelResources& resources = *timing.original;
      const std::pair<const char*, std::uint64_t> numbers[] = {
          {"registers", resources.registers},
          {"local_bytes", resources.local_bytes},
          {"blocks_per_sm", resources.blocks_per_sm},
          {"warps_per_sm", resources.warps_per_sm},
          {"most_warps_per_sm", resources.most_warps_per_sm}};
      for (const auto& [name, value] : numbers) kernel.facts.set(name, static_cast<double>(value));
    }
    const bool has_time = timing.execute > 0 && (is_like_a_gpu(kernel.device) || !timing.modelled.empty());
    if (!has_time) return;
    is_modelled_ |= !timing.modelled.empty();
    const Entries& all = entries_.at(kernel.kernel);
    const double share = all.work > 0 ? kernel.facts.get("work") / all.work : 1 / all.count;
    kernel.facts.set("milliseconds", timing.execute * share);
  }

  /// Sets the work of the tensor cores, and its share of the device's peak if its time and all its rates are
  /// known.
  void add_tensor_work(KernelFacts& kernel) const {
    const auto device = std::ranges::find(summary_.devices, kernel.device, &DeviceRecord::device);
    const double seconds = measured_milliseconds(kernel) / 1000;
    bool is_known = device != summary_.devices.end() && seconds > 0;
    double all = 0, least_seconds = 0;
    for (const std::string_view type : tensor_types()) {
      const double operations = kernel.facts.get("instruction_count.tensor_operations_" + std::string(type));
      if (operations == 0) continue;
      all += operations;
      const std::optional<double> peak = is_known ? tensor_peak(*device, type) : std::nullopt;
      is_known = peak.has_value();
      if (is_known) least_seconds += operations / *peak;
    }
    if (all == 0) return;
    kernel.facts.set("tensor.operations", all);
    if (is_known) kernel.facts.set("tensor.share", least_seconds / seconds);
  }

  /// Returns the time of all launches that were counted; 0 if unknown, or if it is split between ranges.
  double measured_milliseconds(const KernelFacts& kernel) const {
    const auto found = timings_.find(kernel.kernel);
    if (found == timings_.end() || !is_like_a_gpu(kernel.device)) return 0;
    const TimingRecord& timing = *found->second;
    const Entries& all = entries_.at(kernel.kernel);
    const bool is_of_all = all.count == 1 && static_cast<double>(timing.launches) == all.launches;
    return is_of_all && timing.modelled.empty() ? kernel.facts.get("milliseconds") : 0;
  }

  /// Sets the weights by the first of time, work and launches that is known for all kernels.
  void weigh() {
    const std::tuple<const char*, Weight> measures[] = {
        {"milliseconds", is_modelled_ ? Weight::modelled_time : Weight::time}, {"work", Weight::work}};
    const char* by = "launches";
    for (const auto& [name, weight] : measures) {
      const bool all = !run_.kernels.empty() &&
                       std::ranges::all_of(run_.kernels,
                                           [&](const KernelFacts& each) { return each.facts.get(name) > 0; });
      if (!all) continue;
      by = name;
      run_.weight = weight;
      break;
    }
    double total = 0;
    for (const KernelFacts& each : run_.kernels) total += each.facts.get(by);
    for (KernelFacts& each : run_.kernels) each.weight = total > 0 ? each.facts.get(by) / total : 0;
  }

  struct Entries {
    double work = 0, count = 0, launches = 0;
  };

  const Summary& summary_;
  RunFacts run_;
  std::map<std::string, Entries> entries_;  ///< of a kernel, over its ranges
  std::map<std::string, const TimingRecord*> timings_;
  std::map<std::tuple<std::string, std::string, std::string, std::vector<std::string>>, std::size_t> index_;
  std::vector<LocationIndex> locations_;  ///< one per kernel of run_
  std::vector<FlowCounts> flow_;          ///< one per kernel of run_
  bool is_modelled_ = false;
};

}  // namespace

void Facts::set(const std::string& name, double value) {
  if (std::isfinite(value)) numbers_[name] = value;
}

void Facts::add(const std::string& name, double value) { numbers_[name] += value; }

void Facts::add(const Facts& others) {
  for (const auto& [name, value] : others.numbers_) add(name, value);
}

const double* Facts::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &found->second;
}

double Facts::get(std::string_view name) const {
  const double* const number = find(name);
  return number == nullptr ? 0 : *number;
}

RunFacts facts_of(const Summary& summary) {
  RunFacts facts = Collector(summary).collect();
  facts.limits = limits_of(summary.trials, summary.devices);
  return facts;
}

std::string_view text_of(Weight weight) {
  switch (weight) {
    case Weight::time: return "instrumented time";
    case Weight::modelled_time: return "modelled time";
    case Weight::work: return "estimated work";
    case Weight::launches: break;
  }
  return "launches";
}

}  // namespace lynxpp::report
