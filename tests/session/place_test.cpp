// The origin of a launch: modules, devices and numbers in its record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "interposer/results/results_queue.h"
#include "interposer/this_process.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;

class PlaceTest : public SessionTest {
 protected:
  bool launch_on(FakeDevice& device, std::uint64_t image, const std::string& content, std::uint64_t number) {
    device::Launch request;
    request.grid[0] = 3;
    request.block[0] = 33;
    request.correlation = number;
    request.stream = reinterpret_cast<void*>(number < 2 ? 0 : 0x1000);
    KernelSource source{"k", image, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; },
                        [&, content] {
                          ++contents_;
                          return content;
                        }};
    const bool is_made = session_->launch(device, request, source);
    session_->collect();
    return is_made;
  }
  std::vector<std::string> modules() const {
    std::vector<std::string> names;
    for (const report::LaunchRecord& record : records_.launches) names.push_back(record.place->module);
    return names;
  }
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const report::LaunchRecord& record : records_.launches) numbers.push_back(record.launch);
    return numbers;
  }

  int contents_ = 0;
};

TEST_F(PlaceTest, EqualNamesInTwoModulesAreTwoKernels) {
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 0));
  EXPECT_TRUE(launch_on(device_, 2, "bbbbbbbbbbbb", 1));
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 2));
  session_->finish();
  EXPECT_EQ(contents_, 2) << "once for each image";
  EXPECT_THAT(modules(), ElementsAre("aaaaaaaaaaaa", "bbbbbbbbbbbb", "aaaaaaaaaaaa"));
  EXPECT_THAT(numbers(), ElementsAre(0, 0, 1));
  ASSERT_EQ(records_.coverage.size(), 2u);
  EXPECT_EQ(records_.coverage[0].module, "aaaaaaaaaaaa");
  EXPECT_EQ(records_.coverage[0].launches, 2u);
  EXPECT_EQ(records_.coverage[1].launches, 1u);
}

TEST_F(PlaceTest, ReloadedModuleIsTheSame) {
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 0));
  session_->forget_image(1);
  EXPECT_TRUE(launch_on(device_, 9, "aaaaaaaaaaaa", 1));
  session_->finish();
  EXPECT_THAT(numbers(), ElementsAre(0, 1));
  EXPECT_EQ(records_.coverage.size(), 1u);
}

TEST_F(PlaceTest, EarlierGraphLaunchesBelongToTheSameKernel) {
  session_->launched_natively("k", 3, "by graphs");
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 0));
  session_->launched_natively("k", 2, "by graphs");
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 1));
  session_->finish();
  EXPECT_THAT(numbers(), ElementsAre(3, 6)) << "the graphs' launches have numbers, too";
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].launches, 7u);
  EXPECT_EQ(records_.coverage[0].module, "aaaaaaaaaaaa");
}

TEST_F(PlaceTest, HandleOfAnUnloadedImageMayBeReused) {
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 0));
  session_->forget_image(1);
  EXPECT_TRUE(launch_on(device_, 1, "bbbbbbbbbbbb", 1));
  session_->finish();
  EXPECT_THAT(modules(), ElementsAre("aaaaaaaaaaaa", "bbbbbbbbbbbb"));
}

TEST_F(PlaceTest, EachDeviceHasItsOwnNumbersAndRecord) {
  FakeDevice second;
  second.set_ordinal(1);
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 0));
  EXPECT_TRUE(launch_on(second, 1, "aaaaaaaaaaaa", 1));
  EXPECT_TRUE(launch_on(second, 1, "aaaaaaaaaaaa", 2));
  session_->finish();
  EXPECT_THAT(numbers(), ElementsAre(0, 0, 1));
  EXPECT_EQ(records_.launches[2].place->ordinal, 1u);
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].launches, 3u);
  ASSERT_EQ(records_.devices.size(), 2u);
  EXPECT_EQ(records_.devices[0].ordinal, 0u);
  EXPECT_EQ(records_.devices[1].ordinal, 1u);
}

TEST_F(PlaceTest, LaunchesAreNumberedAndTimed) {
  const std::uint64_t begin = host_clock_us();
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 1));
  EXPECT_TRUE(launch_on(device_, 1, "aaaaaaaaaaaa", 5));
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 2u);
  const report::LaunchPlace& first = *records_.launches[0].place;
  const report::LaunchPlace& second = *records_.launches[1].place;
  EXPECT_EQ(first.correlation, 1u);
  EXPECT_EQ(second.correlation, 5u);
  EXPECT_EQ(first.stream, 0u);
  EXPECT_EQ(second.stream, 1u);
  EXPECT_LE(begin, first.begin_us);
  EXPECT_LE(first.begin_us, first.end_us);
  EXPECT_LE(first.begin_us, second.begin_us);
  EXPECT_EQ(first.device_ms, 2.5);
}

TEST(ResultsQueue, KeepsRequestedValuesAndReturnsThemOnce) {
  ResultsQueue queue;
  const std::unique_ptr<report::Sink> sink = queue.sink();
  report::LaunchRecord record;
  record.kernel = "_Z1kPf";
  record.spec = "s";
  record.results = {{"n", {}, std::vector<std::uint64_t>{7}, "sectors"},
                    {"array", {2}, std::vector<std::uint64_t>{1, 2}, ""}};
  record.results.push_back({"r", {}, std::vector<std::uint64_t>{1}, ""});
  record.results.back().denominators = std::vector<std::uint64_t>{4};
  sink->launch(record);
  std::string text;
  const auto take = [](void* context, const lynxpp_result* result) {
    std::string& into = *static_cast<std::string*>(context);
    into += std::string(result->demangled) + ' ' + result->specification;
    for (std::size_t i = 0; i < result->count; ++i)
      into += std::string(" ") + result->values[i].name + ' ' + std::to_string(result->values[i].value) +
              result->values[i].unit;
    into +=
        lynxpp_value_of(result, "nothing", -1) == -1 && lynxpp_value_of(result, "r", 0) == 0.25 ? ";" : "!";
  };
  EXPECT_EQ(queue.take(take, &text), 0u) << "no reader had requested them";
  queue.keep();
  sink->launch(record);
  EXPECT_EQ(queue.take(take, &text), 1u);
  EXPECT_EQ(queue.take(take, &text), 0u);
  EXPECT_EQ(text, "k(float*) s n 7.000000sectors r 0.250000;");
  for (std::size_t i = 0; i < ResultsQueue::most + 3; ++i) sink->launch(record);
  EXPECT_EQ(queue.missed(), 3u);
  EXPECT_EQ(queue.take(nullptr, nullptr), ResultsQueue::most);
}

TEST(ThisProcess, IsIdentifiedOnce) {
  const report::ProcessRecord first = describe_process();
  EXPECT_EQ(first.process.size(), 12u);
  EXPECT_EQ(first.process.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(first.pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_TRUE(first.program.ends_with("session_test")) << first.program;
  ASSERT_FALSE(first.command.empty());
  EXPECT_TRUE(first.command[0].ends_with("session_test")) << first.command[0];
}

}  // namespace
}  // namespace lynxpp::interposer
