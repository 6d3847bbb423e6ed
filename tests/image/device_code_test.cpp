// The code that a driver runs for images with machine code and PTX, and the PTX that machine code was
// compiled from.
#include "image/device_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/program_file.h"
#include "support/text.h"
#include "tests/image/image_builder.h"

namespace lynxpp::image {
namespace {

using test::as_bytes;
using test::Compression;
using test::ContainerBuilder;

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_elf = 2;
constexpr std::uint64_t architecture_specific_flag = 0x100000;
constexpr std::uint64_t family_specific_flag = 0x200000;

/// A cubin without sections, with a header as written by CUDA 12.
std::string cubin_from(std::uint32_t virtual_architecture) {
  std::string bytes(64, '\0');
  ContainerBuilder::put(bytes, 0, std::uint32_t{0x464C457F});
  bytes[8] = 7;
  ContainerBuilder::put(bytes, 48, virtual_architecture << 16 | 0x500);
  return bytes;
}

/// The PTX, or the reason for its absence.
std::string code(std::span<const std::byte> bytes, int sm) {
  const auto codes = device_code(bytes, sm);
  if (!codes) return codes.error().diagnostics.front().message;
  if (codes->size() != 1) return std::to_string(codes->size()) + " containers";
  return codes->front().ptx.empty() ? codes->front().problem : codes->front().ptx;
}

std::string code(const ContainerBuilder& container, int sm) {
  const std::string image = container.build();
  return code(as_bytes(image), sm);
}

TEST(DeviceCode, PtxAloneIsCompiledByTheDriver) {
  const ContainerBuilder image = ContainerBuilder().add(kind_ptx, 75, "// 75\n").add(kind_ptx, 86, "// 86\n");
  EXPECT_EQ(code(image, 80), "// 75\n");
  EXPECT_EQ(code(image, 90), "// 86\n");
  EXPECT_EQ(code(image, 70),
            "the program's PTX is for compute_75 and compute_86, not for compute capability 7.0");
  EXPECT_EQ(code(as_bytes("// text\n"), 90), "// text\n");
}

TEST(DeviceCode, CubinUsesThePtxItWasCompiledFrom) {
  const ContainerBuilder image = ContainerBuilder()
                                     .add(kind_elf, 86, cubin_from(80), Compression::lz4)
                                     .add(kind_ptx, 80, "// 80\n")
                                     .add(kind_ptx, 86, "// 86\n");
  EXPECT_EQ(code(image, 86), "// 80\n");
  EXPECT_EQ(code(image, 89), "// 80\n") << "machine code for an older minor version runs, too";
  EXPECT_EQ(code(image, 90), "// 86\n") << "but not for another major version";
  EXPECT_EQ(code(image, 80), "// 80\n") << "nor on an older device";
  EXPECT_EQ(code(image, 87), "// 86\n") << "nor on a system on a chip";
}

TEST(DeviceCode, CubinWithoutItsPtxIsRefused) {
  const ContainerBuilder image =
      ContainerBuilder().add(kind_elf, 90, cubin_from(90)).add(kind_ptx, 80, "// 80\n");
  EXPECT_EQ(
      code(image, 90),
      "the device runs machine code for sm_90, compiled from compute_90; the program's PTX is for compute_80 "
      "and may be different code");
  EXPECT_EQ(code(image, 100), "// 80\n");
  EXPECT_EQ(code(ContainerBuilder().add(kind_elf, 90, cubin_from(90)), 90),
            "the program carries no PTX for it");
  const std::string wanted = image.build();
  EXPECT_EQ(device_code(as_bytes(wanted), 90)->front().hint,
            "build with nvcc -gencode arch=compute_90,code=[sm_90,compute_90]");
}

TEST(DeviceCode, SpecialTargetsRunOnlyOnMatchingDevices) {
  const ContainerBuilder image =
      ContainerBuilder()
          .add(kind_elf, 90, cubin_from(90), Compression::none, architecture_specific_flag)
          .add(kind_elf, 100, cubin_from(100), Compression::none, family_specific_flag)
          .add(kind_ptx, 90, "// 90\n")
          .add(kind_ptx, 100, "// 100f\n", Compression::none, family_specific_flag);
  EXPECT_THAT(code(image, 90), testing::HasSubstr("sm_90a, compiled from compute_90a; "));
  EXPECT_EQ(code(image, 103), "// 100f\n");
  EXPECT_EQ(code(image, 120), "// 90\n");
}

TEST(DeviceCode, ContainersAreResolvedSeparately) {
  const std::string image = ContainerBuilder().add(kind_elf, 90, cubin_from(90)).build() +
                            ContainerBuilder().add(kind_ptx, 80, "// b\n").build();
  const auto codes = device_code(as_bytes(image), 90);
  ASSERT_TRUE(codes.ok());
  ASSERT_EQ(codes->size(), 2u);
  EXPECT_EQ((*codes)[0].problem, "the program carries no PTX for it");
  EXPECT_EQ((*codes)[1].ptx, "// b\n");
}

TEST(DeviceCode, DamagedCubinUsesItsOwnArchitecture) {
  for (const std::string& cubin : {std::string("ELF?"), cubin_from(80).substr(0, 40)}) {
    EXPECT_FALSE(compiled_from(as_bytes(cubin)));
    EXPECT_EQ(code(ContainerBuilder().add(kind_elf, 90, cubin).add(kind_ptx, 90, "// 90\n"), 90), "// 90\n");
  }
  std::string sections = cubin_from(80);
  sections[8] = 8;
  ContainerBuilder::put(sections, 40, ~std::uint64_t{0});
  ContainerBuilder::put(sections, 58, std::uint16_t{64});
  ContainerBuilder::put(sections, 60, std::uint16_t{0xffff});
  EXPECT_FALSE(compiled_from(as_bytes(sections)));
}

#ifdef LYNXPP_IMAGE_TEST_DATA

/// __CUDA_ARCH__ of the file's kernel for a device of this capability, or the reason why its PTX is not the
/// code that runs.
std::string architecture_on(const std::string& name, int sm) {
  const auto file = containers_in_file(std::string(LYNXPP_IMAGE_TEST_DATA) + "/" + name);
  if (!file || file->images.size() != 1) return "cannot read the file";
  const std::string text = code(file->images.front().bytes, sm);
  const std::size_t begin = text.find("_Z12architecturePi(");
  if (begin == std::string::npos) return text;
  for (const std::string_view line : split(std::string_view(text).substr(begin), '\n')) {
    if (line.find("st.global") == std::string_view::npos && line.find("mov.") == std::string_view::npos)
      continue;
    const std::size_t comma = line.rfind(',');
    const std::string value(trim(line.substr(comma + 1, line.find(';') - comma - 1)));
    if (!value.empty() && value.find('%') == std::string::npos) return value;
  }
  return "no constant in the kernel";
}

TEST(DeviceCode, MatchesTheBranchThatNvccCompiled) {
  EXPECT_EQ(architecture_on("older_ptx.fatbin", 90),
            "the device runs machine code for sm_90a, compiled from compute_90a; the program's PTX is for "
            "compute_80 and may be different code");
  EXPECT_EQ(architecture_on("older_ptx.fatbin", 100), "800");
  EXPECT_EQ(architecture_on("older_ptx.fatbin", 75),
            "the program's PTX is for compute_80, not for compute capability 7.5");

  EXPECT_EQ(architecture_on("by_minor_version.fatbin", 80), "800");
  EXPECT_EQ(architecture_on("by_minor_version.fatbin", 86), "800") << "its cubin comes from compute_80";
  EXPECT_EQ(architecture_on("by_minor_version.fatbin", 87), "870");
  EXPECT_EQ(architecture_on("by_minor_version.fatbin", 89), "890");
  EXPECT_EQ(architecture_on("by_minor_version.fatbin", 90), "890");

  EXPECT_EQ(architecture_on("by_family.fatbin", 90), "900");
  EXPECT_EQ(architecture_on("by_family.fatbin", 100), "1000");
  EXPECT_EQ(architecture_on("by_family.fatbin", 103), "1000");
  EXPECT_EQ(architecture_on("by_family.fatbin", 120), "900");
}

TEST(DeviceCode, PtxasRecordsItsVirtualArchitecture) {
  for (const auto& [name, expected] : {std::pair{"kernels.cubin", 75}, {"older.cubin", 80}}) {
    std::string cubin;
    ASSERT_TRUE(read_file(std::string(LYNXPP_IMAGE_TEST_DATA) + "/" + name, cubin));
    EXPECT_EQ(compiled_from(as_bytes(cubin)), static_cast<std::uint32_t>(expected)) << name;
  }
}

#endif  // LYNXPP_IMAGE_TEST_DATA

}  // namespace
}  // namespace lynxpp::image
