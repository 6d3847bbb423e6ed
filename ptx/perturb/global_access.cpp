// Global accesses. `again` loads at the same offsets in another part of the same allocation: the same sectors
// and lines per warp, but other ones, which the caches do not hold because of the access itself. `harmless`
// loads from consecutive addresses, of one line or few, in the same allocation. The program's load waits for
// the added one, in both forms (dependence.h).
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   cvt.u32.u64 low, %rd4;  add low, low, 8;
//                                      add low, low, rotation;  and low, low, mask;  add low, low, own;
//                                      cvt.u64.u32 offset, low;  add.u64 address, begin, offset;
//                                      ld.global.f32 result, [address];
//                                      …%rd4 plus an unknown 0 from `result`…
//                                      ld.global.f32 %f1, [after+8];
// `own` is 0 in the form `again`, and `mask` is 0 in the form `harmless`; the assembler knows neither.
//
// A store is repeated as a store of the same value to the scratch buffer, at the same offset modulo the
// buffer's size: it covers the same sectors, completely or partly. `harmless` stores to consecutive
// addresses, a word of its own for each thread. Nothing waits for stores.
#include <algorithm>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/region_address.h"

namespace lynxpp::ptx {
namespace {

class GlobalAccess : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const Op op = instruction.op();
    return (op == Op::ld || op == Op::ldu || op == Op::st) && instruction.traits.space == StateSpace::global;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    const MemoryAccess& access = accesses.access[0];
    if (accesses.count != 1 || !access.follows_from_lanes())
      return left_out("an asynchronous or bulk access");
    if (site.has(Modifier::mmio)) return left_out("an access to a device");
    return access.writes ? add_store(to, access) : add_load(to, access);
  }

 private:
  static Outcome add_load(Additions& to, const MemoryAccess& access) {
    const Instruction& site = to.site();
    const auto results = to.results(access.bytes / site.traits.vector, site.traits.vector);
    if (!results) return left_out("its size is unknown");
    const std::optional<RegionAddress> address = region_address(to, *access.address, access.bytes);
    if (!address) return left_out("no address to repeat it with");
    std::vector<CodeOperand> operands{vector_of(*results), CodeAddress{address->address, 0}};
    for (std::size_t i = 2; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    if (wait_at_address(to, *access.address, *results)) return {true, address->note};
    to.keep(*results);
    return address->note.empty() ? independent() : Outcome{true, address->note};
  }

  static Outcome add_store(Additions& to, const MemoryAccess& access) {
    const Instruction& site = to.site();
    const std::optional<VirtualRegister> address = scratch_address(to, *access.address, access.bytes);
    if (!address) return left_out("no address to repeat it with");
    std::vector<CodeOperand> operands;
    for (const Operand& each : site.operands) {
      const bool is_target = &each == access.address;
      operands.push_back(is_target ? CodeOperand(CodeAddress{*address, 0}) : CodeOperand(to.text(each)));
    }
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    return {};
  }
};

}  // namespace

std::unique_ptr<OperationCode> global_access_code() { return std::make_unique<GlobalAccess>(); }

}  // namespace lynxpp::ptx
