// Finds counters that are equal in every thread block of the grid.
//
// If no path to a program point depends on the thread block or on memory, the thread with a given index
// reaches it equally often in every block. Only the first block of the grid counts there, the host multiplies
// by the number of blocks, and all other blocks have nothing to flush. The same holds for warp counts if
// diverged lanes reconverge. If some of them first wait at a barrier or spin, the others may continue alone,
// and the number of resulting partial warps may differ between blocks: every block then counts the warps
// after such a point.
#pragma once

#include <cstdint>
#include <string_view>

namespace lynxpp::ptx {

struct PlanDraft;

/// Sets CounterDraft::first_in of the kernel's counters.
void count_in_first_block(PlanDraft& plan);

/// Returns the dimensions in which only the first block counts (a bit mask: 1 is x, 2 is y, 4 is z): those
/// whose index the kernel's text reads anyway, otherwise x.
std::uint8_t counted_dimensions(std::string_view body);

}  // namespace lynxpp::ptx
