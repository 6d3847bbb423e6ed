// The PTX store: observed compilations, stored in a folder that nobody else controls.
#include "image/compiled_ptx.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "image/compiler_caches.h"
#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::image {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class PtxStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("LYNXPP_PTX_STORE", named().c_str(), 1); }
  void TearDown() override { ::unsetenv("LYNXPP_PTX_STORE"); }

  fs::path named() const { return temporary_.path() / "named"; }
  fs::path store() const { return named() / "lynxpp" / "ptx"; }
  static std::optional<std::string> remembered(const std::string& cubin) {
    return remembered_ptx(bytes_of(cubin));
  }
  fs::path only_entry() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(store())) found.push_back(each.path());
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? fs::path() : found.front();
  }
  static void make_older(const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TemporaryFolder temporary_;
};

TEST_F(PtxStoreTest, FindsTheTextByTheBytesOfTheCubin) {
  ASSERT_TRUE(remember_ptx(bytes_of("cubin"), "text"));
  EXPECT_EQ(remembered("cubin"), "text");
  EXPECT_EQ(remembered("cubic"), std::nullopt);
  ASSERT_TRUE(remember_ptx(bytes_of("cubin"), "text"));
  only_entry();
}

TEST_F(PtxStoreTest, CanBeSwitchedOff) {
  fs::create_directory(temporary_.path() / "here");
  fs::current_path(temporary_.path() / "here");
  for (const char* const off : {"0", "off"}) {
    ::setenv("LYNXPP_PTX_STORE", off, 1);
    EXPECT_FALSE(remember_ptx(bytes_of("cubin"), "text"));
    EXPECT_TRUE(moved_compiler_caches().empty());
  }
  EXPECT_TRUE(fs::is_empty(fs::current_path())) << "no folder has that name";
  fs::current_path("/");
}

TEST_F(PtxStoreTest, IgnoresEntriesOfOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_TRUE(remember_ptx(bytes_of("cubin"), "text"));
  constexpr uid_t somebody = 65534;
  ASSERT_EQ(::chown(only_entry().c_str(), somebody, somebody), 0);
  EXPECT_EQ(remembered("cubin"), std::nullopt);
}

TEST_F(PtxStoreTest, IsNotUsedIfOthersCanWrite) {
  ASSERT_TRUE(remember_ptx(bytes_of("cubin"), "text"));
  for (const fs::path& each : {store(), named()}) {
    ASSERT_EQ(::chmod(each.c_str(), 0777), 0);
    EXPECT_EQ(remembered("cubin"), std::nullopt) << each;
    EXPECT_FALSE(remember_ptx(bytes_of("other"), "text")) << each;
    ASSERT_EQ(::chmod(each.c_str(), 0700), 0);
  }
  EXPECT_EQ(remembered("cubin"), "text");
}

/// Triton's folders may be anywhere, and may contain files from other users.
TEST_F(PtxStoreTest, ReadsTritonsCacheOnlyIfNobodyElseCanWrite) {
  const fs::path cache = temporary_.path() / "triton";
  const fs::path key = cache / "key";
  fs::create_directories(key);
  for (const fs::path& each : {cache, key}) ASSERT_EQ(::chmod(each.c_str(), 0755), 0);
  for (const auto& [name, text] : {std::pair("a.cubin", "cubin"), {"a.ptx", "text"}}) {
    ASSERT_TRUE(write_file((key / name).string(), text));
    ASSERT_EQ(::chmod((key / name).c_str(), 0644), 0);
  }
  ::setenv("TRITON_CACHE_DIR", cache.c_str(), 1);
  EXPECT_EQ(ptx_in_triton_cache(bytes_of("cubin"), "a"), "text");
  for (const fs::path& each : {cache, key, key / "a.cubin", key / "a.ptx"}) {
    const fs::perms before = fs::status(each).permissions();
    ASSERT_EQ(::chmod(each.c_str(), 0777), 0);
    EXPECT_EQ(ptx_in_triton_cache(bytes_of("cubin"), "a"), std::nullopt) << each;
    fs::permissions(each, before);
  }
  ::unsetenv("TRITON_CACHE_DIR");
}

/// The user's own large and old files in the store's folder; some are named like an entry.
TEST_F(PtxStoreTest, RemovesOldEntriesOnly) {
  const std::string text(std::size_t{60} << 20, 'x');
  ASSERT_TRUE(remember_ptx(bytes_of("cubin 0"), text));
  const fs::path oldest = only_entry();
  make_older(oldest, 1);
  const std::vector<fs::path> others = {named() / "video",
                                        store() / "video",
                                        named() / "0123456789abcdef-5",
                                        store() / "0123456789abcdef-5",
                                        store() / "0123456789abcdef-6",
                                        store() / "notes-1"};
  for (const fs::path& other : others) {
    ASSERT_TRUE(write_file(other.string(), "mine, and not the store's"));
    make_older(other, 1000);
  }
  for (const char* const large : {"video", "0123456789abcdef-6"})
    fs::resize_file(store() / large, std::uintmax_t{300} << 20);
  ASSERT_TRUE(remember_ptx(bytes_of("cubin 1"), text));
  EXPECT_TRUE(fs::exists(oldest)) << "other files do not count";
  for (int i = 2; i < 6; ++i) ASSERT_TRUE(remember_ptx(bytes_of("cubin " + std::to_string(i)), text));
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_TRUE(remembered("cubin 5").has_value());
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

/// A cubin in a framework's cache must not outlive its PTX.
TEST_F(PtxStoreTest, RemovesCompilerCachesTogetherWithEntries) {
  const std::string text(std::size_t{60} << 20, 'x');
  const fs::path kept = store() / "caches" / "cupy";
  fs::create_directories(kept);
  for (const char* const name : {"old", "recent"}) ASSERT_TRUE(write_file((kept / name).string(), "cubin"));
  make_older(kept / "old", 2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(remember_ptx(bytes_of("cubin " + std::to_string(i)), text));
  for (const auto& each : fs::directory_iterator(store())) {
    if (each.is_regular_file()) make_older(each.path(), 1);
  }
  for (int i = 2; i < 5; ++i) ASSERT_TRUE(remember_ptx(bytes_of("cubin " + std::to_string(i)), text));
  EXPECT_FALSE(fs::exists(kept / "old"));
  EXPECT_TRUE(fs::exists(kept / "recent"));
}

}  // namespace
}  // namespace lynxpp::image
