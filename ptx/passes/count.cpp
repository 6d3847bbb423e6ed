#include "ptx/passes/count.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ptx/passes/count_plan.h"
#include "ptx/passes/count_text.h"
#include "ptx/passes/entry.h"

namespace lynxpp::ptx {
namespace {

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
               unit.frame_counts_offset()},
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
    for (auto& [key, counters] : raised_) {
      const auto& [position, rank, place] = key;
      write(position, rank, place_text(place, counters));
    }
    for (std::uint32_t loop = 0; loop < plan_.loops.size(); ++loop) count_loop(loop);
    count_paths();
    for (const Iterations& iterations : plan_.iterations) keep_start(iterations);
    if (has_registers()) flush_everywhere();
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
    // Lanes that have gone on to the loop have been counted on their way; those that are still to go have not.
    const bool is_behind = loop.begin.kind == CountPlace::Kind::fall_through;
    write(position_of(loop.begin).first, is_behind ? Rank::loop_begin_behind : Rank::loop_begin,
          text_.begin_loop(loop, counters));
    const CountPlace end{CountPlace::Kind::block_start, loop.end, 0, 0};
    write(position_of(end).first, Rank::loop_end, text_.end_loop(loop, counters, divisions, plan_));
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

  /// The registers go to memory before every instruction by which a thread leaves, and where a body ends without one.
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
      alike_;  ///< in registers, ascending in slots; the first block's alone, see count_alike.h
  std::map<std::tuple<std::uint32_t, Rank, CountPlace>, std::vector<const Counter*>> raised_;
  std::map<std::pair<std::uint32_t, Rank>, std::string> texts_;
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
