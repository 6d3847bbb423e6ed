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
  sort_places();
  for (const std::uint32_t block : uses_.exposed(reg)) {
    if (dominators_.is_reachable(block)) need_before(block);
  }
  while (!work_.empty()) {
    const std::uint32_t block = places_[work_.back()].block;
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
  places_.clear();
  candidates_.clear();
  entry_is_searched_ = false;
  for (const std::uint32_t block : uses_.written(reg)) {
    if (!dominators_.is_reachable(block)) continue;
    Place place;
    place.block = block;
    place.writes = true;
    place.is_whole = std::ranges::binary_search(uses_.killed(reg), block);
    places_.push_back(place);
  }
  sort_places();
  if (children_.size() < places_.size() + 1) children_.resize(places_.size() + 1);
  for (std::size_t place = 0; place <= places_.size(); ++place) children_[place].clear();
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    const std::uint32_t parent = places_[place].parent;
    children_[parent == at_entry ? places_.size() : parent].push_back(places_[place].block);
  }
}

/// Adds the candidates to places_ and finds every element's parent.
void PhiPlacement::sort_places() {
  for (const std::uint32_t block : candidates_) {
    Place place;
    place.block = block;
    place.has_phi = true;
    places_.push_back(place);
  }
  std::ranges::stable_sort(places_, {},
                           [this](const Place& place) { return dominators_.walk_order(place.block); });
  std::size_t size = 0;
  for (const Place& place : places_) {
    if (size > 0 && places_[size - 1].block == place.block) {
      places_[size - 1].has_phi |= place.has_phi;
    } else {
      places_[size++] = place;
    }
  }
  places_.resize(size);
  for (std::uint32_t place = 0; place < size; ++place) {
    std::uint32_t parent = place == 0 ? at_entry : place - 1;
    while (parent != at_entry && !dominators_.dominates(places_[parent].block, places_[place].block)) {
      parent = places_[parent].parent;
      ++steps_;
    }
    places_[place].parent = parent;
    places_[place].is_kept = false;
  }
  steps_ += size;
  find_reaches();
}

/// The dominated ranges of places_ are nested: each begins inside its parent's, and after its end the parent
/// is the last one again. Precomputing them avoids walking up one step per nested condition.
void PhiPlacement::find_reaches() {
  reaches_.clear();
  std::uint32_t last = at_entry;
  const auto leave_until = [&](std::uint32_t parent) {
    for (; last != parent; last = places_[last].parent)
      reaches_.push_back({dominators_.walk_end(places_[last].block), places_[last].parent});
  };
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    leave_until(places_[place].parent);
    reaches_.push_back({dominators_.walk_order(places_[place].block), place});
    last = place;
  }
  leave_until(at_entry);
  steps_ += reaches_.size();
}

std::uint32_t PhiPlacement::nearest(std::uint32_t block) {
  ++steps_;
  const auto behind =
      std::ranges::upper_bound(reaches_, dominators_.walk_order(block), {}, &Reach::walk_order);
  return behind == reaches_.begin() ? at_entry : std::prev(behind)->place;
}

// ---------------------------------------------------------------- candidates

void PhiPlacement::want_before(std::uint32_t block) {
  std::uint32_t write = nearest(block);
  if (write != at_entry && places_[write].block == block) write = places_[write].parent;
  while (true) {
    search_below(write);
    if (write == at_entry || places_[write].is_whole || std::exchange(places_[write].is_kept, true)) return;
    write = places_[write].parent;
  }
}

void PhiPlacement::want_behind(std::uint32_t block) {
  const std::uint32_t write = nearest(block);
  const bool is_here = write != at_entry && places_[write].block == block;
  if (is_here && (places_[write].is_whole || std::exchange(places_[write].is_kept, true))) return;
  want_before(block);
}

void PhiPlacement::search_below(std::uint32_t write) {
  bool& is_searched = write == at_entry ? entry_is_searched_ : places_[write].is_searched;
  if (!std::exchange(is_searched, true)) searches_.push_back(write);
}

void PhiPlacement::find_candidates(std::uint32_t write) {
  const std::uint32_t least_depth = write == at_entry ? 0 : frontiers_.depth(places_[write].block) + 1;
  work_ = children_[write == at_entry ? places_.size() : write];
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
        if (dominators_.is_reachable(predecessor)) want_behind(predecessor);
      }
    }
  }
}

// ---------------------------------------------------------------- candidates that are read

void PhiPlacement::need_before(std::uint32_t block) {
  const std::uint32_t place = nearest(block);
  need(place, place != at_entry && places_[place].block != block);
}

/// Marks the value at the beginning of a block (or at its end, if `behind`) as read.
void PhiPlacement::need(std::uint32_t place, bool behind) {
  for (; place != at_entry; place = places_[place].parent, behind = true) {
    Place& at = places_[place];
    ++steps_;
    if (behind && at.writes && (at.is_whole || std::exchange(at.is_kept, true))) return;
    if (!at.has_phi) continue;
    if (!std::exchange(at.is_needed, true)) work_.push_back(place);
    return;
  }
}

}  // namespace lynxpp::ptx
