// Instruction fetch. `again` jumps over a copy of each block's size, with other instructions, before the
// block: the kernel's code becomes twice as large. `harmless` has one instruction that no lane executes
// instead.
//
//   add.s32 %r3, …;   ▶   setp.eq.u32 always, zero, 0;
//                         @always bra $lynxpp_0;  …operations on accumulators…  $lynxpp_0:
//                         add.s32 %r3, …;
#include <algorithm>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t fetch_chains = 4;
constexpr std::uint32_t least_size = 8;  ///< a line of 128 bytes
constexpr std::uint32_t most_size = 64;  ///< between two branches

/// Returns the number of instructions of the block from this one to the next site; 0 if it is not a site.
std::uint32_t size_from(const FunctionUnit& function, std::uint32_t instruction) {
  const ControlFlowGraph& graph = function.graph();
  const BasicBlock& block = graph.blocks[graph.block_of[instruction]];
  if ((instruction - block.begin) % most_size != 0) return 0;
  const std::uint32_t size = std::min(most_size, block.end - instruction);
  return size < least_size ? 0 : size;
}

class Fetch : public OperationCode {
 public:
  bool selects(const FunctionUnit& function, const Instruction& instruction) const override {
    const Instruction* const first = function.function->body->instructions.data();
    return size_from(function, static_cast<std::uint32_t>(&instruction - first)) != 0;
  }

  Outcome add(Additions& to) override {
    CodeBuilder& code = to.code();
    const VirtualRegister sink = to.accumulator(RegisterType::b32, 0);
    const VirtualRegister always = code.pred("setp.eq.u32", {to.word(HiddenSlot::Kind::zero), 0});
    const Label next = code.fresh_label();
    if (!to.is_again()) {
      // One operation, which is not worth a branch, takes its turn in the sequence.
      code.emit_if(!CodePredicate(always), "mad.lo.u32", {sink, sink, sink, sink});
      return {};
    }
    code.branch_if(always, next);
    const std::uint32_t count = size_from(to.kernel(), to.site_index());
    for (std::uint32_t i = 0; i < count; ++i) {
      const VirtualRegister one = to.accumulator(RegisterType::b32, i % fetch_chains);
      code.emit("mad.lo.u32", {one, one, to.accumulator(RegisterType::b32, (i + 1) % fetch_chains), one});
    }
    code.place(next);
    return {};
  }
};

}  // namespace

std::unique_ptr<OperationCode> fetch_code() { return std::make_unique<Fetch>(); }

}  // namespace lynxpp::ptx
