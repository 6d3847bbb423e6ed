#include "ptx/passes/index_checks.h"

#include <algorithm>

#include "ptx/passes/count_text.h"

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
    for (const auto& [number, checks] : unit.index_checks) {
      const FunctionUnit& function = unit.functions[number];
      const Counter* mark = mark_of(*unit.counting, function);
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
  static const Counter* mark_of(const CountPlan& plan, const FunctionUnit& function) {
    const auto end = function.first_instruction + function.function->body->instructions.size();
    const auto found = std::ranges::find_if(plan.tallies, [&](const auto& each) {
      const Tally& tally = each.first;
      return tally.is_mark && tally.instruction >= function.first_instruction && tally.instruction < end;
    });
    return found == plan.tallies.end() ? nullptr : &found->second;
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
