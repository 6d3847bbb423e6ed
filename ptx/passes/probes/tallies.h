// The tallies to which routines add: counters of the count plan (ptx/passes/counting), and the code for them
// at the routines' sites.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/emit/tallies.h"
#include "ptx/passes/probes/site.h"

namespace lynxpp::ptx {

/// A tally of a routine at one site: its site value's name, and its storage.
struct SiteTally {
  std::string name;
  TallyStorage storage;  ///< null: not needed
  VirtualRegister reg;   ///< if it is not a bit
};

/// The tallies of one function.
class Tallies {
 public:
  Tallies(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit), function_(function) {}

  std::vector<SiteTally> at(const Probe& probe, const Site& site) const;
  /// Null: full-row warps are counted like all others (MemorySite::rows).
  TallyStorage exception_at(const Probe& probe, const Site& site) const;

  /// Adds one in the lanes in which the predicate holds. Nothing is left to flush.
  void add_one(const TallyStorage& tally, VirtualRegister predicate, CodeBuilder& code) const;
  /// Sets the mark (Tally::is_mark) or exception to a non-zero value where the predicate holds.
  void add_mark(const TallyStorage& mark, VirtualRegister predicate, CodeBuilder& code) const {
    set_mark(code, context(), mark, predicate);
  }
  /// Sets the tally's bit if `value` is 1; `value` is 0 or 1.
  void add_bit(const TallyStorage& tally, VirtualRegister value, CodeBuilder& code) const {
    set_bit_by(code, context(), tally, value);
  }
  /// Lets a routine's copy set the tally's bit where it adds to `reg`. Returns false, and changes nothing,
  /// unless this is the only use of `reg`, and adds one.
  bool set_bit_in(Code& copy, const TallyStorage& tally, VirtualRegister reg) const;
  /// After a routine: adds tallies without a register of their own to memory.
  void add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const;

 private:
  CountContext context() const { return count_context(unit_, unit_.reached.position_of(function_)); }
  TallyStorage find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
};

}  // namespace lynxpp::ptx
