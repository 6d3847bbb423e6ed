#include "interposer/results/live_arrays.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lynxpp::interposer {

Result<std::unique_ptr<LiveArrays>> LiveArrays::make(
    const std::vector<engine::SpecificationPtr>& specifications, const ProbeLayout& layout,
    device::Device& device) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < specifications.size(); ++i) {
    if (specifications[i]->asks_if_running()) numbers.push_back(i);
  }
  if (numbers.empty()) return std::unique_ptr<LiveArrays>();
  std::unique_ptr<LiveArrays> made(new LiveArrays(layout, std::move(numbers)));
  for (const std::uint32_t number : made->specifications_) {
    const auto [begin, bytes] = layout.part_of(number);
    Result<std::unique_ptr<device::HostMemory>> memory = device.host_memory(bytes);
    if (!memory) return memory.error();
    for (const ProbeLayout::Initial& each : layout.initial) {
      if (each.offset >= begin && each.offset < begin + bytes)
        std::memcpy((*memory)->bytes().data() + (each.offset - begin), each.bytes.data(), each.bytes.size());
    }
    made->memory_.push_back(std::move(*memory));
  }
  return made;
}

std::uint64_t LiveArrays::word(const engine::ProbeWord& asked, std::uint64_t word) const {
  const auto found = std::ranges::find(specifications_, asked.specification);
  const bool is_address =
      asked.word.kind == cod::Word::Kind::array_address || asked.word.kind == cod::Word::Kind::dropped;
  if (asked.kind != engine::ProbeWord::Kind::specification || !is_address || found == specifications_.end())
    return word;
  const auto position = static_cast<std::size_t>(found - specifications_.begin());
  return probe_word(asked, layout_, memory_[position]->address() - layout_.part_of(*found).first);
}

void LiveArrays::copy_to(std::span<std::byte> buffer) const {
  for (std::size_t i = 0; i < specifications_.size(); ++i) {
    const std::span<std::byte> bytes = memory_[i]->bytes();
    std::memcpy(buffer.data() + layout_.part_of(specifications_[i]).first, bytes.data(), bytes.size());
  }
}

}  // namespace lynxpp::interposer
