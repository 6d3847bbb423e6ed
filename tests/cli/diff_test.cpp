// `lynxpp diff` on small files of records; compares the whole output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

/// The sites of k: two loads and a store in lines 7 and 8; `extra`: the second load occurs twice.
std::string diff_sites(bool extra) {
  const std::string more = extra ? ",0" : "";
  return R"({"record":"sites","kernel":"k","table":0,"functions":["k"],"opcodes":["ld.global.f32",)"
         R"("st.global.f32"],"files":["/src/k.cu"],"labels":[[]],"blocks":{"function":[0],"first":[0],)"
         R"("instructions":[)" +
         std::string(extra ? "4" : "3") + R"(]},"instructions":{"block":[0,0,0)" + more +
         R"(],"opcode":[0,0,1)" + more + R"(],"labels":[0,0,0)" + more + R"(],"ptx_line":[4,5,6)" +
         (extra ? ",7" : "") + R"(],"file":[0,0,0)" + more + R"(],"line":[7,8,8)" + (extra ? ",8" : "") +
         "]}}\n";
}

std::string diff_launch(const std::string& kernel, int launch, const std::string& results,
                        const std::string& more = {}) {
  return R"({"record":"launch","kernel":")" + kernel + R"(","launch":)" + std::to_string(launch) +
         R"(,"device":"cpu","grid":[2,1,1],"block":[32,1,1],"spec":"s","results":{)" + results + "}" + more +
         "}\n";
}

const std::string first_run =
    diff_sites(false) +
    diff_launch("k", 0,
                R"("cycles":10,"same":3,"mean":{"value":2.0,"numerator":4,"denominator":2},)"
                R"("reads":{"extents":[3],"names":["INSTRUCTIONS"],"values":[5,6,0]},)"
                R"("sizes.key":{"extents":[2],"table":"sizes","fold":"key","values":[4,8]},)"
                R"("sizes.value":{"extents":[2],"table":"sizes","values":[1,7]})",
                R"(,"sites":0)") +
    diff_launch("k", 1, R"("cycles":20,"same":3,"mean":{"value":8.0,"numerator":8,"denominator":1})") +
    diff_launch("gone", 0, R"("cycles":1)") + diff_launch("still", 0, R"("cycles":9)") +
    R"({"record":"total","spec":"s","results":{"all":30}})"
    "\n";

std::string second_run(bool extra) {
  return diff_sites(extra) +
         diff_launch("k", 0,
                     R"("cycles":15,"same":6,"mean":{"value":2.0,"numerator":6,"denominator":3},"new":1,)"
                     R"("reads":{"extents":[)" +
                         std::string(extra ? "4" : "3") + R"(],"names":["INSTRUCTIONS"],"values":[5,16,1)" +
                         (extra ? ",2" : "") +
                         R"(]},"sizes.key":{"extents":[2],"table":"sizes","fold":"key","values":[8,16]},)"
                         R"("sizes.value":{"extents":[2],"table":"sizes","values":[9,2]})",
                     R"(,"sites":0)") +
         diff_launch("still", 0, R"("cycles":9)") + diff_launch("fresh", 0, R"("cycles":2)") +
         R"({"record":"coverage","kernel":"gone","instrumented":false,"reason":"no PTX","launches":1,)"
         R"("instrumented_launches":0,"sites":0,"notes":[]})"
         "\n"
         R"({"record":"total","spec":"s","results":{"all":15}})"
         "\n";
}

class Diff : public testing::Test {
 protected:
  std::string body_of(std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"diff", a_, b_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = lynxpp(arguments);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  TemporaryFolder folder_;
  std::string a_ = folder_.write("a.jsonl", first_run);
  std::string b_ = folder_.write("b.jsonl", second_run(false));
};

TEST_F(Diff, ShowsWhatChangedMostFirst) {
  EXPECT_EQ(body_of(), "A: " + a_ + "\nB: " + b_ + R"(

== s on cpu ==
k  launches 2 -> 1  grid 2  block 32
  result                 A      B  B / A   B - A  A of sums  B of sums
  new               absent      1      -       -
  cycles                30     15  0.500     -15
  sum(reads)            11     22  2.000     +11
  mean               4.000  2.000  0.500  -2.000     12 / 3      6 / 3
  min(sizes.value)       1      2  2.000      +1
  max(sizes.value)       7      9  1.286      +2
  1 unchanged
  reads by instruction:
    instruction  opcode         PTX line  source  A   B  B / A  B - A
              1  ld.global.f32         5  k.cu:8  6  16  2.667    +10
              2  st.global.f32         6  k.cu:8  0   1      -     +1
    1 unchanged
  sizes.value:
    element       A       B  B / A  B - A
    8             7       9  1.286     +2
    16       absent       2      -      -
    4             1  absent      -      -
only in A: gone (in the other: no PTX)
only in B: fresh
unchanged: still

== s ==
the whole program
  result   A   B  B / A  B - A
  all     30  15  0.500    -15
)");
}

TEST_F(Diff, FoldsSitesByLineIfTheCodeDiffers) {
  b_ = folder_.write("b.jsonl", second_run(true));
  EXPECT_THAT(body_of(),
              HasSubstr(R"(  reads by instruction (the code differs: by function, source line and opcode):
    opcode         source  A   B  B / A  B - A
    ld.global.f32  k.cu:8  6  18  3.000    +12
    st.global.f32  k.cu:8  0   1      -     +1
    1 unchanged
)"));
}

TEST_F(Diff, TopLimitsEveryList) {
  const std::string text = body_of({"--top", "1"});
  EXPECT_THAT(text, HasSubstr("  … 5 more changed\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cycles")));
  EXPECT_EQ(body_of({"--top", "0"}), body_of());
}

TEST_F(Diff, JsonHasEveryNumber) {
  const nlohmann::json object = nlohmann::json::parse(body_of({"--json"}));
  EXPECT_EQ(object["record"], "diff");
  const nlohmann::json& specification = object["specifications"][0];
  EXPECT_EQ(specification["only"]["a"][0],
            (nlohmann::json{{"kernel", "gone"}, {"demangled", "gone"}, {"reason", "no PTX"}}));
  EXPECT_EQ(specification["only"]["b"][0]["kernel"], "fresh");
  EXPECT_EQ(specification["unchanged"][0]["kernel"], "still");
  const nlohmann::json& kernel = specification["kernels"][0];
  EXPECT_EQ(kernel["launches"], (nlohmann::json{{"a", 2}, {"b", 1}}));
  const auto named = [&](const char* list, const char* name) {
    for (const nlohmann::json& each : kernel[list]) {
      if (each["name"] == name) return each;
    }
    return nlohmann::json();
  };
  const nlohmann::json mean = named("results", "mean");
  EXPECT_EQ(mean["a"], (nlohmann::json{{"value", 4.0}, {"numerator", 12}, {"denominator", 3}}));
  EXPECT_EQ(mean["b"], (nlohmann::json{{"value", 2.0}, {"numerator", 6}, {"denominator", 3}}));
  EXPECT_EQ(mean["ratio"], 0.5);
  EXPECT_EQ(mean["difference"], -2.0);
  EXPECT_FALSE(named("results", "new").contains("a"));
  const nlohmann::json load = named("arrays", "reads")["elements"][0];
  EXPECT_EQ(load["id"], 1);
  EXPECT_EQ(load["line"], 8);
  EXPECT_EQ(load["difference"], 10);
}

TEST_F(Diff, TheSameRunHasNoChanges) {
  b_ = a_;
  EXPECT_EQ(body_of(), "A: " + a_ + "\nB: " + a_ +
                           "\n\n== s on cpu ==\nunchanged: k\nunchanged: gone\nunchanged: still\n"
                           "\n== s ==\nunchanged: the whole program\n");
}

TEST_F(Diff, ComparesDifferentDevicesIfEachFileHasOne) {
  std::string other = first_run;
  for (std::size_t at = 0; (at = other.find(R"("cpu")", at)) != std::string::npos;)
    other.replace(at, 5, R"("gpu")");
  b_ = folder_.write("b.jsonl", other);
  EXPECT_THAT(body_of(), HasSubstr("== s on cpu -> gpu ==\nunchanged: k\n"));
}

TEST_F(Diff, ListsWhatOnlyOneFileHas) {
  std::string other = first_run;
  for (std::size_t at = 0; (at = other.find(R"("spec":"s")", at)) != std::string::npos;)
    other.replace(at, 10, R"("spec":"t")");
  b_ = folder_.write("b.jsonl", other);
  EXPECT_EQ(body_of(), "A: " + a_ + "\nB: " + b_ +
                           "\n\nonly in A: s on cpu\n\nonly in A: s at the end\n\nonly in B: t on "
                           "cpu\n\nonly in B: t at the end\n");
}

TEST_F(Diff, ReportsErrors) {
  const Outcome missing = lynxpp({"diff", a_, folder_.path("none.jsonl")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("cannot read"));
  const std::string empty = folder_.write("empty.jsonl", "");
  EXPECT_THAT(lynxpp({"diff", a_, empty}).err, HasSubstr(empty + " holds no records"));
  EXPECT_EQ(lynxpp({"diff", a_}).exit_code, 2);
  EXPECT_EQ(lynxpp({"diff", a_, b_, "--top", "-1"}).exit_code, 2);
}

}  // namespace
}  // namespace lynxpp::cli
