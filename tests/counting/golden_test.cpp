// Each file golden/NAME.ptx is a test: a readable kernel, with the specification and the shape of its
// launches in comments; golden/NAME.plan.txt is the printed plan, golden/NAME.expected.ptx the variant. Each
// file ../passes/by_name/PASS.ptx is also a test: PASS.expected.txt is the kernel after that pass, or the
// pass's plan. LYNXPP_UPDATE_GOLDEN=1 rewrites the expectations for review. ptxas must accept every variant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "engine/instrument.h"
#include "instrumentors/catalogue.h"
#include "ptx/emitter/emitter.h"
#include "ptx/passes/pipeline.h"
#include "support/text.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::engine {
namespace {

namespace fs = std::filesystem;

const std::string counting_cases = std::string(LYNXPP_SOURCE_DIR) + "/tests/counting/golden/";
const std::string pass_cases = std::string(LYNXPP_SOURCE_DIR) + "/tests/passes/by_name/";

std::vector<std::string> cases_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".ptx") && !name.ends_with(".expected.ptx"))
      names.push_back(name.substr(0, name.size() - 4));
  }
  std::ranges::sort(names);
  return names;
}

/// Returns the text after "// KEY: ".
std::string value_of(const std::string& text, const std::string& key) {
  const std::string mark = "// " + key + ": ";
  const std::size_t begin = text.find(mark);
  if (begin == std::string::npos) return "";
  return text.substr(begin + mark.size(), text.find('\n', begin) - begin - mark.size());
}

struct Golden {
  Instrumented result;
  std::map<std::string, std::string> after;  ///< by pass: the reached functions, or the plan
};

/// Instruments the kernel k of the file with the specification that the file names.
void instrument_golden(const std::string& path, Golden& golden) {
  std::string text;
  ASSERT_TRUE(read_file(path, text)) << path;
  const auto loaded = instrumentors::parse_list(value_of(text, "specification"));
  ASSERT_TRUE(loaded.ok()) << path;
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.limits = {};
  for (const instrumentors::LoadedSpecification& each : *loaded) {
    auto compiled = cod::compile(each.source, each.path);
    ASSERT_TRUE(compiled.ok()) << render(compiled.error().diagnostics, each.source);
    request.specifications.push_back(std::move(*compiled));
  }
  const Result<cod::WordScheme> words = cod::parse_word_scheme(value_of(text, "words"), path);
  ASSERT_TRUE(words.ok()) << render(words.error().diagnostics, text);
  request.words.scheme = *words;
  const std::string launch = value_of(text, "launch");
  ASSERT_THAT(launch, ::testing::AnyOf("any", "full_warps", "whole_rows"));
  request.launch = {launch != "any", launch == "whole_rows"};
  if (!value_of(text, "address").empty())
    request.variable_address = [&](const std::string&) { return std::stoull(value_of(text, "address")); };
  request.inspection.observer.after = [&](std::string_view pass, const ptx::InstrumentationUnit& unit) {
    std::string& found = golden.after[std::string(pass)];
    for (const ptx::PassDescription& each : ptx::pass_table()) {
      if (each.name == pass && each.plan_text != nullptr) found = each.plan_text(unit);
    }
    if (!found.empty()) return;
    for (const ptx::FunctionUnit& function : unit.reached.functions)
      found += ptx::emit_range(unit.module, function.function->text, unit.edits) + "\n";
  };
  Result<Instrumented> result = instrument(request);
  ASSERT_TRUE(result.ok()) << render(result.error().diagnostics, text);
  golden.result = std::move(*result);
}

void expect_text(const std::string& path, const std::string& found) {
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) write_file(path, found);
  std::string expected;
  ASSERT_TRUE(read_file(path, expected)) << path;
  EXPECT_EQ(found, expected) << path << ": LYNXPP_UPDATE_GOLDEN=1 rewrites it";
}

void expect_assembles(const std::string& text) {
  std::string messages;
  bool available = false;
  const bool accepted = ptx::testing::assemble(text, messages, available);
  if (!available) std::printf("ptxas is not installed: the text was compared, not assembled\n");
  EXPECT_TRUE(accepted || !available) << messages;
}

class CountingGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(CountingGolden, PlanAndVariantMatch) {
  const std::string base = counting_cases + GetParam();
  Golden golden;
  ASSERT_NO_FATAL_FAILURE(instrument_golden(base + ".ptx", golden));
  expect_text(base + ".plan.txt", golden.after["count-plan"]);
  expect_text(base + ".expected.ptx", golden.result.ptx);
  expect_assembles(golden.result.ptx);
}

INSTANTIATE_TEST_SUITE_P(Counting, CountingGolden, ::testing::ValuesIn(cases_in(counting_cases)),
                         [](const auto& instance) { return instance.param; });

class PassGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(PassGolden, OutputMatches) {
  const std::string base = pass_cases + GetParam();
  Golden golden;
  ASSERT_NO_FATAL_FAILURE(instrument_golden(base + ".ptx", golden));
  const auto& timings = golden.result.spent.passes;
  const auto pass = std::ranges::find(timings, GetParam(), &ptx::PassTiming::pass);
  ASSERT_NE(pass, timings.end());
  const std::string& found = golden.after[GetParam()];
  const bool has_text = GetParam() == "extract";
  expect_text(base + ".expected.txt", has_text ? golden.result.ptx : found);
  expect_assembles(golden.result.ptx);
}

/// A kernel in which a pass has nothing to do would not test it.
TEST_P(PassGolden, PassHasAnEffect) {
  Golden golden;
  ASSERT_NO_FATAL_FAILURE(instrument_golden(pass_cases + GetParam() + ".ptx", golden));
  const auto& timings = golden.result.spent.passes;
  const auto pass = std::ranges::find(timings, GetParam(), &ptx::PassTiming::pass);
  ASSERT_NE(pass, timings.end());
  const auto description = std::ranges::find(ptx::pass_table(), GetParam(), &ptx::PassDescription::name);
  EXPECT_TRUE(description->plan_text != nullptr ? !golden.after[GetParam()].empty() : pass->edits != 0);
}

INSTANTIATE_TEST_SUITE_P(Passes, PassGolden, ::testing::ValuesIn(cases_in(pass_cases)),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GoldenCases, CoverEveryPass) {
  std::vector<std::string> passes;
  for (const std::string_view name : ptx::pass_names()) passes.emplace_back(name);
  EXPECT_THAT(cases_in(pass_cases), ::testing::UnorderedElementsAreArray(passes));
  EXPECT_GE(cases_in(counting_cases).size(), 8u);
}

}  // namespace
}  // namespace lynxpp::engine
