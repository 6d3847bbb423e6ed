// Driver functions that lynxpp calls, found at run time through the hooks' look-up so that they are the real
// ones.
#pragma once

#include <cuda.h>

#include <atomic>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::device::cuda {

// Each function has its signature in the toolkit's cuda.h.
#define LYNXPP_DRIVER_FUNCTIONS(X)               \
  X(cuCtxGetCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuCtxGetId)                                  \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceGetUuid)                             \
  X(cuGetErrorString)                            \
  X(cuModuleLoadDataEx)                          \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuModuleGetGlobal)                           \
  X(cuFuncGetModule)                             \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuFuncSetCacheConfig)                        \
  X(cuKernelGetFunction)                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernelEx)                            \
  X(cuMemGetInfo)                                \
  X(cuMemAllocAsync)                             \
  X(cuMemFreeAsync)                              \
  X(cuMemsetD8Async)                             \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventQuery)                                \
  X(cuEventSynchronize)                          \
  X(cuEventElapsedTime)                          \
  X(cuStreamCreate)                              \
  X(cuStreamIsCapturing)                         \
  X(cuStreamQuery)                               \
  X(cuStreamWaitEvent)                           \
  X(cuThreadExchangeStreamCaptureMode)

// Functions for graphs with variants; null if the driver is too old to have them.
#define LYNXPP_DRIVER_GRAPH_FUNCTIONS(X) \
  X(cuGraphKernelNodeGetParams)          \
  X(cuGraphKernelNodeSetParams)          \
  X(cuGraphKernelNodeGetAttribute)       \
  X(cuGraphInstantiateWithFlags)         \
  X(cuGraphNodeSetEnabled)               \
  X(cuGraphExecDestroy)                  \
  X(cuGraphLaunch)

// Functions that take graphs apart; null if the driver does not have them.
#define LYNXPP_DRIVER_GRAPH_PART_FUNCTIONS(X) \
  X(cuGraphGetNodes)                          \
  X(cuGraphNodeGetType)                       \
  X(cuGraphNodeGetDependencies)               \
  X(cuGraphChildGraphNodeGetGraph)            \
  X(cuGraphClone)                             \
  X(cuGraphNodeFindInClone)                   \
  X(cuGraphDestroyNode)                       \
  X(cuGraphDestroy)

// Functions for repeated launches; null if the driver does not have them.
#define LYNXPP_DRIVER_REPLAY_FUNCTIONS(X) \
  X(cuCtxSynchronize)                     \
  X(cuMemcpyDtoDAsync)

/// A driver function pointer that can be called, and replaced concurrently by another thread.
template <typename Pointer>
class DriverFunction {
 public:
  using Function = Pointer;

  DriverFunction() = default;
  DriverFunction(const DriverFunction& other) : pointer_(other) {}
  DriverFunction& operator=(const DriverFunction& other) { return *this = static_cast<Pointer>(other); }
  DriverFunction& operator=(Pointer pointer) {
    pointer_.store(pointer, std::memory_order_relaxed);
    return *this;
  }
  operator Pointer() const { return pointer_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Pointer> pointer_ = nullptr;
};

/// Driver functions of one context.
struct Driver {
  bool is_cpu_device = false;  ///< true for the stand-in of device/cpu/driver
#define LYNXPP_MEMBER(name) DriverFunction<decltype(&::name)> name;
  LYNXPP_DRIVER_FUNCTIONS(LYNXPP_MEMBER)
  LYNXPP_DRIVER_GRAPH_FUNCTIONS(LYNXPP_MEMBER)
  LYNXPP_DRIVER_GRAPH_PART_FUNCTIONS(LYNXPP_MEMBER)
  LYNXPP_DRIVER_REPLAY_FUNCTIONS(LYNXPP_MEMBER)
#undef LYNXPP_MEMBER

  /// True if all graph functions are available.
  bool has_graphs() const;
  bool can_take_graphs_apart() const;

  /// Fails if a function is missing, and names the first one.
  static Result<Driver> load(void* (*lookup)(const char* name));

  /// Called when the context and all its handles are destroyed. Later calls return
  /// CUDA_ERROR_CONTEXT_IS_DESTROYED without calling the driver, except functions about the calling thread.
  void end();

  /// Returns a failure such as "cuModuleLoadDataEx: an invalid PTX was given".
  Failure error(const char* function, CUresult result) const;
};

/// Returns the first line of the driver's compiler log, and the number of further lines. Each line is about
/// one instruction; a table has room for one line per reason.
std::string first_line_of(std::string_view log);

}  // namespace lynxpp::device::cuda
