#include "image/targets.h"

#include <algorithm>
#include <array>

namespace lynxpp::image {
namespace {

// Flags of an entry, as written by nvcc 13.
constexpr std::uint64_t flag_architecture_specific = 0x100000;  // sm_90a: only that architecture
constexpr std::uint64_t flag_family_specific = 0x200000;        // sm_100f: only later members of that family
constexpr std::uint64_t special_flags = flag_architecture_specific | flag_family_specific;

// Systems on a chip: their machine code and that of other devices are mutually incompatible.
constexpr std::array<std::uint32_t, 6> embedded{53, 62, 72, 87, 101, 110};

bool is_embedded(std::uint32_t sm) {
  return std::find(embedded.begin(), embedded.end(), sm) != embedded.end();
}

bool ptx_runs_on(const Entry& entry, std::uint32_t sm) {
  if (sm == 0 || entry.sm == 0) return true;
  if ((entry.flags & flag_architecture_specific) != 0) return entry.sm == sm;
  if ((entry.flags & flag_family_specific) != 0 && entry.sm / 10 != sm / 10) return false;
  return entry.sm <= sm;
}

bool cubin_runs_on(const Entry& entry, std::uint32_t sm) {
  if (entry.sm == 0 || entry.sm == sm) return true;
  if ((entry.flags & flag_architecture_specific) != 0 || is_embedded(entry.sm) || is_embedded(sm))
    return false;
  return entry.sm / 10 == sm / 10 && entry.sm <= sm;
}

bool better(const Entry& candidate, const Entry& best, std::uint32_t sm) {
  if (candidate.sm != best.sm) return candidate.sm > best.sm;
  const bool candidate_special = (candidate.flags & special_flags) != 0;
  const bool best_special = (best.flags & special_flags) != 0;
  return candidate_special != best_special && candidate_special == (sm != 0);
}

template <typename RunsOn>
const Entry* best_of(std::span<const Entry> container, EntryKind kind, std::uint32_t sm, RunsOn runs_on) {
  const Entry* best = nullptr;
  for (const Entry& entry : container) {
    if (entry.kind != kind || !runs_on(entry, sm)) continue;
    if (best == nullptr || better(entry, *best, sm)) best = &entry;
  }
  return best;
}

}  // namespace

std::vector<std::span<const Entry>> by_container(std::span<const Entry> entries) {
  std::vector<std::span<const Entry>> containers;
  for (auto first = entries.begin(); first != entries.end();) {
    const auto last = std::find_if(first, entries.end(),
                                   [&](const Entry& entry) { return entry.container != first->container; });
    containers.emplace_back(first, last);
    first = last;
  }
  return containers;
}

const Entry* best_ptx(std::span<const Entry> container, std::uint32_t sm) {
  return best_of(container, EntryKind::ptx, sm, ptx_runs_on);
}

const Entry* best_cubin(std::span<const Entry> container, std::uint32_t sm) {
  return best_of(container, EntryKind::cubin, sm, cubin_runs_on);
}

bool same_specialization(const Entry& first, const Entry& second) {
  return (first.flags & special_flags) == (second.flags & special_flags);
}

std::uint64_t specialization_flags(char suffix) {
  if (suffix == 'a') return flag_architecture_specific;
  return suffix == 'f' ? flag_family_specific : 0;
}

std::string target_name(const Entry& entry) {
  std::string name = std::to_string(entry.sm);
  if ((entry.flags & flag_architecture_specific) != 0) return name + "a";
  return (entry.flags & flag_family_specific) != 0 ? name + "f" : name;
}

}  // namespace lynxpp::image
