#include "ptx/analysis/flow/phi_placement.h"

#include <algorithm>
#include <utility>

namespace lynxpp::ptx {

PhiPlacement::PhiPlacement(const ControlFlowGraph& graph, const DominatorTree& dominators,
                           const BlockUses& uses)
    : graph_(graph),
      dominators_(dominators),
      uses_(uses),
      frontiers_(graph, dominators),
      walk_(frontiers_),
      candidate_of_(graph.blocks.size(), no_register) {}

void PhiPlacement::append_joins(RegisterId reg, std::vector<std::uint32_t>& joins) {
  if (is_trivial(reg)) return;
  begin(reg);
  for (const std::uint32_t block : uses_.exposed(reg)) {
    if (dominators_.is_reachable(block)) want_before(block);
  }
  while (!searches_.empty()) {
    const std::uint32_t write = searches_.back();
    searches_.pop_back();
    find_candidates(write);
  }
  if (candidates_.empty()) return;
  // Keep only the candidates whose value is read on some path.
  sort_definitions();
  for (const std::uint32_t block : uses_.exposed(reg)) {
    if (dominators_.is_reachable(block)) need_before(block);
  }
  while (!work_.empty()) {
    const std::uint32_t block = definitions_[work_.back()].block;
    work_.pop_back();
    joins.push_back(block);
    for (const std::uint32_t predecessor : graph_.blocks[block].predecessors) {
      if (dominators_.is_reachable(predecessor)) need(nearest(predecessor), true);
    }
  }
}

/// Most registers are read in the block that writes them.
bool PhiPlacement::is_trivial(RegisterId reg) const {
  return uses_.exposed(reg).empty() || std::ranges::all_of(uses_.written(reg), [this](std::uint32_t block) {
           return frontiers_.is_empty(block);
         });
}

void PhiPlacement::begin(RegisterId reg) {
  reg_ = reg;
  walk_.restart();
  definitions_.clear();
  candidates_.clear();
  entry_is_searched_ = false;
  for (const std::uint32_t block : uses_.written(reg)) {
    if (!dominators_.is_reachable(block)) continue;
    Definition definition;
    definition.block = block;
    definition.writes = true;
    definition.is_full = std::ranges::binary_search(uses_.killed(reg), block);
    definitions_.push_back(definition);
  }
  sort_definitions();
  if (children_.size() < definitions_.size() + 1) children_.resize(definitions_.size() + 1);
  for (std::size_t definition = 0; definition <= definitions_.size(); ++definition)
    children_[definition].clear();
  for (std::uint32_t definition = 0; definition < definitions_.size(); ++definition) {
    const std::uint32_t parent = definitions_[definition].parent;
    children_[parent == at_entry ? definitions_.size() : parent].push_back(definitions_[definition].block);
  }
}

/// Adds the candidates to definitions_ and finds every element's parent.
void PhiPlacement::sort_definitions() {
  for (const std::uint32_t block : candidates_) {
    Definition definition;
    definition.block = block;
    definition.has_phi = true;
    definitions_.push_back(definition);
  }
  std::ranges::stable_sort(definitions_, {}, [this](const Definition& definition) {
    return dominators_.walk_order(definition.block);
  });
  std::size_t size = 0;
  for (const Definition& definition : definitions_) {
    if (size > 0 && definitions_[size - 1].block == definition.block) {
      definitions_[size - 1].has_phi |= definition.has_phi;
    } else {
      definitions_[size++] = definition;
    }
  }
  definitions_.resize(size);
  for (std::uint32_t definition = 0; definition < size; ++definition) {
    std::uint32_t parent = definition == 0 ? at_entry : definition - 1;
    while (parent != at_entry &&
           !dominators_.dominates(definitions_[parent].block, definitions_[definition].block)) {
      parent = definitions_[parent].parent;
      ++steps_;
    }
    definitions_[definition].parent = parent;
    definitions_[definition].is_kept = false;
  }
  steps_ += size;
  find_reaches();
}

/// The dominated ranges of definitions_ are nested: each begins inside its parent's, and after its end the
/// parent is the last one again. Precomputing them avoids walking up one step per nested condition.
void PhiPlacement::find_reaches() {
  reaches_.clear();
  std::uint32_t last = at_entry;
  const auto leave_until = [&](std::uint32_t parent) {
    for (; last != parent; last = definitions_[last].parent)
      reaches_.push_back({dominators_.walk_end(definitions_[last].block), definitions_[last].parent});
  };
  for (std::uint32_t definition = 0; definition < definitions_.size(); ++definition) {
    leave_until(definitions_[definition].parent);
    reaches_.push_back({dominators_.walk_order(definitions_[definition].block), definition});
    last = definition;
  }
  leave_until(at_entry);
  steps_ += reaches_.size();
}

std::uint32_t PhiPlacement::nearest(std::uint32_t block) {
  ++steps_;
  const auto after =
      std::ranges::upper_bound(reaches_, dominators_.walk_order(block), {}, &Reach::walk_order);
  return after == reaches_.begin() ? at_entry : std::prev(after)->definition;
}

// ---------------------------------------------------------------- candidates

void PhiPlacement::want_before(std::uint32_t block) {
  std::uint32_t write = nearest(block);
  if (write != at_entry && definitions_[write].block == block) write = definitions_[write].parent;
  while (true) {
    search_below(write);
    if (write == at_entry || definitions_[write].is_full || std::exchange(definitions_[write].is_kept, true))
      return;
    write = definitions_[write].parent;
  }
}

void PhiPlacement::want_after(std::uint32_t block) {
  const std::uint32_t write = nearest(block);
  const bool is_here = write != at_entry && definitions_[write].block == block;
  if (is_here && (definitions_[write].is_full || std::exchange(definitions_[write].is_kept, true))) return;
  want_before(block);
}

void PhiPlacement::search_below(std::uint32_t write) {
  bool& is_searched = write == at_entry ? entry_is_searched_ : definitions_[write].is_searched;
  if (!std::exchange(is_searched, true)) searches_.push_back(write);
}

void PhiPlacement::find_candidates(std::uint32_t write) {
  const std::uint32_t least_depth = write == at_entry ? 0 : frontiers_.depth(definitions_[write].block) + 1;
  work_ = children_[write == at_entry ? definitions_.size() : write];
  while (!work_.empty()) {
    const std::uint32_t block = work_.back();
    work_.pop_back();
    found_.clear();
    frontiers_.append(block, least_depth, walk_, found_);
    for (const std::uint32_t join : found_) {
      if (std::exchange(candidate_of_[join], reg_) == reg_) continue;
      candidates_.push_back(join);
      work_.push_back(join);
      for (const std::uint32_t predecessor : graph_.blocks[join].predecessors) {
        ++steps_;
        if (dominators_.is_reachable(predecessor)) want_after(predecessor);
      }
    }
  }
}

// ---------------------------------------------------------------- candidates that are read

void PhiPlacement::need_before(std::uint32_t block) {
  const std::uint32_t definition = nearest(block);
  need(definition, definition != at_entry && definitions_[definition].block != block);
}

/// Marks the value at the beginning of a block (or at its end, if `at_end`) as read.
void PhiPlacement::need(std::uint32_t definition, bool at_end) {
  for (; definition != at_entry; definition = definitions_[definition].parent, at_end = true) {
    Definition& at = definitions_[definition];
    ++steps_;
    if (at_end && at.writes && (at.is_full || std::exchange(at.is_kept, true))) return;
    if (!at.has_phi) continue;
    if (!std::exchange(at.is_needed, true)) work_.push_back(definition);
    return;
  }
}

}  // namespace lynxpp::ptx
