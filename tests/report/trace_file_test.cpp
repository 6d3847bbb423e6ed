// Files of streamed traces: complete and truncated files are read back, invalid ones are rejected.
#include "report/trace/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/text.h"

namespace lynxpp::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Traces : public testing::Test {
 protected:
  void SetUp() override {
    const std::string pattern = testing::TempDir() + "lynxpp_traces_XXXXXX";
    std::vector<char> name(pattern.begin(), pattern.end());
    name.push_back('\0');
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name.data();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name = "one.trace") const { return folder + "/" + name; }

  std::string folder;
};

const TraceDescription description{
    "memory_trace", "accesses", "kernel", 3, "cpu", 1, 42, {{"address", "u64"}, {"kind", "u8"}}};

template <typename T>
std::vector<std::byte> column(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Describes a file's contents as lines of text.
std::vector<std::string> read(const std::string& path, bool expected_cut_off = false) {
  std::vector<std::string> found;
  TraceVisitor visitor;
  visitor.begin = [&](std::uint32_t stream, const TraceDescription& of) {
    found.push_back(std::to_string(stream) + " " + of.specification + " " + of.trace + " " + of.kernel + " " +
                    std::to_string(of.launch) + " " + of.device + " " + std::to_string(of.ordinal) + " " +
                    std::to_string(of.process));
  };
  visitor.rows = [&](std::uint32_t stream, const TraceDescription&, const TraceRows& rows) {
    std::string text = std::to_string(stream) + " rows";
    for (std::uint64_t i = 0; i < rows.entries; ++i) {
      std::uint64_t address = 0;
      std::memcpy(&address, rows.columns[0].data() + 8 * i, 8);
      text += " " + std::to_string(rows.first + i) + ":" + std::to_string(address) + "/" +
              std::to_string(static_cast<int>(rows.columns[1][i]));
    }
    found.push_back(text);
    return true;
  };
  visitor.end = [&](std::uint32_t stream, const TraceDescription&, const TraceTotals& totals) {
    found.push_back(std::to_string(stream) + " done " + std::to_string(totals.appended) + " " +
                    std::to_string(totals.streamed));
  };
  bool is_cut_off = false;
  const Status status = read_traces(path, visitor, is_cut_off);
  EXPECT_EQ(is_cut_off, expected_cut_off);
  if (!status) found.push_back(status.error().diagnostics.front().message);
  return found;
}

Status write_rows(TraceFile& file, std::uint32_t stream, std::uint64_t first) {
  return file.write(stream, first, 2,
                    {column<std::uint64_t>({7, ~std::uint64_t{0}}), column<std::uint8_t>({1, 255})});
}

TEST_F(Traces, RoundTrip) {
  TraceFile file(folder + "/new/folder/one.trace");
  const auto first = file.begin(description);
  ASSERT_TRUE(first.ok());
  const auto second = file.begin(description);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(write_rows(file, *first, 0).ok());
  EXPECT_TRUE(write_rows(file, *second, 0).ok());
  EXPECT_TRUE(write_rows(file, *first, 5).ok());
  EXPECT_TRUE(file.end(*first, {9, 4}).ok());
  EXPECT_THAT(
      read(file.path()),
      ElementsAre("0 memory_trace accesses kernel 3 cpu 1 42", "1 memory_trace accesses kernel 3 cpu 1 42",
                  "0 rows 0:7/1 1:18446744073709551615/255", "1 rows 0:7/1 1:18446744073709551615/255",
                  "0 rows 5:7/1 6:18446744073709551615/255", "0 done 9 4"));
}

TEST_F(Traces, FileOfAKilledProcessIsReadUpToTheLastCompleteFrame) {
  TraceFile file(path());
  ASSERT_TRUE(file.begin(description).ok());
  ASSERT_TRUE(write_rows(file, 0, 0).ok());
  const std::uint64_t whole = std::filesystem::file_size(path());
  ASSERT_TRUE(write_rows(file, 0, 2).ok());
  const std::uint64_t all = std::filesystem::file_size(path());
  for (std::uint64_t size = all - 1; size > whole; --size) {
    std::filesystem::resize_file(path(), size);
    EXPECT_EQ(read(path(), true).size(), 2u) << size;
  }
  std::filesystem::resize_file(path(), whole);
  EXPECT_EQ(read(path()).size(), 2u);
}

/// An existing file and a link's target may belong to somebody else, and a pipe would block the program.
TEST_F(Traces, FileIsAlwaysNew) {
  const std::string other = path("other");
  ASSERT_TRUE(write_file(other, "mine"));
  ASSERT_TRUE(write_file(path(), "mine"));
  const std::string stem = path().substr(0, path().size() - trace_suffix.size());
  std::filesystem::create_symlink(other, stem + ".2.trace");
  std::filesystem::create_symlink(path("absent"), stem + ".3.trace");
  ASSERT_EQ(::mkfifo((stem + ".4.trace").c_str(), 0600), 0);
  TraceFile file(path());
  ASSERT_TRUE(file.begin(description).ok());
  EXPECT_EQ(file.path(), stem + ".5.trace");
  EXPECT_EQ(read(file.path()).size(), 1u);
  for (const std::string& each : {path(), other}) {
    std::string content;
    EXPECT_TRUE(read_file(each, content));
    EXPECT_EQ(content, "mine");
  }
  EXPECT_FALSE(std::filesystem::exists(path("absent")));
}

TEST_F(Traces, FullDiskLeavesCompleteFrames) {
  TraceFile file(path());
  ASSERT_TRUE(file.begin(description).ok());
  ASSERT_TRUE(write_rows(file, 0, 0).ok());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{std::filesystem::file_size(path()) + 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  const Status refused = write_rows(file, 0, 2);
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().diagnostics.front().message,
              HasSubstr("stopped streaming traces to " + path() + ": File too large"));
  EXPECT_FALSE(write_rows(file, 0, 2).ok()) << "there is a gap before it";
  EXPECT_EQ(read(path()).size(), 2u);
}

TEST_F(Traces, ReportsThatAFileCannotBeCreated) {
  std::ofstream(path("file")) << "x";
  TraceFile file(path("file") + "/one.trace");
  const auto begun = file.begin(description);
  ASSERT_FALSE(begun.ok());
  EXPECT_THAT(begun.error().diagnostics.front().message, HasSubstr("Not a directory"));
}

TEST_F(Traces, RejectsInvalidFiles) {
  std::ofstream(path()) << "this is a text of more than sixteen bytes";
  EXPECT_THAT(read(path()),
              ElementsAre(HasSubstr("is not a file of streamed traces: invalid frame at byte 0")));
  TraceFile file(path("two.trace"));
  ASSERT_TRUE(file.begin(description).ok());
  ASSERT_TRUE(file.write(0, 0, 2, {column<std::uint64_t>({7, 8})}).ok());
  EXPECT_THAT(read(path("two.trace")).back(),
              HasSubstr("a block does not contain the values that it declares"));
  EXPECT_THAT(read(path("three.trace")).back(), HasSubstr("three.trace"));
}

/// The only frames that claim more bytes than they contain.
TEST_F(Traces, RejectsFramesThatClaimTooManyBytes) {
  TraceDescription without_fields = description;
  without_fields.fields.clear();
  TraceFile file(path());
  ASSERT_TRUE(file.begin(without_fields).ok());
  ASSERT_TRUE(file.write(0, 0, 1'000'000'000, {}).ok());
  EXPECT_THAT(read(path()).back(), HasSubstr("a stream has no fields"));
  TraceFile large(path("large.trace"));
  ASSERT_TRUE(large.begin(description).ok());
  const std::vector<std::byte> zeros(std::size_t{9} << 23);
  ASSERT_TRUE(large.write(0, 0, zeros.size() / 9, {zeros}).ok());
  EXPECT_THAT(read(path("large.trace")).back(), HasSubstr("a block is too long"));
}

TEST_F(Traces, SurvivesAnyChangedByte) {
  TraceFile file(path());
  ASSERT_TRUE(file.begin(description).ok());
  ASSERT_TRUE(write_rows(file, 0, 0).ok());
  ASSERT_TRUE(file.end(0, {2, 2}).ok());
  std::string content;
  ASSERT_TRUE(read_file(path(), content));
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string changed = content;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    ASSERT_TRUE(write_file(path("changed.trace"), changed));
    bool is_cut_off = false;
    static_cast<void>(read_traces(path("changed.trace"), {}, is_cut_off));
  }
}

TEST_F(Traces, FindsFilesInAFolder) {
  EXPECT_FALSE(trace_files(folder).ok());
  for (const char* name : {"b.trace", "a.trace", "c.jsonl"}) std::ofstream(path(name)) << "x";
  const auto files = trace_files(folder);
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(*files, ElementsAre(path("a.trace"), path("b.trace")));
  EXPECT_THAT(*trace_files(path("c.jsonl")), ElementsAre(path("c.jsonl")));
  EXPECT_FALSE(trace_files(path("none")).ok());
}

}  // namespace
}  // namespace lynxpp::report
