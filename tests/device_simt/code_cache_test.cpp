// Machine code that outlives the process: later processes of the same build find it, other builds do not.
#include "device/cpu/simt/compile/code_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

namespace lynxpp::device::cpu::test {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public ::testing::Test {
 protected:
  CodeCacheTest() {
    std::string name = (fs::temp_directory_path() / "lynxpp-code-XXXXXX").string();
    parent_ = mkdtemp(name.data());
    folder_ = parent_ / "cpu";
  }
  ~CodeCacheTest() override { fs::remove_all(parent_); }

  std::unique_ptr<CodeCache> open(std::string_view version = "build 1") const {
    Result<std::unique_ptr<CodeCache>> cache = CodeCache::open(folder_, version);
    return cache ? std::move(*cache) : nullptr;
  }
  fs::path only_file() const {
    fs::path found;
    for (const auto& each : fs::directory_iterator(folder_)) {
      EXPECT_TRUE(found.empty());
      found = each.path();
    }
    return found;
  }

  fs::path parent_, folder_;
};

std::vector<std::byte> object_of(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

TEST_F(CodeCacheTest, ReturnsFormsThatWereStoredTogether) {
  const std::array first = {form_key("a"), form_key("b")};
  const std::array second = {form_key("c")};
  {
    const auto cache = open();
    ASSERT_NE(cache, nullptr);
    cache->add(first, object_of(1000, 1));
    cache->add(second, object_of(3, 2));
    EXPECT_FALSE(cache->find(first[0])) << "forms added after opening are not visible";
  }
  const auto cache = open();
  EXPECT_EQ(cache->size(), 3u);
  for (const FormKey& form : first) {
    const auto record = cache->find(form);
    ASSERT_TRUE(record);
    EXPECT_EQ(std::vector(record->forms.begin(), record->forms.end()),
              std::vector(first.begin(), first.end()));
    EXPECT_EQ(std::vector(record->object.begin(), record->object.end()), object_of(1000, 1));
  }
  const auto record = cache->find(second[0]);
  ASSERT_TRUE(record);
  EXPECT_EQ(std::vector(record->object.begin(), record->object.end()), object_of(3, 2));
  EXPECT_FALSE(cache->find(form_key("d")));
}

TEST_F(CodeCacheTest, SeparatesBuilds) {
  const std::array form = {form_key("a")};
  open("build 1")->add(form, object_of(10, 1));
  EXPECT_FALSE(open("build 2")->find(form[0]));
  EXPECT_TRUE(open("build 1")->find(form[0]));
}

/// Damage from a process that died while writing, and from a disk that lost data.
TEST_F(CodeCacheTest, SkipsDamagedRecords) {
  const std::array first = {form_key("a")};
  const std::array second = {form_key("b")};
  open()->add(first, object_of(1000, 1));
  open()->add(second, object_of(1000, 2));
  const fs::path file = only_file();
  fs::resize_file(file, fs::file_size(file) - 100);
  EXPECT_TRUE(open()->find(first[0]));
  EXPECT_FALSE(open()->find(second[0]));
  open()->add(second, object_of(1000, 3));
  EXPECT_TRUE(open()->find(first[0]));
  ASSERT_TRUE(open()->find(second[0]));
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(500);
    stream.put('x');
  }
  EXPECT_FALSE(open()->find(first[0]));
  EXPECT_TRUE(open()->find(second[0]));
}

TEST_F(CodeCacheTest, IsBounded) {
  for (int i = 0; i < 10; ++i) {
    const std::array form = {form_key(std::to_string(i))};
    open()->add(form, object_of(std::size_t{10} << 20, i));
    const std::uintmax_t bytes = fs::is_empty(folder_) ? 0 : fs::file_size(only_file());
    EXPECT_LE(bytes, CodeCache::greatest_file);
  }
  EXPECT_TRUE(open()->find(form_key("9"))) << "the file starts again from empty";
  for (int i = 0; i < 8; ++i) {
    const std::array form = {form_key("a")};
    open("build " + std::to_string(i))->add(form, object_of(10, 1));
  }
  EXPECT_LE(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 5);
}

/// The file-size limit raises a signal that would end the program.
TEST_F(CodeCacheTest, StoresNothingIfFilesMayNotGrow) {
  const std::array first = {form_key("a")};
  const std::array second = {form_key("b")};
  open()->add(first, object_of(1000, 1));
  const auto bytes = fs::file_size(only_file());
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes + 100;
    setrlimit(RLIMIT_FSIZE, &limit);
    open()->add(second, object_of(1000, 2));
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs::file_size(only_file()), bytes);
  EXPECT_TRUE(open()->find(first[0]));
}

TEST_F(CodeCacheTest, RequiresAPrivateFolder) {
  fs::create_directory(folder_);
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(open(), nullptr);
  chmod(folder_.c_str(), 0700);
  EXPECT_NE(open(), nullptr);
}

/// Foreign code would run with the rights of the user who finds it, possibly root.
TEST_F(CodeCacheTest, IgnoresFilesOfOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to a second user";
  const std::array form = {form_key("a")};
  open()->add(form, object_of(10, 1));
  ASSERT_TRUE(open()->find(form[0]));
  constexpr uid_t somebody = 65534;
  ASSERT_EQ(::chown(only_file().c_str(), somebody, somebody), 0);
  EXPECT_FALSE(open()->find(form[0]));
  open()->add(form, object_of(10, 2));
  EXPECT_FALSE(open()->find(form[0])) << "the file still belongs to another user";
}

/// A file of the user's that others can write to may contain foreign code.
TEST_F(CodeCacheTest, IgnoresFilesThatOthersCanWrite) {
  const std::array form = {form_key("a")};
  open()->add(form, object_of(10, 1));
  ASSERT_EQ(::chmod(only_file().c_str(), 0666), 0);
  EXPECT_FALSE(open()->find(form[0]));
}

/// Another process of the user may truncate the file at any time; reading past its end must not raise SIGBUS.
TEST_F(CodeCacheTest, OutlivesItsFile) {
  const std::array form = {form_key("a")};
  open()->add(form, object_of(100'000, 1));
  const auto cache = open();
  fs::resize_file(only_file(), 0);
  const auto record = cache->find(form[0]);
  ASSERT_TRUE(record);
  EXPECT_EQ(std::vector(record->object.begin(), record->object.end()), object_of(100'000, 1));
}

/// Only caches are removed, whatever else is in the folder, even under a cache's name.
TEST_F(CodeCacheTest, LeavesOtherFilesAlone) {
  const std::array form = {form_key("a")};
  open()->add(form, object_of(10, 1));
  std::vector<fs::path> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(folder_ / ("letter " + std::to_string(i)));
    others.push_back(folder_ / std::string(32, static_cast<char>('0' + i)));
  }
  for (const fs::path& other : others) {
    std::ofstream(other) << "mine";
    fs::last_write_time(other, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  }
  for (int i = 0; i < 8; ++i) open("build " + std::to_string(i))->add(form, object_of(10, 1));
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
  EXPECT_LE(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()),
            static_cast<std::ptrdiff_t>(others.size()) + 5);
}

TEST(BuildIdentity, IsThere) { EXPECT_FALSE(build_identity().empty()); }

}  // namespace
}  // namespace lynxpp::device::cpu::test
