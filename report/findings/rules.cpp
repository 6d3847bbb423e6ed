#include "report/findings/rules.h"

#include <algorithm>
#include <cmath>

#include "report/findings/ratio.h"
#include "report/number.h"

namespace lynxpp::report {
namespace {

using enum LocationKind;

constexpr double warp = 32;
constexpr double sector = 32;
constexpr double usual_multiprocessors = 132;
constexpr double least_resident_blocks = 16;  ///< hardware limit per multiprocessor

double work_share(const View& v, double cycles) { return ratio(cycles, v("work")); }

// ---- global memory

double sectors(const View& v) { return v("memory_efficiency.sectors"); }
double requested(const View& v) { return v("memory_efficiency.bytes_asked"); }
double requests(const View& v) { return v("memory_efficiency.requests"); }
/// Sectors needed if the bytes were contiguous; a request takes at least one.
double least_sectors(const View& v) {
  return std::min(sectors(v), std::max(requests(v), std::ceil(requested(v) / sector)));
}
double unused(const View& v) { return ratio(sectors(v) - least_sectors(v), sectors(v)); }
double memory_saving(const View& v) { return work_share(v, 2 * (sectors(v) - least_sectors(v))); }
double transferred(const View& v) { return sectors(v) * sector; }
double sectors_per_request(const View& v) { return ratio(sectors(v), requests(v)); }
double least_per_request(const View& v) { return ratio(least_sectors(v), requests(v)); }
/// Only gaps between neighbouring lanes count; contiguous lanes have none, whatever else they lack.
double unused_by_stride(const View& v) {
  return v.lanes() != LanePattern::unknown && v.has_gaps() ? unused(v) : 0;
}
double unused_by_scatter(const View& v) { return v.lanes() == LanePattern::unknown ? unused(v) : 0; }

// ---- shared memory

double wavefronts(const View& v) { return v("shared_bank_conflicts.wavefronts"); }
/// Atomic operations of lanes that share a word take extra wavefronts but are not bank conflicts.
double conflicts(const View& v) {
  return v.kind() == LocationKind::atomic ? v("atomic_contention.bank_conflicts")
                                          : v("shared_bank_conflicts.conflicts");
}
double conflict_share(const View& v) { return ratio(conflicts(v), wavefronts(v)); }
/// True if the array may be a tile whose rows cannot be padded, because wgmma or a tensor copy may use it.
bool may_be_tile(const View& v) {
  return v.kind() != LocationKind::atomic && (v.has("shared_bank_conflicts.modelled_operand_wavefronts") ||
                                              v.has("memory_efficiency.tensor_copy_bytes") ||
                                              v.has("memory_efficiency.tensor_copies_without_bytes"));
}
double conflicts_in_tile(const View& v) { return may_be_tile(v) ? conflict_share(v) : 0; }
double conflicts_in_rows(const View& v) { return may_be_tile(v) ? 0 : conflict_share(v); }
double conflicts_by_stride(const View& v) {
  return v.lanes() == LanePattern::unknown || v.is_contiguous() ? 0 : conflicts_in_rows(v);
}
/// Contiguous lanes do not conflict: the lanes of a warp must be in several rows of the block.
double conflicts_of_rows(const View& v) { return v.is_contiguous() ? conflicts_in_rows(v) : 0; }
double conflicts_by_scatter(const View& v) {
  return v.lanes() == LanePattern::unknown ? conflicts_in_rows(v) : 0;
}
double conflict_saving(const View& v) { return work_share(v, conflicts(v)); }
double conflict_factor(const View& v) { return ratio(wavefronts(v), wavefronts(v) - conflicts(v)); }
double same_word(const View& v) {
  const bool is_known = v.has("atomic_contention.words") && !v.is_combined();
  return is_known ? std::max(0.0, v("shared_bank_conflicts.conflicts") - conflicts(v)) : 0;
}

// ---- atomic operations

double lanes_of_a_word(const View& v) {
  return ratio(v("atomic_contention.lanes"), v("atomic_contention.words"));
}
double operations(const View& v) { return v("atomic.operations"); }
/// One operation per thread block remains if each block combines its own.
double avoidable(const View& v) {
  return ratio(std::max(0.0, operations(v) - v("thread_blocks")), operations(v)) * v("atomic.cycles");
}
double atomic_saving(const View& v) { return work_share(v, avoidable(v)); }

// ---- lanes

double active_lanes(const View& v) {
  return ratio(v("instruction_count.thread_instructions"), v("instruction_count.warp_instructions"));
}
/// Average number of a warp's lanes that have a thread; 32 if block sizes differ.
double threads_of_a_warp(const View& v) {
  const double threads = v("block_threads");
  return threads == 0 ? warp : threads / std::ceil(threads / warp);
}
/// A single block has no other block to share threads with.
double without_threads(const View& v) {
  return v.has("blocks") && v("blocks") < 2 ? 0 : 1 - threads_of_a_warp(v) / warp;
}
double idle_by_flow(const View& v) { return std::max(0.0, 1 - active_lanes(v) / threads_of_a_warp(v)); }
double issue_share(const View& v) { return work_share(v, v("work.issue")); }
double divergent_share(const View& v) { return ratio(v("flow.divergent"), v("flow.branches")); }
double lost_share(const View& v) {
  return std::min(1.0, ratio(v("flow.lost"), v("instruction_count.warp_instructions")));
}
/// Lost instructions cost issue slots only: each lane still needs the sectors of its own items, whichever
/// lanes request them with it. Sectors that lanes share if they share an item are a finding of the accesses.
double flow_saving(const View& v) { return lost_share(v) * issue_share(v); }
double lanes_in_flow(const View& v) {
  return ratio(v("flow.thread_instructions"), v("flow.warp_instructions"));
}
double lanes_in_iteration(const View& v) {
  return ratio(v("flow.thread_iterations"), v("flow.warp_iterations"));
}
double lanes_entering(const View& v) { return ratio(v("flow.thread_entries"), v("flow.warp_entries")); }

// ---- the grid on the device

double small_grid(const View& v) { return 1 - ratio(v("blocks"), v("multiprocessors")); }
double waves(const View& v) { return ratio(v("blocks"), v("multiprocessors") * v("blocks_per_sm")); }
double tail(const View& v) { return waves(v) > 1 ? 1 - waves(v) / std::ceil(waves(v)) : 0; }
double imbalance_of_multiprocessors(const View& v) { return v("kernel_runtime.load_imbalance"); }
/// Compares blocks of one launch, since launches of one kernel may differ in their work.
double longest_block(const View& v) { return v("kernel_runtime.block_imbalance"); }
double occupancy(const View& v) { return ratio(v("warps_per_sm"), v("most_warps_per_sm")); }
double unused_occupancy(const View& v) { return v("warps_per_sm") > 0 ? 1 - occupancy(v) : 0; }
double launch_share(const View& v) { return work_share(v, v("work.launch")); }
double imbalance_of_warps(const View& v) {
  return ratio(v("instruction_count_per_warp.warp_instructions.max"),
               v("instruction_count_per_warp.warp_instructions.mean"));
}
/// The limit on resident blocks does not matter if all blocks fit at once.
double smallness_of_blocks(const View& v) {
  const double multiprocessors = v.has("multiprocessors") ? v("multiprocessors") : usual_multiprocessors;
  return v("blocks") > least_resident_blocks * multiprocessors ? 64 / v("block_threads") : 0;
}

const std::vector<NamedMeasure> sector_numbers = {{"transferred", transferred},
                                                  {"requested", requested},
                                                  {"unused", unused},
                                                  {"sectors_per_request", sectors_per_request},
                                                  {"least_per_request", least_per_request}};
constexpr std::string_view why_sectors =
    "L1 serves a warp's request in sectors of 32 bytes, and each sector that a lane touches is requested "
    "whole";
const std::vector<NamedMeasure> conflict_numbers = {
    {"factor", conflict_factor}, {"wavefronts", wavefronts}, {"conflicts", conflicts}};
constexpr std::string_view conflict_sentence =
    "{what} of shared memory take {factor} times the wavefronts that they need: {conflicts} of {wavefronts} "
    "are "
    "bank conflicts";
constexpr std::string_view why_conflicts =
    "a bank serves one word of 4 bytes per wavefront, and lanes access different words of one bank";

const std::vector<FindingRule> rule_table = {
    {"uncoalesced access",
     {load, store, copy},
     {"memory_efficiency.sectors", "memory_efficiency.requests"},
     unused_by_stride,
     0.25,
     memory_saving,
     sector_numbers,
     "{what} take {sectors_per_request} sectors per warp request where {least_per_request} would suffice: "
     "{transferred} bytes of sectors at L1 for {requested} bytes of data ({unused%} unused by the request); "
     "neighbouring "
     "lanes are "
     "{distance} bytes apart",
     why_sectors,
     "let neighbouring lanes access neighbouring addresses: swap the roles of the thread indices or of the "
     "array's dimensions, turn arrays of structures into structures of arrays, or stage a tile in shared "
     "memory"},
    {"scattered access",
     {load, store, copy},
     {"memory_efficiency.sectors", "memory_efficiency.requests"},
     unused_by_scatter,
     0.25,
     memory_saving,
     sector_numbers,
     "{what} take {sectors_per_request} sectors per warp request where {least_per_request} would suffice: "
     "{transferred} bytes of sectors at L1 for {requested} bytes of data ({unused%} unused by the request)",
     why_sectors,
     "where each lane walks a range of its own, let the lanes of a warp walk it together; where the index is "
     "data, "
     "sort or renumber the data so that neighbouring lanes access neighbouring elements"},
    {"bank conflicts",
     {load, store, copy, atomic},
     {"shared_bank_conflicts.wavefronts"},
     conflicts_by_stride,
     0.2,
     conflict_saving,
     conflict_numbers,
     "{what} of shared memory take {factor} times the wavefronts that they need: {conflicts} of {wavefronts} "
     "are "
     "bank conflicts; neighbouring lanes are {distance} bytes apart",
     why_conflicts,
     "pad rows by one element (tile[32][33]), or permute the column by the row (column ^ row)"},
    {"bank conflicts between rows",
     {load, store, copy, atomic},
     {"shared_bank_conflicts.wavefronts"},
     conflicts_of_rows,
     0.2,
     conflict_saving,
     conflict_numbers,
     "{what} of shared memory take {factor} times the wavefronts that they need: {conflicts} of {wavefronts} "
     "are bank conflicts; neighbouring lanes of a row access neighbouring words, but the rows of a warp "
     "share "
     "banks",
     "the block has fewer than 32 threads per row, so a warp accesses several rows of the array at once",
     "use rows of 32 threads, or rows of the array as long as those of the block or an odd multiple "
     "(tile[16][16] rather than tile[16][17] for 16 threads per row)"},
    {"scattered bank conflicts",
     {load, store, copy, atomic},
     {"shared_bank_conflicts.wavefronts"},
     conflicts_by_scatter,
     0.2,
     conflict_saving,
     conflict_numbers,
     conflict_sentence,
     why_conflicts,
     "where lanes access a column of a tile, pad its rows by one element; where the index is data, arrange "
     "the data "
     "so that words that are accessed together are in different banks"},
    {"tile bank conflicts",
     {load, store, copy},
     {"shared_bank_conflicts.wavefronts"},
     conflicts_in_tile,
     0.2,
     conflict_saving,
     conflict_numbers,
     conflict_sentence,
     why_conflicts,
     "if wgmma or a tensor copy uses the array, swizzle it, because its rows cannot be padded: exchange the "
     "pieces of 16 bytes in each 128 bytes (piece ^ row % 8), and set the 128-byte swizzle in the matrix "
     "descriptor and in the tensor map; otherwise pad its rows by one element"},
    {"shared atomics on one word",
     {atomic},
     {"shared_bank_conflicts.wavefronts", "atomic_contention.words"},
     [](const View& v) { return ratio(same_word(v), wavefronts(v)); },
     0.2,
     [](const View& v) { return work_share(v, same_word(v)); },
     {{"lanes", lanes_of_a_word}, {"same", same_word}, {"wavefronts", wavefronts}},
     "a word of shared memory is updated by {lanes:lane} of a warp on average, which takes {same} of "
     "{wavefronts} "
     "wavefronts",
     "atomic operations of a warp on one word are performed one after another; padding does not help",
     "combine the lanes of a word first (__match_any_sync, __reduce_add_sync), or keep several copies of the "
     "words, "
     "chosen by lane, and add them up at the end"},
    {"contended atomics",
     {atomic},
     {"atomic.operations"},
     atomic_saving,
     0.01,
     atomic_saving,
     {{"hottest", [](const View& v) { return v("atomic_contention.hottest_word"); }},
      {"lanes", [](const View& v) { return v("atomic_contention.lanes"); }},
      {"per_word", lanes_of_a_word}},
     "at least {hottest} of {lanes} atomic operations update the same word of global memory{combined}; a "
     "word is "
     "updated by {per_word:lane} of a warp on average",
     "operations on one word are performed one after another, each some 1.5 cycles of the whole device, and "
     "those on words of 256 bytes one, of one KB half a cycle (measured on an H200)",
     "combine operations within the warp and within the block first, in shared memory, and update global "
     "memory "
     "once per block; replace a loop of compare-and-swap by an atomic operation where there is one",
     false},
    {"divergent branch",
     {branch},
     {"flow.lost", "instruction_count.warp_instructions"},
     [](const View& v) { return divergent_share(v) >= 0.05 ? lost_share(v) : 0; },
     0.02,
     flow_saving,
     {{"divergent", [](const View& v) { return v("flow.divergent"); }},
      {"branches", [](const View& v) { return v("flow.branches"); }},
      {"share", divergent_share},
      {"active", lanes_in_flow}},
     "warps diverge in {divergent} of {branches} executions of this branch ({share%}); up to where the paths "
     "join, {active} of 32 lanes are active per instruction on average",
     "lanes that do not take a path idle while other lanes of their warp execute it",
     "make the condition uniform within each warp (group the work by its kind, or decide by the index of the "
     "warp), or turn short paths into selections without a branch"},
    {"uneven loop",
     {loop},
     {"flow.lost", "instruction_count.warp_instructions"},
     [](const View& v) { return lanes_in_iteration(v) <= 0.8 * lanes_entering(v) ? lost_share(v) : 0; },
     0.02,
     flow_saving,
     {{"entering", lanes_entering},
      {"warp_trips", [](const View& v) { return ratio(v("flow.warp_iterations"), v("flow.warp_entries")); }},
      {"lane_trips",
       [](const View& v) { return ratio(v("flow.thread_iterations"), v("flow.thread_entries")); }},
      {"active", lanes_in_iteration}},
     "the lanes of a warp iterate this loop different numbers of times: a warp enters it with {entering} "
     "lanes and "
     "iterates "
     "{warp_trips} times on average, a lane {lane_trips} times; {active} lanes are active per iteration",
     "a warp iterates until its last lane leaves the loop, while lanes that have left it idle; iterations "
     "are "
     "those of the compiled loop, which may be unrolled",
     "give the lanes of a warp equal trip counts: let several lanes share an item, one for each of its usual "
     "iterations, sort items by length, or let lanes that are done fetch new work"},
    {"idle lanes",
     {},
     {"instruction_count.thread_instructions", "instruction_count.warp_instructions"},
     [](const View& v) { return v.has("flow") ? 0 : idle_by_flow(v); },
     0.25,
     [](const View& v) { return idle_by_flow(v) * issue_share(v); },
     {{"active", active_lanes}},
     "{active} of 32 lanes are active per instruction on average",
     "lanes that a guard or a branch leaves out idle while the others execute",
     "find the branches and loops that leave lanes out (-s basic_block_count,branch_divergence)"},
    {"partial warps",
     {},
     {"instruction_count.warp_instructions", "block_threads"},
     without_threads,
     0.05,
     [](const View& v) { return without_threads(v) * issue_share(v); },
     {{"threads", [](const View& v) { return v("block_threads"); }}, {"without", without_threads}},
     "a block has {threads:thread}, which is not a multiple of 32: {without%} of the lanes of its warps "
     "have no "
     "thread",
     "a warp has 32 lanes, however many threads it has",
     "choose a block size that is a multiple of 32"},
    {"small blocks",
     {},
     {"instruction_count.warp_instructions", "block_threads", "blocks"},
     smallness_of_blocks,
     2,
     nullptr,
     {{"threads", [](const View& v) { return v("block_threads"); }},
      {"blocks", [](const View& v) { return v("blocks"); }}},
     "each of {blocks} blocks has {threads:thread}",
     "a multiprocessor holds at most 16 to 32 blocks at a time, so that blocks of one warp fill at most half "
     "of "
     "the warps that it can hold",
     "use blocks of 128 to 256 threads"},
    {"small grid",
     {},
     {"multiprocessors", "blocks"},
     small_grid,
     0.1,
     small_grid,
     {{"blocks", [](const View& v) { return v("blocks"); }},
      {"multiprocessors", [](const View& v) { return v("multiprocessors"); }},
      {"idle", small_grid}},
     "a grid of {blocks:block} leaves {idle%} of {multiprocessors} multiprocessors without work",
     "a block runs on one multiprocessor; the others idle unless another kernel runs concurrently",
     "use more and smaller blocks, split the work of a block, or run independent kernels on several streams"},
    {"tail of the grid",
     {},
     {"multiprocessors", "blocks", "blocks_per_sm"},
     tail,
     0.15,
     tail,
     {{"blocks", [](const View& v) { return v("blocks"); }},
      {"waves", waves},
      {"at_once", [](const View& v) { return v("multiprocessors") * v("blocks_per_sm"); }},
      {"idle", tail}},
     "{blocks} blocks are {waves} times the {at_once} that run at once: if all blocks take equally long, "
     "multiprocessors idle for {idle%} of the kernel while the last blocks run",
     "the kernel lasts until its last block ends",
     "choose a number of blocks that fills the device (a grid-stride loop), or use smaller blocks"},
    {"uneven multiprocessors",
     {},
     {"kernel_runtime.load_imbalance"},
     imbalance_of_multiprocessors,
     1.25,
     [](const View& v) { return 1 - 1 / imbalance_of_multiprocessors(v); },
     {{"imbalance", imbalance_of_multiprocessors}},
     "the busiest multiprocessor is busy {imbalance} times as long as the average one",
     "the kernel lasts as long as its busiest multiprocessor",
     "use more and smaller blocks, start the longest ones first, or take work from a queue"},
    {"uneven blocks",
     {},
     {"kernel_runtime.max_cycles", "kernel_runtime.block_imbalance", "multiprocessors", "blocks_per_sm",
      "blocks"},
     longest_block,
     2,
     [](const View& v) { return (1 - 1 / longest_block(v)) / std::max(1.0, std::ceil(waves(v))); },
     {{"factor", longest_block}, {"longest", [](const View& v) { return v("kernel_runtime.max_cycles"); }}},
     "the longest block of a launch takes {factor} times the average of its blocks, up to {longest} cycles",
     "a long block that starts late keeps the kernel running after all others have ended",
     "split long blocks, or start them first"},
    {"uneven warps",
     {},
     {"instruction_count_per_warp.warp_instructions.max",
      "instruction_count_per_warp.warp_instructions.mean"},
     imbalance_of_warps,
     2,
     nullptr,
     {{"factor", imbalance_of_warps},
      {"most", [](const View& v) { return v("instruction_count_per_warp.warp_instructions.max"); }}},
     "one warp executes {most} instructions, {factor} times the average",
     "a block occupies its multiprocessor until its last warp ends",
     "give every warp about the same amount of work, or let warps take work from a counter"},
    {"local memory",
     {},
     {"local_bytes"},
     [](const View& v) { return v("local_bytes"); },
     1,
     nullptr,
     {{"bytes", [](const View& v) { return v("local_bytes"); }},
      {"registers", [](const View& v) { return v("registers"); }}},
     "a thread has {bytes} bytes of local memory and {registers} registers",
     "local memory holds spilled registers, arrays with computed indices and stack frames; accesses to it go "
     "through L1 like those to global memory",
     "for spilled registers allow more of them (__launch_bounds__, -maxrregcount) or shorten the lives of "
     "variables; for arrays use constant indices (#pragma unroll)"},
    {"low occupancy",
     {},
     {"warps_per_sm", "most_warps_per_sm"},
     unused_occupancy,
     0.5,
     nullptr,
     {{"warps", [](const View& v) { return v("warps_per_sm"); }},
      {"most", [](const View& v) { return v("most_warps_per_sm"); }},
      {"occupancy", occupancy}},
     "{warps} of {most} warps fit on a multiprocessor ({occupancy%})",
     "few warps hide little latency; that costs nothing if each has enough independent instructions",
     "use fewer registers, less shared memory per block, or another block size"},
    {"many tiny launches",
     {},
     {"instruction_count.warp_instructions", "memory_efficiency.load_requests"},
     launch_share,
     0.5,
     launch_share,
     {{"launches", [](const View& v) { return v("launches"); }},
      {"warp_instructions",
       [](const View& v) { return ratio(v("instruction_count.warp_instructions"), v("launches")); }},
      {"microseconds", [](const View& v) { return v("launch.microseconds"); }}},
     "{launches} launches execute {warp_instructions} warp instructions each on average: an estimated "
     "{microseconds} microseconds of work, while a launch costs some 3",
     "each launch has a cost of its own on the host and on the device",
     "do several steps in one launch, or capture the launches into a CUDA graph"},
};

}  // namespace

double View::operator()(std::string_view name) const {
  const double* const number = find(name);
  return number == nullptr ? 0 : *number;
}

const double* View::find(std::string_view name) const {
  const double* const own = location_ == nullptr ? nullptr : location_->facts.find(name);
  return own != nullptr ? own : kernel_.facts.find(name);
}

std::string View::distance() const {
  if (location_ == nullptr || kernel_.sites == nullptr) return {};
  const std::uint32_t stride = kernel_.sites->instructions[location_->instruction].stride;
  if (stride == SitesRecord::unknown) return {};
  const std::string& text = kernel_.sites->strides[stride];
  return text.starts_with('-') ? text.substr(1) : text;
}

std::string View::combined() const {
  return is_combined() ? " (" + to_text(Number::of(static_cast<WideInteger>(operations(*this)))) +
                             " where compilers combine those of a warp)"
                       : "";
}

std::span<const FindingRule> finding_rules() { return rule_table; }

}  // namespace lynxpp::report
