#include "device/cpu/simt/execute/memory/tensor_memory.h"

#include <algorithm>

namespace lynxpp::device::cpu {

void TensorMemory::start() {
  has_permit_ = true;
  if (!is_used_) return;
  allocations_.clear();
  std::fill_n(words_.get(), lanes * columns, 0u);
  is_used_ = false;
}

std::optional<std::uint32_t> TensorMemory::allocate(std::uint32_t count) {
  std::uint32_t column = 0;
  for (const auto& [begin, taken] : allocations_) {
    if (begin - column >= count) break;
    column = begin + taken;
  }
  if (column + count > columns) return std::nullopt;
  if (words_ == nullptr) words_ = std::make_unique<std::uint32_t[]>(std::size_t{lanes} * columns);
  is_used_ = true;
  allocations_.emplace(column, count);
  return column;
}

bool TensorMemory::release(std::uint32_t column, std::uint32_t count) {
  const auto found = allocations_.find(column);
  if (found == allocations_.end() || found->second != count) return false;
  allocations_.erase(found);
  return true;
}

bool TensorMemory::is_allocated(std::uint32_t column, std::uint32_t count) const {
  for (const auto& [begin, taken] : allocations_) {
    if (count == 0) break;
    if (column < begin) return false;
    if (column >= begin + taken) continue;
    const std::uint32_t held = std::min(count, begin + taken - column);
    column += held;
    count -= held;
  }
  return count == 0;
}

}  // namespace lynxpp::device::cpu
