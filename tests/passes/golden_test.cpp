// Each file golden/NAME.ptx is a test: a kernel, and what one pass, or all of them, did to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/passes/pipeline.h"
#include "support/text.h"
#include "tests/passes/shown_passes.h"
#include "tests/support/readable_name.h"

namespace lynxpp::engine {
namespace {

const std::string folder = LYNXPP_SOURCE_DIR "/tests/passes/golden/";

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, ShowsThePasses) {
  const GoldenFile file = read_golden(folder + GetParam() + ".ptx");
  expect_sections(file, shown_passes(file));
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(golden_names(folder)),
                         [](const auto& instance) { return name_of_text(instance.param); });

TEST(GoldenFiles, ShowEveryPass) {
  std::vector<std::string> shown;
  for (const std::string& name : golden_names(folder)) {
    for (const std::string& pass : split(read_golden(folder + name + ".ptx").value("show"), ' '))
      shown.push_back(pass);
  }
  for (const std::string_view pass : ptx::pass_names()) EXPECT_THAT(shown, ::testing::Contains(pass));
}

TEST(GoldenFiles, ChangedLinesFollowTheUnchangedLineBefore) {
  EXPECT_EQ(changed_lines("a\n  b\n\nc\n", "a\n\tb\nc\n"), "") << "indentation and empty lines";
  EXPECT_EQ(changed_lines("a\n\nb\nc\n", "x\na\nb\ny\nz\n"), "+ x\n3: b\n- c\n+ y z\n");
}

}  // namespace
}  // namespace lynxpp::engine
