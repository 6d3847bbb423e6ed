// Copies from global to shared memory by cp.async. `again` copies the same bytes twice to the same address,
// in the same group, and moves other lines of the allocation into L2; the source must not change before the
// group is waited for, so both copies write the same. `harmless` only prefetches lines that one block has.
//
//   cp.async.cg.shared.global [%r1], [%rd1], 16;   ▶   …address as for a global access…
//                                                      prefetch.global.L2 [address];
//                                                      cp.async.cg.shared.global [%r1], [%rd1], 16;
//                                                      cp.async.cg.shared.global [%r1], [%rd1], 16;
#include <string>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/region_address.h"

namespace lynxpp::ptx {
namespace {

class AsyncCopy : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return instruction.traits.is_memory_access() && instruction.traits.memory->is_async_copy();
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    if (site.traits.memory->mnemonic != "cp.async")
      return left_out("a barrier object or a group expects a fixed number of bytes");
    const MemoryAccesses accesses = memory_accesses(site);
    const Operand* const source = accesses.count == 2 ? accesses.access[0].address : nullptr;
    if (source == nullptr || accesses.access[1].bytes == 0) return left_out("an unknown form");
    const std::optional<RegionAddress> address =
        region_address(to, *source, accesses.access[1].bytes, HarmlessAccess::one_line);
    if (!address) return left_out("no address to repeat it with");
    to.code().emit_if(to.guard(), "prefetch.global.L2", {CodeAddress{address->address, 0}});
    if (to.is_again()) {
      std::vector<CodeOperand> operands;
      for (const Operand& each : site.operands) operands.emplace_back(to.text(each));
      to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    }
    return {true, address->note};
  }
};

}  // namespace

std::unique_ptr<OperationCode> async_copy_code() { return std::make_unique<AsyncCopy>(); }

}  // namespace lynxpp::ptx
