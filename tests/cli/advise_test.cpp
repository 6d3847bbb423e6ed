#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* tile =
    "choice padding = 0, 1;\n"
    "grid (64);\n"
    "block (32, 32);\n"
    "array in of 4;\n"
    "shared tile[32 * (32 + padding)] of 4;\n"
    "let at = (blockIdx.x * 32 + threadIdx.y) * 64 + threadIdx.x;\n"
    "fetch tile[threadIdx.x * (32 + padding) + threadIdx.y] = in[at];\n"
    "read in[at];\n";

TEST(Advise, RanksVariantsAndNamesTheWorstTerm) {
  const TemporaryFolder folder;
  const Outcome outcome = lynxpp({"advise", folder.write("tile.access", tile)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = split(outcome.out, '\n');
  ASSERT_EQ(lines.size(), 9u) << outcome.out;
  EXPECT_EQ(lines[0], "modelled for compute_9_0, best first");
  EXPECT_THAT(lines[3], StartsWith("padding=1"));
  EXPECT_THAT(lines[3], testing::EndsWith("  -"));
  EXPECT_THAT(lines[4], StartsWith("padding=0"));
  EXPECT_THAT(lines[4], testing::EndsWith("  shm_eff"));
  EXPECT_THAT(lines[5], HasSubstr("lat_hiding (-0.01)"));
}

TEST(Advise, DoesNotNameTermsThatDoNotFollowGains) {
  const TemporaryFolder folder;
  // Two loads of each element of a small array: data_reuse is the only term below its best.
  const std::string path = folder.write("reuse.access",
                                        "choice step = 0, 1;\ngrid (64);\nblock (256);\narray in of 4;\n"
                                        "shared tile[256] of 4;\nlet i = blockIdx.x * 256 + threadIdx.x;\n"
                                        "if (step == 1) fetch tile[threadIdx.x] = in[i];\n"
                                        "read in[i];\nread in[i];\nread in[i];\n");
  const Outcome old = lynxpp({"advise", "--by-estimate", "-m", "compute_1_3", path});
  ASSERT_EQ(old.exit_code, 0) << old.err;
  EXPECT_THAT(old.out, HasSubstr("  data_reuse\n"));
  EXPECT_THAT(old.out, testing::Not(HasSubstr("Not named")));
  const Outcome measured = lynxpp({"advise", "--by-estimate", "-m", "compute_9_0", path});
  EXPECT_THAT(measured.out, testing::Not(HasSubstr("  data_reuse\n")));
  EXPECT_THAT(measured.out, HasSubstr("Not named as hurting most"));
}

TEST(Advise, JsonHasEveryTermAndReference) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lynxpp({"advise", "--json", "-D", "padding=0", "-m", "compute_9_0", folder.write("tile.access", tile)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object["modelled"]["shm_eff"], 1 / 32.0);
  EXPECT_EQ(object["modelled"]["data_reuse"], 1.0);
  EXPECT_EQ(object["accesses"], 64 * 1024);
  EXPECT_EQ(object["in_shared"], 64 * 1024);
  EXPECT_EQ(object["references"][0]["does"], "fetch");
  EXPECT_EQ(object["references"][0]["line"], 7);
  EXPECT_EQ(object["references"][1]["element"], "in[at]");
  EXPECT_EQ(object["choices"], nlohmann::json::object());
}

TEST(Advise, PageMarksTheWorstTerm) {
  const TemporaryFolder folder;
  const std::string page = folder.path("advice.html");
  const Outcome outcome = lynxpp({"advise", "--html", page, folder.write("t<le.access", tile)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("modelled for compute_9_0"));
  std::string html;
  ASSERT_TRUE(read_file(page, html));
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("Trust: modelled; "));
  EXPECT_THAT(html, HasSubstr("t&lt;le.access: padding=1"));
  EXPECT_LT(html.find("padding=1"), html.find("padding=0"));
  EXPECT_THAT(html, HasSubstr("<td class=\"note\"><strong>0.0312</strong></td>"));  // shm_eff, 1 / 32
  EXPECT_THAT(html, HasSubstr("<td class=\"text\">in[at]</td>"));
  EXPECT_THAT(html, testing::Not(HasSubstr("Warps and thread blocks that access")));

  const Outcome failed =
      lynxpp({"advise", "--html", folder.path("none/advice.html"), folder.path("t<le.access")});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("cannot write"));
}

TEST(Advise, ShowsReferencesLineByLine) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lynxpp({"advise", "--references", "-D", "padding=1", folder.write("tile.access", tile)});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\n     7  fetch  in[at]"));
  EXPECT_THAT(outcome.out, HasSubstr("\n     8  read   in[at]"));
}

TEST(Advise, ExploresAlternatives) {
  const TemporaryFolder folder;
  const std::string path = folder.write("tile.access", tile);
  const Outcome outcome =
      lynxpp({"advise", "--explore", "--by-estimate", "--best", "2", "-D", "padding=0", path});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(" ways"));
  const std::vector<std::string> lines = split(outcome.out, '\n');
  ASSERT_EQ(lines.size(), 10u) << outcome.out << "heading, two ways, the description, and trust";
  EXPECT_THAT(lines[3], HasSubstr("layout(tile)=columns"));
  EXPECT_THAT(lines[4], HasSubstr("pad(tile)=1"));
  EXPECT_THAT(lines[8], HasSubstr("Trust: modelled; mean correlation of the estimate 0.655 (H200)"));
  const Outcome all = lynxpp({"advise", "--explore", "--by-estimate", "--json", "-D", "padding=0", path});
  const auto object = nlohmann::json::parse(split(all.out, '\n')[0]);
  EXPECT_EQ(object["changes"]["layout(tile)"], "columns");
  EXPECT_EQ(object["modelled"]["shm_eff"], 1.0);
  EXPECT_FALSE(object.contains("bounds"));
  EXPECT_EQ(lynxpp({"advise", "--explore", "--best", "0", path}).exit_code, 2);
}

TEST(Advise, NamesTheResourceThatBoundsAKernel) {
  const TemporaryFolder folder;
  const std::string path = folder.write("tile.access", tile);
  const Outcome outcome = lynxpp({"advise", path});
  EXPECT_THAT(outcome.out, testing::ContainsRegex("padding=0 +[0-9.]+  l1 "));
  const auto object = nlohmann::json::parse(split(lynxpp({"advise", "--json", path}).out, '\n')[0]);
  EXPECT_EQ(object["choices"]["padding"], 1);
  double squares = 0;
  for (const auto& [resource, busy] : object["bounds"]["busy"].items())
    squares += std::pow(busy.get<double>(), 2);
  EXPECT_NEAR(object["bounds"]["microseconds"], std::sqrt(squares), 1e-9);
  EXPECT_THAT(lynxpp({"advise", "-m", "compute_1_3", "-D", "padding=0", path}).out,
              testing::Not(HasSubstr("bound by")));
}

TEST(Advise, ShowsRareTermsIfAKernelHasThem) {
  const TemporaryFolder folder;
  const std::string with = folder.write("with.access", "block (32); constant c of 4; read c[threadIdx.x];");
  const std::string without =
      folder.write("without.access", "block (32); array a of 4; read a[threadIdx.x];");
  EXPECT_THAT(lynxpp({"advise", with}).out,
              testing::AllOf(HasSubstr("const_eff"), testing::Not(HasSubstr("tex_reuse"))));
  EXPECT_THAT(lynxpp({"advise", without}).out, testing::Not(HasSubstr("const_eff")));
  EXPECT_EQ(nlohmann::json::parse(lynxpp({"advise", "--json", without}).out)["modelled"]["const_eff"], 1.0);
}

TEST(Advise, ErrorsHaveALocation) {
  const TemporaryFolder folder;
  const std::string path = folder.write("bad.access", "block (32);\narray in of 4;\nread im[0];\n");
  const Outcome outcome = lynxpp({"advise", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith(path + ":3:6: error: there is no array 'im'"));
  EXPECT_THAT(outcome.err, HasSubstr("\n  read im[0];\n       ^~\n  hint: did you mean 'in'?"));
  EXPECT_EQ(lynxpp({"advise", "-D", "x", path}).exit_code, 2);
  EXPECT_EQ(lynxpp({"advise"}).exit_code, 2);
  EXPECT_THAT(lynxpp({"advise", "-m", "compute_9_1", path}).err, HasSubstr("did you mean 'compute_9_0'?"));
  EXPECT_EQ(lynxpp({"advise", "./absent.access"}).exit_code, 1);
}

TEST(Advise, ReadsAMachineFromAFile) {
  const TemporaryFolder folder;
  std::string machine;
  ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/models/machines/compute_9_0.json", machine));
  machine.replace(machine.find("\"banks\": 32"), 11, "\"banks\": 16");
  const Outcome outcome = lynxpp({"advise", "--json", "-D", "padding=0", "-m",
                                  folder.write("m.json", machine), folder.write("tile.access", tile)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["modelled"]["shm_eff"], 1 / 31.0);
}

}  // namespace
}  // namespace lynxpp::cli
