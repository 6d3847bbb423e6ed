// Inserts routines at their sites in one function: selects the form of a routine, decides what can be
// skipped, and emits the copy or the call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/memory/lane_value_plan.h"
#include "ptx/passes/memory/sector_lanes.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/probes/entry_values.h"
#include "ptx/passes/probes/outline.h"
#include "ptx/passes/probes/site_values.h"
#include "ptx/passes/probes/tallies.h"

namespace lynxpp::ptx {

/// Emits the code of one function, block by block.
class RoutineCopies {
 public:
  /// The references must outlive this object.
  RoutineCopies(InstrumentationUnit& unit, const FunctionUnit& function, Outliner& outliner);

  SiteValues& values() { return values_; }

  void begin_block(std::uint32_t block);
  /// Before an instruction's routines, and after the instruction.
  void add_before(const Instruction& instruction, CodeBuilder& code) {
    sectors_.add_before(instruction, code);
  }
  void add_after(std::uint32_t instruction, CodeBuilder& code) { sectors_.add_after(instruction, code); }

  /// Returns the site of a probe at the instruction.
  Site site_at(const Probe& probe, std::uint32_t block, const Instruction& instruction) const;
  LaneSite lane_site(const Site& site) const;
  /// True if the routine's tallies are incremented at another instruction, or nowhere.
  bool is_measured_elsewhere(const Probe& probe, const Instruction& instruction) const;

  /// Adds the probe's routine, preceded by the computation of its values.
  void add_prepared(Probe& probe, const Site& site, CodeBuilder& code);
  /// Same, with values computed earlier (SiteValues::add_preparation).
  void add(Probe& probe, const Site& site, CodeBuilder& code);

  /// Called after everything else at the function's entry has been inserted.
  void insert() { entry_values_.insert(); }

 private:
  const MemorySite* memory_site(const Probe& probe, const Site& site) const;
  void add_routine(const Probe& probe, const Site& site, SiteBinding& binding, CodeBuilder& code);
  void add_copy(const Probe& probe, const Site& site, SiteBinding& binding, std::vector<SiteTally> tallies,
                CodeBuilder& code);
  bool compares_sectors(const Probe& probe, const Site& site) const;
  std::optional<std::uint32_t> last_compared_in(std::uint32_t block) const;
  void add_sectors(const Probe& probe, const Site& site, const std::vector<SiteTally>& tallies,
                   CodeBuilder& code);
  std::optional<std::int64_t> lane_step(const Probe& probe, const Site& site) const;
  void add_stepped_sectors(const Probe& probe, const Site& site, std::int64_t step,
                           const std::vector<SiteTally>& tallies, CodeBuilder& code);
  std::optional<Label> add_skip_of_rows(const Probe& probe, const Site& site, CodeBuilder& code);
  const VirtualRegister* lane_register(const Site& site, std::string_view value) const;
  VirtualRegister offset_in_row(const Probe& probe, const Site& site, const RowSectors& rows,
                                VirtualRegister row, CodeBuilder& code);
  std::optional<Label> add_skip_of_apart(const Probe& probe, const Site& site, VirtualRegister lanes,
                                         CodeBuilder& code);
  void add_banks_of_some(const Probe& probe, const Site& site, VirtualRegister lanes, SiteBinding binding,
                         CodeBuilder& code);

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  NameSource& names_;
  const ThreadRegisters& registers_;
  Outliner& outliner_;
  const Tallies tallies_;
  SiteValues values_;
  SectorLanes sectors_;
  EntryValues entry_values_;
};

}  // namespace lynxpp::ptx
