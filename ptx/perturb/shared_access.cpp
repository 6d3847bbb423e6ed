// Shared accesses. `again` loads from the same address, so from the same banks; a store is repeated as a
// load, because another thread may have written in between. `harmless` loads from consecutive addresses,
// without conflicts, in a shared array of the kernel. The program's load waits for the added one, in both
// forms (dependence.h):
//
//   ld.shared.f32 %f1, [%r4];     ▶   ld.shared.b32 result, [%r4];
//                                     and.b32 none, result, zero;  xor.b32 after, %r4, none;
//                                     ld.shared.f32 %f1, [after];
//   ld.shared.f32 %f2, [%r4+4];   ▶   ld.shared.b32 result2, [%r4+4];  xor.b32 sink, sink, result2;
//                                     ld.shared.f32 %f2, [after+4];
// Loads of one basic block from one register wait once, so that the assembler can combine them, and the added
// ones, into wider loads as it does in the original. Nothing waits for an added load that repeats a store; it
// is volatile, which keeps it, as are all of the form `harmless`, which have one address.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/shared_lanes.h"

namespace lynxpp::ptx {
namespace {

bool is_matrix(const Instruction& instruction) {
  return instruction.op() == Op::ldmatrix || instruction.op() == Op::stmatrix;
}

class SharedAccess : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const bool is_transfer =
        instruction.op() == Op::ld || instruction.op() == Op::st || is_matrix(instruction);
    return is_transfer && instruction.traits.space == StateSpace::shared;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    if (accesses.count != 1 || accesses.access[0].address == nullptr || !accesses.access[0].is_sized ||
        accesses.access[0].is_bulk)
      return left_out("an asynchronous or bulk access");
    if (site.has(Modifier::shared_cluster)) return left_out("the shared memory of another block");
    const MemoryAccess& access = accesses.access[0];
    const std::optional<CodeAddress> address = address_of(to, access);
    if (!address) return left_out("no address to repeat it with");
    return is_matrix(site) ? add_matrix(to, *address) : add_load(to, access, *address);
  }

 private:
  std::optional<CodeAddress> address_of(Additions& to, const MemoryAccess& access) {
    const std::optional<CodeRegister> base = to.base_of(*access.address);
    if (!base || !SharedLanes::has_room(to, access.bytes)) return std::nullopt;
    if (to.is_again()) return CodeAddress{*base, access.address->offset};
    return CodeAddress{lanes_.address(to, access.bytes), 0};
  }

  Outcome add_load(Additions& to, const MemoryAccess& access, const CodeAddress& address) {
    const Instruction& site = to.site();
    const std::uint32_t elements = site.traits.vector;
    const std::uint32_t bytes = access.bytes / elements;
    const auto results = bytes == 16 ? to.results(8, 2 * elements) : to.results(bytes, elements);
    if (!results) return left_out("its size is unknown");
    const std::size_t count = results->size();
    const std::string vector = count == 1 ? "" : ".v" + std::to_string(count);
    const bool waits = !access.writes && size_of(to.type_of(access.address->elements[0])) == 4;
    to.code().emit_if(to.guard(),
                      (waits && to.is_again() ? "ld.shared" : "ld.volatile.shared") + vector + ".b" +
                          std::to_string(8 * access.bytes / count),
                      {vector_of(*results), address});
    if (waits) wait(to, *access.address, *results);
    return {true, access.writes ? "a load of the same banks" : ""};
  }

  /// Makes the site wait, or, if an earlier one of its block with the same register does, use its copy.
  void wait(Additions& to, const Operand& address, const std::vector<VirtualRegister>& results) {
    const std::uint32_t site = to.site_index();
    const RegisterId base = to.analyses().registers().find(address.elements[0].name, site);
    const ValueId value = to.analyses().ssa().read_of(site, base);
    const auto [known, is_new] = copies_.try_emplace({to.analyses().graph().block_of[site], value});
    if (is_new) {
      known->second = *wait_at_address(to, address, results);
    } else {
      to.replace(address, CodeAddress{known->second, address.offset});
      to.keep(results);
    }
  }

  /// An added load of a matrix is not volatile: the sink keeps it, and an unknown 0 in its address.
  static Outcome add_matrix(Additions& to, const CodeAddress& address) {
    const Instruction& site = to.site();
    const bool is_load = site.op() == Op::ldmatrix;
    if (!is_load && site.opcode.find(".b16") == std::string_view::npos)
      return left_out("no such load exists");
    const Operand& registers = is_load ? site.operands[0] : site.operands[1];
    const auto results =
        to.results(4, std::max<std::uint32_t>(1, static_cast<std::uint32_t>(registers.elements.size())));
    // The program's address takes part in both forms: equal loads would become one.
    const VirtualRegister zero = to.word(HiddenSlot::Kind::zero);
    CodeBuilder& code = to.code();
    const std::optional<VirtualRegister> low = to.low_address(*memory_accesses(site).access[0].address);
    if (!low) return left_out("no address to repeat it with");
    const VirtualRegister own = to.is_again() ? to.lane_offset(1) : std::get<VirtualRegister>(address.base);
    const VirtualRegister at =
        code.b32("add.u32", {code.b32(to.is_again() ? "or.b32" : "and.b32", {*low, zero}), own});
    const std::string opcode = is_load ? std::string(site.opcode) : "ld" + std::string(site.opcode.substr(2));
    const CodeList list{CodeList::Kind::vector, {results->begin(), results->end()}};
    code.emit_if(to.guard(), opcode, {list, CodeAddress{at, 0}});
    if (!is_load || !wait_at_address(to, *memory_accesses(site).access[0].address, *results))
      to.keep(*results);
    return {true, is_load ? "" : "a load of the same banks"};
  }

  SharedLanes lanes_;
  std::map<std::pair<std::uint32_t, ValueId>, VirtualRegister> copies_;  ///< of addresses, by block and value
};

}  // namespace

std::unique_ptr<OperationCode> shared_access_code() { return std::make_unique<SharedAccess>(); }

}  // namespace lynxpp::ptx
