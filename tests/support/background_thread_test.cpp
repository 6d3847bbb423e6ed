#include "support/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>

namespace lynxpp {
namespace {

constexpr std::chrono::milliseconds moment(5);
constexpr std::chrono::minutes forever(5);

TEST(BackgroundThread, ReceivesNoSignals) {
  std::promise<bool> blocks;
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_TRUE(start_background_thread([&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocks.set_value(sigismember(&mask, SIGALRM) != 0 && sigismember(&mask, SIGSEGV) != 0);
  }));
  EXPECT_TRUE(blocks.get_future().get());
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGALRM), sigismember(&before, SIGALRM));
}

TEST(BackgroundThread, ReturnsTheResultOfWorkThatEnds) {
  EXPECT_EQ(ends_within(forever, [] { return true; }), true);
  EXPECT_EQ(ends_within(forever, [] { return false; }), false);
}

TEST(BackgroundThread, IsLeftAloneIfItDoesNotEnd) {
  const auto may_end = std::make_shared<std::promise<void>>();
  const auto wait = [may_end] {
    may_end->get_future().wait();
    return true;
  };
  EXPECT_EQ(ends_within(moment, wait), false);
  may_end->set_value();
}

TEST(BackgroundThread, IsWaitedForWhileItMakesProgress) {
  const auto steps = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto may_end = std::make_shared<std::promise<void>>();
  const auto wait = [may_end] {
    may_end->get_future().wait();
    return true;
  };
  // Each query is a step, until the last lets the work end.
  const auto progress = [&] {
    if (++*steps == 4) may_end->set_value();
    return steps->load();
  };
  EXPECT_EQ(ends_within(moment, wait, progress), true);
}

}  // namespace
}  // namespace lynxpp
