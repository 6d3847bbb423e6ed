#include "device/cpu/simt/check/access_shadow.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

bool is_ordered(const AccessMark& earlier, const AccessMark& mark, const WarpClock& clock) {
  return earlier.time == 0 ||
         clock.knows(earlier.block, earlier.warp, earlier.time, earlier.lane == mark.lane);
}

/// Returns true if both accesses are strong and include each other in their scope: they never race.
bool are_strong(const AccessMark& a, const AccessMark& b) {
  const auto needed = a.block == b.block ? Reach::block : Reach::device;
  return std::min(a.reach, b.reach) >= static_cast<std::uint32_t>(needed);
}

bool conflict(const AccessMark& earlier, const AccessMark& mark, const WarpClock& clock) {
  return (earlier.bytes & mark.bytes) != 0 && !is_ordered(earlier, mark, clock) && !are_strong(earlier, mark);
}

bool same_thread(const AccessMark& a, const AccessMark& b) {
  return a.block == b.block && a.warp == b.warp && a.lane == b.lane;
}

}  // namespace

Conflict note_access(WordMarks& word, const AccessMark& mark, bool reads, bool writes,
                     const WarpClock& clock) {
  Conflict found;
  if (conflict(word.write, mark, clock)) found = {word.write, true};
  if (writes) {
    for (const AccessMark& read : word.reads) {
      if (found.earlier.time == 0 && conflict(read, mark, clock)) found = {read, false};
    }
    const bool extends = same_thread(word.write, mark) && word.write.time == mark.time;
    const std::uint32_t bytes = extends ? word.write.bytes | mark.bytes : mark.bytes;
    word.write = mark;
    word.write.bytes = bytes & 0xf;
    // Reads ordered before this write are dropped: an access that races with them races with the write, too.
    for (AccessMark& read : word.reads) {
      if (is_ordered(read, mark, clock)) read = {};
    }
  } else if (reads) {
    AccessMark& first = word.reads[0];
    const bool replaces_first =
        is_ordered(first, mark, clock) || (first.block == mark.block && first.warp == mark.warp);
    word.reads[replaces_first ? 0 : 1] = mark;
  }
  return found;
}

}  // namespace lynxpp::device::cpu
