// Values that the routines in a function's loops read from registers, filled at the function's entry: one
// register for each value, shared by all routines.
#pragma once

#include <vector>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class KeptValues {
 public:
  KeptValues(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit), function_(function) {}

  /// Lets a copy of `routine` in `block` take its invariants from registers; leaves `binding` as it is
  /// outside of loops and where there are enough registers of this kind already.
  void bind(const ProbeRoutine& routine, std::uint32_t block, SiteBinding& binding);

  /// Fills the registers. After everything else that is inserted at the entry.
  void insert();

 private:
  struct Kept {
    Code computation;  ///< with names of its own: equal where the value is
    VirtualRegister reg;
  };
  const Kept* find(const Code& computation) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  std::vector<Kept> kept_;
  Code code_;                ///< that fills them
  std::uint32_t units_ = 0;  ///< of 32 bits
};

}  // namespace lynxpp::ptx
