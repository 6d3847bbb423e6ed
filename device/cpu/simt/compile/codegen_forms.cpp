// Segments as lists of steps. Each instruction is emitted as a function whose registers, constants and sites
// are operands. Functions with the same text are one form.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/StructuralHash.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "device/cpu/simt/compile/codegen.h"

namespace lynxpp::device::cpu {

using Value = llvm::Value;

// ---------------------------------------------------------------- what varies

Value* FunctionCodegen::varying(std::uint64_t value, unsigned bits) {
  if (!is_form()) return builder_.getIntN(bits, value);
  Value* const place =
      builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), operands_, varying_values_.size());
  varying_values_.push_back({Varying::From::instruction, value});
  return builder_.CreateZExtOrTrunc(builder_.CreateLoad(builder_.getInt64Ty(), place),
                                    builder_.getIntNTy(bits));
}

Value* FunctionCodegen::varying_splat(std::uint64_t value, unsigned bits) {
  return is_form() ? splat(varying(value, bits)) : splat(bits, value);
}

Value* FunctionCodegen::varying_pointer(const void* pointer) {
  return builder_.CreateIntToPtr(varying(reinterpret_cast<std::uintptr_t>(pointer), 64), builder_.getPtrTy());
}

Value* FunctionCodegen::register_place(const RegisterSlot& slot) {
  Value* const offset = varying(slot.offset, 64);
  if (is_form()) varying_values_.back() = {Varying::From::place_of_register, slot.id};
  return builder_.CreateInBoundsGEP(builder_.getInt8Ty(), file_, offset);
}

void FunctionCodegen::note_read(const RegisterSlot& slot) {
  if (!state_->written.test(slot.id)) state_->read_first.set(slot.id);
  touched_.emplace_back(slot.id, false);
}

void FunctionCodegen::note_written(const RegisterSlot& slot) {
  state_->written.set(slot.id);
  touched_.emplace_back(slot.id, true);
}

/// Loads a register; a predicate yields an i32 mask.
Value* FunctionCodegen::load_register(const RegisterSlot& slot) {
  if (region_ != nullptr) {
    Value* const value = builder_.CreateLoad(vector_type(slot.bits), region_register(slot));
    note_register(value, slot.id);
    return slot.bits == 1 ? mask_of(value) : value;
  }
  Value* const place = register_place(slot);
  if (slot.bits == 1) return builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(4));
  return builder_.CreateAlignedLoad(vector_type(slot.bits), place, llvm::Align(32));
}

/// Stores the active lanes of a register.
void FunctionCodegen::store_register(const RegisterSlot& slot, Value* value) {
  Value* const place = register_place(slot);
  if (slot.bits == 1) {
    Value* const lanes = active();
    Value* const old = builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(4));
    Value* const kept = builder_.CreateAnd(old, builder_.CreateNot(lanes));
    builder_.CreateAlignedStore(builder_.CreateOr(kept, builder_.CreateAnd(mask_of(value), lanes)), place,
                                llvm::Align(4));
    return;
  }
  llvm::Function* const function = state_->function;
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  };
  llvm::BasicBlock* const some = block("some");
  llvm::BasicBlock* const every = block("every");
  llvm::BasicBlock* const done = block("done");
  Value* const lanes = active();
  builder_.CreateCondBr(builder_.CreateICmpEQ(lanes, constant32(~0u)), every, some);
  builder_.SetInsertPoint(some);
  // A vector select by the lane mask would be most of the function's code.
  call_helper(reinterpret_cast<const void*>(find_merge(slot.bits / 8)), builder_.getVoidTy(),
              {place, spill(5, value), lanes});
  builder_.CreateBr(done);
  builder_.SetInsertPoint(every);
  builder_.CreateAlignedStore(value, place, llvm::Align(32));
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
}

// ---------------------------------------------------------------- steps

void FunctionCodegen::begin_form() {
  guard_ = nullptr;
  varying_values_.clear();
  touched_.clear();
  begin_function("form", true);
}

namespace {

bool has_effect(llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function),
                             [](const llvm::Instruction& each) { return each.mayHaveSideEffects(); });
}

/// Returns the function's text without its name.
std::string text_of(const llvm::Function& function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream);
  return text.substr(text.find('('));
}

}  // namespace

/// Adds a step that runs the function just emitted or an identical one. Returns null if there is nothing to
/// run.
const FunctionCodegen::EmittedForm* FunctionCodegen::finish_form(StepList& steps, bool is_last) {
  llvm::Function* const function = state_->function;
  builder_.CreateRet(active());
  if (is_last) steps.code.last_is_guarded = guard_ != nullptr;
  if (!diagnostics_.empty() || (!has_effect(*function) && !(is_last && guard_ != nullptr))) {
    function->eraseFromParent();
    return nullptr;
  }
  std::vector<std::uint64_t> operands;
  for (const Varying& each : varying_values_) operands.push_back(value_of(each));
  const EmittedForm& form = find_form(steps.library);
  add_step(steps, form, operands);
  return &form;
}

void FunctionCodegen::add_step(StepList& steps, const EmittedForm& form,
                               const std::vector<std::uint64_t>& operands) {
  SegmentCode& code = steps.code;
  steps.operands.push_back(code.operands.size());
  code.operands.insert(code.operands.end(), operands.begin(), operands.end());
  code.steps.push_back({form.run, nullptr});
  if (form.missing != nullptr) form.missing->steps.emplace_back(&code, code.steps.size() - 1);
}

/// Returns the form of the function just emitted. If an identical one exists, the new function is erased.
/// Functions are compared before they are printed, because printing is slower.
const FunctionCodegen::EmittedForm& FunctionCodegen::find_form(FormLibrary& library) {
  llvm::Function* const function = state_->function;
  const std::uint64_t hash = llvm::StructuralHash(*function);
  const auto [begin, end] = emitted_.equal_range(hash);
  for (auto each = begin; each != end; ++each) {
    llvm::Function* const other = each->second.function;
    if (llvm::FunctionComparator(function, other, &globals_).compare() != 0) continue;
    if (library.checks_sharing() && text_of(*function) != text_of(*other))
      unsupported("internal error: its form matches a different instruction");
    function->eraseFromParent();
    return each->second;
  }
  const FormKey key = form_key(text_of(*function));
  EmittedForm form{function, library.find(key), nullptr};
  function->setName(form.run != nullptr ? "known" : key.name());
  if (form.run == nullptr)
    form.missing = &missing_.emplace_back(MissingForm{{key, function->getName().str()}, {}});
  return emitted_.emplace(hash, form)->second;
}

void FunctionCodegen::emit_step(const ptx::Instruction& instruction, StepList& steps, bool is_last) {
  const bool is_described = describe(instruction);
  const Emission* const before = is_described ? emission_of(is_last) : nullptr;
  if (before != nullptr && !steps.library.checks_sharing())
    return repeat(instruction, *before, steps, is_last);
  const std::size_t sites = program_.accesses.size();
  const std::size_t operations = program_.operations.size();
  begin_form();
  emit_instruction(instruction);
  const EmittedForm* const form = finish_form(steps, is_last);
  if (!is_described || !diagnostics_.empty() || operations != program_.operations.size()) return;
  Emission emitted = emission(form, sites);
  if (before != nullptr && emitted != *before)
    return unsupported("internal error: its description matches a different instruction");
  emissions_.insert_or_assign(description_, std::move(emitted));
}

void FunctionCodegen::emit_steps(const Segment& segment, StepList& steps) {
  const ptx::Body& body = *function_.function->body;
  meets_ = segment.is_meeting;
  const bool arrives = segment.control == Control::meeting;
  if (segment.resumed_from) {
    begin_form();
    emit_barrier_result(body.instructions[*segment.resumed_from]);
    finish_form(steps, segment.begin == segment.end && !arrives);
  }
  for (std::uint32_t i = segment.begin; i < segment.end && diagnostics_.empty(); ++i) {
    emit_step(body.instructions[i], steps, i + 1 == segment.end && !arrives);
  }
  if (segment.control == Control::call) note_call_registers(segment.call);
  if (!arrives || !diagnostics_.empty()) return;
  begin_form();
  emit_arrival(body.instructions[segment.end]);
  finish_form(steps, true);
}

Status FunctionCodegen::emit_forms(FormLibrary& library) {
  states_.resize(function_.segments.size());
  function_.code = std::make_unique<SegmentCode[]>(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    SegmentCode& code = function_.code[i];
    code.first_access = static_cast<std::uint32_t>(program_.accesses.size());
    code.first_operation = static_cast<std::uint32_t>(program_.operations.size());
    state_ = &states_[i];
    StepList steps{code, library};
    emit_steps(function_.segments[i], steps);
    if (!diagnostics_.empty()) return Failure{diagnostics_};
    for (std::size_t step = 0; step < code.steps.size(); ++step)
      code.steps[step].operands = code.operands.data() + steps.operands[step];
  }
  for (auto& [hash, form] : emitted_) {
    if (form.run != nullptr)
      form.function->eraseFromParent();
    else
      form.function->addFnAttr(llvm::Attribute::NoUnwind);  // last, to keep its number out of the texts
  }
  emissions_.clear();
  emitted_.clear();
  globals_.clear();
  solve_liveness();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (const std::uint32_t id : states_[i].live_out) function_.code[i].live_out.push_back(id);
  }
  return success();
}

/// The segment's own code uses the same access sites and operations as its steps.
Status FunctionCodegen::emit_again(std::uint32_t segment) {
  const SegmentCode& code = function_.code[segment];
  again_.emplace(code.first_access, code.first_operation);
  SegmentState& state = states_.emplace_back();
  begin_segment(state, segment);
  emit_segment(state, function_.segments[segment]);
  if (!diagnostics_.empty()) return Failure{diagnostics_};
  for (const std::uint32_t id : code.live_out) state.live_out.set(id);
  write_back(state);
  return success();
}

}  // namespace lynxpp::device::cpu
