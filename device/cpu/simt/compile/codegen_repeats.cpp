// Reuses the emitted steps of earlier instructions that differ only in register names. Emitting LLVM
// instructions took most of the time of a kernel's first launch.
#include <algorithm>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

namespace {

void append_bytes(std::string& text, std::uint64_t value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::uint64_t FunctionCodegen::value_of(const Varying& varying) const {
  switch (varying.from) {
    case Varying::From::instruction: break;
    case Varying::From::place_of_register:
      return function_.registers->slot(static_cast<std::uint32_t>(varying.value)).offset;
    case Varying::From::site: return reinterpret_cast<std::uintptr_t>(&program_.accesses[varying.value]);
  }
  return varying.value;
}

/// Appends the register's number among those of the instruction, and its width.
void FunctionCodegen::describe(const RegisterSlot& slot) {
  const auto known = std::ranges::find(named_, slot.id, &RegisterSlot::id);
  description_ += 'r';
  append_bytes(description_, static_cast<std::uint64_t>(known - named_.begin()) << 32 | slot.bits);
  if (known == named_.end()) named_.push_back(slot);
}

void FunctionCodegen::describe(const ptx::Operand& operand) {
  description_ += static_cast<char>(operand.kind);
  description_ += static_cast<char>((operand.negated ? 1 : 0) + (operand.is_single ? 2 : 0));
  append_bytes(description_, static_cast<std::uint64_t>(operand.offset));
  append_bytes(description_, static_cast<std::uint64_t>(operand.integer));
  append_bytes(description_, operand.bits);
  const auto slot = operand.kind == ptx::OperandKind::identifier ? find_register(operand.name) : std::nullopt;
  if (slot) {
    describe(*slot);
  } else if (!operand.name.empty()) {
    description_ += operand.name;
    description_ += ' ';
    append_bytes(description_, scope_);
  }
  append_bytes(description_, operand.elements.size());
  for (const ptx::Operand& element : operand.elements) describe(element);
}

/// Returns false if the instruction's code may depend on more than its text: in counted, timed and checked
/// code, on labels or on its line.
bool FunctionCodegen::describe(const ptx::Instruction& instruction) {
  if (program_.counting || program_.timed || program_.checked) return false;
  const ptx::Op op = instruction.op();
  if (op == ptx::Op::call || op == ptx::Op::brx || op == ptx::Op::brkpt || op == ptx::Op::trap) return false;
  scope_ = function_.function->body->statements[instruction.statement].scope;
  description_ = instruction.opcode;
  description_ += meets_ ? '+' : ' ';
  named_.assign(1, function_.registers->carry());  // instructions use it implicitly
  if (instruction.guarded()) {
    const auto slot = find_register(instruction.guard.predicate);
    if (!slot) return false;
    description_ += instruction.guard.negated ? '!' : '@';
    describe(*slot);
  }
  for (const ptx::Operand& operand : instruction.operands) describe(operand);
  return true;
}

/// Returns the emission of an earlier instruction with the same description; null if none exists.
const FunctionCodegen::Emission* FunctionCodegen::emission_of(bool is_last) const {
  const auto found = emissions_.find(description_);
  if (found == emissions_.end()) return nullptr;
  const Emission& emission = found->second;
  // The scheduler needs the guard of a segment's last instruction even if the instruction has no effect.
  return is_last && emission.is_guarded && emission.form == nullptr ? nullptr : &emission;
}

/// Returns the emission of the described instruction, which has just been emitted.
FunctionCodegen::Emission FunctionCodegen::emission(const EmittedForm* form, std::size_t first_site) const {
  Emission made{form, guard_ != nullptr, varying_values_, touched_, {}};
  const auto number = [&](std::uint64_t id) {
    return static_cast<std::uint32_t>(std::ranges::find(named_, id, &RegisterSlot::id) - named_.begin());
  };
  for (Varying& each : made.operands) {
    if (each.from == Varying::From::place_of_register) each.value = number(each.value);
    if (each.from == Varying::From::site) each.value -= first_site;
  }
  for (auto& [id, is_written] : made.touched) id = number(id);
  for (std::size_t site = first_site; site < program_.accesses.size(); ++site) {
    const AccessSite& each = program_.accesses[site];
    made.sites.push_back({each.kind, each.space, each.bytes, each.element_bytes});
  }
  return made;
}

/// Has the same effects as emitting the instruction.
void FunctionCodegen::repeat(const ptx::Instruction& instruction, const Emission& emission, StepList& steps,
                             bool is_last) {
  instruction_ = &instruction;
  const std::size_t first_site = program_.accesses.size();
  for (const Emission::Site& site : emission.sites)
    add_site(site.kind, site.space, site.bytes, 0).element_bytes = site.element_bytes;
  for (const auto& [number, is_written] : emission.touched)
    is_written ? note_written(named_[number]) : note_read(named_[number]);
  if (is_last) steps.code.last_is_guarded = emission.is_guarded;
  if (emission.form == nullptr) return;
  std::vector<std::uint64_t> operands;
  for (Varying each : emission.operands) {
    if (each.from == Varying::From::place_of_register) each.value = named_[each.value].id;
    if (each.from == Varying::From::site) each.value += first_site;
    operands.push_back(value_of(each));
  }
  add_step(steps, *emission.form, operands);
}

}  // namespace lynxpp::device::cpu
