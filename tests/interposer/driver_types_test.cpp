// Compares preload/driver_types.h with the real cuda.h.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "interposer/preload/driver_types.h"

namespace lynxpp::preload {
namespace {

using Theirs = ::CUlaunchConfig;
using Ours = lynxpp::preload::CUlaunchConfig;

TEST(DriverTypes, LaunchConfigurationMatchesTheDriversLayout) {
  EXPECT_EQ(sizeof(Ours), sizeof(Theirs));
  EXPECT_EQ(offsetof(Ours, gridDimX), offsetof(Theirs, gridDimX));
  EXPECT_EQ(offsetof(Ours, gridDimZ), offsetof(Theirs, gridDimZ));
  EXPECT_EQ(offsetof(Ours, blockDimX), offsetof(Theirs, blockDimX));
  EXPECT_EQ(offsetof(Ours, blockDimZ), offsetof(Theirs, blockDimZ));
  EXPECT_EQ(offsetof(Ours, sharedMemBytes), offsetof(Theirs, sharedMemBytes));
  EXPECT_EQ(offsetof(Ours, hStream), offsetof(Theirs, hStream));
  EXPECT_EQ(offsetof(Ours, attrs), offsetof(Theirs, attrs));
  EXPECT_EQ(offsetof(Ours, numAttrs), offsetof(Theirs, numAttrs));
}

TEST(DriverTypes, ConstantsAndSizesMatchCudaHeader) {
  EXPECT_EQ(cuda_success, CUDA_SUCCESS);
  EXPECT_EQ(error_stub_library, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(per_thread_default_stream,
            static_cast<std::uint64_t>(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
  EXPECT_EQ(sizeof(::CUresult), sizeof(lynxpp::preload::CUresult));
  EXPECT_TRUE((std::is_same_v<::CUdevice, lynxpp::preload::CUdevice>));
  EXPECT_TRUE(std::is_pointer_v<::CUcontext>);
  EXPECT_EQ(sizeof(::CUjit_option), sizeof(int));
  EXPECT_EQ(sizeof(::CUlibraryOption), sizeof(int));
  EXPECT_EQ(sizeof(::CUdriverProcAddressQueryResult), sizeof(int));
  EXPECT_TRUE(std::is_pointer_v<::CUfunction> && std::is_pointer_v<::CUkernel> &&
              std::is_pointer_v<::CUlibrary>);
}

}  // namespace
}  // namespace lynxpp::preload
