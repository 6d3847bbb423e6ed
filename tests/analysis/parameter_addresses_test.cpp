#include "ptx/analysis/values/parameter_addresses.h"

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

/// Returns "A+64" for the address of the only prefetch of the body.
std::string address(const std::string& body) {
  Analysed analysed(body + "\nret;");
  const std::uint32_t at = analysed.at("prefetch");
  const std::optional<ParameterAddress> found =
      parameter_address(*analysed, at, analysed.body().instructions[at].operands[0]);
  return found ? std::string(found->name) + "+" + std::to_string(found->byte) : "unknown";
}

const std::string prefetch = "prefetch.tensormap [%rd1];";

TEST(ParameterAddress, FollowsMovesConversionsAndConstants) {
  EXPECT_EQ(address("mov.b64 %rd1, A;\ncvta.param.u64 %rd1, %rd1;\n" + prefetch), "A+0");
  EXPECT_EQ(address("mov.u64 %rd2, B;\nadd.s64 %rd3, %rd2, 192;\nmov.u64 %rd4, %rd3;\n"
                    "cvta.param.u64 %rd1, %rd4;\nprefetch.tensormap [%rd1+64];"),
            "B+256");
  EXPECT_EQ(address("mov.b64 %rd2, A;\nsub.s64 %rd1, %rd2, -64;\n" + prefetch), "A+64");
  EXPECT_EQ(address("mov.b64 %rd1, A+64;\n" + prefetch), "A+64");
  EXPECT_EQ(address("prefetch.param.tensormap [A];"), "A+0");
}

TEST(ParameterAddress, MustBeTheSameOnAllPaths) {
  const std::string choice = "setp.eq.u32 %p1, %r1, 0;\nmov.b64 %rd1, A;\n@%p1 mov.b64 %rd1, ";
  EXPECT_EQ(address(choice + "A;\n" + prefetch), "A+0");
  EXPECT_EQ(address(choice + "B;\n" + prefetch), "unknown");
  EXPECT_EQ(address(choice + "A+64;\n" + prefetch), "unknown");
  const std::string branch =
      "setp.eq.u32 %p1, %r1, 0;\nmov.b64 %rd2, A;\nmov.b64 %rd1, %rd2;\n@%p1 bra next;\n";
  EXPECT_EQ(address(branch + "add.s64 %rd1, %rd2, 0;\nnext:\n" + prefetch), "A+0");
  EXPECT_EQ(address(branch + "add.s64 %rd1, %rd2, 64;\nnext:\n" + prefetch), "unknown");
}

TEST(ParameterAddress, MayNotChangeInALoop) {
  const auto loop = [](const std::string& step) {
    return "mov.b64 %rd1, A;\nnext:\n" + prefetch + "\n" + step +
           "\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra next;";
  };
  EXPECT_EQ(address(loop("mov.b64 %rd2, %rd1;\nmov.b64 %rd1, %rd2;")), "A+0");
  EXPECT_EQ(address(loop("add.s64 %rd1, %rd1, 128;")), "unknown");
  EXPECT_EQ(address(loop("add.s64 %rd2, %rd1, 128;\nsub.s64 %rd1, %rd2, 128;")), "A+0");
}

TEST(ParameterAddress, IsUnknownForOtherAddresses) {
  EXPECT_EQ(address("ld.param.u64 %rd1, [A];\n" + prefetch), "unknown") << "a pointer";
  EXPECT_EQ(address("mov.b64 %rd2, A;\ncvta.global.u64 %rd1, %rd2;\n" + prefetch), "unknown");
  EXPECT_EQ(address("mov.b64 %rd2, A;\nadd.s64 %rd1, %rd2, %rd3;\n" + prefetch), "unknown");
  EXPECT_EQ(address("mov.b64 %rd2, A;\nand.b64 %rd1, %rd2, -64;\n" + prefetch), "unknown");
  EXPECT_EQ(address(".shared .b8 tile[128];\nmov.b64 %rd1, tile;\n" + prefetch), "unknown");
  EXPECT_EQ(address(prefetch), "unknown") << "not set";
}

}  // namespace
}  // namespace lynxpp::ptx
