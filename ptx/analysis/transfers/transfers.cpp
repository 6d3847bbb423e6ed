// Builds one graph over the values of all functions, with additional nodes for parameters, results and local
// memory. An edge goes from a value to one that depends on it. Marks propagate along the edges from loads
// (sources of a value) and against them from stores (its destinations).
#include "ptx/analysis/transfers/transfers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

using Node = std::uint32_t;
/// A set of memories that a value or an address may refer to.
using Marks = std::uint8_t;
constexpr Marks device = 1;
constexpr Marks shared = 2;
constexpr Marks loaded = 4;  ///< a pointer loaded from memory may point anywhere

class Graph {
 public:
  Node add_nodes(std::size_t count) {
    const auto first = static_cast<Node>(nodes_);
    nodes_ += count;
    return first;
  }
  void add_edge(Node from, Node to) { edges_.emplace_back(from, to); }

  /// Propagates marks along the edges, or against them, to a fixed point. `marks` has one element per node.
  void spread(std::vector<Marks>& marks, bool forward) const {
    std::vector<std::uint32_t> first(nodes_ + 1);
    for (const auto& [from, to] : edges_) ++first[(forward ? from : to) + 1];
    for (std::size_t i = 0; i < nodes_; ++i) first[i + 1] += first[i];
    std::vector<Node> ends(edges_.size());
    std::vector<std::uint32_t> next = first;
    for (const auto& [from, to] : edges_) ends[next[forward ? from : to]++] = forward ? to : from;
    std::vector<Node> pending;
    for (Node node = 0; node < nodes_; ++node) {
      if (marks[node] != 0) pending.push_back(node);
    }
    while (!pending.empty()) {
      const Node node = pending.back();
      pending.pop_back();
      for (std::uint32_t i = first[node]; i < first[node + 1]; ++i) {
        if ((marks[ends[i]] | marks[node]) == marks[ends[i]]) continue;
        marks[ends[i]] |= marks[node];
        pending.push_back(ends[i]);
      }
    }
  }
  std::size_t size() const { return nodes_; }

 private:
  std::size_t nodes_ = 0;
  std::vector<std::pair<Node, Node>> edges_;
};

/// A memory access of an instruction: the values that it loads or stores, and those of its address.
struct AccessNodes {
  const Instruction* instruction = nullptr;
  StateSpace space = StateSpace::none;
  std::vector<Node> loaded, stored, address;
  bool brings_into_shared = true;  ///< the stored value is not combined with the memory's contents
};

bool is_device_space(StateSpace space) {
  return space == StateSpace::global || space == StateSpace::texture || space == StateSpace::surface;
}

bool leads_outside(StateSpace space) {
  return is_device_space(space) || space == StateSpace::shared || space == StateSpace::generic;
}

class TransferFinder {
 public:
  TransferFinder(const Module& module, std::span<FunctionAnalyses* const> functions) : module_(module) {
    local_ = graph_.add_nodes(1);
    for (FunctionAnalyses* each : functions) {
      const Node first = graph_.add_nodes(each->ssa().values().size());
      functions_.push_back({each, first});
      by_name_.emplace(each->function().name, functions_.size() - 1);
    }
    for (std::size_t i = 0; i < functions_.size(); ++i) add_function(i);
  }

  Transfers find() {
    const std::vector<Marks> pointers = pointer_marks();
    std::vector<Marks> sources(graph_.size()), targets(graph_.size());
    for (const AccessNodes& access : accesses_) {
      const Marks memory = memory_of(access, pointers);
      for (const Node node : access.loaded) sources[node] |= memory;
      for (const Node node : access.stored) targets[node] |= target_of(access, memory);
    }
    graph_.spread(sources, true);
    graph_.spread(targets, false);
    Transfers result;
    for (const AccessNodes& access : accesses_) {
      const Marks memory = memory_of(access, pointers);
      Marks from = 0, to = 0;
      for (const Node node : access.stored) from |= sources[node];
      for (const Node node : access.loaded) to |= targets[node];
      const TransferSet set =
          between(from, target_of(access, memory)) | between(access.loaded.empty() ? 0 : memory, to);
      result.add(*access.instruction, 0, set);
    }
    for (const Instruction* copy : copies_) add_copy(*copy, result);
    return result;
  }

 private:
  struct FunctionNodes {
    FunctionAnalyses* analyses;
    Node first_value;
  };

  static TransferSet between(Marks from, Marks to) {
    TransferSet set = no_transfer;
    if ((from & device) != 0 && (to & shared) != 0) set |= transfer_into_shared;
    if ((from & shared) != 0 && (to & device) != 0) set |= transfer_into_device;
    return set;
  }

  static void add_copy(const Instruction& copy, Transfers& result) {
    const MemoryAccesses sides = memory_accesses(copy);
    const auto memory = [](const MemoryAccess& side) {
      if (side.space == StateSpace::generic) return static_cast<Marks>(device | shared);
      return side.space == StateSpace::shared ? shared : device;
    };
    const TransferSet set = between(memory(sides.access[0]), memory(sides.access[1]));
    result.add(copy, 0, set);
    result.add(copy, 1, set);
  }

  /// The memories that pointers may refer to, for generic accesses.
  std::vector<Marks> pointer_marks() const {
    std::vector<Marks> marks = pointer_seeds_;
    marks.resize(graph_.size());
    graph_.spread(marks, true);
    return marks;
  }

  static Marks memory_of(const AccessNodes& access, const std::vector<Marks>& pointers) {
    if (access.space == StateSpace::shared) return shared;
    if (access.space != StateSpace::generic) return device;
    Marks made_of = 0;
    for (const Node node : access.address) made_of |= pointers[node];
    if ((made_of & loaded) != 0) return device | shared;
    if ((made_of & shared) == 0) return device;
    return made_of & (device | shared);
  }

  static Marks target_of(const AccessNodes& access, Marks memory) {
    return access.brings_into_shared ? memory : memory & ~shared;
  }

  // ---- building the graph

  void add_function(std::size_t index) {
    FunctionAnalyses& analyses = *functions_[index].analyses;
    const Node first = functions_[index].first_value;
    const SsaForm& ssa = analyses.ssa();
    for (ValueId id = 0; id < ssa.values().size(); ++id) {
      const Value& value = ssa.values()[id];
      if (value.kind == ValueKind::phi) {
        for (const ValueId input : ssa.phi_inputs(id)) {
          if (input != no_value) graph_.add_edge(first + input, first + id);
        }
      } else if (value.previous != no_value) {
        graph_.add_edge(first + value.previous, first + id);
      }
    }
    for (std::uint32_t at = 0; at < analyses.function().body->instructions.size(); ++at)
      add_instruction(index, at);
  }

  void add_instruction(std::size_t index, std::uint32_t at) {
    const Instruction& instruction = body_of(index).instructions[at];
    if (instruction.traits.kind == OpcodeClass::call) return add_call(index, at);
    const MemoryAccesses accesses = memory_accesses(instruction);
    if (accesses.count == 2) {
      copies_.push_back(&instruction);
    } else if (accesses.count == 1) {
      add_access(index, at, accesses.access[0]);
    } else if (accesses.count == 0) {
      add_dependences(index, at);
    }
  }

  void add_dependences(std::size_t index, std::uint32_t at) {
    const std::vector<Node> written = written_by(index, at);
    for (const Node to : written) {
      for (const Node from : read_by(index, at)) graph_.add_edge(from, to);
    }
    const Instruction& instruction = body_of(index).instructions[at];
    if (instruction.op() != Op::cvta || instruction.has(Modifier::to)) return;
    const bool is_shared =
        instruction.has_any({Modifier::shared, Modifier::shared_cta, Modifier::shared_cluster});
    const bool is_global = instruction.has(Modifier::global);
    for (const Node node : written) seed_pointer(node, is_shared ? shared : is_global ? device : Marks{0});
  }

  void add_access(std::size_t index, std::uint32_t at, const MemoryAccess& access) {
    const Instruction& instruction = body_of(index).instructions[at];
    AccessNodes nodes;
    nodes.instruction = &instruction;
    nodes.space = access.space;
    if (access.reads) nodes.loaded = written_by(index, at);
    if (access.writes) nodes.stored = stored_by(index, at);
    if (access.address != nullptr) nodes.address = nodes_of(index, at, *access.address);
    if (!leads_outside(access.space)) return add_private_access(index, at, access, nodes);
    if (instruction.traits.kind == OpcodeClass::atomic)
      nodes.brings_into_shared = instruction.has_any({Modifier::exch, Modifier::cas});
    constexpr std::uint32_t pointer_bytes = 8;
    if (size_of(instruction.traits.type) == pointer_bytes) {
      for (const Node node : nodes.loaded) seed_pointer(node, loaded);
    }
    accesses_.push_back(std::move(nodes));
  }

  /// Local memory is one node; each parameter and result of a function has its own. Constants have no source.
  void add_private_access(std::size_t index, std::uint32_t at, const MemoryAccess& access,
                          const AccessNodes& nodes) {
    Node memory = local_;
    if (access.space == StateSpace::param) {
      if (access.address == nullptr) return;
      const Operand& base = access.address->elements.front();
      if (base.kind != OperandKind::identifier) return;
      memory = parameter(index, at, base.name);
    } else if (access.space != StateSpace::local) {
      return;
    }
    for (const Node node : nodes.stored) graph_.add_edge(node, memory);
    for (const Node node : nodes.loaded) graph_.add_edge(memory, node);
  }

  /// call (results), callee, (arguments)
  void add_call(std::size_t index, std::uint32_t at) {
    const Instruction& call = body_of(index).instructions[at];
    const bool has_results = call.operands.size() > 1 && call.operands[0].kind == OperandKind::list;
    const std::size_t callee_at = has_results ? 1 : 0;
    if (callee_at >= call.operands.size()) return;
    std::vector<std::vector<Node>> results, arguments;
    if (has_results) results = nodes_of_list(index, at, call.operands[0], true);
    if (callee_at + 1 < call.operands.size() && call.operands[callee_at + 1].kind == OperandKind::list)
      arguments = nodes_of_list(index, at, call.operands[callee_at + 1], false);
    const Operand& callee = call.operands[callee_at];
    const Function* function = call.calls_register ? nullptr : module_.find_function(callee.name);
    const auto known = function == nullptr ? by_name_.end() : by_name_.find(function->name);
    if (known == by_name_.end()) {
      // The results of an unknown callee depend on its arguments.
      for (const auto& to : results) {
        for (const auto& from : arguments) connect(from, to);
      }
      return;
    }
    for (std::size_t i = 0; i < std::min(arguments.size(), function->parameters.size()); ++i)
      connect(arguments[i], {own_parameter(known->second, function->parameters[i].name)});
    for (std::size_t i = 0; i < std::min(results.size(), function->returns.size()); ++i)
      connect({own_parameter(known->second, function->returns[i].name)}, results[i]);
  }

  void connect(const std::vector<Node>& from, const std::vector<Node>& to) {
    for (const Node begin : from) {
      for (const Node end : to) graph_.add_edge(begin, end);
    }
  }

  // ---- nodes

  const Body& body_of(std::size_t index) const { return *functions_[index].analyses->function().body; }

  std::vector<Node> written_by(std::size_t index, std::uint32_t at) const {
    std::vector<Node> nodes;
    for (const ValueId id : functions_[index].analyses->ssa().writes(at)) add_value(index, id, nodes);
    return nodes;
  }
  std::vector<Node> read_by(std::size_t index, std::uint32_t at) const {
    std::vector<Node> nodes;
    for (const ValueId id : functions_[index].analyses->ssa().reads(at)) add_value(index, id, nodes);
    return nodes;
  }
  void add_value(std::size_t index, ValueId id, std::vector<Node>& nodes) const {
    if (id != no_value) nodes.push_back(functions_[index].first_value + id);
  }

  /// The values it stores; for a surface store, which has no address, all values that it reads.
  std::vector<Node> stored_by(std::size_t index, std::uint32_t at) const {
    const Instruction& instruction = body_of(index).instructions[at];
    const Operand* value = stored_operand(instruction, 0);
    if (value == nullptr) {
      const bool is_surface = instruction.traits.space == StateSpace::surface;
      return is_surface ? read_by(index, at) : std::vector<Node>();
    }
    std::vector<Node> nodes = nodes_of(index, at, *value);
    const Operand* second = instruction.has(Modifier::cas) ? stored_operand(instruction, 1) : nullptr;
    if (second != nullptr) nodes = nodes_of(index, at, *second);  // the first is only compared
    return nodes;
  }

  /// The nodes of the registers that an operand names, as the instruction reads them.
  std::vector<Node> nodes_of(std::size_t index, std::uint32_t at, const Operand& operand) const {
    std::vector<Node> nodes;
    if (operand.kind == OperandKind::identifier) {
      FunctionAnalyses& analyses = *functions_[index].analyses;
      const RegisterId reg = analyses.registers().find(operand.name, at);
      if (reg != no_register) add_value(index, analyses.ssa().read_of(at, reg), nodes);
    }
    for (const Operand& element : operand.elements) {
      const std::vector<Node> more = nodes_of(index, at, element);
      nodes.insert(nodes.end(), more.begin(), more.end());
    }
    return nodes;
  }

  /// The nodes of each argument or result of a call: a register, or a parameter variable.
  std::vector<std::vector<Node>> nodes_of_list(std::size_t index, std::uint32_t at, const Operand& list,
                                               bool is_written) {
    std::vector<std::vector<Node>> result;
    FunctionAnalyses& analyses = *functions_[index].analyses;
    for (const Operand& each : list.elements) {
      std::vector<Node>& nodes = result.emplace_back();
      if (each.kind != OperandKind::identifier) continue;
      const RegisterId reg = analyses.registers().find(each.name, at);
      if (reg == no_register) {
        nodes.push_back(parameter(index, at, each.name));
      } else if (!is_written) {
        add_value(index, analyses.ssa().read_of(at, reg), nodes);
      } else {
        const auto writes = analyses.registers().writes(at);
        const auto found = std::ranges::find(writes, reg, &RegisterWrite::reg);
        if (found != writes.end()) {
          add_value(index, analyses.ssa().writes(at)[static_cast<std::size_t>(found - writes.begin())],
                    nodes);
        }
      }
    }
    return result;
  }

  /// The parameter variable that `name` refers to at the instruction.
  Node parameter(std::size_t index, std::uint32_t at, std::string_view name) {
    const Body& body = body_of(index);
    const std::uint32_t scope = body.statements[body.instructions[at].statement].scope;
    const Variable* variable = body.find_variable(name, scope);
    return variable == nullptr ? own_parameter(index, name) : node_of(variable);
  }

  /// The function's own parameter or result of that name.
  Node own_parameter(std::size_t index, std::string_view name) {
    const Function& function = functions_[index].analyses->function();
    for (const auto* list : {&function.parameters, &function.returns}) {
      for (const Variable& each : *list) {
        if (each.name == name)
          return each.space == StateSpace::reg ? entry_node(index, each) : node_of(&each);
      }
    }
    return node_of(nullptr);
  }

  Node node_of(const Variable* variable) {
    const auto [found, is_new] = parameters_.try_emplace(variable, 0);
    if (is_new) found->second = graph_.add_nodes(1);
    return found->second;
  }

  /// A parameter in a register (PTX before 2.0): all its values share a node.
  Node entry_node(std::size_t index, const Variable& parameter) {
    const auto [found, is_new] = parameters_.try_emplace(&parameter, 0);
    if (!is_new) return found->second;
    found->second = graph_.add_nodes(1);
    FunctionAnalyses& analyses = *functions_[index].analyses;
    const auto& registers = analyses.registers().registers();
    for (ValueId id = 0; id < analyses.ssa().values().size(); ++id) {
      if (registers[analyses.ssa().values()[id].reg].name != parameter.name) continue;
      graph_.add_edge(found->second, functions_[index].first_value + id);
      graph_.add_edge(functions_[index].first_value + id, found->second);
    }
    return found->second;
  }

  void seed_pointer(Node node, Marks marks) {
    if (marks == 0) return;
    if (pointer_seeds_.size() <= node) pointer_seeds_.resize(node + std::size_t{1});
    pointer_seeds_[node] |= marks;
  }

  const Module& module_;
  Graph graph_;
  Node local_ = 0;
  std::vector<FunctionNodes> functions_;
  std::map<std::string_view, std::size_t> by_name_;
  std::map<const Variable*, Node> parameters_;
  std::vector<AccessNodes> accesses_;
  std::vector<const Instruction*> copies_;
  std::vector<Marks> pointer_seeds_;
};

}  // namespace

Transfers find_transfers(const Module& module, std::span<FunctionAnalyses* const> functions) {
  return TransferFinder(module, functions).find();
}

}  // namespace lynxpp::ptx
