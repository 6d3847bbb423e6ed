// Records as CSV, as a summary in JSON, as a page and as plots.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/reader.h"
#include "report/sites.h"
#include "report/summary.h"
#include "report/tables/bar_chart.h"
#include "report/tables/csv.h"
#include "report/timeline/perfetto.h"
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

TEST(Csv, HasOneLinePerNumber) {
  LaunchRecord record = vecadd_launch(3);
  record.grid[1] = 2;
  record.results = {number<std::uint64_t>("n", 18446744073709551615u, "bytes, \"all\""), number("r", 0.1),
                    number("nan", std::nan("")), array<std::int64_t>("a", {-1, 2, 3, 4}, {2, 2})};
  const std::string front =
      "_Z6vecaddPKfS0_Pfi,\"vecadd(float const*, float const*, float*, "
      "int)\",3,cpu,40x2,256,instruction_count,";
  EXPECT_EQ(csv_of({record}), front + "n,\"bytes, \"\"all\"\"\",,,,,,,,,18446744073709551615,,\n" + front +
                                  "r,,,,,,,,,,0.1,,\n" + front + "nan,,,,,,,,,,,,\n" + front +
                                  "a,,0 0,,,,,,,,-1,,\n" + front + "a,,0 1,,,,,,,,2,,\n" + front +
                                  "a,,1 0,,,,,,,,3,,\n" + front + "a,,1 1,,,,,,,,4,,\n");
}

TEST(Csv, NamesLaunchesThatShareARecord) {
  LaunchRecord record = vecadd_launch(64);
  record.shared = {1000, 1063};
  record.results = {number<std::uint64_t>("n", 5)};
  EXPECT_EQ(csv_of({record}),
            "_Z6vecaddPKfS0_Pfi,\"vecadd(float const*, float const*, float*, "
            "int)\",64-1063 (1000 launches),cpu,40,256,instruction_count,n,,,,,,,,,,5,,\n");
}

/// Clocks of two multiprocessors differ.
TEST(Perfetto, RowsThatEndBeforeTheyBeginAreLeftOut) {
  std::vector<ResultValue> columns = {array<std::uint64_t>("s.sm", {3, 4, 5}),
                                      array<std::uint64_t>("s.begin", {6000, 9000, 0}),
                                      array<std::uint64_t>("s.end", {7000, 8000, 1000})};
  for (ResultValue& each : columns) each.table = "s";
  std::string text;
  replay({launch_of("k", std::move(columns))},
         *make_perfetto_sink([&](std::string_view written) { text += written; }));
  std::vector<double> slices;
  const auto trace = nlohmann::json::parse(text);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event["dur"]);
  }
  EXPECT_EQ(slices, std::vector<double>{1});
}

TEST(Csv, HasNoSpreadsheetFormulas) {
  EXPECT_EQ(csv_cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  EXPECT_EQ(csv_cell("+cmd|'/C calc'!A0"), "\"'+cmd|'/C calc'!A0\"");
  EXPECT_EQ(csv_cell("-2+3"), "\"'-2+3\"");
  EXPECT_EQ(csv_cell("@SUM(A1)"), "\"'@SUM(A1)\"");
  EXPECT_EQ(csv_cell("\t=1"), "\"'\t=1\"");
  EXPECT_EQ(csv_cell("-"), "\"'-\"");
  for (const char* const number : {"-5", "+5", "-0.25", "-1e300", "-1e-7", "+.5"})
    EXPECT_EQ(csv_cell(number), number);
  EXPECT_EQ(csv_cell("a=b"), "a=b");
  EXPECT_EQ(csv_cell("a", CsvQuotes::always), "\"a\"");
  LaunchRecord record = vecadd_launch();
  record.kernel = "=1+1";
  record.spec = "@spec";
  record.results = {number<std::int64_t>("-n", -7, "+")};
  EXPECT_EQ(csv_of({record}), "\"'=1+1\",\"'=1+1\",0,cpu,40,256,\"'@spec\",\"'-n\",\"'+\",,,,,,,,,-7,,\n");
}

/// A row with a time is an instant, one with begin and end a slice.
TEST(Perfetto, RowsOfTablesAreInstantsOrSlices) {
  std::vector<ResultValue> columns = {
      array<std::uint64_t>("t.sm", {3, 3}),         array<std::uint64_t>("t.time", {5000, 7000}),
      array<std::uint64_t>("t.address", {64, 128}), array<std::uint64_t>("s.sm", {3}),
      array<std::uint64_t>("s.begin", {6000}),      array<std::uint64_t>("s.end", {9000})};
  for (ResultValue& each : columns) each.table = each.name.substr(0, 1);
  std::string text;
  replay({launch_of("k", std::move(columns))},
         *make_perfetto_sink([&](std::string_view written) { text += written; }));
  std::vector<double> instants, addresses, slices;
  const auto trace = nlohmann::json::parse(text);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "i") {
      instants.push_back(event["ts"]);
      addresses.push_back(event["args"]["address"]);
    }
    if (event["ph"] == "X") slices.push_back(event["dur"]);
  }
  EXPECT_EQ(instants, (std::vector<double>{0, 2}));
  EXPECT_EQ(addresses, (std::vector<double>{64, 128}));
  EXPECT_EQ(slices, std::vector<double>{3});
}

TEST(Csv, SitesAreNamed) {
  const std::string text = csv_of({small_sites(), launch_of("k", {by_site("n", "INSTRUCTIONS", {5, 6, 7}),
                                                                  by_site("b", "BASIC_BLOCKS", {8, 9})})});
  EXPECT_EQ(text,
            "k,k,0,cpu,40,256,instruction_count,n,,0,,k,0,ld.global.f32,20,a.cu,7,5,,\n"
            "k,k,0,cpu,40,256,instruction_count,n,,1,,k,0,bra,22,,,6,,\n"
            "k,k,0,cpu,40,256,instruction_count,n,,2,,step(int),1,ld.global.f32,41,a.cu,9,7,,\n"
            "k,k,0,cpu,40,256,instruction_count,b,,0,,k,0,,20,a.cu,7,8,,\n"
            "k,k,0,cpu,40,256,instruction_count,b,,1,,step(int),1,,41,a.cu,9,9,,\n");
}

TEST(Csv, RatiosLabelsBinsAndTotalsHaveTheirLines) {
  LaunchRecord record = launch_of("k", {ratio("r", 3, 4)});
  ResultValue heat = array<std::uint64_t>("heat", {1, 2, 3, 4}, {2, 2});
  heat.labels = {"tile", "row, 2"};
  heat.bounds = {0, 10, 20};
  heat.underflow = {5, 0};
  heat.overflow = {0, 6};
  record.results.push_back(heat);
  const std::string front = "k,k,0,cpu,40,256,instruction_count,";
  EXPECT_EQ(csv_of({record, TotalRecord{"s", {number<std::uint64_t>("all", 9, "B")}, {}}}),
            front + "r,,,,,,,,,,0.75,3,4\n" + front + "heat,,0 0,tile,,,,,,,1,,\n" + front +
                "heat,,0 1,tile,,,,,,,2,,\n" + front + "heat,,1 0,\"row, 2\",,,,,,,3,,\n" + front +
                "heat,,1 1,\"row, 2\",,,,,,,4,,\n" + front + "heat,,0 below,tile,,,,,,,5,,\n" + front +
                "heat,,0 beyond,tile,,,,,,,0,,\n" + front + "heat,,1 below,\"row, 2\",,,,,,,0,,\n" + front +
                "heat,,1 beyond,\"row, 2\",,,,,,,6,,\n" + ",,,,,,s,all,B,,,,,,,,,9,,\n");
}

TEST(Sites, BlocksHaveTheirFirstLine) {
  SitesRecord sites = small_sites();
  sites.instructions[0] = {0, 0, 0, 20};
  sites.instructions[1] = {0, 1, 1, 22, 0, 8};
  EXPECT_EQ(label_of(&sites, SiteKind::basic_block, 0).source(), "a.cu:8");
  EXPECT_EQ(label_of(&sites, SiteKind::basic_block, 0).ptx_line, 20u);
  sites.instructions[1].line = 0;
  EXPECT_EQ(label_of(&sites, SiteKind::basic_block, 0).line, 0u) << "not that of another block";
}

TEST(Sites, SiteOutsideTheTableHasItsNumberOnly) {
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

TEST(SummaryJson, GridThatDifferedOnceIsMarked) {
  std::vector<Record> records;
  for (const std::uint32_t blocks : {40u, 80u, 80u}) {
    LaunchRecord record = launch_of("k", {number<std::uint64_t>("n", 1)});
    record.grid[0] = blocks;
    records.emplace_back(record);
  }
  const auto json = nlohmann::json::parse(to_json(summary_of(records)));
  EXPECT_EQ(json["specifications"][0]["kernels"][0]["grid"], nullptr);
  EXPECT_EQ(json["specifications"][0]["kernels"][0]["block"], nlohmann::json({256, 1, 1}));
}

TEST(SummaryJson, SummarisesQuotientsOfArraysOfRatios) {
  const auto shares = [](std::vector<std::uint64_t> numerators, std::vector<std::uint64_t> denominators) {
    ResultValue result = array("share", std::move(numerators));
    result.denominators = std::move(denominators);
    return launch_of("k", {result});
  };
  const auto json =
      nlohmann::json::parse(to_json(summary_of({shares({3, 9}, {4, 10}), shares({1, 6}, {4, 8})})));
  const auto& share = json["specifications"][0]["kernels"][0]["arrays"]["share"];
  EXPECT_EQ(share["least"], 0.25);
  EXPECT_EQ(share["greatest"], 0.9);
  EXPECT_EQ(share["values"], nlohmann::json({0.5, 15 / 18.0})) << "sums of numerators and denominators";
}

LaunchRecord of_every_kind(std::uint64_t launch) {
  ResultValue key = array<std::uint64_t>("lines.key", {64, 128});
  ResultValue uses = array<std::uint64_t>("lines.uses", {2, 1});
  key.table = uses.table = "lines";
  key.fold = Fold::key;
  ResultValue entries = array<std::uint64_t>("trace.at", {3, 4});
  entries.table = "trace";
  ResultValue heat = array<std::uint64_t>("heat", {1, 2, 3, 4}, {2, 2});
  heat.labels = {"a", "b"};
  LaunchRecord record =
      launch_of("k", {ratio("r", launch + 1, 4), array<std::uint64_t>("few", {7, 8}), key, uses, entries,
                      heat, number<std::uint64_t>("first", 4096 + launch, "address")});
  record.launch = launch;
  record.grid[0] = static_cast<std::uint32_t>(launch + 1);
  return record;
}

TEST(SummaryJson, HoldsArraysTablesRatiosAndTotals) {
  const TotalRecord total{"s", {ratio("share", 1, 4), array<std::uint64_t>("by_size", {1, 2})}, {"done"}};
  const auto json = nlohmann::json::parse(to_json(summary_of({of_every_kind(0), of_every_kind(1), total})));
  const auto& kernel = json["specifications"][0]["kernels"][0];
  EXPECT_EQ(kernel["grid"], nullptr) << "launches differ";
  EXPECT_EQ(kernel["block"], nlohmann::json({256, 1, 1}));
  EXPECT_EQ(kernel["results"]["r"], (nlohmann::json{{"value", 0.375}, {"fold", "ratio"}, {"unit", ""}}));
  EXPECT_EQ(kernel["results"]["first"]["value"], nullptr);
  EXPECT_EQ(kernel["arrays"]["few"]["values"], nlohmann::json({14, 16}));
  EXPECT_EQ(kernel["arrays"]["heat"]["values"], nlohmann::json({2, 4, 6, 8}));
  EXPECT_EQ(kernel["arrays"]["heat"]["labels"], nlohmann::json({"a", "b"}));
  EXPECT_EQ(kernel["arrays"]["lines.key"]["sum"], nullptr);
  const auto& lines = kernel["tables"][0];
  EXPECT_EQ(lines["name"], "lines");
  EXPECT_EQ(lines["folded"], true);
  EXPECT_EQ(lines["rows"], nlohmann::json::parse(R"([{"values":[64,4]},{"values":[128,2]}])"));
  const auto& trace = kernel["tables"][1];
  EXPECT_EQ(trace["folded"], false);
  EXPECT_EQ(trace["rows"].size(), 4u);
  EXPECT_EQ(trace["rows"][2], nlohmann::json::parse(R"({"launch":1,"values":[3]})"));
  EXPECT_EQ(json["totals"][0]["results"]["by_size"]["values"], nlohmann::json({1, 2}));
  EXPECT_EQ(json["totals"][0]["results"]["share"]["value"], 0.25);
}

TEST(Html, ShowsTablesArraysAndTotalsAndDoesNotSumAddresses) {
  const TotalRecord total{"s", {number<std::uint64_t>("all", 31)}, {}};
  const std::string html = to_html(summary_of({of_every_kind(0), of_every_kind(1), total}), "page");
  EXPECT_TRUE(holds(html, "<h3>k: lines</h3>")) << html;
  EXPECT_TRUE(holds(html, "<tr><td>64</td><td>4</td></tr>")) << html;
  EXPECT_TRUE(holds(html, "<h3>k: trace</h3>"));
  EXPECT_TRUE(holds(html, "<tr><td>1</td><td>0</td><td>3</td></tr>")) << "launch, index, value";
  EXPECT_TRUE(holds(html, "<summary>k: heat</summary>"));
  EXPECT_TRUE(holds(html, "<td class=\"text\">all</td><td class=\"text\"></td><td>31</td>"));
  EXPECT_TRUE(holds(html, "<td>varies</td>"));
  EXPECT_FALSE(holds(html, "384")) << "the keys of two launches added up";
  EXPECT_FALSE(holds(html, "8,193"));
}

TEST(Html, ShowsColumnsOfNamedRowsSideBySide) {
  const auto launch = [](std::vector<std::string> labels, std::vector<std::uint64_t> accesses) {
    ResultValue first = array<std::uint64_t>("arrays.accesses", std::move(accesses), {}, "accesses");
    first.table = "arrays";
    first.labels = std::move(labels);
    ResultValue second = first;
    second.name = "arrays.greatest";
    second.fold = Fold::maximum;
    return launch_of("k", {first, second});
  };
  const std::string html =
      to_html(summary_of({launch({"tile"}, {3}), launch({"tile", "row"}, {4, 9})}), "page");
  EXPECT_TRUE(holds(html, "<td class=\"text\">tile</td><td>7</td><td>4</td></tr>")) << html;
  EXPECT_TRUE(holds(html, "<td class=\"text\">row</td><td>9</td><td>9</td></tr>")) << html;
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

TEST(Svg, IsEmptyButValidWithoutRecords) {
  const std::string svg = to_svg(Summary());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace lynxpp::report
