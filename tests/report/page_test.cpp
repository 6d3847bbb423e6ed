// The page's data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/page/page.h"
#include "report/reader.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

Json data_of(const std::vector<Record>& records) {
  PageSink sink;
  replay(records, sink);
  return Json::parse(sink.data("a & \"b\""));
}

LaunchRecord launch_of_sites(std::vector<ResultValue> results) {
  LaunchRecord record = vecadd_launch();
  record.kernel = "k";
  record.sites = 0;
  record.results = std::move(results);
  return record;
}

TEST(Page, DataHoldsPlacesTheirTextAndLaunches) {
  const TemporaryFolder folder;
  SitesRecord sites = small_sites();
  sites.files = {folder.file("a.cu")};
  ASSERT_TRUE(write_file(sites.files[0], "one\ntwo\n"));
  sites.ptx = {{17, ".entry k()\n{\n"}};
  const Json data = data_of(
      {sites, launch_of_sites({number<std::uint64_t>("n", 8), by_site("s", "INSTRUCTIONS", {5, 0, 7})}),
       CoverageRecord{"g", false, "no PTX", 4, 0, 0, {}}, TimingRecord{"k", 1, 2, 3, 4, 5}});
  EXPECT_EQ(data["title"], "a & \"b\"");
  EXPECT_EQ(data["sites"][0]["ptx"], Json::parse(R"([{"line":17,"text":".entry k()\n{\n"}])"));
  EXPECT_EQ(data["sources"], Json::array({{{"path", sites.files[0]}, {"text", "one\ntwo\n"}}}));
  const Json& kernel = data["summary"]["specifications"][0]["kernels"][0];
  EXPECT_EQ(kernel["sites"], 0);
  EXPECT_EQ(kernel["arrays"]["s"]["values"], Json({5, 0, 7}));
  EXPECT_EQ(kernel["hot_sites"][0]["rows"], Json::array());
  EXPECT_EQ(data["launches"][0]["results"], Json({{"n", 8}})) << "without arrays";
  EXPECT_EQ(data["timings"][0]["execute_ms"], 5.0);
  EXPECT_EQ(data["coverage"][0]["reason"], "no PTX");
  EXPECT_EQ(data["further_launches"], 0);
}

TEST(Page, ASourceThatIsNotThereIsNull) {
  const Json data = data_of({small_sites(), launch_of_sites({by_site("s", "INSTRUCTIONS", {5, 0, 7})})});
  EXPECT_EQ(data["sources"], Json::parse(R"([{"path":"src/a.cu","text":null}])"));
}

TEST(Page, LaunchesBeyondTheFirstAreCounted) {
  PageSink sink;
  for (std::uint64_t i = 0; i < 10'003; ++i) sink.launch(vecadd_launch(i));
  const Json data = Json::parse(sink.data("t"));
  EXPECT_EQ(data["launches"].size(), 10'000u);
  EXPECT_EQ(data["further_launches"], 3);
  EXPECT_EQ(data["summary"]["specifications"][0]["kernels"][0]["launches"], 10'003);
}

TEST(Page, IsOneFileThatAsksForNoOther) {
  PageSink sink;
  sink.launch(vecadd_launch());
  const std::string page = to_page(sink, "a & b");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<title>a &amp; b</title>"));
  EXPECT_THAT(page, Not(HasSubstr("LYNXPP_DATA")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("href=")));
}

TEST(SitesRecord, KeepsItsPtxThroughJson) {
  SitesRecord sites = small_sites();
  sites.ptx = {{3, "a\n"}, {9, "b\tc\n"}};
  const Reading reading = read_json_lines(json_line_of(sites), "t");
  ASSERT_EQ(reading.records.size(), 1u);
  const SitesRecord& read = std::get<SitesRecord>(reading.records[0]);
  ASSERT_EQ(read.ptx.size(), 2u);
  EXPECT_EQ(read.ptx[1].line, 9u);
  EXPECT_EQ(read.ptx[1].text, "b\tc\n");
  EXPECT_THAT(json_line_of(small_sites()), Not(HasSubstr("\"ptx\"")));
}

}  // namespace
}  // namespace lynxpp::report
