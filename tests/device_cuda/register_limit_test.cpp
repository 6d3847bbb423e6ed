// Which variants are recompiled with fewer registers, against a driver that answers from a table.
#include "device/cuda/register_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KernelResources resources_of(std::uint32_t registers, std::uint32_t local_bytes, std::uint32_t warps) {
  return {registers, local_bytes, 0, warps / 8, warps, 64};
}

TEST(RegisterLimits, KeepTheOriginalsWarpsOrTakeTheNextStep) {
  const KernelResources original = resources_of(20, 0, 64);
  EXPECT_THAT(register_limits(original, resources_of(56, 0, 36)), ElementsAre(32, 40));
  EXPECT_THAT(register_limits(original, resources_of(39, 0, 48)), ElementsAre(32));
  EXPECT_THAT(register_limits(resources_of(40, 0, 48), resources_of(57, 0, 32)), ElementsAre(40, 48));
  EXPECT_THAT(register_limits(resources_of(32, 0, 63), resources_of(56, 0, 36)), ElementsAre(32, 40));
  EXPECT_THAT(register_limits(original, resources_of(32, 0, 64)), IsEmpty());
  EXPECT_THAT(register_limits(original, resources_of(56, 0, 0)), IsEmpty());
}

TEST(RegisterLimits, AreWorthMoreWarpsWithFewSpills) {
  const KernelResources variant = resources_of(56, 40, 36);
  EXPECT_TRUE(pays_off(resources_of(40, 40, 48), variant));
  EXPECT_TRUE(pays_off(resources_of(40, 56, 48), variant));
  EXPECT_FALSE(pays_off(resources_of(40, 60, 48), variant));
  EXPECT_FALSE(pays_off(resources_of(40, 40, 36), variant));
}

struct Compiled {
  int registers = 0;
  int local_bytes = 0;
};

/// The driver's results for the variant by register limit; 0: no limit. The original is module 1000.
struct Table {
  std::map<std::uintptr_t, Compiled> compiled;
  std::vector<std::uintptr_t> asked;
  std::vector<std::uintptr_t> unloaded;
};
Table* table = nullptr;
constexpr std::uintptr_t original_function = 1000;
constexpr std::uintptr_t unlimited_function = 999;

const Compiled& compiled(CUfunction function) {
  const auto number = reinterpret_cast<std::uintptr_t>(function);
  return table->compiled.at(number == unlimited_function ? 0 : number);
}

CUresult load_module(CUmodule* module, const void* text, unsigned count, CUjit_option* options,
                     void** values) {
  const std::uintptr_t limit = register_limit(text, {options, values, count}).value_or(0);
  table->asked.push_back(limit);
  if (!table->compiled.contains(limit)) return CUDA_ERROR_INVALID_PTX;
  *module = reinterpret_cast<CUmodule>(limit == 0 ? unlimited_function : limit);
  return CUDA_SUCCESS;
}

CUresult attribute(int* value, CUfunction_attribute id, CUfunction function) {
  switch (id) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = compiled(function).registers; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = compiled(function).local_bytes; break;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    default: *value = 0; break;
  }
  return CUDA_SUCCESS;
}

Driver fake_driver() {
  Driver driver = device_driver();
  driver.cuFuncGetAttribute = &attribute;
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuModuleLoadDataEx = &load_module;
  driver.cuModuleUnload = [](CUmodule module) {
    table->unloaded.push_back(reinterpret_cast<std::uintptr_t>(module));
    return CUDA_SUCCESS;
  };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char*) {
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction function, int threads,
                                                          std::size_t) {
    *blocks = std::min(2048, 65536 / ((compiled(function).registers + 7) / 8 * 8)) / threads;
    return CUDA_SUCCESS;
  };
  return driver;
}

class LimitedLoad : public testing::Test {
 protected:
  void SetUp() override {
    table = &table_;
    table_.compiled = {{original_function, {20, 0}}, {0, {56, 0}}, {32, {32, 48}}, {40, {40, 8}}};
  }

  /// Returns the registers of the variant that load() chooses. The directives are at the beginning of the
  /// text.
  std::uint32_t load(std::size_t text_bytes = 1, std::uint32_t blocks = 1000,
                     std::uint32_t kept_registers = 0) {
    Result<std::unique_ptr<Device>> device = make_device(driver_);
    Launch launch;
    launch.function = reinterpret_cast<void*>(original_function);
    launch.block[0] = 256;
    launch.grid[0] = blocks;
    const auto variant =
        (*device)->load(directives_ + std::string(text_bytes, ' '), "k", launch,
                        {.kept_registers = kept_registers, .directives = {0, directives_.size()}});
    EXPECT_TRUE(variant.ok());
    return (*device)->resources(launch, variant->get())->registers;
  }

  Table table_;
  Driver driver_ = fake_driver();
  std::string directives_ = " ";
};

TEST_F(LimitedLoad, FailureNamesTheFirstErrorAndTheNumberOfOthers) {
  driver_.cuModuleLoadDataEx = [](CUmodule*, const void*, unsigned count, CUjit_option* options,
                                  void** values) {
    constexpr char log[] =
        "ptxas input, line 8: error: unknown instruction\nptxas input, line 9: error: the same\nptxas "
        "fatal\n";
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) std::memcpy(values[i], log, sizeof log);
    }
    return CUDA_ERROR_INVALID_PTX;
  };
  const auto variant = (*make_device(driver_))->load("ret;", "k", {}, {});
  ASSERT_FALSE(variant.ok());
  EXPECT_THAT(variant.error().diagnostics.front().message,
              testing::EndsWith(": ptxas input, line 8: error: unknown instruction (and 2 more lines)"));
}

/// ptxas ignores external limits for such kernels.
TEST_F(LimitedLoad, AppliesDespiteLaunchBounds) {
  directives_ = ".maxntid 256, 1, 1 ";
  EXPECT_EQ(load(), 40u);
  EXPECT_THAT(table_.asked, ElementsAre(0, 32, 40));
}

TEST(RegisterLimits, AreWrittenIntoTheKernel) {
  const std::string ptx = ".entry k()\n.maxntid 256\n{ .maxnreg }";
  const std::size_t begin = ptx.find(')') + 1, end = ptx.find('{');
  EXPECT_EQ(with_register_limit(ptx, {begin, end}, 40),
            ".entry k()\n.maxntid 256\n\n.maxnreg 40\n{ .maxnreg }");
  EXPECT_EQ(with_register_limit(ptx, {}, 40), ptx) << "the position of the directives is unknown";
  EXPECT_EQ(with_register_limit(ptx, {begin, ptx.size() + 1}, 40), ptx);
}

TEST(RegisterLimits, NeverRaiseAnExistingLimit) {
  const std::string ptx = ".entry k() .maxnreg 48{}";
  const DirectiveRange range{10, 22};
  EXPECT_EQ(with_register_limit(ptx, range, 40), ".entry k() .maxnreg 40{}");
  EXPECT_EQ(with_register_limit(ptx, range, 48), ptx);
  EXPECT_EQ(with_register_limit(ptx, range, 128), ptx);
  EXPECT_EQ(with_register_limit(".entry k() .maxnreg {}", {10, 20}, 40), ".entry k() .maxnreg {}");
}

TEST_F(LimitedLoad, KeepsTheFirstLimitWithFewSpills) {
  EXPECT_EQ(load(), 40u);
  EXPECT_THAT(table_.asked, ElementsAre(0, 32, 40));
  EXPECT_THAT(table_.unloaded, testing::UnorderedElementsAre(32, 40, unlimited_function));
}

TEST_F(LimitedLoad, TriesTheOriginalsWarpsFirst) {
  table_.compiled[32].local_bytes = 16;
  EXPECT_EQ(load(), 32u);
  EXPECT_THAT(table_.asked, ElementsAre(0, 32));
}

TEST_F(LimitedLoad, KeepsTheVariantIfLimitsSpillOrFail) {
  table_.compiled[40].local_bytes = 64;
  table_.compiled.erase(32);
  EXPECT_EQ(load(), 56u);
  EXPECT_THAT(table_.asked, ElementsAre(0, 32, 40));
}

/// The device has nine multiprocessors.
TEST_F(LimitedLoad, AllowsMoreRegistersIfTheGridDoesNotFillTheDevice) {
  EXPECT_EQ(load(1, 9 * 4, 10), 56u);
  EXPECT_THAT(table_.asked, ElementsAre(0)) << "four blocks fit with the registers that ptxas chose";
  table_.compiled[0].registers = 20;
  EXPECT_EQ(load(1, 9 * 4, 10), 32u);
  EXPECT_EQ(load(1, 9 * 4, 0), 20u) << "the variant keeps no registers";
  EXPECT_EQ(load(1, 9 * 8, 10), 20u) << "the grid fills the device";
  EXPECT_EQ(load(1, 9 * 4, 21), 20u) << "compilation fails with the limit";
  EXPECT_THAT(table_.asked, ElementsAre(0, 0, 32, 0, 0, 0, 48));
}

TEST(RegisterLimits, CountOnlyWarpsThatTheGridFills) {
  const KernelResources original{20, 0, 0, 8, 64, 64};
  EXPECT_EQ(filled_by(72, 9, original).warps_per_sm, 64u);
  EXPECT_EQ(filled_by(64, 9, original).warps_per_sm, 64u);
  EXPECT_EQ(filled_by(63, 9, original).warps_per_sm, 56u);
  EXPECT_EQ(filled_by(1, 9, original).warps_per_sm, 8u);
  EXPECT_EQ(filled_by(1, 0, original).warps_per_sm, 64u) << "the number of multiprocessors is unknown";
}

TEST(RegisterLimits, AddKeptRegistersUpToTheAvailableOnes) {
  const KernelResources filled{33, 0, 0, 4, 32, 64};
  const KernelResources variant{32, 0, 0, 8, 64, 64};
  EXPECT_EQ(raised_register_limit(filled, variant, 1), 40u);
  EXPECT_EQ(raised_register_limit(filled, variant, 7), 40u);
  EXPECT_EQ(raised_register_limit(filled, variant, 8), 48u);
  EXPECT_EQ(raised_register_limit(filled, variant, 100), 64u) << "the maximum for 32 warps";
  EXPECT_EQ(raised_register_limit(filled, variant, 0), 0u);
  EXPECT_EQ(raised_register_limit(filled, {64, 0, 0, 4, 32, 64}, 100), 0u) << "no room";
  EXPECT_EQ(raised_register_limit({33, 0, 0, 1, 1, 64}, {40, 0, 0, 1, 2, 64}, 1000), 248u);
}

TEST_F(LimitedLoad, TriesNothingIfNoWarpIsLostOrTheTextIsLong) {
  EXPECT_EQ(load(longest_text_with_limits + 1), 56u);
  table_.compiled[0].registers = 32;
  EXPECT_EQ(load(), 32u);
  EXPECT_THAT(table_.asked, ElementsAre(0, 0));
}

}  // namespace
}  // namespace lynxpp::device::cuda
