#include "ptx/passes/memory/site_plan.h"

#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/sector_sites.h"

namespace lynxpp::ptx {
namespace {

std::string text_of(const MemorySite& site, std::uint32_t instruction) {
  std::string text;
  if (!site.measured_at) {
    text = "needs no measurement";
  } else if (*site.measured_at != instruction) {
    text = "same as instruction " + std::to_string(*site.measured_at);
  } else {
    text = "measured";
  }
  if (site.pattern) text += ", known lane pattern";
  if (site.lane_step) text += ", lanes " + std::to_string(*site.lane_step) + " bytes apart";
  if (site.is_even) text += ", equal sector offsets in all lanes";
  if (site.rows) {
    text += ", a full row of lanes " + std::to_string(site.rows->step) + " bytes apart touches " +
            std::to_string(site.rows->sectors) + (site.rows->sectors == 1 ? " sector" : " sectors") +
            (site.rows->is_anywhere ? "" : " from sector offset " + std::to_string(site.rows->offset));
  }
  return text;
}

}  // namespace

std::string memory_sites_text(const MemorySites& memory, const ReachedFunctions& reached) {
  std::string text;
  for (const auto& [at, site] : memory.sites) {
    text += "probe " + std::to_string(at.first) + ", instruction " + std::to_string(at.second) + ": " +
            text_of(site, at.second) + "\n";
  }
  for (const auto& [function, checks] : memory.index_checks) {
    text += reached.functions[function].function->name + ": " + std::to_string(checks.size()) +
            (checks.size() == 1 ? " index" : " indices") + " must not wrap around between lanes\n";
  }
  return text;
}

MemorySites find_memory_sites(const ReachedFunctions& reached, const std::vector<Probe>& probes,
                              bool follows_indices) {
  MemorySites memory;
  for (std::uint32_t number = 0; number < probes.size(); ++number) {
    const Probe& probe = probes[number];
    if (!probe.enabled) continue;
    for (const FunctionUnit& function : reached.instrumented()) {
      if (probe.effect == ProbeEffect::measures_banks) find_bank_sites(function, probe, number, memory);
      if (probe.effect == ProbeEffect::measures_sectors)
        find_sector_sites(function, reached.position_of(function), probe, number, follows_indices, memory);
    }
  }
  return memory;
}

}  // namespace lynxpp::ptx
