// Values that the routines in a function's loops read from registers: filled at the function's entry, each
// once, whoever wants it.
#pragma once

#include <map>
#include <string>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class KeptValues {
 public:
  KeptValues(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit), function_(function) {}

  /// Lets a copy of `routine` in `block` take its invariants from registers; leaves `binding` as it is
  /// outside of loops and where there are enough registers of this kind already.
  void bind(const ProbeRoutine& routine, std::uint32_t block, SiteBinding& binding);

  /// Declares the registers and fills them. Behind everything else that is inserted at the entry.
  void insert() const;

 private:
  struct Kept {
    std::string name;
    std::uint32_t bits = 0;
  };

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  std::map<std::string, Kept> kept_;  ///< by what computes it, with an empty name for the register
  std::uint32_t units_ = 0;           ///< of 32 bits
};

}  // namespace lynxpp::ptx
