// Regions: a hot segment and the segments that a converged warp runs after it, as one function.
//
// Registers are variables of the function, which LLVM keeps in processor registers. A region ends after a
// segment that needs the scheduler: at divergence and reconvergence, barriers, calls, meetings and exits of
// lanes, after a fault, and when the warp's turn is over. The live registers are then in the register file,
// and the scheduler continues as if it had run that segment alone.
#include <algorithm>

#include "device/cpu/simt/compile/codegen_region.h"
#include "device/cpu/simt/compile/region.h"

namespace lynxpp::device::cpu {
namespace {

using Value = llvm::Value;

}  // namespace

bool FunctionCodegen::Region::is_dominated_by(std::uint32_t segment, std::uint32_t through) const {
  if (segment == through) return false;
  std::vector<std::uint32_t> open = {segments.front()};
  std::set<std::uint32_t> seen = {through, segments.front()};
  if (segments.front() == through) return true;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (at == segment) return false;
    const auto successors = next.find(at);
    if (successors == next.end()) continue;
    for (const std::uint32_t each : successors->second) {
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return true;
}

bool FunctionCodegen::Region::is_in_loop(std::uint32_t segment) const {
  std::vector<std::uint32_t> open = {segment};
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const auto successors = next.find(open.back());
    open.pop_back();
    if (successors == next.end()) continue;
    for (const std::uint32_t each : successors->second) {
      if (each == segment) return true;
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return false;
}

/// Counts the writes of each register in the region and records the successors of each segment. row_of()
/// needs both for segments that are emitted later.
void FunctionCodegen::survey_region() {
  const auto& instructions = function_.function->body->instructions;
  const auto count = [&](const ptx::Operand& operand, std::uint32_t scope) {
    if (operand.kind != ptx::OperandKind::identifier) return;
    if (const auto slot = function_.registers->find(operand.name, scope)) ++region_->writes[slot->id];
  };
  const auto count_all = [&](const ptx::Instruction& instruction) {
    const std::uint32_t scope = function_.function->body->statements[instruction.statement].scope;
    for (std::size_t i = 0;
         i < std::min<std::size_t>(instruction.traits.destinations, instruction.operands.size()); ++i) {
      count(instruction.operands[i], scope);
      for (const ptx::Operand& element : instruction.operands[i].elements) count(element, scope);
    }
  };
  for (const std::uint32_t index : region_->segments) {
    const Segment& segment = function_.segments[index];
    const std::vector<std::uint32_t> next = region_successors(function_, index);
    region_->next[index].insert(next.begin(), next.end());
    if (segment.resumed_from) count_all(instructions[*segment.resumed_from]);
    for (std::uint32_t i = segment.begin; i < segment.end; ++i) count_all(instructions[i]);
  }
}

/// Returns a variable for the register, initialized from the register file at the region's entry.
Value* FunctionCodegen::region_register(const RegisterSlot& slot) {
  llvm::AllocaInst*& place = region_->registers[slot.id];
  if (place == nullptr) {
    llvm::IRBuilder<> entry(state_->function->getEntryBlock().getTerminator());
    place = entry.CreateAlloca(vector_type(slot.bits));
  }
  return place;
}

/// Returns the block to which a warp continues after `from`: segment `to`, or the region's exit.
llvm::BasicBlock* FunctionCodegen::region_edge(std::uint32_t from, std::uint32_t to, llvm::BasicBlock* exit) {
  const auto begin = region_->begins.find(to);
  if (begin == region_->begins.end()) return exit;
  auto* const edge = llvm::BasicBlock::Create(module_.getContext(), "edge", state_->function);
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(edge);
  Value* leaves = builder_.getFalse();
  if (region_->joins.contains(to))
    leaves = builder_.CreateOr(leaves, builder_.CreateICmpEQ(region_->join, constant32(to)));
  if (function_.segments[to].split_form != no_segment)
    leaves = builder_.CreateOr(leaves, builder_.CreateNot(region_->together));
  if (to <= from) {
    Value* const left =
        builder_.CreateSub(builder_.CreateLoad(builder_.getInt32Ty(), region_->turn), constant32(1));
    builder_.CreateStore(left, region_->turn);
    leaves = builder_.CreateOr(leaves, builder_.CreateICmpSLE(left, constant32(0)));
  }
  builder_.CreateCondBr(leaves, exit, begin->second);
  return edge;
}

void FunctionCodegen::emit_in_region(std::uint32_t index) {
  const Segment& segment = function_.segments[index];
  const SegmentCode& code = function_.code[index];
  again_.emplace(code.first_access, code.first_operation);
  SegmentState& state = states_.emplace_back();
  state.function = state_->function;
  state_ = &state;
  patterns_.clear();
  groups_.clear();
  any_nan_.clear();
  rows_.clear();
  region_->segment = index;
  segment_end_ = segment.end;
  const std::size_t calls_before = helper_calls_;
  builder_.SetInsertPoint(region_->begins.at(index));
  if (segment.may_spin) builder_.CreateStore(constant32(1), context_pointer(offsetof(WarpContext, spun)));
  emit_segment(state, segment);
  if (!diagnostics_.empty()) return;
  for (const std::uint32_t id : state.written) {
    region_->writers[id] = {index, state.values.at(id)};
    builder_.CreateStore(state.values.at(id), region_register(function_.registers->slot(id)));
    region_->written.insert(id);
  }
  llvm::Function* const function = state.function;
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  };
  llvm::BasicBlock* const exit = block("exit");
  region_->exits.push_back({index, exit, state.result});
  if (helper_calls_ != calls_before) {
    Value* const fault = context_load(offsetof(WarpContext, fault) + offsetof(Fault, kind), 32);
    Value* const stop = builder_.CreateOr(fault, context_load(offsetof(WarpContext, yields), 32));
    llvm::BasicBlock* const continues = block("on");
    builder_.CreateCondBr(builder_.CreateICmpEQ(stop, constant32(0)), continues, exit);
    builder_.SetInsertPoint(continues);
  }
  emit_region_control(segment, index, exit);
}

void FunctionCodegen::emit_region_control(const Segment& segment, std::uint32_t index,
                                          llvm::BasicBlock* exit) {
  Value* const taken = state_->result;
  const bool is_guarded = taken != mask_;
  const bool leaves = segment.control == Control::ret || segment.control == Control::exit;
  if (segment.control == Control::next) {
    builder_.CreateBr(
        region_edge(index, continues_in(function_, segment.next) ? segment.next : no_segment, exit));
    return;
  }
  if ((segment.control != Control::branch && !leaves) || (leaves && !is_guarded)) {
    builder_.CreateBr(exit);
    return;
  }
  const auto edge = [&](std::uint32_t to) {
    return region_edge(index, continues_in(function_, to) ? to : no_segment, exit);
  };
  if (!is_guarded || (segment.control == Control::branch && segment.target == segment.next)) {
    builder_.CreateBr(edge(segment.target));
    return;
  }
  llvm::BasicBlock* const next = edge(segment.next);
  llvm::BasicBlock* some = exit;
  if (segment.control == Control::branch) {
    some = llvm::BasicBlock::Create(module_.getContext(), "some", state_->function);
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    llvm::BasicBlock* const target = edge(segment.target);
    builder_.SetInsertPoint(some);
    builder_.CreateCondBr(builder_.CreateICmpEQ(taken, mask_), target, exit);
  }
  builder_.CreateCondBr(builder_.CreateICmpEQ(taken, constant32(0)), next, some);
}

/// Writes the registers that are live after the segment to the register file, for the active lanes.
void FunctionCodegen::emit_region_exit(std::uint32_t segment, Value* taken) {
  for (const std::uint32_t id : function_.code[segment].live_out) {
    if (!region_->written.contains(id)) continue;
    const RegisterSlot slot = function_.registers->slot(id);
    Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), file_, slot.offset);
    Value* value = builder_.CreateLoad(vector_type(slot.bits), region_->registers.at(id));
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
  builder_.CreateStore(builder_.CreateLoad(builder_.getInt32Ty(), region_->turn),
                       context_pointer(offsetof(WarpContext, turn)));
  builder_.CreateStore(constant32(segment), context_pointer(offsetof(WarpContext, segment)));
  builder_.CreateRet(taken);
}

/// Emits the function itself: one version for full warps, one for others.
void FunctionCodegen::emit_region_choice(const std::string& name, llvm::Function* lanes) {
  lanes->setLinkage(llvm::Function::InternalLinkage);
  lanes->addFnAttr(llvm::Attribute::AlwaysInline);
  begin_function(name, false);
  llvm::Function* const function = state_->function;
  const auto block = [&](const char* of) {
    return llvm::BasicBlock::Create(module_.getContext(), of, function);
  };
  llvm::BasicBlock* const all = block("all");
  llvm::BasicBlock* const some = block("some");
  builder_.CreateCondBr(builder_.CreateICmpEQ(mask_, constant32(~0u)), all, some);
  builder_.SetInsertPoint(all);
  builder_.CreateRet(builder_.CreateCall(lanes, {warp_, constant32(~0u)}));
  builder_.SetInsertPoint(some);
  builder_.CreateRet(builder_.CreateCall(lanes, {warp_, mask_}));
}

Status FunctionCodegen::emit_region(std::uint32_t start) {
  Region region;
  region.segments = region_segments(function_, start);
  for (const Segment& segment : function_.segments) {
    if (segment.reconvergence != no_segment) region.joins.insert(segment.reconvergence);
  }
  states_.reserve(region.segments.size() + 2);
  state_ = &states_.emplace_back();
  const std::string name = segment_name(function_, start);
  begin_function(name + ".lanes", false);
  llvm::Function* const function = state_->function;
  llvm::BasicBlock* const body = builder_.GetInsertBlock();
  region_ = &region;
  region.turn =
      llvm::IRBuilder<>(function->getEntryBlock().getTerminator()).CreateAlloca(builder_.getInt32Ty());
  builder_.CreateStore(context_load(offsetof(WarpContext, turn), 32), region.turn);
  region.join = context_load(offsetof(WarpContext, join), 32);
  region.has_rows = builder_.CreateICmpNE(context_load(offsetof(WarpContext, has_rows), 32), constant32(0));
  survey_region();
  region.together = builder_.CreateICmpEQ(context_load(offsetof(WarpContext, live), 32), mask_);
  for (const std::uint32_t segment : region.segments)
    region.begins[segment] = llvm::BasicBlock::Create(module_.getContext(), "segment", function);
  for (const std::uint32_t segment : region.segments) {
    emit_in_region(segment);
    if (!diagnostics_.empty()) return Failure{diagnostics_};
  }
  for (const Region::Exit& exit : region.exits) {
    builder_.SetInsertPoint(exit.block);
    emit_region_exit(exit.segment, exit.taken);
  }
  builder_.SetInsertPoint(body);
  for (const auto& [id, place] : region.registers) {
    const RegisterSlot slot = function_.registers->slot(id);
    Value* const source = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), file_, slot.offset);
    Value* const value =
        slot.bits == 1
            ? predicate_of(builder_.CreateAlignedLoad(builder_.getInt32Ty(), source, llvm::Align(4)))
            : builder_.CreateAlignedLoad(vector_type(slot.bits), source, llvm::Align(32));
    builder_.CreateStore(value, place);
  }
  builder_.CreateBr(region.begins.at(start));
  region_ = nullptr;
  emit_region_choice(name, function);
  return success();
}

}  // namespace lynxpp::device::cpu
