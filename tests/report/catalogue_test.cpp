#include "instrumentors/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::instrumentors {
namespace {

using report::TemporaryFolder;

std::string error_of(const auto& result) { return result ? "" : render(result.error().diagnostics); }

TEST(Catalogue, HoldsEveryFileOfTheExamplesByteForByte) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LYNXPP_SOURCE_DIR "/examples/specs")) {
    if (entry.path().extension() == ".cod") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  ASSERT_EQ(ready_made().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(ready_made()[i].name, names[i]);
    EXPECT_FALSE(ready_made()[i].summary.empty()) << names[i] << ".cod begins with no comment";
    std::string text;
    ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/specs/" + names[i] + ".cod", text));
    EXPECT_EQ(ready_made()[i].source, text);
  }
}

TEST(Catalogue, SummariesAreTheFirstParagraphOfTheComment) {
  const auto summary_of = [](std::string_view name) {
    return std::string(std::ranges::find(ready_made(), name, &ReadyMade::name)->summary);
  };
  EXPECT_EQ(
      summary_of("instruction_count"),
      "Dynamic PTX instructions of a launch: by threads (respecting guards) and by warps, in total and by "
      "class");
  EXPECT_EQ(
      summary_of("memory_efficiency"),
      "Global memory: requests, 32-byte sectors, bytes requested and transferred; separately for loads, "
      "stores and atomics, and for every instruction");
}

TEST(Catalogue, ReadyMadeSpecificationsAreFoundByName) {
  for (const ReadyMade& entry : ready_made()) {
    const auto found = find_specification(" " + std::string(entry.name) + " ");
    ASSERT_TRUE(found) << error_of(found);
    EXPECT_EQ(found->name, entry.name);
    EXPECT_EQ(found->path, "ready-made/" + std::string(entry.name) + ".cod");
    EXPECT_EQ(found->source, entry.source);
    EXPECT_TRUE(found->is_ready_made);
  }
}

TEST(Catalogue, FilesAreFoundByPath) {
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.cod");
  ASSERT_TRUE(write_file(path, "ON_KERNEL_ENTRY: {}\n"));
  const auto found = find_specification(path);
  ASSERT_TRUE(found) << error_of(found);
  EXPECT_EQ(found->name, "mine");
  EXPECT_EQ(found->path, path);
  EXPECT_EQ(found->source, "ON_KERNEL_ENTRY: {}\n");
  EXPECT_FALSE(found->is_ready_made);
}

TEST(Catalogue, UnreadableFilesGiveTheReason) {
  EXPECT_EQ(error_of(find_specification("./no.cod")),
            "error: cannot read specification './no.cod': no such file\n"
            "  hint: `lynxpp list` shows the ready-made specifications\n");
  EXPECT_EQ(error_of(find_specification("/")), "error: specification '/' is a folder\n");
  EXPECT_EQ(error_of(find_specification("/dev/zero")), "error: specification '/dev/zero' is not a file\n");
  EXPECT_EQ(error_of(find_specification("  ")),
            "error: empty name of a specification\n"
            "  hint: `lynxpp list` shows the ready-made specifications\n");
}

TEST(Catalogue, ReadsAPipeOnlyIfAllowedAndNeverWaitsOtherwise) {
  const TemporaryFolder folder;
  const std::string path = folder.file("pipe.cod");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of(parse_list(path)), "error: specification '" + path +
                                            "' is a pipe, which cannot be read a second time\n"
                                            "  hint: save it to a file\n");
  std::thread writer([&] { EXPECT_TRUE(write_file(path, "ON_KERNEL_ENTRY: {}\n")); });
  const auto found = find_specification(path, Pipes::read);
  writer.join();
  ASSERT_TRUE(found) << error_of(found);
  EXPECT_EQ(found->source, "ON_KERNEL_ENTRY: {}\n");
}

TEST(Catalogue, UnknownNameGetsTheClosestOneOrTheList) {
  EXPECT_THAT(error_of(find_specification("banana")),
              testing::StartsWith("error: no specification 'banana'\n  hint: "));
  if (ready_made().empty()) GTEST_SKIP() << "no ready-made specification in this build";
  std::string misspelt(ready_made()[0].name);
  std::swap(misspelt[1], misspelt[2]);
  EXPECT_EQ(error_of(find_specification(misspelt)), "error: no specification '" + misspelt +
                                                        "'\n  hint: did you mean '" +
                                                        std::string(ready_made()[0].name) + "'?\n");
}

TEST(Catalogue, ListsReportAllErrorsAtOnce) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.cod");
  const std::string b = folder.file("b.cod");
  ASSERT_TRUE(write_file(a, "1"));
  ASSERT_TRUE(write_file(b, "2"));
  const auto both = parse_list(a + ", " + b);
  ASSERT_TRUE(both) << error_of(both);
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[1].source, "2");

  EXPECT_EQ(error_of(parse_list(a + ",,./x.cod," + a)),
            "error: empty name of a specification\n"
            "  hint: `lynxpp list` shows the ready-made specifications\n"
            "error: cannot read specification './x.cod': no such file\n"
            "  hint: `lynxpp list` shows the ready-made specifications\n"
            "error: specification 'a' is given twice\n");
}

}  // namespace
}  // namespace lynxpp::instrumentors
