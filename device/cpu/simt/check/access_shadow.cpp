#include "device/cpu/simt/check/access_shadow.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

bool is_ordered(const AccessMark& earlier, bool earlier_writes, const AccessMark& mark,
                const AccessOrder& order) {
  if (earlier.time == 0) return true;
  if (earlier.is_async == 0)
    return order.clock.knows(earlier.block, earlier.warp, earlier.time, earlier.lane == mark.lane);
  if (mark.is_async != 0) {
    if (mark.time == earlier.time) return true;
    if (is_of_tensor_core(order.operations[mark.time]) && is_of_tensor_core(order.operations[earlier.time]))
      return true;
  }
  const ClockTime at = order.operations[earlier.time].completion_for(earlier.lane, earlier_writes);
  return at.time != 0 && order.clock.knows_completion(at, mark.lane);
}

/// Returns true if both accesses are strong and include each other in their scope: they never race.
bool are_strong(const AccessMark& a, const AccessMark& b) {
  const auto needed = a.block == b.block ? Reach::block : Reach::device;
  return std::min(a.reach, b.reach) >= static_cast<std::uint32_t>(needed);
}

bool conflict(const AccessMark& earlier, bool earlier_writes, const AccessMark& mark,
              const AccessOrder& order) {
  return (earlier.bytes & mark.bytes) != 0 && !is_ordered(earlier, earlier_writes, mark, order) &&
         !are_strong(earlier, mark);
}

bool same_thread(const AccessMark& a, const AccessMark& b) {
  return a.block == b.block && a.warp == b.warp && a.lane == b.lane && a.is_async == b.is_async;
}

/// True if an ordered access does not precede the new one, because no fence orders the two proxies: a write
/// may be invisible to it, and a read may see what it writes.
bool lacks_proxy_fence(const AccessMark& earlier, bool earlier_writes, const AccessMark& mark,
                       const AccessOrder& order) {
  if (!order.by_async_proxy || earlier.time == 0 || (earlier.bytes & mark.bytes) == 0) return false;
  if (are_strong(earlier, mark)) return false;
  ClockTime at{earlier.block, earlier.warp, earlier.time, earlier.lane};
  const WarpClock* accessor = nullptr;
  if (earlier.is_async != 0) {
    const AsyncOperation& operation = order.operations[earlier.time];
    if (operation.in_async_proxy) return false;
    // Triton and CUTLASS multiply matrices that cp.async has copied without this fence.
    const AsyncCompletion by =
        mark.is_async != 0 ? order.operations[mark.time].completion : AsyncCompletion::object;
    const bool is_product = by == AsyncCompletion::matrix_group || by == AsyncCompletion::tensor_core;
    if (is_product && operation.completion == AsyncCompletion::copy_group) return false;
    at = operation.completion_for(earlier.lane, earlier_writes);
  } else if (earlier.block == mark.block && earlier.warp != mark.warp) {
    accessor = &order.block[earlier.warp];
  }
  if (order.clock.has_fenced(at, mark.lane, accessor)) return false;
  // CUTLASS refills buffers without this fence after products with registers loaded from them.
  return earlier_writes || !order.clock.has_consumed(at, mark.lane);
}

/// Returns the read mark that a new read replaces.
AccessMark& replaced_read(WordMarks& word, const AccessMark& mark, const AccessOrder& order) {
  AccessMark& first = word.reads[0];
  const bool replaces_first =
      is_ordered(first, false, mark, order) ||
      (first.is_async == mark.is_async && first.block == mark.block && first.warp == mark.warp);
  if (replaces_first) return first;
  // Reads of warps are plenty, so an operation's is kept.
  AccessMark& second = word.reads[1];
  const bool keeps_second =
      mark.is_async == 0 && second.is_async != 0 && !is_ordered(second, false, mark, order);
  return keeps_second && first.is_async == 0 ? first : second;
}

}  // namespace

Conflict note_access(WordMarks& word, const AccessMark& mark, bool reads, bool writes,
                     const AccessOrder& order) {
  Conflict found;
  if (conflict(word.write, true, mark, order)) {
    found = {word.write, true};
  } else if (lacks_proxy_fence(word.write, true, mark, order)) {
    found = {word.write, true, true};
  }
  if (writes) {
    for (const AccessMark& read : word.reads) {
      if (found.earlier.time != 0 && !found.lacks_proxy_fence) break;
      if (conflict(read, false, mark, order)) {
        found = {read, false};
      } else if (found.earlier.time == 0 && lacks_proxy_fence(read, false, mark, order)) {
        found = {read, false, true};
      }
    }
    const bool extends = same_thread(word.write, mark) && word.write.time == mark.time;
    const std::uint32_t bytes = extends ? word.write.bytes | mark.bytes : mark.bytes;
    word.write = mark;
    word.write.bytes = bytes & 0xf;
    // Reads ordered before this write are dropped: an access that races with them races with the write, too.
    for (AccessMark& read : word.reads) {
      if (is_ordered(read, false, mark, order)) read = {};
    }
  } else if (reads) {
    replaced_read(word, mark, order) = mark;
  }
  return found;
}

}  // namespace lynxpp::device::cpu
