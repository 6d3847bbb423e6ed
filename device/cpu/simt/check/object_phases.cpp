#include "device/cpu/simt/check/object_phases.h"

#include <algorithm>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

/// Most entries that are listed individually.
constexpr std::size_t most_entries = 6;

/// Appends "; TEXT AMOUNT by warp 0, tile.cu:12, …".
void list(std::string& text, std::string_view title, const std::vector<ObjectEntry>& entries,
          std::uint32_t own_block) {
  if (entries.empty()) return;
  text += text.empty() ? "" : "; ";
  text += title;
  for (std::size_t i = 0; i < std::min(entries.size(), most_entries); ++i) {
    const ObjectEntry& each = entries[i];
    text += (i == 0 ? " " : ", ") + std::to_string(each.amount) + " by warp " + std::to_string(each.warp);
    if (each.block != own_block) text += " of block " + std::to_string(each.block);
    if (each.site != nullptr) text += " at " + line_of(*each.site);
  }
  if (entries.size() > most_entries) text += ", …";
}

}  // namespace

std::string line_of(const AccessSite& site) {
  if (site.source_file.empty()) return "PTX line " + std::to_string(site.line);
  return std::string(site.source_file) + ":" + std::to_string(site.source_line);
}

void ObjectPhases::add(std::vector<ObjectEntry>& to, const ObjectEntry& entry) {
  const auto known = std::ranges::find_if(to, [&](const ObjectEntry& each) {
    return each.site == entry.site && each.block == entry.block && each.warp == entry.warp;
  });
  if (known == to.end()) {
    to.push_back(entry);
  } else {
    known->amount += entry.amount;
  }
}

std::int64_t ObjectPhases::sum(const std::vector<ObjectEntry>& entries) {
  std::int64_t sum = 0;
  for (const ObjectEntry& each : entries) sum += each.amount;
  return sum;
}

void ObjectPhases::end_phase() {
  ++completed;
  over.join(arriving);
  arriving = {};
  arrived_before = std::exchange(arrivals, {});
  expected.clear();
  delivered.clear();
}

std::string ObjectPhases::describe(std::uint32_t own_block) const {
  std::string text;
  list(text, "arrivals in phase " + std::to_string(completed) + ":", arrivals, own_block);
  if (sum(expected) != sum(delivered)) {
    list(text, "expected bytes:", expected, own_block);
    list(text, "bytes that copies delivered:", delivered, own_block);
  }
  std::vector<ObjectEntry> missing = arrived_before;
  std::erase_if(missing, [&](const ObjectEntry& before) {
    return std::ranges::any_of(arrivals, [&](const ObjectEntry& each) {
      return each.block == before.block && each.warp == before.warp;
    });
  });
  list(text, "arrivals in the previous phase by warps that are missing:", missing, own_block);
  return text;
}

}  // namespace lynxpp::device::cpu
