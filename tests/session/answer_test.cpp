// A session's replies to requests that arrive on the process's socket.
#include "interposer/control/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <variant>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AnswerTest : public SessionTest {
 protected:
  Answer given(const std::string& request) { return answer(*session_, request, {"some device", 27}); }
  nlohmann::json told(const std::string& request) { return nlohmann::json::parse(given(request).text); }
  std::string attach_request(const std::string& list, const std::string& kernels) {
    nlohmann::json wish = {{"specifications", list}};
    if (!kernels.empty()) wish["kernels"] = kernels;
    return nlohmann::json({{"attach", wish}}).dump();
  }
};

TEST_F(AnswerTest, StatusCountsSeenInstrumentedAndLostLaunches) {
  EXPECT_EQ(told(R"({"status":{}})")["device"], "some device");
  launch("k");
  device_.loses_results = true;
  launch("k");
  device_.loses_results = false;
  device_.ready = false;
  launch("k");
  const nlohmann::json status = told(R"({"status":{}})");
  EXPECT_EQ(status["device"], "fake");
  EXPECT_EQ(status["specifications"], nlohmann::json({"session_test_sevens"}));
  EXPECT_EQ(status["launched"], 27);
  EXPECT_EQ(status["seen"], 3);
  EXPECT_EQ(status["instrumented"], 3);
  EXPECT_EQ(status["lost"], 1);
  EXPECT_EQ(status["outstanding"], 1);
  EXPECT_EQ(status["seen_kernels"][0]["kernel"], "k");
  EXPECT_EQ(given(R"({"status":{}})").attached, std::nullopt);
}

TEST_F(AnswerTest, KernelFilterHoldsUntilTheNextAttach) {
  Configuration configuration;
  configuration.kernels = *NamePattern::parse("^none$");
  start(std::move(configuration));
  EXPECT_FALSE(launch());
  EXPECT_EQ(told(attach_request(spec_, "^k"))["kernels"], "^k");
  EXPECT_TRUE(launch());
  EXPECT_EQ(told(attach_request(spec_, "other"))["kernels"], "other");
  EXPECT_FALSE(launch());
  EXPECT_EQ(told(attach_request(spec_, ""))["kernels"], "^none$");
  EXPECT_FALSE(launch());
  EXPECT_EQ(given(attach_request(spec_, "k")).attached, std::optional(true));
  EXPECT_TRUE(launch());
  EXPECT_EQ(given(R"({"detach":{}})").attached, std::optional(false));
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_EQ(records_.launches.size(), 2u);
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].launches, 5u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 2u);
}

TEST_F(AnswerTest, RejectedRequestsChangeNothing) {
  for (const std::string& request :
       {std::string(), std::string("nonsense"), std::string("{}"), std::string("7"),
        std::string(R"({"attach":{},"detach":{}})"), std::string(R"({"stop":{}})"), std::string("\xff\xfe"),
        std::string(R"({"attach":[]})"),
        R"({"attach":)" + std::string(100000, '[') + std::string(100000, ']') + "}",
        std::string(R"({"attach":{"specifications":1}})"), attach_request(" ,", ""),
        attach_request(spec_, "("), attach_request("no_such_thing", ""),
        attach_request(written("broken", "ON_KERNEL_EXIT: {"), "")}) {
    const Answer refused = given(request);
    EXPECT_EQ(refused.attached, std::nullopt) << request;
    EXPECT_TRUE(nlohmann::json::parse(refused.text).contains("error")) << refused.text;
    EXPECT_EQ(refused.text.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(launch());
}

/// Host memory of the arrays of running launches.
class LiveMemory : public device::HostMemory {
 public:
  explicit LiveMemory(std::vector<std::byte>& bytes) : HostMemory(bytes) {}
};

class LiveDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::HostMemory>> host_memory(std::size_t bytes) override {
    if (is_full) return failure("no memory is left");
    live.assign(bytes, std::byte{0});
    return std::unique_ptr<device::HostMemory>(std::make_unique<LiveMemory>(live));
  }
  Status launch(device::Variant& variant, const device::Launch& launch,
                std::span<const device::ParameterSlot> slots, std::span<const std::uint64_t> probe,
                device::Buffer& buffer) override {
    words.assign(probe.begin(), probe.end());
    return FakeDevice::launch(variant, launch, slots, probe, buffer);
  }
  /// Writes to the array, the last of the addresses in the live memory, as the kernel does.
  void write(std::uint64_t value) {
    const auto begin = reinterpret_cast<std::uint64_t>(live.data());
    std::uint64_t array = 0;
    for (const std::uint64_t word : words) {
      if (word >= begin && word < begin + live.size()) array = std::max(array, word - begin);
    }
    std::memcpy(live.data() + array, &value, sizeof value);
  }

  bool is_full = false;
  std::vector<std::byte> live;
  std::vector<std::uint64_t> words;
};

class WhyTest : public AnswerTest {
 protected:
  void SetUp() override {
    AnswerTest::SetUp();
    std::string problem;
    const std::string live =
        written("live",
                "global unsigned long seen;\nON_KERNEL_EXIT: { seen = 1; }\n"
                "ON_REPORT: { emit(\"seen\", seen); if (isRunning()) print(\"%lu seen\", seen); }\n");
    ASSERT_TRUE(session_->attach(spec_ + "," + live, problem)) << problem;
  }
  bool make_launch() {
    const KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    return session_->launch(live_, request_of(3, 33), source);
  }

  LiveDevice live_;
};

TEST_F(WhyTest, RunningLaunchesAreDescribedByTheirReports) {
  EXPECT_EQ(told(R"({"why":{}})")["running"], nlohmann::json::array());
  live_.ready = false;
  ASSERT_TRUE(make_launch());
  live_.write(5);
  const nlohmann::json answer = told(R"({"why":{}})");
  EXPECT_EQ(answer["specifications"], nlohmann::json({"session_test_sevens", "live"}));
  ASSERT_EQ(answer["running"].size(), 1u);
  const nlohmann::json& launch = answer["running"][0];
  EXPECT_EQ(launch["kernel"], "k");
  EXPECT_EQ(launch["launch"], 0);
  EXPECT_EQ(launch["grid"], nlohmann::json({3, 1, 1}));
  EXPECT_EQ(launch["block"], nlohmann::json({33, 1, 1}));
  EXPECT_GE(launch["seconds"], 0.0);
  EXPECT_EQ(launch["findings"], nlohmann::json({"5 seen"}));
  live_.write(6);
  EXPECT_EQ(told(R"({"why":{}})")["running"][0]["findings"], nlohmann::json({"6 seen"}));
  EXPECT_TRUE(records_.launches.empty());
  live_.ready = true;
  EXPECT_EQ(told(R"({"why":{}})")["running"], nlohmann::json::array());
  session_->collect();
  ASSERT_EQ(records_.launches.size(), 2u);
  EXPECT_EQ(records_.launches[1].spec, "live");
  EXPECT_THAT(records_.launches[1].notes, testing::IsEmpty());
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(records_.launches[1].results.at(0).values),
            std::vector<std::uint64_t>{6});
}

TEST_F(WhyTest, WithoutHostMemoryTheOriginalRuns) {
  live_.is_full = true;
  EXPECT_FALSE(make_launch());
  session_->finish();
  EXPECT_THAT(records_.coverage.at(0).reason, HasSubstr("no memory is left"));
}

}  // namespace
}  // namespace lynxpp::interposer
