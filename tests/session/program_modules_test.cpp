// Kernels are instrumented from the PTX of what the driver runs, and from no other PTX.
#include "interposer/program_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "image/compiled_ptx.h"
#include "support/text.h"
#include "tests/image/image_builder.h"
#include "tests/session/session_fixture.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::interposer {
namespace {

using image::test::as_bytes;
using image::test::ContainerBuilder;
using image::test::CubinBuilder;
using ::testing::HasSubstr;

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_elf = 2;

std::string defining(const std::string& kernel) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + kernel + "()\n{\nret;\n}\n";
}

std::string message(const Result<KernelPtx>& text) {
  return text ? "found" : text.error().diagnostics.front().message;
}

TEST(ProgramModules, ReasonComesFromTheModuleWithPtx) {
  const std::string image =
      ContainerBuilder().add(kind_elf, 90, "ELF?").build() +
      ContainerBuilder().add(kind_ptx, 80, defining("a")).build() +
      ContainerBuilder().add(kind_elf, 90, "ELF?").add(kind_ptx, 80, defining("b")).build();
  ProgramModules modules;
  EXPECT_EQ(message(modules.text_of("a", 1, as_bytes(image), 90)), "found");
  EXPECT_THAT(message(modules.text_of("b", 1, as_bytes(image), 90)), HasSubstr("machine code for sm_90"));
  EXPECT_EQ(message(modules.text_of("b", 1, as_bytes(image), 100)), "found");
  modules.forget(1);
  const std::string other = ContainerBuilder().add(kind_ptx, 80, defining("c")).build();
  EXPECT_EQ(message(modules.text_of("c", 1, as_bytes(other), 90)), "found");
  EXPECT_EQ(message(modules.text_of("d", 1, as_bytes(other), 90)), "no PTX module of the program defines it");
}

TEST(ProgramModules, KernelIncludesTheModulesOfItsCallees) {
  const std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::string calling =
      header + ".extern .func far();\n.extern .func nowhere();\n.visible .entry a()\n{\ncall far;\nret;\n}\n";
  const std::string far =
      header + ".extern .func farther();\n.visible .func far()\n{\ncall farther;\nret;\n}\n";
  const std::string farther = header + ".visible .func farther()\n{\nret;\n}\n";
  std::string image;
  for (const std::string& text : {farther, calling, far, defining("unrelated")})
    image += ContainerBuilder().add(kind_ptx, 80, text).build();
  const Result<KernelPtx> found = ProgramModules().text_of("a", 1, as_bytes(image), 80);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->text, HasSubstr(".visible .func far()"));
  EXPECT_THAT(found->text, HasSubstr(".visible .func farther()"));
  EXPECT_THAT(found->text, HasSubstr("nowhere"));
  EXPECT_THAT(found->text, testing::Not(HasSubstr("unrelated")));
}

TEST(ProgramModules, UsesPtxIfTheDriverIgnoresMachineCode) {
  const std::string image =
      ContainerBuilder().add(kind_elf, 90, "ELF?").add(kind_ptx, 80, defining("a")).build();
  ::setenv("CUDA_FORCE_PTX_JIT", "1", 1);
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(image), 90)), "found");
  ::unsetenv("CUDA_FORCE_PTX_JIT");
  EXPECT_NE(message(ProgramModules().text_of("a", 1, as_bytes(image), 90)), "found");
}

/// Returns a cubin of kernel "a" that differs from cubins with other names.
CubinBuilder cubin_builder(const std::string& name) {
  return CubinBuilder().add(".text.a", "code").add(".comment", name);
}
std::string cubin_named(const std::string& name) { return cubin_builder(name).build(); }

/// Returns the text as stored by ptxas -lineinfo.
std::string with_zeros(std::string text) {
  std::ranges::replace(text, '\n', '\0');
  return text;
}

class MachineCodeAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("LYNXPP_PTX_STORE", (folder_.path() / "store").c_str(), 1);
    ::setenv("TRITON_CACHE_DIR", (folder_.path() / "triton").c_str(), 1);
    std::filesystem::create_directories(folder_.path() / "triton" / "key");
  }
  void TearDown() override {
    ::unsetenv("LYNXPP_PTX_STORE");
    ::unsetenv("TRITON_CACHE_DIR");
  }
  void keep(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.path() / "triton" / "key" / file) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(MachineCodeAlone, IsInstrumentedFromItsCompilersPtx) {
  const std::string cubin = cubin_named("first");
  EXPECT_THAT(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)),
              testing::StartsWith("the program carries no PTX for it"));
  ASSERT_TRUE(image::remember_ptx(as_bytes(cubin), defining("a")));
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)), "found");
  EXPECT_NE(message(ProgramModules().text_of("b", 1, as_bytes(cubin), 90)), "found");
  EXPECT_NE(message(ProgramModules().text_of("a", 1, as_bytes(cubin_named("other")), 90)), "found");
}

TEST_F(MachineCodeAlone, UsesTheLinkedTextThatDefinesTheKernel) {
  const std::string cubin = cubin_named("linked");
  ASSERT_TRUE(image::remember_ptx(as_bytes(cubin), defining("a") + '\0' + defining("b")));
  ProgramModules modules;
  EXPECT_EQ(message(modules.text_of("a", 1, as_bytes(cubin), 90)), "found");
  const Result<KernelPtx> second = modules.text_of("b", 1, as_bytes(cubin), 90);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->text, defining("b")) << "that text alone";
  EXPECT_NE(message(modules.text_of("c", 1, as_bytes(cubin), 90)), "found");
}

TEST_F(MachineCodeAlone, IsFoundInTritonsCacheByItsBytes) {
  const std::string cubin = cubin_named("first");
  keep("a.cubin", cubin_named("other"));
  keep("a.ptx", defining("a"));
  EXPECT_NE(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)), "found");
  keep("a.cubin", cubin);
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)), "found");
}

TEST_F(MachineCodeAlone, MayContainItsPtxInADebugSection) {
  const std::string cubin =
      cubin_builder("debug").add(".nv_debug_ptx_txt", with_zeros("\n" + defining("a"))).build();
  const Result<KernelPtx> found = ProgramModules().text_of("a", 1, as_bytes(cubin), 90);
  ASSERT_TRUE(found.ok()) << message(found);
  EXPECT_EQ(found->text, "\n" + defining("a"));
  EXPECT_EQ(found->origin, "the debug section of the cubin");
  ASSERT_TRUE(image::remember_ptx(as_bytes(cubin), "// with lines\n" + defining("a")));
  const Result<KernelPtx> remembered = ProgramModules().text_of("a", 1, as_bytes(cubin), 90);
  ASSERT_TRUE(remembered.ok());
  EXPECT_EQ(remembered->text, "// with lines\n" + defining("a")) << "that text has source lines";
  EXPECT_EQ(remembered->origin, "the PTX store");
}

TEST_F(MachineCodeAlone, KeepsItsPtxInAFatbinaryToo) {
  const std::string cubin =
      cubin_builder("debug").add(".nv_debug_ptx_txt", with_zeros(defining("a"))).build();
  using image::test::Compression;
  for (const Compression compression : {Compression::none, Compression::lz4, Compression::zstd}) {
    const std::string image = ContainerBuilder().add(kind_elf, 90, cubin, compression).build();
    EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(image), 90)), "found");
    EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(image), 100)),
              "the program carries no PTX for it");
  }
}

TEST_F(MachineCodeAlone, ReportsTheLocationOfMalformedPtx) {
  const std::string cubin = cubin_builder("malformed")
                                .add(".nv_debug_ptx_txt", with_zeros(defining("a") + ".visible .entry a(\n"))
                                .build();
  EXPECT_THAT(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)),
              testing::StartsWith("the PTX in the debug section of the cubin cannot be read: "));
}

TEST_F(MachineCodeAlone, MayComeFromAConfiguredCache) {
  ::unsetenv("TRITON_CACHE_DIR");
  ::setenv("CUPY_CACHE_DIR", "/somewhere", 1);
  const std::string cubin = cubin_named("first");
  const Result<KernelPtx> found = ProgramModules().text_of("a", 1, as_bytes(cubin), 90);
  EXPECT_EQ(message(found),
            "the program carries no PTX for it; it may have been compiled in an earlier run and come from "
            "CuPy's cache (/somewhere, CUPY_CACHE_DIR)");
  EXPECT_THAT(found.error().diagnostics.front().hint, HasSubstr("lynxpp run"));
  const std::string image = ContainerBuilder().add(kind_elf, 90, cubin).build();
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(image), 90)),
            "the program carries no PTX for it")
      << "the program's own fatbinary";
  ::setenv("CUPY_CACHE_DIR", (folder_.path() / "store" / "lynxpp" / "ptx" / "caches" / "cupy").c_str(), 1);
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)),
            "the program carries no PTX for it")
      << "what is in the store was compiled under observation";
  ::unsetenv("CUPY_CACHE_DIR");
}

TEST_F(MachineCodeAlone, ReportsWhyTheStoreIsNotUsed) {
  const std::string cubin = cubin_named("first");
  ASSERT_TRUE(image::remember_ptx(as_bytes(cubin), defining("a")));
  const std::string store = folder_.path() / "store" / "lynxpp" / "ptx";
  std::filesystem::permissions(store, std::filesystem::perms(0777));
  EXPECT_THAT(message(ProgramModules().text_of("a", 1, as_bytes(cubin), 90)),
              testing::EndsWith("; the PTX store is not used, as " + store +
                                " can be written by others (mode 0777)"));
}

TEST_F(MachineCodeAlone, IsFoundInTorchsCacheByItsBytes) {
  const std::filesystem::path folder = folder_.path() / "torch" / "triton" / "0" / "key";
  std::filesystem::create_directories(folder);
  ::setenv("TORCHINDUCTOR_CACHE_DIR", (folder_.path() / "torch").c_str(), 1);
  std::ofstream(folder / "a.cubin") << cubin_named("of torch");
  std::ofstream(folder / "a.ptx") << defining("a");
  EXPECT_EQ(message(ProgramModules().text_of("a", 1, as_bytes(cubin_named("of torch")), 90)), "found");
  ::unsetenv("TORCHINDUCTOR_CACHE_DIR");
}

#ifdef LYNXPP_SESSION_TEST_FATBINARY

class ArchitectureTest : public SessionTest {
 protected:
  bool launch_on(int compute_capability, std::uint32_t threads = 32) {
    device_.set_compute_capability(compute_capability);
    std::string file;
    EXPECT_TRUE(read_file(LYNXPP_SESSION_TEST_FATBINARY, file));
    device::Launch request;
    request.block[0] = threads;
    const KernelSource source{
        "architecture", 1,
        [&] { return modules_.text_of("architecture", 1, as_bytes(file), compute_capability); }};
    return session_->launch(device_, request, source);
  }

  ProgramModules modules_;
};

TEST_F(ArchitectureTest, IgnoresThePtxOfOtherMachineCode) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(launch_on(90));
  EXPECT_FALSE(launch_on(90, 33)) << "of another shape";
  EXPECT_TRUE(device_.loaded.empty());
  session_->finish();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(records_.coverage.size(), 1u);
  const std::string reason =
      "the device runs machine code for sm_90, compiled from compute_90; the program's PTX is for compute_80 "
      "and "
      "may be different code";
  EXPECT_EQ(records_.coverage[0].reason, reason);
  EXPECT_FALSE(records_.coverage[0].instrumented);
  EXPECT_EQ(records_.coverage[0].launches, 2u);
  const std::size_t first = said.find(reason);
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_THAT(said, HasSubstr("build with nvcc -gencode arch=compute_90,code=[sm_90,compute_90]"));
  EXPECT_EQ(said.find(reason, first + 1), std::string::npos) << said;
}

TEST_F(ArchitectureTest, InstrumentsThePtxOfTheLoadedCode) {
  EXPECT_TRUE(launch_on(86)) << "its machine code comes from compute_80";
  ASSERT_EQ(device_.loaded.size(), 1u);
  EXPECT_THAT(device_.loaded[0], HasSubstr(", 800;"));
}

TEST_F(ArchitectureTest, InstrumentsPtxThatTheDriverCompiles) {
  EXPECT_TRUE(launch_on(100));
  ASSERT_EQ(device_.loaded.size(), 1u);
  EXPECT_THAT(device_.loaded[0], HasSubstr(", 800;"));
}

TEST_F(ArchitectureTest, ReportsPtxOfNewerArchitectures) {
  EXPECT_FALSE(launch_on(75));
  session_->finish();
  EXPECT_EQ(records_.coverage.at(0).reason,
            "the program's PTX is for compute_80, not for compute capability 7.5");
}

#endif  // LYNXPP_SESSION_TEST_FATBINARY

}  // namespace
}  // namespace lynxpp::interposer
