#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse.h"
#include "ptx/parser/cursor.h"

namespace lynxpp::ptx {
namespace {

TEST(Scanner, ParsesVersionTargetAndAddressSize) {
  const auto module = parse_module("// made by hand\n.version 9.1 .target sm_90a, debug\n.address_size 32\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->version, (Version{9, 1}));
  EXPECT_EQ(module->target.sm, 90);
  EXPECT_EQ(module->target.suffix, 'a');
  EXPECT_EQ(module->target.text, "sm_90a, debug");
  EXPECT_EQ(module->text(module->target_text), "sm_90a, debug");
  EXPECT_EQ(module->text(module->version_text), "9.1");
  EXPECT_EQ(module->address_size, 32);
  ASSERT_EQ(module->items.size(), 3U);
  EXPECT_EQ(module->items[1].name, ".target");
  EXPECT_EQ(module->text(module->items[1].text), ".target sm_90a, debug");
}

TEST(Scanner, TargetsMayBeListsAndPrecedeNames) {
  const auto module = parse_module(".version 7.0\n.target texmode_independent, sm_121\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->target.sm, 121);
  EXPECT_EQ(module->target.suffix, '\0');
  EXPECT_EQ(module->address_size, 64);
}

// Line markers from a preprocessor specify the origin of lines; ptxas accepts them.
TEST(Scanner, LineMarkersAreComments) {
  const Module module = module_of(
      "# 1 \"a{.cu\"\n.global .u32 x;\n  #line 5 \"b.cu\"\n.entry k() {\n# 7 \"c.cu\" 2\n ret; }\n");
  ASSERT_EQ(module.functions.size(), 1U);
  EXPECT_EQ(module.variables.size(), 1U);
  EXPECT_EQ(module.functions[0].line, 7U);
  for (const char* text : {".global .u32 x; # 1 \"a.cu\"\n", "/* */ # 1 \"c:\\dir\\\"\n",
                           ".entry k() { # 4 \"c:\\\" 2\n ret; }\n", ".entry k() { ret; # 4 \"}.cu\"\n}"})
    EXPECT_TRUE(parse_module(header + text)) << text;
  for (const char* text :
       {"#define X 1\n", "#\n", "#", "# 7\n", "# 7 \"a\n\"", "#line \"a\"\n", "#pragma once\n"})
    EXPECT_FALSE(parse_module(header + text)) << text;
}

TEST(Scanner, DropsFatbinaryPadding) {
  const auto module = parse_module(header + std::string(3, '\0'));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->source(), header);
}

TEST(Scanner, ParsesEntriesWithParametersAndPerformanceDirectives) {
  const Module module = module_of(
      "// comment (\n"
      ".visible .entry kernel(\n"
      "  .param .u64 .ptr .global .align 16 kernel_param_0,\n"
      "  .param .align 8 .b8 kernel_param_1[24], /* ) */\n"
      "  .param .f32 kernel_param_2\n"
      ")\n"
      ".maxntid 256, 1, 1\n.minnctapersm 2 .pragma \"nounroll\";\n.explicitcluster\n.reqnctapercluster 2, 1, "
      "1\n"
      "{ ret; /* } */ \"}\" }\n");
  ASSERT_EQ(module.functions.size(), 1U);
  const Function& kernel = module.functions[0];
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_TRUE(kernel.is_entry && kernel.is_visible);
  EXPECT_FALSE(kernel.is_extern || kernel.is_weak || kernel.is_declaration());
  EXPECT_EQ(kernel.line, 5U);
  EXPECT_EQ(module.text(kernel.name_text), "kernel");
  EXPECT_EQ(module.text(kernel.body_text), "{ ret; /* } */ \"}\" }");
  EXPECT_TRUE(module.text(kernel.text).starts_with(".visible .entry"));
  EXPECT_TRUE(module.text(kernel.text).ends_with("\"}\" }"));
  EXPECT_TRUE(module.text(kernel.parameter_list).starts_with("(\n  .param"));
  EXPECT_TRUE(module.text(kernel.parameter_list).ends_with("kernel_param_2\n)"));
  ASSERT_EQ(kernel.parameters.size(), 3U);
  EXPECT_EQ(kernel.parameters[0].name, "kernel_param_0");
  EXPECT_EQ(kernel.parameters[0].space, StateSpace::param);
  EXPECT_EQ(kernel.parameters[0].alignment, 8U) << "the explicit alignment is the pointee's";
  EXPECT_EQ(kernel.parameters[1].size_bytes(), 24U);
  EXPECT_EQ(kernel.parameters[1].alignment, 8U);
  EXPECT_TRUE(kernel.parameters[1].is_array);
  EXPECT_EQ(module.text(kernel.parameters[1].text), ".param .align 8 .b8 kernel_param_1[24]");
  EXPECT_EQ(kernel.parameters[2].type, DataType::f32);
}

TEST(Scanner, ParsesEntriesWithoutParameterList) {
  const Module module = module_of(".entry a { ret; }\n.entry b .maxntid 32 { ret; }\n.entry c() { ret; }");
  ASSERT_EQ(module.functions.size(), 3U);
  EXPECT_TRUE(module.functions[0].parameter_list.empty());
  EXPECT_TRUE(module.functions[1].parameter_list.empty());
  EXPECT_EQ(module.text(module.functions[2].parameter_list), "()");
  EXPECT_FALSE(module.functions[0].is_visible);
}

TEST(Scanner, ParsesFunctionsWithResultsAndDeclarations) {
  const Module module = module_of(
      ".extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b) ;\n"
      ".func .attribute(.unified(1, 2)) (.param .align 16 .b8 r[32]) f .noreturn (.reg .b32 x) { ret; }\n"
      ".weak .func g() .noreturn .abi_preserve 16;\n.visible .func h;\n");
  ASSERT_EQ(module.functions.size(), 4U);
  EXPECT_TRUE(module.functions[0].is_extern && module.functions[0].is_declaration());
  EXPECT_EQ(module.functions[0].parameters.size(), 2U);
  EXPECT_EQ(module.functions[1].name, "f");
  ASSERT_EQ(module.functions[1].returns.size(), 1U);
  EXPECT_EQ(module.functions[1].returns[0].size_bytes(), 32U);
  EXPECT_EQ(module.functions[1].parameters[0].space, StateSpace::reg);
  EXPECT_TRUE(module.functions[2].is_weak && module.functions[2].is_declaration());
  EXPECT_EQ(module.text(module.functions[2].text), ".weak .func g() .noreturn .abi_preserve 16;");
  EXPECT_EQ(module.text(module.functions[3].text), ".visible .func h;");
}

TEST(Scanner, ParsesVariables) {
  const Module module = module_of(
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".visible .const .align 4 .b8 table[2][3] = {{1, 2, 3}, {4, 5, 6}}; // };\n"
      ".weak .global .v4 .f32 v;\n"
      ".global .texref t;\n"
      ".common .global .u64 c;\n"
      ".global .attribute(.managed) .align 4 .u32 m;\n"
      ".global .u16 open[] = {1, 2, 3, };\n"
      ".global .s32 many = -4, pair[2 * (1 + 1)];\n");
  ASSERT_EQ(module.variables.size(), 9U);
  const auto find = [&](const char* name) -> const Variable& { return *module.find_variable(name); };
  EXPECT_TRUE(find("dynamic").is_extern && find("dynamic").is_array);
  EXPECT_EQ(find("dynamic").size_bytes(), 0U);
  EXPECT_EQ(find("dynamic").alignment, 16U);
  EXPECT_EQ(find("dynamic").space, StateSpace::shared);
  EXPECT_TRUE(find("table").is_visible && find("table").has_initializer);
  EXPECT_EQ(find("table").size_bytes(), 6U);
  EXPECT_EQ(find("table").space, StateSpace::constant);
  EXPECT_EQ(module.text(find("table").initializer), "{{1, 2, 3}, {4, 5, 6}}");
  EXPECT_EQ(module.text(find("table").text),
            ".visible .const .align 4 .b8 table[2][3] = {{1, 2, 3}, {4, 5, 6}};");
  EXPECT_TRUE(find("v").is_weak);
  EXPECT_EQ(find("v").size_bytes(), 16U);
  EXPECT_EQ(find("v").alignment, 16U);
  EXPECT_EQ(find("t").type, DataType::opaque);
  EXPECT_EQ(find("t").type_text, ".texref");
  EXPECT_TRUE(find("c").is_weak);
  EXPECT_EQ(find("m").alignment, 4U);
  EXPECT_EQ(find("open").elements, 3U);
  EXPECT_EQ(module.text(find("many").initializer), "-4");
  EXPECT_EQ(find("pair").size_bytes(), 16U);
  // A declaration of two names is one item.
  EXPECT_EQ(module.items.size(), 3U + 8U);
  EXPECT_EQ(module.items.back().kind, ItemKind::variable);
  EXPECT_EQ(module.items.back().index, 7U);
}

TEST(Scanner, RecordsOtherDirectives) {
  const Module module = module_of(
      ".file 1 \"/a b/kernel.cu\", 1700000000, 4711\n.file\t2 \"x.h\"\n"
      ".alias f, g;\n.pragma \"a;b\", \"c\";\n"
      ".section .debug_str\n{\n$L:\n.b8 1, 2 // }\n.b8 \"}\"\n}\n.section .debug_macinfo { }\n"
      ".future_thing 3, \"x;\", (4; 5)\n.another { ; } .third\n"
      "@@DWARF .4byte 5 { \n.global .u32 x;\n");
  ASSERT_EQ(module.files.size(), 2U);
  EXPECT_EQ(*module.find_file(1), "/a b/kernel.cu");
  EXPECT_EQ(*module.find_file(2), "x.h");
  EXPECT_EQ(module.find_file(3), nullptr);
  std::vector<std::string> texts;
  for (std::size_t index = 3; index < module.items.size(); ++index)
    texts.emplace_back(module.text(module.items[index].text));
  EXPECT_THAT(texts,
              testing::ElementsAre(".file 1 \"/a b/kernel.cu\", 1700000000, 4711", ".file\t2 \"x.h\"",
                                   ".alias f, g;", ".pragma \"a;b\", \"c\";",
                                   ".section .debug_str\n{\n$L:\n.b8 1, 2 // }\n.b8 \"}\"\n}",
                                   ".section .debug_macinfo { }", ".future_thing 3, \"x;\", (4; 5)",
                                   ".another { ; }", ".third", "@@DWARF .4byte 5 { ", ".global .u32 x;"));
}

TEST(Scanner, RecordsDwarfLinesOfOldPtx) {
  const Module module =
      module_of(".global .u32 x;\n@@DWARF .byte 0x63 ; { \"\n@@DWARF .byte 1\n.global .u32 y;");
  ASSERT_EQ(module.items.size(), 7U);
  EXPECT_EQ(module.items[4].name, "@@DWARF");
  EXPECT_EQ(module.text(module.items[4].text), "@@DWARF .byte 0x63 ; { \"");
  EXPECT_NE(module.find_variable("y"), nullptr);
}

TEST(Scanner, FindsDefinitionsBeforeDeclarations) {
  Module module = module_of(".func f();\n.func f() { ret; }\n.extern .global .u32 v;\n.global .u32 v = 3;");
  EXPECT_FALSE(module.find_function("f")->is_declaration());
  EXPECT_TRUE(module.find_variable("v")->has_initializer);
  EXPECT_EQ(module.find_function("g"), nullptr);
  EXPECT_EQ(module.find_variable("w"), nullptr);
}

TEST(Scanner, ViewsSurviveAMove) {
  Module first = module_of(".pragma \"x\";");
  const Module second = std::move(first);
  EXPECT_EQ(second.items.back().name, ".pragma");
}

TEST(Scanner, FindsBracketsAtEveryOffset) {
  // Bodies are scanned several bytes at a time: tests every special character at every offset.
  for (std::size_t distance = 0; distance < 50; ++distance) {
    const std::string gap(distance, distance % 2 == 0 ? '_' : 'y');
    std::string body = "{";
    for (const char* piece : {"\"}\"", "/* } */", "// }\n", "[a]", "(b)", "{c}", "/", "\"\\\"}\"", ";"})
      body += gap + piece;
    body += gap + "}";
    const Module module = module_of("\n.func f()\n" + body + "\n.func g() { }\n");
    ASSERT_EQ(module.functions.size(), 2U) << distance;
    EXPECT_EQ(module.text(module.functions[0].body_text), body);
    EXPECT_EQ(module.functions[1].line, 8U);
  }
}

TEST(Scanner, CountsLinesOfTextOfAnyLength) {
  std::string text;
  for (std::size_t size = 0; size < 10000; ++size) {
    if (size < 100 || size % 97 == 0) {
      EXPECT_EQ(count_newlines(text), std::ranges::count(text, '\n')) << size;
    }
    text += size * size % 7 < 2 ? '\n' : 'x';
  }
  EXPECT_EQ(count_newlines(std::string(100000, '\n')), 100000U);
}

TEST(Scanner, IsLinear) {
  // A quadratic scanner would take minutes.
  std::string text;
  for (int index = 0; index < 100000; ++index) {
    text += ".func f" + std::to_string(index) + "() { // {{{\n { ret; } }\n";
  }
  const Module module = module_of(text);
  ASSERT_EQ(module.functions.size(), 100000U);
  EXPECT_EQ(module.functions.back().line, 3U + 2U * 99999U + 1U);
}

}  // namespace
}  // namespace lynxpp::ptx
