#include "ptx/passes/probes/tallies.h"

#include <algorithm>

namespace lynxpp::ptx {

TallyStorage Tallies::find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const {
  if (site.instruction == nullptr) return {};
  return find_tally(unit_, {number_of(unit_, probe), number, is_high, id_of(function_, *site.instruction)});
}

std::vector<SiteTally> Tallies::at(const Probe& probe, const Site& site) const {
  std::vector<SiteTally> tallies;
  for (const std::string& name : probe.routine.site_values()) {
    if (!name.starts_with(tally_prefix)) continue;
    const TallyStorage storage = find(probe, number_at_end(name), name.starts_with("tally_high_"), site);
    const bool has_register = storage && !storage.is_bit();
    tallies.push_back({name, storage, has_register ? register_of(context(), storage) : VirtualRegister{}});
  }
  return tallies;
}

TallyStorage Tallies::exception_at(const Probe& probe, const Site& site) const {
  if (site.instruction == nullptr || unit_.counting.plan == nullptr) return {};
  const std::uint32_t number = number_of(unit_, probe);
  const std::uint32_t id = id_of(function_, *site.instruction);
  const auto found = std::ranges::find_if(unit_.counting.plan->tallies, [&](const auto& each) {
    return each.first.is_exception && each.first.probe == number && each.first.instruction == id;
  });
  return found == unit_.counting.plan->tallies.end() ? TallyStorage{} : find_tally(unit_, found->first);
}

void Tallies::add_one(const TallyStorage& tally, VirtualRegister predicate, CodeBuilder& code) const {
  if (tally.is_bit()) return add_mark(tally, predicate, code);
  add_to(code, register_of(context(), tally), 1, predicate);
}

void Tallies::add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const {
  for (const std::uint32_t number : probe.tallies) {
    for (const bool is_high : {false, true}) {
      const TallyStorage tally = find(probe, number, is_high, site);
      if (tally.is_shared())
        flush_shared(code, context(), tally, probe.effect == ProbeEffect::measures_banks);
    }
  }
}

}  // namespace lynxpp::ptx
