// The CUDA runtime API of the cpu device, as a table of functions by exported name, and the device::Device
// the launch session drives. The API functions have the signatures of the toolkit's public headers
// (cuda_runtime_api.h) and of the registration entry points nvcc's generated host code calls
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

/// Every function that the toolkit's runtime exports, sorted by name. Those that the cpu device does not have
/// (unsupported.def) return cudaErrorNotSupported and are named in the log once.
std::span<const ApiFunction> runtime_api();

/// What stands in for functions of another version's runtime that the table lacks.
void* unknown_function();

/// What the interceptor is told about the kernel of a launch. Borrowed for the call.
struct KernelIdentity {
  const std::string* name = nullptr;  ///< mangled
  const std::string* ptx = nullptr;   ///< text of its module
  int device = 0;                     ///< it is launched on
  std::string_view ptx_origin = {};   ///< where the text was found; empty: in the program image
};

/// Sees every launch, those that graphs make included, before it is made; returns true when it has made the
/// launch itself.
/// Launch::function is the handle to give to cpu_device() calls.
using LaunchInterceptor = bool (*)(const Launch& launch, const KernelIdentity& kernel);
void set_launch_interceptor(LaunchInterceptor interceptor);

/// Is told when the program has waited for the device: for streams, events, or a blocking copy.
using WaitObserver = void (*)();
void set_wait_observer(WaitObserver observer);

/// A copy that the program has called for and that was made or is on its way.
struct CopyNotice {
  std::uint64_t bytes = 0;
  bool to_device = false;
  bool from_device = false;
  void* stream = nullptr;
  bool asynchronous = false;  ///< the call did not wait for it
};
using CopyObserver = void (*)(const CopyNotice& copy);
void set_copy_observer(CopyObserver observer);

/// Is told of cudaProfilerStart (true) and cudaProfilerStop.
using ProfilerObserver = void (*)(bool starts);
void set_profiler_observer(ProfilerObserver observer);

/// Called in the launching thread before each checked launch (LYNXPP_CPU_CHECK).
using CheckObserver = void (*)();
void set_check_observer(CheckObserver observer);

/// The cpu device of that number (devices.h). Counters (LYNXPP_CPU_COUNTERS) are written for every launch, of
/// the program's kernels and of variants.
Device& cpu_device(int number = 0);

/// The program is about to end: waits for what is enqueued, for `patience` at most, and ends what is then
/// still running, which fails. Later launches are waited for.
void finish_work(std::chrono::milliseconds patience = std::chrono::seconds(30));

/// Called when the program is about to die: ends checked launches and reports their findings. Does nothing
/// if nothing is checked.
void save_findings();

}  // namespace lynxpp::device::cpu
