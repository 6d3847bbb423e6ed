// The share of a run that was counted, and kernels that could not be instrumented.
#include "report/coverage_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/findings/findings.h"
#include "tests/report/tables.h"

namespace lynxpp::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CoverageRecord counted(const std::string& kernel, std::uint64_t launches) {
  return {kernel, true, "", launches, launches, 4, {}};
}

CoverageRecord without_ptx(const std::string& kernel, std::uint64_t launches) {
  CoverageRecord record{kernel, false, "the program carries no PTX for it", launches, 0, 0, {}};
  record.lacks_ptx = true;
  record.shape = CoverageRecord::Shape{{8, 1, 1}, {128, 1, 1}, false, 40};
  return record;
}

TimingRecord timed(const std::string& kernel, std::uint64_t launches, double milliseconds,
                   const std::string& device = "NVIDIA H200") {
  TimingRecord record;
  record.kernel = kernel;
  record.launches = launches;
  record.execute = milliseconds;
  record.device = device;
  return record;
}

Summary summary_of(const std::vector<CoverageRecord>& coverage, const std::vector<TimingRecord>& timings) {
  SummarySink sink;
  for (const CoverageRecord& each : coverage) sink.coverage(each);
  for (const TimingRecord& each : timings) sink.timing(each);
  return sink.summary();
}

std::string text_of(const Summary& summary) {
  return coverage_share_text(coverage_share_of(summary), "the table");
}

TEST(CoverageShare, IsShownOnlyIfSomethingCannotBeCounted) {
  EXPECT_EQ(text_of(summary_of({counted("a", 3)}, {})), "");
  EXPECT_EQ(text_of(summary_of({counted("a", 3), {"b", false, "not selected by -k", 5, 0, 0, {}}}, {})), "");
}

TEST(CoverageShare, UsesLaunchesWithoutTimes) {
  EXPECT_EQ(text_of(summary_of({counted("a", 60), without_ptx("b", 30), without_ptx("c", 10)}, {})),
            "Counted: 60 % of launches, 1 of 3 kernels.\n"
            "2 of 3 kernels carry no PTX: 40 % of launches; details: the table\n");
}

TEST(CoverageShare, PrefersTime) {
  // b: 1 ms on average, 30 launches; a: 90 ms.
  const Summary summary =
      summary_of({counted("a", 10), without_ptx("b", 30)}, {timed("a", 10, 90), timed("b", 6, 2)});
  EXPECT_EQ(
      text_of(summary),
      "Counted: 90 % of GPU time (estimated), 25 % of launches, 1 of 2 kernels.\n"
      "1 of 2 kernels carry no PTX: 75 % of launches, 10 % of GPU time (estimated from 6 timed launches); "
      "details: the table\n");
  EXPECT_DOUBLE_EQ(*uncounted_milliseconds(summary, summary.coverage[1]), 10);
}

TEST(CoverageShare, HasNoTimeIfAKernelHasNone) {
  EXPECT_THAT(text_of(summary_of({counted("a", 10), without_ptx("b", 30)}, {timed("a", 10, 90)})),
              StartsWith("Counted: 25 % of launches"));
  EXPECT_THAT(text_of(summary_of({counted("a", 10), without_ptx("b", 30)},
                                 {timed("a", 10, 90, "cpu"), timed("b", 6, 2, "cpu")})),
              StartsWith("Counted: 25 % of launches"))
      << "the cpu device's times say nothing of a GPU";
}

TEST(CoverageShare, IgnoresKernelsThatWereNeverLaunched) {
  EXPECT_THAT(text_of(summary_of({counted("a", 10), without_ptx("b", 30), counted("idle", 0)},
                                 {timed("a", 10, 90), timed("b", 6, 2)})),
              StartsWith("Counted: 90 % of GPU time (estimated), 25 % of launches, 2 of 3 kernels."));
}

TEST(CoverageShare, SeparatesReasons) {
  CoverageRecord refused = without_ptx("c", 5);
  refused.lacks_ptx = false;
  refused.reason = "too many registers";
  EXPECT_THAT(text_of(summary_of({counted("a", 10), without_ptx("b", 5), refused}, {})),
              HasSubstr("1 of 3 kernels were not instrumented: 25 % of launches; details: the table\n"));
}

TEST(CoverageTable, ShowsKnownFacts) {
  CoverageRecord varies = without_ptx("c", 7);
  varies.shape->differs = true;
  varies.shape->registers = 0;
  const std::string text = table_of({vecadd_launch(), counted("_Z6vecaddPKfS0_Pfi", 1), without_ptx("b", 30),
                                     varies, timed("b", 6, 2), timed("_Z6vecaddPKfS0_Pfi", 1, 4)});
  EXPECT_THAT(text, HasSubstr(R"table(== lynxpp: not instrumented ==
kernel  launches    grid   block  registers           ms  reason
                                             (estimated)
b             30       8     128         40       10.000  [1]
c              7  varies  varies                          [1]
  [1] the program carries no PTX for it
)table"))
      << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("total"))) << "times of originals are not among those of variants";
}

TEST(CoverageTable, IsTheSameOnThePlainPage) {
  const std::string html = to_html(
      summary_of({counted("a", 10), without_ptx("b", 30)}, {timed("a", 10, 90), timed("b", 6, 2)}), "run");
  EXPECT_THAT(html,
              HasSubstr("<p>Counted: 90 % of GPU time (estimated), 25 % of launches, 1 of 2 kernels.</p>"));
  EXPECT_THAT(html, HasSubstr("<td>8</td><td>128</td><td>40</td><td>10.000</td>"));
}

TEST(CoverageTable, IsShortUnlessAllIsRequested) {
  std::vector<Record> records;
  for (int i = 0; i < 21; ++i) records.emplace_back(without_ptx("kernel" + std::to_string(i), 100 + i));
  const std::string text = table_of(records);
  EXPECT_THAT(text, HasSubstr("kernel20"));
  EXPECT_THAT(text, testing::Not(HasSubstr("kernel10 ")));
  EXPECT_THAT(text, HasSubstr("11 "));
}

TEST(Summary, NamesEachReasonOnceIfNothingWasMeasured) {
  SummarySink sink;
  for (int i = 0; i < 21; ++i) sink.coverage(without_ptx("kernel" + std::to_string(i), 1));
  const std::string text = summary_text(sink.summary(), 100);
  EXPECT_THAT(text, StartsWith("Counted: 0 % of launches, 0 of 21 kernels.\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  kernel0, kernel1, kernel2, kernel3, kernel4 and 16 more: the program carries no PTX"));
  EXPECT_EQ(text.find("the program carries"), text.rfind("the program carries")) << text;
}

TEST(Summary, BeginsWithTheShare) {
  SummarySink sink;
  sink.launch(vecadd_launch());
  sink.coverage(counted("_Z6vecaddPKfS0_Pfi", 1));
  sink.coverage(without_ptx("b", 3));
  EXPECT_THAT(
      summary_text(sink.summary(), 100),
      StartsWith(
          "Counted: 25 % of launches, 1 of 2 kernels.\n1 of 2 kernels carry no PTX: 75 % of launches; "));
}

}  // namespace
}  // namespace lynxpp::report
