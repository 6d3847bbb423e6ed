#include "ptx/passes/memory/index_checks.h"

#include <map>
#include <string>

#include "ptx/passes/counting/emit/tallies.h"

namespace lynxpp::ptx {
namespace {

Code code_of(const IndexCheck& check, const std::string& reg, const TallyStorage& mark,
             const CountContext& context) {
  CodeBuilder code(context.unit.edits.names(*context.function.function));
  const VirtualRegister wraps =
      check.is_signed ? code.pred("setp.lt.s32", {Name{reg}, static_cast<std::int32_t>(check.bound())})
                      : code.pred("setp.ge.u32", {Name{reg}, check.bound()});
  set_mark(code, context, mark, wraps);
  return code.take();
}

}  // namespace

Status write_index_checks(InstrumentationUnit& unit) {
  if (unit.counting.plan == nullptr || unit.memory.index_checks.empty()) return success();
  std::map<std::uint32_t, Tally> marks;  // by instruction
  for (const auto& [tally, at] : unit.counting.plan->tallies) {
    if (tally.is_mark) marks.emplace(tally.instruction, tally);
  }
  for (const auto& [number, checks] : unit.memory.index_checks) {
    const FunctionUnit& function = unit.reached.functions[number];
    const auto found = marks.lower_bound(function.first_instruction);
    const auto end = function.first_instruction + function.function->body->instructions.size();
    if (found == marks.end() || found->first >= end) continue;
    const TallyStorage mark = find_tally(unit, found->second);
    const CountContext context = count_context(unit, number);
    for (const IndexCheck& check : checks) {
      const Instruction& widens = function.function->body->instructions[check.instruction];
      const std::string reg(function.analyses->registers().registers()[check.reg].name);
      unit.edits.insert_before(widens.text.begin, code_of(check, reg, mark, context));
    }
  }
  return success();
}

}  // namespace lynxpp::ptx
