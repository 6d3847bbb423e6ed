// Each file golden/NAME.ptx is a test: a kernel, with its probes in comments; golden/NAME.expected.ptx is the
// instrumented module. LYNXPP_UPDATE_GOLDEN=1 rewrites the expectations for review. ptxas must accept all of
// them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "support/text.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> golden_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/tests/passes/golden")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".ptx") && !name.ends_with(".expected.ptx"))
      names.push_back(name.substr(0, name.size() - 4));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the words after "// KEY:" in the text.
std::vector<std::string> words_of(const std::string& text, const std::string& key) {
  std::vector<std::string> words;
  const std::size_t begin = text.find("// " + key + ":");
  if (begin == std::string::npos) return words;
  std::istringstream line(
      text.substr(begin + key.size() + 4, text.find('\n', begin) - begin - key.size() - 4));
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

std::vector<NamedProbe> probes_of(const std::string& text) {
  static const std::map<std::string, ProbePoint> points{{"kernel_entry", ProbePoint::kernel_entry},
                                                        {"kernel_exit", ProbePoint::kernel_exit},
                                                        {"block_entry", ProbePoint::block_entry},
                                                        {"block_exit", ProbePoint::block_exit},
                                                        {"instruction", ProbePoint::instruction}};
  std::vector<NamedProbe> probes;
  for (const std::string& word : words_of(text, "probes")) {
    const std::vector<std::string> parts = split(word, '=');
    probes.push_back({points.at(parts.at(0)), parts.at(1)});
  }
  return probes;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, InstrumentedTextMatchesAndAssembles) {
  const std::string base = std::string(LYNXPP_SOURCE_DIR) + "/tests/passes/golden/" + GetParam();
  std::string input;
  ASSERT_TRUE(read_file(base + ".ptx", input));
  std::map<std::string, std::uint64_t, std::less<>> shared;
  for (const std::string& word : words_of(input, "share")) {
    const std::vector<std::string> parts = split(word, '=');
    shared[parts.at(0)] = std::stoull(parts.at(1));
  }
  const Result<Spliced> spliced = splice(input, "k", probes_of(input), shared);
  ASSERT_TRUE(spliced.ok()) << render(spliced.error().diagnostics, input);
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) write_file(base + ".expected.ptx", spliced->text);
  std::string expected;
  ASSERT_TRUE(read_file(base + ".expected.ptx", expected));
  EXPECT_EQ(spliced->text, expected);

  std::string messages;
  bool available = false;
  const bool accepted = assemble(spliced->text, messages, available);
  if (!available) {
    std::printf("ptxas is not installed: the text was compared, not assembled\n");
    return;
  }
  EXPECT_TRUE(accepted) << messages;
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(golden_cases()),
                         [](const auto& instance) { return instance.param; });

TEST(Golden, HasCases) { EXPECT_GE(golden_cases().size(), 8u); }

}  // namespace
}  // namespace lynxpp::ptx::testing
