// Checks docs/cod-reference.md and docs/metrics.md against the compiler and the ready-made specifications.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cod/specification.h"
#include "cod/syntax/api.h"
#include "instrumentors/catalogue.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp {
namespace {

using testing::HasSubstr;

constexpr const char* reference_path = LYNXPP_SOURCE_DIR "/docs/cod-reference.md";
constexpr const char* metrics_path = LYNXPP_SOURCE_DIR "/docs/metrics.md";

std::string text_of(const char* path) {
  std::string text;
  EXPECT_TRUE(read_file(path, text)) << path;
  return text;
}

struct Example {
  std::string language;  ///< the word after the opening ```
  std::string text;
  std::size_t line = 0;
};

std::vector<Example> examples_of(const std::string& document) {
  std::vector<Example> examples;
  bool is_inside = false;
  std::size_t number = 0;
  for (const std::string& line : split(document, '\n')) {
    ++number;
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (is_inside) examples.push_back({line.substr(3), "", number + 1});
    } else if (is_inside) {
      examples.back().text += line + "\n";
    }
  }
  return examples;
}

TEST(CodReference, ExamplesCompile) {
  int compiled = 0;
  for (const Example& example : examples_of(text_of(reference_path))) {
    if (example.language != "cod") continue;
    ++compiled;
    SCOPED_TRACE("line " + std::to_string(example.line));
    Diagnostics warnings;
    const auto specification = cod::compile(example.text, "example.cod", &warnings);
    EXPECT_EQ(render(warnings, example.text), "");
    ASSERT_TRUE(specification) << render(specification.error().diagnostics, example.text);
    for (const int sm : {75, 90}) {
      const auto code = (*specification)->lower_device({sm});
      EXPECT_TRUE(code) << render(code.error().diagnostics, example.text);
    }
    const auto report = (*specification)->compile_host();
    EXPECT_TRUE(report) << render(report.error().diagnostics, example.text);
  }
  EXPECT_GE(compiled, 5);
}

/// An example of an error is followed by the compiler's message (LYNXPP_UPDATE_GOLDEN=1 rewrites it for
/// review).
TEST(CodReference, ErrorExamplesGiveTheDocumentedMessages) {
  std::string document = text_of(reference_path);
  const bool update = std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr;
  const std::vector<Example> examples = examples_of(document);
  int mistakes = 0;
  for (std::size_t i = 0; i + 1 < examples.size(); ++i) {
    if (examples[i].language != "cod-error") continue;
    ++mistakes;
    SCOPED_TRACE("line " + std::to_string(examples[i].line));
    const auto specification = cod::compile(examples[i].text, "example.cod");
    ASSERT_FALSE(specification);
    const std::string message = render(specification.error().diagnostics, examples[i].text);
    if (update) {
      const std::string before = examples[i].text + "```\n```text\n";
      const std::size_t at = document.find(before);
      ASSERT_NE(at, std::string::npos);
      document.replace(at + before.size(), examples[i + 1].text.size(), message);
    } else {
      ASSERT_EQ(examples[i + 1].language, "text");
      EXPECT_EQ(examples[i + 1].text, message);
    }
  }
  EXPECT_GE(mistakes, 2);
  if (update) {
    ASSERT_TRUE(write_file(reference_path, document));
  }
}

TEST(CodReference, DescribesEveryNameOfTheLanguage) {
  const std::string document = text_of(reference_path);
  for (const std::string& name : cod::api_names()) EXPECT_THAT(document, HasSubstr("`" + name + "("));
  for (const std::string& name : cod::extent_names()) EXPECT_THAT(document, HasSubstr("`" + name + "`"));
  for (const std::string& name : cod::label_names()) EXPECT_THAT(document, HasSubstr("`" + name + "`"));
}

/// Returns the part of the document under "## `name`".
std::string section_of(const std::string& document, const std::string& name) {
  const std::size_t begin = document.find("\n## `" + name + "`\n");
  if (begin == std::string::npos) return {};
  return document.substr(begin, document.find("\n## ", begin + 1) - begin);
}

/// Returns the names and units that a specification emits for a launch of one block of one warp.
std::vector<cod::Emitted> results_of(const instrumentors::ReadyMade& entry) {
  const auto specification = cod::compile(std::string(entry.source), std::string(entry.name) + ".cod");
  EXPECT_TRUE(specification);
  const auto report = (*specification)->compile_host();
  EXPECT_TRUE(report);
  const cod::LaunchExtents extents{1, 1, 1, 1, 32, 1, 1, 1};
  std::vector<std::vector<std::byte>> buffers;
  cod::LaunchView launch;
  launch.block[0] = 32;
  launch.basic_blocks = launch.instructions = launch.sms = 1;
  launch.shared_words = launch.device_words = 1;
  launch.shared_arrays = launch.device_arrays = {{"array", 0, 1}};
  cod::SiteTable sites;
  sites.functions = {"kernel"};
  sites.opcodes = {"ret"};
  sites.blocks = {{0, 0, 1}};
  sites.instructions.resize(1);
  launch.sites = &sites;
  for (const cod::GlobalArray& array : (*specification)->arrays()) {
    buffers.emplace_back(cod::element_count(array, extents) * cod::size_of(array.type));
  }
  for (std::vector<std::byte>& buffer : buffers) launch.arrays.emplace_back(buffer);
  std::vector<cod::Emitted> results;
  launch.emit = [&](cod::Emitted result) { results.push_back(std::move(result)); };
  const Status ran = (*report)->run(launch);
  EXPECT_TRUE(ran) << render(ran.error().diagnostics);
  return results;
}

TEST(Metrics, EveryReadyMadeSpecificationAndResultIsDescribed) {
  const std::string document = text_of(metrics_path);
  ASSERT_FALSE(instrumentors::ready_made().empty());
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    const std::string section = section_of(document, std::string(entry.name));
    ASSERT_NE(section, "") << entry.name;
    const std::vector<cod::Emitted> results = results_of(entry);
    EXPECT_FALSE(results.empty());
    for (const cod::Emitted& result : results) {
      std::string extents;
      if (!result.dimensions.empty()) extents = "[";
      EXPECT_THAT(section, HasSubstr("| `" + result.name + extents)) << entry.name;
      EXPECT_THAT(section, HasSubstr(result.unit.empty() ? "| |" : "| " + result.unit + " |"))
          << entry.name << " " << result.name;
    }
  }
}

/// Every ready-made specification but `quality`, which `lynxpp quality` alone reads, has a row of
/// docs/trust.md.
TEST(Trust, EveryReadyMadeSpecificationHasARow) {
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    if (entry.name == "quality") continue;
    const std::vector<std::string> names{std::string(entry.name)};
    EXPECT_THAT(trust::line_of_records(names, trust::Clock::device, {}), HasSubstr(std::string(entry.name)));
  }
  for (const trust::Row& row : trust::rows()) {
    for (const std::string& name : split(std::string(row.specifications), ',')) {
      const auto is_it = [&](const instrumentors::ReadyMade& each) { return each.name == name; };
      EXPECT_TRUE(name.empty() || std::ranges::any_of(instrumentors::ready_made(), is_it)) << name;
    }
  }
}

}  // namespace
}  // namespace lynxpp
