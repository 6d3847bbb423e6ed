#include "ptx/ir/directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ptx/parse.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Directives, HaveTheNumbersThatFollowThem) {
  const Module module = module_of(
      ".visible .entry plain()\n{\nret;\n}\n"
      ".visible .entry bounded(.param .u32 n)\n.maxntid 384, 2,\n 1 // threads\n.minnctapersm 3\n{\nret;\n}\n"
      ".visible .entry required()\n.maxntid 512\n.reqntid 128, 1, 1\n.explicitcluster\n{\nret;\n}\n");
  const auto values = [&](std::size_t kernel, std::string_view directive) {
    return directive_values(module, module.functions.at(kernel), directive);
  };
  EXPECT_THAT(values(0, ".maxntid"), IsEmpty());
  EXPECT_THAT(values(1, ".maxntid"), ElementsAre(384, 2, 1));
  EXPECT_THAT(values(1, ".minnctapersm"), ElementsAre(3));
  EXPECT_THAT(values(2, ".explicitcluster"), IsEmpty());
  EXPECT_NE(directives_of(module, module.functions[2]).find(".explicitcluster"), std::string_view::npos);
  EXPECT_THAT(block_limits(module, module.functions[0]), IsEmpty());
  EXPECT_THAT(block_limits(module, module.functions[1]), ElementsAre(384, 2, 1));
  EXPECT_THAT(block_limits(module, module.functions[2]), ElementsAre(128, 1, 1)) << "required, not allowed";
}

}  // namespace
}  // namespace lynxpp::ptx
