// Which numbers the device has to count so that the host can tell how often every block ran.
//
// Threads: what enters a block leaves it, so counters on the chords of a spanning tree determine all blocks
// (ptx/analysis/edge_placement.h). How many threads enter the kernel is known from the launch, and how many
// enter a function from the blocks that call it.
//
// Warps: a warp's execution of a block is conserved as long as its lanes stay together. Behind a branch that
// divides them, behind calls, and where ways meet again, an execution begins anew ("source"): there a lane
// elected on the spot counts. Where a divided region has one beginning and one end in the same loop, its end
// runs as often as its beginning. In a loop that lanes enter together and leave in different iterations, the
// lane that goes on longest counts for the warp; which one that was, the lanes find out where they meet
// behind the loop. A block is `whole` when all launched lanes of the warp pass it together: lane 0 counts for
// the warp there, with no election.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ptx/analysis/edge_placement.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t no_counter = 0xffffffff;

/// Replicas of the counters that lie between those of neighbouring warps of an SM, see CountPlan::replicas.
inline constexpr std::uint32_t replicas_of_warps = 128;

/// Where a counter is raised. `block` and `instruction` are indices in the function.
struct CountPlace {
  enum class Kind : std::uint8_t {
    entry,         ///< at the function's entry
    block_start,   ///< before the block's first instruction
    block_end,     ///< before what ends the block, or behind its last instruction
    guard_holds,   ///< before `instruction`, for the lanes whose guard holds
    fall_through,  ///< behind the block's last instruction
    bypass,  ///< before the branch `instruction`, when none of the warp's lanes goes on to block `target`
    vote,    ///< before the branch `instruction`, by all lanes when one of the warp goes on to block `target`
    divides,  ///< before `instruction`, when its guard holds for some of the warp's lanes and not for others
    switch_target,  ///< before the brx.idx at the block's end, for the lanes that go on to block `target`
    /// at the block's start: `instruction` is a way out of FunctionPlan::loops[target], see Leaving
    leaves_apart,
    iterations,  ///< where FunctionPlan::iterations[target] is read, by its number
    region_end,  ///< at the block's end, by what the marks of the region add up to, see PathPlan::sum
  };
  Kind kind = Kind::block_start;
  std::uint32_t block = 0;
  std::uint32_t instruction = 0;
  std::uint32_t target = 0;

  auto operator<=>(const CountPlace&) const = default;
};

/// `constant`, and other counters of the lane added to it or subtracted. They are in registers, or bits, that
/// were zero when it began.
struct LaneCount {
  struct Term {
    std::uint32_t counter = 0;  ///< in FunctionPlan::counters, or in FunctionPlan::iterations
    bool is_negative = false;
    bool is_iterations = false;
  };
  std::vector<Term> terms;
  std::int32_t constant = 0;
  /// Instead of the terms: how often the lane has gone on past that one of Leaving::ways; their number: how
  /// often it has gone back.
  std::optional<std::uint32_t> passed_way;
};

/// One number counted on the device.
struct Counter {
  enum class Storage : std::uint8_t {
    memory,       ///< added to memory on the spot, once per warp
    summed,       ///< a register of every lane; their sum counts
    from_lane_0,  ///< a register of every lane; that of lane 0 counts
    most,         ///< a register of every lane; the greatest of them counts (FunctionPlan::leaves_together)
    /// a bit of every lane; counts one for the warp when one of them is set (FunctionPlan::leaves_together)
    any,
    /// two bits of every lane, for a guard that holds and one that does not; counts one when each is set in
    /// some lane
    both,
    path,  ///< counters of PathPlan::marks added and subtracted (Counter::path_terms)
  };
  bool counts_warps = false;
  Storage storage = Storage::memory;
  std::vector<CountPlace> places;
  double weight = 1;         ///< estimated executions per entry of the function
  bool is_repeated = false;  ///< perhaps more than once for an entry of the function
  bool is_whole = false;     ///< only raised while all launched lanes of a warp are together
  /// a warp raises it at most once, all lanes that ever do together; a maximum: at the loop's end
  bool is_once = false;
  bool is_even = false;        ///< summed; all lanes have counted the same
  bool is_tally = false;       ///< raised by a routine, see Tally
  bool is_complement = false;  ///< what counts is the launched warps less those for which it was raised
  /// in registers of the kernel; the first block counts for all, see CountPlan::alike
  bool is_alike = false;
  /// a bit that is set when a warp leaves as most do, see FunctionPlan::exceptions
  bool is_expected = false;
  bool is_expected_not = false;  ///< of two bits (Storage::both), the other one is
  bool is_silent = false;        ///< never raised, taken for 0: nobody needs it, or another one counts for it
  std::uint32_t slot = 0;
  std::uint32_t reg = 0;  ///< of the function; counters with the same places share one
  /// not a register of its own: raised at most once, it is one bit of a register of the function's
  bool is_bit = false;
  /// its number, below FunctionPlan::bits; with Storage::both below FunctionPlan::bit_pairs
  std::uint32_t bit = 0;
  /// In FunctionPlan::loops: each lane raises `lane_reg` at `places`, and at the loop's end the counter grows
  /// by the most that one of the lanes has counted since the loop's begin.
  std::uint32_t maximum_in = no_counter;
  std::uint32_t lane_reg = no_counter;
  std::uint32_t frame_word = no_counter;  ///< see FunctionPlan::returned
  /// register with `lane_reg` as it was at the begin; no_counter: it was zero
  std::uint32_t lane_start = no_counter;

  /// what the lane has counted, instead of lane_reg; `places` are not raised then
  std::optional<LaneCount> lane_count;

  /// One of PathPlan::marks.
  struct PathTerm {
    std::uint32_t mark = 0;
    bool is_negative = false;
  };
  std::vector<PathTerm> path_terms;  ///< with Storage::path; `places` is empty then
  std::uint64_t factor = 1;          ///< what counts is the number times this, modulo 2^64

  bool is_maximum() const { return maximum_in != no_counter; }
};

/// How often a thread has run `block` of a loop, told by a register of the program that changes by the same
/// step each time (iterations.h). Read at `place`, where all threads come to that enter the loop, once for
/// each time they do.
struct Iterations {
  std::uint32_t loop = 0;   ///< in LoopNest::loops()
  std::uint32_t block = 0;  ///< in the loop, run once in each full iteration
  CountPlace place;
  std::string reg;
  bool is_long = false;  ///< of 64 bits
  bool decreases = false;
  std::uint32_t shift = 0;    ///< the step is an odd multiple of 2^shift
  std::uint32_t inverse = 1;  ///< of that odd number, modulo 2^32
  bool runs_once = false;     ///< once at least, and a difference of 0 is as many as there can be at most
  std::uint32_t initial = 0;  ///< its low word before the loop; of 64 bits: divided by 2^shift first
  bool keeps_start = false;   ///< `initial` is not known; `start_reg` takes it at `entries`
  std::vector<CountPlace> entries;
  /// Threads come to `place` that have not entered the loop and have something else in the register:
  /// `entered_reg` is 0 from the start of this block on, and all ones from `entries` on. no_block: there are
  /// none.
  std::uint32_t above = 0xffffffff;
  /// Lanes that enter the loop together run `block` together and come to `place` together.
  bool is_together = false;
  bool is_used = false;
  std::uint32_t start_reg = no_counter;    ///< register with `initial`
  std::uint32_t entered_reg = no_counter;  ///< register with all ones when the loop was entered
};

/// When and where a lane leaves a loop: what `iterations` or `counter` tell, times two to the power of
/// `shift`, plus the number of its way out, is greater the later it leaves, and 0 for lanes that have not
/// entered the loop. Less one its low bits are the position in `ways`, and the others tell how often it has
/// gone back.
struct Leaving {
  struct Way {
    std::uint32_t block = 0;  ///< that the way out leaves from
    CountPlace place;         ///< where lanes take it
    std::int32_t number = 0;
  };
  std::uint32_t iterations = no_counter;  ///< in FunctionPlan::iterations; no_counter: `counter` tells
  /// in FunctionPlan::counters: what each lane counts of the loop for the warp
  std::uint32_t counter = no_counter;
  std::uint32_t shift = 0;
  std::vector<Way> ways;            ///< in the order in which an iteration comes to them
  std::uint32_t usual = 0;          ///< the way that a lane takes unless it comes by another's place
  std::optional<CountPlace> entry;  ///< where lanes enter; nullopt: all that begin do
  bool is_used = false;
  std::uint32_t reg = no_counter;  ///< register with the number of the way; no_counter: all are 0
};

/// A loop whose lanes count for the warp (Counter::maximum_in). Lanes that pass `begin` together all come to
/// the start of block `end`.
struct LoopPlan {
  CountPlace begin;
  std::uint32_t end = 0;
  /// register with the lanes that passed `begin` together, where these look at each other at the end
  std::uint32_t mask_reg = no_counter;
  std::uint32_t loop = 0;  ///< in LoopNest::loops()
  std::optional<Leaving> leaving;
};

/// Divided regions in loops at whose end lane i counts for the warp how often one of its lanes came by place
/// i on its way (paths.h). Or one lane counts what the places are worth together: each sets as many bits as
/// it takes (path_sum.h).
struct PathPlan {
  /// What a warp's bits are worth, added up by one of its lanes.
  struct Sum {
    std::uint32_t counter = 0;         ///< in FunctionPlan::counters; its places are the regions' ends
    std::vector<std::uint32_t> bits;   ///< that each mark sets
    std::vector<std::uint32_t> worth;  ///< [k]: bits that are worth 2^(k+1) or more; the others 1
    std::uint32_t most = 0;            ///< what all are worth together
  };
  /// All lanes that are together at the end of block `begin` come to block `end`, once.
  struct Region {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t worth = 0;  ///< with Sum: of each time, whatever the marks say
  };
  std::vector<Region> regions;    ///< none inside of another one
  std::vector<CountPlace> marks;  ///< at most 32
  std::uint32_t slot = 0;         ///< of the first mark; the others follow. Not with `sum`
  std::optional<Sum> sum;         ///< else lane i counts mark i

  bool counts_by_lanes() const { return !regions.empty() && !sum; }
};

/// The flow of threads or warps through a function.
struct FlowPlan {
  EdgePlacement placement;
  std::vector<std::uint32_t> counters;  ///< per edge: in FunctionPlan::counters, or no_counter
  std::uint32_t entry = 0;              ///< the edge into block 0, when `entry_is_known`
  bool entry_is_known = false;
  std::vector<std::vector<std::uint32_t>> edges_into;  ///< per block; together they are its executions
  std::vector<std::uint32_t> fronts;  ///< per block: the node that ways to it lead to, see iterations.h

  /// The last of the edges from one block to another one; no_counter: there is none, or a node is none of the
  /// function's blocks.
  std::uint32_t edge_between(std::uint32_t source, std::uint32_t target) const;
};

/// A guarded instruction whose executions are wanted.
struct GuardPlan {
  std::uint32_t instruction = 0;  ///< in the function
  /// counted; else the executions of the block less those that fall through
  std::uint32_t counter = no_counter;
  bool is_opposite = false;  ///< the counter counts the lanes for which the guard does not hold
  std::uint32_t fall_through_edge = 0;
};

struct FunctionPlan {
  std::uint32_t unit = 0;  ///< in InstrumentationUnit::functions
  std::uint32_t first_block = 0;
  std::uint32_t first_instruction = 0;
  std::vector<std::uint32_t> block_of;  ///< per instruction
  std::vector<Counter> counters;
  std::vector<LoopPlan> loops;
  PathPlan paths;
  std::vector<Iterations> iterations;
  std::uint32_t registers = 0;
  std::uint32_t bits = 0;       ///< of counters that are bits, 32 in a register
  std::uint32_t bit_pairs = 0;  ///< those with two bits, 32 in two registers
  /// Lanes wait for each other before they leave: all that were launched give their registers away together.
  bool leaves_together = false;
  /// Counts the warps that did not leave with the expected bits set, of all lanes, and no others; the rest
  /// had nothing to add (expected.h).
  std::uint32_t exceptions = no_counter;
  std::optional<FlowPlan> threads;
  std::optional<FlowPlan> warps;
  /// The kernel's: what device functions have counted. Where they return, threads add their registers and
  /// bits to words of the frame (Counter::frame_word), and where they leave the kernel they give these away
  /// with its own.
  std::vector<Counter> returned;
  std::vector<GuardPlan> thread_guards;
  std::vector<GuardPlan> warp_guards;
  std::vector<GuardPlan> warp_divisions;
  /// The calls that lead here, as (function plan, block); empty for the kernel and where the entry is
  /// counted.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> callers;
};

/// A register that the routine of a probe adds to at one instruction. Where it lies in memory
/// (Storage::memory), tallies of the same number share a register of the function: zero before the routine,
/// and given away right behind it.
struct Tally {
  std::uint32_t probe = 0;        ///< in InstrumentationUnit::probes
  std::uint32_t number = 0;       ///< one of Probe::tallies
  bool is_high = false;           ///< counts how often the other one has wrapped around
  std::uint32_t instruction = 0;  ///< id in the unit
  /// Nobody wants to know how much it is, but whether it is 0. One for a function, set at any place of it
  /// (ptx/passes/memory/index_checks.h).
  bool is_mark = false;
  /// Counts executions by warps that are not like RowSectors.
  bool is_exception = false;

  auto operator<=>(const Tally&) const = default;
};

/// `factor` times the executions of a place, added to a sum. Sums are all the host makes of them.
struct CountUse {
  enum class Executions : std::uint8_t { thread_block, warp_block, thread_guard, warp_guard, warp_division };
  Executions executions = Executions::thread_block;
  std::uint32_t place = 0;  ///< as in CountDemand
  std::uint32_t sum = 0;    ///< below CountDemand::sums
  std::uint64_t factor = 0;
};

/// What the host wants to know; ids as in InstrumentationUnit.
struct CountDemand {
  std::set<std::uint32_t> thread_blocks;   ///< executions of a block by threads
  std::set<std::uint32_t> warp_blocks;     ///< … by warps
  std::set<std::uint32_t> thread_guards;   ///< threads for which an instruction's guard held
  std::set<std::uint32_t> warp_guards;     ///< executions by warps in which it held for some lane
  std::set<std::uint32_t> warp_divisions;  ///< executions of a guarded branch by warps whose lanes it parts
  std::set<Tally> tallies;
  /// With `sums` != 0: of all in demand, tallies aside, no more is wanted than these sums.
  std::vector<CountUse> uses;
  std::uint32_t sums = 0;

  bool empty() const {
    return thread_blocks.empty() && warp_blocks.empty() && thread_guards.empty() && warp_guards.empty() &&
           warp_divisions.empty() && tallies.empty();
  }
};

/// How often everything in demand was executed; 0 for what was not in demand. With CountDemand::sums only
/// these are right: counters that mean the same to them are not told apart.
struct Executions {
  std::vector<std::uint64_t> thread_blocks, warp_blocks;  ///< per block
  std::map<std::uint32_t, std::uint64_t> thread_guards, warp_guards, warp_divisions;
  std::map<Tally, std::uint64_t> tallies;
};

/// Dimensions of the grid, a set of bits: 1 is x, 2 is y, 4 is z.
using GridDimensions = std::uint8_t;

/// What the host knows of a launch.
struct LaunchedGrid {
  std::uint64_t threads = 0;
  std::uint64_t warps = 0;
  std::uint32_t blocks[3] = {1, 1, 1};  ///< of threads, in each dimension
};

struct CountPlan {
  std::uint32_t frame_words = 0;        ///< of 4 bytes, in the frame
  std::vector<FunctionPlan> functions;  ///< callers before the functions they call
  std::map<Tally, Counter> tallies;
  std::uint32_t basic_blocks = 0;
  std::uint32_t counters = 0;  ///< slots in use
  /// Slots of one replica, a multiple of a cache line; replicas, a power of two: a warp adds to replica
  /// %warpid * replicas_of_warps + %smid mod `replicas`.
  std::uint32_t stride = 0;
  std::uint32_t replicas = 0;
  bool is_wide = false;  ///< registers of 64 bits
  /// So many counters lie in registers of device functions that these give them away by the shortest text,
  /// not by the fastest.
  bool has_short_flushes = false;
  /// Counters that are alike (alike.h) are given away by blocks whose index is 0 in these dimensions only, 0:
  /// there are none.
  GridDimensions alike = 0;

  std::uint64_t slots() const { return std::uint64_t{stride} * replicas; }
  /// `slots` has slots() elements, as the device left them.
  Executions evaluate(std::span<const std::uint64_t> slots, const LaunchedGrid& launched) const;
};

/// Guarded instructions may be in demand only where they have a guard. Failure: the counters cannot be
/// placed.
Result<std::shared_ptr<const CountPlan>> make_count_plan(const InstrumentationUnit& unit,
                                                         const CountDemand& demand, bool is_wide);

}  // namespace lynxpp::ptx
