// Folders in which lynxpp stores files: nobody else controls their contents, and other files are never
// removed.
#include "support/private_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t somebody = 65534;
constexpr std::size_t most_bytes = 1 << 20;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class PrivateFolderTest : public ::testing::Test {
 protected:
  fs::path path(const std::string& name) const { return temporary_.path() / name; }
  fs::path folder() const { return path("above/cache"); }

  /// The reason why the folder is rejected; otherwise empty.
  std::string refusal() const {
    const Result<PrivateFolder> opened = PrivateFolder::make(folder());
    return opened ? "" : opened.error().diagnostics.front().message;
  }
  PrivateFolder made() const { return std::move(*PrivateFolder::make(folder())); }

  /// Gives the path to another user; for a link, the link itself.
  static void give_away(const fs::path& path) {
    ASSERT_EQ(::lchown(path.c_str(), somebody, somebody), 0) << std::strerror(errno);
  }
  static bool is_root() { return ::geteuid() == 0; }

  TemporaryFolder temporary_;
};

#define LYNXPP_NEEDS_SECOND_USER() \
  if (!is_root()) GTEST_SKIP() << "only root can give files to another user"

TEST_F(PrivateFolderTest, IsCreatedForTheUserAlone) {
  ASSERT_EQ(refusal(), "");
  for (const fs::path& each : {folder(), folder().parent_path()}) {
    struct stat status {};
    ASSERT_EQ(::stat(each.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, 0700u) << each;
  }
}

TEST_F(PrivateFolderTest, IsNotCreatedForReading) {
  EXPECT_FALSE(PrivateFolder::open(folder()).ok());
  EXPECT_FALSE(fs::exists(folder().parent_path()));
}

TEST_F(PrivateFolderTest, StoresEntireFiles) {
  const PrivateFolder kept = made();
  EXPECT_EQ(kept.read("file", most_bytes), std::nullopt);
  ASSERT_TRUE(kept.write("file", {bytes_of("one "), bytes_of("two")}));
  EXPECT_EQ(kept.read("file", most_bytes), "one two");
  ASSERT_TRUE(kept.write("file", {bytes_of("three")}));
  EXPECT_EQ(kept.read("file", most_bytes), "three");
  EXPECT_EQ(kept.read("file", 4), std::nullopt) << "longer than the limit";
  EXPECT_THAT(kept.files(), ElementsAre(testing::Field(&PrivateFolder::File::name, "file")));
  kept.remove("file");
  EXPECT_THAT(kept.files(), IsEmpty());
}

TEST_F(PrivateFolderTest, RemovesFilesOfKilledProcesses) {
  const PrivateFolder kept = made();
  const fs::path old = folder() / ".lynxpp-unfinished-1";
  const fs::path recent = folder() / ".lynxpp-unfinished-2";
  ASSERT_TRUE(write_file(old.string(), "x"));
  ASSERT_TRUE(write_file(recent.string(), "x"));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(48));
  EXPECT_THAT(kept.files(), IsEmpty());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(recent)) << "it may still be written";
}

TEST_F(PrivateFolderTest, IsRejectedIfOthersCanWrite) {
  made();
  for (const mode_t mode : {0777u, 0770u, 0722u, 01777u}) {
    ASSERT_EQ(::chmod(folder().c_str(), mode), 0);
    EXPECT_THAT(refusal(), HasSubstr("above/cache can be written by others (mode ")) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  EXPECT_EQ(refusal(), "");
}

/// They could replace the folder.
TEST_F(PrivateFolderTest, IsRejectedBelowAFolderThatOthersCanWrite) {
  made();
  const fs::path above = folder().parent_path();
  ASSERT_EQ(::chmod(above.c_str(), 0777), 0);
  EXPECT_THAT(refusal(), HasSubstr("above can be written by others (mode 0777)"));
  ASSERT_EQ(::chmod(above.c_str(), 01777), 0);
  EXPECT_EQ(refusal(), "") << "the sticky bit protects the contents, as in /tmp";
}

TEST_F(PrivateFolderTest, IsRejectedIfItIsALink) {
  made();
  fs::rename(folder(), path("elsewhere"));
  ASSERT_TRUE(write_file((path("elsewhere") / "file").string(), "kept"));
  fs::create_symlink(path("elsewhere"), folder());
  ASSERT_EQ(refusal(), "") << "the user's own link";
  EXPECT_EQ(made().read("file", most_bytes), "kept");
  fs::remove(folder());
  fs::create_symlink(folder(), folder());
  EXPECT_THAT(refusal(), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(PrivateFolderTest, IsRejectedIfItIsAFile) {
  fs::create_directory(folder().parent_path());
  ASSERT_TRUE(write_file(folder().string(), "x"));
  EXPECT_THAT(refusal(), HasSubstr("above/cache is not a folder"));
}

TEST_F(PrivateFolderTest, RejectsLinksPipesAndFilesThatOthersCanWrite) {
  const PrivateFolder kept = made();
  const fs::path file = folder() / "file";
  ASSERT_TRUE(write_file(file.string(), "x"));
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(kept.read("file", most_bytes), "x");
  for (const mode_t mode : {0666u, 0664u, 0622u}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_EQ(kept.read("file", most_bytes), std::nullopt) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  fs::create_symlink(file, folder() / "link");
  EXPECT_EQ(kept.read("link", most_bytes), std::nullopt);
  ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(kept.read("pipe", most_bytes), std::nullopt) << "and nothing waits for a writer";
}

TEST_F(PrivateFolderTest, IsRejectedIfItBelongsToAnotherUser) {
  LYNXPP_NEEDS_SECOND_USER();
  made();
  give_away(folder());
  EXPECT_THAT(refusal(), HasSubstr("above/cache belongs to user 65534"));
}

/// `sudo` with a preserved HOME: root neither trusts folders that the user can replace nor creates one there.
TEST_F(PrivateFolderTest, IsNotCreatedBelowAnotherUsersFolder) {
  LYNXPP_NEEDS_SECOND_USER();
  fs::create_directory(folder().parent_path());
  give_away(folder().parent_path());
  EXPECT_THAT(refusal(), HasSubstr("above belongs to user 65534"));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(PrivateFolderTest, IsNotReachedThroughAnotherUsersLink) {
  LYNXPP_NEEDS_SECOND_USER();
  made();
  fs::rename(folder().parent_path(), path("real"));
  fs::create_symlink(path("real"), folder().parent_path());
  EXPECT_EQ(refusal(), "") << "the user's own link";
  give_away(folder().parent_path());
  EXPECT_THAT(refusal(), HasSubstr("above belongs to user 65534"));
}

TEST_F(PrivateFolderTest, NeitherReadsNorExtendsAnotherUsersFile) {
  LYNXPP_NEEDS_SECOND_USER();
  const PrivateFolder kept = made();
  ASSERT_TRUE(kept.write("file", {bytes_of("x")}));
  give_away(folder() / "file");
  EXPECT_EQ(kept.read("file", most_bytes), std::nullopt);
  EXPECT_FALSE(kept.open_file("file", O_RDWR | O_CREAT));
}

/// Between checking the path and using it.
TEST_F(PrivateFolderTest, StaysTheSameFolderIfThePathIsReplaced) {
  const PrivateFolder kept = made();
  ASSERT_TRUE(kept.write("file", {bytes_of("own")}));
  fs::rename(folder().parent_path(), path("moved"));
  fs::create_directories(folder());
  ASSERT_TRUE(write_file((folder() / "file").string(), "foreign"));
  EXPECT_EQ(kept.read("file", most_bytes), "own");
}

TEST(UserCacheFolder, IsNamedByTheVariable) {
  ::setenv("LYNXPP_TEST_CACHE", "/named", 1);
  EXPECT_EQ(user_cache_folder("LYNXPP_TEST_CACHE", "cpu"), "/named/lynxpp/cpu");
  for (const char* const off : {"0", "off"}) {
    ::setenv("LYNXPP_TEST_CACHE", off, 1);
    EXPECT_EQ(user_cache_folder("LYNXPP_TEST_CACHE", "cpu"), "");
  }
  ::unsetenv("LYNXPP_TEST_CACHE");
}

}  // namespace
}  // namespace lynxpp
