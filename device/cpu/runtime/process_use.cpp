#include "device/cpu/runtime/process_use.h"

#include <atomic>

namespace lynxpp::device::cpu {
namespace {

std::atomic<bool> is_used = false;
std::atomic<bool> is_inherited = false;

}  // namespace

void note_use_of_device() {
  if (!is_used.load(std::memory_order_relaxed)) is_used.store(true, std::memory_order_relaxed);
}

bool is_stranded() { return is_inherited.load(std::memory_order_relaxed); }

void begin_in_child() {
  if (is_used.load(std::memory_order_relaxed)) is_inherited.store(true, std::memory_order_relaxed);
}

}  // namespace lynxpp::device::cpu
