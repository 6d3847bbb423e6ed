#include "models/limits/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "support/check.h"

namespace lynxpp::models::limits {
namespace {

constexpr std::size_t line_rounds = 3;  // at most this many for one half, after the warm-up

}  // namespace

Schedule::Schedule(std::vector<ClassOfOperations> classes, Budget budget)
    : classes_(std::move(classes)), budget_(budget), remaining_(budget.class_launches) {
  add_variant({});
  for (std::size_t i = 0; i < classes_.size(); ++i)
    add_part({.class_index = i, .end = classes_[i].groups.size()}, {});
}

TrialId Schedule::add_variant(Variant variant) {
  variants_.push_back(std::move(variant));
  times_.emplace_back();
  chosen_.push_back(0);
  outstanding_.push_back(0);
  return static_cast<TrialId>(variants_.size() - 1);
}

void Schedule::add_part(Part part, const std::vector<std::uint32_t>& lines) {
  part.again = add_variant({TrialForm::again, part.class_index, lines});
  if (classes_[part.class_index].is_baseline) part.state = State::decided;
  if (classes_[part.class_index].has_harmless)
    part.harmless = add_variant({TrialForm::harmless, part.class_index, lines});
  parts_.push_back(part);
}

const Variant& Schedule::variant(TrialId id) const {
  LYNXPP_CHECK(id < variants_.size(), "a trial of another schedule");
  return variants_[id];
}

void Schedule::add(TrialId id, double ms) {
  LYNXPP_CHECK(id < variants_.size() && outstanding_[id] > 0, "a time of a launch that was not chosen");
  --outstanding_[id];
  if (std::isfinite(ms) && ms > 0) times_[id].push_back(ms);
}

void Schedule::drop(TrialId id) {
  LYNXPP_CHECK(id != native_trial && id < variants_.size(), "the original kernel cannot be abandoned");
  const auto part =
      std::ranges::find_if(parts_, [&](const Part& each) { return each.again == id || each.harmless == id; });
  part->state = State::dropped;
  for (const TrialId each : {part->again, part->harmless}) {
    if (each == native_trial) continue;
    std::erase(round_, each);
    outstanding_[each] = 0;
  }
}

std::optional<TrialId> Schedule::next() {
  while (round_.empty()) {
    decide();
    if (plan_round()) break;
    // Times that have not arrived may still change what is tried next.
    if (std::ranges::any_of(parts_, [&](const Part& part) { return waits(part); }))
      return choose(native_trial);
    for (Part& part : parts_) {
      if (part.state == State::active) part.state = State::decided;
    }
    if (!tries_lines_) remaining_ = budget_.line_launches;
    tries_lines_ = true;
    if (!split_most_expensive()) return std::nullopt;
  }
  const TrialId id = round_.front();
  round_.pop_front();
  return choose(id);
}

bool Schedule::waits(const Part& part) const {
  return part.state == State::active && (outstanding_[part.again] != 0 ||
                                         (part.harmless != native_trial && outstanding_[part.harmless] != 0));
}

/// True if further launches may help to decide about the part.
bool Schedule::wants_launches(const Part& part) const {
  if (part.state != State::active) return false;
  if (budget_.is_deterministic || !classes_[part.class_index].is_timed) return chosen_[part.again] == 0;
  return !part.parent || chosen_[part.again] <= line_rounds;
}

TrialId Schedule::choose(TrialId id) {
  ++chosen_[id];
  ++outstanding_[id];
  return id;
}

/// Appends the next round's launches of a variant: the first launch is a warm-up.
void Schedule::append(TrialId id, std::deque<TrialId>& round) const {
  if (chosen_[id] == 0 && !budget_.is_deterministic) round.push_back(id);
  round.push_back(id);
}

/// Plans a launch of the original and of each active part's variants, as far as the budget allows. Returns
/// false without launches.
bool Schedule::plan_round() {
  append(native_trial, round_);
  for (const Part& part : parts_) {
    const bool is_launched = budget_.is_deterministic && chosen_[part.again] != 0;
    if (classes_[part.class_index].is_baseline && part.state != State::dropped && !is_launched)
      append(part.again, round_);
  }
  const std::size_t native_launches = round_.size();
  std::vector<const Part*> active;
  for (const Part& part : parts_) {
    if (wants_launches(part)) active.push_back(&part);
  }
  const bool is_reversed = rounds_ % 2 != 0;
  if (is_reversed) std::ranges::reverse(active);
  // If launches become scarce, the most expensive classes are worth them.
  if (remaining_ < native_launches + 2 * active.size())
    std::ranges::stable_sort(active, std::greater<>(),
                             [](const Part* part) { return part->gain ? part->gain->at_most : 1.0; });
  for (const Part* const part : active) {
    std::deque<TrialId> launches;
    if (is_reversed && part->harmless != native_trial) append(part->harmless, launches);
    if (classes_[part->class_index].is_timed) {
      append(part->again, launches);
    } else {
      launches.push_back(part->again);
    }
    if (!is_reversed && part->harmless != native_trial) append(part->harmless, launches);
    if (round_.size() + launches.size() <= remaining_)
      std::ranges::copy(launches, std::back_inserter(round_));
  }
  if (round_.size() == native_launches) round_.clear();
  remaining_ -= round_.size();
  if (!round_.empty()) ++rounds_;
  return !round_.empty();
}

std::optional<double> Schedule::noise() const { return budget_.is_deterministic ? 0.0 : noise_of(times_); }

/// Updates the gains of the active parts, and decides those that need no further launches.
void Schedule::decide() {
  const std::optional<double> known_noise = noise();
  for (Part& part : parts_) {
    const ClassOfOperations& tried = classes_[part.class_index];
    if (part.state != State::active) continue;
    if (!tried.is_timed) {
      if (chosen_[part.again] != 0 && outstanding_[part.again] == 0) part.state = State::decided;
      continue;
    }
    const TrialId baseline = tried.has_pattern ? native_trial : part.harmless;
    part.gain = gain_of({times_[native_trial], times_[part.again], times_[baseline]}, known_noise);
  }
  for (Part& part : parts_) {
    if (part.state == State::active && part.gain && is_decided(part)) part.state = State::decided;
  }
}

bool Schedule::is_decided(const Part& part) const {
  if (budget_.is_deterministic) return true;
  const Gain& gain = *part.gain;
  const double width = gain.high - gain.low;
  const bool is_cheap = gain.high < budget_.relevant;
  // After the warm-up:
  const std::size_t pairs = std::min(times_[part.again].size(), times_[part.harmless].size()) - 1;
  if (!part.parent)
    return pairs >= 2 && (is_cheap || width < std::max(budget_.relevant / 2, gain.at_most / 10));
  // One pair suffices for a half unless an outlier contradicts what both halves cost together.
  if (pairs == 0 || (pairs == 1 && !is_consistent(*part.parent))) return false;
  return is_cheap || (gain.low > budget_.relevant && width < gain.at_most / 2);
}

/// True if both halves of a part together cost about as much as the part.
bool Schedule::is_consistent(std::size_t parent) const {
  double sum = 0;
  for (const Part& part : parts_) {
    if (part.parent == parent && part.gain) sum += part.gain->at_most;
  }
  const double expected = parts_[parent].gain->at_most;
  return std::abs(sum - expected) < std::max(budget_.relevant, 0.3 * expected);
}

/// Splits the most expensive part that has several groups. Returns false if none is worth it.
bool Schedule::split_most_expensive() {
  const auto is_candidate = [&](const Part& part) {
    return part.state == State::decided && !part.was_split && part.end - part.begin > 1 && part.gain &&
           part.gain->low > budget_.relevant;
  };
  std::optional<std::size_t> expensive;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!is_candidate(parts_[i])) continue;
    if (!expensive || parts_[i].gain->at_most > parts_[*expensive].gain->at_most) expensive = i;
  }
  if (!expensive) return false;
  parts_[*expensive].was_split = true;
  const Part split = parts_[*expensive];  // parts_ grows below
  const std::size_t middle = split.begin + (split.end - split.begin) / 2;
  for (const auto& [begin, end] : {std::pair(split.begin, middle), std::pair(middle, split.end)}) {
    std::vector<std::uint32_t> lines;
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<std::uint32_t>& group = classes_[split.class_index].groups[i];
      lines.insert(lines.end(), group.begin(), group.end());
    }
    std::ranges::sort(lines);
    add_part({.class_index = split.class_index, .parent = expensive, .begin = begin, .end = end}, lines);
  }
  return true;
}

}  // namespace lynxpp::models::limits
