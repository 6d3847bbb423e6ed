#include "ptx/passes/memory/index_checks.h"

#include <map>

#include "ptx/emitter/code_printer.h"
#include "ptx/passes/counting/emit/text.h"
#include "ptx/passes/probes/tallies.h"

namespace lynxpp::ptx {
namespace {

/// Labels of the passes before have the numbers below.
constexpr std::uint32_t first_label = 3u << 29;

class IndexChecks final : public Pass {
 public:
  std::string_view name() const override { return "index-checks"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.counting == nullptr || unit.index_checks.empty()) return false;
    std::uint32_t next_label = first_label;
    const Marks marks = marks_of(*unit.counting);
    for (const auto& [number, checks] : unit.index_checks) {
      const FunctionUnit& function = unit.functions[number];
      const Counter* mark = mark_of(marks, function);
      if (mark == nullptr) continue;
      const CountTarget target{unit.counting->is_wide, unit.target.sm >= 80,    function.function->is_entry,
                               unit.counter_word,      unit.counting->replicas, unit.counting->stride};
      CountText counts(target, next_label);
      for (const IndexCheck& check : checks) {
        const Instruction& widens = function.function->body->instructions[check.instruction];
        const std::string reg(unit.analyses.of(*function.function).registers().registers()[check.reg].name);
        CodeBuilder code(unit.edits.names(*function.function));
        const VirtualRegister wraps =
            check.is_signed ? code.compute(RegisterType::pred, "setp.lt.s32",
                                           {Name{reg}, static_cast<std::int32_t>(check.bound())})
                            : code.compute(RegisterType::pred, "setp.ge.u32", {Name{reg}, check.bound()});
        code.append(code_of_lines(counts.set_mark(*mark, print(wraps))));
        unit.edits.insert_before(widens.text.begin, code.take());
      }
    }
    return true;
  }

 private:
  using Marks = std::map<std::uint32_t, const Counter*>;  ///< by instruction

  static Marks marks_of(const CountPlan& plan) {
    Marks marks;
    for (const auto& [tally, counter] : plan.tallies) {
      if (tally.is_mark) marks.emplace(tally.instruction, &counter);
    }
    return marks;
  }

  static const Counter* mark_of(const Marks& marks, const FunctionUnit& function) {
    const auto end = function.first_instruction + function.function->body->instructions.size();
    const auto found = marks.lower_bound(function.first_instruction);
    return found == marks.end() || found->first >= end ? nullptr : found->second;
  }
};

}  // namespace

std::unique_ptr<Pass> make_index_checks_pass() { return std::make_unique<IndexChecks>(); }

}  // namespace lynxpp::ptx
