#include "support/setting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace lynxpp {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs parsed(const char* text) {
  Pairs pairs;
  for (const DebugSetting& each : parse_debug_settings(text)) pairs.emplace_back(each.key, each.value);
  return pairs;
}

TEST(DebugSettings, AreKeysWithValues) {
  EXPECT_EQ(parsed(""), Pairs());
  EXPECT_EQ(parsed("timing=1"), Pairs({{"timing", "1"}}));
  EXPECT_EQ(parsed("cpu_tier=forms,outline=all"), Pairs({{"cpu_tier", "forms"}, {"outline", "all"}}));
  EXPECT_EQ(parsed("cpu_check=memory,race,timing=1,"),
            Pairs({{"cpu_check", "memory,race"}, {"timing", "1"}}));
  EXPECT_EQ(parsed("trials=x=y"), Pairs({{"trials", "x=y"}}));
  EXPECT_EQ(parsed("timing"), Pairs({{"timing", ""}}));
}

/// LYNXPP_DEBUG is read once in a process: one test uses it.
TEST(Setting, IsAVariableOrAKeyOfLynxppDebug) {
  ::setenv("LYNXPP_DEBUG", "cpu_tier=forms,outline=all,cpu_tier=regions,nonsense=1", 1);
  EXPECT_STREQ(setting("LYNXPP_CPU_TIER"), "regions");
  EXPECT_STREQ(setting("LYNXPP_OUTLINE"), "all");
  EXPECT_EQ(setting("LYNXPP_TIMING"), nullptr);
  ::setenv("LYNXPP_OUTLINE", "none", 1);
  EXPECT_STREQ(setting("LYNXPP_OUTLINE"), "none");
  ::unsetenv("LYNXPP_OUTLINE");
  const Diagnostics problems = check_debug_settings();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "LYNXPP_DEBUG: no setting 'nonsense'");
}

}  // namespace
}  // namespace lynxpp
