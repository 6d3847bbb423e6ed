// Sums the cycles that threads wait at barriers of the block, and for groups of asynchronous copies. The
// operation is repeated between two readings of the clock, so that the program's own does not wait. After a
// barrier, the second reading waits for its result.
//
//   bar.sync 0;   ▶   mov.u64 before, %clock64;
//                     barrier.red.or.aligned.pred p, 0, true;  barrier.red.or.aligned.pred q, 0, p;
//                     mov.u64 after, %clock64;  sub.u64 spent, after, before;  add.u64 sum, sum, spent;
//                     bar.sync 0;
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

/// Waits for groups of cp.async.
class CopyWaits : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return instruction.opcode.starts_with("cp.async.wait_");
  }
  Outcome add(Additions& to) override {
    std::vector<CodeOperand> operands;
    for (const Operand& each : to.site().operands) operands.emplace_back(to.text(each));
    to.code().emit_if(to.guard(), std::string(to.site().opcode), std::move(operands));
    return {};
  }
};

VirtualRegister clock_of(CodeBuilder& code) { return code.b64("mov.u64", {SpecialRegister{"%clock64"}}); }

}  // namespace

void time_waits(Additions& to, std::vector<PerturbedSite>& sites) {
  struct Kind {
    Operation operation;
    std::unique_ptr<OperationCode> code;
    std::optional<VirtualRegister> sum;
  };
  const VirtualRegister begin = clock_of(to.entry());
  // True, which the assembler must not know.
  const VirtualRegister has_begun = to.entry().pred("setp.ne.u64", {begin, 0});
  std::array<Kind, 2> kinds{Kind{Operation::barrier, barrier_code(true, has_begun), {}},
                            Kind{Operation::async_copy, std::make_unique<CopyWaits>(), {}}};
  for (std::uint32_t i = 0; i < to.body().instructions.size(); ++i) {
    const auto kind = std::ranges::find_if(
        kinds, [&](const Kind& each) { return each.code->selects(to.kernel(), to.at(i)); });
    if (kind == kinds.end()) continue;
    to.begin(i);
    const VirtualRegister before = clock_of(to.code());
    Outcome outcome = kind->code->add(to);
    if (outcome.is_perturbed) {
      if (!kind->sum) kind->sum = to.entry().b64("mov.u64", {0});
      const VirtualRegister spent = to.code().b64("sub.u64", {clock_of(to.code()), before});
      to.code().emit_if(to.guard(), "add.u64", {*kind->sum, *kind->sum, spent});
      to.insert();
    } else {
      to.discard();
    }
    sites.push_back(describe(to.module(), to.at(i), std::move(outcome)));
  }
  // One lane per warp counts: the lanes wait together.
  const VirtualRegister is_first = to.entry().pred("setp.eq.u32", {to.lane(), 0});
  to.select_results(to.entry().b64("selp.b64", {1, 0, is_first}));
  for (const Kind& each : kinds) {
    if (!each.sum) continue;
    const std::uint32_t word = 2 * static_cast<std::uint32_t>(each.operation);
    to.add_to_result(word, *each.sum);
    to.add_cycles_to_result(word + 1, begin);
  }
}

}  // namespace lynxpp::ptx
