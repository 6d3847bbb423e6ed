#include "models/cumapz/transactions.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace lynxpp::models::cumapz {
namespace {

constexpr std::int64_t sector = 32;
constexpr std::int64_t smallest_segment = 32;

std::int64_t floor_to(std::int64_t value, std::int64_t unit) {
  const std::int64_t rest = value % unit;
  return value - (rest < 0 ? rest + unit : rest);
}

std::int64_t segment_of(std::uint32_t element_bytes) {
  if (element_bytes == 1) return 32;
  return element_bytes == 2 ? 64 : largest_transaction;
}

std::vector<Transaction> in_segments(std::span<const std::int64_t> addresses, std::uint32_t element_bytes) {
  std::vector<Transaction> result;
  std::vector<std::int64_t> left(addresses.begin(), addresses.end());
  while (!left.empty()) {
    std::int64_t bytes = segment_of(element_bytes);
    std::int64_t begin = floor_to(left.front(), bytes);
    const auto rest = std::stable_partition(
        left.begin(), left.end(), [&](std::int64_t address) { return floor_to(address, bytes) == begin; });
    const auto [low, high] = std::minmax_element(left.begin(), rest);
    const std::int64_t last = *high + element_bytes - 1;
    while (bytes > smallest_segment && floor_to(*low, bytes / 2) == floor_to(last, bytes / 2)) {
      bytes /= 2;
      begin = floor_to(*low, bytes);
    }
    result.push_back({begin, static_cast<std::uint32_t>(bytes)});
    left.erase(left.begin(), rest);
  }
  return result;
}

std::vector<Transaction> in_sectors(std::span<const std::int64_t> addresses, std::uint32_t element_bytes) {
  std::vector<std::int64_t> touched;
  for (const std::int64_t address : addresses) {
    const std::int64_t last = floor_to(address + element_bytes - 1, sector);
    for (std::int64_t at = floor_to(address, sector); at <= last; at += sector) touched.push_back(at);
  }
  std::ranges::sort(touched);
  const auto again = std::ranges::unique(touched);
  touched.erase(again.begin(), again.end());
  std::vector<Transaction> result;
  for (const std::int64_t address : touched) result.push_back({address, static_cast<std::uint32_t>(sector)});
  return result;
}

}  // namespace

std::vector<Transaction> transactions(const GlobalMemory& memory, std::span<const std::int64_t> addresses,
                                      std::uint32_t element_bytes) {
  return memory.coalescing == Coalescing::segments ? in_segments(addresses, element_bytes)
                                                   : in_sectors(addresses, element_bytes);
}

std::uint32_t serialised(const SharedMemory& memory, std::span<const std::int64_t> addresses,
                         std::uint32_t element_bytes) {
  // An analysis processes millions of groups: allocations would take most of its time.
  static thread_local std::vector<std::int64_t> words;
  static thread_local std::vector<std::uint32_t> of_bank;
  words.clear();
  std::int64_t before = -1;
  const std::uint32_t width = memory.bank_width;
  const bool shifts = std::has_single_bit(width);
  const auto word_of = [&](std::int64_t address) {
    return shifts && address >= 0 ? address >> std::countr_zero(width) : address / width;
  };
  for (const std::int64_t address : addresses) {
    const std::int64_t last = word_of(address + element_bytes - 1);
    for (std::int64_t word = word_of(address); word <= last; ++word) {
      if (word != std::exchange(before, word)) words.push_back(word);
    }
  }
  // Most groups are sorted or access one word.
  if (words.size() == 1) return 1;
  if (!std::ranges::is_sorted(words)) std::ranges::sort(words);
  const auto again = std::ranges::unique(words);
  words.erase(again.begin(), again.end());
  of_bank.assign(memory.banks, 0);
  const bool masks = std::has_single_bit(memory.banks);
  for (const std::int64_t word : words) {
    const auto number = static_cast<std::size_t>(word);
    ++of_bank[masks ? number & (memory.banks - 1) : number % memory.banks];
  }
  const auto least = static_cast<std::uint32_t>((words.size() + memory.banks - 1) / memory.banks);
  return 1 + std::ranges::max(of_bank) - std::max(least, std::uint32_t{1});
}

std::uint32_t channel_of(const GlobalMemory& memory, std::int64_t address) {
  const std::int64_t width = memory.channel_width;
  const std::int64_t within = address - floor_to(address, width * memory.channels);
  return static_cast<std::uint32_t>(within / width);
}

}  // namespace lynxpp::models::cumapz
