// Launch arguments of the conformance tests on the cpu device: memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cod/word_map.h"
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

}  // namespace lynxpp::cod
