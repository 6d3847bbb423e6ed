// Loads and stores of local arrays. Both forms access a copy of the array: `again` at the same offset,
// `harmless` at its beginning, where the lanes' words are consecutive. Spills exist only in machine code, and
// cannot be repeated.
//
//   ld.local.f32 %f1, [%rd4];   ▶   cvt.u32.u64 low, %rd4;  sub low, low, array;  and low, low, size - 1;
//                                   add.u32 address, low, __lynxpp_local;
//                                   ld.local.b32 result, [address];  xor.b32 sink, sink, result;
//                                   ld.local.f32 %f1, [%rd4];
#include <bit>
#include <map>
#include <optional>
#include <string>

#include "ptx/ir/memory_access.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t most_bytes = 16 * 1024;

class LocalMemory : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return (instruction.op() == Op::ld || instruction.op() == Op::st) &&
           instruction.traits.space == StateSpace::local;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    const MemoryAccess& access = accesses.access[0];
    if (accesses.count != 1 || !access.follows_from_lanes()) return left_out("an unknown form");
    const std::optional<VirtualRegister> address = address_in_copy(to, *access.address);
    if (!address) return left_out("the array is unknown, or too large for a copy");
    const std::uint32_t bytes = access.bytes / site.traits.vector;
    const auto results = to.results(bytes, site.traits.vector);
    if (!results) return left_out("its size is unknown");
    const std::string type = (results->size() > 1 ? ".v" + std::to_string(results->size()) : "") + ".b" +
                             std::to_string(8 * bytes);
    const CodeAddress target{*address, 0};
    if (access.writes) {
      to.code().emit_if(to.guard(), "st.local" + type, {target, to.text(*stored_operand(site, 0))});
    } else {
      to.code().emit_if(to.guard(), "ld.local" + type, {vector_of(*results), target});
      to.keep(*results);
    }
    return {};
  }

 private:
  struct Copy {
    std::string name;
    std::uint32_t bytes = 0;  ///< a power of two
  };

  std::optional<VirtualRegister> address_in_copy(Additions& to, const Operand& address) {
    const AddressRoot root = to.roots().of_address(to.site_index(), address);
    const Variable* const array =
        root.kind == AddressRoot::Kind::variable ? to.body().find_variable(root.name, 0) : nullptr;
    const std::optional<VirtualRegister> low = to.low_address(address);
    if (array == nullptr || array->space != StateSpace::local || !low) return std::nullopt;
    const Copy* const copy = copy_of(to, *array);
    if (copy == nullptr) return std::nullopt;
    CodeBuilder& code = to.code();
    const VirtualRegister begin = code.b32("mov.u32", {Name{copy->name}});
    const VirtualRegister offset = code.b32("sub.u32", {*low, code.b32("mov.u32", {Name{array->name}})});
    const CodeOperand mask =
        to.is_again() ? CodeOperand(copy->bytes - 1) : CodeOperand(to.word(HiddenSlot::Kind::zero));
    return code.b32("add.u32", {begin, code.b32("and.b32", {offset, mask})});
  }

  const Copy* copy_of(Additions& to, const Variable& array) {
    const auto [known, is_new] = copies_.try_emplace(&array);
    Copy& copy = known->second;
    if (is_new && array.size_bytes() != 0 && array.size_bytes() <= most_bytes) {
      copy.bytes = std::bit_ceil(static_cast<std::uint32_t>(std::max<std::uint64_t>(array.size_bytes(), 16)));
      copy.name = "__lynxpp_local" + std::to_string(copies_.size());
      to.entry().add_text(".local .align 16 .b8 " + copy.name + "[" + std::to_string(copy.bytes) + "];");
    }
    return copy.bytes == 0 ? nullptr : &copy;
  }

  std::map<const Variable*, Copy> copies_;
};

}  // namespace

std::unique_ptr<OperationCode> local_memory_code() { return std::make_unique<LocalMemory>(); }

}  // namespace lynxpp::ptx
