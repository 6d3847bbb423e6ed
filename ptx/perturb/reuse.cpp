// Loads of global memory whose values the block has loaded before. `again` loads from the program's address
// twice; a cache of the multiprocessor serves the second load, which costs what a redundant one does. The
// program's load waits for the added one (dependence.h).
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   add.u64 same, %rd4, zero;     // 0, which the assembler does not know
//                                      ld.global.f32 result, [same+8];
//                                      …%rd4 plus an unknown 0 from `result`…
//                                      ld.global.f32 %f1, [after+8];
#include <string>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

class Reuse : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const bool is_load = instruction.op() == Op::ld || instruction.op() == Op::ldu;
    return is_load && instruction.traits.space == StateSpace::global;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    const MemoryAccess& access = accesses.access[0];
    if (accesses.count != 1 || !access.follows_from_lanes())
      return left_out("an asynchronous or bulk access");
    if (site.has(Modifier::mmio)) return left_out("an access to a device");
    const auto results = to.results(access.bytes / site.traits.vector, site.traits.vector);
    if (!results) return left_out("no register has its size");
    const std::optional<CodeRegister> base = to.base_of(*access.address);
    if (!base || size_of(to.type_of(access.address->elements[0])) != 8)
      return left_out("no address to repeat it with");
    add_same(to, access, *base, *results);
    return wait_at_address(to, *access.address, *results) ? Outcome{} : left_out("nothing waits for it");
  }

 private:
  static void add_same(Additions& to, const MemoryAccess& access, const CodeRegister& base,
                       const std::vector<VirtualRegister>& results) {
    const Instruction& site = to.site();
    const VirtualRegister same = to.code().b64("add.u64", {base, to.long_word(HiddenSlot::Kind::zero)});
    std::vector<CodeOperand> operands{vector_of(results), CodeAddress{same, access.address->offset}};
    for (std::size_t i = 2; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
  }
};

}  // namespace

std::unique_ptr<OperationCode> reuse_code() { return std::make_unique<Reuse>(); }

}  // namespace lynxpp::ptx
