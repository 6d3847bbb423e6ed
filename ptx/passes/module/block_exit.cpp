#include "ptx/passes/module/block_exit.h"

namespace lynxpp::ptx {

VirtualRegister threads_of_block(CodeBuilder& code) {
  const VirtualRegister row = code.special("%ntid.x");
  const VirtualRegister plane = code.b32("mul.lo.u32", {row, code.special("%ntid.y")});
  return code.b32("mul.lo.u32", {plane, code.special("%ntid.z")});
}

VirtualRegister thread_in_block(CodeBuilder& code) {
  const VirtualRegister rows =
      code.b32("mad.lo.u32", {code.special("%tid.z"), code.special("%ntid.y"), code.special("%tid.y")});
  return code.b32("mad.lo.u32", {rows, code.special("%ntid.x"), code.special("%tid.x")});
}

LanesTogether append_last_exit(CodeBuilder& code, const std::optional<CodePredicate>& guard,
                               const CodeAddress& exited, Label stays) {
  if (guard) code.branch_if(!*guard, stays);
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister here = code.b32("popc.b32", {mask});
  const VirtualRegister rank = code.b32("popc.b32", {code.lanes_below(mask)});
  // Orders this thread's writes before its exit becomes visible.
  code.emit("membar.cta", {});
  const VirtualRegister left = code.b32("mov.b32", {0});
  const VirtualRegister leads = code.pred("setp.eq.u32", {rank, 0});
  code.emit_if(CodePredicate(leads), "atom.shared.add.u32", {left, exited, here});
  // The other lanes hold 0.
  const VirtualRegister reversed = code.b32("brev.b32", {mask});
  const VirtualRegister leader = code.b32("clz.b32", {reversed});
  const VirtualRegister before = code.b32("shfl.sync.idx.b32", {left, leader, 31, mask});
  const VirtualRegister all = code.b32("add.u32", {before, here});
  code.branch_if(CodePredicate(code.pred("setp.ne.u32", {all, threads_of_block(code)})), stays);
  code.emit("membar.cta", {});
  return {rank, here};
}

}  // namespace lynxpp::ptx
