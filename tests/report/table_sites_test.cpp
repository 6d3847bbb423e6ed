#include "report/tables/table_sink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/report/tables.h"

namespace lynxpp::report {
namespace {

LaunchRecord site_launch(std::vector<ResultValue> results, std::uint64_t table = 0) {
  LaunchRecord record = launch_of("k", std::move(results));
  record.sites = table;
  return record;
}

TEST(TableOfSites, HotSitesAreNamedAndSummedOverLaunches) {
  const auto results = std::vector<ResultValue>{by_site("requests", "INSTRUCTIONS", {5, 0, 70}),
                                                by_site("sectors", "INSTRUCTIONS", {40, 0, 1200}),
                                                by_site("executions", "BASIC_BLOCKS", {9, 9})};
  const std::string table = table_of({small_sites(), site_launch(results), site_launch(results)});
  EXPECT_NE(table.find(R"table(
k: the hottest basic blocks
  block  function    PTX  source  executions
                    line
      0  k            20  a.cu:7          18
      1  step(int)    41  a.cu:9          18

k: the hottest instructions
  instruction  opcode         block  function    PTX  source  requests  sectors
                                                line
            2  ld.global.f32      1  step(int)    41  a.cu:9       140    2,400
            0  ld.global.f32      0  k            20  a.cu:7        10       80
)table"),
            std::string::npos)
      << table;
}

TEST(TableOfSites, SumsTablesBySite) {
  ResultValue executions = by_site("loads.count", "INSTRUCTIONS", {5, 0, 70});
  executions.table = "loads";
  const std::string table = table_of({small_sites(), site_launch({executions}), site_launch({executions})});
  EXPECT_NE(table.find("  a.cu:9          140\n"), std::string::npos) << table;
}

TEST(TableOfSites, DoesNotSumSitesOfDifferentCode) {
  const auto results = std::vector<ResultValue>{by_site("requests", "INSTRUCTIONS", {5, 0, 70})};
  const std::string table =
      table_of({small_sites(), site_launch(results), small_sites(1), site_launch(results, 1)});
  EXPECT_EQ(table.find("hottest"), std::string::npos) << table;
  EXPECT_NE(table.find("requests         3  150"), std::string::npos) << table;
}

TEST(TableOfSites, OnlyTheHottestOfManySitesAreShown) {
  std::vector<std::uint64_t> values(40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i;
  const std::string table = table_of({site_launch({by_site("n", "INSTRUCTIONS", values)})});
  EXPECT_NE(table.find("  instruction   n\n           39  39\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  … 29 more: `lynxpp report --all` on the file of LYNXPP_OUTPUT\n"),
            std::string::npos)
      << table;
  EXPECT_EQ(table.find("\n           29  29\n"), std::string::npos) << table;
}

TEST(TableOfSites, SitesFitTheTerminal) {
  std::vector<ResultValue> results;
  for (const char* name : {"requests_of_global_memory", "sectors_of_global_memory", "bytes_asked"})
    results.push_back(by_site(name, "INSTRUCTIONS", {123456789012, 0, 5}));
  const std::string table = table_of({small_sites(), site_launch(std::move(results))}, 80);
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = std::min(table.find('\n', begin), table.size());
    EXPECT_LE(end - begin, 80u) << table;
    begin = end + 1;
  }
  EXPECT_NE(table.find("bytes_asked"), std::string::npos);
}

TEST(TableOfSites, ReportsThatNoSiteWasReached) {
  const std::string table = table_of({small_sites(), site_launch({by_site("n", "BASIC_BLOCKS", {0, 0})})});
  EXPECT_NE(table.find("k: all zero over its basic blocks\n"), std::string::npos) << table;
}

/// Launches that share a record count as launches; the extremes of single launches are unknown.
TEST(Table, LaunchesMayShareARecord) {
  LaunchRecord single = launch_of("k", {number<std::uint64_t>("n", 10), array<std::uint64_t>("a", {1, 2})});
  single.notes = {"a note"};
  LaunchRecord shared = single;
  shared.launch = 1;
  shared.shared = {99, 120};
  shared.results = {number<std::uint64_t>("n", 990), array<std::uint64_t>("a", {99, 198})};
  EXPECT_EQ(table_of({single, shared}),
            R"table(
== lynxpp: instruction_count on cpu ==
kernel  launches  grid  block      n
                               (sum)
k            100    40    256  1,000

kernel  array  elements  sum  min  max
k       a             2  300    -    -

k
  index    a
      0  100
      1  200
note: k: a note (2 records)
)table");
}

}  // namespace
}  // namespace lynxpp::report
