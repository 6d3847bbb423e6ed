// Long routines with many sites: one function in the variant, and a call at each site.
//
// ptxas needs memory and time that grow faster than the code of one function, so copies of a long routine at
// hundreds of sites make a variant that cannot be assembled. The function gets what the routine reads of its
// site, of the hidden parameter and of the thread's state by value and hands back what it changes. Values of
// the site that are immediates and the same at many sites (the size of an access, say) are part of the
// function, so that it holds what those sites need and no more; there is then a function for each of their
// combinations.
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

  /// Whether a call stands at a site of the probe with these tallies. Places with all tallies in registers
  /// run most and are few: they keep copies unless the rule takes every handler.
  bool is_outlined(const Probe& probe, const std::vector<SiteTally>& tallies) const;

  /// Adds the call that stands for a copy of the routine with `binding`, whose site_value is asked for all
  /// values but the tallies.
  void add_call(const Probe& probe, const SiteBinding& binding, const std::vector<SiteTally>& tallies,
                CodeBuilder& code);

 private:
  InstrumentationUnit& unit_;
  std::vector<bool> outlined_;  ///< by probe
  /// by probe, and by what is part of the function
  std::vector<std::map<std::string, std::uint32_t>> functions_;
};

}  // namespace lynxpp::ptx
