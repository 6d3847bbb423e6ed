#include "device/cpu/simt/check/written_memory.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t word_bits = 64;
std::atomic<WrittenMemory*> kept{nullptr};

/// Visits the words that hold bits [begin, end) until visit(word, mask) returns false.
template <typename Visit>
bool visit_words(std::uint64_t begin, std::uint64_t end, const Visit& visit) {
  while (begin < end) {
    const std::uint64_t word = begin / word_bits;
    const std::uint64_t stop = std::min(end, (word + 1) * word_bits);
    const std::uint64_t count = stop - begin;
    const std::uint64_t ones = count == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    if (!visit(word, ones << begin % word_bits)) return false;
    begin = stop;
  }
  return true;
}

}  // namespace

void WrittenMemory::enter(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_[address] = {bytes, std::make_unique<std::uint64_t[]>((bytes + word_bits - 1) / word_bits)};
}

void WrittenMemory::leave(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(address);
}

WrittenMemory::Ranges::const_iterator WrittenMemory::find(std::uint64_t address) const {
  auto found = ranges_.upper_bound(address);
  if (found == ranges_.begin()) return ranges_.end();
  --found;
  return address - found->first < found->second.bytes ? found : ranges_.end();
}

void WrittenMemory::mark(std::uint64_t address, std::uint64_t bytes, bool written) {
  const auto found = find(address);
  if (found == ranges_.end()) return;
  const std::uint64_t offset = address - found->first;
  const Range& range = found->second;
  visit_words(offset, std::min(offset + bytes, range.bytes), [&](std::uint64_t word, std::uint64_t mask) {
    range.written[word] = written ? range.written[word] | mask : range.written[word] & ~mask;
    return true;
  });
}

bool WrittenMemory::all_written(std::uint64_t address, std::uint64_t bytes) const {
  const auto found = find(address);
  if (found == ranges_.end()) return true;
  const std::uint64_t offset = address - found->first;
  const Range& range = found->second;
  return visit_words(
      offset, std::min(offset + bytes, range.bytes),
      [&](std::uint64_t word, std::uint64_t mask) { return (range.written[word] & mask) == mask; });
}

void WrittenMemory::write(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  mark(address, bytes, true);
}

void WrittenMemory::forget(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  mark(address, bytes, false);
}

void WrittenMemory::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (find(to) == ranges_.end()) return;
  if (all_written(from, bytes)) return mark(to, bytes, true);
  std::vector<bool> written(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) written[i] = all_written(from + i, 1);
  for (std::uint64_t i = 0; i < bytes; ++i) mark(to + i, 1, written[i]);
}

bool WrittenMemory::is_written(std::uint64_t address, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return all_written(address, bytes);
}

bool WrittenMemory::is_unwritten(std::uint64_t address, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = find(address);
  if (found == ranges_.end()) return false;
  const std::uint64_t offset = address - found->first;
  const Range& range = found->second;
  return visit_words(
      offset, std::min(offset + bytes, range.bytes),
      [&](std::uint64_t word, std::uint64_t mask) { return (range.written[word] & mask) == 0; });
}

WrittenMemory* written_memory() { return kept.load(std::memory_order_acquire); }

void keep_written_memory() {
  static auto* const memory = new WrittenMemory;
  kept.store(memory, std::memory_order_release);
}

}  // namespace lynxpp::device::cpu
