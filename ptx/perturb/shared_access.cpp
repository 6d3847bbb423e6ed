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
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/shared_addresses.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t most_bytes_of_lanes = 32 * 16;

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
    if (!base || find_array(to, access.bytes) == nullptr) return std::nullopt;
    if (to.is_again()) return CodeAddress{*base, access.address->offset};
    return CodeAddress{own_address(to, access.bytes), 0};
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

  /// Returns the address of the lane's element, or of the last one, in find_array().
  VirtualRegister own_address(Additions& to, std::uint32_t bytes) {
    const auto found = own_.find(bytes);
    if (found != own_.end()) return found->second;
    const Variable* const array = find_array(to, bytes);
    CodeBuilder& entry = to.entry();
    const VirtualRegister variable = entry.b32("mov.u32", {Name{array->name}});
    VirtualRegister first = variable;
    if (array->alignment < bytes) {
      first = entry.b32("add.u32", {variable, bytes - 1});
      entry.emit("and.b32", {first, first, ~(bytes - 1)});
    }
    VirtualRegister own = entry.b32("mad.lo.u32", {entry.special("%laneid"), bytes, first});
    if (array->is_extern || array->size_bytes() < most_bytes_of_lanes + bytes) {
      // There is room for one element: otherwise no access of this size would be in an extern array.
      const CodeOperand size = array->is_extern ? CodeOperand(entry.special("%dynamic_smem_size"))
                                                : CodeOperand(array->size_bytes());
      const VirtualRegister end = entry.b32("add.u32", {variable, size});
      const VirtualRegister last = entry.b32("sub.u32", {end, bytes});
      entry.emit("and.b32", {last, last, ~(bytes - 1)});
      own = entry.b32("min.u32", {own, last});
    }
    own_.emplace(bytes, own);
    return own;
  }

  /// Returns the largest shared array with room for an element that the kernel names. An extern array comes
  /// last: it may be empty if the kernel has others. Null without one.
  static const Variable* find_array(const Additions& to, std::uint32_t bytes) {
    const Function& kernel = *to.kernel().function;
    const Variable* best = nullptr;
    const auto rank = [](const Variable& each) { return each.is_extern ? 0 : each.size_bytes(); };
    for (const Variable* each : addressable_shared_variables(to.module(), kernel)) {
      const bool is_declared_first =
          each->text.begin < kernel.text.begin || each->text.end <= entry_position(kernel);
      const bool has_room =
          each->is_extern || each->size_bytes() >= (each->alignment < bytes ? 2 * bytes : bytes);
      if (!is_declared_first || !has_room || !is_named(to, each->name)) continue;
      if (best == nullptr || rank(*each) > rank(*best)) best = each;
    }
    return best;
  }

  static bool is_named(const Additions& to, std::string_view variable) {
    const auto names = [&](const Operand& operand) {
      const auto is_it = [&](const Operand& each) { return each.name == variable; };
      return is_it(operand) || std::ranges::any_of(operand.elements, is_it);
    };
    return std::ranges::any_of(to.body().instructions, [&](const Instruction& instruction) {
      return std::ranges::any_of(instruction.operands, names);
    });
  }

  std::map<std::uint32_t, VirtualRegister> own_;
  std::map<std::pair<std::uint32_t, ValueId>, VirtualRegister> copies_;  ///< of addresses, by block and value
};

}  // namespace

std::unique_ptr<OperationCode> shared_access_code() { return std::make_unique<SharedAccess>(); }

}  // namespace lynxpp::ptx
