// Findings whose gains were measured by trials.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "report/findings/findings.h"
#include "report/reader.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

/// A kernel "k" with a load on line 10 of a.cu, 64 bytes between lanes.
SitesRecord sites() {
  constexpr std::uint32_t none = SitesRecord::unknown;
  SitesRecord record;
  record.kernel = "k";
  record.functions = {"k"};
  record.opcodes = {"ld.global.f32"};
  record.files = {"src/a.cu"};
  record.labels = {{"MEM_READ", "GLOBAL"}};
  record.strides = {"64"};
  record.blocks = {{0, 0, 1, none, none, none, none}};
  record.instructions = {{0, 0, 0, 20, 0, 10, none, none, 0}};
  return record;
}

LaunchRecord strided_loads() {
  LaunchRecord record;
  record.kernel = "k";
  record.device = "GPU";
  record.spec = "memory_efficiency";
  record.results = {by_site("requests", "INSTRUCTIONS", {100}), by_site("sectors", "INSTRUCTIONS", {3200}),
                    by_site("bytes_asked", "INSTRUCTIONS", {12800}),
                    number("load_sectors", std::uint64_t{3200}), number("load_requests", std::uint64_t{100})};
  record.sites = 0;
  return record;
}

/// Returns the finding about the load.
KernelFinding finding_in(const std::vector<Record>& records) {
  SummarySink sink;
  replay(records, sink);
  const std::vector<KernelFinding> found = findings_of(facts_of(sink.summary()));
  return *std::ranges::find(found, "uncoalesced access", &KernelFinding::rule);
}

TrialRecord trial(const std::string& perturbation, double ms, const std::string& kernel = "k") {
  TrialRecord record;
  record.kernel = kernel;
  record.perturbation = perturbation;
  record.ms = {ms, ms, ms};
  record.sites = {{20, "/src/a.cu", 10, "ld.global.f32", ""}};
  return record;
}

TEST(MeasuredFindings, ReplaceEstimates) {
  std::vector<Record> records = {sites(), strided_loads()};
  const auto benefit = [&](std::initializer_list<TrialRecord> trials) {
    std::vector<Record> all = records;
    all.insert(all.end(), trials.begin(), trials.end());
    const KernelFinding finding = finding_in(all);
    return std::pair(std::string(text_of(finding.basis)), finding.benefit.value());
  };
  EXPECT_EQ(benefit({trial("", 10)}).first, "estimated");
  const auto measured =
      benefit({trial("", 10), trial("global-access:again", 13), trial("global-access:harmless", 11)});
  EXPECT_EQ(measured.first, "measured");
  EXPECT_NEAR(measured.second, 0.2, 1e-9);
  TrialRecord modelled = trial("", 10);
  modelled.is_modelled = true;
  EXPECT_EQ(benefit({modelled, trial("global-access:again", 13), trial("global-access:harmless", 11)}).first,
            "modelled");
  EXPECT_EQ(
      benefit({trial("", 10), trial("shared-access:again", 13), trial("shared-access:harmless", 11)}).first,
      "estimated")
      << "of other operations";
  EXPECT_EQ(benefit({trial("", 10, "other"), trial("global-access:again", 13, "other"),
                     trial("global-access:harmless", 11, "other")})
                .first,
            "estimated")
      << "of another kernel";
  TrialRecord noisy = trial("global-access:again", 13);
  noisy.ms = {13, 9, 13, 9, 16};
  EXPECT_EQ(benefit({trial("", 10), noisy, trial("global-access:harmless", 11)}).first, "estimated")
      << "unclear";
}

TEST(MeasuredFindings, HaveAnInterval) {
  TrialRecord again = trial("global-access:again", 13);
  again.ms = {13, 12.6, 13.4, 12.8, 13.2};
  std::vector<Record> records = {sites(), strided_loads(), trial("", 10), trial("global-access:harmless", 11),
                                 again};
  const KernelFinding finding = finding_in(records);
  EXPECT_EQ(text_of(finding.basis), "measured");
  ASSERT_TRUE(finding.interval);
  const auto [low, high] = *finding.interval;
  EXPECT_LT(low, finding.benefit.value());
  EXPECT_GT(high, finding.benefit.value());
  EXPECT_THAT(findings_text({finding}, Weight::work, 200),
              testing::HasSubstr(" (measured, " + interval_text(low, high) + "): "));
  EXPECT_EQ(interval_text(0.4, 0.55), "40 to 55 %");
  EXPECT_EQ(interval_text(0.4, 0.401), "40 %");
}

TEST(MeasuredFindings, AreThoseOfTheLine) {
  std::vector<Record> records = {sites(), strided_loads()};
  TrialRecord other = trial("global-access:again@30", 12.5);
  other.sites[0].line = 11;
  for (const TrialRecord& each :
       {trial("", 10), trial("global-access:again", 14), trial("global-access:harmless", 11),
        trial("global-access:harmless@30", 11), other})
    records.emplace_back(each);
  EXPECT_NEAR(finding_in(records).benefit.value(), 0.15, 1e-9) << "what line 11 leaves";
  records.emplace_back(trial("global-access:harmless@20", 11));
  records.emplace_back(trial("global-access:again@20", 13));
  EXPECT_NEAR(finding_in(records).benefit.value(), 0.2, 1e-9);
  const auto [low, high] = finding_in(records).interval.value();
  EXPECT_LE(low, 0.2);
  EXPECT_GE(high, 0.2);
}

}  // namespace
}  // namespace lynxpp::report
