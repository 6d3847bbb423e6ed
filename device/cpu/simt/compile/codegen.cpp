// Segments, liveness and write-back, the table of emitters, and control flow.
#include "device/cpu/simt/compile/codegen.h"

#include <algorithm>
#include <iterator>

#include "device/cpu/simt/execute/counters/counters.h"
#include "support/text.h"

namespace lynxpp::device::cpu {

using ptx::Op;

DecodedOpcode::DecodedOpcode(const ptx::Instruction& instruction) : op(instruction.op()) {
  const std::string_view opcode = instruction.opcode;
  std::size_t begin = 0;
  while (begin <= opcode.size()) {
    const std::size_t dot = std::min(opcode.find('.', begin), opcode.size());
    const std::string_view part = opcode.substr(begin, dot - begin);
    if (begin == 0) {
      root = part;
    } else {
      modifiers.push_back(part);
      if (const ptx::DataType type = ptx::parse_data_type(part); type != ptx::DataType::none)
        types.push_back(type);
    }
    begin = dot + 1;
  }
  handled_.resize(modifiers.size());
}

bool DecodedOpcode::has(std::string_view modifier) const {
  return !first_that([modifier](std::string_view each) { return each == modifier; }).empty();
}

std::string_view DecodedOpcode::first_of(std::initializer_list<std::string_view> candidates) const {
  for (const std::string_view candidate : candidates) {
    if (has(candidate)) return candidate;
  }
  return {};
}

unsigned bits_of(ptx::DataType type) { return type == ptx::DataType::pred ? 1 : ptx::size_of(type) * 8; }

bool is_signed(ptx::DataType type) {
  using enum ptx::DataType;
  return type == s8 || type == s16 || type == s32 || type == s64;
}

bool is_vector_float(ptx::DataType type) { return type == ptx::DataType::f32 || type == ptx::DataType::f64; }

constinit const std::pair<Op, FunctionCodegen::Emitter> FunctionCodegen::emitter_table[] = {
    {Op::add, &FunctionCodegen::emit_add_sub},
    {Op::sub, &FunctionCodegen::emit_add_sub},
    {Op::addc, &FunctionCodegen::emit_add_sub},
    {Op::subc, &FunctionCodegen::emit_add_sub},
    {Op::mul, &FunctionCodegen::emit_multiply},
    {Op::mad, &FunctionCodegen::emit_multiply},
    {Op::madc, &FunctionCodegen::emit_multiply},
    {Op::mul24, &FunctionCodegen::emit_mul24},
    {Op::mad24, &FunctionCodegen::emit_mul24},
    {Op::fma, &FunctionCodegen::emit_fma},
    {Op::div, &FunctionCodegen::emit_divide},
    {Op::rem, &FunctionCodegen::emit_divide},
    {Op::abs, &FunctionCodegen::emit_absolute},
    {Op::neg, &FunctionCodegen::emit_negate},
    {Op::min, &FunctionCodegen::emit_divide},
    {Op::max, &FunctionCodegen::emit_divide},
    {Op::sad, &FunctionCodegen::emit_sad},
    {Op::bit_and, &FunctionCodegen::emit_logic},
    {Op::bit_or, &FunctionCodegen::emit_logic},
    {Op::bit_xor, &FunctionCodegen::emit_logic},
    {Op::bit_not, &FunctionCodegen::emit_logic},
    {Op::cnot, &FunctionCodegen::emit_logic},
    {Op::lop3, &FunctionCodegen::emit_lop3},
    {Op::shl, &FunctionCodegen::emit_shift},
    {Op::shr, &FunctionCodegen::emit_shift},
    {Op::shf, &FunctionCodegen::emit_funnel_shift},
    {Op::popc, &FunctionCodegen::emit_bit_count},
    {Op::clz, &FunctionCodegen::emit_bit_count},
    {Op::brev, &FunctionCodegen::emit_bit_count},
    {Op::bfind, &FunctionCodegen::emit_lane_operation},
    {Op::bfe, &FunctionCodegen::emit_lane_operation},
    {Op::bfi, &FunctionCodegen::emit_lane_operation},
    {Op::fns, &FunctionCodegen::emit_lane_operation},
    {Op::szext, &FunctionCodegen::emit_lane_operation},
    {Op::bmsk, &FunctionCodegen::emit_lane_operation},
    {Op::prmt, &FunctionCodegen::emit_permute},
    {Op::dp4a, &FunctionCodegen::emit_dot_product},
    {Op::dp2a, &FunctionCodegen::emit_dot_product},
    {Op::mov, &FunctionCodegen::emit_move},
    {Op::selp, &FunctionCodegen::emit_select},
    {Op::slct, &FunctionCodegen::emit_slct},
    {Op::setp, &FunctionCodegen::emit_compare},
    {Op::set, &FunctionCodegen::emit_set},
    {Op::sqrt, &FunctionCodegen::emit_root},
    {Op::rcp, &FunctionCodegen::emit_root},
    {Op::rsqrt, &FunctionCodegen::emit_root},
    {Op::ex2, &FunctionCodegen::emit_transcendental},
    {Op::lg2, &FunctionCodegen::emit_transcendental},
    {Op::sin, &FunctionCodegen::emit_transcendental},
    {Op::cos, &FunctionCodegen::emit_transcendental},
    {Op::tanh, &FunctionCodegen::emit_transcendental},
    {Op::copysign, &FunctionCodegen::emit_copysign},
    {Op::testp, &FunctionCodegen::emit_testp},
    {Op::cvt, &FunctionCodegen::emit_convert},
    {Op::ld, &FunctionCodegen::emit_load},
    {Op::ldu, &FunctionCodegen::emit_load},
    {Op::st, &FunctionCodegen::emit_store},
    {Op::atom, &FunctionCodegen::emit_atomic},
    {Op::red, &FunctionCodegen::emit_atomic},
    {Op::cvta, &FunctionCodegen::emit_convert_address},
    {Op::isspacep, &FunctionCodegen::emit_is_space},
    {Op::membar, &FunctionCodegen::emit_fence},
    {Op::fence, &FunctionCodegen::emit_fence},
    {Op::vote, &FunctionCodegen::emit_vote},
    {Op::shfl, &FunctionCodegen::emit_shuffle},
    {Op::match, &FunctionCodegen::emit_match},
    {Op::redux, &FunctionCodegen::emit_reduce},
    {Op::activemask, &FunctionCodegen::emit_active_mask},
    {Op::elect, &FunctionCodegen::emit_elect},
    {Op::bra, &FunctionCodegen::emit_control},
    {Op::ret, &FunctionCodegen::emit_control},
    {Op::exit, &FunctionCodegen::emit_control},
    {Op::trap, &FunctionCodegen::emit_control},
    {Op::brkpt, &FunctionCodegen::emit_breakpoint},
    {Op::call, &FunctionCodegen::emit_indirect},
    {Op::brx, &FunctionCodegen::emit_indirect},
    {Op::bar, &FunctionCodegen::emit_barrier},
    {Op::barrier, &FunctionCodegen::emit_barrier},
    {Op::prefetch, &FunctionCodegen::emit_nothing},
    {Op::prefetchu, &FunctionCodegen::emit_nothing},
    {Op::discard, &FunctionCodegen::emit_nothing},
    {Op::applypriority, &FunctionCodegen::emit_nothing},
    {Op::nanosleep, &FunctionCodegen::emit_nothing},
    {Op::pmevent, &FunctionCodegen::emit_nothing},
    {Op::griddepcontrol, &FunctionCodegen::emit_nothing},
    {Op::ldmatrix, &FunctionCodegen::emit_operation},
    {Op::stmatrix, &FunctionCodegen::emit_operation},
    {Op::movmatrix, &FunctionCodegen::emit_operation},
    {Op::mma, &FunctionCodegen::emit_operation},
    {Op::wmma, &FunctionCodegen::emit_operation},
    {Op::wgmma, &FunctionCodegen::emit_operation},
    {Op::tcgen05, &FunctionCodegen::emit_operation},
    {Op::mbarrier, &FunctionCodegen::emit_operation},
    {Op::tex, &FunctionCodegen::emit_operation},
    {Op::tld4, &FunctionCodegen::emit_operation},
    {Op::txq, &FunctionCodegen::emit_operation},
    {Op::istypep, &FunctionCodegen::emit_operation},
    {Op::suld, &FunctionCodegen::emit_operation},
    {Op::sust, &FunctionCodegen::emit_operation},
    {Op::sured, &FunctionCodegen::emit_operation},
    {Op::suq, &FunctionCodegen::emit_operation},
    {Op::mapa, &FunctionCodegen::emit_operation},
    {Op::getctarank, &FunctionCodegen::emit_operation},
    {Op::cp, &FunctionCodegen::emit_operation},
    {Op::tensormap, &FunctionCodegen::emit_operation},
    {Op::createpolicy, &FunctionCodegen::emit_operation},
    {Op::setmaxnreg, &FunctionCodegen::emit_operation},
    {Op::vadd, &FunctionCodegen::emit_operation},
    {Op::vsub, &FunctionCodegen::emit_operation},
    {Op::vabsdiff, &FunctionCodegen::emit_operation},
    {Op::vmin, &FunctionCodegen::emit_operation},
    {Op::vmax, &FunctionCodegen::emit_operation},
    {Op::vset, &FunctionCodegen::emit_operation},
    {Op::vadd2, &FunctionCodegen::emit_operation},
    {Op::vsub2, &FunctionCodegen::emit_operation},
    {Op::vabsdiff2, &FunctionCodegen::emit_operation},
    {Op::vmin2, &FunctionCodegen::emit_operation},
    {Op::vmax2, &FunctionCodegen::emit_operation},
    {Op::vset2, &FunctionCodegen::emit_operation},
    {Op::vadd4, &FunctionCodegen::emit_operation},
    {Op::vsub4, &FunctionCodegen::emit_operation},
    {Op::vabsdiff4, &FunctionCodegen::emit_operation},
    {Op::vmin4, &FunctionCodegen::emit_operation},
    {Op::vmax4, &FunctionCodegen::emit_operation},
    {Op::vset4, &FunctionCodegen::emit_operation},
    {Op::vavrg2, &FunctionCodegen::emit_operation},
    {Op::vavrg4, &FunctionCodegen::emit_operation},
    {Op::vmad, &FunctionCodegen::emit_operation},
    {Op::vshl, &FunctionCodegen::emit_operation},
    {Op::vshr, &FunctionCodegen::emit_operation},
    {Op::alloca, &FunctionCodegen::emit_operation},
    {Op::stacksave, &FunctionCodegen::emit_operation},
    {Op::stackrestore, &FunctionCodegen::emit_operation},
};

const std::map<Op, FunctionCodegen::Emitter>& FunctionCodegen::emitters() {
  static const std::map<Op, Emitter> table(std::begin(emitter_table), std::end(emitter_table));
  return table;
}

FunctionCodegen::FunctionCodegen(llvm::Module& module, const ptx::Module& ptx, const ModuleSymbols& symbols,
                                 Program& program, CompiledFunction& function, const std::string& name)
    : module_(module),
      ptx_(ptx),
      symbols_(symbols),
      program_(program),
      function_(function),
      name_(name),
      builder_(module.getContext()) {
  if (function.function->is_entry) parameters_.emplace(*function.function);
}

std::string FunctionCodegen::segment_name(const CompiledFunction& function, std::size_t segment) {
  return "f" + std::to_string(function.module_function) + ".s" + std::to_string(segment);
}

Status FunctionCodegen::emit() {
  states_.resize(function_.segments.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    begin_segment(states_[i], i);
    emit_segment(states_[i], function_.segments[i]);
    if (!diagnostics_.empty()) return Failure{diagnostics_};
  }
  solve_liveness();
  for (SegmentState& state : states_) write_back(state);
  return success();
}

void FunctionCodegen::begin_segment(SegmentState& state, std::size_t index) {
  state_ = &state;
  begin_function(segment_name(function_, index), false);
}

void FunctionCodegen::begin_function(const std::string& name, bool takes_operands) {
  llvm::Type* const word = builder_.getInt32Ty();
  std::vector<llvm::Type*> parameters = {builder_.getPtrTy(), word};
  if (takes_operands) parameters.push_back(builder_.getPtrTy());
  auto* const type = llvm::FunctionType::get(word, parameters, false);
  llvm::Function* const function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, &module_);
  if (!takes_operands) function->addFnAttr(llvm::Attribute::NoUnwind);
  auto* const entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function);
  auto* const body = llvm::BasicBlock::Create(module_.getContext(), "body", function);
  builder_.SetInsertPoint(entry);
  builder_.CreateBr(body);  // allocas precede it
  builder_.SetInsertPoint(body);
  state_->function = function;
  warp_ = function->getArg(0);
  mask_ = function->getArg(1);
  operands_ = takes_operands ? function->getArg(2) : nullptr;
  mask_vector_ = predicate_of(mask_);
  file_ = builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, registers)));
  buffers_.fill(nullptr);
  any_nan_.clear();
}

void FunctionCodegen::emit_segment(SegmentState& state, const Segment& segment) {
  const ptx::Body& body = *function_.function->body;
  state.result = mask_;
  guard_ = nullptr;
  meets_ = segment.is_meeting;
  if (segment.resumed_from) emit_barrier_result(body.instructions[*segment.resumed_from]);
  for (std::uint32_t i = segment.begin; i < segment.end && diagnostics_.empty(); ++i) {
    emit_instruction(body.instructions[i]);
  }
  if (segment.begin < segment.end) state.result = active();
  if (segment.control == Control::call) note_call_registers(segment.call);
  if (segment.control == Control::meeting && diagnostics_.empty())
    emit_arrival(body.instructions[segment.end]);
  state.end = builder_.GetInsertBlock();
}

bool FunctionCodegen::begin_instruction(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  opcode_.emplace(instruction);
  scope_ = function_.function->body->statements[instruction.statement].scope;
  guard_ = nullptr;
  if (!instruction.guarded()) return true;
  const auto slot = find_register(instruction.guard.predicate);
  if (!slot || slot->bits != 1) {
    unsupported("its guard is not a predicate register");
    return false;
  }
  guard_ = read_predicate_register(*slot, instruction.guard.negated);
  return true;
}

void FunctionCodegen::emit_instruction(const ptx::Instruction& instruction) {
  if (!begin_instruction(instruction)) return;
  if (guard_ != nullptr && program_.counting) emit_guard_count();
  const auto emitter = emitters().find(opcode_->op);
  if (emitter == emitters().end()) return unsupported();
  if (program_.checked) check_meeting();
  modifiers_are_known_ = false;
  (this->*emitter->second)();
  if (modifiers_are_known_) return;
  if (const std::string_view modifier = opcode_->unknown_modifier(); !modifier.empty())
    unsupported("unknown modifier '." + std::string(modifier) + "'");
}

std::uint32_t FunctionCodegen::site() const {
  return function_.site_base +
         static_cast<std::uint32_t>(instruction_ - function_.function->body->instructions.data());
}

/// Counts the lanes whose guard holds, and the warp if at least one does.
void FunctionCodegen::emit_guard_count() {
  Value* const sites =
      builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, sites)));
  Value* const counts =
      builder_.CreateInBoundsGEP(builder_.getInt8Ty(), sites, varying(sizeof(SiteCounts) * site(), 64));
  const auto add = [&](std::size_t member, Value* addend) {
    Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), counts, member);
    Value* const sum = builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), place),
                                          builder_.CreateZExt(addend, builder_.getInt64Ty()));
    builder_.CreateStore(sum, place);
  };
  add(offsetof(SiteCounts, lanes), builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, active()));
  add(offsetof(SiteCounts, executing_warps), builder_.CreateICmpNE(active(), constant32(0)));
}

/// The scheduler copies these registers between register files, so they must be in memory at the segment's
/// end.
void FunctionCodegen::note_call_registers(const CallSite& call) {
  const auto note = [this](const ptx::Operand& operand) {
    if (operand.kind != ptx::OperandKind::identifier) return;
    if (const auto slot = find_register(operand.name)) state_->live_out.set(slot->id);
  };
  if (call.arguments.empty()) return;
  for (const ptx::Operand& operand : instruction_->operands) {
    for (const ptx::Operand& element : operand.elements) note(element);
  }
}

/// Computes the registers that are live out of each segment: those that a successor reads before writing, or
/// passes on. The result registers of a device function are live where it returns.
void FunctionCodegen::solve_liveness() {
  std::vector<std::vector<std::uint32_t>> successors(states_.size());
  RegisterSet at_return;
  for (const ptx::Variable& result : function_.function->returns) {
    if (result.space != ptx::StateSpace::reg) continue;
    if (const auto slot = function_.registers->find(result.name, 0)) at_return.set(slot->id);
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Segment& segment = function_.segments[i];
    if (segment.next != no_segment) successors[i].push_back(segment.next);
    if (segment.target != no_segment) successors[i].push_back(segment.target);
    successors[i].insert(successors[i].end(), segment.targets.begin(), segment.targets.end());
    if (segment.next == no_segment || segment.control == Control::ret) states_[i].live_out |= at_return;
  }
  std::vector<RegisterSet> live_in(states_.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = states_.size(); i-- > 0;) {
      SegmentState& state = states_[i];
      for (const std::uint32_t successor : successors[i]) state.live_out |= live_in[successor];
      // Inactive lanes take other paths and keep their values in memory. A guarded write also reads.
      RegisterSet in = state.live_out;
      in.intersectWithComplement(state.written);
      in |= state.read_first;
      // Lanes that reach this segment may run its second form instead.
      if (const std::uint32_t split = function_.segments[i].split_form; split != no_segment)
        in |= live_in[split];
      if (in == live_in[i]) continue;
      live_in[i] = std::move(in);
      changed = true;
    }
  }
}

void FunctionCodegen::write_back(SegmentState& state) {
  builder_.SetInsertPoint(state.end);
  warp_ = state.function->getArg(0);
  mask_ = state.function->getArg(1);
  bool any = false;
  for (const std::uint32_t id : state.written) any |= state.live_out.test(id);
  if (any) {
    mask_vector_ = predicate_of(mask_);
    Value* const file =
        builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, registers)));
    for (const std::uint32_t id : state.written) {
      if (!state.live_out.test(id)) continue;
      const RegisterSlot slot = function_.registers->slot(id);
      Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), file, slot.offset);
      Value* value = state.values.at(id);
      if (slot.bits == 1) {
        Value* const old = builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(4));
        Value* const kept = builder_.CreateAnd(old, builder_.CreateNot(mask_));
        value = builder_.CreateOr(kept, builder_.CreateAnd(mask_of(value), mask_));
        builder_.CreateAlignedStore(value, place, llvm::Align(4));
      } else {
        Value* const old = builder_.CreateAlignedLoad(value->getType(), place, llvm::Align(32));
        builder_.CreateAlignedStore(builder_.CreateSelect(mask_vector_, value, old), place, llvm::Align(32));
      }
    }
  }
  builder_.CreateRet(state.result);
}

void FunctionCodegen::unsupported(std::string detail) {
  if (!diagnostics_.empty()) return;  // only the first error is reported
  std::string message =
      "instruction '" + std::string(instruction_->opcode) + "' is not supported by the cpu device";
  if (!detail.empty()) message += ": " + detail;
  diagnostics_.push_back({Severity::error, ptx_location(name_, instruction_->line), std::move(message), {}});
}

void FunctionCodegen::emit_control() {}
void FunctionCodegen::emit_nothing() {}

/// Stores each lane's target in WarpContext::operand; direct calls need no code.
void FunctionCodegen::emit_indirect() {
  Value* target = nullptr;
  if (opcode_->op == Op::brx) {
    target = resize(read(0, ptx::DataType::u32), 64, false);
  } else {
    for (const ptx::Operand& candidate : instruction_->operands) {
      if (candidate.kind != ptx::OperandKind::identifier) continue;
      const auto slot = find_register(candidate.name);
      if (slot && slot->bits == 64) target = read_register(*slot);
      break;
    }
  }
  if (target == nullptr) return;
  builder_.CreateAlignedStore(target, context_pointer(offsetof(WarpContext, operand)), llvm::Align(8));
}

/// Operands: [d,] a {, b} {, {!}c}. The scheduler uses the barrier number and count of the first active lane.
void FunctionCodegen::emit_barrier() {
  if (opcode_->has("warp")) return;  // a meeting: the scheduler has already made its lanes wait
  if (opcode_->has("cluster")) {
    // The scheduler implements arrival and waiting; all memory orders are satisfied.
    const bool arrives = opcode_->has("arrive");
    if (arrives == opcode_->has("wait")) return unsupported();
    opcode_->first_of({arrives ? "release" : "acquire", arrives ? "relaxed" : "acquire"});
    return;
  }
  const bool reduces = opcode_->has("red");
  std::size_t next = reduces ? 1 : 0;
  std::size_t end = instruction_->operands.size();
  Value* predicate = nullptr;
  if (reduces) {
    if (end < 3) return unsupported("malformed operands");
    predicate = read_predicate(operand(--end));
  }
  Value* const leader =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active(), builder_.getInt1(false));
  Value* const lane = builder_.CreateAnd(leader, constant32(warp_size - 1));
  const auto store = [&](std::size_t offset, Value* value) {
    builder_.CreateStore(value, context_pointer(offset));
  };
  const auto leading = [&]() -> Value* {
    if (next >= end) return constant32(0);
    return builder_.CreateExtractElement(read(next++, ptx::DataType::u32), lane);
  };
  store(offsetof(WarpContext, barrier_id), leading());
  store(offsetof(WarpContext, barrier_threads), leading());
  if (predicate != nullptr) store(offsetof(WarpContext, barrier_predicate), mask_of(predicate));
}

/// Emits the end of the segment before a meeting: stores each lane's members and the value it contributes.
/// Only the active lanes' entries are written, because other lanes may be waiting.
void FunctionCodegen::emit_arrival(const ptx::Instruction& instruction) {
  if (!begin_instruction(instruction)) return;
  state_->result = active();
  const auto store = [this](std::size_t offset, Value* values, unsigned bytes) {
    builder_.CreateMaskedStore(values, context_pointer(offset), llvm::Align(bytes), active_vector());
  };
  store(offsetof(WarpContext, members), read(*members_operand(instruction), ptx::DataType::b32), 4);
  Value* brought = nullptr;
  if (opcode_->op == Op::vote) brought = read_predicate(operand(1));
  if (opcode_->op == Op::shfl || opcode_->op == Op::redux) brought = read(1, ptx::DataType::b32);
  if (opcode_->op == Op::match) brought = read(1, opcode_->type());
  if (brought != nullptr) store(offsetof(WarpContext, exchanged), resize(brought, 64, false), 8);
}

/// Emits the start of the segment after a bar.red: its result, which is uniform.
void FunctionCodegen::emit_barrier_result(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  opcode_.emplace(instruction);
  scope_ = function_.function->body->statements[instruction.statement].scope;
  if (instruction.guarded()) return unsupported("bar.red with a guard");
  Value* const result = context_load(offsetof(WarpContext, barrier_result), 32);
  if (opcode_->has("popc")) return write(0, ptx::DataType::u32, splat(result));
  write_predicate(operand(0), predicate_of(result));
}

}  // namespace lynxpp::device::cpu
