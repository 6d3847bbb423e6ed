#include "ptx/ir/module.h"

#include <gtest/gtest.h>

#include "parse.h"

namespace lynxpp::ptx {
namespace {

TEST(Variable, SizeIsTypeTimesVectorTimesElements) {
  Variable variable;
  variable.type = DataType::f64;
  variable.vector = 2;
  variable.elements = 10;
  EXPECT_EQ(variable.size_bytes(), 160U);
  variable.elements = 0;
  EXPECT_EQ(variable.size_bytes(), 0U);
}

TEST(Version, Orders) {
  EXPECT_LT((Version{7, 8}), (Version{8, 0}));
  EXPECT_LT((Version{8, 3}), (Version{8, 10}));
}

TEST(Body, SearchWithoutScopesFindsNothing) {
  const Body body;
  EXPECT_EQ(body.find_register("%r1", 7), nullptr);
  EXPECT_EQ(body.find_variable("x", 7), nullptr);
}

TEST(Module, ItemsCoverTheTextInOrder) {
  const Module module =
      module_of(".global .u32 x;\n// c\n.func f();\n.func f() { ret; }\n.section .s { .b8 1 }\n");
  std::uint32_t end = 0;
  for (const Item& item : module.items) {
    EXPECT_GE(item.text.begin, end);
    EXPECT_GT(item.text.end, item.text.begin);
    end = item.text.end;
  }
  EXPECT_EQ(module.source().substr(end), "\n");
}

}  // namespace
}  // namespace lynxpp::ptx
