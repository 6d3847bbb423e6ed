// Global accesses. `again` loads at the same offsets in another part of the same allocation: the same sectors
// and lines per warp, but other ones, which the caches do not hold because of the access itself. `harmless`
// loads consecutive words of the lines that the first active lane of `again` needs: the best pattern, with as
// many new lines as that lane's. The program's load waits for the added one, in both forms (dependence.h).
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   cvt.u32.u64 low, %rd4;  add low, low, 8;
//                                      add low, low, rotation;  and low, low, mask;  add low, low, own;
//                                      cvt.u64.u32 offset, low;  add.u64 address, begin, offset;
//                                      ld.global.f32 result, [address];
//                                      …%rd4 plus an unknown 0 from `result`…
//                                      ld.global.f32 %f1, [after+8];
// `own` is 0 in the form `again`, which the assembler does not know. The form `harmless` takes `low` from the
// first active lane, and rounds it down.
//
// A store is repeated as a store of the same value to the scratch buffer, at the same offset modulo the
// buffer's size: it covers the same sectors, completely or partly. `harmless` stores to consecutive
// addresses, a word of its own for each thread. Nothing waits for stores.
//
// The class `reuse` has the loads whose values the block has loaded before. `again` loads from the program's
// address twice; a cache of the multiprocessor serves the second load, which costs what a redundant one does.
//
//   ld.global.f32 %f1, [%rd4+8];   ▶   add.u64 same, %rd4, zero;     // 0, which the assembler does not know
//                                      ld.global.f32 result, [same+8];
//                                      …%rd4 plus an unknown 0 from `result`…
//                                      ld.global.f32 %f1, [after+8];
// `harmless` only waits for a copy of the address.
#include <algorithm>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/region_address.h"

namespace lynxpp::ptx {
namespace {

/// Emits the program's load to `results`, from another address.
void add_load_from(Additions& to, const CodeAddress& address, const std::vector<VirtualRegister>& results) {
  const Instruction& site = to.site();
  std::vector<CodeOperand> operands{vector_of(results), address};
  for (std::size_t i = 2; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
  to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
}

Outcome add_load(Additions& to, const MemoryAccess& access) {
  const Instruction& site = to.site();
  const auto results = to.results(access.bytes / site.traits.vector, site.traits.vector);
  if (!results) return left_out("its size is unknown");
  const std::optional<RegionAddress> address =
      region_address(to, *access.address, access.bytes, HarmlessAccess::first_lane_line);
  if (!address) return left_out("no address to repeat it with");
  add_load_from(to, {address->address, 0}, *results);
  if (wait_at_address(to, *access.address, *results)) return {true, address->note};
  to.keep(*results);
  return address->note.empty() ? independent() : Outcome{true, address->note};
}

Outcome add_store(Additions& to, const MemoryAccess& access) {
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

Outcome add_same_load(Additions& to, const MemoryAccess& access) {
  const Instruction& site = to.site();
  const auto results = to.results(access.bytes / site.traits.vector, site.traits.vector);
  if (!results) return left_out("no register has its size");
  const std::optional<CodeRegister> base = to.base_of(*access.address);
  if (!base || size_of(to.type_of(access.address->elements[0])) != 8)
    return left_out("no address to repeat it with");
  if (!to.is_again())
    return wait_at_address(to, *access.address, {}) ? Outcome{} : left_out("nothing waits for it");
  const VirtualRegister same = to.code().b64("add.u64", {*base, to.long_word(HiddenSlot::Kind::zero)});
  add_load_from(to, {same, access.address->offset}, *results);
  return wait_at_address(to, *access.address, *results) ? Outcome{} : left_out("nothing waits for it");
}

class GlobalAccess : public OperationCode {
 public:
  explicit GlobalAccess(bool is_reuse) : is_reuse_(is_reuse) {}

  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const Op op = instruction.op();
    const bool is_chosen = op == Op::ld || op == Op::ldu || (op == Op::st && !is_reuse_);
    return is_chosen && instruction.traits.space == StateSpace::global;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    const MemoryAccess& access = accesses.access[0];
    if (accesses.count != 1 || !access.follows_from_lanes())
      return left_out("an asynchronous or bulk access");
    if (site.has(Modifier::mmio)) return left_out("an access to a device");
    if (is_reuse_) return add_same_load(to, access);
    return access.writes ? add_store(to, access) : add_load(to, access);
  }

 private:
  const bool is_reuse_;
};

}  // namespace

std::unique_ptr<OperationCode> global_access_code() { return std::make_unique<GlobalAccess>(false); }

std::unique_ptr<OperationCode> reuse_code() { return std::make_unique<GlobalAccess>(true); }

}  // namespace lynxpp::ptx
