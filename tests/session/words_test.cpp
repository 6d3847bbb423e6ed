// Counts of words of memory, of which one may wrap around.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SessionTest, ALongLaunchThatCountsWordsInNarrowCountersSaysSo) {
  std::ofstream(spec_) << "global unsigned counts[SHARED_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: SHARED: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
      ".shared .align 4 .b8 tile[256];\n.reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n"
      "mov.u32 %r3, tile;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nret;\n}\n";
  start({});
  // At this clock a word may be counted so often in 67 ms.
  device_.set_clock_khz(2'000'000);
  EXPECT_TRUE(launch());
  device_.milliseconds = 100;
  device_.ready = false;
  EXPECT_TRUE(launch()) << "the one that takes so long";
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  device_.ready = true;
  session_->collect();
  EXPECT_TRUE(launch()) << "takes as long, with counters that stop";
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 3u);
  const auto says_so = Contains(HasSubstr("may have wrapped around in so long a launch"));
  EXPECT_THAT(records_.launches[0].notes, Not(says_so));
  EXPECT_THAT(records_.launches[1].notes, says_so);
  EXPECT_THAT(records_.launches[2].notes, Not(says_so));
}

}  // namespace
}  // namespace lynxpp::interposer
