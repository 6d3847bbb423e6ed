#include "ptx/passes/memory/taking_lanes.h"

#include "ptx/passes/probes/operand_reader.h"
#include "support/check.h"

namespace lynxpp::ptx {

std::optional<MemoryAccess> selecting_access(const Instruction& instruction) {
  for (const MemoryAccess& access : memory_accesses(instruction)) {
    if (access.selects_lanes()) return access;
  }
  return std::nullopt;
}

VirtualRegister TakingLanes::size(const Instruction& instruction, const MemoryAccess& access,
                                  CodeBuilder& code) const {
  const VirtualRegister wide = code.b64("mov.b64", {0});
  OperandReader(module_, shared_, *function_.body, instruction, code).add_value(*access.size, 4, wide);
  return code.b32("cvt.u32.u64", {wide});
}

bool TakingLanes::has_own_bytes(const Instruction& instruction, const MemoryAccess& access) const {
  return access.size != nullptr && lane_size(*function_.body, instruction, access) == LaneSize::bytes;
}

CodePredicate TakingLanes::predicate(const Instruction& instruction, const MemoryAccess& access,
                                     CodeBuilder& code) const {
  LYNXPP_CHECK(access.selects_lanes(), "every lane takes part in the access");
  if (access.lanes != MemoryAccess::all_lanes)
    return code.pred("setp.lt.u32", {code.special("%laneid"), access.lanes});
  if (!has_own_bytes(instruction, access))
    return {Name{std::string(access.size->name)}, !access.size->negated};
  return code.pred("setp.ne.b32", {size(instruction, access, code), 0});
}

CodeOperand TakingLanes::bytes(const Instruction& instruction, const MemoryAccess& access,
                               CodeBuilder& code) const {
  if (!has_own_bytes(instruction, access)) return access.bytes;
  const VirtualRegister own = size(instruction, access, code);
  if (!access.is_bulk) code.emit("min.u32", {own, own, access.bytes});
  return own;
}

}  // namespace lynxpp::ptx
