// Segments, liveness and write-back, the table of emitters, control flow.
#include "device/cpu/simt/compile/codegen.h"

#include <algorithm>

#include "device/cpu/simt/execute/counters.h"
#include "support/text.h"

namespace lynxpp::device::cpu {

DecodedOpcode::DecodedOpcode(std::string_view opcode) {
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
  asked_for_.resize(modifiers.size());
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

const std::map<std::string_view, FunctionCodegen::Emitter>& FunctionCodegen::emitters() {
  using F = FunctionCodegen;
  static const std::map<std::string_view, Emitter> table = {
      {"add", &F::emit_add_sub},
      {"sub", &F::emit_add_sub},
      {"addc", &F::emit_add_sub},
      {"subc", &F::emit_add_sub},
      {"mul", &F::emit_multiply},
      {"mad", &F::emit_multiply},
      {"madc", &F::emit_multiply},
      {"mul24", &F::emit_mul24},
      {"mad24", &F::emit_mul24},
      {"fma", &F::emit_fma},
      {"div", &F::emit_divide},
      {"rem", &F::emit_divide},
      {"abs", &F::emit_absolute},
      {"neg", &F::emit_negate},
      {"min", &F::emit_divide},
      {"max", &F::emit_divide},
      {"sad", &F::emit_sad},
      {"and", &F::emit_logic},
      {"or", &F::emit_logic},
      {"xor", &F::emit_logic},
      {"not", &F::emit_logic},
      {"cnot", &F::emit_logic},
      {"lop3", &F::emit_lop3},
      {"shl", &F::emit_shift},
      {"shr", &F::emit_shift},
      {"shf", &F::emit_funnel_shift},
      {"popc", &F::emit_bit_count},
      {"clz", &F::emit_bit_count},
      {"brev", &F::emit_bit_count},
      {"bfind", &F::emit_lane_operation},
      {"bfe", &F::emit_lane_operation},
      {"bfi", &F::emit_lane_operation},
      {"fns", &F::emit_lane_operation},
      {"szext", &F::emit_lane_operation},
      {"bmsk", &F::emit_lane_operation},
      {"prmt", &F::emit_permute},
      {"dp4a", &F::emit_dot_product},
      {"dp2a", &F::emit_dot_product},
      {"mov", &F::emit_move},
      {"selp", &F::emit_select},
      {"slct", &F::emit_slct},
      {"setp", &F::emit_compare},
      {"set", &F::emit_set},
      {"sqrt", &F::emit_root},
      {"rcp", &F::emit_root},
      {"rsqrt", &F::emit_root},
      {"ex2", &F::emit_transcendental},
      {"lg2", &F::emit_transcendental},
      {"sin", &F::emit_transcendental},
      {"cos", &F::emit_transcendental},
      {"tanh", &F::emit_transcendental},
      {"copysign", &F::emit_copysign},
      {"testp", &F::emit_testp},
      {"cvt", &F::emit_convert},
      {"ld", &F::emit_load},
      {"ldu", &F::emit_load},
      {"st", &F::emit_store},
      {"atom", &F::emit_atomic},
      {"red", &F::emit_atomic},
      {"cvta", &F::emit_convert_address},
      {"isspacep", &F::emit_is_space},
      {"membar", &F::emit_fence},
      {"fence", &F::emit_fence},
      {"vote", &F::emit_vote},
      {"shfl", &F::emit_shuffle},
      {"match", &F::emit_match},
      {"redux", &F::emit_reduce},
      {"activemask", &F::emit_active_mask},
      {"elect", &F::emit_elect},
      {"bra", &F::emit_control},
      {"ret", &F::emit_control},
      {"exit", &F::emit_control},
      {"trap", &F::emit_control},
      {"brkpt", &F::emit_breakpoint},
      {"call", &F::emit_indirect},
      {"brx", &F::emit_indirect},
      {"bar", &F::emit_barrier},
      {"barrier", &F::emit_barrier},
      {"prefetch", &F::emit_nothing},
      {"prefetchu", &F::emit_nothing},
      {"discard", &F::emit_nothing},
      {"applypriority", &F::emit_nothing},
      {"nanosleep", &F::emit_nothing},
      {"pmevent", &F::emit_nothing},
      {"griddepcontrol", &F::emit_nothing},
      {"ldmatrix", &F::emit_operation},
      {"stmatrix", &F::emit_operation},
      {"movmatrix", &F::emit_operation},
      {"mma", &F::emit_operation},
      {"wmma", &F::emit_operation},
      {"mbarrier", &F::emit_operation},
      {"tex", &F::emit_operation},
      {"tld4", &F::emit_operation},
      {"txq", &F::emit_operation},
      {"istypep", &F::emit_operation},
      {"suld", &F::emit_operation},
      {"sust", &F::emit_operation},
      {"sured", &F::emit_operation},
      {"suq", &F::emit_operation},
      {"mapa", &F::emit_operation},
      {"getctarank", &F::emit_operation},
      {"cp", &F::emit_operation},
      {"createpolicy", &F::emit_operation},
      {"setmaxnreg", &F::emit_operation},
      {"vadd", &F::emit_operation},
      {"vsub", &F::emit_operation},
      {"vabsdiff", &F::emit_operation},
      {"vmin", &F::emit_operation},
      {"vmax", &F::emit_operation},
      {"vset", &F::emit_operation},
      {"vadd2", &F::emit_operation},
      {"vsub2", &F::emit_operation},
      {"vabsdiff2", &F::emit_operation},
      {"vmin2", &F::emit_operation},
      {"vmax2", &F::emit_operation},
      {"vset2", &F::emit_operation},
      {"vadd4", &F::emit_operation},
      {"vsub4", &F::emit_operation},
      {"vabsdiff4", &F::emit_operation},
      {"vmin4", &F::emit_operation},
      {"vmax4", &F::emit_operation},
      {"vset4", &F::emit_operation},
      {"vavrg2", &F::emit_operation},
      {"vavrg4", &F::emit_operation},
      {"vmad", &F::emit_operation},
      {"vshl", &F::emit_operation},
      {"vshr", &F::emit_operation},
      {"alloca", &F::emit_operation},
      {"stacksave", &F::emit_operation},
      {"stackrestore", &F::emit_operation},
  };
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
  builder_.CreateBr(body);  // allocas go before it
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
  opcode_.emplace(instruction.opcode);
  scope_ = function_.function->body->statements[instruction.statement].scope;
  guard_ = nullptr;
  if (!instruction.guarded()) return true;
  const auto slot = find_register(instruction.guard.predicate);
  if (!slot || slot->bits != 1) {
    unsupported("its guard is no predicate register");
    return false;
  }
  guard_ = read_predicate_register(*slot, instruction.guard.negated);
  return true;
}

void FunctionCodegen::emit_instruction(const ptx::Instruction& instruction) {
  if (!begin_instruction(instruction)) return;
  if (guard_ != nullptr && program_.counting) emit_guard_count();
  const auto emitter = emitters().find(opcode_->root);
  if (emitter == emitters().end()) return unsupported();
  if (program_.checked) check_meeting();
  modifiers_are_known_ = false;
  (this->*emitter->second)();
  if (modifiers_are_known_) return;
  if (const std::string_view modifier = opcode_->unknown_modifier(); !modifier.empty())
    unsupported("its modifier '." + std::string(modifier) + "' is not known");
}

std::uint32_t FunctionCodegen::site() const {
  return function_.site_base +
         static_cast<std::uint32_t>(instruction_ - function_.function->body->instructions.data());
}

/// Counts the lanes whose guard holds, and the warp when there are any.
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

/// The scheduler copies these between register files: they must be in memory when the segment ends.
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

/// Registers are live out of a segment when some successor reads them first, or passes them on. A device
/// function's results in registers are live where it returns.
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
      // Lanes that are inactive here take other paths, and keep their values in memory. A guarded write reads
      // first.
      RegisterSet in = state.live_out;
      in.intersectWithComplement(state.written);
      in |= state.read_first;
      // Lanes that come here may run the second form instead.
      if (const std::uint32_t apart = function_.segments[i].apart; apart != no_segment) in |= live_in[apart];
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
  if (!diagnostics_.empty()) return;  // the first one says it
  std::string message =
      "instruction '" + std::string(instruction_->opcode) + "' is not supported by the cpu device";
  if (!detail.empty()) message += ": " + detail;
  diagnostics_.push_back({Severity::error, ptx_location(name_, instruction_->line), std::move(message), {}});
}

void FunctionCodegen::emit_control() {}
void FunctionCodegen::emit_nothing() {}

/// The target of each lane goes to WarpContext::operand; direct calls need nothing.
void FunctionCodegen::emit_indirect() {
  Value* target = nullptr;
  if (opcode_->root == "brx") {
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

/// Operands: [d,] a {, b} {, {!}c}. The scheduler takes ids and counts from the first active lane.
void FunctionCodegen::emit_barrier() {
  if (opcode_->has("warp")) return;  // a meeting: the scheduler has let its lanes wait
  if (opcode_->has("cluster")) {
    // Who arrives and waits is the scheduler's matter; every order is kept.
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

/// Last in the segment before a meeting: its members, and what the lanes bring there. Nothing is written for
/// other lanes, which may be waiting.
void FunctionCodegen::emit_arrival(const ptx::Instruction& instruction) {
  if (!begin_instruction(instruction)) return;
  state_->result = active();
  const auto store = [this](std::size_t offset, Value* values, unsigned bytes) {
    builder_.CreateMaskedStore(values, context_pointer(offset), llvm::Align(bytes), active_vector());
  };
  store(offsetof(WarpContext, members), read(*members_operand(instruction), ptx::DataType::b32), 4);
  Value* brought = nullptr;
  if (opcode_->root == "vote") brought = read_predicate(operand(1));
  if (opcode_->root == "shfl" || opcode_->root == "redux") brought = read(1, ptx::DataType::b32);
  if (opcode_->root == "match") brought = read(1, opcode_->type());
  if (brought != nullptr) store(offsetof(WarpContext, exchanged), resize(brought, 64, false), 8);
}

/// First in the segment after a bar.red: its result, of all lanes the same.
void FunctionCodegen::emit_barrier_result(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  opcode_.emplace(instruction.opcode);
  scope_ = function_.function->body->statements[instruction.statement].scope;
  if (instruction.guarded()) return unsupported("bar.red under a guard");
  Value* const result = context_load(offsetof(WarpContext, barrier_result), 32);
  if (opcode_->has("popc")) return write(0, ptx::DataType::u32, splat(result));
  write_predicate(operand(0), predicate_of(result));
}

}  // namespace lynxpp::device::cpu
