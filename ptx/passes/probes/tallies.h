// The tallies that routines add to: counters of the count plan (ptx/passes/counting), and the code that
// belongs to them at the places where routines stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/counting/emit/tallies.h"
#include "ptx/passes/probes/site.h"

namespace lynxpp::ptx {

/// The names of tallies among a site's values start with it.
inline constexpr std::string_view tally_prefix = "tally_";

/// A tally of a routine at one site: its name among the site's values, and where its numbers go.
struct SiteTally {
  std::string name;
  TallyPlace place;     ///< none: not needed
  VirtualRegister reg;  ///< of one that is no bit
};

/// Of one function.
class Tallies {
 public:
  Tallies(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit), function_(function) {}

  std::vector<SiteTally> at(const Probe& probe, const Site& site) const;
  /// None: warps that are full rows are counted like all others (MemorySite::rows).
  TallyPlace exception_at(const Probe& probe, const Site& site) const;

  /// Adds one in the lanes in which the predicate holds.
  void add_one(const TallyPlace& tally, VirtualRegister predicate, CodeBuilder& code) const;
  /// Makes the mark (Tally::is_mark) or exception more than 0 where the predicate holds.
  void add_mark(const TallyPlace& mark, VirtualRegister predicate, CodeBuilder& code) const {
    set_mark(code, context(), mark, predicate);
  }
  /// Sets the tally's bit where `value` is 1 instead of 0.
  void add_bit(const TallyPlace& tally, VirtualRegister value, CodeBuilder& code) const {
    set_bit_by(code, context(), tally, value);
  }
  /// After a routine: tallies without a register of their own go to memory.
  void add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const;

 private:
  CountContext context() const { return count_context(unit_, unit_.reached.position_of(function_)); }
  TallyPlace find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
};

}  // namespace lynxpp::ptx
