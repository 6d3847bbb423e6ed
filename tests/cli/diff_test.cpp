// `lynxpp report diff` on small files of records; compares the whole output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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
                R"("steps":10,"same":3,"mean":{"value":2.0,"numerator":4,"denominator":2},)"
                R"("reads":{"extents":[3],"names":["INSTRUCTIONS"],"values":[5,6,0]},)"
                R"("sizes.key":{"extents":[2],"table":"sizes","fold":"key","values":[4,8]},)"
                R"("sizes.value":{"extents":[2],"table":"sizes","values":[1,7]})",
                R"(,"sites":0)") +
    diff_launch("k", 1, R"("steps":20,"same":3,"mean":{"value":8.0,"numerator":8,"denominator":1})") +
    diff_launch("gone", 0, R"("steps":1)") + diff_launch("still", 0, R"("steps":9)") +
    R"({"record":"total","spec":"s","results":{"all":30}})"
    "\n";

std::string second_run(bool extra) {
  return diff_sites(extra) +
         diff_launch("k", 0,
                     R"("steps":15,"same":6,"mean":{"value":2.0,"numerator":6,"denominator":3},"new":1,)"
                     R"("reads":{"extents":[)" +
                         std::string(extra ? "4" : "3") + R"(],"names":["INSTRUCTIONS"],"values":[5,16,1)" +
                         (extra ? ",2" : "") +
                         R"(]},"sizes.key":{"extents":[2],"table":"sizes","fold":"key","values":[8,16]},)"
                         R"("sizes.value":{"extents":[2],"table":"sizes","values":[9,2]})",
                     R"(,"sites":0)") +
         diff_launch("still", 0, R"("steps":9)") + diff_launch("fresh", 0, R"("steps":2)") +
         R"({"record":"coverage","kernel":"gone","instrumented":false,"reason":"no PTX","launches":1,)"
         R"("instrumented_launches":0,"sites":0,"notes":[]})"
         "\n"
         R"({"record":"total","spec":"s","results":{"all":15}})"
         "\n";
}

class Diff : public testing::Test {
 protected:
  std::string body_of(std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"report", "diff", a_, b_};
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
  EXPECT_EQ(body_of(),
            "9 results changed; no cost was measured in both runs; only in A: gone; only in B: fresh\nA: " +
                a_ + "\nB: " + b_ + R"(

== s on cpu ==
k  launches 2 -> 1  grid 2  block 32
  result                 A      B  B / A   B - A  A of sums  B of sums
  new               absent      1      -       -
  steps                 30     15  0.500     -15
  sum(reads)            11     22  2.000     +11
  mean               4.000  2.000  0.500  -2.000     12 / 3      6 / 3
  min(sizes.value)       1      2  2.000      +1
  max(sizes.value)       7      9  1.286      +2
  reads by instruction:
    instruction  opcode         PTX line  source  A   B  B / A  B - A
              1  ld.global.f32         5  k.cu:8  6  16  2.667    +10
              2  st.global.f32         6  k.cu:8  0   1      -     +1
  sizes.value:
    element       A       B  B / A  B - A
    8             7       9  1.286     +2
    16       absent       2      -      -
    4             1  absent      -      -
only in A: gone (in the other: no PTX)
only in B: fresh

== s ==
the whole program
  result   A   B  B / A  B - A
  all     30  15  0.500    -15
)");
}

TEST_F(Diff, FoldsSitesByOpcodeAndObjectIfTheCodeDiffers) {
  b_ = folder_.write("b.jsonl", second_run(true));
  EXPECT_THAT(
      body_of(),
      HasSubstr(R"(  reads by instruction (the code differs: by opcode and object; source: of the largest):
    opcode         source   A   B  B / A  B - A
    ld.global.f32  k.cu:8  11  23  2.091    +12
    st.global.f32  k.cu:8   0   1      -     +1
)"));
}

TEST_F(Diff, TopLimitsEveryList) {
  const std::string text = body_of({"--top", "1"});
  EXPECT_THAT(text, HasSubstr("  … 5 more changed\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("steps")));
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
  EXPECT_EQ(body_of(), "nothing changed\nA: " + a_ + "\nB: " + a_ + "\n");
}

TEST_F(Diff, ComparesDifferentDevicesIfEachFileHasOne) {
  std::string other = first_run;
  for (std::size_t at = 0; (at = other.find(R"("cpu")", at)) != std::string::npos;)
    other.replace(at, 5, R"("gpu")");
  b_ = folder_.write("b.jsonl", other);
  EXPECT_THAT(body_of(), StartsWith("nothing changed\n"));
}

TEST_F(Diff, ListsWhatOnlyOneFileHas) {
  std::string other = first_run;
  for (std::size_t at = 0; (at = other.find(R"("spec":"s")", at)) != std::string::npos;)
    other.replace(at, 10, R"("spec":"t")");
  b_ = folder_.write("b.jsonl", other);
  EXPECT_EQ(body_of(), "nothing changed\nA: " + a_ + "\nB: " + b_ +
                           "\n\nonly in A: s on cpu\n\nonly in A: s at the end\n\nonly in B: t on "
                           "cpu\n\nonly in B: t at the end\n");
}

TEST_F(Diff, ReportsErrors) {
  const Outcome missing = lynxpp({"report", "diff", a_, folder_.path("none.jsonl")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("cannot read"));
  const std::string empty = folder_.write("empty.jsonl", "");
  EXPECT_THAT(lynxpp({"report", "diff", a_, empty}).err, HasSubstr(empty + " holds no records"));
  EXPECT_EQ(lynxpp({"report", "diff", a_}).exit_code, 2);
  EXPECT_EQ(lynxpp({"report", "diff", a_, b_, "--top", "-1"}).exit_code, 2);
}

/// Runs of a kernel whose loads of shared memory conflict or not, as `lynxpp record` writes them.
class Verdicts : public testing::Test {
 protected:
  /// `conflicts`: of the load in line 7.
  static std::string run(int warp_instructions, int conflicts, const std::string& kernel = "k",
                         const std::string& more = {}) {
    const auto launch = [&](const std::string& spec, const std::string& results) {
      return R"({"record":"launch","kernel":")" + kernel +
             R"(","launch":0,"device":"cpu","grid":[2,1,1],"block":[32,1,1],"spec":")" + spec +
             R"(","sites":0,"results":{)" + results + "}}\n";
    };
    const std::string all = std::to_string(64 + conflicts), lost = std::to_string(conflicts);
    return R"({"record":"sites","kernel":")" + kernel + R"(","table":0,"functions":[")" + kernel +
           R"("],"opcodes":["ld.shared.f32"],"files":["k.cu"],"labels":[["MEM_READ","SHARED"]],)"
           R"("blocks":{"function":[0],"first":[0],"instructions":[1]},"instructions":{"block":[0],)"
           R"("opcode":[0],"labels":[0],"ptx_line":[4],"file":[0],"line":[7]}})"
           "\n" +
           launch("instruction_count",
                  R"("thread_instructions":3200,"warp_instructions":)" + std::to_string(warp_instructions)) +
           launch("shared_bank_conflicts",
                  R"("wavefronts":{"extents":[1],"names":["INSTRUCTIONS"],"values":[)" + all +
                      R"(]},"conflicts":{"extents":[1],"names":["INSTRUCTIONS"],"values":[)" + lost +
                      R"(]},"load_wavefronts":)" + all) +
           more;
  }

  Outcome diff(const std::string& a, const std::string& b, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{"report", "diff", folder_.write("a.jsonl", a),
                                       folder_.write("b.jsonl", b)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return lynxpp(arguments);
  }
  std::string verdict(const std::string& a, const std::string& b) {
    const Outcome outcome = diff(a, b);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
  Outcome with_budgets(const std::string& budgets) {
    return diff(run(100, 0), run(100, 0), {"--budgets", folder_.write("budgets.toml", budgets)});
  }

  TemporaryFolder folder_;
};

TEST_F(Verdicts, NameTheLargestCostsAndTheFindings) {
  EXPECT_EQ(verdict(run(100, 960), run(100, 0)),
            "k: 1,024 → 64 wavefronts (-94 %), finding 1 (scattered bank conflicts) gone; nothing got worse");
  EXPECT_EQ(verdict(run(100, 0), run(100, 960)),
            "worse: k: 64 → 1,024 wavefronts (+1500 %), new finding 1 (scattered bank conflicts)");
  EXPECT_EQ(
      verdict(run(100, 960), run(103, 0)),
      "k: 1,024 → 64 wavefronts (-94 %), finding 1 (scattered bank conflicts) gone; worse: 100 → 103 warp "
      "instructions (+3.0 %)");
  EXPECT_EQ(verdict(run(100, 0), run(100, 0)), "nothing changed");
  EXPECT_EQ(verdict(run(10000, 0), run(10001, 0)), "no cost changed by 0.1 % or more");
  EXPECT_EQ(verdict(run(10000, 0), run(10020, 0)), "worse: k: 10,000 → 10,020 warp instructions (+0.2 %)");
  EXPECT_EQ(diff(run(10000, 0), run(10001, 0), {"--fail-over", "0"}).exit_code, 4) << "asked for";
}

TEST_F(Verdicts, AFindingThatWasNotMeasuredIsNotGone) {
  const std::string b =
      R"({"record":"launch","kernel":"k","launch":0,"device":"cpu","grid":[2,1,1],"block":[32,1,1],)"
      R"("spec":"instruction_count","results":{"thread_instructions":3200,"warp_instructions":90}})"
      "\n";
  EXPECT_EQ(verdict(run(100, 960), b), "k: 100 → 90 warp instructions (-10 %); nothing got worse");
}

TEST_F(Verdicts, PairVersionsOfAKernelAndSumOverOthers) {
  EXPECT_EQ(
      verdict(run(100, 960, "_Z1kILi0EEvPf"), run(100, 0, "_Z1kILi1EEvPf")),
      "k<1>: 1,024 → 64 wavefronts (-94 %), finding 1 (scattered bank conflicts) gone; nothing got worse");
  EXPECT_EQ(
      verdict(run(100, 0) + run(50, 0, "other"), run(120, 0)),
      "all kernels: 128 → 64 wavefronts (-50 %); worse: k: 100 → 120 warp instructions (+20 %); only in A: "
      "other");
}

TEST_F(Verdicts, AKernelOfOneRunHasOneLine) {
  const std::string text = diff(run(100, 0) + run(50, 0, "other"), run(100, 0)).out;
  const std::size_t first = text.find("\nonly in A: other\n");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("\nonly in A: other\n", first + 1), std::string::npos) << text;
}

TEST_F(Verdicts, HostClocksAndMultiprocessorsOfTheCpuDeviceNeverChange) {
  const auto clocks = [](const std::string& device, int cycles) {
    return R"({"record":"launch","kernel":"k","launch":0,"device":")" + device +
           R"(","grid":[2,1,1],"block":[32,1,1],"spec":"kernel_runtime","results":{"max_cycles":)" +
           std::to_string(cycles) + R"(,"load_imbalance":{"value":1.0,"numerator":)" +
           std::to_string(cycles) +
           R"(,"denominator":100},"load":{"extents":[2],"names":["SMS"],"values":[)" +
           std::to_string(cycles) +
           R"(,1]}}})"
           "\n";
  };
  const Outcome cpu = diff(clocks("cpu", 100), clocks("cpu", 900));
  EXPECT_THAT(cpu.out, StartsWith("nothing changed\n"));
  EXPECT_THAT(cpu.out, HasSubstr("\nNot shown: times, clocks and SM numbers within the noise.\n"));
  EXPECT_THAT(cpu.out, testing::EndsWith("not a GPU's: kernel_runtime; see docs/trust.md\n"));
  EXPECT_THAT(cpu.out, testing::Not(HasSubstr("cycles")));
  EXPECT_THAT(diff(clocks("GPU", 1000), clocks("GPU", 1090)).out, StartsWith("nothing changed\n"));
  EXPECT_THAT(diff(clocks("GPU", 1000), clocks("GPU", 1110)).out, HasSubstr("max_cycles"));
}

TEST_F(Verdicts, FailOverLimitsTheGrowthOfCosts) {
  EXPECT_EQ(diff(run(100, 0), run(101, 0), {"--fail-over", "1%"}).exit_code, 0);
  const Outcome failed = diff(run(100, 0), run(102, 0), {"--fail-over", "1%"});
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_THAT(failed.out, HasSubstr("\nFAILED, --fail-over: k: 100 → 102 warp instructions (+2.0 %)\n"));
  EXPECT_EQ(diff(run(100, 0), run(100, 1), {"--fail-over", "0"}).exit_code, 4);
  EXPECT_EQ(diff(run(100, 0), run(101, 0), {"--fail-over", "one"}).exit_code, 2);
}

TEST_F(Verdicts, BudgetsLimitResultsOfTheLastRun) {
  const std::string kept =
      "[[budget]]\nkernel = '^k$'\nmetric = 'instruction_count.warp_instructions'\nat_most = 100\n";
  Outcome outcome = with_budgets(kept);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("nothing changed; 1 of 1 budgets kept\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("\n== budgets in " + folder_.path("budgets.toml") +
                        " ==\nkept, line 1: instruction_count.warp_instructions of k is 100, at most "
                        "100\n"));
  outcome =
      with_budgets(kept +
                   "[[budget]]\nkernel = 'k'\nmetric = 'shared_bank_conflicts.wavefronts'\nat_most = 60\n"
                   "[[budget]]\nkernel = 'k'\nmetric = 'shared_bank_conflicts.wavefronts'\nat_least = 64.5\n"
                   "[[budget]]\nkernel = 'mm'\nmetric = 'shared_bank_conflicts.wavefronts'\nat_most = 1\n"
                   "[[budget]]\nkernel = 'k'\nmetric = 'shared_bank_conflicts.waves'\nat_most = 1\n"
                   "[[budget]]\nkernel = 'k'\nmetric = 'memory_efficiency.sectors'\nat_most = 1\n");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, StartsWith("nothing changed; 5 of 6 budgets failed\n"));
  for (const char* line :
       {"FAILED, line 5: shared_bank_conflicts.wavefronts of k is 64: more than 60 (+6.7 %)\n",
        "FAILED, line 9: shared_bank_conflicts.wavefronts of k is 64: less than 64.500 (-0.8 %)\n",
        "FAILED, line 13: shared_bank_conflicts.wavefronts of mm: no kernel matches\n",
        "FAILED, line 17: shared_bank_conflicts.waves of k: no result 'waves'; shared_bank_conflicts has "
        "conflicts, "
        "load_wavefronts, wavefronts\n",
        "FAILED, line 21: memory_efficiency.sectors of k: 'memory_efficiency' was not measured in this "
        "run\n"})
    EXPECT_THAT(outcome.out, HasSubstr(line));
}

TEST_F(Verdicts, BudgetsNeedOneRunOnly) {
  const std::string run_file = folder_.write("run.jsonl", run(100, 0));
  const std::string budgets = folder_.write(
      "budgets.toml",
      "[[budget]]\nkernel = 'k'\nmetric = 'instruction_count.warp_instructions'\nat_most = 99\n");
  const Outcome outcome = lynxpp({"report", "diff", run_file, "--budgets", budgets});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, StartsWith("1 of 1 budgets failed\n\n== budgets in "));
  EXPECT_EQ(lynxpp({"report", "diff", run_file}).exit_code, 2);
  EXPECT_EQ(lynxpp({"report", "diff", run_file, "--budgets", budgets, "--fail-over", "1%"}).exit_code, 2);
  const nlohmann::json object =
      nlohmann::json::parse(lynxpp({"report", "diff", run_file, "--budgets", budgets, "--json"}).out);
  EXPECT_EQ(object["budgets"]["exceeded"], 1);
  EXPECT_EQ(object["budgets"]["rows"][0]["value"], 100);
  EXPECT_EQ(object["budgets"]["rows"][0]["line"], 1);
}

TEST_F(Verdicts, AKernelThatWasNotMeasuredKeepsNoBudget) {
  const std::string coverage =
      R"({"record":"coverage","kernel":"k2","instrumented":false,"reason":"it has no PTX","launches":1,)"
      R"("instrumented_launches":0,"sites":0,"notes":[]})"
      "\n";
  const std::string budgets = folder_.write(
      "budgets.toml",
      "[[budget]]\nkernel = 'k'\nmetric = 'instruction_count.warp_instructions'\nat_most = 100\n");
  const Outcome outcome = lynxpp(
      {"report", "diff", folder_.write("run.jsonl", run(100, 0, "k", coverage)), "--budgets", budgets});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out,
              HasSubstr("FAILED, line 1: instruction_count.warp_instructions of k2: not measured: it "
                        "has no PTX\n"));
}

TEST_F(Verdicts, MistakesInBudgetsHaveLines) {
  const std::string head = "# limits\n[[budget]]\n";
  const std::string metric = "metric = 'instruction_count.warp_instructions'\n";
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "1:1: error: the file has no budget"},
      {"x = 1\n", "1:1: error: unknown key 'x'"},
      {"[budget]\n", "1:1: error: 'budget' must be an array of tables: [[budget]]"},
      {"[[budget\n", "1:9: error: Error while parsing table header"},
      {head + "kernel = 'k'\nlimit = 3\n", "4:1: error: unknown key 'limit'"},
      {head + "kernel = '('\n" + metric, "3:10: error: '(' is not a valid regular expression: missing )"},
      {head + "kernel = 1\n" + metric, "3:10: error: kernel is not a text"},
      {head + metric + "at_most = 1\n", "2:1: error: the budget has no kernel"},
      {head + "kernel = 'k'\nat_most = 1\n", "2:1: error: the budget has no metric"},
      {head + "kernel = 'k'\nmetric = 'wavefronts'\n",
       "4:10: error: metric 'wavefronts' is not SPECIFICATION.RESULT"},
      {head + "kernel = 'k'\n" + metric, "2:1: error: the budget has neither at_most nor at_least"},
      {head + "kernel = 'k'\n" + metric + "at_most = '1'\n", "5:11: error: at_most is not a number"},
      {head + "kernel = 'k'\n" + metric + "at_most = inf\n", "5:11: error: at_most is not a number"}};
  for (const auto& [text, message] : mistakes) {
    const Outcome outcome = with_budgets(text);
    EXPECT_EQ(outcome.exit_code, 1) << text;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith(folder_.path("budgets.toml") + ":" + message)) << text;
  }
  EXPECT_THAT(diff(run(1, 0), run(1, 0), {"--budgets", "none.toml"}).err, HasSubstr("none.toml"));
}

}  // namespace
}  // namespace lynxpp::cli
