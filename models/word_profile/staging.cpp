#include "models/word_profile/staging.h"

#include <algorithm>
#include <cmath>

#include "models/word_profile/knapsack.h"

namespace lynxpp::models {
namespace {

constexpr std::uint64_t word = 4;
/// The limit per block that every device supports, used if the device is unknown.
constexpr std::uint64_t usual_limit = 48 << 10;
/// Accesses to a word while it holds a value that is stored and used once.
constexpr std::uint64_t accesses_if_used_once = 2;

/// An array as a knapsack item.
struct Candidate {
  std::uint64_t bytes = 0;
  std::uint64_t fills = 0;  ///< accesses that fill the words, over all blocks
  bool is_part = false;     ///< each block holds a part
};

Candidate shared_candidate(const ArrayProfile& array, const LaunchProfile& launch) {
  const std::uint64_t ranges = array.live ? array.live->ranges : 0;
  return {array.words * word, std::max(array.accessed_words() * launch.blocks, ranges)};
}

Candidate device_candidate(const ArrayProfile& array, const LaunchProfile& launch) {
  const std::uint64_t used = array.accessed_words();
  const bool is_divided = launch.blocks > 1 && array.least_of_accessed() < launch.blocks;
  if (!is_divided) return {used * word, used * launch.blocks};
  return {(used + launch.blocks - 1) / launch.blocks * word, used, true};
}

std::uint64_t value_of(const ArrayProfile& array, const Candidate& candidate) {
  return array.accesses - std::min(array.accesses, candidate.fills);
}

/// True if the array only passes values from device memory on: each is stored and used at most once.
bool is_used_once(const ArrayProfile& array) {
  return array.live && array.live->ranges != 0 && array.live->reused == 0 &&
         array.accesses <= accesses_if_used_once * array.live->ranges;
}

/// True if the array could be in shared memory at all.
bool is_candidate(const ArrayProfile& array, const Candidate& candidate, const LaunchProfile& launch) {
  if (array.space == ArrayProfile::Space::shared) {
    const std::uint64_t loads = array.accessed_words() * launch.blocks;  // a value per word and block
    return array.accesses > accesses_if_used_once * loads && !is_used_once(array);
  }
  return array.mean() >= static_cast<double>(launch.threshold) && value_of(array, candidate) != 0;
}

BlockNeeds with_shared(BlockNeeds needs, std::uint64_t bytes) {
  needs.shared_bytes = static_cast<std::uint32_t>(bytes);
  return needs;
}

std::uint64_t capacity_of(const LaunchProfile& launch, std::uint64_t bytes_now) {
  if (!launch.resources) return std::max(usual_limit, bytes_now);
  const LaunchProfile::Resources& resources = *launch.resources;
  const std::uint32_t blocks = occupancy(resources.machine, with_shared(resources.needs, bytes_now)).blocks;
  if (blocks == 0) return bytes_now;
  const SharedMemory& shared = resources.machine.shared;
  const std::uint64_t of_block = shared.bytes / blocks / shared.unit * shared.unit;
  const std::uint64_t most = of_block - std::min<std::uint64_t>(of_block, shared.of_each_block);
  return std::max(bytes_now, std::min(most, resources.most_shared_bytes));
}

double saved_for_byte(const Placement& placement) {
  return placement.bytes == 0 ? 0
                              : static_cast<double>(placement.saved) / static_cast<double>(placement.bytes);
}

std::string shared_reason(const ArrayProfile& array, Staging advised, const Placement& placement,
                          const LaunchProfile& launch) {
  if (array.accesses == 0) return "no word of it was accessed";
  const double of_block = array.mean() / static_cast<double>(launch.blocks);
  std::string often =
      rounded(array.mean()) + " accesses of a word, " + rounded(of_block) + " in each thread block";
  if (array.live && array.live->ranges != 0)
    often += ", " +
             rounded(static_cast<double>(array.live->accesses) / static_cast<double>(array.live->ranges)) +
             " while it holds one value from device memory";
  switch (advised) {
    case Staging::drop:
      return often +
             (is_used_once(array) ? ": its values are stored and used once"
                                  : ": its words are loaded and used once") +
             ". It is worthwhile only if it passes data between threads or changes the order of accesses";
    case Staging::give_way:
      return often + ": it saves " + rounded(saved_for_byte(placement)) +
             " accesses for each of its bytes, less than its replacement";
    default: return "well used: " + often;
  }
}

std::string device_reason(const ArrayProfile& array, const Placement& placement, const Candidate& candidate,
                          const LaunchProfile& launch) {
  const std::string often = rounded(array.mean()) + " accesses of a word";
  if (array.accesses == 0) return "not accessed";
  if (array.mean() < static_cast<double>(launch.threshold))
    return often + ", below the threshold of " + grouped(launch.threshold);
  if (placement.saved == 0) return often + ", no more than one in each thread block";
  std::string held = "a copy of " + grouped(placement.bytes) + " bytes in each thread block";
  if (candidate.is_part)
    held = "divided among thread blocks, " + grouped(placement.bytes) + " bytes in each,";
  std::string reason = often + ": " + held + " would save " + (candidate.is_part ? "" : "at least ") +
                       grouped(placement.saved) + " of " + grouped(array.accesses) +
                       " accesses to device memory";
  if (candidate.is_part)
    reason += ". Assumed: blocks use different words; it is known that not every block uses all";
  return reason;
}

/// Explains why there is no room at this occupancy.
std::string room_of(const Placement& placement, const StagingAdvice& advice, const LaunchProfile& launch) {
  const std::uint64_t bytes = advice.bytes_then + placement.bytes;
  if (!launch.resources || bytes > launch.resources->most_shared_bytes) return ". There is no room for it";
  const Occupancy then = occupancy(launch.resources->machine, with_shared(launch.resources->needs, bytes));
  return ". There is no room for it with " + grouped(advice.now->blocks) +
         " blocks on a multiprocessor; with it, the number would be " + grouped(then.blocks);
}

std::string names_of(const StagingAdvice& advice, Staging advised) {
  std::string names;
  for (const Placement& each : advice.placements) {
    if (each.advised == advised) names += (names.empty() ? "" : ", ") + each.array;
  }
  return names;
}

/// The device array that is reused most, if more than the values in a shared array that only passes them on:
/// GMProf's section 7.3 stages it instead. Empty if none qualifies.
std::string reused_instead(const LaunchProfile& launch) {
  const auto passes_on = [](const ArrayProfile& each) {
    return each.space == ArrayProfile::Space::shared && is_used_once(each);
  };
  const ArrayProfile* most = nullptr;
  for (const ArrayProfile& each : launch.arrays) {
    const bool is_reused = each.space == ArrayProfile::Space::device && each.mean() > accesses_if_used_once;
    if (is_reused && (most == nullptr || each.mean() > most->mean())) most = &each;
  }
  if (most == nullptr || std::ranges::none_of(launch.arrays, passes_on)) return {};
  return "Reused in device memory: " + most->name + ", " + rounded(most->mean()) +
         " accesses of a word; tiles of it use shared memory better if the threads of a block share "
         "its words and no cache serves them. ";
}

std::string bytes_sentence(const StagingAdvice& advice, const LaunchProfile& launch) {
  std::string text = "A thread block would have " + grouped(advice.bytes_then) +
                     " bytes of shared memory instead of " + grouped(advice.bytes_now);
  if (!advice.now || !advice.then) return text + "; the launch's occupancy is not known";
  const std::uint32_t warps = (launch.threads + 31) / 32;
  const auto hold = [&](const Occupancy& each) {
    return grouped(each.blocks) + " blocks (" + grouped(std::uint64_t{each.blocks} * warps) + " of " +
           grouped(launch.resources->machine.residency.warps) + " warps)";
  };
  text += ", and a multiprocessor hold " + hold(*advice.then);
  return text + (advice.now->blocks == advice.then->blocks ? " as now" : " instead of " + hold(*advice.now));
}

std::string summary_of(const StagingAdvice& advice, const LaunchProfile& launch) {
  const bool has_shared = std::ranges::any_of(
      launch.arrays, [](const ArrayProfile& each) { return each.space == ArrayProfile::Space::shared; });
  const std::string staged = names_of(advice, Staging::stage);
  const std::string giving = names_of(advice, Staging::give_way), dropped = names_of(advice, Staging::drop);
  const bool knows_ranges =
      std::ranges::any_of(launch.arrays, [](const ArrayProfile& each) { return !!each.live; });
  if (advice.is_well_used)
    return knows_ranges ? "Shared memory is well used"
                        : "Shared memory is well used if its words hold one value each";
  if (staged.empty() && dropped.empty()) {
    return has_shared ? "No change: there is no room for the arrays that would benefit"
                      : "There is no shared memory, and no array would benefit from it";
  }
  std::string text;
  if (!staged.empty()) text = "Worth staging in shared memory: " + staged + ". ";
  if (!giving.empty()) text += "Gives way: " + giving + ". ";
  if (!dropped.empty()) text += "Not worth staging: " + dropped + ". ";
  if (staged.empty()) text += reused_instead(launch);
  return text + bytes_sentence(advice, launch);
}

Staging advised_for(const ArrayProfile& array, bool could_be, bool is_taken) {
  if (array.space == ArrayProfile::Space::shared)
    return is_taken ? Staging::keep : could_be ? Staging::give_way : Staging::drop;
  return is_taken ? Staging::stage : could_be ? Staging::no_room : Staging::leave;
}

std::vector<bool> chosen(const std::vector<KnapsackItem>& items, std::uint64_t capacity) {
  std::vector<bool> taken(items.size());
  for (const std::size_t i : fill_knapsack(items, capacity)) taken[i] = true;
  return taken;
}

}  // namespace

std::string_view name_of(Staging staging) {
  switch (staging) {
    case Staging::keep: return "keep";
    case Staging::drop: return "drop";
    case Staging::give_way: return "give way";
    case Staging::stage: return "stage";
    case Staging::no_room: return "no room";
    case Staging::leave: return "leave";
  }
  return "";
}

StagingAdvice staging_advice(const LaunchProfile& launch) {
  StagingAdvice advice;
  std::vector<Candidate> candidates;
  std::vector<KnapsackItem> items;
  std::uint64_t of_arrays = 0;
  for (const ArrayProfile& array : launch.arrays) {
    const bool is_shared = array.space == ArrayProfile::Space::shared;
    const Candidate candidate = is_shared ? shared_candidate(array, launch) : device_candidate(array, launch);
    if (is_shared) of_arrays += candidate.bytes;
    candidates.push_back(candidate);
    items.push_back(
        {candidate.bytes, is_candidate(array, candidate, launch) ? value_of(array, candidate) : 0});
  }
  advice.bytes_now =
      launch.resources ? std::max<std::uint64_t>(launch.resources->needs.shared_bytes, of_arrays) : of_arrays;
  advice.capacity = capacity_of(launch, advice.bytes_now);
  // The space between arrays remains.
  const std::uint64_t between = advice.bytes_now - of_arrays;
  const std::vector<bool> taken = chosen(items, advice.capacity - between);
  advice.bytes_then = between;
  advice.is_well_used = of_arrays != 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ArrayProfile& array = launch.arrays[i];
    const Candidate& candidate = candidates[i];
    const Staging advised = advised_for(array, items[i].value != 0, taken[i]);
    advice.bytes_then += taken[i] ? candidate.bytes : 0;
    advice.is_well_used &= advised == Staging::keep || advised == Staging::leave;
    Placement placement{array.name, advised, candidate.bytes, candidate.is_part, value_of(array, candidate),
                        {}};
    placement.reason = array.space == ArrayProfile::Space::shared
                           ? shared_reason(array, advised, placement, launch)
                           : device_reason(array, placement, candidate, launch);
    advice.placements.push_back(std::move(placement));
  }
  if (launch.resources) {
    const LaunchProfile::Resources& resources = *launch.resources;
    advice.now = occupancy(resources.machine, with_shared(resources.needs, advice.bytes_now));
    advice.then = occupancy(resources.machine, with_shared(resources.needs, advice.bytes_then));
  }
  for (Placement& each : advice.placements) {
    if (each.advised == Staging::no_room) each.reason += room_of(each, advice, launch);
  }
  advice.summary = summary_of(advice, launch);
  return advice;
}

}  // namespace lynxpp::models
