// Replaces counters that stay in device memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "device/counter_memory.h"

namespace lynxpp::interposer {

/// Counters in host memory; counts the bytes that are copied.
class HostCounters final : public device::CounterMemory {
 public:
  explicit HostCounters(std::vector<std::uint32_t> counters)
      : CounterMemory(0, counters.size() * 4), counters_(std::move(counters)) {}
  void launched() override {}
  Result<std::vector<CounterPage>> pages() override {
    std::vector<CounterPage> pages;
    for (std::size_t at = 0; at < counters_.size(); at += CounterPage::counters)
      pages.push_back(summary_of(std::span<const std::uint32_t, CounterPage::counters>(
          counters_.data() + at, CounterPage::counters)));
    return pages;
  }
  Status read(std::uint64_t offset, std::span<std::byte> to) override {
    if (fails) return failure("the context is gone");
    copied += to.size();
    std::memcpy(to.data(), reinterpret_cast<const std::byte*>(counters_.data()) + offset, to.size());
    return success();
  }

  std::vector<std::uint32_t>& counters() { return counters_; }

  std::size_t copied = 0;
  bool fails = false;

 private:
  std::vector<std::uint32_t> counters_;
};

}  // namespace lynxpp::interposer
