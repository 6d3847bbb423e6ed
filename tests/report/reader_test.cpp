#include "report/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/tables/tables.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

/// Returns their lines; launch records are complete.
std::string lines_of(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records)
    text += std::visit([](const auto& each) { return json_line_of(each); }, record);
  return text;
}

LaunchRecord rich_launch() {
  LaunchRecord record = vecadd_launch(7);
  record.grid[1] = 3;
  record.block[2] = 4;
  record.results = {number("greatest", std::numeric_limits<std::uint64_t>::max()),
                    number("least", std::numeric_limits<std::int64_t>::min(), "cycles"),
                    number("whole", 2.0),
                    number("nothing", std::nan("")),
                    array<double>("row", {1.5, std::nan("")}),
                    array<std::int64_t>("signs", {-1, 1}),
                    array<std::uint64_t>("counts", {1, 2, 3, 4, 5, 6}, {2, 3}),
                    array<std::uint64_t>("none", {}, {0, 5})};
  record.notes = {"a note", "another"};
  return record;
}

SitesRecord small_table() {
  SitesRecord record;
  record.kernel = "_Z6vecaddPKfS0_Pfi";
  record.table = 1;
  record.functions = {"_Z6vecaddPKfS0_Pfi", "helper"};
  record.opcodes = {"ld.global.f32", "ret"};
  record.files = {"vecadd.cu"};
  record.labels = {{"MEM_READ", "GLOBAL", "FLOATING_POINT"}, {}};
  record.blocks = {{0, 0, 1}, {1, 1, 1}};
  record.instructions = {{0, 0, 0, 31, 0, 12}, {1, 1, 1, 40, SitesRecord::unknown, 0}};
  return record;
}

TEST(Reader, RoundTripsSiteTables) {
  LaunchRecord launch = vecadd_launch();
  launch.sites = 1;
  launch.sampling = {4, 16, 2};
  launch.results = {array<std::uint64_t>("counts", {5, 6})};
  launch.results[0].extent_names = {"INSTRUCTIONS"};
  const Reading reading = read_json_lines(lines_of({small_table(), launch}), "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 2u);
  const auto& table = std::get<SitesRecord>(reading.records[0]);
  const SitesRecord expected = small_table();
  EXPECT_EQ(table.kernel, expected.kernel);
  EXPECT_EQ(table.table, 1u);
  EXPECT_EQ(table.functions, expected.functions);
  EXPECT_EQ(table.opcodes, expected.opcodes);
  EXPECT_EQ(table.files, expected.files);
  EXPECT_EQ(table.labels, expected.labels);
  EXPECT_EQ(table.blocks, expected.blocks);
  EXPECT_EQ(table.instructions, expected.instructions);
  const auto& read = std::get<LaunchRecord>(reading.records[1]);
  EXPECT_EQ(read.sites, 1u);
  EXPECT_EQ(read.sampling.launches, 4u);
  EXPECT_EQ(read.sampling.blocks, 16u);
  EXPECT_EQ(read.sampling.warps, 2u);
  EXPECT_EQ(read.results.at(0).extent_names, std::vector<std::string>{"INSTRUCTIONS"});
}

TEST(Reader, RejectsInconsistentSiteTables) {
  const std::string good = lines_of({small_table()});
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << good;
    text.replace(at, from.size(), to);
    return render(read_json_lines(text, "t").diagnostics);
  };
  EXPECT_THAT(refused("\"opcode\":[0,1]", "\"opcode\":[0,2]"), testing::HasSubstr("is out of range"));
  EXPECT_THAT(refused("\"first\":[0,1]", "\"first\":[0,2]"), testing::HasSubstr("is out of range"));
  EXPECT_THAT(refused("\"line\":[12,0]", "\"line\":[12]"),
              testing::HasSubstr("'instructions.line' is not a column"));
  EXPECT_THAT(refused("\"line\":[12,0]", "\"line\":[12,-1]"),
              testing::HasSubstr("is not a column of counts"));
  EXPECT_THAT(refused("\"labels\":[[", "\"labels\":[3,["),
              testing::HasSubstr("member 'labels[0]' is not an array"));
  EXPECT_THAT(refused("\"blocks\":{", "\"rocks\":{"), testing::HasSubstr("member 'blocks' is not an object"));
}

TEST(Reader, RoundTripsLaunchesThatShareARecord) {
  LaunchRecord record = vecadd_launch(64);
  EXPECT_THAT(lines_of({record}), testing::Not(testing::HasSubstr("shared")));
  record.shared = {1000, 1070};
  const std::string line = lines_of({record});
  EXPECT_THAT(line, testing::HasSubstr(R"("launch":64,"shared":{"launches":1000,"last":1070},)"));
  const Reading reading = read_json_lines(line, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  const auto& read = std::get<LaunchRecord>(reading.records.at(0));
  EXPECT_EQ(read.launches(), 1000u);
  EXPECT_EQ(read.shared->last, 1070u);
  for (const LaunchRecord::Shared& wrong : {LaunchRecord::Shared{1, 64}, {1000, 1062}, {2, 3}, {2, 64}}) {
    record.shared = wrong;
    EXPECT_THAT(render(read_json_lines(lines_of({record}), "t").diagnostics),
                testing::HasSubstr("launches that share a record need a number each"));
  }
}

TEST(Reader, RoundTripsRecords) {
  LaunchRecord timed = rich_launch();
  timed.modelled = ModelledTime{"m", 1.5, 0.25, 1, 2, {3, 4}, ModelledTime::Cache{5, 6}, {}};
  const std::string text = lines_of({timed, CoverageRecord{"k", true, "why", 5, 4, 3, {"n"}},
                                     TimingRecord{"k", 0.5, 1, 2, 3, 4, 1, {}, {}, "gpu", 0.75, "m"}});
  const Reading reading = read_json_lines(text, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 3u);
  const auto& launch = std::get<LaunchRecord>(reading.records[0]);
  EXPECT_EQ(launch.kernel, "_Z6vecaddPKfS0_Pfi");
  EXPECT_EQ(launch.launch, 7u);
  EXPECT_EQ(launch.device, "cpu");
  EXPECT_THAT(launch.grid, testing::ElementsAre(40, 3, 1));
  EXPECT_THAT(launch.block, testing::ElementsAre(256, 1, 4));
  EXPECT_EQ(launch.spec, "instruction_count");
  EXPECT_THAT(launch.notes, testing::ElementsAre("a note", "another"));
  const LaunchRecord expected = rich_launch();
  ASSERT_EQ(launch.results.size(), expected.results.size());
  for (std::size_t i = 0; i < expected.results.size(); ++i) {
    EXPECT_EQ(launch.results[i].name, expected.results[i].name);
    EXPECT_EQ(launch.results[i].unit, expected.results[i].unit);
    EXPECT_EQ(launch.results[i].extents, expected.results[i].extents);
    EXPECT_EQ(launch.results[i].values.index(), expected.results[i].values.index())
        << expected.results[i].name;
  }
  // NaN is not equal to itself, so values are compared as text.
  EXPECT_EQ(lines_of(reading.records), text);
}

TEST(Reader, RoundTripsFoldsAndTexts) {
  LaunchRecord record = vecadd_launch();
  record.results = {number<std::uint64_t>("blocks", 9), number<std::uint64_t>("cycles", 5),
                    array<std::uint64_t>("lines.key", {3, 7})};
  record.results[0].fold = Fold::maximum;
  record.results[2].table = "lines";
  record.results[2].fold = Fold::first;
  record.results[2].texts = {"a.cu:1", "a.cu:2"};
  const Reading reading = read_json_lines(lines_of({record}), "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 1u);
  const auto& results = std::get<LaunchRecord>(reading.records[0]).results;
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].fold, Fold::maximum);
  EXPECT_EQ(results[1].fold, std::nullopt);
  EXPECT_EQ(results[2].fold, Fold::first);
  EXPECT_EQ(results[2].texts, record.results[2].texts);
  record.results[2].texts.pop_back();
  EXPECT_FALSE(read_json_lines(lines_of({record}), "out.jsonl").diagnostics.empty());
}

TEST(Reader, RoundTripsTablesAndHistograms) {
  LaunchRecord record = vecadd_launch();
  ResultValue column = array<std::uint64_t>("lines.key", {7, 9});
  column.table = "lines";
  ResultValue histogram = array<std::uint64_t>("cycles", {1, 2, 3, 4}, {2, 2});
  histogram.bounds = {-4, 0, 4};
  histogram.underflow = {5, 6};
  histogram.overflow = {7, 8};
  record.results = {column, histogram};
  const std::string text = lines_of({record});
  const Reading reading = read_json_lines(text, "out.jsonl");
  ASSERT_EQ(reading.records.size(), 1u);
  const std::vector<ResultValue>& results = std::get<LaunchRecord>(reading.records[0]).results;
  ASSERT_EQ(results.size(), 2u);
  const bool is_first = results[0].name == "cycles";  // an object's members come in any order
  EXPECT_EQ(results[is_first ? 1 : 0].table, "lines");
  const ResultValue& read = results[is_first ? 0 : 1];
  EXPECT_EQ(read.bounds, histogram.bounds);
  EXPECT_EQ(read.underflow, histogram.underflow);
  EXPECT_EQ(read.overflow, histogram.overflow);
}

TEST(Reader, RoundTripsRatiosAndFolds) {
  LaunchRecord record = vecadd_launch();
  ResultValue key = array<std::uint64_t>("lines.key", {7, 9});
  key.table = "lines";
  key.fold = Fold::key;
  key.left_out = 3;
  ResultValue means = array<std::uint64_t>("words.mean", {1, 5});
  means.denominators = std::vector<std::uint64_t>{2, 0};
  record.results = {key, ratio("none", 3, 0), ratio("r", 3, 4), means};
  record.sampling = {1, 4, 1, {{3, 4, 1}, {9, 1, 1}}};
  const std::string text = lines_of({record});
  const Reading reading = read_json_lines(text, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 1u);
  EXPECT_EQ(lines_of(reading.records), text);
  const auto& read = std::get<LaunchRecord>(reading.records[0]);
  EXPECT_EQ(read.results.at(0).fold, Fold::key);
  EXPECT_EQ(read.results.at(0).left_out, 3u);
  EXPECT_EQ(fold_of(read.results.at(2)), Fold::ratio);
  EXPECT_EQ(number_at(read.results.at(2), 0).real, 0.75);
  EXPECT_TRUE(number_at(read.results.at(1), 0).is_nan());
  ASSERT_EQ(read.sampling.handlers.size(), 2u);
  EXPECT_EQ(read.sampling.handlers[1].line, 9u);
}

TEST(Reader, RoundTripsTotals) {
  const TotalRecord record{"spec", {number<std::uint64_t>("launches", 12, "launches")}, {"a note"}};
  const std::string text = lines_of({record});
  EXPECT_EQ(text,
            "{\"record\":\"total\",\"spec\":\"spec\",\"results\":{\"launches\":12},\"units\":{\"launches\":"
            "\"launches\"},\"notes\":[\"a note\"]}\n");
  const Reading reading = read_json_lines(text, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 1u);
  EXPECT_EQ(lines_of(reading.records), text);
}

TEST(Reader, RoundTripsTrials) {
  TrialRecord trial;
  trial.kernel = "_Z6vecaddPKfS0_Pfi";
  trial.module = "0123456789ab";
  trial.device = "gpu";
  trial.grid[0] = 40;
  trial.block[1] = 8;
  trial.shared_bytes = 1024;
  trial.perturbation = "shared-access:again@120+131";
  trial.sites = {{120, "src/a.cu", 7, "ld.shared.f32", ""}, {131, "", 0, "st.shared.f32", "same address"}};
  trial.ms = {0.25, 3, 0.125};
  trial.is_modelled = true;
  trial.registers = 32;
  trial.spill_bytes = 16;
  trial.blocks_per_sm = 4;
  trial.launches = 100;
  trial.replays = 2;
  trial.note = "3 blocks per SM fit instead of 4";
  TrialRecord original;
  original.kernel = "k";
  const std::string text = lines_of({original, trial});
  const Reading reading = read_json_lines(text, "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  EXPECT_EQ(lines_of(reading.records), text);
  ASSERT_EQ(reading.records.size(), 2u);
  EXPECT_TRUE(std::get<TrialRecord>(reading.records[0]).perturbation.empty());
  const auto& read = std::get<TrialRecord>(reading.records[1]);
  EXPECT_EQ(read.module, trial.module);
  EXPECT_EQ(read.sites, trial.sites);
  EXPECT_EQ(read.ms, trial.ms);
  EXPECT_EQ(read.grid[0], 40u);
  EXPECT_EQ(read.block[1], 8u);
  EXPECT_EQ(read.shared_bytes, 1024u);
  EXPECT_TRUE(read.is_modelled);
  EXPECT_EQ(read.registers, 32u);
  EXPECT_EQ(read.spill_bytes, 16u);
  EXPECT_EQ(read.blocks_per_sm, 4u);
  EXPECT_EQ(read.launches, 100u);
  EXPECT_EQ(read.replays, 2u);
  EXPECT_EQ(read.note, trial.note);
}

TEST(Reader, RoundTripsActivitiesAndDevices) {
  DeviceRecord device;
  device.device = "cpu";
  device.multiprocessors = 2;
  device.reserved_shared_per_block = 1024;
  ActivityRecord launch;
  launch.order = 3;
  launch.stream = 1;
  launch.host_ms = 0.5;
  launch.ranges = {"outer", "inner"};
  launch.launch.emplace();
  launch.launch->kernel = "_Z6vecaddPKfS0_Pfi";
  launch.launch->registers = 16;
  launch.launch->array_numbers = {0, 2};
  launch.launch->array_bytes = {400, 800};
  ActivityRecord copy;
  copy.copy = {64, "to device", true};
  ActivityRecord wait;
  wait.wait = true;
  LaunchRecord record = vecadd_launch();
  record.ranges = {"outer"};
  const Reading reading = read_json_lines(lines_of({device, launch, copy, wait, record}), "out.jsonl");
  EXPECT_EQ(render(reading.diagnostics), "");
  ASSERT_EQ(reading.records.size(), 5u);
  EXPECT_EQ(std::get<DeviceRecord>(reading.records[0]).reserved_shared_per_block, 1024u);
  const auto& read = std::get<ActivityRecord>(reading.records[1]);
  EXPECT_EQ(read.ranges, launch.ranges);
  EXPECT_EQ(read.launch->registers, 16u);
  EXPECT_EQ(read.launch->milliseconds, std::nullopt);
  EXPECT_EQ(read.launch->array_bytes, launch.launch->array_bytes);
  EXPECT_TRUE(std::get<ActivityRecord>(reading.records[2]).copy->asynchronous);
  EXPECT_TRUE(std::get<ActivityRecord>(reading.records[3]).wait);
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[4]).ranges, record.ranges);
}

TEST(Reader, ActivityHasOneKind) {
  const Reading reading = read_json_lines(
      "{\"record\":\"activity\",\"order\":0,\"stream\":0,\"host_ms\":0.0,\"wait\":false}\n", "out.jsonl");
  EXPECT_THAT(render(reading.diagnostics), testing::HasSubstr("must be a launch, a copy or a wait"));
}

TEST(Reader, BadLinesAreLocatedAndTheOthersRead) {
  const std::string good = lines_of({CoverageRecord{"k", true, "", 1, 1, 1, {}}});
  const Reading reading = read_json_lines(
      good + "{\"record\":\"launch\",\n\n[1]\n{\"record\":\"banana\"}\n{}\n" + good + good.substr(0, 40),
      "a.jsonl");
  EXPECT_EQ(reading.records.size(), 2u);
  ASSERT_EQ(reading.diagnostics.size(), 5u);
  EXPECT_THAT(render(reading.diagnostics[0]),
              testing::StartsWith(
                  "a.jsonl:2:20: error: syntax error while parsing object key - unexpected end of input"));
  EXPECT_EQ(render(reading.diagnostics[1]), "a.jsonl:4:1: error: not a JSON object\n");
  EXPECT_EQ(render(reading.diagnostics[2]), "a.jsonl:5:1: error: unknown kind of record 'banana'\n");
  EXPECT_EQ(render(reading.diagnostics[3]), "a.jsonl:6:1: error: member 'record' is not a string\n");
  EXPECT_THAT(render(reading.diagnostics[4]), testing::StartsWith("a.jsonl:8:41: error: syntax error"));
}

/// Copying deep values recurses, and each member of an object is compared with all others.
TEST(Reader, DeepAndWideLinesAreLocatedAndTheOthersRead) {
  const std::string good = lines_of({CoverageRecord{"k", true, "", 1, 1, 1, {}}});
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  std::string wide = "{\"record\":\"launch\"";
  for (int i = 0; i < 200000; ++i) wide += ",\"a" + std::to_string(i) + "\":1";
  const Reading reading = read_json_lines(
      "{\"a\":" + deep + ",\"b\":1,\"c\":1,\"d\":1,\"e\":1}\n" + good + wide + "}\n", "a.jsonl");
  EXPECT_EQ(reading.records.size(), 1u);
  EXPECT_EQ(render(reading.diagnostics),
            "a.jsonl:1:105: error: the JSON is nested too deeply here\n"
            "a.jsonl:3:98907: error: the object has more than 10000 members here\n");
}

std::string complaint_about(const std::string& from, const std::string& to) {
  std::string line = lines_of({vecadd_launch()});
  const std::size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  line.replace(at, from.size(), to);
  const Reading reading = read_json_lines(line, "a");
  EXPECT_TRUE(reading.records.empty());
  return reading.diagnostics.empty() ? "" : reading.diagnostics[0].message;
}

TEST(Reader, MembersOfTheWrongKindAreNamed) {
  EXPECT_EQ(complaint_about("\"grid\":[40,1,1]", "\"grid\":[40,1]"), "member 'grid' is not three counts");
  EXPECT_EQ(complaint_about("[40,1,1]", "[40,1,4294967296]"), "member 'grid' is not three counts");
  EXPECT_EQ(complaint_about("\"launch\":0", "\"launch\":-1"), "member 'launch' is not a count");
  EXPECT_EQ(complaint_about("\"device\":\"cpu\"", "\"device\":null"), "member 'device' is not a string");
  EXPECT_EQ(complaint_about("1234567", "\"many\""), "member 'results.thread_instructions' is not a number");
  EXPECT_EQ(complaint_about("1234567", R"({"extents":[2],"values":[1]})"),
            "member 'results.thread_instructions' is not an array with its extents");
  EXPECT_EQ(complaint_about("1234567", R"({"extents":[9223372036854775808,2],"values":[]})"),
            "member 'results.thread_instructions' is not an array with its extents");
  EXPECT_EQ(complaint_about("\"results\"", R"("sampling":{"launches":1,"blocks":2},"results")"),
            "member 'sampling.warps' is not a count");
  EXPECT_EQ(complaint_about("\"results\"", R"("notes":["a",2],"results")"),
            "member 'notes[1]' is not a string");
  for (const char* wrong : {R"("table":5)", R"("bounds":[1],"underflow":[0],"overflow":[0])",
                            R"("bounds":[1,2,3],"underflow":[],"overflow":[0])", R"("bounds":[1,2,3.5])"}) {
    EXPECT_EQ(complaint_about("1234567", R"({"extents":[2],"values":[1,2],)" + std::string(wrong) + "}"),
              "member 'results.thread_instructions' is not an array with its extents");
  }
  EXPECT_EQ(complaint_about("1234567", R"({"value":1,"numerator":"a","denominator":1})"),
            "member 'results.thread_instructions' is not a ratio");
  EXPECT_EQ(complaint_about("1234567", R"({"extents":[2],"values":[1,2],"fold":"product"})"),
            "member 'results.thread_instructions' is not an array with its extents");
  EXPECT_EQ(complaint_about("1234567", R"({"extents":[2],"numerators":[1,2],"denominators":[1]})"),
            "member 'results.thread_instructions' is not an array with its extents");
  EXPECT_EQ(complaint_about("1234567", "1e999"), "number overflow parsing '1e999'");
}

TEST(Reader, SurvivesDeepNesting) {
  const Reading reading = read_json_lines(std::string(1'000'000, '['), "a");
  EXPECT_EQ(reading.diagnostics.size(), 1u);
}

TEST(Reader, UnknownMembersAreSkipped) {
  std::string line = lines_of({vecadd_launch()});
  line.insert(1, "\"later\":[1,{}],");
  EXPECT_EQ(read_json_lines(line, "a").records.size(), 1u);
}

TEST(Reader, MissingFileIsAFailure) {
  const Result<Reading> reading = read_json_lines_file("/no/such/file.jsonl");
  ASSERT_FALSE(reading);
  EXPECT_EQ(render(reading.error().diagnostics),
            "error: cannot read /no/such/file.jsonl: No such file or directory\n");
}

TEST(Tee, PassesEveryRecordToEverySinkAndSkipsMissingOnes) {
  TemporaryFolder folder;
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(make_json_lines_sink(folder.file("a")));
  sinks.push_back(nullptr);
  sinks.push_back(make_json_lines_sink(folder.file("b")));
  replay({vecadd_launch(), CoverageRecord{"k", true, "", 1, 1, 1, {}}, TimingRecord{"k", 1, 1, 1, 1, 1}},
         *make_tee(std::move(sinks)));
  std::string a;
  std::string b;
  ASSERT_TRUE(read_file(folder.file("a"), a));
  ASSERT_TRUE(read_file(folder.file("b"), b));
  const Reading reading = read_json_lines(a, "a");
  EXPECT_EQ(reading.records.size(), 3u);
  EXPECT_EQ(lines_of(reading.records), lines_of(read_json_lines(b, "b").records));
}

}  // namespace
}  // namespace lynxpp::report
