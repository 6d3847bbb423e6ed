#include "interposer/launch_notice.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace lynxpp::interposer {
namespace {

std::atomic<lynxpp_seen> own = lynxpp_seen_none;
std::atomic<lynxpp_seen>* of_relatives = nullptr;  ///< null: no shared memory available

/// True if this call raised the stage.
bool raise(std::atomic<lynxpp_seen>& stage, lynxpp_seen to) {
  lynxpp_seen known = stage.load(std::memory_order_relaxed);
  while (known < to) {
    if (stage.compare_exchange_weak(known, to)) return true;
  }
  return false;
}

}  // namespace

void share_launch_notice() {
  void* const page =
      mmap(nullptr, sizeof *of_relatives, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) of_relatives = new (page) std::atomic<lynxpp_seen>(lynxpp_seen_none);
}

void note_launch(lynxpp_seen seen, LaunchNotice notice) {
  if (!raise(own, seen)) return;
  if (of_relatives != nullptr) raise(*of_relatives, seen);
  if (notice != nullptr) notice(seen);
}

lynxpp_seen seen_launches() {
  return std::max(own.load(), of_relatives != nullptr ? of_relatives->load() : lynxpp_seen_none);
}

void begin_launch_notice_in_child() { own.store(lynxpp_seen_none); }

}  // namespace lynxpp::interposer
