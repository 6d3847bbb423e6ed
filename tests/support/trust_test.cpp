// The rows of support/trust.def: what commands print, and docs/trust.md.
#include "support/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>

#include "support/text.h"

namespace lynxpp::trust {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* page_path = LYNXPP_SOURCE_DIR "/docs/trust.md";

std::string row_text(const Row& row) {
  std::string text = "|";
  for (const std::string_view cell : {row.numbers, row.validated, row.error, row.does_not_hold})
    text += (cell.empty() ? " " : " " + std::string(cell) + " ") + "|";
  return text;
}

/// Returns "## Counted" … with its table.
std::string section_of(Basis basis) {
  std::string name(name_of(basis));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  std::string text =
      "## " + name +
      "\n\n| numbers | validated against | error found | does not hold |\n| --- | --- | --- | --- |\n";
  for (const Row& row : rows()) {
    if (row.basis == basis) text += row_text(row) + "\n";
  }
  return text;
}

/// LYNXPP_UPDATE_GOLDEN=1 writes the page's tables.
TEST(Trust, PageHasTheRows) {
  std::string page;
  ASSERT_TRUE(read_file(page_path, page));
  std::string expected;
  for (const Basis basis : {Basis::counted, Basis::measured, Basis::modelled, Basis::estimated})
    expected += section_of(basis) + "\n";
  const std::size_t begin = page.find("## Counted"), end = page.find("## The papers' claims");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(page_path, page.substr(0, begin) + expected + page.substr(end)));
  } else {
    EXPECT_EQ(page.substr(begin, end - begin), expected);
  }
}

/// Returns the numbers in a text: "0.5", "22".
std::vector<std::string> figures_of(std::string_view text) {
  std::vector<std::string> figures;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_inside =
        i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 || text[i - 1] == '_');
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0 || is_inside) continue;
    std::size_t end = i;
    while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 ||
                                 (text[end] == '.' && end + 1 < text.size() &&
                                  std::isdigit(static_cast<unsigned char>(text[end + 1])) != 0)))
      ++end;
    figures.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return figures;
}

TEST(Trust, FiguresOfTheLinesAreThoseOfThePage) {
  for (const Row& row : rows()) {
    const std::vector<std::string> known = figures_of(row_text(row));
    for (const std::string& figure : figures_of(row.line))
      EXPECT_THAT(known, testing::Contains(figure)) << row.numbers << ": " << row.line;
  }
}

TEST(Trust, LineNamesBasisAndPage) {
  EXPECT_THAT(line_of({Number::limits}),
              testing::StartsWith("Trust: measured; the bound holds in 55 of 57 kernels"));
  EXPECT_THAT(line_of({Number::limits}), testing::EndsWith("; see docs/trust.md"));
  EXPECT_THAT(line_of(Number::limits, Clock::modelled), testing::StartsWith("Trust: modelled; "));
  EXPECT_THAT(line_of(Number::times, Clock::host), HasSubstr("nothing about a GPU"));
  const std::string two = line_of({Number::thread_counts, Number::branches});
  EXPECT_THAT(two, testing::StartsWith(
                       "Trust: counted; exact for PTX; PTX branches; equal to ncu in 0 of 45 kernels"));
}

TEST(Trust, LineOfRecordsHasWhatWasRecorded) {
  const std::vector<std::string> names{"kernel_runtime", "opcode_mix", "my_own"};
  const std::string on_gpu = line_of_records(names, Clock::device, {.has_findings = true});
  EXPECT_THAT(on_gpu, HasSubstr("counted: opcode_mix (exact for PTX)"));
  EXPECT_THAT(on_gpu, HasSubstr("measured: kernel_runtime ("));
  EXPECT_THAT(on_gpu, HasSubstr("findings: estimated"));
  EXPECT_THAT(on_gpu, Not(HasSubstr("my_own")));
  EXPECT_THAT(line_of_records(names, Clock::modelled, {}), HasSubstr("modelled: kernel_runtime"));
  EXPECT_THAT(line_of_records(names, Clock::host, {}), HasSubstr("not a GPU's: kernel_runtime"));
  EXPECT_EQ(line_of_records(std::vector<std::string>{"my_own"}, Clock::device, {}), "");
}

TEST(Trust, LineOfRecordsNamesEstimatedWordCountsAndAdvice) {
  const std::vector<std::string> names{"instruction_count", "shared_memory_profile"};
  const std::string exact = line_of_records(names, Clock::device, {});
  EXPECT_THAT(exact, HasSubstr("shared_memory_profile (exact"));
  EXPECT_THAT(exact, Not(HasSubstr("estimated")));
  const std::string scheme =
      line_of_records(names, Clock::device, {.has_sharing_advice = true, .has_inexact_words = true});
  EXPECT_THAT(scheme,
              HasSubstr("counted: instruction_count (exact for PTX); estimated, by a scheme of counting "
                        "words: shared_memory_profile (with plain"));
  EXPECT_THAT(scheme, HasSubstr("advice on shared memory: estimated (speed-ups"));
}

TEST(Trust, ClockFollowsFromTheDevicesName) {
  EXPECT_EQ(clock_of("cpu"), Clock::host);
  EXPECT_EQ(clock_of("cpu (times modelled for compute_9_0)"), Clock::modelled);
  EXPECT_EQ(clock_of("NVIDIA H200"), Clock::device);
}

}  // namespace
}  // namespace lynxpp::trust
