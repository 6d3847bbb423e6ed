#include "report/findings/rules.h"

#include <algorithm>
#include <cmath>

namespace lynxpp::report {
namespace {

using enum PlaceKind;

constexpr double warp = 32;
constexpr double sector = 32;
/// What a launch takes of a device with as many multiprocessors as today's, in cycles of one of them: 3
/// microseconds.
constexpr double cycles_of_launch = 132 * 5000.0;

double ratio(double a, double b) { return b > 0 ? a / b : 0; }
double work_share(const View& v, double cycles) { return ratio(cycles, v("work")); }

// ---- device memory

double sectors(const View& v) { return v("memory_efficiency.sectors"); }
double asked(const View& v) { return v("memory_efficiency.bytes_asked"); }
double requests(const View& v) { return v("memory_efficiency.requests"); }
/// Sectors that the same bytes would take side by side; a request takes one at least.
double least_sectors(const View& v) {
  return std::min(sectors(v), std::max(requests(v), std::ceil(asked(v) / sector)));
}
double wasted(const View& v) { return ratio(sectors(v) - least_sectors(v), sectors(v)); }
/// At most one sector more than needed for each request, or few of many.
bool is_misaligned(const View& v) { return sectors(v) - least_sectors(v) <= requests(v) || wasted(v) < 0.25; }
double memory_saving(const View& v) { return work_share(v, 2 * (sectors(v) - least_sectors(v))); }
double moved(const View& v) { return sectors(v) * sector; }
double wasted_bytes(const View& v) { return (sectors(v) - least_sectors(v)) * sector; }
double sectors_per_request(const View& v) { return ratio(sectors(v), requests(v)); }
double least_per_request(const View& v) { return ratio(least_sectors(v), requests(v)); }
/// Lanes of a warp that meet in a word, in the mean and at least: words of one sector are shared where more
/// bytes are asked for than it has.
double lanes_in_a_word(const View& v) { return ratio(asked(v), sectors(v) * sector); }

// ---- shared memory

double wavefronts(const View& v) { return v("shared_bank_conflicts.wavefronts"); }
double conflicts(const View& v) { return v("shared_bank_conflicts.conflicts"); }
double conflict_share(const View& v) { return ratio(conflicts(v), wavefronts(v)); }
double conflict_factor(const View& v) { return ratio(wavefronts(v), wavefronts(v) - conflicts(v)); }

// ---- lanes

double active_lanes(const View& v) {
  return ratio(v("instruction_count.thread_instructions"), v("instruction_count.warp_instructions"));
}
/// Lanes that a warp of this block has threads for, in the mean; where blocks differ, all of them.
double threads_of_a_warp(const View& v) {
  const double threads = v("block_threads");
  return threads == 0 ? warp : threads / std::ceil(threads / warp);
}
double without_threads(const View& v) { return 1 - threads_of_a_warp(v) / warp; }
double idle_by_flow(const View& v) { return std::max(0.0, 1 - active_lanes(v) / threads_of_a_warp(v)); }
double issue_share(const View& v) { return work_share(v, v("work.issue")); }
double divergent(const View& v) { return v("branch_divergence.divergent"); }
double divergent_share(const View& v) { return ratio(divergent(v), v("branch_divergence.branches")); }
double divergent_of_kernel(const View& v) {
  return ratio(divergent(v), v("branch_divergence.total_divergent"));
}

// ---- the grid on the device

double small_grid(const View& v) { return 1 - ratio(v("blocks"), v("multiprocessors")); }
double waves(const View& v) { return ratio(v("blocks"), v("multiprocessors") * v("blocks_per_sm")); }
double tail(const View& v) { return waves(v) > 1 ? 1 - waves(v) / std::ceil(waves(v)) : 0; }
double imbalance_of_multiprocessors(const View& v) { return v("kernel_runtime.load_imbalance"); }
double longest_block(const View& v) {
  return ratio(v("kernel_runtime.max_cycles"), v("kernel_runtime.mean_cycles"));
}
double occupancy(const View& v) { return ratio(v("warps_per_sm"), v("most_warps_per_sm")); }
double unused_occupancy(const View& v) { return v("warps_per_sm") > 0 ? 1 - occupancy(v) : 0; }
double work_of_launch(const View& v) { return ratio(v("work"), v("launches")); }
double launch_share(const View& v) {
  return v("launches") >= 100 ? cycles_of_launch / (cycles_of_launch + work_of_launch(v)) : 0;
}
double imbalance_of_warps(const View& v) {
  return ratio(v("instruction_count_per_warp.warp_instructions.max"),
               v("instruction_count_per_warp.warp_instructions.mean") * v("launches"));
}

const std::vector<FindingRule> rule_table = {
    {"uncoalesced access",
     {load, store, copy},
     {"memory_efficiency.sectors", "memory_efficiency.requests"},
     [](const View& v) { return is_misaligned(v) ? 0 : wasted(v); },
     0.25,
     memory_saving,
     {{"moved", moved},
      {"asked", asked},
      {"wasted_bytes", wasted_bytes},
      {"wasted", wasted},
      {"sectors_per_request", sectors_per_request},
      {"least_per_request", least_per_request}},
     "{what} here move {moved} bytes for {asked} that were asked for: {sectors_per_request} sectors a "
     "request, where {least_per_request} would do; {wasted_bytes} bytes ({wasted%}) are wasted",
     "memory moves sectors of 32 bytes, and a warp's request all sectors that its lanes touch",
     "let neighbouring lanes access neighbouring addresses: swap the roles of the thread indices or of the "
     "array's dimensions, turn arrays of structures into structures of arrays, or go through a tile in "
     "shared memory"},
    {"misaligned access",
     {load, store, copy},
     {"memory_efficiency.sectors", "memory_efficiency.requests"},
     [](const View& v) { return is_misaligned(v) ? wasted(v) : 0; },
     0.1,
     memory_saving,
     {{"sectors_per_request", sectors_per_request},
      {"least_per_request", least_per_request},
      {"wasted", wasted}},
     "{what} here take {sectors_per_request} sectors a request, where {least_per_request} would do; "
     "{wasted%} of what they move are wasted",
     "rows that begin inside of a sector, or gaps between the lanes' elements, cost each request a sector "
     "more",
     "begin rows at multiples of 32 bytes (cudaMallocPitch, padding), or shift the first index"},
    {"bank conflicts",
     {load, store, copy, atomic},
     {"shared_bank_conflicts.wavefronts"},
     conflict_share,
     0.2,
     [](const View& v) { return work_share(v, conflicts(v)); },
     {{"factor", conflict_factor}, {"wavefronts", wavefronts}, {"conflicts", conflicts}},
     "{what} of shared memory here take {factor} times the wavefronts that they need: {conflicts} of "
     "{wavefronts} are bank conflicts",
     "lanes that access different words of one bank are served one after the other",
     "pad rows by one element (tile[32][33]), or permute the column by the row (column ^ row)"},
    {"divergent branch",
     {branch},
     {"branch_divergence.divergent", "instruction_count.warp_instructions"},
     [](const View& v) { return divergent_share(v) >= 0.05 ? idle_by_flow(v) : 0; },
     0.1,
     [](const View& v) { return idle_by_flow(v) * divergent_of_kernel(v) * issue_share(v); },
     {{"divergent", divergent},
      {"share", divergent_share},
      {"active", active_lanes},
      {"of_kernel", divergent_of_kernel}},
     "{share%} of the warps that come to this branch are divided by it ({divergent} times, {of_kernel%} of "
     "the kernel's); {active} of 32 lanes work in an instruction of this kernel, in the mean",
     "a divided warp executes both ways, one after the other, with the lanes of the other way idle",
     "let the lanes of a warp decide alike (sort or group the work by its kind, decide by warp), make short "
     "ways a selection without a branch, or give lanes of finished loops new work"},
    {"idle lanes",
     {},
     {"instruction_count.thread_instructions", "instruction_count.warp_instructions"},
     [](const View& v) { return v.has("branch_divergence.total_divergent") ? 0 : idle_by_flow(v); },
     0.25,
     [](const View& v) { return idle_by_flow(v) * issue_share(v); },
     {{"active", active_lanes}, {"idle", idle_by_flow}},
     "{active} of 32 lanes work in an instruction of this kernel, in the mean",
     "lanes that a guard or a branch leaves out take part in every instruction all the same",
     "find the branches that divide warps (-s branch_divergence)"},
    {"blocks of broken warps",
     {},
     {"instruction_count.warp_instructions", "block_threads"},
     without_threads,
     0.05,
     [](const View& v) { return without_threads(v) * issue_share(v); },
     {{"threads", [](const View& v) { return v("block_threads"); }}, {"without", without_threads}},
     "a block has {threads} threads, no multiple of 32: {without%} of its lanes have no thread",
     "warps have 32 lanes whether there are threads for them or not",
     "choose a block size that is a multiple of 32"},
    {"small blocks",
     {},
     {"instruction_count.warp_instructions", "block_threads"},
     [](const View& v) { return v("blocks") > 1 ? 64 / v("block_threads") : 0; },
     2,
     nullptr,
     {{"threads", [](const View& v) { return v("block_threads"); }}},
     "a block has {threads} threads",
     "a multiprocessor holds 16 to 32 blocks at a time, so that with one warp each at most half of its warps "
     "are there to hide latency",
     "blocks of 128 to 256 threads"},
    {"small grid",
     {},
     {"multiprocessors", "blocks"},
     small_grid,
     0.1,
     small_grid,
     {{"blocks", [](const View& v) { return v("blocks"); }},
      {"multiprocessors", [](const View& v) { return v("multiprocessors"); }},
      {"idle", small_grid}},
     "a grid of {blocks} blocks leaves {idle%} of {multiprocessors} multiprocessors without work",
     "a block runs on one multiprocessor; the others have nothing to do, unless another kernel runs beside",
     "more and smaller blocks, split what one block does, or run independent kernels on several streams"},
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
     "{blocks} blocks are {waves} times the {at_once} that run at once: while the last ones run, "
     "multiprocessors are idle ({idle%} of the kernel, were all blocks alike)",
     "the kernel lasts as long as its last blocks",
     "a number of blocks that fills the device (a grid-stride loop), or smaller blocks"},
    {"uneven multiprocessors",
     {},
     {"kernel_runtime.load_imbalance"},
     imbalance_of_multiprocessors,
     1.25,
     [](const View& v) { return 1 - 1 / imbalance_of_multiprocessors(v); },
     {{"imbalance", imbalance_of_multiprocessors}},
     "the busiest multiprocessor has {imbalance} times the work of the mean",
     "the kernel lasts as long as the multiprocessor with the most work",
     "more and smaller blocks, the longest ones first, or work taken from a queue"},
    {"uneven blocks",
     {},
     {"kernel_runtime.max_cycles", "kernel_runtime.mean_cycles", "multiprocessors", "blocks_per_sm",
      "blocks"},
     longest_block,
     2,
     [](const View& v) { return (1 - 1 / longest_block(v)) / std::max(1.0, std::ceil(waves(v))); },
     {{"factor", longest_block}, {"longest", [](const View& v) { return v("kernel_runtime.max_cycles"); }}},
     "the longest block takes {factor} times the cycles of the mean ({longest})",
     "a long block that begins late is what the kernel ends with",
     "divide long blocks, or have them begin first"},
    {"uneven warps",
     {},
     {"instruction_count_per_warp.warp_instructions.max",
      "instruction_count_per_warp.warp_instructions.mean"},
     imbalance_of_warps,
     2,
     nullptr,
     {{"factor", imbalance_of_warps},
      {"most", [](const View& v) { return v("instruction_count_per_warp.warp_instructions.max"); }}},
     "one warp executes {most} instructions, {factor} times the mean",
     "a block keeps its place until its last warp ends",
     "give every warp about as much work, or let warps take work from a counter"},
    {"spilled registers",
     {},
     {"local_bytes"},
     [](const View& v) { return v("local_bytes"); },
     1,
     nullptr,
     {{"bytes", [](const View& v) { return v("local_bytes"); }},
      {"registers", [](const View& v) { return v("registers"); }}},
     "a thread has {bytes} bytes of local memory beside its {registers} registers",
     "registers that do not fit and arrays with computed indices live in local memory, which is device "
     "memory",
     "more registers (__launch_bounds__, -maxrregcount), shorter lives of variables, constant indices into "
     "small arrays (#pragma unroll)"},
    {"low occupancy",
     {},
     {"warps_per_sm", "most_warps_per_sm"},
     unused_occupancy,
     0.5,
     nullptr,
     {{"warps", [](const View& v) { return v("warps_per_sm"); }},
      {"most", [](const View& v) { return v("most_warps_per_sm"); }},
      {"registers", [](const View& v) { return v("registers"); }},
      {"occupancy", occupancy}},
     "{warps} of {most} warps fit on a multiprocessor ({occupancy%}), with {registers} registers a thread",
     "few warps hide little latency; that is no loss where each has enough independent instructions",
     "fewer registers or less shared memory a block, or another block size"},
    {"atomics on one word",
     {atomic},
     {"memory_efficiency.sectors", "memory_efficiency.requests"},
     lanes_in_a_word,
     2,
     nullptr,
     {{"lanes", lanes_in_a_word}, {"requests", requests}},
     "at least {lanes} lanes of a warp meet in one word, in the mean of {requests} requests",
     "atomic operations on one word happen one after the other",
     "add up within the warp first (__reduce_add_sync, cooperative groups' coalesced_threads), then within "
     "the block in shared memory, and do one operation for each block"},
    {"many tiny launches",
     {},
     {"instruction_count.warp_instructions"},
     launch_share,
     0.5,
     launch_share,
     {{"launches", [](const View& v) { return v("launches"); }},
      {"warp_instructions",
       [](const View& v) { return ratio(v("instruction_count.warp_instructions"), v("launches")); }},
      {"share", launch_share}},
     "{launches} launches with {warp_instructions} instructions of warps each: launching, some 3 "
     "microseconds, takes longer than what they do",
     "each launch has a cost of its own on the host and on the device",
     "do several steps in one launch, or capture the launches into a CUDA graph"},
};

}  // namespace

double View::operator()(std::string_view name) const {
  const double* const number = find(name);
  return number == nullptr ? 0 : *number;
}

const double* View::find(std::string_view name) const {
  const double* const own = place_ == nullptr ? nullptr : place_->facts.find(name);
  return own != nullptr ? own : kernel_.facts.find(name);
}

std::span<const FindingRule> finding_rules() { return rule_table; }

}  // namespace lynxpp::report
