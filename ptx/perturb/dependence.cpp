#include "ptx/perturb/dependence.h"

#include <optional>
#include <string>

#include "ptx/ir/array_element.h"

namespace lynxpp::ptx {
namespace {

/// Returns a copy of the register that depends on `none`, a 0 that the assembler does not know.
VirtualRegister copy_after(Additions& to, const CodeRegister& reg, std::uint32_t bytes,
                           VirtualRegister none) {
  CodeBuilder& code = to.code();
  if (bytes == 4) return code.b32("xor.b32", {reg, none});
  const VirtualRegister low = code.fresh(RegisterType::b32);
  const VirtualRegister high = code.fresh(RegisterType::b32);
  code.emit("mov.b64", {CodeList{CodeList::Kind::vector, {low, high}}, reg});
  const VirtualRegister after = code.b32("xor.b32", {low, none});
  return code.b64("mov.b64", {CodeList{CodeList::Kind::vector, {after, high}}});
}

/// Returns 0, computed from the results, if any.
VirtualRegister none_of(Additions& to, const std::vector<VirtualRegister>& results, VirtualRegister zero) {
  return results.empty() ? zero : to.code().b32("and.b32", {to.mixed(results), zero});
}

}  // namespace

std::optional<VirtualRegister> wait_at_address(Additions& to, const Operand& address,
                                               const std::vector<VirtualRegister>& results) {
  if (address.elements.empty() || array_element(address)) return std::nullopt;
  const Operand& base = address.elements[0];
  const std::uint32_t bytes = size_of(to.type_of(base));
  if (bytes != 4 && bytes != 8) return std::nullopt;
  const VirtualRegister zero = bytes == 4 ? to.aligned_zero() : to.word(HiddenSlot::Kind::zero);
  const VirtualRegister after =
      copy_after(to, Name{std::string(base.name)}, bytes, none_of(to, results, zero));
  to.replace(address, CodeAddress{after, address.offset});
  return after;
}

bool wait_at_operand(Additions& to, const Operand& operand, const std::vector<VirtualRegister>& results) {
  const std::uint32_t bytes = size_of(to.type_of(operand));
  if (operand.negated || (bytes != 4 && bytes != 8)) return false;
  const VirtualRegister none = none_of(to, results, to.word(HiddenSlot::Kind::zero));
  to.replace(operand, copy_after(to, Name{std::string(operand.name)}, bytes, none));
  return true;
}

std::optional<std::size_t> operand_to_precede(Additions& to, const std::vector<std::size_t>& candidates) {
  const std::optional<std::size_t> found = to.order().last(to.site_index(), candidates);
  if (!found || !to.mark(to.order().value_of(to.site_index(), to.site().operands[*found])))
    return std::nullopt;
  return found;
}

bool repeat_and_wait(Additions& to) {
  const Instruction& site = to.site();
  const std::optional<RegisterType> type = register_of_bytes(size_of(to.type_of(site.operands[0])));
  if (!type || site.traits.destinations != 1) return false;
  std::vector<std::size_t> sources;
  for (std::size_t i = 1; i < site.operands.size(); ++i) {
    const std::uint32_t bytes = size_of(to.type_of(site.operands[i]));
    if (bytes == 4 || bytes == 8) sources.push_back(i);
  }
  std::optional<std::size_t> found;
  // Divisions by one divisor would share its reciprocal.
  const bool divides = site.op() == Op::div || site.op() == Op::rem;
  if (divides && !sources.empty()) found = to.order().last(to.site_index(), {&sources.back(), 1});
  if (!found) found = to.order().last(to.site_index(), sources);
  std::vector<VirtualRegister> results;
  if (to.is_again()) {
    results.push_back(to.code().fresh(*type));
    std::vector<CodeOperand> operands{results[0]};
    for (std::size_t i = 1; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
  }
  if (found) return wait_at_operand(to, site.operands[*found], results);
  to.keep(results);
  return true;
}

}  // namespace lynxpp::ptx
