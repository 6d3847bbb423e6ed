// Loads of global memory whose values the block has loaded before. `again` loads from the program's address
// twice; a cache of the multiprocessor serves the second load, which costs what a redundant one does.
// `harmless` loads the same number of bytes from shared memory instead, without conflicts. In both forms, the
// program's load waits for the added one (dependence.h).
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   add.u64 same, %rd4, zero;     // 0, which the assembler does not know
//                                      ld.global.f32 result, [same+8];
//                                      …%rd4 plus an unknown 0 from `result`…
//                                      ld.global.f32 %f1, [after+8];
//                                ▶     ld.volatile.shared.b32 result, [own];  …
#include <string>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/shared_lanes.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t most_bytes = 16;  // of a load of shared memory

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
    if (!results || access.bytes > most_bytes) return left_out("shared memory has no load of this size");
    const std::optional<CodeRegister> base = to.base_of(*access.address);
    if (!base || size_of(to.type_of(access.address->elements[0])) != 8)
      return left_out("no address to repeat it with");
    if (!(to.is_again() ? add_same(to, access, *base, *results) : add_shared(to, access, *results)))
      return left_out("no shared array of the kernel has room");
    return wait_at_address(to, *access.address, *results) ? Outcome{} : left_out("nothing waits for it");
  }

 private:
  static bool add_same(Additions& to, const MemoryAccess& access, const CodeRegister& base,
                       const std::vector<VirtualRegister>& results) {
    const Instruction& site = to.site();
    const VirtualRegister same = to.code().b64("add.u64", {base, to.long_word(HiddenSlot::Kind::zero)});
    std::vector<CodeOperand> operands{vector_of(results), CodeAddress{same, access.address->offset}};
    for (std::size_t i = 2; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    return true;
  }

  bool add_shared(Additions& to, const MemoryAccess& access, const std::vector<VirtualRegister>& results) {
    const std::optional<SharedLanes::Lane> lane = lanes_.lane(to, access.bytes);
    if (!lane) return false;
    const std::size_t count = results.size();
    const std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
    const auto guard = lane->is_there ? std::optional(CodePredicate(*lane->is_there)) : to.guard();
    to.code().emit_if(guard, "ld.volatile.shared" + vector + ".b" + std::to_string(8 * access.bytes / count),
                      {vector_of(results), CodeAddress{lane->address, 0}});
    return true;
  }

  SharedLanes lanes_;
};

}  // namespace

std::unique_ptr<OperationCode> reuse_code() { return std::make_unique<Reuse>(); }

}  // namespace lynxpp::ptx
