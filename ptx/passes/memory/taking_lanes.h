// Lanes that take part in an access, and their byte counts, if the instruction itself selects them per lane
// (MemoryAccess::selects_lanes): rows of ldmatrix, sizes of copies.
#pragma once

#include "ptx/ir/code_builder.h"
#include "ptx/ir/memory_access.h"
#include "ptx/ir/module.h"
#include "ptx/passes/variant.h"

namespace lynxpp::ptx {

/// Returns the access that selects its lanes; if both sides of a copy do, they select the same lanes.
/// nullopt: all lanes whose guard holds take part.
std::optional<MemoryAccess> selecting_access(const Instruction& instruction);

/// Emits code for one function's accesses.
class TakingLanes {
 public:
  TakingLanes(const Module& module, const SharedVariables& shared, const Function& function)
      : module_(module), shared_(shared), function_(function) {}

  /// Returns a predicate that holds in lanes that take part, and is arbitrary in lanes whose guard does not
  /// hold. Precondition: the access selects its lanes.
  CodePredicate predicate(const Instruction& instruction, const MemoryAccess& access,
                          CodeBuilder& code) const;

  /// Returns the bytes of a lane that takes part: MemoryAccess::bytes, or a register of 32 bits.
  CodeOperand bytes(const Instruction& instruction, const MemoryAccess& access, CodeBuilder& code) const;
  /// False if every lane has MemoryAccess::bytes.
  bool has_own_bytes(const Instruction& instruction, const MemoryAccess& access) const;

 private:
  VirtualRegister size(const Instruction& instruction, const MemoryAccess& access, CodeBuilder& code) const;

  const Module& module_;
  const SharedVariables& shared_;
  const Function& function_;
};

}  // namespace lynxpp::ptx
