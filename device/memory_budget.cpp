#include "device/memory_budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lynxpp::device {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

Failure not_understood(const std::string& text) {
  return failure("LYNXPP_MEMORY_BUDGET: '" + text + "' is not an amount of memory",
                 "examples: 10% (of what is free), 512M, 2G");
}

}  // namespace

Result<MemoryBudget> MemoryBudget::parse(const std::string& text) {
  MemoryBudget budget;
  if (text.empty()) return budget;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc() || !std::isfinite(number) || number < 0) return not_understood(text);
  if (unit == "%") {
    if (number > 100) return not_understood(text);
    budget.share = number / 100;
    return budget;
  }
  const std::size_t power = std::string("KMGT").find(unit.empty() ? '\0' : unit[0]);
  if (unit.size() > 1 || (!unit.empty() && power == std::string::npos)) return not_understood(text);
  const double bytes = std::ldexp(number, unit.empty() ? 0 : 10 * static_cast<int>(power + 1));
  if (bytes >= 0x1p63) return not_understood(text);
  budget.bytes = static_cast<std::uint64_t>(bytes);
  return budget;
}

std::uint64_t MemoryBudget::of(std::uint64_t free) const {
  if (bytes) return *bytes;
  return free == unlimited ? unlimited : static_cast<std::uint64_t>(share * static_cast<double>(free));
}

std::uint64_t free_host_memory() {
  std::FILE* const file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return unlimited;
  char line[128];
  unsigned long long kibibytes = 0;
  bool is_known = false;
  while (!is_known && std::fgets(line, sizeof line, file) != nullptr)
    is_known = std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1;
  std::fclose(file);
  return is_known ? kibibytes * 1024 : unlimited;
}

void BoundedMemory::limit(const MemoryBudget& budget) {
  const std::lock_guard lock(mutex_);
  budget_ = budget;
  known_to_fit_ = 0;
}

Status BoundedMemory::reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool overflows = bytes > unlimited - reserved_;
  if (overflows || reserved_ + bytes > known_to_fit_) {
    const std::uint64_t free = budget_.bytes ? 0 : free_();
    const std::uint64_t most = budget_.of(free > unlimited - reserved_ ? unlimited : free + reserved_);
    if (overflows || reserved_ + bytes > most) {
      return failure("LYNXPP_MEMORY_BUDGET leaves " + std::to_string(most) + " bytes of " + what_ +
                     " for probe buffers");
    }
    known_to_fit_ = std::min(most, reserved_ + bytes + most / 16);
  }
  reserved_ += bytes;
  return success();
}

void BoundedMemory::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  reserved_ -= std::min(bytes, reserved_);
}

std::uint64_t BoundedMemory::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

}  // namespace lynxpp::device
