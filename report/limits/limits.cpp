#include "report/limits/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "support/text.h"

namespace lynxpp::report {
namespace {

/// The members of a perturbation's text, "shared-access:again@120+131".
struct PerturbationText {
  std::string operation;
  std::string form;
  std::set<std::uint64_t> lines;
};

PerturbationText parse(const std::string& text) {
  PerturbationText parsed;
  const std::size_t colon = text.find(':'), at = text.find('@');
  parsed.operation = text.substr(0, colon);
  if (colon == std::string::npos) return parsed;
  parsed.form = text.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (at == std::string::npos) return parsed;
  for (const std::string& line : split(text.substr(at + 1), '+'))
    parsed.lines.insert(std::strtoull(line.c_str(), nullptr, 10));
  return parsed;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The trials of one kernel and shape: the original's and those of its variants.
using Group = std::vector<const TrialRecord*>;

/// The two forms of a class, or of some of its lines.
struct Pair {
  const TrialRecord* again = nullptr;
  const TrialRecord* harmless = nullptr;
};
using Pairs = std::map<std::set<std::uint64_t>, Pair>;

std::vector<LimitLocation> locations_of(const TrialRecord& trial) {
  std::vector<LimitLocation> all;
  for (const TrialRecord::Site& site : trial.sites) {
    if (site.is_left_out) continue;
    LimitLocation here{site.file.substr(site.file.rfind('/') + 1), site.line, site.ptx_line, {}};
    if (here.line == 0) here.file.clear();
    const auto known = std::ranges::find_if(all, [&](const LimitLocation& each) {
      return here.line != 0 ? each.file == here.file && each.line == here.line
                            : each.ptx_line == here.ptx_line;
    });
    std::vector<std::string>& opcodes = (known == all.end() ? all.emplace_back(here) : *known).opcodes;
    if (std::ranges::count(opcodes, site.opcode) == 0) opcodes.push_back(site.opcode);
  }
  return all;
}

/// Returns "a load of the same banks for 2 of 5 instructions" for each note of the sites.
std::vector<std::string> notes_of(const std::vector<TrialRecord::Site>& sites, bool is_left_out) {
  std::map<std::string, std::size_t> counts;
  for (const TrialRecord::Site& site : sites) {
    if (site.is_left_out == is_left_out && !site.note.empty()) ++counts[site.note];
  }
  std::vector<std::string> notes;
  for (const auto& [note, count] : counts)
    notes.push_back(note + " for " + std::to_string(count) + " of " + std::to_string(sites.size()) +
                    " instructions");
  return notes;
}

/// Computes the limits of one group.
class Computation {
 public:
  explicit Computation(const Group& group) : native_(*group.front()) {
    std::vector<std::vector<double>> times;
    for (const TrialRecord* const each : group) {
      times.push_back(each->ms);
      if (each == &native_) continue;
      const PerturbationText text = parse(each->perturbation);
      if (std::ranges::count(order_, text.operation) == 0) order_.push_back(text.operation);
      Pair& pair = classes_[text.operation][text.lines];
      (text.form == "harmless" ? pair.harmless : pair.again) = each;
    }
    noise_ = native_.is_modelled ? 0.0 : models::limits::noise_of(times);
  }

  void add_to(KernelLimits& kernel) const {
    for (const std::string& operation : order_) {
      const Pairs& pairs = classes_.at(operation);
      const auto whole = pairs.find({});
      if (whole == pairs.end()) {
        add_lines_only(operation, pairs, kernel);
        continue;
      }
      std::optional<Gain> gain = gain_of(operation, whole->second);
      if (gain && operation == "occupancy") bound_by_occupancy(*gain, kernel);
      if (!gain) {
        kernel.untried.push_back({operation, reason_of(operation, whole->second)});
        continue;
      }
      Limit& limit = kernel.limits.emplace_back(limit_of(operation, *gain, whole->second));
      limit.lines = lines_of(operation, pairs);
    }
    std::ranges::stable_sort(kernel.limits, std::greater<>(),
                             [](const Limit& limit) { return limit.gain.at_most; });
  }

 private:
  static bool has_harmless(const std::string& operation) { return operation != "occupancy"; }

  /// Classes whose cost depends on which addresses they access.
  static bool has_pattern(const std::string& operation) {
    return operation.ends_with("-access") || operation == "atomic" || operation == "local-memory";
  }

  std::optional<Gain> gain_of(const std::string& operation, const Pair& pair) const {
    if (pair.again == nullptr || (has_harmless(operation) && pair.harmless == nullptr)) return std::nullopt;
    if (has_harmless(operation) && pair.harmless->ms.empty()) return std::nullopt;
    // The harmless form of an access is an access, too; that of other operations is only what else is added.
    const bool is_compared = has_harmless(operation) && !has_pattern(operation);
    return models::limits::gain_of({native_.ms, pair.again->ms, is_compared ? pair.harmless->ms : native_.ms},
                                   noise_);
  }

  std::optional<Gain> pattern_of(const std::string& operation, const Pair& pair) const {
    if (!has_pattern(operation)) return std::nullopt;
    return models::limits::gain_of({native_.ms, pair.again->ms, pair.harmless->ms}, noise_);
  }

  /// The variant has one block per SM fewer. Its slowdown does not bound what more blocks gain: if the time
  /// goes with the blocks at all, it is taken to fall in proportion to them, up to the limit of threads.
  static void bound_by_occupancy(Gain& gain, const KernelLimits& kernel) {
    if (!kernel.waves || kernel.waves->most_blocks_per_sm == 0 || kernel.blocks_per_sm < 2) return;
    const auto blocks = static_cast<double>(kernel.blocks_per_sm);
    const auto most = static_cast<double>(kernel.waves->most_blocks_per_sm);
    constexpr double least_share = 0.1;  // of the slowdown in proportion to the blocks
    const double slowdown = gain.low * (blocks - 1);
    const double bound = slowdown < least_share ? 0 : std::max(0.0, 1 - blocks / most);
    gain = {bound, std::min(bound, gain.low), bound};
  }

  /// Adds limits of explicitly chosen lines, without a trial of the entire class.
  void add_lines_only(const std::string& operation, const Pairs& pairs, KernelLimits& kernel) const {
    for (const auto& [lines, pair] : pairs) {
      const std::optional<Gain> gain = gain_of(operation, pair);
      if (!gain) {
        kernel.untried.push_back({operation, reason_of(operation, pair)});
        continue;
      }
      kernel.limits.push_back(limit_of(operation, *gain, pair));
    }
  }

  Limit limit_of(const std::string& operation, const Gain& gain, const Pair& pair) const {
    Limit limit{{gain, pattern_of(operation, pair)}, operation, locations_of(*pair.again), {}, {}, {}, {}};
    limit.left_out = notes_of(pair.again->sites, true);
    for (const TrialRecord* const each : {pair.again, pair.harmless}) {
      if (each != nullptr && each->registers != native_.registers && each->registers != 0)
        limit.registers.push_back(each->registers);
    }
    add_notes(pair, limit.notes);
    return limit;
  }

  std::string reason_of(const std::string& operation, const Pair& pair) const {
    for (const TrialRecord* const each : {pair.again, pair.harmless, &native_}) {
      if (each != nullptr && each->ms.empty() && !each->note.empty()) return each->note;
    }
    if (pair.again == nullptr || (has_harmless(operation) && pair.harmless == nullptr))
      return "one of its two variants is missing";
    const std::uint64_t launches = native_.launches;
    return std::to_string(launches) + (launches == 1 ? " launch does" : " launches do") +
           " not suffice; --replay repeats them";
  }

  /// Returns the smallest tried groups of lines that explain a cost.
  std::vector<LineLimit> lines_of(const std::string& operation, const Pairs& pairs) const {
    std::map<std::set<std::uint64_t>, Gain> costly;
    for (const auto& [lines, pair] : pairs) {
      const std::optional<Gain> gain = lines.empty() ? std::nullopt : gain_of(operation, pair);
      if (gain && verdict_of(*gain) == Verdict::limited) costly.emplace(lines, *gain);
    }
    std::vector<LineLimit> smallest;
    for (const auto& [lines, gain] : costly) {
      const bool has_smaller = std::ranges::any_of(costly, [&](const auto& other) {
        return other.first.size() < lines.size() && std::ranges::includes(lines, other.first);
      });
      if (!has_smaller)
        smallest.push_back(
            {{gain, pattern_of(operation, pairs.at(lines))}, locations_of(*pairs.at(lines).again)});
    }
    std::ranges::stable_sort(smallest, std::greater<>(),
                             [](const LineLimit& line) { return line.gain.at_most; });
    return smallest;
  }

  /// Names what makes a variant's time differ for other reasons than the operations.
  void add_notes(const Pair& pair, std::vector<std::string>& notes) const {
    const auto add = [&](const std::string& note) {
      if (!note.empty() && std::ranges::count(notes, note) == 0) notes.push_back(note);
    };
    for (const std::string& each : notes_of(pair.again->sites, false)) add("the variants add " + each);
    for (const TrialRecord* const each : {pair.again, pair.harmless}) {
      if (each == nullptr) continue;
      add(each->note);
      const PerturbationText text = parse(each->perturbation);
      if (text.operation == "occupancy") continue;
      const std::string variant = "variant '" + text.form + "' ";
      if (each->blocks_per_sm != native_.blocks_per_sm) {
        add(variant + "has " + std::to_string(each->blocks_per_sm) + " blocks per SM instead of " +
            std::to_string(native_.blocks_per_sm));
      }
      if (each->spill_bytes > native_.spill_bytes) {
        add(variant + "spills " + std::to_string(each->spill_bytes - native_.spill_bytes) +
            " more bytes per thread");
      }
    }
  }

  const TrialRecord& native_;
  std::map<std::string, Pairs> classes_;
  std::vector<std::string> order_;  ///< operations in order of appearance
  std::optional<double> noise_;
};

/// Returns the most blocks of a size that an SM of the device holds; 0: unknown.
std::uint64_t most_blocks_of(const DeviceRecord& device, const std::uint32_t (&block)[3]) {
  const std::uint64_t warps = (std::uint64_t{block[0]} * block[1] * block[2] + 31) / 32;
  const std::uint64_t by_threads = warps == 0 ? 0 : device.threads_per_sm / (32 * warps);
  return device.blocks_per_sm == 0 ? by_threads : std::min(by_threads, device.blocks_per_sm);
}

KernelLimits kernel_limits(const Group& group, std::span<const DeviceRecord> devices) {
  const TrialRecord& native = *group.front();
  KernelLimits kernel;
  kernel.kernel = native.kernel;
  kernel.module = native.module;
  kernel.device = native.device;
  std::ranges::copy(native.grid, kernel.grid);
  std::ranges::copy(native.block, kernel.block);
  kernel.shared_bytes = native.shared_bytes;
  kernel.is_modelled = native.is_modelled;
  kernel.launches = native.launches;
  for (const TrialRecord* const each : group) {
    kernel.replays += each->replays;
    kernel.timed += each->ms.size();
  }
  kernel.native_ms = median(native.ms);
  kernel.registers = native.registers;
  kernel.blocks_per_sm = native.blocks_per_sm;
  const auto device = std::ranges::find(devices, native.device, &DeviceRecord::device);
  if (device != devices.end() && device->multiprocessors != 0 && native.blocks_per_sm != 0) {
    const std::uint64_t blocks = std::uint64_t{native.grid[0]} * native.grid[1] * native.grid[2];
    kernel.waves = {blocks, device->multiprocessors, native.blocks_per_sm,
                    most_blocks_of(*device, native.block)};
  }
  Computation(group).add_to(kernel);
  return kernel;
}

}  // namespace

std::string LimitLocation::text() const {
  return line != 0 ? file + ":" + std::to_string(line) : "PTX line " + std::to_string(ptx_line);
}

Verdict verdict_of(const Gain& gain) {
  if (gain.low >= least_gain) return Verdict::limited;
  return gain.high < least_gain ? Verdict::not_limited : Verdict::unclear;
}

double KernelLimits::Waves::full() const {
  return static_cast<double>(blocks) / static_cast<double>(multiprocessors * blocks_per_sm);
}

double KernelLimits::Waves::idle() const { return 1 - full() / std::ceil(full()); }

std::vector<KernelLimits> limits_of(std::span<const TrialRecord> trials,
                                    std::span<const DeviceRecord> devices) {
  std::vector<Group> groups;
  const auto is_same_launch = [](const TrialRecord& a, const TrialRecord& b) {
    return a.kernel == b.kernel && a.module == b.module && a.device == b.device &&
           std::ranges::equal(a.grid, b.grid) && std::ranges::equal(a.block, b.block) &&
           a.shared_bytes == b.shared_bytes;
  };
  for (const TrialRecord& trial : trials) {
    if (trial.perturbation.empty()) {
      groups.push_back({&trial});
      continue;
    }
    // The last one: an earlier one may be of another process.
    const auto group = std::find_if(groups.rbegin(), groups.rend(),
                                    [&](const Group& each) { return is_same_launch(*each.front(), trial); });
    if (group != groups.rend()) group->push_back(&trial);
  }
  std::vector<KernelLimits> kernels;
  for (const Group& group : groups) kernels.push_back(kernel_limits(group, devices));
  double total = 0;
  for (const KernelLimits& each : kernels) total += each.total_ms();
  for (KernelLimits& each : kernels) each.share = total > 0 ? each.total_ms() / total : 0;
  std::ranges::stable_sort(kernels, std::greater<>(), &KernelLimits::share);
  return kernels;
}

}  // namespace lynxpp::report
