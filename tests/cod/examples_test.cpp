// Every specification in examples/specs compiles, is accepted by ptxas for an old and a new target, and has a
// report.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/text.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

std::vector<std::string> example_paths() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs")) {
    if (entry.path().extension() == ".cod") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, CompilesAndHasASummary) {
  std::string source;
  ASSERT_TRUE(read_file(GetParam(), source));
  const SpecificationPtr specification = compiled(source);
  ASSERT_NE(specification, nullptr);
  EXPECT_GT(specification->summary().size(), 10u);
  EXPECT_FALSE(specification->handlers().empty());
  EXPECT_TRUE(specification->compile_host().ok());
}

TEST_P(Example, IsAcceptedByPtxas) {
  if (!has_ptxas()) GTEST_SKIP() << "no ptxas on this machine";
  std::string source;
  ASSERT_TRUE(read_file(GetParam(), source));
  const SpecificationPtr specification = compiled(source);
  ASSERT_NE(specification, nullptr);
  for (const int sm : {75, 90}) {
    for (const std::string& routine : lowered(*specification, sm)) {
      EXPECT_EQ(ptxas_errors(wrapped(routine, sm), sm), "");
    }
  }
}

std::string name_of_example(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(example_paths()), name_of_example);

}  // namespace
}  // namespace lynxpp::cod
