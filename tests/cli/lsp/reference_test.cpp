// Editors show the descriptions of the reference's tables, for every name of the language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/lsp/reference.h"
#include "cod/syntax/api.h"
#include "support/text.h"

namespace lynxpp::cli::lsp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Reference of_document() {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/docs/cod-reference.md", text));
  return parse_reference(text);
}

TEST(EditorReference, HasEveryNameOfTheLanguage) {
  const Reference found = of_document();
  const auto expect = [&](const std::string& name, Entry::Kind kind) {
    const auto entry = found.find(name);
    ASSERT_NE(entry, found.end()) << name;
    EXPECT_EQ(entry->second.kind, kind) << name;
    EXPECT_FALSE(entry->second.forms.empty()) << name;
    EXPECT_GT(entry->second.text.size(), 20u) << name;
    EXPECT_THAT(entry->second.text, Not(HasSubstr("](")));
  };
  for (const std::string& name : cod::api_names()) expect(name, Entry::Kind::function);
  for (const std::string& name : cod::extent_names()) expect(name, Entry::Kind::extent);
  for (const std::string& name : cod::label_names()) expect(name, Entry::Kind::label);
}

TEST(EditorReference, HasNoOtherNames) {
  std::vector<std::string> known = cod::api_names();
  for (const auto& more : {cod::extent_names(), cod::label_names()})
    known.insert(known.end(), more.begin(), more.end());
  for (const auto& [name, entry] : of_document()) EXPECT_THAT(known, testing::Contains(name));
}

TEST(EditorReference, ReadsTables) {
  const Reference found = parse_reference(
      "| function | value | cost | example |\n| --- | --- | --- | --- |\n"
      "| `f(x)`, `f()` | a [b](#c) or \\| | 3 | `n = f(1);` `n = f();` |\n| `g[k]` | no | 1 | `x` |\n\n"
      "| kind | label | chooses | cost | example |\n| --- | --- | --- | --- | --- |\n"
      "| class | `A` `B` | both | 0 | `A: {}` |\n\n| access | to | cost | example |\n| --- | --- | --- | --- "
      "|\n"
      "| `n` | a variable | 0 | `n` |\n\n| function | value | cost | example |\n| --- | --- | --- | --- |\n"
      "| `f(a, b)` | more | 4 | `f(1, 2);` |\n");
  ASSERT_EQ(found.size(), 3u);
  const Entry& f = found.at("f");
  EXPECT_THAT(f.forms, ElementsAre("f(x)", "f()", "f(a, b)"));
  EXPECT_EQ(f.text,
            "value: a b or |\n\ncost: 3\n\n```cod\nn = f(1);\nn = f();\n```\n\n---\n\n"
            "value: more\n\ncost: 4\n\n```cod\nf(1, 2);\n```");
  EXPECT_EQ(found.at("B").text, "kind: class\n\nchooses: both\n\ncost: 0\n\n```cod\nA: {}\n```");
}

}  // namespace
}  // namespace lynxpp::cli::lsp
