// Rejection of foreign JSON before parsing, and the reported locations.
#include "support/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lynxpp {
namespace {

using Ordered = nlohmann::ordered_json;

std::string problem_of(const std::string& text, bool has_comments = false) {
  const Result<Ordered> parsed = parse_json<Ordered>(text, {"f.json", 1, 1, 1}, has_comments);
  return parsed ? "" : render(parsed.error().diagnostics);
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

/// Later members make the vector of an ordered object grow, which copies the nested value.
std::string object_with(const std::string& value) {
  return "{\"a\":" + value + ",\"b\":1,\"c\":2,\"d\":3,\"e\":4}";
}

TEST(ForeignJson, DeepValuesAreRejectedAtTheirLocation) {
  EXPECT_EQ(problem_of(nested(deepest_json)), "");
  EXPECT_EQ(problem_of(nested(deepest_json + 1)),
            "f.json:1:101: error: the JSON is nested too deeply here\n");
  EXPECT_EQ(problem_of("{\n\"a\":\n" + nested(100000) + "}"),
            "f.json:3:100: error: the JSON is nested too deeply here\n");
  EXPECT_EQ(problem_of(object_with(nested(100000))),
            "f.json:1:105: error: the JSON is nested too deeply here\n");
  EXPECT_EQ(problem_of(object_with("\"" + std::string(1000, '[') + "\\\"[\"")), "") << "inside a string";
}

/// An ordered object searches all members for each new one.
TEST(ForeignJson, WideObjectsAreRejectedAtTheirLocation) {
  const auto wide = [](std::size_t members) {
    std::string text = "{";
    for (std::size_t i = 0; i < members; ++i)
      text += (i ? ",\n\"m" : "\"m") + std::to_string(i) + "\":\"{:,\"";
    return text + "}";
  };
  EXPECT_EQ(problem_of(wide(most_json_members)), "");
  EXPECT_EQ(problem_of(wide(200000)), "f.json:10001:9: error: the object has more than 10000 members here\n");
  std::string list = "[{\"a\":1}";
  for (std::size_t i = 0; i < 2 * most_json_members; ++i) list += ",{\"a\":1}";
  EXPECT_EQ(problem_of(list + "]"), "") << "each object counts its own";
}

TEST(ForeignJson, CommentsDoNotHideNesting) {
  const std::string text = "[ // \"\n/* \" */ " + nested(200) + "]";
  EXPECT_EQ(problem_of(text, true), "f.json:2:108: error: the JSON is nested too deeply here\n");
  EXPECT_EQ(problem_of("[ // " + std::string(1000, '[') + "\n1 /* {{ */]", true), "");
  EXPECT_EQ(problem_of("[ // \"\n1]"),
            "f.json:1:3: error: syntax error while parsing value - invalid literal; last read: '[ /'\n");
}

TEST(ForeignJson, SyntaxErrorsHaveALocation) {
  EXPECT_EQ(problem_of(""),
            "f.json:1:1: error: syntax error while parsing value - unexpected end of input; expected '[', "
            "'{', or a "
            "literal\n");
  EXPECT_EQ(problem_of("{\n  \"a\": 1,\n}").substr(0, 18), "f.json:3:1: error:");
  EXPECT_EQ(problem_of("\"\\").substr(0, 18), "f.json:1:3: error:");
  EXPECT_EQ(problem_of("[1e999]"), "f.json:1:1: error: number overflow parsing '1e999'\n");
}

}  // namespace
}  // namespace lynxpp
