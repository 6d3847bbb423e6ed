#include "report/limits/limits.h"

#include <algorithm>
#include <array>
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

/// Returns "38 %".
std::string rounded(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

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
  /// `device` may be null: unknown.
  Computation(const Group& group, const DeviceRecord* device) : native_(*group.front()), device_(device) {
    std::vector<std::vector<double>> times;
    for (const TrialRecord* const each : group) {
      times.push_back(each->ms);
      if (each == &native_) continue;
      const PerturbationText text = parse(each->perturbation);
      if (text.operation == "copy" && !each->ms.empty()) copy_ = each;
      if (text.operation == "lanes") lanes_ = each->counts;
      if (text.operation == "waits") waits_ = each;
      if (text.operation == "bytes") bytes_ = each;
      if (each->perturbation == TrialRecord::moving) moving_ = each;
      if (text.operation == "reuse") (text.form == "harmless" ? reuse_.harmless : reuse_.again) = each;
      if (text.operation == "arithmetic")
        (text.form == "harmless" ? arithmetic_.harmless : arithmetic_.again) = each;
      if (text.operation.ends_with("-registers") && !each->ms.empty()) register_settings_.push_back(each);
      if (!each->results.empty() && !each->ms.empty()) remedies_.push_back(each);
      if (!is_tried_class(text.operation)) continue;
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
    if (copy_ != nullptr) add_derived(kernel);
    add_sums_of_lines(kernel);
    bound_by_others(kernel);
    bound_by_throughput(kernel);
    bound_by_moving(kernel);
    std::ranges::stable_sort(kernel.limits, std::greater<>(), [](const Limit& limit) {
      return limit.operation == "waiting" ? 0 : limit.gain.at_most;  // a rest: last
    });
    for (const TrialRecord* const each : remedies_) add_remedy(*each, kernel);
  }

 private:
  void add_remedy(const TrialRecord& trial, KernelLimits& kernel) const {
    constexpr std::pair<std::string_view, std::string_view> predictions[] = {
        {"more-registers", "waiting"},
        {"fewer-registers", "occupancy"},
        {"read-only-loads", "global-access"}};
    Remedy remedy;
    remedy.operation = parse(trial.perturbation).operation;
    remedy.results = trial.results;
    const auto gain = models::limits::gain_of({native_.ms, baseline(), trial.ms}, noise_);
    if (!gain) return;
    remedy.gain = *gain;
    for (const auto& [operation, limit] : predictions) {
      const auto known = std::ranges::find(kernel.limits, limit, &Limit::operation);
      if (operation != remedy.operation || known == kernel.limits.end()) continue;
      remedy.predicted_by = limit;
      remedy.predicted = known->gain;
    }
    kernel.remedies.push_back(std::move(remedy));
  }

  /// True for classes of operations and occupancy, which have a limit of their own.
  static bool is_tried_class(const std::string& operation) {
    constexpr std::string_view others[] = {
        "copy",  "lanes",  "waits", "more-registers", "fewer-registers", "read-only-loads",
        "bytes", "moving", "reuse", "arithmetic"};
    return std::ranges::count(others, operation) == 0;
  }

  /// Times without any change except that the driver compiled the kernel, if they are known.
  const std::vector<double>& baseline() const { return copy_ != nullptr ? copy_->ms : native_.ms; }

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
    return models::limits::gain_of({native_.ms, pair.again->ms, is_compared ? pair.harmless->ms : baseline()},
                                   noise_);
  }

  /// Returns an upper bound of the cost of redundant loads: the cost of repeating all loads from the same
  /// addresses. Intermediate values could be kept elsewhere, so that stores are included. If the variant is
  /// missing, the cost of harmless loads is used.
  std::optional<Gain> reuse_of(const std::string& operation, const Pair& pair) const {
    if (operation != "global-access") return std::nullopt;
    if (has_intermediates()) return gain_of(operation, pair);
    if (reuse_.again == nullptr || reuse_.again->ms.empty()) return harmless_cost(pair);
    const bool has_harmless = reuse_.harmless != nullptr && !reuse_.harmless->ms.empty();
    return models::limits::gain_of(
        {native_.ms, reuse_.again->ms, has_harmless ? reuse_.harmless->ms : baseline()}, noise_);
  }

  /// True if the kernel keeps intermediate values in global memory: it reads what it writes, and accesses
  /// more elements than all memory that it accesses has bytes. A kernel that updates memory in place accesses
  /// each element twice.
  bool has_intermediates() const {
    const TrialRecord::Count* const accesses = find(lanes_, "global-access");
    const auto both = bytes_ == nullptr ? nullptr : find_any(bytes_->counts, TrialRecord::intermediate);
    const auto others = bytes_ == nullptr ? nullptr : find_any(bytes_->counts, "bytes");
    if (both == nullptr || accesses == nullptr) return native_.note.ends_with("it may write what it reads");
    const std::uint64_t once = others == nullptr ? 0 : others->count + others->of;
    return both->count != 0 && accesses->count > both->count + once;
  }

  /// Returns the gain of some lines, bounded by the gain of all lines and by their own cost.
  std::optional<Gain> reuse_of_lines(const std::string& operation, const Gain& cost, const Pair& pair) const {
    const std::optional<Gain> all = reuse_of(operation, pair);
    return all && all->at_most > cost.at_most ? std::optional(cost) : all;
  }

  /// Adds limits that follow from those of all classes.
  void add_derived(KernelLimits& kernel) const {
    for (const TrialRecord* const each : register_settings_) {
      if (const auto gain = models::limits::gain_of({native_.ms, copy_->ms, each->ms}, noise_)) {
        Limit limit;
        limit.gain = *gain;
        limit.operation = parse(each->perturbation).operation;
        limit.registers = {each->registers};
        kernel.limits.push_back(std::move(limit));
      }
    }
    const Limit* greatest = nullptr;
    for (const Limit& each : kernel.limits) {
      const bool is_greater = greatest == nullptr || each.gain.at_most > greatest->gain.at_most;
      if (is_class(each) && is_greater) greatest = &each;
    }
    if (greatest == nullptr) return;
    Limit waiting;
    waiting.operation = "waiting";
    waiting.gain = {1 - greatest->gain.at_most, 1 - greatest->gain.high, 1 - greatest->gain.low};
    const auto traffic = std::ranges::find(kernel.limits, "global-access", &Limit::operation);
    const Gain explained = traffic != kernel.limits.end() ? traffic->gain : Gain{0, 0, 0};
    for (Limit& each : kernel.limits) bound_by_waits(each, explained);
    add_divergence(kernel);
    kernel.limits.push_back(std::move(waiting));
  }

  static bool is_class(const Limit& limit) {
    constexpr std::string_view others[] = {"occupancy", "divergence", "waiting"};
    return std::ranges::count(others, limit.operation) == 0 && is_tried_class(limit.operation);
  }

  static const TrialRecord::Count* find(const std::vector<TrialRecord::Count>& counts,
                                        const std::string& operation) {
    const TrialRecord::Count* const found = find_any(counts, operation);
    return found != nullptr && found->of != 0 ? found : nullptr;
  }

  static const TrialRecord::Count* find_any(const std::vector<TrialRecord::Count>& counts,
                                            std::string_view operation) {
    const auto found = std::ranges::find(counts, operation, &TrialRecord::Count::operation);
    return found != counts.end() ? &*found : nullptr;
  }

  /// Limits a barrier's gain to the time that warps wait at it by their clocks, minus what the traffic of
  /// global memory explains. Repeating a barrier does not show that time. All warps share the traffic, but
  /// other classes may be expensive only in the warps that the others wait for.
  void bound_by_waits(Limit& limit, const Gain& traffic) const {
    const TrialRecord::Count* const waits =
        waits_ != nullptr ? find(waits_->counts, limit.operation) : nullptr;
    if (waits == nullptr) return;
    const double share = std::min(1.0, static_cast<double>(waits->count) / static_cast<double>(waits->of));
    limit.notes.push_back("by the clocks, threads wait for " + rounded(share) + " of their time");
    const double bound = std::min(share, 1 - traffic.at_most);
    if (bound <= limit.gain.at_most) return;
    limit.gain = {bound, std::min(share, 1 - traffic.high), std::min(share, 1 - traffic.low)};
    TrialRecord waiting = *waits_;
    std::erase_if(waiting.sites, [&](const TrialRecord::Site& each) {
      return each.opcode.starts_with("cp.async.wait") != (limit.operation == "async-copy");
    });
    if (const auto locations = locations_of(waiting); !locations.empty()) limit.locations = locations;
    limit.lines.clear();
  }

  /// Lanes that are idle cost their share of each class, and of the time that no class explains.
  void add_divergence(KernelLimits& kernel) const {
    const TrialRecord::Count* const all = find(lanes_, "fetch");
    if (all == nullptr) return;
    const auto idle = [](const TrialRecord::Count& lanes) {
      return std::max(0.0, 1 - static_cast<double>(lanes.count) / static_cast<double>(lanes.of));
    };
    Gain gain{0, 0, 0};
    double explained = 0, surely_explained = 0, perhaps_explained = 0;
    for (const Limit& each : kernel.limits) {
      const TrialRecord::Count* const lanes = find(lanes_, each.operation);
      if (!is_class(each) || lanes == nullptr) continue;
      gain.at_most += each.gain.at_most * idle(*lanes);
      gain.low += each.gain.low * idle(*lanes);
      gain.high += each.gain.high * idle(*lanes);
      explained += each.gain.at_most;
      surely_explained += each.gain.low;
      perhaps_explained += each.gain.high;
    }
    gain.at_most += std::max(0.0, 1 - explained) * idle(*all);
    gain.low += std::max(0.0, 1 - perhaps_explained) * idle(*all);
    gain.high += std::max(0.0, 1 - surely_explained) * idle(*all);
    Limit limit;
    limit.operation = "divergence";
    limit.gain.at_most = std::min(1.0, gain.at_most);
    limit.gain.low = std::min(limit.gain.at_most, gain.low);
    limit.gain.high = std::clamp(gain.high, limit.gain.at_most, 1.0);
    limit.notes.push_back(rounded(idle(*all)) + " of the lanes that instructions are issued for are idle");
    const auto branches = classes_.find("branch");
    if (branches != classes_.end() && branches->second.begin()->second.again != nullptr)
      limit.locations = locations_of(*branches->second.begin()->second.again);
    kernel.limits.push_back(std::move(limit));
  }

  /// True if the kernel cannot be faster than the class's cost unless the class is removed. False for
  /// variants with fewer resources, and for classes whose operations disappear with those of another class.
  bool is_needed(const Limit& limit) const {
    if (!is_class(limit) || limit.operation == "fetch" || limit.operation == "branch") return false;
    const Pairs& pairs = classes_.at(limit.operation);
    const auto whole = pairs.find({});
    if (whole == pairs.end()) return false;
    return std::ranges::all_of(
        std::array{whole->second.again, whole->second.harmless}, [&](const TrialRecord* each) {
          return each->blocks_per_sm == native_.blocks_per_sm && each->spill_bytes == native_.spill_bytes;
        });
  }

  /// Returns what repeating the needed classes costs that are not among `changed`.
  std::vector<Gain> needed(const KernelLimits& kernel, std::span<const std::string> changed) const {
    std::vector<Gain> costs;
    for (const Limit& each : kernel.limits) {
      if (is_needed(each) && std::ranges::count(changed, each.operation) == 0)
        costs.push_back(*gain_of(each.operation, classes_.at(each.operation).at({})));
    }
    return costs;
  }

  /// Limits the gain of each class to the time that the others leave. Barriers, waits for copies and branches
  /// order other operations, and each instruction is fetched.
  void bound_by_others(KernelLimits& kernel) const {
    for (Limit& limit : kernel.limits) {
      constexpr std::string_view others[] = {"barrier", "async-copy", "branch", "fetch"};
      if (!is_class(limit) || std::ranges::count(others, limit.operation) != 0) continue;
      const std::vector<Gain> costs = needed(kernel, std::span(&limit.operation, 1));
      bound(limit, costs);
      for (LineLimit& line : limit.lines) bound(line, costs);
    }
  }

  /// Limits the gain of changes that only hide latency: the kernel still needs the throughput of its
  /// arithmetic and of its accesses to shared memory.
  void bound_by_throughput(KernelLimits& kernel) const {
    if (arithmetic_.again != nullptr && arithmetic_.harmless != nullptr)
      kernel.arithmetic =
          models::limits::gain_of({native_.ms, arithmetic_.again->ms, arithmetic_.harmless->ms}, noise_);
    kernel.shared = shared_throughput(kernel);
    for (const std::optional<Gain>& needed : {kernel.arithmetic, kernel.shared}) {
      for (Limit& limit : kernel.limits) {
        if (needed && (limit.operation == "waiting" || limit.operation == "occupancy" ||
                       limit.operation == "barrier" || limit.operation == "async-copy"))
          limit.gain = models::limits::without(limit.gain, std::span(&*needed, 1));
      }
    }
  }

  /// Returns the share of the time that accesses to shared memory need if nothing waits for them: a
  /// multiprocessor serves those of one warp per cycle, or more if the assembler combines loads, but they do
  /// not need more than repeating them costs. nullopt: unknown.
  std::optional<Gain> shared_throughput(const KernelLimits& kernel) const {
    const TrialRecord::Count* const lanes = find(lanes_, "shared-access");
    const auto limit = std::ranges::find(kernel.limits, "shared-access", &Limit::operation);
    const bool is_known = device_ != nullptr && device_->clock_khz != 0 && device_->multiprocessors != 0;
    if (lanes == nullptr || limit == kernel.limits.end() || !is_known || kernel.native_ms <= 0)
      return std::nullopt;
    const std::optional<Gain> cost = gain_of(limit->operation, classes_.at(limit->operation).at({}));
    if (!cost) return std::nullopt;
    constexpr double lanes_per_cycle = 32;
    const double cycles =
        static_cast<double>(lanes->of) / lanes_per_cycle / static_cast<double>(device_->multiprocessors);
    const double share = cycles / static_cast<double>(device_->clock_khz) / kernel.native_ms;
    return Gain{std::min(cost->at_most, share), std::min(cost->low, share), std::min(cost->high, share)};
  }

  /// Limits the gain of all changes that keep the bytes that the kernel needs: changes of addresses, and of
  /// operations other than accesses of global memory.
  void bound_by_moving(KernelLimits& kernel) const {
    const TrialRecord::Count* const bytes = bytes_ != nullptr ? find_any(bytes_->counts, "bytes") : nullptr;
    if (bytes == nullptr || moving_ == nullptr || moving_->ms.empty() || kernel.native_ms <= 0) return;
    // Other kernels may move bytes this much faster than ours.
    constexpr double margin = 0.1;
    const double fastest = std::ranges::min(moving_->ms);
    const double needed = std::min(1.0, (1 - margin) * fastest / kernel.native_ms);
    kernel.moving = {bytes->count, bytes->of, fastest, 1 - needed};
    const std::vector<Gain> costs{{needed, needed, needed}};
    const auto bound = [&](std::optional<Gain>& gain) {
      if (gain) gain = models::limits::without(*gain, costs);
    };
    for (Limit& limit : kernel.limits) {
      if (limit.operation.ends_with("-registers")) continue;  // measured
      const bool keeps_bytes = limit.operation != "global-access" && limit.operation != "async-copy";
      if (keeps_bytes) limit.gain = models::limits::without(limit.gain, costs);
      bound(limit.pattern);
      bound(limit.reuse);
      for (LineLimit& line : limit.lines) {
        if (keeps_bytes) line.gain = models::limits::without(line.gain, costs);
        bound(line.pattern);
        bound(line.reuse);
      }
    }
    for (LineSum& line : kernel.lines) {
      const auto moves = [](const std::string& each) {
        return each == "global-access" || each == "async-copy";
      };
      if (std::ranges::none_of(line.operations, moves)) line.at_most = std::min(line.at_most, 1 - needed);
    }
  }

  std::optional<Gain> harmless_cost(const Pair& pair) const {
    return models::limits::gain_of({native_.ms, pair.harmless->ms, baseline()}, noise_);
  }

  static void bound(Gains& gains, std::span<const Gain> costs) {
    using models::limits::without;
    gains.gain = without(gains.gain, costs);
    if (gains.reuse) gains.reuse = without(*gains.reuse, costs);
    if (gains.pattern) gains.pattern = without(*gains.pattern, costs);
  }

  /// Sums the gains of the lines that classes were narrowed down to.
  void add_sums_of_lines(KernelLimits& kernel) const {
    const auto add = [&](const LimitLocation& location, const Limit& limit, double at_most) {
      const auto known = std::ranges::find_if(
          kernel.lines, [&](const LineSum& each) { return each.location.text() == location.text(); });
      LineSum& sum = known != kernel.lines.end() ? *known : kernel.lines.emplace_back();
      sum.location = {location.file, location.line, location.ptx_line, {}};
      sum.at_most = std::min(1.0, sum.at_most + at_most);
      sum.operations.push_back(limit.operation);
    };
    for (const Limit& limit : kernel.limits) {
      if (!is_class(limit) || verdict_of(limit.gain) != Verdict::limited) continue;
      if (limit.lines.empty() && limit.locations.size() == 1)
        add(limit.locations[0], limit, limit.gain.at_most);
      for (const LineLimit& line : limit.lines) {
        if (line.locations.size() == 1) add(line.locations[0], limit, line.gain.at_most);
      }
    }
    for (LineSum& each : kernel.lines) {
      for (const Gain& cost : needed(kernel, each.operations))
        each.at_most = std::min(each.at_most, 1 - cost.at_most);
    }
    std::erase_if(kernel.lines, [](const LineSum& each) { return each.at_most < least_gain; });
    std::ranges::stable_sort(kernel.lines, std::greater<>(), &LineSum::at_most);
  }

  /// If the harmless accesses take longer than the program's own, the pair says nothing about the pattern:
  /// the gain is between nothing and the operations' cost.
  std::optional<Gain> pattern_of(const std::string& operation, const Pair& pair) const {
    if (!has_pattern(operation)) return std::nullopt;
    const std::optional<Gain> cost = gain_of(operation, pair);
    const std::optional<Gain> excess =
        models::limits::gain_of({native_.ms, pair.harmless->ms, pair.again->ms}, noise_);
    if (cost && excess && verdict_of(*excess) == Verdict::limited) return Gain{cost->at_most, 0, cost->high};
    return models::limits::gain_of({native_.ms, pair.again->ms, pair.harmless->ms}, noise_);
  }

  /// Extrapolates from the variant with one block per SM fewer to the most blocks that the threads allow.
  /// With B blocks, the time is proportional to a power of 1 / B between 1, if all time is latency, and 0, if
  /// the throughput is exhausted. Little's law with a bounded throughput never lets the power rise with B, so
  /// the one that the variant shows bounds it from above.
  static void bound_by_occupancy(Gain& gain, KernelLimits& kernel) {
    if (!kernel.waves || kernel.waves->most_blocks_per_sm == 0 || kernel.blocks_per_sm < 2) return;
    const auto blocks = static_cast<double>(kernel.blocks_per_sm);
    const auto most = static_cast<double>(kernel.waves->most_blocks_per_sm);
    constexpr double least_share = 0.1;  // of the slowdown in proportion to the blocks
    const bool has_effect = gain.low * (blocks - 1) >= least_share;
    kernel.waves->is_throughput_bound = gain.high * (blocks - 1) < least_share && kernel.waves->full() >= 1;
    const double power = std::min(1.0, std::log(1 + gain.high) / std::log(blocks / (blocks - 1)));
    const double bound = has_effect ? std::max(0.0, 1 - std::pow(blocks / most, power)) : 0;
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
    Limit limit;
    limit.gain = gain;
    limit.cost = gain.at_most;
    limit.pattern = pattern_of(operation, pair);
    limit.reuse = reuse_of(operation, pair);
    limit.operation = operation;
    limit.locations = locations_of(*pair.again);
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
            {{gain, pattern_of(operation, pairs.at(lines)), reuse_of_lines(operation, gain, pairs.at(lines))},
             locations_of(*pairs.at(lines).again)});
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
  const DeviceRecord* device_;
  const TrialRecord* copy_ = nullptr;    ///< null: not tried
  const TrialRecord* waits_ = nullptr;   ///< null: not tried
  const TrialRecord* bytes_ = nullptr;   ///< null: not counted
  const TrialRecord* moving_ = nullptr;  ///< null: not measured
  Pair arithmetic_, reuse_;
  std::vector<TrialRecord::Count> lanes_;
  std::vector<const TrialRecord*> register_settings_, remedies_;
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
  Computation(group, device != devices.end() ? &*device : nullptr).add_to(kernel);
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

double KernelLimits::Waves::idle() const {
  const double rounds =
      is_throughput_bound ? static_cast<double>(blocks) / static_cast<double>(multiprocessors) : full();
  return 1 - rounds / std::ceil(rounds);
}

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
