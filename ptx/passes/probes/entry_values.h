// Values that routines in a function's loops read from registers set at the function's entry. Each value has
// one register, which all routines share.
#pragma once

#include <vector>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class EntryValues {
 public:
  EntryValues(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit), function_(function) {}

  /// Binds the invariants of a copy of `routine` in `block` to registers. Leaves `binding` unchanged outside
  /// loops and once enough registers of this kind are in use.
  void bind(const ProbeRoutine& routine, std::uint32_t block, SiteBinding& binding);

  /// Inserts the code that sets the registers. Called after everything else at the entry has been inserted.
  void insert();

 private:
  struct Kept {
    Code computation;  ///< with normalized names, so that equal values have equal code
    VirtualRegister reg;
  };
  const Kept* find(const Code& computation) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  std::vector<Kept> kept_;
  Code code_;                ///< sets the registers
  std::uint32_t units_ = 0;  ///< number of 32-bit registers
};

}  // namespace lynxpp::ptx
