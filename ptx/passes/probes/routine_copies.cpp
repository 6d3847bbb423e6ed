#include "ptx/passes/probes/routine_copies.h"

#include <algorithm>
#include <string_view>

namespace lynxpp::ptx {

RoutineCopies::RoutineCopies(InstrumentationUnit& unit, const FunctionUnit& function, Outliner& outliner)
    : unit_(unit),
      function_(function),
      body_(*function.function->body),
      names_(unit.edits.names(*function.function)),
      registers_(unit.thread_registers(*function.function)),
      outliner_(outliner),
      tallies_(unit, function),
      values_(unit, function),
      sectors_(unit, function),
      entry_values_(unit, function) {}

void RoutineCopies::begin_block(std::uint32_t block) { sectors_.begin_block(last_compared_in(block)); }

// ---- sites

LaneSite RoutineCopies::lane_site(const Site& site) const {
  return {id_of(function_, *site.instruction), site.access};
}

Site RoutineCopies::site_at(const Probe& probe, std::uint32_t block, const Instruction& instruction) const {
  Site site{probe.point, block, &instruction, probe.side_at(instruction)};
  const LaneValuePlan* const lanes = unit_.memory.lane_values.get();
  const bool is_served =
      probe.with_lane_values && lanes != nullptr && lanes->serves(lane_site(site), *probe.with_lane_values);
  if (is_served) site.routine = &*probe.with_lane_values;
  return site;
}

/// Null: the lanes do not know the value.
const VirtualRegister* RoutineCopies::lane_register(const Site& site, std::string_view value) const {
  const LaneValuePlan* const lanes = unit_.memory.lane_values.get();
  return lanes == nullptr ? nullptr : lanes->find(lane_site(site), value);
}

bool RoutineCopies::is_measured_elsewhere(const Probe& probe, const Instruction& instruction) const {
  const std::uint32_t id = id_of(function_, instruction);
  return unit_.memory.measured_at(number_of(unit_, probe), id) != id;
}

const MemorySite* RoutineCopies::memory_site(const Probe& probe, const Site& site) const {
  return unit_.memory.find(number_of(unit_, probe), id_of(function_, *site.instruction));
}

// ---- routines

void RoutineCopies::add_prepared(Probe& probe, const Site& site, CodeBuilder& code) {
  values_.add_preparation(probe, site, code);
  add(probe, site, code);
}

void RoutineCopies::add(Probe& probe, const Site& site, CodeBuilder& code) {
  ++probe.sites;
  unit_.spliced.routine_functions.use(routine_at(probe, site).functions());
  SiteBinding binding;
  // Device functions without a frame have no parameter slots either.
  if (!function_.function->is_entry && registers_.frame) binding.slots = ParameterSlots(*registers_.frame);
  binding.first = probe.first;
  binding.state = [&](std::uint32_t index) { return CodeOperand(registers_.states[index]); };
  const std::optional<Label> in_row = add_skip_of_rows(probe, site, code);
  add_routine(probe, site, binding, code);
  if (in_row) code.place(*in_row);
}

void RoutineCopies::add_routine(const Probe& probe, const Site& site, SiteBinding& binding,
                                CodeBuilder& code) {
  const std::vector<SiteTally> tallies = tallies_.at(probe, site);
  if (const std::optional<std::int64_t> step = lane_step(probe, site))
    return add_stepped_sectors(probe, site, *step, tallies, code);
  // With lane values, the routine is short.
  const bool is_short = site.routine != nullptr;
  if (!is_short && outliner_.is_outlined(probe, tallies)) {
    binding.site_value = [&](std::string_view name) { return values_.operand(probe, name, site); };
    return outliner_.add_call(probe, binding, tallies, code);
  }
  if (compares_sectors(probe, site)) return add_sectors(probe, site, tallies, code);
  std::optional<Label> apart;
  if (is_short) {
    if (const VirtualRegister* const lanes = lane_register(site, bank_lanes_value)) {
      apart = add_skip_of_apart(probe, site, *lanes, code);
      add_banks_of_some(probe, site, *lanes, binding, code);
    }
  }
  add_copy(probe, site, binding, tallies, code);
  tallies_.add_flushes(probe, site, code);
  if (apart) code.place(*apart);
}

void RoutineCopies::add_copy(const Probe& probe, const Site& site, SiteBinding& binding,
                             std::vector<SiteTally> tallies, CodeBuilder& code) {
  for (SiteTally& tally : tallies) {
    if (tally.storage.is_bit()) tally.reg = code.fresh(RegisterType::b32);
  }
  binding.site_value = [&](std::string_view name) -> std::optional<CodeOperand> {
    if (is_lane_value(name)) return *lane_register(site, name);
    if (site.routine != nullptr && name == "memory_address") {
      // Addresses at sector boundaries are compared with the lane's value once, before a loop.
      const MemorySite* const known = memory_site(probe, site);
      if (known != nullptr && known->is_even) return 0;
    }
    if (!name.starts_with(tally_prefix)) return values_.operand(probe, name, site);
    const auto tally = std::ranges::find(tallies, name, &SiteTally::name);
    if (tally == tallies.end() || !tally->storage) return std::nullopt;
    return tally->reg;
  };
  if (site.point != ProbePoint::kernel_entry)
    entry_values_.bind(routine_at(probe, site), site.block, binding);
  Code copy = routine_at(probe, site).copy(binding, names_);
  std::erase_if(tallies, [&](const SiteTally& tally) {
    return !tally.storage.is_bit() || tallies_.set_bit_in(copy, tally.storage, tally.reg);
  });
  for (const SiteTally& tally : tallies) code.mov(tally.reg, 0);
  code.append(std::move(copy));
  for (const SiteTally& tally : tallies) tallies_.add_bit(tally.storage, tally.reg, code);
}

// ---- sectors

/// True if the only work at the site is to determine, at the access itself, which lane is the first in its
/// sector.
bool RoutineCopies::compares_sectors(const Probe& probe, const Site& site) const {
  if (site.instruction == nullptr) return false;
  const MemoryAccesses accesses = memory_accesses(*site.instruction);
  return SectorLanes::is_possible(unit_) && probe.effect == ProbeEffect::measures_sectors &&
         !lane_step(probe, site) && site.routine == nullptr && site.point == ProbePoint::instruction &&
         !site.instruction->guarded() && unit_.counting.plan != nullptr && accesses.count == 1 &&
         accesses.access[0].follows_from_lanes() && !accesses.access[0].selects_lanes() &&
         !outliner_.is_outlined(probe, tallies_.at(probe, site));
}

/// Returns the block's last instruction whose lanes are compared.
std::optional<std::uint32_t> RoutineCopies::last_compared_in(std::uint32_t block) const {
  const BasicBlock& range = function_.graph().blocks[block];
  for (std::uint32_t i = range.end; i-- > range.begin;) {
    const Instruction& instruction = body_.instructions[i];
    if (!instruction.traits.is_memory_access()) continue;
    const auto is_compared = [&](const Probe& probe) {
      return probe.effect == ProbeEffect::measures_sectors &&
             is_at(probe, ProbePoint::instruction, instruction) &&
             !is_measured_elsewhere(probe, instruction) &&
             compares_sectors(probe, site_at(probe, block, instruction));
    };
    if (std::ranges::any_of(unit_.spliced.probes, is_compared)) return i;
  }
  return std::nullopt;
}

void RoutineCopies::add_sectors(const Probe& probe, const Site& site, const std::vector<SiteTally>& tallies,
                                CodeBuilder& code) {
  CodeBuilder increments(names_);
  for (const SiteTally& tally : tallies) {
    if (tally.storage) tallies_.add_one(tally.storage, sectors_.first(), increments);
  }
  sectors_.add_access(index_of(function_, *site.instruction), values_.operand(probe, "memory_address", site),
                      increments.take(), code);
}

std::optional<std::int64_t> RoutineCopies::lane_step(const Probe& probe, const Site& site) const {
  if (probe.effect != ProbeEffect::measures_sectors || site.point != ProbePoint::instruction ||
      unit_.counting.plan == nullptr)
    return std::nullopt;
  const MemorySite* const known = memory_site(probe, site);
  return known == nullptr ? std::nullopt : known->lane_step;
}

void RoutineCopies::add_stepped_sectors(const Probe& probe, const Site& site, std::int64_t step,
                                        const std::vector<SiteTally>& tallies, CodeBuilder& code) {
  const VirtualRegister first =
      SectorLanes::first_of_steps(values_.operand(probe, "memory_address", site), step, code);
  for (const SiteTally& tally : tallies) {
    if (tally.storage) tallies_.add_one(tally.storage, first, code);
  }
}

// ---- rows

/// If full-row warps need not be counted, branches to the returned label for them, and counts one for the
/// others.
std::optional<Label> RoutineCopies::add_skip_of_rows(const Probe& probe, const Site& site,
                                                     CodeBuilder& code) {
  if (site.instruction == nullptr) return std::nullopt;
  const MemorySite* const known = memory_site(probe, site);
  if (known == nullptr || !known->rows) return std::nullopt;
  const TallyStorage exception = tallies_.exception_at(probe, site);
  if (!exception) return std::nullopt;
  const Label label = code.fresh_label();
  if (const VirtualRegister* const row = lane_register(site, lane_row_value)) {
    const VirtualRegister offset = offset_in_row(probe, site, *known->rows, *row, code);
    const VirtualRegister is_row = code.pred("setp.eq.u32", {offset, 0});
    code.branch_if(CodePredicate(is_row), label);
  }
  tallies_.add_mark(exception, code.elect_leader(code.active_mask()), code);
  return label;
}

/// Returns 0 if the warp is as expected.
VirtualRegister RoutineCopies::offset_in_row(const Probe& probe, const Site& site, const RowSectors& rows,
                                             VirtualRegister row, CodeBuilder& code) {
  if (rows.is_anywhere) return code.b32("and.b32", {row, 1});
  const VirtualRegister low = code.b32("cvt.u32.u64", {values_.operand(probe, "memory_address", site)});
  const VirtualRegister of_first = code.b32("add.u32", {low, row});
  const VirtualRegister distance = code.b32("add.u32", {of_first, 32 - rows.offset});
  return code.b32("and.b32", {distance, 31});
}

// ---- banks

/// Accesses to 4-byte words have no conflicts if no two lanes share a bank: branches to the returned label in
/// that case. nullopt: there is always something to add.
std::optional<Label> RoutineCopies::add_skip_of_apart(const Probe& probe, const Site& site,
                                                      VirtualRegister lanes, CodeBuilder& code) {
  const std::optional<MemoryAccess> access = probe.access_at(*site.instruction);
  if (!access || access->bytes > 4 || probe.effect != ProbeEffect::measures_banks) return std::nullopt;
  const Label apart = code.fresh_label();
  const VirtualRegister is_apart = code.pred("setp.eq.b32", {lanes, 0});
  code.branch_if(CodePredicate(is_apart), apart);
  return apart;
}

/// Given each lane's conflict mask, counts conflicts among the active lanes.
void RoutineCopies::add_banks_of_some(const Probe& probe, const Site& site, VirtualRegister lanes,
                                      SiteBinding binding, CodeBuilder& code) {
  Site known = site;
  known.routine = &unit_.spliced.lane_routines.find(banks_of_some_lanes_value)->second;
  unit_.spliced.routine_functions.use(known.routine->functions());
  values_.add_preparation(probe, known, code);
  binding.site_value = [&](std::string_view name) -> CodeOperand {
    if (name == lane_result_value) return *lane_register(site, hoisted_banks_value);
    return name == bank_lanes_value ? lanes : values_.operand(probe, name, known);
  };
  code.append(known.routine->copy(binding, names_));
}

}  // namespace lynxpp::ptx
