// Outlines long routines with many sites: one function in the variant, and a call at each site.
//
// The memory and time of ptxas grow faster than linearly with the size of a function, so a variant with
// copies of a long routine at hundreds of sites cannot be assembled. The outlined function receives what the
// routine reads of its site, of the parameter slots and of the thread's state by value, and returns what it
// changes. Immediates that are equal at many sites (such as the size of an access) are specialized into the
// function, so that it contains only what those sites need; each combination of them has its own function.
// Of a routine that begins with a test whether there is anything to do, each site has the test, and calls a
// function for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/passes/probes/tallies.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class Outliner {
 public:
  explicit Outliner(InstrumentationUnit& unit);

  /// True if the sites of the probe with these tallies call the outlined function. Sites with all tallies in
  /// registers are hot and few: they keep copies unless the rule outlines every handler.
  bool is_outlined(const Probe& probe, const std::vector<SiteTally>& tallies) const;

  /// Adds the call that replaces a copy of the routine with `binding`, whose `site_value` supplies all values
  /// except the tallies.
  void add_call(const Probe& probe, const SiteBinding& binding, const std::vector<SiteTally>& tallies,
                CodeBuilder& code);

 private:
  void add_call_of_function(const Probe& probe, const SiteBinding& binding,
                            const std::vector<SiteTally>& tallies, CodeBuilder& code);

  InstrumentationUnit& unit_;
  std::vector<bool> outlined_;  ///< by probe
  /// by probe, and by the values specialized into the function
  std::vector<std::map<std::string, std::uint32_t>> functions_;
};

}  // namespace lynxpp::ptx
