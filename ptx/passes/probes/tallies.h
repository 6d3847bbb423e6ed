// The tallies that routines add to: counters of the count plan (ptx/passes/counting), and the code that
// belongs to them at the places where routines stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/probes/site_values.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A tally of a routine at one site: its name among the site's values, and where its numbers go.
struct SiteTally {
  std::string name;
  const Counter* counter = nullptr;  ///< null: nobody wants them
};

/// Of one function. `next_label` numbers the labels of its code over the whole variant.
class Tallies {
 public:
  Tallies(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t& next_label)
      : unit_(unit), function_(function), next_label_(next_label) {}

  std::vector<SiteTally> at(const Probe& probe, const Site& site) const;
  /// Null: warps that are full rows are counted like all others (InstrumentationUnit::row_sectors).
  const Counter* exception_at(const Probe& probe, const Site& site) const;
  /// The register, for a counter that is no bit.
  static CodeOperand reg(const Counter& counter);

  /// Adds one in the lanes in which the predicate holds.
  void add_one(const Counter& counter, VirtualRegister predicate, CodeBuilder& code) const;
  /// Makes the mark (Tally::is_mark) or exception more than 0 where the predicate holds.
  void add_mark(const Counter& mark, VirtualRegister predicate, CodeBuilder& code) const;
  /// Sets the counter's bit where `raised` is 1 instead of 0.
  static void add_bit(const Counter& counter, VirtualRegister raised, CodeBuilder& code);
  /// Behind a routine: tallies without a register of their own go to memory.
  void add_flushes(const Probe& probe, const Site& site, CodeBuilder& code) const;

  /// In a function of its own: adds `value` to the counter's slot, `slots` being the address of the first one
  /// less what is known of the slot's place.
  static void add_flush(const InstrumentationUnit& unit, const Counter& counter, VirtualRegister value,
                        VirtualRegister slots, std::uint32_t& next_label, CodeBuilder& code);

 private:
  const Counter* find(const Probe& probe, std::uint32_t number, bool is_high, const Site& site) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  std::uint32_t& next_label_;
};

/// Whole lines of text, as lines of code.
Code code_of_lines(std::string_view text);

}  // namespace lynxpp::ptx
