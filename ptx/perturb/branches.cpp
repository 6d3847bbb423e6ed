// Forward branches at which a warp may diverge. Both forms add an if and else whose sides execute about the
// branch's number of instructions: `again` with the branch's own condition, so that a warp that diverges
// executes both, `harmless` with a uniform one, so that each warp executes only the longer side.
//
//   @%p1 bra $else;   ▶   @%p1 bra $lynxpp_0;  …operations on accumulators…  bra $lynxpp_1;
//                         $lynxpp_0: …  $lynxpp_1:
//                         @%p1 bra $else;
#include <algorithm>
#include <string>

#include "ptx/analysis/flow/walk.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t branch_chains = 2;
constexpr std::uint32_t most_operations = 48;

class Branches : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return instruction.op() == Op::bra && instruction.guarded();
  }

  Outcome add(Additions& to) override {
    const ControlFlowGraph& graph = to.analyses().graph();
    const std::uint32_t block = graph.block_of[to.site_index()];
    const BasicBlock& from = graph.blocks[block];
    if ((to.analyses().uniformity().of_branch(block) & varies_in_warp) == 0)
      return left_out("a uniform branch");
    const std::uint32_t join = to.analyses().post_dominators()[block];
    if (from.targets.size() != 1 || from.fall_through == no_block || join == no_block)
      return left_out("its paths do not converge");
    if (from.targets[0] <= block) return left_out("a loop");
    const std::uint32_t taken = size_of_side(graph, from.targets[0], block, join);
    const std::uint32_t other = size_of_side(graph, from.fall_through, block, join);
    emit(to, taken, other);
    return {};
  }

 private:
  static std::uint32_t size_of_side(const ControlFlowGraph& graph, std::uint32_t begin, std::uint32_t block,
                                    std::uint32_t join) {
    std::uint32_t instructions = 0;
    walk_blocks(graph, {begin}, join, [&](std::uint32_t each) {
      if (each != block) instructions += graph.blocks[each].size();
      return instructions < most_operations;
    });
    return std::min(instructions, most_operations);
  }

  static void emit(Additions& to, std::uint32_t taken, std::uint32_t other) {
    CodeBuilder& code = to.code();
    const CodePredicate condition =
        to.is_again() ? *to.guard() : uniform(code, to.word(HiddenSlot::Kind::zero), taken > other);
    const Label side = code.fresh_label();
    const Label join = code.fresh_label();
    code.branch_if(condition, side);
    add_operations(to, other);
    code.branch(join);
    code.place(side);
    add_operations(to, taken);
    code.place(join);
  }

  static CodePredicate uniform(CodeBuilder& code, VirtualRegister zero, bool holds) {
    return {code.pred(holds ? "setp.eq.u32" : "setp.ne.u32", {zero, 0})};
  }

  static void add_operations(Additions& to, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const VirtualRegister one = to.accumulator(RegisterType::b32, i % branch_chains);
      const VirtualRegister other = to.accumulator(RegisterType::b32, (i + 1) % branch_chains);
      to.code().emit("mad.lo.u32", {one, one, other, one});
    }
  }
};

}  // namespace

std::unique_ptr<OperationCode> branch_code() { return std::make_unique<Branches>(); }

}  // namespace lynxpp::ptx
