// Records as CSV, as a summary in JSON, as a page and as plots.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/bar_chart.h"
#include "report/csv.h"
#include "report/reader.h"
#include "report/sites.h"
#include "report/summary.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

std::string csv_of(const std::vector<Record>& records) {
  std::string text;
  replay(records, *make_csv_sink([&](std::string_view written) { text += written; }));
  return text.substr(text.find('\n') + 1);
}

Summary summary_of(const std::vector<Record>& records) {
  SummarySink sink;
  replay(records, sink);
  return sink.summary();
}

LaunchRecord launch_of(const std::string& kernel, std::vector<ResultValue> results) {
  LaunchRecord record = vecadd_launch();
  record.kernel = kernel;
  record.results = std::move(results);
  record.sites = 0;
  return record;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Csv, OneLineForEachNumber) {
  LaunchRecord record = vecadd_launch(3);
  record.grid[1] = 2;
  record.results = {number<std::uint64_t>("n", 18446744073709551615u, "bytes, \"all\""), number("r", 0.1),
                    number("nan", std::nan("")), array<std::int64_t>("a", {-1, 2, 3, 4}, {2, 2})};
  const std::string front =
      "_Z6vecaddPKfS0_Pfi,\"vecadd(float const*, float const*, float*, "
      "int)\",3,cpu,40x2,256,instruction_count,";
  EXPECT_EQ(csv_of({record}), front + "n,\"bytes, \"\"all\"\"\",,,,,,,,18446744073709551615\n" + front +
                                  "r,,,,,,,,,0.1\n" + front + "nan,,,,,,,,,\n" + front + "a,,0 0,,,,,,,-1\n" +
                                  front + "a,,0 1,,,,,,,2\n" + front + "a,,1 0,,,,,,,3\n" + front +
                                  "a,,1 1,,,,,,,4\n");
}

TEST(Csv, SitesAreNamed) {
  const std::string text = csv_of({small_sites(), launch_of("k", {by_site("n", "INSTRUCTIONS", {5, 6, 7}),
                                                                  by_site("b", "BASIC_BLOCKS", {8, 9})})});
  EXPECT_EQ(text,
            "k,k,0,cpu,40,256,instruction_count,n,,0,k,0,ld.global.f32,20,a.cu,7,5\n"
            "k,k,0,cpu,40,256,instruction_count,n,,1,k,0,bra,22,,,6\n"
            "k,k,0,cpu,40,256,instruction_count,n,,2,step(int),1,ld.global.f32,41,a.cu,9,7\n"
            "k,k,0,cpu,40,256,instruction_count,b,,0,k,0,,20,a.cu,7,8\n"
            "k,k,0,cpu,40,256,instruction_count,b,,1,step(int),1,,41,a.cu,9,9\n");
}

TEST(Sites, WhatIsBeyondTheTableHasItsNumberAlone) {
  const SitesRecord sites = small_sites();
  EXPECT_EQ(label_of(&sites, SiteKind::instruction, 3).opcode, "");
  EXPECT_EQ(label_of(&sites, SiteKind::basic_block, 2).ptx_line, 0u);
  EXPECT_EQ(label_of(nullptr, SiteKind::instruction, 2).id, 2u);
}

TEST(SummaryJson, HoldsTotalsSitesAndGaps) {
  const auto json = nlohmann::json::parse(to_json(summary_of(
      {small_sites(),
       launch_of("k", {number<std::uint64_t>("n", 7, "bytes"), by_site("s", "INSTRUCTIONS", {5, 0, 7})}),
       launch_of("k", {number<std::uint64_t>("n", 8, "bytes"), by_site("s", "INSTRUCTIONS", {1, 0, 2})}),
       CoverageRecord{"k", true, "", 2, 2, 3, {}}, CoverageRecord{"g", false, "no PTX", 4, 0, 0, {}}})));
  const auto& kernel = json["specifications"][0]["kernels"][0];
  EXPECT_EQ(kernel["launches"], 2);
  EXPECT_EQ(kernel["results"]["n"], (nlohmann::json{{"value", 15}, {"fold", "sum"}, {"unit", "bytes"}}));
  EXPECT_EQ(kernel["arrays"]["s"]["sum"], 15);
  const auto& row = kernel["hot_sites"][0]["rows"][0];
  EXPECT_EQ(row["id"], 2);
  EXPECT_EQ(row["opcode"], "ld.global.f32");
  EXPECT_EQ(row["line"], 9);
  EXPECT_EQ(row["values"]["s"], 9);
  ASSERT_EQ(json["not_instrumented"].size(), 1u);
  EXPECT_EQ(json["not_instrumented"][0]["reason"], "no PTX");
}

TEST(Html, IsOnePageWithTablesSitesAndBars) {
  const std::string html = to_html(
      summary_of({small_sites(), launch_of("_Z1kIfEvPT_", {number<std::uint64_t>("n", 1234567, "bytes")}),
                  launch_of("k", {number<std::uint64_t>("n", 8), by_site("s", "INSTRUCTIONS", {5, 0, 7})}),
                  CoverageRecord{"g", false, "no PTX", 4, 0, 0, {}}, TimingRecord{"k", 1, 2, 3, 4, 5}}),
      "a & b");
  EXPECT_TRUE(holds(html, "<title>a &amp; b</title>"));
  EXPECT_TRUE(holds(html, "void k&lt;float&gt;(float*)</td>")) << html;
  EXPECT_TRUE(holds(html, "<td>1,234,567</td>"));
  EXPECT_TRUE(holds(html, "<td class=\"text\">a.cu:9</td>"));
  EXPECT_TRUE(holds(html, "<svg "));
  EXPECT_TRUE(holds(html, "<td class=\"text\">no PTX</td>"));
  EXPECT_FALSE(holds(html, "http://") && !holds(html, "http://www.w3.org/2000/svg"));
  EXPECT_FALSE(holds(html, "<script"));
}

TEST(Svg, BarsAreProportional) {
  BarChart chart{"bytes", "B", {}};
  chart.bars = {{"a", Number::of(100)}, {"b", Number::of(50)}, {"<c>", Number::of_real(std::nan(""))}};
  const std::string svg = svg_of(chart, 10);
  EXPECT_TRUE(holds(svg, "width=\"390\"")) << svg;
  EXPECT_TRUE(holds(svg, "width=\"195\"")) << svg;
  EXPECT_TRUE(holds(svg, "width=\"0\"")) << svg;
  EXPECT_TRUE(holds(svg, "&lt;c&gt;"));
  EXPECT_EQ(height_of(chart), 34u + 3 * 20 + 12);
}

TEST(Svg, WithoutRecordsIsEmptyButWhole) {
  const std::string svg = to_svg(Summary());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace lynxpp::report
