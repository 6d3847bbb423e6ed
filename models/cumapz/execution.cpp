#include "models/cumapz/execution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/cumapz/block_cache.h"
#include "models/cumapz/block_order.h"
#include "models/cumapz/buffers.h"
#include "models/cumapz/line_cache.h"
#include "models/cumapz/symmetry.h"
#include "models/cumapz/transactions.h"

namespace lynxpp::models::cumapz {
namespace {

constexpr std::int64_t most_rounds = 1'000'000;
constexpr std::int64_t most_instructions = 1'000'000;
constexpr std::int64_t most_work = 1'000'000'000;

struct Problem {
  Position position;
  std::string message;
  std::string hint;
};

/// Addresses of the lanes of one access group that do the same: access shared memory or global memory.
using Addresses = std::vector<std::int64_t>;

/// Channels that the first blocks access, by reference.
struct Channels {
  std::uint32_t current = 0;                                 ///< the current reference
  std::map<std::uint32_t, std::set<std::uint32_t>> touched;  ///< by the current block
  std::map<std::uint32_t, ChannelUse> uses;
};

class Execution {
 public:
  Execution(const Description& description, const Variant& variant, const Machine& machine)
      : description_(description),
        variant_(variant),
        machine_(machine),
        frame_(description.slots, Column(static_cast<std::size_t>(variant.threads()), 0)) {
    totals_.references.resize(description.references);
    for (std::size_t i = 0; i < description.constants.size(); ++i)
      std::ranges::fill(frame_[description.constants[i].slot], variant.constants[i]);
    for (unsigned d = 0; d < 3; ++d) {
      std::ranges::fill(frame_[block_size + d], variant.block[d]);
      std::ranges::fill(frame_[grid_size + d], variant.grid[d]);
    }
    for (std::size_t i = 0; i < frame_[0].size(); ++i) {
      const auto linear = static_cast<std::int64_t>(i);
      frame_[thread_index][i] = linear % variant.block[0];
      frame_[thread_index + 1][i] = linear / variant.block[0] % variant.block[1];
      frame_[thread_index + 2][i] = linear / variant.block[0] / variant.block[1];
    }
    if (variant.swaps_threads) std::swap(frame_[thread_index], frame_[thread_index + 1]);
    totals_.read.resize(variant.array_bytes.size());
    totals_.written.resize(variant.array_bytes.size());
    place_shared_arrays();
  }

  Totals run() {
    const auto shared =
        static_cast<std::uint32_t>(std::min<std::int64_t>(variant_.bytes_of_shared(), 1 << 30));
    totals_.occupancy = occupancy(machine_, {static_cast<std::uint32_t>(variant_.threads()),
                                             static_cast<std::uint32_t>(variant_.registers), shared});
    if (totals_.occupancy.blocks == 0)
      throw Problem{
          description_.block[0].position, "a block does not fit on a multiprocessor of " + machine_.name,
          std::to_string(variant_.threads()) + " threads, " + std::to_string(variant_.registers) +
              " registers each, " + std::to_string(variant_.bytes_of_shared()) + " bytes of shared memory"};
    totals_.blocks = variant_.grid[0] * variant_.grid[1] * variant_.grid[2];
    totals_.warps = (variant_.threads() + machine_.warp_size - 1) / machine_.warp_size;
    const std::int64_t lines =
        machine_.texture.bytes / machine_.texture.line / static_cast<std::int64_t>(totals_.occupancy.blocks);
    textures_ = LineCache(static_cast<std::size_t>(std::max<std::int64_t>(lines, 1)));
    cache_.emplace(machine_, totals_.occupancy, shared);
    run_all_blocks();
    check_channels();
    return std::move(totals_);
  }

 private:
  // ---- blocks

  /// Runs representatives of blocks that repeat periodically.
  void run_all_blocks() {
    Symmetry symmetry = symmetry_of(description_, variant_);
    std::array<std::int64_t, 3> at{};
    if (!symmetry.moves_differ) return run_blocks(symmetry.segments, 2, at, 1);
    for (unsigned d = 0; d < 3; ++d) {
      if (!symmetry.all_differ[d]) continue;
      symmetry.segments[d].clear();
      for (std::int64_t i = 0; i < variant_.grid[d]; ++i) symmetry.segments[d].push_back({i, i + 1, 1});
    }
    for (const Segment& z : symmetry.segments[2]) {
      for (const Segment& y : symmetry.segments[1]) {
        for (const Segment& x : symmetry.segments[0]) run_kinds(symmetry, {x, y, z});
      }
    }
  }

  /// Runs a block of each kind.
  void run_kinds(const Symmetry& symmetry, const std::array<Segment, 3>& blocks) {
    std::array<std::int64_t, 3> at{};
    std::int64_t number = 1;
    for (std::size_t d = 0; d < blocks.size(); ++d) {
      at[d] = blocks[d].begin;
      number *= blocks[d].end - blocks[d].begin;
    }
    const auto run_for = [&](const std::array<std::int64_t, 3>& block, std::int64_t weight) {
      weight_ = weight;
      run_block(block);
      if (weight != 0) ++totals_.blocks_run;
    };
    if (number == 1) return run_for(at, 1);
    spend(number, {});
    accessed_.emplace();
    run_for(at, 0);
    for (const BlockKind& kind : kinds_of(blocks, moving_elements(symmetry)))
      run_for(kind.first, kind.blocks);
    // The corners bound the addresses of all blocks.
    constexpr unsigned corners = 8;
    for (unsigned corner = 0; corner < corners; ++corner) {
      for (std::size_t d = 0; d < blocks.size(); ++d)
        at[d] = (corner >> d & 1) != 0 ? blocks[d].end - 1 : blocks[d].begin;
      run_for(at, 0);
    }
  }

  /// Groups what the last block has accessed by array and move.
  std::vector<MovingElements> moving_elements(const Symmetry& symmetry) {
    std::map<std::pair<std::uint32_t, std::array<std::int64_t, 3>>, std::set<std::int64_t>> by_move;
    for (const auto& [element, indices] : *accessed_)
      by_move[{element->array, symmetry.moves.at(element)}].insert(indices.begin(), indices.end());
    accessed_.reset();
    std::vector<MovingElements> accessed;
    for (const auto& [moving, elements] : by_move)
      accessed.push_back({moving.first,
                          variant_.array_bytes[moving.first],
                          moving.second,
                          {elements.begin(), elements.end()}});
    return accessed;
  }

  /// Runs every segment of this dimension of the grid and of the lower ones, each for `weight` blocks.
  void run_blocks(const std::array<std::vector<Segment>, 3>& segments, unsigned dimension,
                  std::array<std::int64_t, 3>& at, std::int64_t weight) {
    for (const Segment& segment : segments[dimension]) {
      for (std::int64_t i = 0; i < segment.period; ++i) {
        at[dimension] = segment.begin + i;
        weight_ = weight * ((segment.end - at[dimension] + segment.period - 1) / segment.period);
        if (dimension != 0) {
          run_blocks(segments, dimension - 1, at, weight_);
          continue;
        }
        run_block(at);
        ++totals_.blocks_run;
      }
      reach_end(segments, dimension, at, segment);
    }
  }

  /// Extends footprints to the last block of a segment, whose first and last blocks bound the addresses of
  /// all others.
  void reach_end(const std::array<std::vector<Segment>, 3>& segments, unsigned dimension,
                 std::array<std::int64_t, 3>& at, const Segment& segment) {
    if (segment.end - segment.begin <= segment.period) return;
    at[dimension] = segment.end - 1;
    weight_ = 0;
    if (dimension != 0) return run_ends(segments, dimension - 1, at);
    run_block(at);
  }
  void run_ends(const std::array<std::vector<Segment>, 3>& segments, unsigned dimension,
                std::array<std::int64_t, 3>& at) {
    for (const Segment& segment : segments[dimension]) {
      for (const std::int64_t end : {segment.begin, segment.end - 1}) {
        at[dimension] = end;
        weight_ = 0;
        dimension != 0 ? run_ends(segments, dimension - 1, at) : run_block(at);
      }
    }
  }

  void run_block(const std::array<std::int64_t, 3>& block) {
    for (unsigned d = 0; d < 3; ++d) std::ranges::fill(frame_[block_index + d], block[d]);
    for (std::uint32_t slot = builtins; slot < description_.slots; ++slot) {
      const bool is_constant = std::ranges::any_of(
          description_.constants, [&](const Constant& constant) { return constant.slot == slot; });
      if (!is_constant) std::ranges::fill(frame_[slot], 0);
    }
    buffers_.clear();
    textures_.clear();
    cache_->clear();
    fetches_ = reads_ = false;
    run(description_.statements, Mask(frame_[0].size(), 1));
  }

  void check_channels() {
    const GlobalMemory& memory = machine_.global;
    if (memory.channel_width == 0 || memory.channels < 2 || description_.arrays.empty()) return;
    totals_.blocks_checked = blocks_to_check(machine_, totals_.occupancy, variant_.block[0],
                                             std::ranges::max(variant_.array_bytes));
    if (variant_.blocks() < totals_.blocks_checked) return;
    const BlockOrder order(description_, variant_);
    weight_ = 0;
    for (std::int64_t i = 0; i < totals_.blocks_checked; ++i) {
      is_checking_channels_ = true;
      channels_.touched.clear();
      run_block(order.block(i));
      for (const auto& [reference, touched] : channels_.touched) {
        ChannelUse& use = channels_.uses[reference];
        use.blocks.resize(memory.channels, 0);
        for (const std::uint32_t channel : touched) ++use.blocks[channel];
      }
    }
    for (auto& [reference, use] : channels_.uses) totals_.channel_uses.push_back(std::move(use));
  }

  // ---- statements

  void run(const std::vector<Statement>& statements, const Mask& mask) {
    for (const Statement& statement : statements) run(statement, mask);
  }

  void run(const Statement& statement, const Mask& mask) {
    using Kind = Statement::Kind;
    switch (statement.kind) {
      case Kind::block: return run(statement.statements, mask);
      case Kind::let: return assign(statement.slot, value_of(statement.first, mask), mask);
      case Kind::arithmetic: return compute(statement, mask);
      case Kind::choose: return choose(statement, mask);
      case Kind::loop: return loop(statement, mask);
      case Kind::fetch:
      case Kind::store: return transfer(statement, mask);
      case Kind::read:
      case Kind::write: return access(statement, mask);
    }
  }

  Column value_of(const Expression& expression, const Mask& mask) const {
    std::optional<Column> value = evaluate(expression, frame_, mask);
    if (!value) throw Problem{expression.position, "a thread divides by zero here", ""};
    return std::move(*value);
  }

  void assign(std::uint32_t slot, const Column& values, const Mask& mask) {
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0) frame_[slot][i] = values[i];
    }
  }

  /// Lanes compute in lockstep: a warp executes the instructions of its longest lane.
  void compute(const Statement& statement, const Mask& mask) {
    const Column instructions = value_of(statement.first, mask);
    spend(statement.position);
    for (std::size_t warp = 0; warp < mask.size(); warp += machine_.warp_size) {
      std::int64_t most = 0;
      for (std::size_t i = warp; i < std::min(mask.size(), warp + machine_.warp_size); ++i) {
        if (mask[i] != 0) most = std::max(most, instructions[i]);
      }
      if (most > most_instructions)
        throw Problem{statement.position, "these are more than a million instructions", ""};
      totals_.arithmetic += weight_ * most;
    }
  }

  static bool any(const Mask& mask) {
    return std::ranges::any_of(mask, [](char is_here) { return is_here != 0; });
  }

  void choose(const Statement& statement, const Mask& mask) {
    const Column condition = value_of(statement.first, mask);
    Mask yes = mask, no = mask;
    for (std::size_t i = 0; i < mask.size(); ++i) (condition[i] != 0 ? no : yes)[i] = 0;
    if (any(yes)) run(statement.statements[0], yes);
    if (statement.statements.size() > 1 && any(no)) run(statement.statements[1], no);
  }

  void loop(const Statement& statement, const Mask& mask) {
    assign(statement.slot, value_of(statement.first, mask), mask);
    Mask left = mask;
    for (std::int64_t round = 0;; ++round) {
      const Column condition = value_of(statement.condition, left);
      for (std::size_t i = 0; i < left.size(); ++i) left[i] = left[i] != 0 && condition[i] != 0 ? 1 : 0;
      if (!any(left)) return;
      if (round == most_rounds)
        throw Problem{statement.position, "this loop runs more than a million times",
                      "does its condition fail?"};
      spend(statement.position);
      run(statement.statements[0], left);
      Column next = value_of(statement.step, left);
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(next[i]) +
                                            static_cast<std::uint64_t>(frame_[statement.slot][i]));
      assign(statement.slot, next, left);
    }
  }

  // ---- references

  /// Counts one step of all threads of a block.
  void spend(const Position& position) { spend(static_cast<std::int64_t>(frame_[0].size()), position); }

  void spend(std::int64_t steps, const Position& position) {
    work_ += steps;
    if (work_ > most_work)
      throw Problem{position, "analysing this takes more than 1,000,000,000 thread steps",
                    "a smaller size gives the same terms: -D NAME=VALUE"};
  }

  ReferenceTotals& begin(const Statement& statement, const Element& element) {
    ReferenceTotals& totals = totals_.references[statement.reference];
    if (totals.text.empty()) {
      totals.position = statement.position;
      totals.text = element.text;
      totals.kind = statement.kind;
    }
    channels_.current = statement.reference;
    spend(statement.position);
    return totals;
  }

  void note_accessed(const Element& element, const Column& index, const Mask& mask) {
    if (!accessed_) return;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0) (*accessed_)[&element].push_back(index[i]);
    }
  }

  /// Transfers between an element of shared memory and one of global memory.
  void transfer(const Statement& statement, const Mask& mask) {
    const Element& shared = statement.elements[0];
    const Element& global = statement.elements[1];
    const bool is_fetch = statement.kind == Statement::Kind::fetch;
    const std::uint32_t bytes = bytes_of(variant_.shared_bytes, shared.array);
    ReferenceTotals& totals = begin(statement, global);
    const Column position = value_of(shared.index, mask), index = value_of(global.index, mask);
    note_accessed(global, index, mask);
    for_each_group(mask, totals, [&](std::size_t first, std::size_t last) {
      Addresses &in_shared = in_shared_, &in_global = in_global_;
      in_shared.clear();
      in_global.clear();
      for (std::size_t i = first; i < last; ++i) {
        if (mask[i] == 0) continue;
        in_shared.push_back(shared_address(shared, position[i], statement.position));
        in_global.push_back(global_address(global.array, index[i]));
        if (!is_fetch && buffers_.holds({shared.array, position[i]})) totals.reused_bytes += weight_ * bytes;
      }
      totals.accesses += weight_ * static_cast<std::int64_t>(in_global.size());
      add_global(totals, in_global, global.array, !is_fetch);
      add_shared(totals, in_shared, bytes);
      return false;
    });
    for (std::size_t i = 0; is_fetch && i < mask.size(); ++i) {
      if (mask[i] != 0) buffers_.fetch({global.array, index[i]}, {shared.array, position[i]}, i);
    }
  }

  void access(const Statement& statement, const Mask& mask) {
    const Element& element = statement.elements[0];
    ReferenceTotals& totals = begin(statement, element);
    const Column index = value_of(element.index, mask);
    if (!element.is_shared) note_accessed(element, index, mask);
    for_each_group(mask, totals, [&](std::size_t first, std::size_t last) {
      Addresses &in_shared = in_shared_, &in_global = in_global_;
      in_shared.clear();
      in_global.clear();
      for (std::size_t i = first; i < last; ++i) {
        if (mask[i] == 0) continue;
        const ArrayElement* copy = element.is_shared ? nullptr : buffers_.find({element.array, index[i]}, i);
        if (element.is_shared) {
          in_shared.push_back(shared_address(element, index[i], statement.position));
          if (buffers_.holds({element.array, index[i]}))
            totals.reused_bytes += weight_ * bytes_of(variant_.shared_bytes, element.array);
        } else if (copy != nullptr) {
          in_shared.push_back(address_in_shared(*copy));
        } else {
          in_global.push_back(global_address(element.array, index[i]));
        }
      }
      const std::uint32_t bytes =
          bytes_of(element.is_shared ? variant_.shared_bytes : variant_.array_bytes, element.array);
      if (!element.is_shared) {
        const auto hits = static_cast<std::int64_t>(in_shared.size());
        totals.accesses += weight_ * (hits + static_cast<std::int64_t>(in_global.size()));
        totals.hits += weight_ * hits;
        totals.reused_bytes += weight_ * hits * bytes;
        add_global(totals, in_global, element.array, statement.kind == Statement::Kind::write);
      }
      add_shared(totals, in_shared, bytes);
      found_ |= !in_shared.empty();
      missed_ |= !in_global.empty();
      return true;
    });
  }

  /// Calls `serve(first, last)` for the threads of each access group with a lane in the mask, and counts
  /// warps and, if `serve` reports it, divergent warps.
  template <typename Serve>
  void for_each_group(const Mask& mask, ReferenceTotals& totals, Serve serve) {
    for (std::size_t warp = 0; warp < mask.size(); warp += machine_.warp_size) {
      const std::size_t end = std::min(mask.size(), warp + machine_.warp_size);
      bool is_here = false, may_diverge = false;
      found_ = missed_ = asked_ = false;
      for (std::size_t first = warp; first < end; first += machine_.access_group) {
        const std::size_t last = std::min(end, first + machine_.access_group);
        if (std::none_of(mask.begin() + static_cast<std::ptrdiff_t>(first),
                         mask.begin() + static_cast<std::ptrdiff_t>(last),
                         [](char each) { return each != 0; }))
          continue;
        is_here = true;
        may_diverge = serve(first, last);
      }
      if (is_here) totals.warps += weight_;
      if (may_diverge && found_ && missed_) totals.diverged += weight_;
      if (asked_) totals.global.requests += weight_;
    }
  }

  /// Lanes that access the same element share it.
  static std::int64_t distinct(Addresses addresses) {
    std::ranges::sort(addresses);
    return std::ranges::unique(addresses).begin() - addresses.begin();
  }

  void add_global(ReferenceTotals& totals, const Addresses& addresses, std::uint32_t array, bool writes) {
    if (addresses.empty()) return;
    const std::uint32_t bytes = bytes_of(variant_.array_bytes, array);
    const Path path = description_.arrays[array].path;
    if (path == Path::texture) return add_texture(totals.cached, addresses, array, bytes);
    if (path == Path::constant) {
      totals.cached.requests += weight_;
      totals.cached.served += weight_ * distinct(addresses);
      return;
    }
    asked_ = true;
    if (!writes) wait_for(totals.kind == Statement::Kind::fetch ? fetches_ : reads_);
    if (writes) {
      BlockCache::store(totals.global, totals_.written[array], addresses, bytes, weight_);
    } else {
      cache_->load(totals.global, totals_.read[array], array, addresses, bytes, weight_);
    }
    totals.global.requested_bytes += weight_ * distinct(addresses) * bytes;
    for (const Transaction& each : transactions(machine_.global, addresses, bytes)) {
      totals.global.transferred_bytes += weight_ * each.bytes;
      totals.global.transactions += weight_;
      if (!is_checking_channels_) continue;
      channels_.touched[channels_.current].insert(channel_of(machine_.global, each.address));
      channels_.uses[channels_.current].bytes += each.bytes;
    }
  }

  void wait_for(bool& is_waited_for) {
    if (!std::exchange(is_waited_for, true)) totals_.waits += weight_;
  }

  void add_texture(CachedTraffic& traffic, const Addresses& addresses, std::uint32_t array,
                   std::uint32_t bytes) {
    traffic.requested_bytes += weight_ * distinct(addresses) * bytes;
    const std::int64_t line = machine_.texture.line;
    for (const std::int64_t address : addresses) {
      const std::int64_t rest = address % line;
      const std::int64_t begin = address - (rest < 0 ? rest + line : rest);
      for (std::int64_t at = begin; at < address + bytes; at += line) {
        if (textures_.use(array, at)) continue;
        traffic.moved_bytes += weight_ * line;
        for (std::int64_t sector = at; sector < at + line; sector += 32)
          BlockCache::move_sector(totals_.read[array], sector, weight_);
      }
    }
  }

  void add_shared(ReferenceTotals& totals, const Addresses& addresses, std::uint32_t bytes) {
    if (addresses.empty()) return;
    if (totals.kind != Statement::Kind::fetch) fetches_ = false;
    totals.shared.requests += weight_;
    totals.shared.served += weight_ * serialised(machine_.shared, addresses, bytes);
  }

  // ---- addresses

  static std::uint32_t bytes_of(const std::vector<std::int64_t>& bytes, std::uint32_t array) {
    return static_cast<std::uint32_t>(bytes[array]);
  }

  /// Allocates the arrays consecutively, each aligned for its elements.
  void place_shared_arrays() {
    std::int64_t next = 0;
    for (std::size_t i = 0; i < variant_.shared_bytes.size(); ++i) {
      next = (next + 15) / 16 * 16;
      begins_.push_back(next);
      next += variant_.shared_bytes[i] * variant_.elements_of_shared(i);
    }
  }

  std::int64_t global_address(std::uint32_t array, std::int64_t index) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(index) *
                                     static_cast<std::uint64_t>(variant_.array_bytes[array]));
  }

  std::int64_t address_in_shared(const ArrayElement& element) const {
    return begins_[element.array] +
           variant_.position_in_shared(element.array, element.index) * variant_.shared_bytes[element.array];
  }

  std::int64_t shared_address(const Element& element, std::int64_t index, const Position& position) const {
    if (index < 0 || index >= variant_.shared_elements[element.array])
      throw Problem{position,
                    element.text + " is element " + std::to_string(index) + " of " +
                        std::to_string(variant_.shared_elements[element.array]) + " in block (" +
                        std::to_string(frame_[block_index][0]) + ", " +
                        std::to_string(frame_[block_index + 1][0]) + ", " +
                        std::to_string(frame_[block_index + 2][0]) + ")",
                    ""};
    return address_in_shared({element.array, index});
  }

  const Description& description_;
  const Variant& variant_;
  const Machine& machine_;
  Frame frame_;
  Totals totals_;
  Buffers buffers_;
  LineCache textures_{1};
  std::optional<BlockCache> cache_;
  std::vector<std::int64_t> begins_;  ///< byte offsets of shared arrays
  std::int64_t weight_ = 1;           ///< number of blocks that the running one represents
  std::int64_t work_ = 0;
  /// Indices in global memory, if the running block's are wanted.
  std::optional<std::map<const Element*, std::vector<std::int64_t>>> accessed_;
  bool found_ = false, missed_ = false;   ///< whether lanes of a warp found their data in shared memory
  bool asked_ = false;                    ///< whether the warp accessed global memory
  bool fetches_ = false, reads_ = false;  ///< pending and completed waits of the block for global memory
  bool is_checking_channels_ = false;
  Channels channels_;
  Addresses in_shared_, in_global_;  ///< of an access group; kept, because allocating them takes longest
};

}  // namespace

std::int64_t blocks_to_check(const Machine& machine, const Occupancy& occupancy, std::int64_t block_x,
                             std::int64_t element_bytes) {
  const std::int64_t span = block_x * element_bytes;
  const std::int64_t of_width = (machine.global.channel_width + span - 1) / span;
  return machine.global.channels *
         std::min<std::int64_t>(occupancy.blocks, std::max<std::int64_t>(of_width, 1));
}

Result<Totals> execute(const Description& description, const Variant& variant, const Machine& machine) {
  if (const Status order = check_order(description, variant); !order) return order.error();
  try {
    return Execution(description, variant, machine).run();
  } catch (const Problem& problem) {
    const Position& at = problem.position;
    return failure_at({description.file, at.line, at.column, at.length}, problem.message, problem.hint);
  }
}

}  // namespace lynxpp::models::cumapz
