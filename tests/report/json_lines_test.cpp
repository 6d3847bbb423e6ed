#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "report/record.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

class JsonLines : public testing::Test {
 protected:
  std::string written() const {
    std::string text;
    EXPECT_TRUE(read_file(path_, text));
    return text;
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("out.jsonl");
};

TEST(CompleteLaunch, IsOneObjectWithItsMembersInOrder) {
  EXPECT_EQ(
      json_line_of(vecadd_launch(3)),
      R"json({"record":"launch","kernel":"_Z6vecaddPKfS0_Pfi","demangled":"vecadd(float const*, float const*, float*, int)",)json"
      R"json("device":"cpu","spec":"instruction_count","launch":3,)json"
      R"json("results":{"thread_instructions":1234567,"warp_instructions":38593},"grid":[40,1,1],"block":[256,1,1]})json"
      "\n");
}

TEST(CompleteLaunch, NumbersStayExactAndNonFiniteOnesAreNull) {
  LaunchRecord record = vecadd_launch();
  record.results = {number("greatest", std::numeric_limits<std::uint64_t>::max()),
                    number("least", std::numeric_limits<std::int64_t>::min()),
                    number("whole", 2.0),
                    number("tenth", 0.1),
                    number("huge", 1e300),
                    number("nothing", std::nan("")),
                    array<double>("row", {1.5, HUGE_VAL, -HUGE_VAL}),
                    array<std::uint64_t>("counts", {1, 2, 3, 4, 5, 6}, {2, 3}),
                    array<std::uint64_t>("none", {}, {0})};
  EXPECT_THAT(
      json_line_of(record),
      testing::HasSubstr(
          R"json("results":{"greatest":18446744073709551615,"least":-9223372036854775808,"whole":2.0,"tenth":0.1,)json"
          R"json("huge":1e+300,"nothing":null,"row":{"extents":[3],"values":[1.5,null,null]},)json"
          R"json("counts":{"extents":[2,3],"values":[1,2,3,4,5,6]},"none":{"extents":[0],"values":[]}})json"));
}

TEST(CompleteLaunch, UnitsAndNotesAppearWhenThereAreAny) {
  LaunchRecord record = vecadd_launch();
  record.results = {number<std::uint64_t>("cycles", 7, "clock cycles"), number<std::uint64_t>("blocks", 2)};
  record.notes = {"3 accesses out of bounds"};
  EXPECT_THAT(
      json_line_of(record),
      testing::EndsWith(R"json("results":{"cycles":7,"blocks":2},"units":{"cycles":"clock cycles"},)json"
                        R"json("grid":[40,1,1],"block":[256,1,1],)json"
                        R"json("notes":["3 accesses out of bounds"]})json"
                        "\n"));
}

TEST(CompleteLaunch, RatiosHaveValueNumeratorAndDenominator) {
  LaunchRecord record = vecadd_launch();
  record.results = {ratio("r", 3, 4, "lanes"), ratio("none", 3, 0)};
  ResultValue means = array<std::uint64_t>("words.mean", {1, 5});
  means.denominators = std::vector<std::uint64_t>{2, 0};
  means.fold = Fold::mean;
  means.left_out = 7;
  record.results.push_back(means);
  EXPECT_THAT(
      json_line_of(record),
      testing::HasSubstr(
          R"json("results":{"r":{"value":0.75,"numerator":3,"denominator":4},"none":{"value":null,"numerator":3,)json"
          R"json("denominator":0},"words.mean":{"extents":[2],"fold":"mean","left_out":7,"denominators":[2,0],)json"
          R"json("numerators":[1,5],"values":[0.5,null]}},"units":{"r":"lanes"})json"));
}

TEST(CompleteLaunch, ModelledTimeNamesItsMachine) {
  LaunchRecord record = vecadd_launch();
  record.modelled = ModelledTime{"compute_1_3", 1200, 0.5, 8, 16, {3, 4}, {}, ModelledTime::Cache{7, 9}};
  EXPECT_THAT(
      json_line_of(record),
      testing::HasSubstr(R"json("modelled":{"machine":"compute_1_3","cycles":1200.0,"seconds":0.5,)json"
                         R"json("blocks_per_sm":8,"warps_per_sm":16,"partitions":[3,4],)json"
                         R"json("l2":{"hits":7,"misses":9}},"results":)json"));
}

TEST_F(JsonLines, CoverageAndTiming) {
  const auto sink = make_json_lines_sink(path_);
  sink->coverage({"k", false, "no PTX in the image (only \"sm_75\")", 4, 0, 0, {}});
  sink->coverage({"k", true, "", 4, 4, 12, {"a note"}});
  sink->timing({"k", 1, 0.25, 0, 10, 3});
  sink->finish();
  EXPECT_EQ(
      written(),
      R"json({"record":"coverage","kernel":"k","demangled":"k","instrumented":false,)json"
      R"json("reason":"no PTX in the image (only \"sm_75\")","launches":4,"instrumented_launches":0,"sites":0,"notes":[]})json"
      "\n"
      R"json({"record":"coverage","kernel":"k","demangled":"k","instrumented":true,"reason":"","launches":4,)json"
      R"json("instrumented_launches":4,"sites":12,"notes":["a note"]})json"
      "\n"
      R"json({"record":"timing","kernel":"k","demangled":"k","parse_ms":1.0,"instrument_ms":0.25,"emit_ms":0.0,)json"
      R"json("load_ms":10.0,"execute_ms":3.0,"launches":0,"device":""})json"
      "\n");
}

TEST_F(JsonLines, BytesThatAreNotUtf8AreReplaced) {
  make_json_lines_sink(path_)->coverage({"k\xff\n", true, "", 1, 1, 1, {}});
  EXPECT_THAT(written(), testing::HasSubstr("\"kernel\":\"k\xEF\xBF\xBD\\n\""));
}

TEST_F(JsonLines, AppendsToAnExistingFile) {
  ASSERT_TRUE(write_file(path_, "{}\n"));
  make_json_lines_sink(path_)->timing({"k", 0, 0, 0, 0, 0});
  EXPECT_THAT(written(), testing::StartsWith("{}\n{\"record\":\"timing\""));
}

TEST_F(JsonLines, EveryRecordIsInTheFileWhenTheCallReturns) {
  const auto sink = make_json_lines_sink(path_);
  sink->launch(vecadd_launch());
  EXPECT_THAT(written(), testing::EndsWith("}\n"));
}

TEST(JsonLinesFailure, FileThatCannotBeOpenedGivesNoSink) {
  EXPECT_EQ(make_json_lines_sink("/no/such/folder/out.jsonl"), nullptr);
}

TEST(JsonLinesFailure, FullDiskIsReportedOnce) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto sink = make_json_lines_sink("/dev/full");
  ASSERT_NE(sink, nullptr);
  testing::internal::CaptureStderr();
  sink->launch(vecadd_launch(0));
  sink->launch(vecadd_launch(1));
  sink->finish();
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "lynxpp: error: cannot write /dev/full: No space left on device; later records will be missing\n");
}

TEST_F(JsonLines, FileAtItsSizeLimitHasCompleteLines) {
  const CoverageRecord record{"k", true, "", 1, 1, 1, {}};
  make_json_lines_sink(path_)->coverage(record);
  const std::string line = written();
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = line.size() * 5 / 2;
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::unique_ptr<Sink> sink = make_json_lines_sink(path_);
    for (int i = 0; i < 3; ++i) sink->coverage(record);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "SIGXFSZ has ended it";
  EXPECT_EQ(written(), line + line);
}

/// Otherwise the program would wait for a reader until it is killed.
TEST_F(JsonLines, PipeWithoutAReaderGivesNoSink) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(make_json_lines_sink(path_), nullptr);
}

TEST_F(JsonLines, ClosedReaderDoesNotKillTheProcess) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const auto sink = make_json_lines_sink(path_);
  ASSERT_NE(sink, nullptr);
  ::close(reader);
  testing::internal::CaptureStderr();
  sink->launch(vecadd_launch());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("Broken pipe"));
}

}  // namespace
}  // namespace lynxpp::report
