#include "device/cpu/simt/execute/order/schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

/// Most deviations of one kind by one actor, so that schedules are fair in the end.
constexpr std::uint32_t most_deviations_of_actor = 256;
/// Most deviations of a launch: later ones are not made.
constexpr std::size_t most_deviations = 1 << 16;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e37'79b9'7f4a'7c15;
  value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9;
  value = (value ^ value >> 27) * 0x94d0'49bb'1331'11eb;
  return value ^ value >> 31;
}

}  // namespace

Schedule::Schedule(std::uint32_t seed) : seed_(seed), profile_(profile_of(seed)) {}

Schedule::Schedule(const std::vector<Deviation>& deviations) : seed_(0) {
  for (const Deviation& each : deviations)
    repeated_[{{each.kind, each.actor}, each.occasion}] = each.alternative;
}

/// The first seeds are the orders that find most faults; the others mix them.
Schedule::Profile Schedule::profile_of(std::uint32_t seed) {
  constexpr Profile first[] = {
      {.rotations = 16, .delays = 4, .sides = 16, .completions = 16, .is_extreme = true},
      {.victims = 5},
      {.rotations = 8, .delays = 4, .slices = 12, .sides = 8, .completions = 8},
      {.victims = 11, .sides = 8, .completions = 16, .is_extreme = true},
      {.rotations = 8, .slices = 14, .completions = 8},
  };
  constexpr std::uint32_t first_seed = 2;
  if (seed - first_seed < std::size(first)) return first[seed - first_seed];
  const std::uint64_t random = mix(seed);
  const auto share = [random](unsigned index) {
    return static_cast<std::uint32_t>(random >> (8 * index) & 0xff) % 13;
  };
  return {.rotations = 4 + share(0),
          .delays = share(1) / 2,
          .victims = share(2) / 2,
          .slices = share(3),
          .sides = share(4),
          .completions = share(5),
          .is_extreme = false};
}

std::uint32_t Schedule::pick(const Key& key, std::uint32_t occasion, std::uint32_t alternatives) const {
  const std::uint64_t of_actor = mix(mix(seed_) ^ (std::uint64_t{key.actor.block} << 32 | key.actor.warp));
  const std::uint64_t random =
      mix(of_actor ^ mix(std::uint64_t{static_cast<std::uint8_t>(key.kind)} << 32 | occasion));
  const auto happens = [](std::uint64_t by, std::uint32_t sixteenths) { return (by & 15) < sixteenths; };
  const auto any = static_cast<std::uint32_t>(1 + (random >> 8) % (alternatives - 1));
  switch (key.kind) {
    case ChoiceKind::rotation:
      if (!happens(random, profile_.rotations)) return 0;
      return profile_.is_extreme ? alternatives - 1 : any;
    case ChoiceKind::delay:
      if (happens(of_actor, profile_.victims)) return alternatives - 1;
      return happens(random, profile_.delays) ? any : 0;
    case ChoiceKind::slice:
    case ChoiceKind::rounds: return happens(random, profile_.slices) ? any : 0;
    case ChoiceKind::side: return happens(random, profile_.sides) ? any : 0;
    case ChoiceKind::completion:
      if (!happens(random, profile_.completions)) return 0;
      return profile_.is_extreme ? 1 : any;
  }
  return 0;
}

std::uint32_t Schedule::choose(ChoiceKind kind, Actor actor, std::uint32_t alternatives) {
  if (alternatives < 2) return 0;
  const Key key{kind, actor};
  History& history = histories_[key];
  const std::uint32_t occasion = history.occasions++;
  std::uint32_t chosen = 0;
  if (seed_ == 0) {
    const auto found = repeated_.find({key, occasion});
    if (found != repeated_.end()) chosen = std::min(found->second, alternatives - 1);
  } else if (history.deviations < most_deviations_of_actor && deviations_.size() < most_deviations) {
    chosen = pick(key, occasion, alternatives);
  }
  if (chosen == 0) return 0;
  ++history.deviations;
  deviations_.push_back({kind, actor, occasion, chosen});
  return chosen;
}

}  // namespace lynxpp::device::cpu
