// The page's data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
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

TEST(Page, DataHasSitesTheirTextAndLaunches) {
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

TEST(Page, DataHasTheProcessAndWhatWasMeasured) {
  ProcessRecord process;
  process.process = "0123456789ab";
  process.command = {"./app", "a b"};
  LaunchRecord launch = vecadd_launch();
  launch.spec = "memory_efficiency";
  launch.results = {
      number<std::uint64_t>("load_bytes_asked", 30), number<std::uint64_t>("load_bytes_moved", 32),
      number<std::uint64_t>("store_bytes_asked", 4), number<std::uint64_t>("store_bytes_moved", 64)};
  launch.place.emplace().end_us = 9;
  CoverageRecord counted{launch.kernel, true, "", 1, 1, 5, {}};
  CoverageRecord closed{"g", false, "no PTX", 3, 0, 0, {}};
  closed.lacks_ptx = true;
  PageSink sink;
  sink.process(process);
  replay({launch, counted, closed}, sink);
  const Json data = Json::parse(sink.data("t"));
  EXPECT_EQ(data["processes"][0]["command"], Json({"./app", "a b"}));
  EXPECT_EQ(data["last_us"], 9);
  EXPECT_EQ(data["measured"],
            Json::parse(R"({"kernels":{"counted":1,"all":2},"launches":{"counted":1,"all":4}})"));
  ASSERT_EQ(data["kernels"].size(), 1u);
  EXPECT_EQ(data["kernels"][0]["share"], 1);
  EXPECT_EQ(data["kernels"][0]["requested"], 34);
  EXPECT_EQ(data["kernels"][0]["transferred"], 96);
  EXPECT_FALSE(data["kernels"][0].contains("milliseconds"));
}

Json sources_of(const std::vector<std::string>& files, SourceTexts texts = SourceTexts::embedded) {
  SitesRecord sites = small_sites();
  sites.files = files;
  sites.instructions.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) sites.instructions[i].file = static_cast<std::uint32_t>(i);
  PageSink sink;
  sink.sites(sites);
  const Json data = Json::parse(sink.data("t", texts));
  Json found;
  for (const Json& each : data["sources"])
    found[each["path"]] = each["text"].is_null() ? each["missing"] : each["text"];
  return found;
}

TEST(Page, MissingSourceIsReported) {
  EXPECT_EQ(sources_of({"src/a.cu"}), Json({{"src/a.cu", "the file did not exist when the page was made"}}));
}

TEST(Page, ReadsOnlyRegularFilesWithASourceSuffix) {
  const TemporaryFolder folder;
  const std::string source = folder.file("a.CU");
  const std::string secret = folder.file("id_rsa");
  const std::string link_to_source = folder.file("link.h");
  const std::string link_to_secret = folder.file("b.cu");
  const std::string pipe = folder.file("pipe.cu");
  const std::string large = folder.file("large.cu");
  const std::string inside = folder.file("folder.cu");
  ASSERT_TRUE(write_file(source, "source"));
  ASSERT_TRUE(write_file(secret, "secret"));
  ASSERT_TRUE(write_file(large, std::string((4 << 20) + 1, ' ')));
  std::filesystem::create_symlink(source, link_to_source);
  std::filesystem::create_symlink(secret, link_to_secret);
  std::filesystem::create_directory(inside);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string no_suffix = "its name has no suffix of a source file";
  EXPECT_EQ(
      sources_of({source, secret, link_to_source, link_to_secret, pipe, large, inside, "/proc/self/environ"}),
      Json({{source, "source"},
            {secret, no_suffix},
            {link_to_source, "source"},
            {link_to_secret, no_suffix},
            {pipe, "it could not be read: it is not a regular file"},
            {large, "it could not be read: it is larger than 4 MiB"},
            {inside, "it could not be read: it is a folder"},
            {"/proc/self/environ", no_suffix}}));
  EXPECT_EQ(sources_of({source}, SourceTexts::left_out), Json({{source, "omitted by --no-source"}}));
}

TEST(Page, HoldsABoundedAmountOfSource) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 17; ++i) {
    files.push_back(folder.file("a" + std::to_string(i) + ".cu"));
    ASSERT_TRUE(write_file(files.back(), std::string(4 << 20, 'x')));
  }
  const Json found = sources_of(files);
  EXPECT_EQ(std::ranges::count(found, Json("the page already has 64 MiB of source")), 1);
}

TEST(Page, CountsLaunchesThatItOmits) {
  PageSink sink;
  for (std::uint64_t i = 0; i < 10'003; ++i) sink.launch(vecadd_launch(i));
  const Json data = Json::parse(sink.data("t"));
  EXPECT_EQ(data["launches"].size(), 10'000u);
  EXPECT_EQ(data["further_launches"], 3);
  EXPECT_EQ(data["summary"]["specifications"][0]["kernels"][0]["launches"], 10'003);
}

TEST(Page, IsOneFileWithoutReferences) {
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
