// Files created by the toolkit's tools.
#include "image/program_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "image/fatbinary.h"
#include "support/text.h"
#include "tests/support/readable_name.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::image {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

#ifdef LYNXPP_IMAGE_TEST_DATA

std::string data(const std::string& name) { return std::string(LYNXPP_IMAGE_TEST_DATA) + "/" + name; }

std::vector<std::string> modules_of(const std::string& path, int sm, std::size_t* containers = nullptr) {
  const auto file = containers_in_file(path);
  EXPECT_TRUE(file.ok()) << (file ? "" : file.error().diagnostics.front().message);
  std::vector<std::string> texts;
  if (!file) return texts;
  if (containers != nullptr) *containers = file->images.size();
  for (const FileImage& image : file->images) {
    const auto modules = ptx_modules(image.bytes, sm);
    EXPECT_TRUE(modules.ok()) << image.origin << ": "
                              << (modules ? "" : modules.error().diagnostics.front().message);
    if (modules) texts.insert(texts.end(), modules->begin(), modules->end());
  }
  return texts;
}

/// nvcc removes indentation and comments from the text in a fatbinary.
std::string without_spaces_and_comments(const std::string& text) {
  std::string result;
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find("//"));
    for (const char c : line) {
      if (c != ' ' && c != '\t') result += c;
    }
  }
  return result;
}

class CompressionMode : public testing::TestWithParam<const char*> {};

TEST_P(CompressionMode, YieldsTheSameTextAsThePlainPtx) {
  std::string plain;
  ASSERT_TRUE(read_file(data("kernels.ptx"), plain));
  const auto modules = modules_of(data(std::string(GetParam()) + ".fatbin"), 90);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(without_spaces_and_comments(modules[0]), without_spaces_and_comments(plain));
}
INSTANTIATE_TEST_SUITE_P(Nvcc, CompressionMode, testing::Values("zstd", "lz4", "none"), ReadableName());

TEST(ProgramFile, SupportsSeveralArchitectures) {
  const std::string path = data("multi.fatbin");
  for (const auto& [sm, target] : {std::pair{0, "sm_90"}, {100, "sm_90"}, {86, "sm_80"}, {75, "sm_75"}}) {
    const auto modules = modules_of(path, sm);
    ASSERT_EQ(modules.size(), 1u) << sm;
    EXPECT_THAT(modules[0], HasSubstr(std::string(".target ") + target));
    EXPECT_THAT(modules[0], HasSubstr(".loc"));
  }
  EXPECT_TRUE(modules_of(path, 70).empty());
}

TEST(ProgramFile, SupportsRelocatableCode) {
  const auto modules = modules_of(data("relocatable.fatbin"), 90);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_THAT(modules[0], HasSubstr("_Z4fillPi"));
}

TEST(ProgramFile, SupportsProgramsOfTheDeviceLinker) {
  const auto file = containers_in_file(data("program_rdc"));
  ASSERT_TRUE(file.ok());
  ASSERT_GE(file->images.size(), 2u);
  EXPECT_THAT(file->images.front().origin, EndsWith("program_rdc[.nv_fatbin #0]"));
  EXPECT_THAT(file->images.back().origin, HasSubstr("[__nv_relfatbin #"));
  EXPECT_FALSE(modules_of(data("program_rdc"), 90).empty());
}

TEST(ProgramFile, CubinContainsNoPtx) {
  const auto file = containers_in_file(data("kernels.cubin"));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->images.size(), 1u);
  const auto entries = list_entries(file->images[0].bytes);
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->front().kind, EntryKind::cubin);
  // In memory the cubin is measured by its own headers; the entire file must be covered.
  const auto measured = image_bytes(file->contents.data());
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->size(), file->contents.size());
}

TEST(ProgramFile, ReadsToolkitLibraries) {
  if (!std::filesystem::exists(LYNXPP_CUDA_LIBRARIES "/libcurand.so"))
    GTEST_SKIP() << "the toolkit has no libcurand";
  std::size_t containers = 0;
  const auto random = modules_of(LYNXPP_CUDA_LIBRARIES "/libcurand.so", 0, &containers);
  EXPECT_EQ(containers, 11u);
  EXPECT_EQ(random.size(), 10u);
  for (const std::string& text : random) EXPECT_THAT(text.substr(0, 400), HasSubstr(".version"));
  const auto runtime = modules_of(LYNXPP_CUDA_LIBRARIES "/libcudadevrt.a", 0, &containers);
  EXPECT_EQ(containers, 1u);
  ASSERT_EQ(runtime.size(), 1u);
  EXPECT_GT(runtime[0].size(), 700000u);
}

TEST(ProgramFile, TruncatedFilesAreHandled) {
  std::string contents;
  ASSERT_TRUE(read_file(data("program_rdc"), contents));
  const TemporaryFolder folder;
  const std::string path = folder.file("program");
  for (const std::size_t divisor : {2u, 3u, 5u, 50u, 20000u}) {
    ASSERT_TRUE(write_file(path, contents.substr(0, contents.size() / divisor)));
    EXPECT_FALSE(containers_in_file(path).ok()) << divisor;
  }
}

#endif  // LYNXPP_IMAGE_TEST_DATA

TEST(ProgramFile, FilesWithoutDeviceCodeAreRejected) {
  const auto missing = containers_in_file("/no/such/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().diagnostics.front().message, "cannot read '/no/such/file'");
  EXPECT_FALSE(containers_in_file("/usr").ok());
  const auto shell = containers_in_file("/bin/true");
  ASSERT_TRUE(shell.ok());
  EXPECT_TRUE(shell->images.empty());
  EXPECT_FALSE(containers_in_file("/dev/null").ok());
}

}  // namespace
}  // namespace lynxpp::image
