#include "cod/syntax/parser.h"

#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

TEST(Parser, ParsesEveryConstructOfFileScope) {
  const auto tree = parse(
      "// comment\nglobal unsigned long a[BLOCKS][4];\nglobal int total;\nunsigned x = 1, y;\n"
      "static int half(int v) { return v / 2; }\nON_INSTRUCTION: MEM_READ: GLOBAL: { x += 1; }\nx = 3;\n",
      "t.cod");
  ASSERT_TRUE(tree.ok());
  ASSERT_EQ(tree->items.size(), 6u);
  EXPECT_EQ(tree->items[0].kind, Item::Kind::global_array);
  EXPECT_EQ(tree->items[0].extents.size(), 2u);
  EXPECT_EQ(tree->items[0].type, Type::u64);
  EXPECT_TRUE(tree->items[1].extents.empty());
  EXPECT_EQ(tree->items[2].body->declarators.size(), 2u);
  EXPECT_EQ(tree->items[3].parameters.size(), 1u);
  EXPECT_EQ(tree->items[4].labels.size(), 3u);
  EXPECT_EQ(tree->items[4].labels[1].position.column, 17u);
  EXPECT_EQ(tree->items[5].kind, Item::Kind::statement);
}

TEST(Parser, AcceptsWordsOfATypeInAnyOrder) {
  for (const char* text :
       {"unsigned long", "long unsigned int", "unsigned long long", "uint64_t", "size_t"}) {
    const auto tree = parse(std::string(text) + " x;", "t.cod");
    ASSERT_TRUE(tree.ok()) << text;
    EXPECT_EQ(tree->items[0].body->type, Type::u64) << text;
  }
  const auto tree = parse("char a; short int b; signed c; float d; int8_t e;", "t.cod");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->items[0].body->type, Type::i8);
  EXPECT_EQ(tree->items[1].body->type, Type::i16);
  EXPECT_EQ(tree->items[2].body->type, Type::i32);
  EXPECT_EQ(tree->items[3].body->type, Type::f32);
  EXPECT_EQ(tree->items[4].body->type, Type::i8);
}

TEST(Parser, ColumnsCountBytes) {
  const auto tree = parse("/* \xc3\xa9 */ x = ;", "t.cod");
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().diagnostics[0].location.column, 14u);
}

TEST(Parser, EmptyFileIsASyntaxTreeWithoutItems) {
  const auto tree = parse("", "t.cod");
  ASSERT_TRUE(tree.ok());
  EXPECT_TRUE(tree->items.empty());
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Parser, DeepNestingOfAnyKindIsRejected) {
  constexpr int deep = 20000;
  const std::string prefixes[] = {"(",       "-",          "!",         "(int)",    "x = ",
                                  "f(",      "a[",         "x ? ",      "x ? 1 : ", "{",
                                  "if (1) ", "while (1) ", "for (;;) ", "do ",      "if (1) ; else ",
                                  "x + ",    "x += "};
  for (const std::string& prefix : prefixes) {
    const auto tree = parse("int x; ON_KERNEL_ENTRY: { " + repeated(prefix, deep), "t.cod");
    ASSERT_FALSE(tree.ok()) << prefix;
  }
  const auto chain = parse("ON_KERNEL_ENTRY: { int x = 1" + repeated(" + 1", deep) + "; }", "t.cod");
  ASSERT_FALSE(chain.ok());
  EXPECT_EQ(chain.error().diagnostics[0].message, "the code is nested too deeply here");
}

TEST(Parser, OrdinaryNestingIsAccepted) {
  const int depth = 60;
  EXPECT_EQ(
      errors_of("ON_KERNEL_ENTRY: { int x = " + repeated("(", depth) + "1" + repeated(")", depth) + "; }"),
      "");
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: " + repeated("{", depth) + repeated("}", depth)), "");
  EXPECT_EQ(errors_of("ON_KERNEL_ENTRY: { int x = 1" + repeated(" + 1", 150) + "; }"), "");
}

TEST(Parser, HugeFileIsRejected) {
  const auto tree = parse(std::string(3u << 20, ' '), "t.cod");
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(render(tree.error().diagnostics),
            "t.cod: error: the specification is larger than 1 MiB\n  hint: is this a .cod file?\n");
}

}  // namespace
}  // namespace lynxpp::cod
