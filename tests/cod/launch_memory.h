// Launch arguments of the conformance tests on the cpu device: memory, and counts for runs of words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cod/word_map.h"
#include "engine/word_runs.h"
#include "support/text.h"

namespace lynxpp::cod {

/// Number of instructions in the text of a module.
inline std::size_t count_instructions(const std::string& ptx) {
  std::size_t count = 0;
  for (const std::string& line : split(ptx, '\n')) {
    const std::string_view text = trim(line);
    if (!text.starts_with(".") && !text.starts_with("//"))
      count += static_cast<std::size_t>(std::count(text.begin(), text.end(), ';'));
  }
  return count;
}

/// The memory of one launch, at the same offsets in every run: each array begins on a page of WordMap, so
/// that neither sectors nor elements of DEVICE_WORDS arrays vary.
class Memory {
 public:
  void reserve(std::size_t words) {
    constexpr std::size_t page = (std::size_t{1} << WordMap::page_bits) / sizeof(std::uint32_t);
    const std::size_t pitch = (words + page - 1) / page * page;
    storage_.assign(2 * pitch + page, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) / sizeof(std::uint32_t);
    const std::size_t first = (address + page - 1) / page * page - address;
    input_ = std::span(storage_).subspan(first, words);
    output_ = std::span(storage_).subspan(first + pitch, words);
  }
  std::span<std::uint32_t> input() const { return input_; }
  std::span<std::uint32_t> output() const { return output_; }

 private:
  std::vector<std::uint32_t> storage_;
  std::span<std::uint32_t> input_, output_;
};

/// Recorded runs of words (engine/word_runs.h), for each array that has any.
class LaunchRuns {
 public:
  void reserve(const engine::WordCounting& counting, std::uint64_t most, std::uint64_t threads) {
    counting_ = &counting;
    const std::span<const engine::WordCounting::RunArray> arrays = arrays_ = counting.runs.arrays;
    most_ = most;
    loop_records_.assign(threads * counting.runs.loop_record_bytes / sizeof(std::uint64_t), 0);
    records_.assign(arrays.size(),
                    std::vector<std::uint64_t>(engine::bytes_of_runs(most) / sizeof(std::uint64_t)));
  }
  std::uint64_t most() const { return most_; }
  std::uint64_t address(std::uint32_t specification, std::uint32_t array) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (arrays_[i].specification == specification && arrays_[i].array == array)
        return reinterpret_cast<std::uint64_t>(records_[i].data());
    }
    return 0;
  }
  std::uint64_t address_of_loop_records() const {
    return reinterpret_cast<std::uint64_t>(loop_records_.data());
  }
  /// Adds the runs to `counts`, indexed by specification and array. Returns the number of words without an
  /// element.
  template <typename Counts, typename Bytes>
  std::uint64_t add_to(const Counts& counts, const WordMap& map, const Bytes& bytes_of_element) const {
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const engine::WordCounting::RunArray& runs = arrays_[i];
      outside += engine::add_word_runs(std::as_bytes(std::span(records_[i])), most_, map,
                                       counts[runs.specification][runs.array],
                                       bytes_of_element(runs.specification, runs.array));
    }
    for (std::uint32_t i = 0; i < counts.size() && !loop_records_.empty(); ++i) {
      for (std::uint32_t k = 0; k < counts[i].size(); ++k)
        outside += engine::add_loop_records(std::as_bytes(std::span(loop_records_)), *counting_, {i, k}, map,
                                            counts[i][k], bytes_of_element(i, k));
    }
    return outside;
  }

 private:
  const engine::WordCounting* counting_ = nullptr;
  std::vector<std::uint64_t> loop_records_;
  std::span<const engine::WordCounting::RunArray> arrays_;
  std::uint64_t most_ = 0;
  std::vector<std::vector<std::uint64_t>> records_;
};

}  // namespace lynxpp::cod
