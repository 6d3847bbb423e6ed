// Launch records in series: what is written once, and what is read from it.
#include "report/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "report/cluster/merge.h"
#include "report/reader.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LaunchRecord placed_launch(std::uint64_t index = 0) {
  LaunchRecord record = vecadd_launch(index);
  record.results = {number("warps", 4 + index), ratio("mean", 21 + index, 2, "lanes")};
  record.place = LaunchPlace{index, 1, 2, 3, "00000000c0de", 77, 1000 + index, 1010 + index, {}};
  return record;
}

/// Returns a result of every form.
LaunchRecord launch_of_every_form() {
  LaunchRecord record = placed_launch(7);
  ResultValue means = array<std::uint64_t>("means", {1, 5, 0});
  means.denominators = std::vector<std::uint64_t>{2, 0, 3};
  ResultValue histogram = array<std::uint64_t>("cycles", {1, 2, 3, 4}, {2, 2}, "cycles");
  histogram.bounds = {-4, 0, 4};
  histogram.underflow = {5, 6};
  histogram.overflow = {7, 8};
  ResultValue names = array<std::uint64_t>("mix", {5, 6});
  names.labels = {"loads", "\"stores\""};
  ResultValue key = array<std::uint64_t>("lines.key", {7, 9, 11});
  key.table = "lines";
  key.fold = Fold::key;
  key.left_out = 3;
  key.texts = {"a.cu:1", "b.cu:2", "c.cu:3"};
  ResultValue count = array<std::int64_t>("lines.count", {-1, 2, 3});
  count.table = "lines";
  ResultValue words = array<double>("arrays.words", {1.5, std::nan("")});
  words.table = "arrays";
  words.labels = {"#0 in main", "#1 in main"};
  ResultValue accesses = means;
  accesses.name = "arrays.accesses";
  accesses.table = "arrays";
  accesses.extents = {3};
  accesses.labels = {"other", "labels", "here"};
  ResultValue least = array<std::uint64_t>("arrays.least", {0, 0});
  least.table = "arrays";
  ResultValue pairs = array<std::uint64_t>("pairs.x", {1, 2, 3, 4, 5, 6}, {2, 3});
  pairs.table = "pairs";
  pairs.extent_names = {"2", "BLOCKS"};
  record.results = {number("greatest", std::numeric_limits<std::uint64_t>::max()),
                    number("least", std::numeric_limits<std::int64_t>::min(), "cycles"),
                    number("whole", 2.0),
                    number("nothing", std::nan("")),
                    ratio("none", 3, 0),
                    array<double>("row", {1.5, std::nan("")}),
                    array<std::uint64_t>("counts", {1, 2, 3, 4, 5, 6}, {2, 3}),
                    array<std::uint64_t>("empty", {}, {0, 5}),
                    means,
                    histogram,
                    names,
                    key,
                    count,
                    words,
                    accesses,
                    least,
                    pairs};
  record.results[0].fold = Fold::maximum;
  record.sites = 3;
  record.sampling = {4, 16, 2, {{3, 16, 1}, {9, 1, 2}}};
  record.resources = LaunchResources{32, 16, 8, {2048, 32, 65536, 1024, 128, 1, 2}};
  record.modelled = ModelledTime{"m", 1.5, 0.25, 1, 2, {3, 4}, ModelledTime::Cache{5, 6}, {}};
  record.notes = {"a note", "another"};
  record.ranges = {"outer", "inner"};
  record.allocations = {{"#3", "main+0x1c8", 4096, 64}};
  return record;
}

/// Returns the complete lines of the launches that are read.
std::string read_back(const std::string& text) {
  const Reading reading = read_json_lines(text, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  std::string lines;
  for (const Record& record : reading.records) lines += json_line_of(std::get<LaunchRecord>(record));
  return lines;
}

class Series : public ::testing::Test {
 protected:
  std::string written(const std::vector<LaunchRecord>& launches) {
    SeriesWriter writer(numbers_);
    std::string text;
    for (const LaunchRecord& each : launches) text += writer.lines_of(each);
    return text;
  }
  static std::string complete(const std::vector<LaunchRecord>& launches) {
    std::string text;
    for (const LaunchRecord& each : launches) text += json_line_of(each);
    return text;
  }
  void expect_round_trip(const std::vector<LaunchRecord>& launches) {
    EXPECT_EQ(read_back(written(launches)), complete(launches));
  }

  std::atomic<std::uint64_t> numbers_ = 0;
};

TEST_F(Series, CommonMembersOfLaunchesAreWrittenOnce) {
  EXPECT_EQ(
      written({placed_launch(0), placed_launch(1)}),
      R"json({"record":"series","series":0,"kernel":"_Z6vecaddPKfS0_Pfi",)json"
      R"json("demangled":"vecadd(float const*, float const*, float*, int)","device":"cpu",)json"
      R"json("spec":"instruction_count","columns":[{"name":"warps"},{"name":"mean","unit":"lanes","ratio":true}],)json"
      R"json("grid":[40,1,1],"block":[256,1,1],)json"
      R"json("place":{"ordinal":1,"context":2,"stream":3,"module":"00000000c0de","thread":77}})json"  // english: ok
      "\n"
      R"json({"record":"launch","series":0,"launch":0,"values":[4,[21,2]],)json"
      R"json("place":{"correlation":0,"begin_us":1000,"end_us":1010}})json"  // english: ok
      "\n"
      R"json({"record":"launch","series":0,"launch":1,"values":[5,[22,2]],)json"
      R"json("place":{"correlation":1,"begin_us":1001,"end_us":1011}})json"  // english: ok
      "\n");
}

TEST_F(Series, LaunchesAreReadAsTheyWere) {
  LaunchRecord next = launch_of_every_form();
  next.launch = 8;
  // Tables have other rows in each launch.
  next.results[11] = array<std::uint64_t>("lines.key", {8});
  next.results[11].table = "lines";
  next.results[11].fold = Fold::key;
  next.results[12] = array<std::int64_t>("lines.count", {-7});
  next.results[12].table = "lines";
  next.modelled.reset();
  const std::string text = written({launch_of_every_form(), next, launch_of_every_form(), vecadd_launch()});
  EXPECT_EQ(read_back(text),
            complete({launch_of_every_form(), next, launch_of_every_form(), vecadd_launch()}));
  EXPECT_THAT(split(text, '\n'), SizeIs(7)) << "two series, four launches, the end";
}

TEST_F(Series, EveryDifferenceIsRead) {
  const std::vector<void (*)(LaunchRecord&)> changes = {
      [](LaunchRecord& each) { each.kernel = "other"; },
      [](LaunchRecord& each) { each.device = "gpu"; },
      [](LaunchRecord& each) { each.grid[2] = 9; },
      [](LaunchRecord& each) { each.block[1] = 2; },
      [](LaunchRecord& each) { each.spec = "mine"; },
      [](LaunchRecord& each) { each.sites = 4; },
      [](LaunchRecord& each) { each.sites.reset(); },
      [](LaunchRecord& each) { each.sampling = {}; },
      [](LaunchRecord& each) { each.resources->registers = 1; },
      [](LaunchRecord& each) { each.results[0].name = "renamed"; },
      [](LaunchRecord& each) { each.results[0].fold = Fold::minimum; },
      [](LaunchRecord& each) { each.results[1].unit = "bytes"; },
      [](LaunchRecord& each) {
        each.results[6].extents = {3, 2};
      },
      [](LaunchRecord& each) {
        each.results[9].bounds = {-5, 0, 5};
      },
      [](LaunchRecord& each) {
        each.results[9].overflow = {0, 0};
      },
      [](LaunchRecord& each) {
        each.results[10].labels = {"c", "d"};
      },
      [](LaunchRecord& each) { each.results[11].texts.clear(); },
      [](LaunchRecord& each) { each.results[11].left_out.reset(); },
      [](LaunchRecord& each) {
        each.results[13].labels = {"#7", "#8"};
      },
      [](LaunchRecord& each) { each.results[13].labels.clear(); },
      [](LaunchRecord& each) { each.results[14].labels.clear(); },
      [](LaunchRecord& each) { each.results[13].labels = each.results[14].labels = {}; },
      [](LaunchRecord& each) {
        each.results[16].extent_names = {"2", "3"};
      },
      [](LaunchRecord& each) { each.results.pop_back(); },
      [](LaunchRecord& each) { each.notes.clear(); },
      [](LaunchRecord& each) { each.notes = {"other"}; },
      [](LaunchRecord& each) { each.ranges.clear(); },
      [](LaunchRecord& each) { each.allocations[0].address = 1; },
      [](LaunchRecord& each) { each.allocations.clear(); },
      [](LaunchRecord& each) { each.place->ordinal = 8; },
      [](LaunchRecord& each) { each.place->context = 8; },
      [](LaunchRecord& each) { each.place->stream = 8; },
      [](LaunchRecord& each) { each.place->module.clear(); },
      [](LaunchRecord& each) { each.place->thread = 8; },
      [](LaunchRecord& each) { each.place->device_ms = 0.5; },
      [](LaunchRecord& each) { each.place.reset(); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    LaunchRecord changed = launch_of_every_form();
    changes[i](changed);
    expect_round_trip({launch_of_every_form(), changed, launch_of_every_form()});
    expect_round_trip({changed, launch_of_every_form(), changed});
    // Also if the series of its kind are used up.
    std::vector<LaunchRecord> many;
    for (std::uint32_t k = 0; k < 20; ++k) {
      many.push_back(launch_of_every_form());
      many.back().place->thread = 1000 + k;
    }
    many.push_back(changed);
    many.push_back(launch_of_every_form());
    expect_round_trip(many);
  }
}

TEST_F(Series, ManySeriesAreDistinguished) {
  std::vector<LaunchRecord> launches;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    launches.push_back(vecadd_launch(i));
    launches.back().kernel = "k" + std::to_string(i % 2000);
  }
  expect_round_trip(launches);
}

TEST_F(Series, ShapesAndStreamsOfLaunchesMayDiffer) {
  LaunchRecord other = placed_launch(1);
  other.grid[0] = 7;
  other.place->stream = 9;
  EXPECT_THAT(split(written({placed_launch(0), other, placed_launch(0), other}), '\n'), SizeIs(7))
      << "two series, four launches, the end";
  // After some, launches have what differs themselves.
  std::vector<LaunchRecord> launches;
  for (std::uint32_t i = 0; i < 40; ++i) {
    launches.push_back(placed_launch(i));
    launches.back().grid[0] += i;
  }
  launches.push_back(other);
  const std::string text = written(launches);
  EXPECT_THAT(split(text, '\n'), SizeIs(16 + 41 + 1));
  EXPECT_THAT(
      text, EndsWith(R"json("values":[5,[22,2]],"grid":[7,1,1],"place":{"correlation":1,)json"  // english: ok
                     R"json("begin_us":1001,"end_us":1011,"stream":9}})json"
                     "\n"));
  EXPECT_EQ(read_back(text), complete(launches));
}

TEST_F(Series, LaunchesTakeAQuarterOfTheirCompleteLines) {
  LaunchRecord record = placed_launch();
  record.results.clear();
  for (const char* const name : {"thread_instructions", "warp_instructions", "memory", "branches"})
    record.results.push_back(number<std::uint64_t>(name, 1048576, "instructions"));
  std::string labels_of_all = "#0 parameter 0, example::DeviceArray<float>::DeviceArray(float const&)+0x2a";
  for (const char* const name : {"arrays.words", "arrays.accesses", "arrays.least"}) {
    ResultValue column = array<std::uint64_t>(name, {20000, 20000});
    column.table = "arrays";
    column.labels = {labels_of_all, labels_of_all};
    record.results.push_back(column);
  }
  SeriesWriter writer(numbers_);
  writer.lines_of(record);
  ++record.launch;
  EXPECT_LT(4 * writer.lines_of(record).size(), json_line_of(record).size());
}

TEST_F(Series, NumbersDifferInAllFilesOfAProcess) {
  SeriesWriter one, other;
  const auto number_in = [](const std::string& text) {
    const std::size_t at = text.find("\"series\":") + 9;
    return text.substr(at, text.find(',', at) - at);
  };
  EXPECT_NE(number_in(one.lines_of(vecadd_launch())), number_in(other.lines_of(vecadd_launch())));
}

TEST_F(Series, ProcessesHaveTheirOwn) {
  SeriesWriter one(numbers_);
  std::atomic<std::uint64_t> others = 0;
  SeriesWriter other(others);
  LaunchRecord gemm = vecadd_launch();
  gemm.kernel = "gemm";
  std::string text = one.lines_of(vecadd_launch(), "00000000000a");
  text += other.lines_of(gemm, "00000000000b");
  text += one.lines_of(vecadd_launch(1), "00000000000a");
  text += other.lines_of(gemm, "00000000000b");
  EXPECT_THAT(text, HasSubstr(R"("process":"00000000000b","series":0)"));
  const Reading reading = read_json_lines(text, "a");
  std::vector<std::string> found;
  for (const Record& record : reading.records) {
    const auto& launch = std::get<LaunchRecord>(record);
    found.push_back(launch.kernel + " " + launch.process);
  }
  EXPECT_THAT(found, ElementsAre("_Z6vecaddPKfS0_Pfi 00000000000a", "gemm 00000000000b",
                                 "_Z6vecaddPKfS0_Pfi 00000000000a", "gemm 00000000000b"));
}

TEST_F(Series, FileIsReadUpToWhereItIsCut) {
  const std::string text = written({placed_launch(0), launch_of_every_form(), placed_launch(1)});
  std::set<std::size_t> launches;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const Reading reading = read_json_lines(std::string_view(text).substr(0, size), "a");
    EXPECT_LE(reading.diagnostics.size(), 1u) << size;
    launches.insert(reading.records.size());
  }
  EXPECT_THAT(launches, ElementsAre(0, 1, 2, 3));
}

TEST_F(Series, LaunchWithoutItsSeriesIsReported) {
  const std::string text = written({placed_launch(0), placed_launch(1)});
  const std::string cut = text.substr(text.find('\n') + 1);
  const Reading reading = read_json_lines(cut + complete({placed_launch(2)}), "a");
  EXPECT_THAT(reading.records, SizeIs(1));
  EXPECT_EQ(render(reading.diagnostics),
            "a:1:1: error: series 0 is not defined before\na:2:1: error: series 0 is not defined before\n");
}

class Malformed : public Series {
 protected:
  std::string complaint_about(const std::string& from, const std::string& to) {
    std::string text = written({launch_of_every_form()});
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return "'" + from + "' is not in " + text;
    text.replace(at, from.size(), to);
    const Reading reading = read_json_lines(text, "a");
    EXPECT_THAT(reading.records, SizeIs(reading.diagnostics.empty() ? 1 : 0));
    return reading.diagnostics.empty() ? "" : reading.diagnostics[0].message;
  }
};

TEST_F(Malformed, SeriesAreReported) {
  EXPECT_EQ(complaint_about("\"series\":0", "\"series\":-1"), "member 'series' is not a count");
  EXPECT_EQ(complaint_about("\"columns\":[", "\"colons\":["), "member 'columns' is not an array");
  EXPECT_EQ(complaint_about("\"columns\":[", "\"columns\":[1,"), "member 'columns[0]' is not an object");
  EXPECT_EQ(complaint_about("\"name\":\"greatest\"", "\"nome\":1"),
            "member 'columns[0].name' is not a string");
  EXPECT_EQ(complaint_about("\"ratio\":true", "\"ratio\":1"),
            "member 'columns[4].ratio' is not true or false");
  EXPECT_EQ(complaint_about("\"labels\":{\"arrays\":", "\"labels\":{\"arrays\":3,\"a\":"),
            "member 'labels.arrays' is not an array");
  EXPECT_EQ(complaint_about("\"labels\":{\"arrays\":", "\"labels\":4,\"a\":{\"arrays\":"),
            "member 'labels' is not an object");
  EXPECT_EQ(complaint_about("\"ordinal\":1", "\"ordinal\":\"1\""), "member 'place.ordinal' is not a count");
}

TEST_F(Malformed, LaunchesAreReported) {
  EXPECT_EQ(complaint_about("\"launch\":7", "\"launch\":null"), "member 'launch' is not a count");
  EXPECT_EQ(complaint_about("\"values\":[", "\"values\":[1,"), "member 'values' is not a value per column");
  EXPECT_EQ(complaint_about("\"values\":[", "\"valued\":["), "member 'values' is not a value per column");
  const std::string bad = "' is not the value of its column";
  EXPECT_EQ(complaint_about("[18446744073709551615,", "[\"1\","), "member 'values[0]" + bad);
  EXPECT_EQ(complaint_about("[18446744073709551615,", "[[1],"), "member 'values[0]" + bad);
  EXPECT_EQ(complaint_about("[18446744073709551615,", "[{\"values\":1},"), "member 'values[0]" + bad);
  EXPECT_EQ(complaint_about("[3,0]", "[3]"), "member 'values[4]" + bad);
  EXPECT_EQ(complaint_about("[3,0]", "[3,\"0\"]"), "member 'values[4]" + bad);
  EXPECT_EQ(complaint_about("[3,0]", "[[3],[0]]"), "member 'values[4]" + bad);
  EXPECT_EQ(complaint_about("[1.5,null]", "1.5"), "member 'values[5]" + bad);
  EXPECT_EQ(complaint_about("[1,2,3,4,5,6]", "[1,2,3,4,5]"),
            "member 'values[6]' is not an array with its column's extents");
  EXPECT_EQ(complaint_about("[[1,5,0],[2,0,3]]", "[[1,5,0],[2,0]]"),
            "member 'values[8]' is not an array with its column's extents");
  EXPECT_EQ(complaint_about("\"underflow\":[5,6]", "\"underflow\":[5]"),
            "member 'values[9]' is not an array with its column's extents");
  EXPECT_EQ(complaint_about("\"underflow\":[5,6]", "\"underflow\":5"),
            "member 'values[9].underflow' is not an array");
  EXPECT_EQ(complaint_about("\"correlation\":7", "\"correlation\":-7"),
            "member 'place.correlation' is not a count");
}

TEST_F(Series, MergedFilesKeepTheirSeries) {
  TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const std::uint64_t rank : {0u, 1u}) {
    ProcessRecord process;
    SitesRecord sites = small_sites(0);
    sites.opcodes[0] = "ld.global.b" + std::to_string(8 << rank);
    LaunchRecord launch = placed_launch(rank);
    launch.kernel = "k";
    launch.sites = 0;
    // Both name the same process: the second is renamed.
    process.process = "00000000000a";
    process.rank = rank;
    std::atomic<std::uint64_t> numbers = 0;
    SeriesWriter writer(numbers);
    paths.push_back(folder.file("rank" + std::to_string(rank)));
    std::string lines = json_line_of(process) + json_line_of(sites);
    for (int i = 0; i < 2; ++i) lines += writer.lines_of(launch, process.process);
    ASSERT_TRUE(write_file(paths.back(), lines));
  }
  std::string text;
  Merger merger([&](std::string_view line) { text += line; });
  Diagnostics problems;
  for (const std::string& path : paths) ASSERT_TRUE(merger.add(path, problems).ok());
  EXPECT_EQ(render(problems), "");
  const Reading reading = read_json_lines(text, "merged");
  EXPECT_EQ(render(reading.diagnostics), "");
  std::vector<std::uint64_t> tables;
  std::set<std::string> processes;
  for (const Record& record : reading.records) {
    const auto* const launch = std::get_if<LaunchRecord>(&record);
    if (launch == nullptr) continue;
    tables.push_back(*launch->sites);
    processes.insert(launch->process);
  }
  EXPECT_THAT(tables, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(processes, SizeIs(2));
}

}  // namespace
}  // namespace lynxpp::report
