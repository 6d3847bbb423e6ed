#include "support/recycled.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace lynxpp {
namespace {

struct Base {
  virtual ~Base() = default;
};

struct Recorded final : Base, Recycled<Recorded> {
  explicit Recorded(std::uint64_t of) : value(of), again(of) {}
  ~Recorded() override { ++destroyed; }

  std::uint64_t value;
  std::uint64_t again;
  static std::atomic<int> destroyed;
};
std::atomic<int> Recorded::destroyed = 0;

TEST(Recycled, NextObjectReusesMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "memory is never reused there";
#endif
  std::unique_ptr<Base> first = std::make_unique<Recorded>(1);
  const void* const address = dynamic_cast<void*>(first.get());
  const auto second = std::make_unique<Recorded>(2);
  EXPECT_NE(static_cast<const void*>(second.get()), address);
  first.reset();
  const auto third = std::make_unique<Recorded>(3);
  EXPECT_EQ(static_cast<const void*>(third.get()), address);
  EXPECT_EQ(third->value, 3u);
  EXPECT_EQ(second->value, 2u);
}

/// One thread creates objects, another destroys them: memory in use is never reused.
TEST(Recycled, ThreadsNeverShareMemory) {
  constexpr int threads = 4;
  constexpr std::uint64_t rounds = 2000;
  const int before = Recorded::destroyed;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> started;
  started.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) {
    started.emplace_back([&wrong, thread] {
      std::vector<std::unique_ptr<Recorded>> made;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        made.push_back(std::make_unique<Recorded>(i * threads + static_cast<std::uint64_t>(thread)));
        if (made.size() < 8) continue;
        std::thread([&] {
          for (const auto& each : made) wrong += each->value != each->again ? 1 : 0;
          made.clear();
        }).join();
      }
    });
  }
  for (std::thread& each : started) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Recorded::destroyed - before, threads * static_cast<int>(rounds));
}

}  // namespace
}  // namespace lynxpp
