// Kernels that cannot be instrumented: their originals run, and known facts about them are recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using testing::HasSubstr;

class Unmeasured : public SessionTest {
 protected:
  void start_with(Timing timing) {
    Configuration configuration;
    configuration.timing = timing;
    start(configuration);
  }
  bool launch_without_ptx(const std::string& kernel = "k", std::uint32_t blocks = 3,
                          std::uint32_t threads = 33) {
    const KernelSource source{kernel, 1,
                              []() -> Result<KernelPtx> { return failure("nobody has it", "look for it"); }};
    const bool is_made = session_->launch(device_, request_of(blocks, threads), source);
    session_->collect();
    return is_made;
  }
  const report::CoverageRecord& coverage() {
    session_->finish();
    EXPECT_EQ(records_.coverage.size(), 1u);
    return records_.coverage.at(0);
  }
};

TEST_F(Unmeasured, AreRecordedWithShapeAndRegisters) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(launch_without_ptx());
  const report::CoverageRecord& record = coverage();
  EXPECT_FALSE(record.instrumented);
  EXPECT_TRUE(record.lacks_ptx);
  EXPECT_EQ(record.reason, "nobody has it");
  EXPECT_EQ(record.launches, 5u);
  ASSERT_TRUE(record.shape);
  EXPECT_THAT(record.shape->grid, testing::ElementsAre(3, 1, 1));
  EXPECT_THAT(record.shape->block, testing::ElementsAre(33, 1, 1));
  EXPECT_FALSE(record.shape->differs);
  EXPECT_EQ(record.shape->registers, 20u);
  EXPECT_EQ(device_.originals, 0) << "nothing is timed unless times are asked for";
  EXPECT_TRUE(records_.timings.empty());
}

TEST_F(Unmeasured, ReportDifferentShapes) {
  launch_without_ptx();
  launch_without_ptx("k", 4);
  EXPECT_TRUE(coverage().shape->differs);
}

TEST_F(Unmeasured, AreTimedOccasionally) {
  start_with(Timing::stages);
  int timed = 0;
  for (int i = 0; i < 1000; ++i) timed += launch_without_ptx() ? 1 : 0;
  // The first four, and 4, 8, 16, … 512.
  EXPECT_EQ(timed, 4 + 8);
  EXPECT_EQ(device_.originals, timed);
  const report::CoverageRecord& record = coverage();
  EXPECT_EQ(record.launches, 1000u);
  EXPECT_EQ(record.instrumented_launches, 0u);
  EXPECT_EQ(record.reason, "nobody has it");
  EXPECT_TRUE(record.notes.empty()) << record.notes.front();
  ASSERT_EQ(records_.timings.size(), 1u);
  EXPECT_EQ(records_.timings[0].launches, static_cast<std::uint64_t>(timed));
  EXPECT_DOUBLE_EQ(records_.timings[0].execute, timed * device_.milliseconds);
  EXPECT_EQ(records_.timings[0].device, "fake");
}

TEST_F(Unmeasured, RunNormallyIfTheDeviceCannotTimeThem) {
  start_with(Timing::stages);
  device_.refuses_launch = true;
  EXPECT_FALSE(launch_without_ptx());
  EXPECT_EQ(coverage().reason, "nobody has it");
}

TEST_F(Unmeasured, OutstandingTimesAreNotMissingResults) {
  start_with(Timing::stages);
  device_.ready = false;
  EXPECT_TRUE(launch_without_ptx());
  session_->finish_now();
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].reason, "nobody has it");
  EXPECT_TRUE(records_.coverage[0].notes.empty());
}

TEST_F(Unmeasured, WithAnotherProblemHavePtx) {
  device_.refuses_load = true;
  EXPECT_FALSE(launch());
  const report::CoverageRecord& record = coverage();
  EXPECT_FALSE(record.lacks_ptx);
  EXPECT_TRUE(record.shape);
}

TEST_F(Unmeasured, WaitForTheirThirdLaunchIfOthersTookTheCompileBudget) {
  Configuration configuration;
  configuration.timing = Timing::stages;
  configuration.compile_budget = std::chrono::seconds(0);
  start(configuration);
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  EXPECT_EQ(decoded_, 0);
  EXPECT_EQ(device_.originals, 2) << "their times are known";
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  EXPECT_EQ(decoded_, 1);
  EXPECT_EQ(device_.launched, 2);
  EXPECT_TRUE(launch("k", 2, 3, 32)) << "another shape of a kernel that is launched often";
  EXPECT_EQ(device_.launched, 3);
  const report::CoverageRecord& record = coverage();
  EXPECT_EQ(record.launches, 5u);
  EXPECT_EQ(record.instrumented_launches, 3u);
  EXPECT_EQ(record.reason, "");
}

/// Launches a kernel of this name in five modules, and returns how many were instrumented.
class Candidates : public Unmeasured {
 protected:
  int instrumented(std::chrono::duration<double> budget) {
    Configuration configuration;
    configuration.compile_budget = budget;
    start(configuration);
    int made = 0;
    for (std::uint64_t image = 1; image <= 5; ++image) {
      const KernelSource source{"k", image,
                                [&]() -> Result<KernelPtx> {
                                  std::this_thread::sleep_for(std::chrono::milliseconds(30));
                                  return KernelPtx{text_};
                                },
                                [image] { return std::to_string(image); }};
      made += session_->launch(device_, request_of(3, 33), source) ? 1 : 0;
      session_->collect();
    }
    return made;
  }
};

TEST_F(Candidates, TakeAFifthOfTheCompileBudgetIfTheyShareAName) {
  EXPECT_LE(instrumented(std::chrono::milliseconds(400)), 3) << "three take 90 ms or more";
}

TEST_F(Candidates, AreInstrumentedWithinIt) { EXPECT_EQ(instrumented(std::chrono::hours(1)), 5); }

TEST_F(Unmeasured, SayIfTheyWereLaunchedTooSeldom) {
  Configuration configuration;
  configuration.compile_budget = std::chrono::seconds(0);
  start(configuration);
  EXPECT_FALSE(launch());
  const report::CoverageRecord& record = coverage();
  EXPECT_FALSE(record.instrumented);
  EXPECT_FALSE(record.lacks_ptx);
  EXPECT_TRUE(record.shape);
  EXPECT_THAT(record.reason, HasSubstr("launched at most twice"));
}

TEST_F(Unmeasured, AreNoneWithinTheCompileBudget) {
  Configuration configuration;
  configuration.compile_budget = std::chrono::hours(1);
  start(configuration);
  EXPECT_TRUE(launch());
  EXPECT_TRUE(coverage().instrumented);
}

TEST_F(Unmeasured, WithOneProblemAreOneWarning) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 21; ++i) launch_without_ptx("kernel" + std::to_string(i));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("kernel0 runs uninstrumented: nobody has it; look for it"));
  EXPECT_EQ(said.find("nobody has it"), said.rfind("nobody has it")) << said;
}

}  // namespace
}  // namespace lynxpp::interposer
