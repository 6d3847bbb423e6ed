#include "engine/memory_effects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/parameter_slots.h"
#include "engine/reach.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/memory_access.h"
#include "ptx/parser/parser.h"

namespace lynxpp::engine {
namespace {

constexpr std::uint32_t pointer_bytes = 8;

/// An origin of an address.
struct Root {
  enum class Kind : std::uint8_t {
    unknown,
    word,               ///< the contents of a parameter at `offset`
    parameter_address,  ///< the address of the parameter at `offset`
    variable,           ///< the address of a variable in global memory
    other_memory,       ///< the address of shared, local or constant memory
  };
  Kind kind = Kind::unknown;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;  ///< parameter_address: of the parameter
  std::string_view name;    ///< variable
  auto operator<=>(const Root&) const = default;
};

/// Roots of one value, ascending.
using Roots = std::vector<Root>;

void add(Roots& roots, const Root& root) {
  const auto position = std::ranges::lower_bound(roots, root);
  if (position == roots.end() || *position != root) roots.insert(position, root);
}

bool add_all(Roots& roots, const Roots& more) {
  // Values with many roots are rare, and sets of them slow.
  constexpr std::size_t most_roots = 16;
  const std::size_t before = roots.size();
  for (const Root& root : more) add(roots, root);
  if (roots.size() > most_roots) roots = {Root{}};
  return roots.size() != before;
}

/// The parameters of a kernel, and their offsets.
class Parameters {
 public:
  explicit Parameters(const ptx::Function& function) {
    if (!function.is_entry) return;
    const std::vector<device::ParameterSlot> slots = parameter_slots(function);
    for (std::size_t i = 0; i < slots.size(); ++i)
      known_[function.parameters[i].name] = {
          Root::Kind::parameter_address, slots[i].offset, slots[i].bytes, {}};
  }
  const Root* find(std::string_view name) const {
    const auto found = known_.find(name);
    return found != known_.end() ? &found->second : nullptr;
  }

 private:
  std::map<std::string_view, Root> known_;
};

/// The roots of all values of a function, an over-approximation: every operand of an instruction may
/// contribute to its results.
class RootAnalysis {
 public:
  RootAnalysis(const ptx::Module& module, const ptx::FunctionUnit& unit)
      : module_(module),
        function_(*unit.function),
        analyses_(*unit.analyses),
        ssa_(analyses_.ssa()),
        parameters_(function_),
        roots_(ssa_.values().size()) {
    for (bool changes = true; changes;) {
      changes = false;
      for (ptx::ValueId value = 0; value < roots_.size(); ++value)
        changes |= add_all(roots_[value], roots_of_definition(value));
    }
  }

  /// Returns the roots of an address operand.
  Roots of_address(std::uint32_t instruction, const ptx::Operand& address) const {
    return of_operand(instruction, address.elements[0]);
  }

 private:
  Roots roots_of_definition(ptx::ValueId id) const {
    const ptx::Value& value = ssa_.values()[id];
    Roots roots;
    if (analyses_.registers().registers()[value.reg].is_predicate) return roots;
    const auto merge = [&](ptx::ValueId other) {
      if (other != ptx::no_value) add_all(roots, roots_[other]);
    };
    switch (value.kind) {
      case ptx::ValueKind::entry: break;
      case ptx::ValueKind::phi: std::ranges::for_each(ssa_.phi_inputs(id), merge); break;
      case ptx::ValueKind::write:
        merge(value.previous);
        add_all(roots, of_result(value.instruction));
        break;
    }
    return roots;
  }

  Roots of_result(std::uint32_t at) const {
    const ptx::Instruction& instruction = function_.body->instructions[at];
    if (instruction.traits.kind == ptx::OpcodeClass::call || !instruction.traits.is_known()) return {Root{}};
    if (instruction.traits.reads_memory) return of_loaded(at);
    if (joins_halves(instruction)) return {Root{}};
    Roots roots;
    for (const ptx::Operand& operand : instruction.operands) add_all(roots, of_operand(at, operand));
    for (const ptx::ValueId read : ssa_.reads(at)) {
      if (read != ptx::no_value) add_all(roots, roots_[read]);
    }
    return roots;
  }

  /// True if a 64-bit result may be an address whose halves were loaded or computed separately.
  static bool joins_halves(const ptx::Instruction& instruction) {
    if (ptx::size_of(instruction.traits.type) < pointer_bytes) return false;
    const auto& operands = instruction.operands;
    const bool has_vector = operands.size() == 2 && operands[1].kind == ptx::OperandKind::vector;
    const bool is_large_shift = instruction.op() == ptx::Op::shl && operands.size() == 3 &&
                                (operands[2].kind != ptx::OperandKind::integer || operands[2].integer >= 32);
    return has_vector || is_large_shift || instruction.op() == ptx::Op::bfi;
  }

  /// Smaller values are no pointers: joins_halves() finds those that are put together.
  Roots of_loaded(std::uint32_t at) const {
    const ptx::Instruction& instruction = function_.body->instructions[at];
    const std::uint32_t bytes = ptx::size_of(instruction.traits.type);
    if (bytes < pointer_bytes) return {};
    const ptx::MemoryAccesses accesses = ptx::memory_accesses(instruction);
    const ptx::Operand* const address = accesses.count != 0 ? accesses.access[0].address : nullptr;
    const Roots bases = address != nullptr ? of_address(at, *address) : Roots();
    if (bases.empty()) return {Root{}};
    Roots roots;
    for (const Root& base : bases) {
      if (base.kind != Root::Kind::parameter_address) return {Root{}};
      const bool is_direct = parameters_.find(address->elements[0].name) != nullptr;
      const std::uint32_t first = is_direct ? static_cast<std::uint32_t>(address->offset) : 0;
      const std::uint32_t end = is_direct ? first + bytes * instruction.traits.vector : base.bytes;
      for (std::uint32_t word = first / pointer_bytes * pointer_bytes; word < end; word += pointer_bytes)
        add(roots, {Root::Kind::word, base.offset + word, 0, {}});
    }
    return roots;
  }

  Roots of_operand(std::uint32_t at, const ptx::Operand& operand) const {
    Roots roots;
    if (operand.kind != ptx::OperandKind::identifier) {
      for (const ptx::Operand& element : operand.elements) add_all(roots, of_operand(at, element));
      return roots;
    }
    const ptx::RegisterId reg = analyses_.registers().find(operand.name, at);
    if (reg == ptx::no_register) return {of_symbol(at, operand.name)};
    const ptx::ValueId value = ssa_.read_of(at, reg);
    return value == ptx::no_value ? roots : roots_[value];
  }

  Root of_symbol(std::uint32_t at, std::string_view name) const {
    if (const Root* const parameter = parameters_.find(name)) return *parameter;
    const ptx::Body& body = *function_.body;
    const std::uint32_t scope = body.statements[body.instructions[at].statement].scope;
    const ptx::Variable* variable = body.find_variable(name, scope);
    if (variable == nullptr) variable = module_.find_variable(name);
    if (variable == nullptr) return {};
    switch (variable->space) {
      case ptx::StateSpace::global: return {Root::Kind::variable, 0, 0, variable->name};
      case ptx::StateSpace::shared:
      case ptx::StateSpace::local:
      case ptx::StateSpace::constant: return {Root::Kind::other_memory, 0, 0, {}};
      default: return {};
    }
  }

  const ptx::Module& module_;
  const ptx::Function& function_;
  ptx::FunctionAnalyses& analyses_;
  const ptx::SsaForm& ssa_;
  const Parameters parameters_;
  std::vector<Roots> roots_;  // by value
};

void add_roots(MemoryRoots& to, const Roots& roots) {
  if (roots.empty()) to.has_unknown = true;
  for (const Root& root : roots) {
    switch (root.kind) {
      case Root::Kind::unknown: to.has_unknown = true; break;
      case Root::Kind::word: to.words.insert(root.offset); break;
      case Root::Kind::variable: to.variables.emplace(root.name); break;
      case Root::Kind::parameter_address:
      case Root::Kind::other_memory: break;
    }
  }
}

bool is_global(ptx::StateSpace space) {
  return space == ptx::StateSpace::global || space == ptx::StateSpace::generic ||
         space == ptx::StateSpace::none;
}

/// True if the order of the access with others is observable outside the thread.
bool is_strong(const ptx::Instruction& instruction) {
  using M = ptx::Modifier;
  return instruction.has_any(
      {M::is_volatile, M::relaxed, M::acquire, M::release, M::acq_rel, M::mmio, M::cv});
}

/// Returns an effect of the instruction that repeating a launch would repeat; empty: none besides its
/// accesses.
std::string other_effect(const ptx::Module& module, const ptx::Instruction& instruction) {
  using ptx::Op;
  const std::string opcode(instruction.opcode);
  switch (instruction.op()) {
    case Op::unknown: return "it has an instruction that lynxpp does not know, '" + opcode + "'";
    case Op::sust:
    case Op::sured: return "it writes a surface";
    case Op::multimem:
    case Op::tensormap:
    case Op::discard:
    case Op::griddepcontrol: return "it uses '" + opcode + "'";
    case Op::call: break;
    default: return {};
  }
  const std::string_view callee = ptx::direct_callee(module, instruction);
  if (callee.empty()) return "it calls functions through pointers";
  const ptx::Function* const function = module.find_function(callee);
  const bool has_code = function != nullptr && !function->is_declaration();
  return has_code || callee == "__assertfail" ? std::string() : "it calls '" + std::string(callee) + "'";
}

bool is_fence_of_device(const ptx::Instruction& instruction) {
  return instruction.traits.kind == ptx::OpcodeClass::fence && !instruction.has(ptx::Modifier::cta) &&
         instruction.opcode.find("proxy") == std::string_view::npos &&
         instruction.opcode.find("mbarrier_init") == std::string_view::npos;
}

void add_function(const ptx::Module& module, const ptx::FunctionUnit& unit, MemoryEffects& effects) {
  const RootAnalysis roots(module, unit);
  const std::vector<ptx::Instruction>& instructions = unit.function->body->instructions;
  for (std::uint32_t at = 0; at < instructions.size(); ++at) {
    const ptx::Instruction& instruction = instructions[at];
    if (effects.other.empty()) effects.other = other_effect(module, instruction);
    effects.communicates |= is_fence_of_device(instruction);
    for (const ptx::MemoryAccess& access : ptx::memory_accesses(instruction)) {
      if (access.space == ptx::StateSpace::texture || access.space == ptx::StateSpace::surface)
        effects.reads.has_unknown = true;
      if (!is_global(access.space)) continue;
      const Roots origins = access.address != nullptr ? roots.of_address(at, *access.address) : Roots{Root{}};
      const auto is_elsewhere = [](const Root& root) {
        return root.kind == Root::Kind::other_memory || root.kind == Root::Kind::parameter_address;
      };
      if (!origins.empty() && std::ranges::all_of(origins, is_elsewhere)) continue;
      if (access.reads) add_roots(effects.reads, origins);
      if (access.writes) add_roots(effects.writes, origins);
      effects.updates |= access.reads && access.writes;
      effects.communicates |= is_strong(instruction) && !(access.reads && access.writes);
    }
  }
}

}  // namespace

Result<MemoryEffects> memory_effects(const std::string& ptx, const std::string& kernel) {
  Result<ptx::Module> module = ptx::parse_module(ptx);
  if (!module) return module.error();
  const Result<ptx::ReachedFunctions> reached = find_reachable(*module, kernel);
  if (!reached) return reached.error();
  MemoryEffects effects;
  effects.parameters = parameter_slots(*reached->kernel().function);
  for (const ptx::FunctionUnit& unit : reached->functions) add_function(*module, unit, effects);
  if (effects.other.empty() && reached->calls_indirectly)
    effects.other = "it calls functions through pointers";
  for (const ptx::Variable& variable : module->variables) {
    if (variable.space == ptx::StateSpace::global && !variable.is_extern)
      effects.variables.push_back({variable.name, variable.size_bytes()});
  }
  return effects;
}

}  // namespace lynxpp::engine
