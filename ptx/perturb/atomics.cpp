// Atomic operations. On global memory, `again` performs the same operation at the same address, where others
// contend for it, with an operand that preserves every value, such as 0 for sums. `harmless` performs it at
// an address of the thread's own in the scratch buffer.
//
//   red.global.add.u32 [%rd2], %r1;   ▶   red.global.add.u32 [%rd2], zero;
//                                         red.global.add.u32 [%rd2], %r1;
// The assembler does not know that `zero` is 0. Other operations, and those on shared memory, are performed
// on a copy: in the scratch buffer, or in an additional shared array, at the address's low bits, so that
// lanes and warps contend for it like for the original.
//
//   atom.shared.add.u32 %r3, [%r2], 1;   ▶   mov.b32 low, %r2;  and low, low, 4095;  add low, low, own;
//                                            add.u32 address, __lynxpp_copy, low;
//                                            atom.shared.add.u32 result, [address], 1;
//                                            xor.b32 sink, sink, result;
//                                            atom.shared.add.u32 %r3, [%r2], 1;
// The result is unused if the program does not use its own: the machine operation is then the same reduction.
#include <algorithm>
#include <bit>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/module/shared_addresses.h"
#include "ptx/perturb/operation_code.h"
#include "ptx/perturb/region_address.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view copy_name = "__lynxpp_copy";
constexpr std::uint64_t most_static_bytes = 48 * 1024;
constexpr std::uint32_t most_copy_bytes = 4096;
constexpr std::uint32_t least_copy_bytes = 256;

class Atomics : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return instruction.op() == Op::atom || instruction.op() == Op::red;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const MemoryAccesses accesses = memory_accesses(site);
    const MemoryAccess& access = accesses.access[0];
    if (accesses.count != 1 || !access.follows_from_lanes() || site.traits.memory->mnemonic == "red.async")
      return left_out("an asynchronous operation");
    if (site.has(Modifier::shared_cluster)) return left_out("the shared memory of another block");
    const bool is_shared = access.space == StateSpace::shared;
    const std::optional<CodeOperand> operand = is_shared ? std::nullopt : preserving_operand(to);
    if (operand && to.is_again()) {
      const std::optional<CodeRegister> base = to.base_of(*access.address);
      if (!base) return left_out("no address to repeat it with");
      return outcome(emit(to, access, CodeAddress{*base, access.address->offset}, operand), {});
    }
    const std::optional<VirtualRegister> address =
        is_shared ? copy_address(to, access) : scratch_address(to, *access.address, access.bytes);
    if (!address)
      return left_out(is_shared ? "no room for a copy in shared memory" : "no address to repeat it with");
    return outcome(emit(to, access, CodeAddress{*address, 0}, operand),
                   is_shared || operand ? "" : "other addresses, with the same conflicts within a warp");
  }

 private:
  static Outcome outcome(bool is_emitted, std::string note) {
    return is_emitted ? Outcome{true, std::move(note)} : left_out("its size is unknown");
  }

  /// Returns the operand with which the operation preserves every value; nullopt without such an operand.
  static std::optional<CodeOperand> preserving_operand(Additions& to) {
    const Instruction& site = to.site();
    const DataType type = site.traits.type;
    const bool is_floating = type == DataType::f32 || type == DataType::f64;
    const bool is_signed = type == DataType::s32 || type == DataType::s64;
    const std::uint32_t bytes = size_of(type);
    const auto has = [&](std::string_view part) { return site.opcode.find(part) != std::string_view::npos; };
    if (site.traits.vector > 1 || (bytes != 4 && bytes != 8)) return std::nullopt;
    constexpr std::uint32_t sign = 0x80000000, ones = 0xffffffff;
    if (has(".add") && is_floating) {
      // A sum with -0 preserves numbers, but may flush a subnormal number and change a NaN, as the program's
      // own sum does next; the program must not read the value in between.
      return returns_value(to) ? std::nullopt : std::optional(number(to, bytes, sign, 0));
    }
    if (is_floating || has("x2.") || has(".inc") || has(".dec") || has(".exch") || has(".cas"))
      return std::nullopt;
    if (has(".min") && is_signed) return number(to, bytes, ~sign, ones);
    if (has(".min") || has(".and")) return number(to, bytes, ones, ones);
    if (has(".max") && is_signed) return number(to, bytes, sign, 0);
    return number(to, bytes, 0, 0);
  }

  /// Returns a number of 4 or 8 bytes that the assembler does not know: `high`, or `high` and `low`.
  static CodeOperand number(Additions& to, std::uint32_t bytes, std::uint32_t high, std::uint32_t low) {
    CodeBuilder& code = to.code();
    const auto word = [&](std::uint32_t value) {
      // It differs between lanes: otherwise the assembler would let one lane add for all.
      const VirtualRegister zero = code.b32("and.b32", {to.lane(), to.word(HiddenSlot::Kind::zero)});
      return value == 0 ? zero : code.b32("or.b32", {zero, value});
    };
    const VirtualRegister upper = word(high);
    return bytes == 4
               ? CodeOperand(upper)
               : CodeOperand(code.b64("mov.b64", {CodeList{CodeList::Kind::vector, {word(low), upper}}}));
  }

  /// True if the program uses the value that the operation returns.
  static bool returns_value(Additions& to) {
    if (to.site().op() != Op::atom) return false;
    const Operand& result = to.site().operands[0];
    if (result.elements.empty()) return to.is_read(result);
    return std::ranges::any_of(result.elements, [&](const Operand& each) { return to.is_read(each); });
  }

  /// `operand` replaces the program's.
  static bool emit(Additions& to, const MemoryAccess& access, CodeAddress address,
                   const std::optional<CodeOperand>& operand) {
    const Instruction& site = to.site();
    const bool returns = site.op() == Op::atom;
    const std::size_t first = returns ? 1 : 0;
    std::vector<CodeOperand> operands;
    std::vector<VirtualRegister> kept;
    if (returns) {
      const Operand& result = site.operands[0];
      const std::uint32_t count =
          std::max<std::uint32_t>(1, static_cast<std::uint32_t>(result.elements.size()));
      const auto results = half_results(to, access.bytes / count, count);
      if (!results) return false;
      operands.push_back(vector_of(*results));
      if (returns_value(to)) kept = *results;
    }
    operands.emplace_back(std::move(address));
    for (std::size_t i = first + 1; i < site.operands.size(); ++i)
      operands.emplace_back(operand ? *operand : CodeOperand(to.text(site.operands[i])));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    to.keep(kept);
    return true;
  }

  /// Atomic operations on 2 bytes require a register of that size, unlike loads.
  static std::optional<std::vector<VirtualRegister>> half_results(Additions& to, std::uint32_t bytes,
                                                                  std::uint32_t count) {
    const std::optional<RegisterType> type = register_of_bytes(bytes);
    if (!type) return std::nullopt;
    std::vector<VirtualRegister> made(count);
    for (VirtualRegister& each : made) each = to.code().fresh(*type);
    return made;
  }

  std::optional<VirtualRegister> copy_address(Additions& to, const MemoryAccess& access) {
    if (!is_declared_) declare(to);
    if (bytes_ == 0) return std::nullopt;
    const std::optional<VirtualRegister> low = to.low_address(*access.address);
    if (!low) return std::nullopt;
    CodeBuilder& code = to.code();
    const VirtualRegister mask =
        to.is_again() ? code.b32("mov.b32", {bytes_ - 1}) : to.word(HiddenSlot::Kind::zero);
    const VirtualRegister own = to.thread_offset(access.bytes, bytes_);
    const VirtualRegister offset = code.b32("add.u32", {code.b32("and.b32", {*low, mask}), own});
    return code.b32("add.u32", {offset, code.b32("mov.u32", {Name{std::string(copy_name)}})});
  }

  /// Declares the copy, with a size up to that of the kernel's largest shared array.
  void declare(Additions& to) {
    is_declared_ = true;
    std::uint64_t used = 0, largest = 0;
    for (const Variable* each : addressable_shared_variables(to.module(), *to.kernel().function)) {
      used += each->size_bytes();
      largest = std::max(largest, each->is_extern ? most_copy_bytes : each->size_bytes());
    }
    auto bytes = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(std::bit_ceil(largest), least_copy_bytes, most_copy_bytes));
    while (bytes >= least_copy_bytes && used + bytes > most_static_bytes) bytes /= 2;
    if (bytes < least_copy_bytes) return;
    bytes_ = bytes;
    to.entry().add_text(".shared .align 16 .b8 " + std::string(copy_name) + "[" + std::to_string(bytes) +
                        "];");
  }

  bool is_declared_ = false;
  std::uint32_t bytes_ = 0;  ///< of the copy, a power of two; 0: none
};

}  // namespace

std::unique_ptr<OperationCode> atomic_code() { return std::make_unique<Atomics>(); }

}  // namespace lynxpp::ptx
