// A session's replies to requests that arrive on the process's socket.
#include "interposer/control/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace lynxpp::interposer
