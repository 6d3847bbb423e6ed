#include "ptx/analysis/flow/control_flow_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

class GraphBuilder {
 public:
  explicit GraphBuilder(const Body& body) : body_(body) {}

  ControlFlowGraph build() {
    make_blocks();
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) connect(block);
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      for (const std::uint32_t successor : graph_.blocks[block].successors) {
        graph_.blocks[successor].predecessors.push_back(block);
      }
    }
    return std::move(graph_);
  }

 private:
  void open_block(std::uint32_t instruction) {
    BasicBlock block;
    block.begin = block.end = instruction;
    graph_.blocks.push_back(std::move(block));
  }

  /// Splits the instructions into blocks and records the labels.
  void make_blocks() {
    open_block(0);
    bool closed = false;  // the last instruction ended its block
    graph_.block_of.reserve(body_.instructions.size());
    for (const Statement& statement : body_.statements) {
      if (statement.kind == StatementKind::label) {
        if (closed || graph_.blocks.back().size() > 0) open_block(graph_.blocks.back().end);
        closed = false;
        add_label(statement);
      } else if (statement.kind == StatementKind::instruction) {
        if (closed) open_block(graph_.blocks.back().end);
        const Instruction& instruction = body_.instructions[statement.index];
        BasicBlock& block = graph_.blocks.back();
        if (block.size() == 0) block.line = instruction.line;
        ++block.end;
        graph_.block_of.push_back(static_cast<std::uint32_t>(graph_.blocks.size() - 1));
        closed = instruction.traits.ends_block();
      }
    }
  }

  void add_label(const Statement& statement) {
    const auto block = static_cast<std::uint32_t>(graph_.blocks.size() - 1);
    if (graph_.blocks.back().line == 0) graph_.blocks.back().line = statement.line;
    graph_.labels.emplace_back(statement.name, block);
    scoped_labels_.try_emplace(key(statement.scope, statement.name), block);
  }

  static std::string key(std::uint32_t scope, std::string_view name) {
    return std::to_string(scope) + ' ' + std::string(name);
  }

  /// Returns the label that a branch in `scope` refers to: the one in the innermost enclosing scope that
  /// defines it.
  std::uint32_t find_label(std::string_view name, std::uint32_t scope) const {
    while (true) {
      if (const auto found = scoped_labels_.find(key(scope, name)); found != scoped_labels_.end())
        return found->second;
      if (scope == 0) return no_block;
      scope = body_.scopes[scope].parent;
    }
  }

  void connect(std::uint32_t index) {
    BasicBlock& block = graph_.blocks[index];
    if (block.size() == 0) return fall_through(index);
    const Instruction& last = body_.instructions[block.end - 1];
    switch (last.traits.kind) {
      case OpcodeClass::branch:
        block.targets = branch_targets(last);
        for (const std::uint32_t target : block.targets) add_successor(index, target);
        if (last.guarded()) fall_through(index);
        break;
      case OpcodeClass::exit:
        block.leaves_function = true;
        if (last.guarded()) fall_through(index);
        break;
      default: fall_through(index);
    }
  }

  void fall_through(std::uint32_t index) {
    BasicBlock& block = graph_.blocks[index];
    if (index + 1 == graph_.blocks.size()) {
      block.leaves_function = true;
      return;
    }
    block.fall_through = index + 1;
    add_successor(index, index + 1);
  }

  void add_successor(std::uint32_t block, std::uint32_t successor) {
    successor_of_.resize(graph_.blocks.size(), no_block);
    if (std::exchange(successor_of_[successor], block) != block)
      graph_.blocks[block].successors.push_back(successor);
  }

  std::vector<std::uint32_t> branch_targets(const Instruction& branch) {
    const std::uint32_t scope = body_.statements[branch.statement].scope;
    std::vector<std::uint32_t> targets;
    const auto add = [&](std::string_view label) {
      if (const std::uint32_t block = find_label(label, scope); block != no_block) targets.push_back(block);
    };
    if (branch.operands.empty()) return targets;
    const std::string_view name = branch.operands.back().name;
    if (branch.op() != Op::brx) {
      add(name);
      return targets;
    }
    if (const TargetList* const list = body_.find_branch_targets(name, scope); list != nullptr) {
      const auto [known, is_new] = targets_of_.try_emplace({list, scope});
      if (is_new) {
        for (const std::string_view label : list->targets) add(label);
        known->second = targets;
      }
      return known->second;
    }
    for (const auto& [label, block] : graph_.labels) targets.push_back(block);
    return targets;
  }

  const Body& body_;
  ControlFlowGraph graph_;
  std::unordered_map<std::string, std::uint32_t> scoped_labels_;
  std::vector<std::uint32_t> successor_of_;  ///< the last block that each block was added to as a successor
  std::map<std::pair<const TargetList*, std::uint32_t>, std::vector<std::uint32_t>>
      targets_of_;  ///< by scope
};

}  // namespace

std::uint32_t ControlFlowGraph::block_of_label(std::string_view label) const {
  for (const auto& [name, block] : labels) {
    if (name == label) return block;
  }
  return no_block;
}

ControlFlowGraph build_control_flow_graph(const Function& function) {
  LYNXPP_CHECK(function.body.has_value(), "the function's body is not parsed");
  return GraphBuilder(*function.body).build();
}

bool is_defined_by_driver(std::string_view function) {
  constexpr std::array<std::string_view, 4> known = {"vprintf", "malloc", "free", "__assertfail"};
  return std::ranges::count(known, function) != 0;
}

}  // namespace lynxpp::ptx
