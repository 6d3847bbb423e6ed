// `lynxpp report` over files of records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;
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

TEST_F(Report, BadLinesAreNamedAndTheOthersShown) {
  const std::string path = folder_.write("bad.jsonl", std::string("nonsense\n") + launch);
  const Outcome outcome = lynxpp({"report", path});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("bad.jsonl:1:"));
  EXPECT_THAT(outcome.out, HasSubstr("k(float*)"));
}

TEST_F(Report, AFileWithoutRecordsIsAMistake) {
  for (const char* text : {"", "\n\n", "nonsense\n"}) {
    const std::string path = folder_.write("none.jsonl", text);
    const Outcome outcome = lynxpp({"report", path});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(path + " holds no records"));
  }
  EXPECT_EQ(lynxpp({"report", "/dev/null", "-f", "csv"}).exit_code, 1);
}

TEST_F(Report, MistakesAreNamed) {
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
