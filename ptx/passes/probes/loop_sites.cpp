#include "ptx/passes/probes/loop_sites.h"

#include <algorithm>

#include "ptx/passes/probes/site_values.h"

namespace lynxpp::ptx {
namespace {

bool is_at_loop(const Probe& probe) {
  return probe.enabled && (probe.point == ProbePoint::loop_entry ||
                           probe.point == ProbePoint::loop_iteration || probe.point == ProbePoint::loop_exit);
}

/// True if the instruction may transfer control to an instruction other than the next one.
bool jumps(const Instruction& last) {
  return last.traits.kind == OpcodeClass::branch || last.traits.kind == OpcodeClass::exit;
}

}  // namespace

LoopSites::LoopSites(InstrumentationUnit& unit, const FunctionUnit& function, SiteValues& values,
                     AddProbes add)
    : function_(function),
      names_(unit.edits.names(*function.function)),
      values_(values),
      loops_(function.analyses->loops()),
      add_(std::move(add)),
      counts_trips_(values.wants(loop_trips_value)),
      is_needed_(counts_trips_ || std::ranges::any_of(unit.spliced.probes, is_at_loop)) {}

void LoopSites::add_function_entry(CodeBuilder& code) const {
  if (!is_needed_) return;
  for (std::uint32_t loop = 0; counts_trips_ && loop < loops_.loops().size(); ++loop)
    code.mov(values_.trips_of(loop), 0);
  const std::uint32_t begun = function_.graph().blocks.empty() ? no_loop : loop_begun_by(loops_, 0);
  if (begun != no_loop) add_(ProbePoint::loop_entry, begun, 0, code);
}

void LoopSites::add_block_start(std::uint32_t block, CodeBuilder& code) const {
  const std::uint32_t begun = is_needed_ ? loop_begun_by(loops_, block) : no_loop;
  if (begun == no_loop) return;
  if (counts_trips_) code.emit("add.u64", {values_.trips_of(begun), values_.trips_of(begun), 1});
  add_(ProbePoint::loop_iteration, begun, block, code);
}

void LoopSites::add_before_end(std::uint32_t block, const Instruction& last, CodeBuilder& code) const {
  if (!is_needed_ || !jumps(last)) return;
  for (const LoopEdge& edge : loop_edges(function_.graph(), loops_, block)) {
    if (!edge.falls_through) add_where_taken(block, last, edge.target, probes_of(edge, block), code);
  }
}

void LoopSites::add_after_end(std::uint32_t block, const Instruction& last, CodeBuilder& code) const {
  if (!is_needed_) return;
  for (const LoopEdge& edge : loop_edges(function_.graph(), loops_, block)) {
    if (edge.falls_through || !jumps(last)) code.append(probes_of(edge, block));
  }
}

/// Also resets the iteration counts of the loops that the edge exits, in case they are entered again.
Code LoopSites::probes_of(const LoopEdge& edge, std::uint32_t block) const {
  CodeBuilder code(names_);
  for (const std::uint32_t loop : edge.left) {
    add_(ProbePoint::loop_exit, loop, block, code);
    if (counts_trips_) code.mov(values_.trips_of(loop), 0);
  }
  if (edge.entered != no_loop) add_(ProbePoint::loop_entry, edge.entered, block, code);
  return code.take();
}

/// Adds `probes` for the lanes that the block's last instruction sends to `target`.
void LoopSites::add_where_taken(std::uint32_t block, const Instruction& last, std::uint32_t target,
                                Code probes, CodeBuilder& code) const {
  if (probes.empty()) return;
  const std::vector<std::uint32_t>& targets = function_.graph().blocks[block].targets;
  const bool has_table = target != no_block && last.op() == Op::brx;
  const bool is_constant = has_table && last.operands[0].kind == OperandKind::integer;
  if (is_constant) {
    const auto entry = static_cast<std::size_t>(last.operands[0].integer);
    if (entry >= targets.size() || targets[entry] != target) return;
  }
  const Label elsewhere = code.fresh_label();
  if (const std::optional<CodePredicate> guard = predicate_of(last.guard)) code.branch_if(!*guard, elsewhere);
  if (has_table && !is_constant) {
    const Name index{std::string(last.operands[0].name)};
    std::optional<VirtualRegister> leads_there;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] != target) continue;
      const VirtualRegister is_entry = code.pred("setp.eq.u32", {index, i});
      if (leads_there) {
        code.emit("or.pred", {*leads_there, *leads_there, is_entry});
      } else {
        leads_there = is_entry;
      }
    }
    code.branch_if(!CodePredicate(*leads_there), elsewhere);
  }
  code.append(std::move(probes));
  code.place(elsewhere);
}

}  // namespace lynxpp::ptx
