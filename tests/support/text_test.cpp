#include "support/text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "support/printable.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

std::string why_not(const Result<std::string>& read) {
  return read ? "it was read: " + *read : read.error().diagnostics.front().message;
}

TEST(ReadRegularFile, ReadsOnlyRegularFilesThatFit) {
  const TemporaryFolder folder;
  const std::string file = folder.file("text");
  const std::string link = folder.file("link");
  const std::string pipe = folder.file("pipe");
  ASSERT_TRUE(write_file(file, std::string(1 << 20, 'x')));
  std::filesystem::create_symlink(file, link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(*read_regular_file(file, 1 << 20), std::string(1 << 20, 'x'));
  EXPECT_EQ(why_not(read_regular_file(file, (1 << 20) - 1)), "it is larger than 0 MiB");
  EXPECT_TRUE(read_regular_file(link, 1 << 20).ok());
  EXPECT_FALSE(read_regular_file(link, 1 << 20, false).ok());
  EXPECT_EQ(why_not(read_regular_file(pipe, 1 << 20)), "it is not a regular file");
  EXPECT_EQ(why_not(read_regular_file("/dev/zero", 1 << 20)), "it is not a regular file");
  EXPECT_EQ(why_not(read_regular_file(folder.path().string(), 1 << 20)), "it is a folder");
  EXPECT_EQ(why_not(read_regular_file(folder.file("none"), 1 << 20)), "No such file or directory");
}

/// Another process holds a lease: opening the file blocks until the holder releases it, up to 45 s.
TEST(ReadRegularFile, DoesNotWaitForALease) {
  const TemporaryFolder folder;
  const std::string file = folder.file("kept");
  ASSERT_TRUE(write_file(file, "text"));
  std::array<int, 2> kept{};
  std::array<int, 2> over{};
  ASSERT_EQ(pipe(kept.data()), 0);
  ASSERT_EQ(pipe(over.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(over[1]);
    sigset_t lease;
    sigemptyset(&lease);
    sigaddset(&lease, SIGIO);
    sigprocmask(SIG_BLOCK, &lease, nullptr);
    const int held = open(file.c_str(), O_RDWR);
    const char answer = fcntl(held, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
    const bool told = write(kept[1], &answer, 1) == 1;
    char byte = 0;
    _exit(told && read(over[0], &byte, 1) >= 0 ? 0 : 1);
  }
  close(over[0]);
  char answer = 'n';
  ASSERT_EQ(read(kept[0], &answer, 1), 1);
  const std::string why = why_not(read_regular_file(file, 1 << 20));
  const bool is_running = waitpid(child, nullptr, WNOHANG) == 0;
  close(over[1]);
  if (is_running) waitpid(child, nullptr, 0);
  close(kept[0]);
  close(kept[1]);
  if (answer != 'y') GTEST_SKIP() << "this file system has no leases";
  EXPECT_EQ(why, "Resource temporarily unavailable");
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\xff"), "a?[2Jb??");
  EXPECT_EQ(printable("gr\xC3\xB6\xC3\x9F\x65 \xE2\x86\x92 \xF0\x9F\x98\x80"),
            "gr\xC3\xB6\xC3\x9F\x65 \xE2\x86\x92 \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\u0085\u009b2J\u00a0"), "??2J\u00a0");
  EXPECT_EQ(
      printable("\u202e\u202d\u202a\u202b\u202c|\u2066\u2067\u2068\u2069|\u200e\u200f\u061c|\u2028\u2029"),
      "?????|????|???|??");
  EXPECT_EQ(printable("\u2027\u202f\u2065\u206a\u200d"), "\u2027\u202f\u2065\u206a\u200d");
}

TEST(Printable, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "?2J");
  EXPECT_EQ(printable("\xE0\x82\x9B"), "???") << "U+009B, overlong";
  EXPECT_EQ(printable("\xC0\x9B|\xED\xA0\x80|\xF4\x90\x80\x80|\xF0\x80\x82\x9B"), "??|???|????|????");
  EXPECT_EQ(printable("\xE2\x80"), "??");
}

TEST(Printable, LinesAndTabsArePreservedInMultilineText) {
  EXPECT_EQ(printable_lines("a\tb\r\nc\rd\n\x1b\x7f"), "a\tb\r\nc?d\n??");
}

}  // namespace
}  // namespace lynxpp
