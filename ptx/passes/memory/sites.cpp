#include "ptx/passes/memory/sites.h"

#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/sector_sites.h"
#include "ptx/passes/pass.h"

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
  if (site.is_even) text += ", equal sector offsets in all lanes";
  if (site.rows) {
    text += ", a full row of lanes " + std::to_string(site.rows->step) + " bytes apart touches " +
            std::to_string(site.rows->sectors) + (site.rows->sectors == 1 ? " sector" : " sectors") +
            (site.rows->is_anywhere ? "" : " from sector offset " + std::to_string(site.rows->place));
  }
  return text;
}

}  // namespace

std::string memory_sites_text(const InstrumentationUnit& unit) {
  std::string text;
  for (const auto& [at, site] : unit.memory.sites) {
    text += "probe " + std::to_string(at.first) + ", instruction " + std::to_string(at.second) + ": " +
            text_of(site, at.second) + "\n";
  }
  for (const auto& [function, checks] : unit.memory.index_checks) {
    text += unit.reached.functions[function].function->name + ": " + std::to_string(checks.size()) +
            (checks.size() == 1 ? " index" : " indices") + " must not wrap around between lanes\n";
  }
  return text;
}

Status find_memory_sites(InstrumentationUnit& unit) {
  for (std::uint32_t probe = 0; probe < unit.spliced.probes.size(); ++probe) {
    const ProbeEffect effect = unit.spliced.probes[probe].effect;
    if (!unit.spliced.probes[probe].enabled) continue;
    for (const FunctionUnit& function : unit.reached.instrumented()) {
      if (effect == ProbeEffect::measures_banks) find_bank_sites(unit, function, probe);
      if (effect == ProbeEffect::measures_sectors)
        find_sector_sites(unit, function, probe, !unit.counting.is_wide);
    }
  }
  return success();
}

}  // namespace lynxpp::ptx
