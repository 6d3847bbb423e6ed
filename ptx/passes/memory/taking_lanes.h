// Which lanes take part in an access, and with how many bytes, where the instruction itself decides that lane
// by lane (MemoryAccess::selects_lanes): rows of ldmatrix, sizes of copies.
#pragma once

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// The access of an instruction that selects its lanes; of a copy whose sides both do, they are the same.
/// nullopt: all lanes whose guard holds take part.
std::optional<MemoryAccess> selecting_access(const Instruction& instruction);

/// Emits code for one function's accesses.
class TakingLanes {
 public:
  TakingLanes(const InstrumentationUnit& unit, const FunctionUnit& function)
      : unit_(unit), function_(function) {}

  /// Holds in the lanes that take part. Precondition: the access selects its lanes. Lanes whose guard does
  /// not hold get some value.
  CodePredicate predicate(const Instruction& instruction, const MemoryAccess& access,
                          CodeBuilder& code) const;

  /// The bytes of a lane that takes part: MemoryAccess::bytes, or a register of 32 bits.
  CodeOperand bytes(const Instruction& instruction, const MemoryAccess& access, CodeBuilder& code) const;
  /// False: MemoryAccess::bytes.
  bool has_own_bytes(const Instruction& instruction, const MemoryAccess& access) const;

 private:
  VirtualRegister size(const Instruction& instruction, const MemoryAccess& access, CodeBuilder& code) const;

  const InstrumentationUnit& unit_;
  const FunctionUnit& function_;
};

}  // namespace lynxpp::ptx
