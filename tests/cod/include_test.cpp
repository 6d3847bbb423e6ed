// Specifications that consist of several files.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/text.h"
#include "tests/cod/test_support.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::cod {
namespace {

class Include : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_.path() / "lib"); }

  std::string path(const std::string& name) const { return folder_.file(name); }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(path(name), text));
  }
  /// The diagnostics without the folder; empty if the file compiles.
  std::string errors(const std::string& name) const {
    std::string source;
    EXPECT_TRUE(read_file(path(name), source));
    const auto result = compile(source, path(name));
    if (result) return {};
    std::string text = render(result.error().diagnostics, source);
    const std::string prefix = folder_.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(Include, AddsTypesFunctionsArraysAndHandlers) {
  write("main.cod",
        "include \"lib/types.cod\"\ninclude \"lib/tools.cod\";\nON_KERNEL_EXIT: { line at = line_of(256); "
        "remember(at); }\n");
  write("lib/types.cod", "typedef unsigned long line;\nenum { SIZE = 128 };\n");
  write(
      "lib/tools.cod",
      "include \"types.cod\"\nglobal line last;\nstatic line line_of(unsigned long a) { return a / SIZE; }\n"
      "static void remember(line l) { last = l; }\nON_KERNEL_ENTRY: { remember(0); }\n");
  EXPECT_EQ(errors("main.cod"), "");
  std::string source;
  ASSERT_TRUE(read_file(path("main.cod"), source));
  const auto specification = compile(source, path("main.cod"));
  ASSERT_TRUE(specification.ok());
  EXPECT_EQ((*specification)->handlers().size(), 2u);
  EXPECT_EQ((*specification)->handlers()[0].location.file, path("lib/tools.cod"));
  EXPECT_TRUE((*specification)->lower_device({90}).ok());
}

TEST_F(Include, ErrorsNameTheIncludedFileAndQuoteItsLine) {
  write("main.cod", "include \"a.cod\"\nON_KERNEL_EXIT: { wrong = 1; }\n");
  write("a.cod", "int x;\n\nON_KERNEL_ENTRY: { y = 1; }\n");
  EXPECT_EQ(errors("main.cod"),
            "main.cod:2:19: error: unknown name 'wrong'\n"
            "  ON_KERNEL_EXIT: { wrong = 1; }\n"
            "                    ^~~~~\n"
            "a.cod:3:20: error: unknown name 'y'\n"
            "  ON_KERNEL_ENTRY: { y = 1; }\n"
            "                     ^\n"
            "  hint: did you mean 'x'?\n");
  write("a.cod", "int x = ;\n");
  EXPECT_EQ(errors("main.cod"),
            "a.cod:1:9: error: unexpected ';'\n"
            "  int x = ;\n"
            "          ^\n");
}

TEST_F(Include, CyclesAreRejected) {
  write("main.cod", "include \"a.cod\"\nint x;\n");
  write("a.cod", "include \"b.cod\"\n");
  write("b.cod", "int y;\ninclude \"lib/../main.cod\"\n");
  EXPECT_EQ(errors("main.cod"),
            "b.cod:2:9: error: this includes the file itself, through 'a.cod', 'b.cod'\n"
            "  include \"lib/../main.cod\"\n"
            "          ^~~~~~~~~~~~~~~~~\n"
            "  hint: move the shared declarations into a third file\n");
}

TEST_F(Include, FilesThatAreNotTextAreRejected) {
  write("main.cod", "include \"lib\"\ninclude \"/dev/zero\"\nint x;\n");
  const std::string text = errors("main.cod");
  EXPECT_NE(text.find("main.cod:1:9: error: 'lib' cannot be read"), std::string::npos) << text;
  EXPECT_NE(text.find("main.cod:2:9: error: '/dev/zero' cannot be read"), std::string::npos) << text;
}

}  // namespace
}  // namespace lynxpp::cod
