// Advice on shared memory from records of both profiles: which launch it is about, and its text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/summary.h"
#include "report/tables/table_sink.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Counted {
  std::string name;
  std::uint64_t words = 0, count = 0;  ///< of each word
};

/// Returns a record as the profiles report arrays whose words all have one count.
LaunchRecord profile_of(const std::string& spec, std::uint64_t launch, const std::vector<Counted>& arrays) {
  LaunchRecord record;
  record.kernel = "_Z4sumsPf";
  record.launch = launch;
  record.device = "cpu";
  record.grid[0] = 4;
  record.block[0] = 128;
  record.spec = spec;
  record.resources = LaunchResources{0, 3584, 0, {2048, 32, 0, 65536, 1, 0, 32768}};
  std::vector<std::string> labels;
  std::vector<std::uint64_t> words, accesses, greatest, never, heat, distribution;
  for (const Counted& each : arrays) {
    labels.push_back(each.name);
    words.push_back(each.words);
    accesses.push_back(each.words * each.count);
    greatest.push_back(each.count);
    never.push_back(each.count == 0 ? each.words : 0);
    heat.insert(heat.end(), 4, each.words * each.count / 4);
    for (std::uint64_t bin = 0; bin < 16; ++bin)
      distribution.push_back(each.count >> bin == 1 ? each.words : 0);
  }
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> values, std::uint64_t inner) {
    if (labels.empty()) return;
    ResultValue result = array(name, std::move(values), {labels.size()});
    if (inner != 1) result.extents.push_back(inner);
    result.labels = labels;
    result.table = inner == 1 ? "arrays" : "";
    record.results.push_back(std::move(result));
  };
  add("arrays.words", words, 1);
  add("arrays.accesses", accesses, 1);
  add("arrays.least", greatest, 1);
  add("arrays.greatest", greatest, 1);
  add("arrays.never", never, 1);
  add("arrays.once", std::vector<std::uint64_t>(labels.size()), 1);
  add("arrays_heat", heat, 4);
  add("arrays_distribution", distribution, 16);
  return record;
}

const std::vector<Counted> shared_arrays{{"hot", 768, 4000}, {"cool", 128, 40}};
const std::vector<Counted> device_arrays{{"#0 parameter 0, main+0x10", 5000, 1},
                                         {"#1 parameter 1, step(int, float*)+0x20", 128, 9000},
                                         {"#2 parameter 2, step(int, float*)+0x30", 128, 8000}};

TEST(WordAdvice, FormatsATable) {
  WordProfiles profiles;
  profiles.add(profile_of("shared_memory_profile", 0, shared_arrays));
  profiles.add(profile_of("device_memory_profile", 0, device_arrays));
  profiles.add(vecadd_launch());
  EXPECT_EQ(advice_text(profiles.advice(), 80),
            R"(== lynxpp: advice on shared memory ==
sums(float*)
  Worth staging in shared memory: #1 parameter 1, step+0x20, #2 parameter 2,
  step+0x30. Gives way: cool. A thread block would have 4,096 bytes of shared
  memory instead of 3,584, and a multiprocessor hold 16 blocks (64 of 64 warps)
  as now.
  keep      hot
              well used: 4,000 accesses of a word, 1,000 in each thread block.
  give way  cool
              40 accesses of a word, 10 in each thread block: it saves 9
              accesses for each of its bytes, less than its replacement.
  stage     #1 parameter 1, step+0x20
              9,000 accesses of a word: a copy of 512 bytes in each thread block
              would save at least 1,151,488 of 1,152,000 accesses to device
              memory.
  stage     #2 parameter 2, step+0x30
              8,000 accesses of a word: a copy of 512 bytes in each thread block
              would save at least 1,023,488 of 1,024,000 accesses to device
              memory.
Accesses are not time: 'lynxpp limits' measures the possible gain.
)");
}

TEST(WordAdvice, SelectsTheLaunchWithTheMostAccesses) {
  WordProfiles profiles;
  for (const std::uint64_t launch : {0, 1, 2}) {
    profiles.add(profile_of("shared_memory_profile", launch, {{"tile", 64, launch == 1 ? 900u : 90u}}));
    profiles.add(profile_of("device_memory_profile", launch, {}));
  }
  const std::vector<LaunchAdvice> advice = profiles.advice();
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].launch, 1u);
  EXPECT_EQ(advice[0].launches, 3u);
  EXPECT_THAT(advice_text(advice, 100), HasSubstr("launch 1, which has the most accesses of 3\n"));
}

TEST(WordAdvice, NamesArraysWhoseCountsAreCapped) {
  WordProfiles profiles;
  LaunchRecord record =
      profile_of("device_memory_profile", 0, {{"a", 64, 255}, {"b", 64, 255}, {"c", 64, 7}});
  profiles.add(record);
  EXPECT_THAT(advice_text(profiles.advice(), 200), Not(HasSubstr("several at the limit")));
  record.notes = {"word counts stop at 255"};
  record.launch = 1;
  WordProfiles limited;
  limited.add(record);
  EXPECT_THAT(advice_text(limited.advice(), 200),
              HasSubstr("several at the limit: a: its counts stop at 255, as do those of 1 other array:"));
}

TEST(WordAdvice, TrustLineSaysWhatIsEstimated) {
  LaunchRecord record = profile_of("shared_memory_profile", 0, {{"sums", 64, 8}});
  const auto line = [&](const std::string& note) {
    SummarySink sink;
    record.notes = {note};
    sink.launch(record);
    return trust_line_of(sink.summary(), false);
  };
  EXPECT_THAT(line("word counts are estimates: 1 of 10 accesses was counted"),
              HasSubstr("estimated, by a scheme"));
  EXPECT_THAT(line("word counts stop at 255"), HasSubstr("estimated, by a scheme"));
  EXPECT_THAT(line("another note"), HasSubstr("counted: shared_memory_profile (exact"));
  EXPECT_THAT(line("another note"), HasSubstr("advice on shared memory: estimated"));
}

TEST(WordAdvice, IsSeparatePerDevice) {
  WordProfiles profiles;
  LaunchRecord record = profile_of("shared_memory_profile", 0, {{"tile", 64, 90}});
  profiles.add(record);
  record.device = "NVIDIA H200";
  profiles.add(record);
  const std::vector<LaunchAdvice> advice = profiles.advice();
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_EQ(advice[0].device, "cpu");
  EXPECT_EQ(advice[1].device, "NVIDIA H200");
}

TEST(WordAdvice, ProfilesMayComeFromTwoRuns) {
  SummarySink sink;
  sink.launch(profile_of("device_memory_profile", 0, device_arrays));
  EXPECT_FALSE(sink.summary().words.advice()[0].staging);
  EXPECT_THAT(advice_text(sink.summary().words.advice(), 100),
              HasSubstr("-s shared_memory_profile,device_memory_profile"));
  sink.launch(profile_of("shared_memory_profile", 0, shared_arrays));
  sink.launch(profile_of("shared_memory_profile", 0, shared_arrays));  // the same launch of a third run
  const std::vector<LaunchAdvice> advice = sink.summary().words.advice();
  ASSERT_TRUE(advice[0].staging);
  EXPECT_EQ(advice[0].profile.arrays.size(), 5u);
}

TEST(WordAdvice, PageHasHeatMapsAndEveryNumber) {
  SummarySink sink;
  sink.launch(profile_of("shared_memory_profile", 0, {{"<tile>", 2, 40}}));
  sink.launch(profile_of("device_memory_profile", 0, device_arrays));
  const std::string page = to_html(sink.summary(), "t");
  EXPECT_THAT(page, HasSubstr("<h2>Advice on shared memory</h2>"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"accesses along &lt;tile&gt;\""));
  EXPECT_THAT(page, HasSubstr("<title>words 0 to 31: 288,000 accesses, 9,000 per word on average</title>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("8,192 to 16,383 accesses: 128 words"));
  EXPECT_THAT(page, Not(HasSubstr("<tile>")));
  EXPECT_THAT(to_json(sink.summary()),
              HasSubstr(R"("advised":"stage","bytes":512,"held":"copy","saved_accesses":1151488)"));
}

TEST(WordAdvice, IsEmptyWithoutCounts) {
  SummarySink sink;
  sink.launch(vecadd_launch());
  EXPECT_EQ(advice_text(sink.summary().words.advice(), 100), "");
  EXPECT_THAT(to_html(sink.summary(), "t"), Not(HasSubstr("Advice")));
  EXPECT_THAT(to_json(sink.summary()), HasSubstr(R"("advice":[])"));
}

}  // namespace
}  // namespace lynxpp::report
