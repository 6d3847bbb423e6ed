// The PTX of counters, for count.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {

struct CountTarget {
  bool is_wide = false;    ///< 64-bit registers
  bool has_redux = false;  ///< sm_80
  bool is_kernel = true;   ///< else the address comes through the frame
  std::uint32_t word = 0;  ///< of the slots' address
  std::uint32_t replicas = 1;
  std::uint32_t stride = 0;
  std::string slots = {};          ///< not empty: the register that has the slots' address
  std::uint32_t frame_counts = 0;  ///< offset in the frame of the words of CountPlan::frame_words
  bool has_full_warps = false;     ///< every warp has 32 lanes
  bool is_flushed_short = false;   ///< see CountPlan::has_short_flushes
};

/// All texts consist of whole lines.
class CountText {
 public:
  CountText(const CountTarget& target, std::uint32_t& next_label)
      : target_(target), next_label_(next_label) {}

  /// A counter of warps that are divided where lanes leave a loop from a block.
  struct Division {
    const Counter* counter = nullptr;
    std::uint32_t block = 0;
  };

  static std::string name(std::uint32_t reg);
  std::string declaration(const FunctionPlan& plan) const;
  std::string zero(std::uint32_t reg) const;
  /// At the function's entry.
  std::string begin(const FunctionPlan& plan) const;
  /// Counts one execution for each of `counters`, which stand at the same place; with a guard for the lanes
  /// for which it holds.
  std::string raise(const std::vector<const Counter*>& counters, const Guard& guard);
  /// … for the warp, when the guard holds for some of its lanes and not for others.
  std::string raise_division(const std::vector<const Counter*>& counters, const Guard& guard);
  /// … for the warp, when the guard holds for none of its lanes.
  std::string raise_bypass(const std::vector<const Counter*>& counters, const Guard& guard);
  /// … in all lanes of the warp, when the guard holds for some.
  std::string raise_vote(const std::vector<const Counter*>& counters, const Guard& guard);
  /// … for the lanes whose `index` is one of `indices` and for which the guard, if any, holds; with
  /// `or_falls` also for those for which it does not hold. All are counted before they part: code on one of
  /// two ways to the same block would keep them apart.
  std::string raise_at_switch(const std::vector<const Counter*>& counters, const std::string& index,
                              const std::vector<std::uint32_t>& indices, const Guard& guard, bool or_falls);
  /// Sets the bit where `raised` is 1 instead of 0; `raised` is a register of 32 bits, which is overwritten.
  static std::string raise_bit(const Counter& counter, const std::string& raised);
  /// Makes the mark (Tally::is_mark) more than 0 where the predicate holds.
  std::string set_mark(const Counter& mark, const std::string& predicate);
  /// Where a loop that counts itself is entered, for the lanes for which the guard holds.
  static std::string begin_iterations(const Iterations& iterations, const Guard& guard);
  /// At the start of its block `above`.
  static std::string forget_iterations(const Iterations& iterations);
  /// Adds the number to each of `counters`. All lanes that are here do.
  std::string raise_iterations(const std::vector<const Counter*>& counters,
                               const Iterations& iterations) const;
  /// Notes which lanes are here and what they have counted so far; `counters` are those of one loop.
  std::string begin_loop(const LoopPlan& loop, const std::vector<const Counter*>& counters) const;
  /// Counts for the warp what that lane has counted since then which has counted most.
  /// `divisions` are of its ways out.
  std::string end_loop(const LoopPlan& loop, const std::vector<const Counter*>& counters,
                       const std::vector<Division>& divisions, const FunctionPlan& plan);
  /// Where lanes take a way out, or the loop's entry.
  static std::string mark_way(const Leaving& leaving, std::uint32_t way, const Guard& guard);
  /// From now on these registers' counters lie in local memory. They are raised in texts of
  /// unless_elsewhere() only.
  void keep_local(const std::set<std::uint32_t>& registers);
  /// A predicate that holds in all blocks but those whose index is 0 in these dimensions of the grid, which
  /// count for the others.
  std::string declare_elsewhere() const;
  /// At the kernel's entry.
  std::string find_elsewhere(GridDimensions first_in);
  /// The text, which blocks go around in which the predicate holds.
  std::string unless_elsewhere(const std::string& text);
  /// Adds the registers and bits of `counters` of a device function to their words of the frame, for the
  /// lanes for which the guard holds.
  std::string add_to_frame(const std::vector<const Counter*>& counters, const Guard& guard);
  /// In the kernel: takes them from there to their registers.
  std::string take_from_frame(const std::vector<Counter>& counters) const;
  /// At the end of a region's beginning (PathPlan): notes which lanes are here.
  static std::string begin_region();
  /// Sets the bits of a mark, with a guard for the lanes for which it holds.
  static std::string mark_path(const PathPlan& paths, std::uint32_t mark, const Guard& guard);
  /// Where the lanes of the region are together again: counts for the warp by which marks they came.
  std::string end_region(const FunctionPlan& plan, const PathPlan::Region& region);
  /// Adds what marks have counted to memory, for the lanes for which the guard holds.
  std::string flush_paths(const PathPlan& paths, const Guard& guard, bool leaves_together);
  /// Adds the registers of `counters`, ascending in slots, to memory, for the lanes for which the guard
  /// holds. Neighbouring slots make it cheap; bits are counted from a slot whose distance to the first one is
  /// a multiple of 4. With `first_in` only those blocks do whose index is 0 in these dimensions of the grid.
  std::string flush(const std::vector<const Counter*>& counters, const Guard& guard,
                    bool leaves_together = false, GridDimensions first_in = 0);
  /// Adds the register of `counter` to memory and sets it to 0, in each lane where it is not: for counters
  /// that few lanes raise.
  std::string give(const Counter& counter);

 private:
  std::string raise_registers(const std::vector<const Counter*>& counters, const Guard& guard) const;
  std::string raise_by_leader(const std::vector<const Counter*>& counters, const Guard& guard);
  std::string place_of_warp() const;
  static std::string_view scratch();
  static std::uint32_t position_of(const Counter& bit);
  static std::string bits_of(const Counter& bit, bool holds = true);
  static std::vector<std::string> words_of_bits(const FunctionPlan& plan);
  std::string raise_voted_division(const std::vector<const Counter*>& counters, const Guard& guard);
  static std::string read_iterations(const Iterations& iterations, const std::string& into);
  static std::string read_leaving(const Leaving& leaving, const FunctionPlan& plan);
  static std::string passages(const Leaving& leaving, std::uint32_t way);
  std::string count_divisions(const LoopPlan& loop, const std::vector<Division>& divisions);
  static std::string lane_count(const LaneCount& count, const FunctionPlan& plan);
  static std::string count_of_lane(const Counter& counter, const FunctionPlan& plan, std::string& text);
  std::string count_one(const Counter& counter, const std::string& guard) const;
  std::string flush_by_warp(const std::vector<const Counter*>& counters, bool leaves_together,
                            const std::string& done);
  static std::string index_of_block(GridDimensions dimensions);
  bool is_local(const Counter& counter) const;
  std::string find_local_words() const;
  std::string jump_elsewhere(const std::string& text);
  std::string raise_local(const Counter& counter, const std::string& when) const;
  std::string take_local(const std::vector<const Counter*>& counters) const;
  static std::string leave_unless_first(GridDimensions dimensions, const std::string& done);
  static std::string unexpected_bits(const std::vector<const Counter*>& counters);
  static std::string branch_if_all(const std::string& comparison, const std::string& target);
  std::string flush_line(const std::vector<const Counter*>& counters, std::uint32_t base, std::uint32_t per);
  std::string flush_sums(const std::vector<const Counter*>& counters, std::uint32_t per,
                         const std::string& done);
  std::string sum_of_registers(const std::vector<const Counter*>& members, std::uint32_t base,
                               std::uint32_t bits) const;
  std::string sum_of_bits(const std::vector<const Counter*>& members) const;
  static std::set<std::string> words_of_any(const std::vector<const Counter*>& counters);
  static std::map<std::pair<std::string, std::string>, std::vector<const Counter*>> by_words(
      const std::vector<const Counter*>& counters);
  static std::string any_bits(const std::vector<const Counter*>& counters);
  std::string sum_of(const std::string& summed, const std::string& whole, const std::string& even) const;
  static std::string own(const Counter* counter, std::string& text);
  std::string flush_some_lanes(const std::vector<const Counter*>& counters) const;
  std::string flush_by_lane(const std::vector<const Counter*>& counters) const;
  static std::string declare_paths(const PathPlan& paths);
  std::string add_worth(const PathPlan::Sum& sum, const PathPlan::Region& region, const Counter& counter);
  static std::string begin_paths();
  std::string add_each_bit(const std::string& bits, std::uint32_t slot, const std::string& amount);
  std::string label();

  static constexpr std::string_view launched_name = "%lynxpp_launched";

  const CountTarget target_;
  std::uint32_t& next_label_;
  std::map<std::uint32_t, std::uint32_t> local_;  ///< words of local memory, by register
};

}  // namespace lynxpp::ptx
