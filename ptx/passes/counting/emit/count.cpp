#include "ptx/passes/counting/emit/count.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "ptx/passes/counting/emit/text.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// So many registers that live through the kernel are worth accesses of the first block to local memory.
constexpr std::size_t enough_local = 6;

/// Writes the counters of one function.
class FunctionCounting {
 public:
  FunctionCounting(InstrumentationUnit& unit, const FunctionPlan& plan, std::uint32_t& next_label)
      : unit_(unit),
        plan_(plan),
        function_(unit.functions[plan.unit]),
        body_(*function_.function->body),
        is_kernel_(plan.unit == 0),
        text_({unit.counting->is_wide,
               unit.target.sm >= 80,
               is_kernel_,
               unit.counter_word,
               unit.counting->replicas,
               unit.counting->stride,
               {},
               unit.frame_counts_offset(),
               unit.launch.has_full_warps,
               !is_kernel_ && unit.counting->has_short_flushes},
              next_label) {}

  void run() {
    declare();
    for (const Counter& counter : plan_.counters) {
      if (counter.lane_count) continue;
      for (const CountPlace& place : counter.places) {
        const bool is_elsewhere =
            place.kind == CountPlace::Kind::leaves_apart || place.kind == CountPlace::Kind::region_end;
        if (!is_elsewhere) raise(counter, place);
      }
    }
    raise_in_first_block();
    for (auto& [key, counters] : raised_) {
      const auto& [position, rank, place] = key;
      write(position, rank, place_text(place, counters));
    }
    for (std::uint32_t loop = 0; loop < plan_.loops.size(); ++loop) count_loop(loop);
    count_paths();
    for (const Iterations& iterations : plan_.iterations) keep_start(iterations);
    if (has_registers()) flush_everywhere();
    if (finds_first_) find_first();
    std::map<std::uint32_t, std::string> together;
    for (const auto& [place, text] : texts_) together[place.first] += text;
    for (const auto& [position, text] : together) unit_.edits.insert_before(position, "\n" + text + "\t");
  }

 private:
  /// Texts at one position stand in this order. What votes for the whole warp comes before what may part it.
  enum class Rank : std::uint8_t {
    declaration,
    together,
    behind,
    loop_begin_behind,
    entry,
    start,
    loop_end,
    region_end,
    loop_begin,
    region_begin,
    before,
    flush
  };

  using Key = std::tuple<std::uint32_t, Rank, CountPlace>;
  using Counters = std::vector<const Counter*>;

  bool has_registers() const {
    return plan_.registers != 0 || plan_.bits != 0 || plan_.bit_pairs != 0 || has_paths();
  }

  /// Of which something is left to add to memory beside registers.
  bool has_paths() const { return plan_.paths.counts_by_lanes(); }

  void declare() {
    if (!has_registers()) return;
    unit_.edits.insert_before(function_.function->body_text.begin + 1, text_.declaration(plan_));
    write(entry_position(*function_.function), Rank::declaration, text_.begin(plan_));
  }

  void write(std::uint32_t position, Rank rank, const std::string& text) { texts_[{position, rank}] += text; }

  void raise(const Counter& counter, const CountPlace& place) {
    const auto [position, rank] = position_of(place);
    raised_[{position, rank, place}].push_back(&counter);
  }

  std::pair<std::uint32_t, Rank> position_of(const CountPlace& place) const {
    const BasicBlock& block = function_.graph.blocks[place.block];
    const Instruction* last = block.size() == 0 ? nullptr : &body_.instructions[block.end - 1];
    const std::uint32_t body_end = function_.function->body_text.end - 1;
    switch (place.kind) {
      case CountPlace::Kind::entry: return {entry_position(*function_.function), Rank::entry};
      case CountPlace::Kind::iterations: return position_of(plan_.iterations[place.target].place);
      case CountPlace::Kind::block_start:
      case CountPlace::Kind::leaves_apart:
        return {last == nullptr ? body_end : body_.instructions[block.begin].text.begin, Rank::start};
      case CountPlace::Kind::bypass:
      case CountPlace::Kind::vote: return {body_.instructions[place.instruction].text.begin, Rank::together};
      case CountPlace::Kind::guard_holds:
      case CountPlace::Kind::divides: return {body_.instructions[place.instruction].text.begin, Rank::before};
      case CountPlace::Kind::switch_target: return {last->text.begin, Rank::before};
      case CountPlace::Kind::fall_through: return {last->text.end, Rank::behind};
      case CountPlace::Kind::region_end:
      case CountPlace::Kind::block_end: break;
    }
    if (last == nullptr) return {body_end, Rank::before};
    return last->traits.ends_block() ? std::pair(last->text.begin, Rank::before)
                                     : std::pair(last->text.end, Rank::behind);
  }

  /// What reading the number will need.
  void keep_start(const Iterations& iterations) {
    if (!iterations.is_used) return;
    if (iterations.entered_reg != no_counter) {
      const CountPlace above{CountPlace::Kind::block_start, iterations.above, 0, 0};
      write(position_of(above).first, Rank::start, text_.forget_iterations(iterations));
    }
    for (const CountPlace& place : iterations.entries) {
      const bool is_guarded = place.kind == CountPlace::Kind::guard_holds;
      const auto [position, rank] = position_of(place);
      write(position, rank,
            text_.begin_iterations(iterations,
                                   is_guarded ? body_.instructions[place.instruction].guard : Guard{}));
    }
  }

  void mark_ways(const Leaving& leaving) {
    const auto mark = [&](const CountPlace& place, std::uint32_t way) {
      const bool is_guarded = place.kind == CountPlace::Kind::guard_holds;
      const auto [position, rank] = position_of(place);
      write(position, rank,
            CountText::mark_way(leaving, way,
                                is_guarded ? body_.instructions[place.instruction].guard : Guard{}));
    };
    if (leaving.entry) mark(*leaving.entry, leaving.usual);
    for (std::uint32_t way = 0; way < leaving.ways.size(); ++way) {
      if (way != leaving.usual) mark(leaving.ways[way].place, way);
    }
  }

  void count_loop(std::uint32_t index) {
    std::vector<const Counter*> counters;
    for (const Counter& counter : plan_.counters) {
      if (counter.maximum_in == index && !counter.places.empty()) counters.push_back(&counter);
    }
    std::vector<CountText::Division> divisions;
    for (const Counter& counter : plan_.counters) {
      for (const CountPlace& place : counter.places) {
        if (place.kind == CountPlace::Kind::leaves_apart && place.target == index)
          divisions.push_back({&counter, plan_.block_of[place.instruction]});
      }
    }
    if (counters.empty() && divisions.empty()) return;
    const LoopPlan& loop = plan_.loops[index];
    if (loop.leaving && loop.leaving->reg != no_counter) mark_ways(*loop.leaving);
    // Lanes that have gone on to the loop have been counted on their way; those that are still to go have
    // not.
    const bool is_behind = loop.begin.kind == CountPlace::Kind::fall_through;
    write(position_of(loop.begin).first, is_behind ? Rank::loop_begin_behind : Rank::loop_begin,
          text_.begin_loop(loop, counters));
    const CountPlace end{CountPlace::Kind::block_start, loop.end, 0, 0};
    const bool is_alike =
        std::ranges::all_of(counters, &Counter::is_alike) &&
        std::ranges::all_of(divisions, [](const auto& division) { return division.counter->is_alike; });
    const std::string text = text_.end_loop(loop, counters, divisions, plan_);
    write(position_of(end).first, Rank::loop_end,
          is_alike && !unit_.launch.has_few_waves ? in_first_block(text) : text);
  }

  // ---- what only the first block counts

  std::string in_first_block(const std::string& text) {
    finds_first_ = true;
    return text_.unless_elsewhere(text);
  }

  /// Before everything else at the entry.
  void find_first() {
    unit_.edits.insert_before(function_.function->body_text.begin + 1, text_.declare_elsewhere());
    write(entry_position(*function_.function), Rank::declaration,
          text_.find_elsewhere(unit_.counting->alike));
  }

  /// Elections and votes for counters that the first block alone gives away are its own: the others jump over
  /// them, which is one instruction. What else the same lanes raise for it on the spot comes along.
  void raise_in_first_block() {
    if (!is_kernel_ || unit_.counting->alike == 0 || unit_.launch.has_few_waves) return;
    find_read_everywhere();
    std::map<Key, Counters> alike;
    for (auto& [key, counters] : raised_) {
      const auto others =
          std::stable_partition(counters.begin(), counters.end(),
                                [&](const Counter* counter) { return !is_of_first_block(*counter); });
      if (others != counters.end()) alike[key].assign(others, counters.end());
      counters.erase(others, counters.end());
    }
    std::vector<Key> costly;
    for (const auto& [key, counters] : alike) {
      if (is_costly(std::get<CountPlace>(key), counters)) costly.push_back(key);
    }
    std::vector<FirstBlocks> texts;
    for (const Key& key : costly) {
      if (alike.contains(key)) texts.push_back(take_with(key, alike));
    }
    for (const auto& [key, counters] : alike) {
      Counters& all = raised_[key];
      all.insert(all.end(), counters.begin(), counters.end());
    }
    std::erase_if(raised_, [](const auto& raised) { return raised.second.empty(); });
    keep_local(texts);
    for (const FirstBlocks& first : texts) {
      std::string text;
      for (const FirstBlocks::Part& part : first.parts)
        text += part.guard ? text_.raise(part.counters, *part.guard) : place_text(part.place, part.counters);
      write(first.position, first.rank, in_first_block(text));
    }
  }

  /// What stands behind one jump.
  struct FirstBlocks {
    struct Part {
      CountPlace place;
      std::optional<Guard> guard;  ///< instead of the place's
      Counters counters;
    };
    std::uint32_t position = 0;
    Rank rank = Rank::together;
    std::vector<Part> parts;
  };

  FirstBlocks take_with(const Key& key, std::map<Key, Counters>& alike) {
    const auto& [position, rank, place] = key;
    FirstBlocks first{position, rank, {}};
    const auto take = [&](const Key& taken, const std::optional<Guard>& guard) {
      const auto found = alike.find(taken);
      if (found == alike.end()) return;
      first.parts.push_back({std::get<CountPlace>(taken), guard, std::move(found->second)});
      alike.erase(found);
    };
    if (is_boundary(place.block)) {
      take(key, std::nullopt);
      return first;
    }
    // The vote, if any, stands first.
    std::vector<Key> here;
    for (const auto& [other, counters] : alike) {
      if (std::get<0>(other) == position && std::get<CountPlace>(other).block == place.block)
        here.push_back(other);
    }
    for (const Key& other : here) {
      first.rank = std::min(first.rank, std::get<Rank>(other));
      take(other, std::nullopt);
    }
    if (is_at_end(position, place.block)) {
      for (const auto& [start, guard] : ways_behind(place.block)) take(start, guard);
    }
    return first;
  }

  /// Numbers that are raised behind jumps only need no registers.
  void keep_local(const std::vector<FirstBlocks>& texts) {
    if (unit_.counting->is_wide) return;
    std::set<std::uint32_t> registers;
    for (const FirstBlocks& first : texts) {
      for (const FirstBlocks::Part& part : first.parts) {
        for (const Counter* counter : part.counters) {
          if (!counter->is_bit) registers.insert(counter->reg);
        }
      }
    }
    const auto drop = [&](const Counter& counter) {
      if (!counter.is_bit) registers.erase(counter.reg);
    };
    for (const auto& [key, counters] : raised_) {
      for (const Counter* counter : counters) drop(*counter);
    }
    for (const Counter& counter : plan_.counters) {
      const bool is_elsewhere = std::ranges::any_of(counter.places, [](const CountPlace& place) {
        return place.kind == CountPlace::Kind::leaves_apart || place.kind == CountPlace::Kind::iterations;
      });
      if (is_elsewhere || counter.is_maximum() || counter.is_tally) drop(counter);
    }
    if (registers.size() >= enough_local) text_.keep_local(registers);
  }

  /// What lanes have counted is looked at where it stands.
  bool is_boundary(std::uint32_t block) const {
    return std::ranges::any_of(
               plan_.loops,
               [&](const LoopPlan& loop) { return loop.begin.block == block || loop.end == block; }) ||
           std::ranges::any_of(plan_.paths.regions, [&](const PathPlan::Region& region) {
             return region.begin == block || region.end == block;
           });
  }

  bool is_at_end(std::uint32_t position, std::uint32_t block) const {
    const BasicBlock& range = function_.graph.blocks[block];
    return range.size() != 0 && body_.instructions[range.end - 1].text.begin == position;
  }

  /// Where counters stand that count all who take one of the ways of the branch at the block's end, and who
  /// these are.
  std::vector<std::pair<Key, Guard>> ways_behind(std::uint32_t block) const {
    const std::vector<BasicBlock>& blocks = function_.graph.blocks;
    const BasicBlock& range = blocks[block];
    const Instruction& last = body_.instructions[range.end - 1];
    std::vector<std::pair<Key, Guard>> found;
    if (last.traits.kind != OpcodeClass::branch || !last.guarded() || range.targets.size() != 1 ||
        range.successors.size() != 2)
      return found;
    for (const std::uint32_t next : range.successors) {
      if (next == block || next == 0 || blocks[next].predecessors.size() != 1) continue;
      Guard guard = last.guard;
      if (next == range.fall_through) guard.negated = !guard.negated;
      const CountPlace start{CountPlace::Kind::block_start, next, 0, 0};
      const auto [position, rank] = position_of(start);
      found.emplace_back(Key{position, rank, start}, guard);
    }
    return found;
  }

  bool is_of_first_block(const Counter& counter) const {
    return counter.is_alike && counter.storage != Counter::Storage::memory && !counter.is_maximum() &&
           !read_everywhere_.contains({counter.is_bit, counter.is_bit ? counter.bit : counter.reg});
  }

  static bool is_costly(const CountPlace& place, const Counters& counters) {
    switch (place.kind) {
      case CountPlace::Kind::vote:
      case CountPlace::Kind::bypass: return true;
      default: break;
    }
    return std::ranges::any_of(counters, [](const Counter* counter) {
      return counter->counts_warps && counter->storage == Counter::Storage::summed;
    });
  }

  /// Registers from which every block finds out what its lanes have counted.
  void find_read_everywhere() {
    for (const Counter& counter : plan_.counters) {
      if (counter.lane_reg != no_counter) read_everywhere_.insert({false, counter.lane_reg});
      if (!counter.lane_count) continue;
      for (const LaneCount::Term& term : counter.lane_count->terms) {
        if (term.is_iterations) continue;
        const Counter& read = plan_.counters[term.counter];
        read_everywhere_.insert({read.is_bit, read.is_bit ? read.bit : read.reg});
      }
    }
  }

  void count_paths() {
    for (std::uint32_t mark = 0; mark < plan_.paths.marks.size(); ++mark) {
      const CountPlace& place = plan_.paths.marks[mark];
      const auto [position, rank] = position_of(place);
      write(position, rank, mark_text(place, mark));
    }
    for (const PathPlan::Region& region : plan_.paths.regions) {
      const CountPlace begin{CountPlace::Kind::block_end, region.begin, 0, 0};
      // Behind what the block does with values of its ways: before, ptxas would copy them on each way.
      const CountPlace end{CountPlace::Kind::region_end, region.end, 0, 0};
      write(position_of(begin).first, Rank::region_begin, CountText::begin_region());
      write(position_of(end).first, Rank::region_end, text_.end_region(plan_, region));
    }
  }

  std::string mark_text(const CountPlace& place, std::uint32_t mark) {
    if (place.kind == CountPlace::Kind::guard_holds)
      return CountText::mark_path(plan_.paths, mark, body_.instructions[place.instruction].guard);
    return CountText::mark_path(plan_.paths, mark, {});
  }

  std::string place_text(const CountPlace& place, const std::vector<const Counter*>& counters) {
    if (place.kind == CountPlace::Kind::iterations)
      return text_.raise_iterations(counters, plan_.iterations[place.target]);
    if (place.kind == CountPlace::Kind::guard_holds) {
      return text_.raise(counters, body_.instructions[place.instruction].guard);
    }
    if (place.kind == CountPlace::Kind::divides) {
      return text_.raise_division(counters, body_.instructions[place.instruction].guard);
    }
    const BasicBlock& block = function_.graph.blocks[place.block];
    if (place.kind == CountPlace::Kind::bypass || place.kind == CountPlace::Kind::vote) {
      Guard goes = body_.instructions[place.instruction].guard;
      if (place.target == block.fall_through) goes.negated = !goes.negated;
      return place.kind == CountPlace::Kind::vote ? text_.raise_vote(counters, goes)
                                                  : text_.raise_bypass(counters, goes);
    }
    if (place.kind != CountPlace::Kind::switch_target) return text_.raise(counters, {});
    const Instruction& branch = body_.instructions[block.end - 1];
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < block.targets.size(); ++i) {
      if (block.targets[i] == place.target) indices.push_back(i);
    }
    return text_.raise_at_switch(counters, std::string(unit_.module.text(branch.operands[0].text)), indices,
                                 branch.guard, place.target == block.fall_through);
  }

  /// The registers go to memory before every instruction by which a thread leaves, and where a body ends
  /// without one.
  void flush_everywhere() {
    for (const Counter& counter : plan_.counters) {
      const bool is_raised = !counter.places.empty() || counter.is_tally;
      if (is_raised && counter.storage != Counter::Storage::memory)
        (counter.is_alike ? alike_ : flushed_).push_back(&counter);
    }
    for (const Counter& counter : plan_.returned) flushed_.push_back(&counter);
    if (flushed_.empty() && alike_.empty() && !has_paths()) return;
    std::ranges::sort(flushed_, {}, &Counter::slot);
    std::ranges::sort(alike_, {}, &Counter::slot);
    for (const Instruction& instruction : body_.instructions) {
      if (instruction.traits.kind != OpcodeClass::exit) continue;
      write(instruction.text.begin, Rank::flush, flush_text(instruction.guard));
    }
    const BasicBlock& last = function_.graph.blocks.back();
    if (last.size() == 0) {
      write(function_.function->body_text.end - 1, Rank::flush, flush_text({}));
      return;
    }
    const Instruction& instruction = body_.instructions[last.end - 1];
    const bool ends_there =
        instruction.traits.kind == OpcodeClass::exit || instruction.traits.kind == OpcodeClass::branch;
    if (!ends_there || instruction.guarded()) write(instruction.text.end, Rank::flush, flush_text({}));
  }

  std::string flush_text(const Guard& guard) {
    if (!flushed_.empty() && flushed_.front()->frame_word != no_counter && !is_kernel_)
      return text_.add_to_frame(flushed_, guard);
    std::string text = text_.take_from_frame(plan_.returned);
    if (has_paths()) text += text_.flush_paths(plan_.paths, guard, plan_.leaves_together);
    if (!flushed_.empty()) text += text_.flush(flushed_, guard, plan_.leaves_together);
    if (!alike_.empty()) text += text_.flush(alike_, guard, plan_.leaves_together, unit_.counting->alike);
    return text;
  }

  InstrumentationUnit& unit_;
  const FunctionPlan& plan_;
  const FunctionUnit& function_;
  const Body& body_;
  const bool is_kernel_;
  CountText text_;
  std::vector<const Counter*> flushed_,
      alike_;  ///< in registers, ascending in slots; the first block's alone, see alike.h
  std::map<Key, Counters> raised_;
  std::map<std::pair<std::uint32_t, Rank>, std::string> texts_;
  bool finds_first_ = false;                                  ///< whether %lynxpp_elsewhere is asked for
  std::set<std::pair<bool, std::uint32_t>> read_everywhere_;  ///< bits and registers
};

class Count final : public Pass {
 public:
  std::string_view name() const override { return "count"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.counting == nullptr || unit.counting->counters == 0) return false;
    constexpr Version activemask{6, 2};
    unit.version = std::max(unit.version, activemask);
    std::uint32_t next_label = 0;
    for (const FunctionPlan& plan : unit.counting->functions) FunctionCounting(unit, plan, next_label).run();
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> make_count_pass() { return std::make_unique<Count>(); }

}  // namespace lynxpp::ptx
