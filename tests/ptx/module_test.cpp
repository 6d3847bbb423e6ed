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

TEST(Version, ComparesMajorThenMinor) {
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

TEST(Module, SearchesFindDefinitionsThenAliasesThenDeclarations) {
  Module module = module_of(
      ".extern .func f;\n.func f() { ret; }\n.func f;\n.func declared;\n.func g() { ret; }\n"
      ".func other;\n.alias other, g;\n.func g2() { ret; }\n.alias g2, f;\n.func %h;\n.alias %h, g;\n"
      ".extern .global .u32 x;\n.global .u32 x = 7;\n.extern .global .u32 y;\n");
  const auto found = [&module](std::string_view name) { return module.find_function(name); };
  for (const bool indexed : {true, false}) {
    SCOPED_TRACE(indexed ? "as parsed" : "after an addition");
    ASSERT_NE(found("f"), nullptr);
    EXPECT_FALSE(found("f")->is_declaration());
    ASSERT_NE(found("declared"), nullptr);
    EXPECT_TRUE(found("declared")->is_declaration());
    EXPECT_EQ(found("other"), found("g"));
    ASSERT_NE(found("g2"), nullptr);
    EXPECT_EQ(found("g2")->name, "g2") << "a definition hides an alias";
    EXPECT_EQ(found("%h"), found("g"));
    EXPECT_EQ(found("h"), nullptr);
    EXPECT_TRUE(module.has_function_like_register());
    ASSERT_NE(module.find_variable("x"), nullptr);
    EXPECT_FALSE(module.find_variable("x")->is_extern);
    EXPECT_TRUE(module.find_variable("y")->is_extern);
    EXPECT_EQ(module.find_variable("z"), nullptr);
    if (!indexed) continue;
    Function added;
    added.name = "added";
    module.functions.push_back(added);
    Variable variable;
    variable.name = "added";
    module.variables.push_back(variable);
    EXPECT_NE(found("added"), nullptr);
    EXPECT_NE(module.find_variable("added"), nullptr);
  }
}

TEST(Module, FunctionNamedLikeARegisterIsFoundThroughAnAlias) {
  EXPECT_FALSE(module_of(".func g() { ret; }\n.alias f, g;\n").has_function_like_register());
  EXPECT_TRUE(module_of(".func g() { ret; }\n.alias %f, g;\n").has_function_like_register());
}

}  // namespace
}  // namespace lynxpp::ptx
