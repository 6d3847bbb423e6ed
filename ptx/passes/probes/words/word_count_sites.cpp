#include "ptx/passes/probes/words/word_count_sites.h"

#include <utility>

namespace lynxpp::ptx {

WordCountSites::WordCountSites(InstrumentationUnit& unit, const FunctionUnit& function) : unit_(unit) {
  const std::vector<Instruction>& instructions = function.function->body->instructions;
  NameSource& names = unit.edits.names(*function.function);
  for (const auto& [id, site] : unit.words.sites) {
    const std::uint32_t at = id.first - function.first_instruction;
    if (id.first < function.first_instruction || at >= instructions.size()) continue;
    if (!in_block_) in_block_ = {names.fresh(RegisterType::pred), names.fresh(RegisterType::b32)};
    if (site.loop == no_loop) continue;
    kept_[id] = {&instructions[at], id.second, site, names.fresh(RegisterType::b32),
                 names.fresh(RegisterType::b64)};
  }
}

void WordCountSites::add_entry(CodeBuilder& code) const {
  if (!in_block_) return;
  const VirtualRegister any = code.b32("or.b32", {code.special("%tid.x"), code.special("%tid.y")});
  code.emit("or.b32", {any, any, code.special("%tid.z")});
  code.emit("setp.eq.u32", {is_first_thread(), any, 0});
  code.emit("mul.lo.u32", {threads(), code.special("%ntid.x"), code.special("%ntid.y")});
  code.emit("mul.lo.u32", {threads(), threads(), code.special("%ntid.z")});
  for (const auto& [id, kept] : kept_) {
    code.mov(kept.executions, 0);
    code.mov(kept.address, 0);
  }
}

const WordSite* WordCountSites::find(const LaneSite& site) const {
  const auto found = unit_.words.sites.find(site);
  return found == unit_.words.sites.end() ? nullptr : &found->second;
}

void WordCountSites::add_execution(const LaneSite& site, const CodeOperand& address, CodeBuilder& code) {
  Kept& kept = kept_.at(site);
  if (std::exchange(kept.is_counted, true)) return;
  code.emit("add.u32", {kept.executions, kept.executions, 1});
  code.mov(kept.address, address);
}

WordCountSites::OfWarp WordCountSites::of_warp(const CodeOperand& address, CodeBuilder& code) {
  const VirtualRegister low = code.b32("cvt.u32.u64", {address});
  const VirtualRegister high = code.b32("cvt.u32.u64", {code.b64("shr.u64", {address, 32})});
  const VirtualRegister mask = code.active_mask();
  const VirtualRegister leader = code.b32("clz.b32", {code.b32("brev.b32", {mask})});
  VirtualRegister differs = code.b32("mov.b32", {0});
  for (const VirtualRegister half : {low, high}) {
    const VirtualRegister first = code.b32("shfl.sync.idx.b32", {half, leader, 31, mask});
    code.emit("or.b32", {differs, differs, code.b32("xor.b32", {half, first})});
  }
  const VirtualRegister is_same = code.pred("setp.eq.b32", {differs, 0});
  const VirtualRegister group = code.b32("vote.sync.ballot.b32", {is_same, mask});
  const VirtualRegister lanes = code.b32("popc.b32", {group});
  const VirtualRegister number = code.b32("selp.b32", {lanes, 1, is_same});
  const VirtualRegister lane = code.special("%laneid");
  const VirtualRegister follows = code.pred("setp.ne.u32", {lane, leader});
  code.emit("and.pred", {follows, follows, is_same});
  return {number, follows};
}

}  // namespace lynxpp::ptx
