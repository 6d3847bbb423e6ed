// `lynxpp report` on files of records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* launch =
    R"json({"record":"launch","kernel":"_Z1kPf","demangled":"k(float*)","launch":0,"device":"cpu",)json"
    R"json("grid":[2,1,1],"block":[32,1,1],"spec":"s","results":{"cycles":12},"units":{"cycles":"cycles"}})json"
    "\n";

class Report : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string file_ = folder_.write("out.jsonl", launch);
};

TEST_F(Report, ShowsTheTableOfTheRun) {
  const Outcome outcome = lynxpp({"report", file_});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "== lynxpp: s on cpu ==\nkernel     launches  grid  block  cycles\n"
            "k(float*)         1     2     32      12\n");
}

TEST_F(Report, BeginsWithTheShareThatWasCounted) {
  const auto coverage = [](const std::string& kernel, int launches, bool is_counted) {
    const std::string many = std::to_string(launches);
    return R"json({"record":"coverage","kernel":")json" + kernel + R"json(","demangled":")json" + kernel +
           R"json(","instrumented":)json" + (is_counted ? "true" : "false") + R"json(,"reason":")json" +
           (is_counted ? "" : "the program carries no PTX for it") + R"json(","launches":)json" + many +
           R"json(,"instrumented_launches":)json" + (is_counted ? many : "0") +
           R"json(,"sites":1,"notes":[])json" +
           (is_counted
                ? "}\n"
                : R"json(,"lacks_ptx":true,"shape":{"grid":[7,1,1],"block":[64,2,1],"registers":40}})json"
                  "\n");
  };
  const auto timing = [](const std::string& kernel, int launches, const char* milliseconds) {
    return R"json({"record":"timing","kernel":")json" + kernel + R"json(","demangled":")json" + kernel +
           R"json(","parse_ms":0.0,"instrument_ms":0.0,"emit_ms":0.0,"load_ms":0.0,"execute_ms":)json" +
           milliseconds + R"json(,"launches":)json" + std::to_string(launches) +
           R"json(,"device":"NVIDIA H200"})json"
           "\n";
  };
  const std::string path =
      folder_.write("share.jsonl", launch + coverage("_Z1kPf", 1, true) + coverage("seen", 3, false) +
                                       timing("_Z1kPf", 1, "8.0") + timing("seen", 2, "1.0"));
  const Outcome outcome = lynxpp({"report", path});
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out,
              StartsWith("Counted: 84 % of GPU time (estimated), 25 % of launches, 1 of 2 kernels.\n"
                         "1 of 2 kernels carry no PTX: 75 % of launches, 16 % of GPU time "
                         "(estimated from 2 timed launches); details: "));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("seen +3 +7 +64x2 +40 +1.500  the program carries no PTX"));
}

TEST_F(Report, AddsFilesUp) {
  const Outcome outcome = lynxpp({"report", file_, file_});
  EXPECT_THAT(outcome.out, HasSubstr("k(float*)         2     2     32      24"));
}

TEST_F(Report, WritesEveryFormat) {
  const std::pair<const char*, const char*> beginnings[] = {{"csv", "kernel,demangled,launch,"},
                                                            {"json", R"({"record":"summary")"},
                                                            {"html", "<!DOCTYPE html>"},
                                                            {"plain-html", "<!DOCTYPE html>"},
                                                            {"svg", "<svg "}};
  for (const auto& [format, beginning] : beginnings) {
    const std::string path = folder_.path(std::string("out.") + format);
    EXPECT_EQ(lynxpp({"report", file_, "--format", format, "-o", path}).exit_code, 0);
    std::string text;
    ASSERT_TRUE(read_file(path, text));
    EXPECT_THAT(text, StartsWith(beginning));
    EXPECT_THAT(text, HasSubstr("12"));
  }
}

TEST_F(Report, ReportsInvalidLinesAndShowsTheOthers) {
  const std::string path = folder_.write("bad.jsonl", std::string("nonsense\n") + launch);
  const Outcome outcome = lynxpp({"report", path});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("bad.jsonl:1:"));
  EXPECT_THAT(outcome.out, HasSubstr("k(float*)"));
}

TEST_F(Report, FileWithoutRecordsIsAnError) {
  for (const char* text : {"", "\n\n", "nonsense\n", "text\nof\nanother file\n"}) {
    const std::string path = folder_.write("none.jsonl", text);
    const Outcome outcome = lynxpp({"report", path});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(path + " holds no records\n  hint: `lynxpp record`"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("none.jsonl:2:")));
  }
  EXPECT_EQ(lynxpp({"report", "/dev/null", "-f", "csv"}).exit_code, 1);
}

TEST_F(Report, ReportsErrors) {
  const Outcome missing = lynxpp({"report", folder_.path("none.jsonl")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("cannot read"));
  EXPECT_EQ(lynxpp({"report", "/usr"}).err, "lynxpp: error: cannot read /usr: Is a directory\n");
  EXPECT_EQ(lynxpp({"report"}).exit_code, 2);
  EXPECT_EQ(lynxpp({"report", file_, "-f", "pdf"}).exit_code, 2);
  EXPECT_EQ(lynxpp({"report", file_, "-o", folder_.path("no/such/folder")}).exit_code, 1);
}

}  // namespace
}  // namespace lynxpp::cli
