// Records of many processes: merged, grouped, and in separate files.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <map>
#include <sstream>

#include "report/cluster/by_group.h"
#include "report/cluster/device_files.h"
#include "report/cluster/json_members.h"
#include "report/cluster/merge.h"
#include "report/cluster/record_lines.h"
#include "report/reader.h"
#include "report/summary.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

ProcessRecord process_of(std::uint64_t rank) {
  ProcessRecord record;
  record.process = "00000000000" + std::to_string(rank);
  record.host = "node" + std::to_string(rank / 2);
  record.pid = 100 + rank;
  record.rank = rank;
  return record;
}

LaunchRecord launch_of(std::uint64_t value, const std::string& module = "00000000c0de") {
  LaunchRecord record = vecadd_launch();
  record.results = {number<std::uint64_t>("thread_instructions", value)};
  record.place.emplace();
  record.place->module = module;
  return record;
}

class Cluster : public ::testing::Test {
 protected:
  std::string written(const std::string& name, const std::string& text) const {
    std::string path = folder_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  /// Returns what a process writes.
  std::string written_by(const ProcessRecord& process, const std::vector<Record>& records) const {
    std::string path = folder_.file("rank" + std::to_string(process.rank.value_or(0)) + ".jsonl");
    const std::unique_ptr<Sink> sink = make_json_lines_sink(path);
    sink->process(process);
    replay(records, *sink);
    return path;
  }
  std::string merged(const std::vector<std::string>& paths) {
    std::string text;
    Merger merger([&](std::string_view line) { text += line; });
    for (const std::string& path : paths) {
      const Status added = merger.add(path, problems_);
      if (!added) ADD_FAILURE() << render(added.error().diagnostics);
    }
    return text;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
  Diagnostics problems_;
};

TEST(JsonMembers, KeepTheirSourceText) {
  std::vector<JsonMember> members;
  ASSERT_TRUE(split_members(R"( {"a": [1,{"b":"]}"}] ,"c\"d":"x\\" , "e":-1.5e3} )", members));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].value, R"([1,{"b":"]}"}])");
  EXPECT_EQ(members[1].name, R"(c\"d)");
  EXPECT_EQ(members[1].value, R"("x\\")");
  EXPECT_EQ(find_member(members, "e"), "-1.5e3");
  EXPECT_TRUE(find_member(members, "f").empty());
  ASSERT_TRUE(split_members("{}", members));
  EXPECT_TRUE(members.empty());
  for (const char* const text :
       {"", "[]", "{\"a\":1", "{\"a\"}", "{\"a\":}", "{\"a\":1}}", "{\"a\":[1}", "{\"a\":\"1}", "{\"a\":1,}"})
    EXPECT_FALSE(split_members(text, members)) << text;
}

TEST_F(Cluster, ProcessPrecedesItsRecordsOnce) {
  const std::string path =
      written_by(process_of(3), {launch_of(5), CoverageRecord{"k", true, "", 1, 1, 1, {}}});
  const Result<Reading> reading = read_json_lines_file(path);
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->records.size(), 3u) << render(reading->diagnostics);
  const auto& process = std::get<ProcessRecord>(reading->records[0]);
  EXPECT_EQ(process.process, "000000000003");
  EXPECT_EQ(process.host, "node1");
  EXPECT_EQ(process.rank, 3u);
  const auto& launch = std::get<LaunchRecord>(reading->records[1]);
  EXPECT_EQ(launch.process, "000000000003");
  ASSERT_TRUE(launch.place.has_value());
  EXPECT_EQ(launch.place->module, "00000000c0de");
}

TEST_F(Cluster, ProcessThatWritesNothingHasNoRecord) {
  EXPECT_TRUE(read_json_lines_file(written_by(process_of(1), {}))->records.empty());
}

TEST_F(Cluster, MergedRecordsNameTheirProcess) {
  const std::string text =
      merged({written_by(process_of(0), {launch_of(5)}), written_by(process_of(1), {launch_of(7)})});
  EXPECT_TRUE(problems_.empty()) << render(problems_);
  const Reading reading = read_json_lines(text, "merged");
  ASSERT_EQ(reading.records.size(), 4u) << text;
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[1]).process, "000000000000");
  EXPECT_EQ(std::get<ProcessRecord>(reading.records[2]).rank, 1u);
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[3]).process, "000000000001");
  // Merging a merged file changes nothing.
  EXPECT_EQ(merged({written("all.jsonl", text)}), text);
}

TEST_F(Cluster, FileGivenTwiceHasOneHeader) {
  const std::string path = written_by(process_of(0), {launch_of(5)});
  const std::string text = merged({path, path});
  EXPECT_EQ(lines_of(text).size(), 5u) << "the header once, the series and its launch twice\n" << text;
}

TEST_F(Cluster, MergedFilesAreMergedAgainWithTheirSites) {
  const auto with_sites = [](std::uint64_t table) {
    LaunchRecord record = launch_of(table);
    record.kernel = "k";
    record.sites = table;
    return record;
  };
  SitesRecord other = small_sites(0);
  other.opcodes = {"st.global.f32", "bra"};
  const std::string of_two = merged({written_by(process_of(0), {small_sites(0), with_sites(0)}),
                                     written_by(process_of(1), {other, with_sites(0)})});
  const std::string first = merged({written_by(process_of(2), {other, with_sites(0)})});
  const Reading reading =
      read_json_lines(merged({written("2.jsonl", first), written("0-1.jsonl", of_two)}), "merged");
  std::map<std::uint64_t, std::string> first_opcode;
  std::map<std::string, std::string> by_process;
  for (const Record& record : reading.records) {
    if (const auto* sites = std::get_if<SitesRecord>(&record)) first_opcode[sites->table] = sites->opcodes[0];
    if (const auto* launch = std::get_if<LaunchRecord>(&record))
      by_process[launch->process] = first_opcode[*launch->sites];
  }
  EXPECT_EQ(by_process, (std::map<std::string, std::string>{{"000000000000", "ld.global.f32"},
                                                            {"000000000001", "st.global.f32"},
                                                            {"000000000002", "st.global.f32"}}));
}

TEST_F(Cluster, RecordsWithoutProcessGetOneThatNamesTheirFile) {
  const std::string old = json_line_of(vecadd_launch(0)) + json_line_of(vecadd_launch(1));
  const std::string text = merged({written("old.jsonl", old), written("older.jsonl", old)});
  const Reading reading = read_json_lines(text, "merged");
  ASSERT_EQ(reading.records.size(), 6u) << text;
  const auto& first = std::get<ProcessRecord>(reading.records[0]);
  EXPECT_EQ(first.file, folder_.file("old.jsonl"));
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[2]).process, first.process);
  const auto& second = std::get<ProcessRecord>(reading.records[3]);
  EXPECT_NE(second.process, first.process);
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[5]).process, second.process);
}

TEST_F(Cluster, ProcessesWithEqualNamesAreRenamed) {
  ProcessRecord other = process_of(0);
  other.host = "elsewhere";
  other.rank = 9;
  const std::string text =
      merged({written_by(process_of(0), {launch_of(5)}), written_by(other, {launch_of(7)})});
  const Reading reading = read_json_lines(text, "merged");
  ASSERT_EQ(reading.records.size(), 4u) << text;
  const auto& second = std::get<ProcessRecord>(reading.records[2]);
  EXPECT_EQ(second.host, "elsewhere");
  EXPECT_NE(second.process, "000000000000");
  EXPECT_EQ(std::get<LaunchRecord>(reading.records[3]).process, second.process);
}

TEST_F(Cluster, TablesOfSitesAreWrittenOnce) {
  const auto with_sites = [](std::uint64_t table, std::uint64_t value) {
    LaunchRecord record = launch_of(value);
    record.kernel = "k";
    record.sites = table;
    record.results.push_back(by_site("executed", "INSTRUCTIONS", {value, value, value}));
    return record;
  };
  SitesRecord other = small_sites(0);
  other.opcodes = {"st.global.f32", "bra"};
  // Rank 1 saw them in the other order.
  const std::string text =
      merged({written_by(process_of(0), {small_sites(0), with_sites(0, 1)}),
              written_by(process_of(1), {other, with_sites(0, 2), small_sites(1), with_sites(1, 3)}),
              written_by(process_of(2), {small_sites(0), with_sites(0, 4)})});
  const Reading reading = read_json_lines(text, "merged");
  std::map<std::uint64_t, std::string> first_opcode;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> launches;  // table and value
  for (const Record& record : reading.records) {
    if (const auto* sites = std::get_if<SitesRecord>(&record)) first_opcode[sites->table] = sites->opcodes[0];
    if (const auto* launch = std::get_if<LaunchRecord>(&record))
      launches.emplace_back(*launch->sites,
                            std::get<std::vector<std::uint64_t>>(launch->results[0].values)[0]);
  }
  EXPECT_EQ(first_opcode, (std::map<std::uint64_t, std::string>{{0, "ld.global.f32"}, {1, "st.global.f32"}}));
  EXPECT_EQ(launches, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1}, {1, 2}, {0, 3}, {0, 4}}));
}

TEST_F(Cluster, InvalidLinesAreReportedAndSkipped) {
  const std::string line = json_line_of(launch_of(5));
  const std::string text =
      merged({written("cut.jsonl", line + "{\"a\":1}\n" + line.substr(0, line.size() / 2))});
  EXPECT_EQ(lines_of(text).size(), 2u);
  ASSERT_EQ(problems_.size(), 2u);
  EXPECT_EQ(problems_[0].location.line, 2u);
  EXPECT_EQ(problems_[1].location.line, 3u);
}

TEST_F(Cluster, CompressedFilesAreRead) {
  const std::string line = json_line_of(launch_of(5));
  const std::string path = folder_.file("a.jsonl.gz");
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzwrite(file, line.data(), static_cast<unsigned>(line.size()));
  gzclose(file);
  EXPECT_EQ(lines_of(merged({path})).size(), 2u);
  SummarySink sink;
  StreamedReading reading;
  ASSERT_TRUE(stream_json_lines_file(path, sink, reading).ok());
  EXPECT_EQ(reading.records, 1u);
}

/// A few thousand compressed bytes can contain a line of gigabytes.
TEST_F(Cluster, ReadingStopsAtALineThatIsTooLong) {
  const std::string path = folder_.file("long.jsonl.gz");
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  const std::string long_line(std::size_t{3} << 20, ' ');
  gzwrite(file, "{}\n", 3);
  gzwrite(file, long_line.data(), static_cast<unsigned>(long_line.size()));
  gzclose(file);
  const auto read = [&](std::size_t longest) {
    Result<RecordLines> lines = RecordLines::open(path, longest);
    std::vector<std::size_t> sizes;
    while (const auto line = lines->next()) sizes.push_back(line->size());
    return std::pair(sizes,
                     lines->status() ? std::string() : lines->status().error().diagnostics.front().message);
  };
  EXPECT_EQ(read(1 << 22), std::pair(std::vector<std::size_t>{2, long_line.size()}, std::string()));
  EXPECT_EQ(read(1 << 20),
            std::pair(std::vector<std::size_t>{2}, path + ":2: the line is longer than 1048576 bytes"));
}

TEST_F(Cluster, UnreadableFileIsAFailure) {
  Merger merger([](std::string_view) {});
  EXPECT_FALSE(merger.add(folder_.file("none.jsonl"), problems_).ok());
  EXPECT_FALSE(merger.add(folder_.path(), problems_).ok());
}

TEST(ByGroup, GroupsHaveAColumnEach) {
  GroupSink sink(Grouping::rank);
  for (const std::uint64_t rank : {10u, 2u}) {
    sink.process(process_of(rank));
    LaunchRecord launch = launch_of(100 * rank);
    launch.process = process_of(rank).process;
    sink.launch(launch);
    sink.launch(launch);
  }
  const std::string text = sink.to_text(100);
  EXPECT_NE(text.find("instruction_count, 2 groups"), std::string::npos) << text;
  EXPECT_LT(text.find("rank 2"), text.find("rank 10")) << text;
  EXPECT_NE(text.find("2,000"), std::string::npos) << text;
  EXPECT_NE(text.find("1.667"), std::string::npos) << text << "greatest over mean: 2000 / 1200";
  std::string csv;
  sink.write_csv([&](std::string_view line) { csv += line; });
  EXPECT_NE(csv.find(",thread_instructions,,rank 2,2,400\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",thread_instructions,,rank 10,2,2000\n"), std::string::npos) << csv;
}

TEST(ByGroup, MeanIgnoresGroupsWithoutAValue) {
  GroupSink sink(Grouping::rank);
  for (const std::uint64_t rank : {0u, 1u, 2u}) {
    sink.process(process_of(rank));
    LaunchRecord launch = launch_of(0);
    launch.process = process_of(rank).process;
    launch.results = {ratio("hit_rate", 1 + rank, rank == 1 ? 0 : 4)};
    sink.launch(launch);
  }
  const std::string text = sink.to_text(100);
  EXPECT_NE(text.find("0.500"), std::string::npos) << text << "mean of 1 / 4 and 3 / 4";
  EXPECT_NE(text.find("1.500"), std::string::npos) << text << "greatest over mean";
}

TEST(ByGroup, ManyGroupsAreReducedToTheirExtremes) {
  GroupSink sink(Grouping::process);
  for (std::uint64_t rank = 0; rank < 9; ++rank) {
    sink.process(process_of(rank));
    LaunchRecord launch = launch_of(rank == 4 ? 1000 : 100);
    launch.process = process_of(rank).process;
    sink.launch(launch);
  }
  const std::string text = sink.to_text(100);
  EXPECT_NE(text.find("1,000 (node2 104)"), std::string::npos) << text;
  EXPECT_NE(text.find("greatest"), std::string::npos) << text;
}

TEST(ModulesApart, KernelsWithEqualNamesHaveSeparateTotals) {
  SummarySink sink;
  sink.launch(launch_of(5, "00000000000a"));
  sink.launch(launch_of(7, "00000000000b"));
  sink.launch(launch_of(5, "00000000000a"));
  ASSERT_EQ(sink.summary().specifications.size(), 1u);
  const std::vector<KernelTotals>& kernels = sink.summary().specifications[0].kernels;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].launches, 2u);
  EXPECT_EQ(kernels[1].module, "00000000000b");
}

TEST(CoverageOfManyProcesses, IsAddedUp) {
  SummarySink sink;
  sink.coverage({"k", false, "no PTX", 2, 0, 0, {"a"}});
  sink.coverage({"k", true, "", 3, 3, 7, {"a", "b"}});
  ASSERT_EQ(sink.summary().coverage.size(), 1u);
  const CoverageRecord& total = sink.summary().coverage[0];
  EXPECT_EQ(total.launches, 5u);
  EXPECT_EQ(total.instrumented_launches, 3u);
  EXPECT_EQ(total.notes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(gap_of(total), "no PTX");
}

TEST_F(Cluster, EachDeviceHasAFile) {
  const std::unique_ptr<Sink> sink = make_device_files([&](std::uint64_t device) {
    return make_json_lines_sink(folder_.file("gpu" + std::to_string(device)));
  });
  sink->process(process_of(0));
  sink->sites(small_sites());
  for (const std::uint64_t device : {1u, 0u, 1u}) {
    LaunchRecord launch = launch_of(device);
    launch.kernel = "k";
    launch.sites = 0;
    launch.place->ordinal = device;
    sink->launch(launch);
  }
  sink->coverage({"k", true, "", 3, 3, 1, {}});
  sink->finish();
  EXPECT_EQ(read_json_lines_file(folder_.file("gpu1"))->records.size(), 5u)
      << "process, sites, two launches, coverage";
  EXPECT_EQ(read_json_lines_file(folder_.file("gpu0"))->records.size(), 3u) << "process, sites, a launch";
}

}  // namespace
}  // namespace lynxpp::report
