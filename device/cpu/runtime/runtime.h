// The CUDA runtime API of the cpu device, as a table of functions by exported name, and the device::Device
// that the launch session uses. The API functions have the signatures of the toolkit's public headers
// (cuda_runtime_api.h) and of the registration entry points that nvcc's generated host code calls
// (__cudaRegisterFatBinary, …).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "device/device.h"

namespace lynxpp::device::cpu {

struct ApiFunction {
  const char* name;
  void* address;
};

/// Returns every function that the toolkit's runtime exports, sorted by name. Unsupported functions
/// (unsupported.def) return cudaErrorNotSupported and are logged once.
std::span<const ApiFunction> runtime_api();

/// Returns the functions for programs that are built for an older runtime (11 or 12), sorted by name: those
/// whose types have changed since have the types of CUDA 12 (older.def), or return cudaErrorNotSupported.
std::span<const ApiFunction> older_runtime_api(int version);

/// Returns a stand-in for functions of other runtime versions that the table lacks.
void* unknown_function();

/// The identity of a launched kernel, for the interceptor. Valid during the call.
struct KernelIdentity {
  const std::string* name = nullptr;  ///< mangled
  const std::string* ptx = nullptr;   ///< text of its module
  int device = 0;                     ///< that it is launched on
  std::string_view ptx_origin = {};   ///< where the text was found; empty if in the program image
};

/// Called before every launch, including those by graphs; returns true if it has launched the kernel itself.
/// Launch::function is the handle for calls of cpu_device().
using LaunchInterceptor = bool (*)(const Launch& launch, const KernelIdentity& kernel);
void set_launch_interceptor(LaunchInterceptor interceptor);

/// Called when the program has waited for the device: for streams, events, or a blocking copy.
using WaitObserver = void (*)();
void set_wait_observer(WaitObserver observer);

/// A copy that the program has requested; it may still be pending.
struct CopyNotice {
  std::uint64_t bytes = 0;
  bool to_device = false;
  bool from_device = false;
  void* stream = nullptr;
  bool asynchronous = false;  ///< true if the call did not wait for the copy
};
using CopyObserver = void (*)(const CopyNotice& copy);
void set_copy_observer(CopyObserver observer);

/// Called on cudaProfilerStart (true) and cudaProfilerStop (false).
using ProfilerObserver = void (*)(bool starts);
void set_profiler_observer(ProfilerObserver observer);

/// Called in the launching thread before each checked launch (LYNXPP_CPU_CHECK).
using CheckObserver = void (*)();
void set_check_observer(CheckObserver observer);

/// Returns the cpu device of that number (devices.h). Counters (LYNXPP_CPU_COUNTERS) are written for every
/// launch of the program's kernels and of variants.
Device& cpu_device(int number = 0);

/// Called at the end of the program: waits up to `patience` for pending work, then aborts what is still
/// running, which fails. Later launches are executed synchronously.
void finish_work(std::chrono::milliseconds patience = std::chrono::seconds(30));

/// Called when the program is about to be killed: ends checked launches and reports their findings. Does
/// nothing if nothing is checked.
void save_findings();

}  // namespace lynxpp::device::cpu
