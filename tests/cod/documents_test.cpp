// The specifications in the documents, run with kernels on the cpu device.
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

struct Example {
  std::string text;
  std::size_t line = 0;
};

std::vector<Example> examples_of(const std::string& document) {
  std::string text;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/docs/" + document, text));
  std::vector<Example> examples;
  bool is_inside = false;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (is_inside && line == "```") {
      is_inside = false;
    } else if (is_inside) {
      examples.back().text += line + "\n";
    } else if (line == "```cod") {
      is_inside = true;
      examples.push_back({"", number + 1});
    }
  }
  return examples;
}

class Document : public testing::TestWithParam<const char*> {};

TEST_P(Document, ExamplesRun) {
  const std::vector<Example> examples = examples_of(GetParam());
  EXPECT_GE(examples.size(), 3u);
  for (const Example& example : examples) {
    for (const std::string kernel : {"straight", "divergent"}) {
      SCOPED_TRACE(std::string(GetParam()) + ", line " + std::to_string(example.line) + ", " + kernel);
      const Measured measured = measure(example.text, {{3, 1, 1}, {48, 1, 1}}, kernel);
      EXPECT_EQ(measured.failure, "");
      EXPECT_FALSE(measured.results.empty());
      EXPECT_EQ(measured.dropped, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Document, testing::Values("cod-reference.md", "tutorial.md"), ReadableName());

}  // namespace
}  // namespace lynxpp::cod
