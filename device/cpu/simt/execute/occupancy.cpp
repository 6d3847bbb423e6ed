#include "device/cpu/simt/execute/occupancy.h"

#include <algorithm>

namespace lynxpp::device::cpu {

int resident_blocks(const KernelInfo& info, int threads, std::size_t shared_bytes) {
  const std::size_t shared = info.static_shared_bytes + shared_bytes;
  if (threads <= 0 ||
      threads > static_cast<int>(std::min<std::uint32_t>(info.max_threads, max_threads_per_block)))
    return 0;
  if (shared > std::size_t{optin_shared_limit}) return 0;
  const int whole_warps = (threads + 31) / 32 * 32;
  const int by_threads = threads_per_multiprocessor / whole_warps;
  const int by_shared = static_cast<int>(std::size_t{shared_per_multiprocessor} /
                                         (shared + std::size_t{reserved_shared_per_block}));
  return std::min({blocks_per_multiprocessor, by_threads, by_shared});
}

}  // namespace lynxpp::device::cpu
