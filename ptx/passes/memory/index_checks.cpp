#include "ptx/passes/memory/index_checks.h"

#include <map>

#include "ptx/passes/counting/emit/text.h"

namespace lynxpp::ptx {
namespace {

/// Labels of the passes before have the numbers below.
constexpr std::uint32_t first_label = 3u << 29;

const std::string predicate = "%lynxpp_wraps";

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
        unit.edits.insert_before(widens.text.begin, "\n" + text_of(check, reg, *mark, counts) + "\t");
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

  static std::string text_of(const IndexCheck& check, const std::string& reg, const Counter& mark,
                             CountText& counts) {
    std::string text = "\t{\n\t.reg .pred " + predicate + ";\n";
    text += check.is_signed
                ? "\tsetp.lt.s32 " + predicate + ", " + reg + ", " +
                      std::to_string(static_cast<std::int32_t>(check.bound())) + ";\n"
                : "\tsetp.ge.u32 " + predicate + ", " + reg + ", " + std::to_string(check.bound()) + ";\n";
    return text + counts.set_mark(mark, predicate) + "\t}\n";
  }
};

}  // namespace

std::unique_ptr<Pass> make_index_checks_pass() { return std::make_unique<IndexChecks>(); }

}  // namespace lynxpp::ptx
