// Plans a program: the functions that the kernel reaches, their segments, shared and local memory.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "device/cpu/simt/compile/program.h"
#include "ptx/analysis/flow/strong_components.h"
#include "ptx/parser/parser.h"

namespace lynxpp::device::cpu {
namespace {

/// True for barriers of a block or a cluster.
bool is_barrier(const ptx::Instruction& instruction) {
  const bool barrier = instruction.op() == ptx::Op::bar || instruction.op() == ptx::Op::barrier;
  return barrier && !instruction.has(ptx::Modifier::warp);
}

BarrierKind barrier_kind(const ptx::Instruction& instruction) {
  using enum ptx::Modifier;
  if (instruction.has(cluster))
    return instruction.has(wait) ? BarrierKind::cluster_wait : BarrierKind::cluster_arrive;
  if (instruction.has(red)) {
    if (instruction.has(popc)) return BarrierKind::reduce_popc;
    return instruction.has(bit_and) ? BarrierKind::reduce_and : BarrierKind::reduce_or;
  }
  return instruction.has(arrive) ? BarrierKind::arrive : BarrierKind::sync;
}

bool waits_for_products(const ptx::Instruction& instruction) {
  return instruction.op() == ptx::Op::wgmma && instruction.opcode.starts_with("wgmma.wait_group");
}

bool reads_clock(const ptx::Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [](const ptx::Operand& operand) {
    return operand.kind == ptx::OperandKind::special_register &&
           (operand.name.starts_with("%clock") || operand.name.starts_with("%globaltimer"));
  });
}

bool may_spin(const ptx::Instruction& instruction) {
  using enum ptx::Modifier;
  return instruction.traits.kind == ptx::OpcodeClass::atomic ||
         instruction.has_any({is_volatile, relaxed, acquire, mmio, cg, cv, test_wait, try_wait});
}

class Planner {
 public:
  Planner(ptx::Module& module, const std::string& name, CodeKind kind)
      : module_(module), name_(name), kind_(kind) {}

  Result<Program> plan(std::uint32_t kernel);

 private:
  std::uint32_t add(std::uint32_t module_function, bool direct);
  Status reach();
  Status add_indirect_targets();
  Status plan_function(CompiledFunction& function);
  static void split_before(CompiledFunction& function, Segment& segment, std::uint32_t instruction);
  Status finish_block(CompiledFunction& function, std::uint32_t block, Segment& segment);
  Status plan_call(CompiledFunction& function, const ptx::Instruction& instruction, CallSite& site);
  Result<CallSlot> call_slot(CompiledFunction& function, const ptx::Operand& operand, std::uint32_t scope);
  std::vector<CallSlot> formal_slots(CompiledFunction& function, const std::vector<ptx::Variable>& formals);
  Status plan_shared();
  Status check_memory() const;
  std::uint64_t stack_bytes();
  std::optional<std::uint64_t> deepest_chain() const;
  Failure fail(const ptx::Instruction& instruction, std::string message) const {
    return failure_at(ptx_location(name_, instruction.line), std::move(message));
  }
  std::uint32_t function_index(std::string_view name) const;

  ptx::Module& module_;
  const std::string& name_;
  const CodeKind kind_;
  Program program_;
  std::unordered_map<std::uint32_t, std::uint32_t> added_;  ///< by index in the module
  bool indirect_ = false;
};

std::uint32_t Planner::function_index(std::string_view name) const {
  const ptx::Function* function = module_.find_function(name);
  return function == nullptr ? no_function : static_cast<std::uint32_t>(function - module_.functions.data());
}

std::uint32_t Planner::add(std::uint32_t module_function, bool direct) {
  const auto [known, is_new] =
      added_.try_emplace(module_function, static_cast<std::uint32_t>(program_.functions.size()));
  if (!is_new) {
    program_.functions[known->second].direct |= direct;
    return known->second;
  }
  CompiledFunction function;
  function.module_function = module_function;
  function.function = &module_.functions[module_function];
  function.name = function.function->name;
  function.direct = direct;
  program_.functions.push_back(std::move(function));
  return known->second;
}

/// Adds functions until the program is closed under calls. A failure in a directly called function is
/// returned; other functions store theirs.
Status Planner::reach() {
  for (std::uint32_t i = 0; i < program_.functions.size(); ++i) {
    ptx::Function& function = module_.functions[program_.functions[i].module_function];
    if (Status parsed = ptx::parse_body(module_, function, name_); !parsed) return parsed.error();
    const ptx::CallSites calls = ptx::find_calls(module_, function);
    for (const std::string_view callee : calls.direct) {
      const std::uint32_t index = function_index(callee);
      if (index != no_function && !module_.functions[index].is_declaration())
        add(index, program_.functions[i].direct);
    }
    if (calls.indirect && !indirect_) {
      indirect_ = true;
      if (Status added = add_indirect_targets(); !added) return added.error();
    }
  }
  return success();
}

/// Adds every function whose address is taken by code or by a variable's initial value.
Status Planner::add_indirect_targets() {
  const auto add_named = [this](std::string_view name) {
    const std::uint32_t index = function_index(name);
    if (index == no_function || module_.functions[index].is_declaration()) return;
    if (!module_.functions[index].is_entry) add(index, false);
  };
  for (ptx::Function& function : module_.functions) {
    if (function.is_declaration()) continue;
    if (Status parsed = ptx::parse_body(module_, function, name_); !parsed) return parsed.error();
    for (const std::string_view taken : ptx::find_calls(module_, function).address_taken) add_named(taken);
  }
  for (const ptx::Variable& variable : module_.variables) {
    if (!variable.has_initializer) continue;
    const Result<ptx::InitialValue> value = ptx::parse_initial_value(module_, variable);
    if (!value) return value.error();
    for (const ptx::Relocation& relocation : value->relocations) add_named(relocation.symbol);
  }
  return success();
}

Status Planner::plan_function(CompiledFunction& function) {
  function.registers = std::make_shared<RegisterFile>(*function.function);
  function.frame = std::make_shared<FrameLayout>(*function.function);
  function.graph = ptx::build_control_flow_graph(*function.function);
  if (!function.function->is_entry) {
    function.parameters = formal_slots(function, function.function->parameters);
    function.results = formal_slots(function, function.function->returns);
  }
  const ptx::Body& body = *function.function->body;
  std::vector<std::uint32_t> first_segment;
  for (std::uint32_t block = 0; block < function.graph.blocks.size(); ++block) {
    const ptx::BasicBlock& bounds = function.graph.blocks[block];
    first_segment.push_back(static_cast<std::uint32_t>(function.segments.size()));
    Segment segment;
    segment.block = block;
    segment.starts_block = true;
    segment.begin = bounds.begin;
    for (std::uint32_t i = bounds.begin; i < bounds.end; ++i) {
      const ptx::Instruction& instruction = body.instructions[i];
      const bool waits = waits_for_products(instruction);
      const bool is_clock = kind_.timed && reads_clock(instruction);
      if (waits || is_clock || (kind_.explored && may_spin(instruction))) split_before(function, segment, i);
      segment.reads_clock |= is_clock;
      segment.may_spin |= may_spin(instruction);
      segment.line = instruction.line;
      if (const std::string* const file = module_.find_file(instruction.source_file)) {
        segment.source_file = *file;
        segment.source_line = instruction.source_line;
      }
      if (!is_barrier(instruction) && !waits) continue;
      segment.end = i + 1;
      segment.waits = segment.continues = waits;
      if (!waits) segment.control = Control::barrier;
      if (!waits) segment.barrier = barrier_kind(instruction);
      const bool reduces = !waits && segment.barrier >= BarrierKind::reduce_popc;
      segment.next = static_cast<std::uint32_t>(function.segments.size() + 1);
      function.segments.push_back(std::move(segment));
      segment = Segment();
      segment.block = block;
      segment.begin = i + 1;
      if (reduces) segment.resumed_from = i;
    }
    segment.end = bounds.end;
    if (Status finished = finish_block(function, block, segment); !finished) return finished;
    function.segments.push_back(std::move(segment));
  }
  // Targets are block numbers so far; replace them by the blocks' first segments.
  const std::vector<std::uint32_t> post_dominators = ptx::immediate_post_dominators(function.graph);
  const auto segment_of = [&](std::uint32_t block) {
    return block < first_segment.size() ? first_segment[block] : no_segment;
  };
  for (Segment& segment : function.segments) {
    segment.reconvergence = segment_of(post_dominators[segment.block]);
    if (segment.control == Control::barrier || segment.continues) continue;
    segment.next = segment_of(segment.next);
    segment.target = segment_of(segment.target);
    for (std::uint32_t& target : segment.targets) target = segment_of(target);
  }
  plan_meetings(function);
  return success();
}

/// Splits the segment before the instruction.
void Planner::split_before(CompiledFunction& function, Segment& segment, std::uint32_t instruction) {
  if (instruction == segment.begin) return;
  Segment rest;
  rest.block = segment.block;
  rest.begin = instruction;
  segment.end = instruction;
  segment.continues = true;
  segment.next = static_cast<std::uint32_t>(function.segments.size() + 1);
  function.segments.push_back(std::move(segment));
  segment = std::move(rest);
}

/// Sets the control flow of a block's last segment, with block numbers as targets.
Status Planner::finish_block(CompiledFunction& function, std::uint32_t block, Segment& segment) {
  const ptx::BasicBlock& bounds = function.graph.blocks[block];
  segment.next = bounds.fall_through;
  if (segment.begin == segment.end) return success();
  const ptx::Body& body = *function.function->body;
  const ptx::Instruction& last = body.instructions[segment.end - 1];
  if (!last.traits.ends_block()) return success();
  if (last.traits.kind == ptx::OpcodeClass::exit) {
    segment.control = last.op() == ptx::Op::ret    ? Control::ret
                      : last.op() == ptx::Op::trap ? Control::trap
                                                   : Control::exit;
    return success();
  }
  if (last.traits.kind == ptx::OpcodeClass::call) {
    segment.control = Control::call;
    return plan_call(function, last, segment.call);
  }
  if (last.op() == ptx::Op::brx) {
    segment.control = Control::indexed_branch;
    const ptx::TargetList* const list =
        last.operands.size() < 2
            ? nullptr
            : body.find_branch_targets(last.operands[1].name, body.statements[last.statement].scope);
    if (list == nullptr || list->targets.empty()) return fail(last, "brx.idx without a list of targets");
    if (bounds.targets.size() != list->targets.size())
      return fail(last, "the list '" + std::string(list->name) + "' names an unknown label");
    segment.targets = bounds.targets;
    return success();
  }
  if (last.operands.size() != 1) return fail(last, "malformed branch '" + std::string(last.opcode) + "'");
  segment.control = Control::branch;
  if (bounds.targets.size() != 1)
    return fail(last, "unknown label '" + std::string(last.operands[0].name) + "'");
  segment.target = bounds.targets.front();
  return success();
}

Status Planner::plan_call(CompiledFunction& function, const ptx::Instruction& instruction, CallSite& site) {
  const std::uint32_t scope = function.function->body->statements[instruction.statement].scope;
  std::size_t at = 0;
  const auto& operands = instruction.operands;
  const auto take_list = [&](std::vector<CallSlot>& slots) -> Status {
    if (at >= operands.size() || operands[at].kind != ptx::OperandKind::list) return success();
    for (const ptx::Operand& element : operands[at++].elements) {
      Result<CallSlot> slot = call_slot(function, element, scope);
      if (!slot) return fail(instruction, "unknown call operand '" + std::string(element.name) + "'");
      slots.push_back(*slot);
    }
    return success();
  };
  if (Status taken = take_list(site.results); !taken) return taken;
  if (at >= operands.size() || operands[at].kind != ptx::OperandKind::identifier) {
    return fail(instruction, "malformed call");
  }
  const std::string_view callee = operands[at++].name;
  if (Status taken = take_list(site.arguments); !taken) return taken;
  if (function.registers->find(callee, scope)) {
    site.indirect = true;
    return success();
  }
  const std::uint32_t index = function_index(callee);
  if (index != no_function && !module_.functions[index].is_declaration()) {
    if (const auto known = added_.find(index); known != added_.end()) site.callee = known->second;
    return success();
  }
  site.builtin = find_builtin(callee);
  if (site.builtin != Builtin::none) return success();
  return fail(instruction, "function '" + std::string(callee) +
                               "' is not defined in this module and the cpu device does not provide it");
}

Result<CallSlot> Planner::call_slot(CompiledFunction& function, const ptx::Operand& operand,
                                    std::uint32_t scope) {
  CallSlot slot;
  if (operand.kind == ptx::OperandKind::integer || operand.kind == ptx::OperandKind::floating) {
    slot.kind = CallSlot::Kind::immediate;
    slot.bytes = operand.kind == ptx::OperandKind::floating && operand.is_single ? 4 : 8;
    slot.immediate = operand.kind == ptx::OperandKind::integer ? static_cast<std::uint64_t>(operand.integer)
                                                               : operand.bits;
    return slot;
  }
  if (const auto reg = function.registers->find(operand.name, scope)) {
    slot.kind = CallSlot::Kind::reg;
    slot.offset = reg->offset;
    slot.predicate = reg->bits == 1;
    slot.bytes = slot.predicate ? 1 : reg->bits / 8;
    return slot;
  }
  const ptx::Variable* variable = function.function->body->find_variable(operand.name, scope);
  if (variable == nullptr && !function.function->is_entry) {
    for (const auto* list : {&function.function->parameters, &function.function->returns}) {
      for (const ptx::Variable& formal : *list) {
        if (formal.name == operand.name) variable = &formal;
      }
    }
  }
  if (variable == nullptr || variable->space != ptx::StateSpace::param)
    return failure("unknown call operand");
  slot.offset = static_cast<std::uint32_t>(function.frame->offset(variable));
  slot.bytes = static_cast<std::uint32_t>(variable->size_bytes());
  return slot;
}

std::vector<CallSlot> Planner::formal_slots(CompiledFunction& function,
                                            const std::vector<ptx::Variable>& formals) {
  std::vector<CallSlot> slots;
  for (const ptx::Variable& formal : formals) {
    CallSlot slot;
    if (formal.space == ptx::StateSpace::reg) {
      if (const auto reg = function.registers->find(formal.name, 0)) {
        slot = {CallSlot::Kind::reg, reg->offset, reg->bits == 1 ? 1 : reg->bits / 8, 0, reg->bits == 1};
      }
    } else {
      slot.offset = static_cast<std::uint32_t>(function.frame->offset(&formal));
      slot.bytes = static_cast<std::uint32_t>(formal.size_bytes());
    }
    slots.push_back(slot);
  }
  return slots;
}

/// Gap between arrays in checked code, so that an access past the end of one does not hit the next.
constexpr std::uint64_t gap_of_checked_arrays = 64;

/// Larger arrays count as this size, so that no sum overflows.
constexpr std::uint64_t beyond_any_shared_memory = std::uint64_t{1} << 32;

/// Allocates only variables that the program's code names.
Status Planner::plan_shared() {
  std::set<std::string_view> of_module;
  for (const ptx::Variable& variable : module_.variables) {
    if (variable.space == ptx::StateSpace::shared) of_module.insert(variable.name);
  }
  std::set<std::string_view> named;
  const auto collect = [&](const auto& self, const ptx::Operand& operand) -> void {
    if (operand.kind == ptx::OperandKind::identifier && of_module.contains(operand.name))
      named.insert(operand.name);
    program_.shared.has_reserved |= operand.name.starts_with("%reserved_smem_offset_");
    for (const ptx::Operand& element : operand.elements) self(self, element);
  };
  std::uint64_t end = 0;
  std::uint32_t dynamic_alignment = 16;
  std::vector<std::string> dynamic;
  const auto place = [&](const std::string& key, const ptx::Variable& variable) {
    if (variable.space != ptx::StateSpace::shared) return;
    if (variable.is_extern && variable.size_bytes() == 0) {
      dynamic.push_back(key);
      dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
      return;
    }
    end = align_up(end, variable.alignment);
    program_.shared.offsets[key] = static_cast<std::uint32_t>(end);
    program_.shared.arrays.push_back({static_cast<std::uint32_t>(end),
                                      static_cast<std::uint32_t>(variable.size_bytes()),
                                      std::string(variable.name)});
    end += std::min(variable.size_bytes(), beyond_any_shared_memory) +
           (kind_.checked ? gap_of_checked_arrays : 0);
  };
  for (const CompiledFunction& function : program_.functions) {
    for (const ptx::Instruction& instruction : function.function->body->instructions) {
      for (const ptx::Operand& operand : instruction.operands) collect(collect, operand);
    }
    for (const ptx::Variable& variable : function.function->body->variables) {
      place(shared_key(function.function, variable.scope, variable.name), variable);
    }
  }
  for (const ptx::Variable& variable : module_.variables) {
    if (named.contains(variable.name)) place(variable.name, variable);
  }
  if (end > 0xffff'ffff)
    return failure("kernel '" + program_.functions[0].name + "' declares too much shared memory");
  end = align_up(end, dynamic.empty() ? 1 : dynamic_alignment);
  for (const std::string& key : dynamic) program_.shared.offsets[key] = static_cast<std::uint32_t>(end);
  program_.shared.static_bytes = static_cast<std::uint32_t>(end);
  return success();
}

/// Local memory of the deepest call chain from the kernel; nullopt if the chain has no bound.
std::optional<std::uint64_t> Planner::deepest_chain() const {
  std::vector<std::vector<std::uint32_t>> callees(program_.functions.size());
  std::vector<bool> calls_anything(callees.size(), false);
  for (std::size_t i = 0; i < callees.size(); ++i) {
    for (const Segment& segment : program_.functions[i].segments) {
      if (segment.control != Control::call) continue;
      if (segment.call.indirect) calls_anything[i] = true;
      if (segment.call.callee != no_function) callees[i].push_back(segment.call.callee);
    }
  }
  std::vector<std::optional<std::uint64_t>> deepest(callees.size());
  for (const std::vector<std::uint32_t>& component : ptx::strong_components(callees)) {
    const std::uint32_t function = component.front();
    const std::vector<std::uint32_t>& called = callees[function];
    if (component.size() > 1 || calls_anything[function] || std::ranges::count(called, function) != 0)
      continue;
    std::uint64_t below = 0;
    bool is_bounded = true;
    for (const std::uint32_t callee : called) {
      is_bounded &= deepest[callee].has_value();
      below = std::max(below, deepest[callee].value_or(0));
    }
    if (is_bounded) deepest[function] = below + program_.functions[function].frame->bytes();
  }
  return deepest[0];
}

bool takes_from_stack(const CompiledFunction& function) {
  return std::ranges::any_of(function.function->body->instructions,
                             [](const ptx::Instruction& each) { return each.op() == ptx::Op::alloca; });
}

std::uint64_t Planner::stack_bytes() {
  if (const auto bounded = deepest_chain()) {
    program_.has_unbounded_stack = std::ranges::any_of(program_.functions, &takes_from_stack);
    return align_up(*bounded, 16);
  }
  program_.has_unbounded_stack = true;
  std::uint64_t frames = 0;
  for (const CompiledFunction& function : program_.functions) frames += function.frame->bytes();
  return align_up(frames, 16);
}

/// Enforces a GPU's limits; otherwise a module could request more memory than the host has.
Status Planner::check_memory() const {
  const auto too_much = [&](const ptx::Function& function, std::uint64_t bytes, const char* kind,
                            std::uint64_t most) {
    return failure_at(ptx_location(name_, function.line), (function.is_entry ? "kernel '" : "function '") +
                                                              function.name + "' declares " +
                                                              std::to_string(bytes) + " bytes of " + kind +
                                                              "; the limit is " + std::to_string(most));
  };
  const ptx::Function& kernel = *program_.functions[0].function;
  if (const std::uint64_t bytes = ParameterLayout(kernel).bytes; bytes > most_parameter_bytes)
    return too_much(kernel, bytes, "parameters", most_parameter_bytes);
  for (const CompiledFunction& each : program_.functions) {
    const std::uint64_t bytes = FrameLayout(*each.function).bytes();
    if (bytes > most_local_bytes) return too_much(*each.function, bytes, "local memory", most_local_bytes);
  }
  return success();
}

Result<Program> Planner::plan(std::uint32_t kernel) {
  add(kernel, true);
  if (Status reached = reach(); !reached) return reached.error();
  if (Status fits = check_memory(); !fits) return fits.error();
  for (CompiledFunction& function : program_.functions) {
    function.segment_base = program_.segment_count;
    function.site_base = program_.site_count;
    if (Status planned = plan_function(function); !planned) {
      if (function.direct) return planned.error();
      function.failure = planned.error().diagnostics;
    }
    program_.segment_count += static_cast<std::uint32_t>(function.segments.size());
    program_.site_count += static_cast<std::uint32_t>(function.function->body->instructions.size());
  }
  if (Status planned = plan_shared(); !planned) return planned.error();
  program_.local_bytes = stack_bytes();
  program_.parameter_bytes = ParameterLayout(*program_.functions[0].function).bytes;
  return std::move(program_);
}

}  // namespace

const CompiledFunction* Program::find(std::uint32_t module_function) const {
  for (const CompiledFunction& function : functions) {
    if (function.module_function == module_function) return &function;
  }
  return nullptr;
}

Builtin find_builtin(std::string_view name) {
  if (name == "vprintf") return Builtin::vprintf;
  if (name == "malloc") return Builtin::malloc;
  if (name == "free") return Builtin::free;
  if (name == "__assertfail") return Builtin::assertfail;
  // Before CUDA 12 without the prefix __cudaCDP2.
  for (const std::string_view prefix : {"__cudaCDP2", "cuda"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view function = name.substr(prefix.size());
    if (function == "GetParameterBufferV2") return Builtin::launch_parameters;
    if (function == "LaunchDeviceV2" || function == "LaunchDeviceV2_ptsz") return Builtin::device_launch;
    if (function == "StreamCreateWithFlags" || function == "EventCreateWithFlags")
      return Builtin::device_handle;
    if (function == "Malloc" && prefix != "cuda") return Builtin::device_malloc;
    if (function == "Free" && prefix != "cuda") return Builtin::device_free;
    // Grids run one after the other, in the order of their launches.
    for (const std::string_view other :
         {"GetLastError", "PeekAtLastError", "StreamDestroy", "StreamWaitEvent", "StreamWaitEvent_ptsz",
          "EventRecord", "EventRecord_ptsz", "EventRecordWithFlags", "EventRecordWithFlags_ptsz",
          "EventDestroy"}) {
      if (function == other) return Builtin::device_success;
    }
  }
  return Builtin::none;
}

SourceLocation ptx_location(std::string_view name, std::uint32_t line) {
  return {std::string(name), line, 1, 1};
}

Result<Program> plan_program(ptx::Module& module, std::uint32_t kernel, const std::string& name,
                             CodeKind kind) {
  return Planner(module, name, kind).plan(kernel);
}

}  // namespace lynxpp::device::cpu
