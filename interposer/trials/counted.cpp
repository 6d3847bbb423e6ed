#include "interposer/trials/counted.h"

#include <cstring>
#include <map>
#include <string>

namespace lynxpp::interposer {

std::vector<std::uint64_t> results_of(ptx::Operation operation, std::span<const std::byte> buffer,
                                      bool has_exact_maps) {
  if (operation == ptx::Operation::bytes) {
    const ptx::BytesMoved moved = ptx::bytes_moved(buffer);
    std::vector<std::uint64_t> words(ptx::result_words);
    words[2 * static_cast<std::size_t>(operation)] = moved.read;
    words[2 * static_cast<std::size_t>(operation) + 1] = moved.written;
    if (has_exact_maps) words.push_back(moved.both);
    return words;
  }
  std::vector<std::uint64_t> words(buffer.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), buffer.data(), words.size() * sizeof(std::uint64_t));
  return words;
}

std::vector<report::TrialRecord::Count> counts_of(const std::vector<std::uint64_t>& results) {
  std::vector<report::TrialRecord::Count> counts;
  for (const ptx::OperationDescription& each : ptx::operation_table()) {
    const std::size_t word = 2 * static_cast<std::size_t>(each.operation);
    if (word + 1 >= results.size()) break;
    const bool is_there = each.operation == ptx::Operation::bytes && results[word] != 0;
    if (is_there || results[word + 1] != 0)
      counts.push_back({std::string(each.name), results[word], results[word + 1]});
  }
  if (results.size() > ptx::result_words)
    counts.push_back({report::TrialRecord::intermediate, results[ptx::result_words], 0});
  return counts;
}

ptx::MapSize map_size_for(device::Device& device, const device::Launch& launch,
                          std::span<const device::ParameterSlot> slots) {
  const std::shared_ptr<const device::LiveAllocations> live = device.allocations();
  std::map<std::uint64_t, std::uint64_t> found;
  const Result<std::vector<std::byte>> parameters = device::parameter_buffer(launch, slots);
  std::uint64_t pointer = 0;
  for (std::size_t at = 0; parameters && at + sizeof pointer <= parameters->size(); at += sizeof pointer) {
    std::memcpy(&pointer, parameters->data() + at, sizeof pointer);
    if (const device::LiveAllocation* const each = live->find(pointer)) found[each->address] = each->bytes;
  }
  std::vector<ptx::MemoryRange> memory;
  for (const auto& [begin, bytes] : found) memory.push_back({begin, bytes});
  for (std::size_t i = 0; found.empty() && i < live->sorted.size(); ++i)
    memory.push_back({live->sorted[i].address, live->sorted[i].bytes});
  return ptx::map_size_for(memory);
}

}  // namespace lynxpp::interposer
