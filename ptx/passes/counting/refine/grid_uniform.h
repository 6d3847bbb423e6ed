// Counters that are the same in every thread block of the grid.
//
// Where no path to a place depends on which block a thread is in, nor on memory, a thread of a given index
// comes there equally often in every block. What is counted there by the first block of the grid alone, the
// host multiplies by the number of blocks, and all others have nothing to flush. So does its warp, when lanes
// that diverged reconverge. Where some of them wait at a barrier before, or spin, the others may go on alone,
// and how many there are may depend on the block: what warps do after such a place each block counts.
#pragma once

#include <cstdint>
#include <string_view>

namespace lynxpp::ptx {

struct PlanDraft;

/// Sets CounterDraft::first_in of the kernel's counters.
void count_in_first_block(PlanDraft& plan);

/// In which dimensions a block has to be the first to count for others (a set of bits: 1 is x, 2 is y, 4 is
/// z): those whose index the kernel's text reads anyway, else x.
std::uint8_t counted_dimensions(std::string_view body);

}  // namespace lynxpp::ptx
