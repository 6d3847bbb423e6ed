// Global accesses. `again` loads at the same offsets in another part of the same allocation: the same sectors
// and lines per warp, but other ones, which the caches do not hold because of the access itself. `harmless`
// loads from consecutive addresses, of one line or few, in the same allocation. Stores are repeated as loads:
// nothing may be overwritten.
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   cvt.u32.u64 low, %rd4;  add low, low, 8;
//                                      add low, low, rotation;  and low, low, mask;  add low, low, own;
//                                      cvt.u64.u32 offset, low;  add.u64 address, begin, offset;
//                                      ld.global.b32 result, [address];  xor.b32 sink, sink, result;
//                                      ld.global.f32 %f1, [%rd4+8];
// `own` is 0 in the form `again`, and `mask` is 0 in the form `harmless`; the assembler knows neither.
#include <algorithm>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/memory_regions.h"
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
    const auto results = to.results(access.bytes / site.traits.vector, site.traits.vector);
    if (!results) return left_out("its size is unknown");
    const std::optional<RegionAddress> address =
        region_address(to, *access.address, access.bytes, access.writes);
    if (!address) return left_out("no address to repeat it with");
    emit(to, access, *results, address->address);
    to.keep(*results);
    std::string note = address->note;
    if (access.writes)
      note += (note.empty() ? "" : "; ") + std::string("a load of an equal number of sectors");
    return {true, std::move(note)};
  }

 private:
  static void emit(Additions& to, const MemoryAccess& access, const std::vector<VirtualRegister>& results,
                   VirtualRegister address) {
    const Instruction& site = to.site();
    std::vector<CodeOperand> operands{vector_of(results), CodeAddress{address, 0}};
    std::string opcode(site.opcode);
    if (access.writes) {
      opcode = "ld.global";
      if (results.size() > 1) opcode += ".v" + std::to_string(results.size());
      opcode += ".b" + std::to_string(8 * access.bytes / results.size());
    } else {
      for (std::size_t i = 2; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    }
    to.code().emit_if(to.guard(), opcode, std::move(operands));
  }
};

}  // namespace

std::unique_ptr<OperationCode> global_access_code() { return std::make_unique<GlobalAccess>(); }

}  // namespace lynxpp::ptx
