// Declares the functions of api.def in namespace api with exactly the types of the toolkit's headers: a
// definition that differs does not link. A function returns its error and leaves the bookkeeping (last error,
// sticky error, exceptions) to the wrappers of table.cpp, so api functions do not call each other.
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

struct textureReference;
struct surfaceReference;

extern "C" {
// Entry points for nvcc's generated host code (crt/host_runtime.h), which no public header of the toolkit
// declares.
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* thread, uint3* block,
                            dim3* block_dimensions, dim3* grid_dimensions, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address, const char* device_name,
                       int is_extern, size_t bytes, int is_constant, int is_global);
void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* device_address,
                              const char* device_name, int is_extern, size_t bytes, int is_constant,
                              int is_global);
void __cudaRegisterTexture(void** handle, const struct textureReference* host_variable,
                           const void** device_address, const char* device_name, int dimensions,
                           int normalized, int is_extern);
void __cudaRegisterSurface(void** handle, const struct surfaceReference* host_variable,
                           const void** device_address, const char* device_name, int dimensions,
                           int is_extern);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream);
}

namespace lynxpp::device::cpu::api {

#define LYNXPP_CUDA(name) decltype(::name) name;
#define LYNXPP_CUDA_ALWAYS(name) decltype(::name) name;
#define LYNXPP_CUDA_STREAM(name, suffix) decltype(::name) name;
#define LYNXPP_CUDA_RAW(name) decltype(::name) name;
#include "device/cpu/runtime/api.def"
#undef LYNXPP_CUDA
#undef LYNXPP_CUDA_ALWAYS
#undef LYNXPP_CUDA_STREAM
#undef LYNXPP_CUDA_RAW

}  // namespace lynxpp::device::cpu::api
