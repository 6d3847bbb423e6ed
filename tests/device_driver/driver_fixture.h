// Calls the stand-in for the driver as a program does: functions are found by cuGetProcAddress.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>
#include <vector>

#include "device/cpu/driver/driver.h"

namespace lynxpp::device::cpu::test {

inline void* exported(const char* name) {
  for (const ApiFunction& each : driver_functions()) {
    if (std::strcmp(each.name, name) == 0) return each.address;
  }
  return nullptr;
}

inline CUresult look_up(const char* name, void** function, int version = CUDA_VERSION, cuuint64_t flags = 0,
                        CUdriverProcAddressQueryResult* status = nullptr) {
  const auto get = reinterpret_cast<decltype(&::cuGetProcAddress)>(exported("cuGetProcAddress_v2"));
  return get(name, function, version, flags, status);
}

template <typename Function>
Function* found(const char* name) {
  void* address = nullptr;
  EXPECT_EQ(look_up(name, &address), CUDA_SUCCESS) << name;
  return reinterpret_cast<Function*>(address);
}

// Calls the newest version of a function with the type that cuda.h declares for its name. Not for names that
// are macros for one of several exported versions.
#define CALL(name, ...) found<std::remove_pointer_t<decltype(&::name)>>(#name)(__VA_ARGS__)

/// scale: p[i] *= factor for i < n
inline constexpr const char* ptx = R"(
.version 7.0
.target sm_75
.address_size 64
.global .u32 factor = 3;
.visible .entry scale(.param .u64 p, .param .u32 n) {
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [p];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p, %r1, %r0;
  @%p ret;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r2, [%rd0];
  ld.global.u32 %r3, [factor];
  mul.lo.u32 %r2, %r2, %r3;
  st.global.u32 [%rd0], %r2;
  ret;
}
)";

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CALL(cuInit, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &context, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent, context), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
    found<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(0);
  }

  CUfunction load_scale() {
    EXPECT_EQ(CALL(cuModuleLoadData, &module, ptx), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(CALL(cuModuleGetFunction, &function, module, "scale"), CUDA_SUCCESS);
    return function;
  }

  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(found<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc")(&address, bytes), CUDA_SUCCESS);
    return address;
  }

  static CUresult launch(CUfunction function, CUdeviceptr data, unsigned n, unsigned threads = 64) {
    void* parameters[] = {&data, &n};
    return CALL(cuLaunchKernel, function, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
  }

  static std::vector<unsigned> read(CUdeviceptr from, std::size_t count) {
    std::vector<unsigned> values(count);
    EXPECT_EQ(
        found<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH")(values.data(), from, 4 * count),
        CUDA_SUCCESS);
    return values;
  }

  static CUresult fill(CUdeviceptr to, unsigned value, std::size_t count) {
    return found<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32")(to, value, count);
  }

  CUcontext context = nullptr;
  CUmodule module = nullptr;
};

}  // namespace lynxpp::device::cpu::test
