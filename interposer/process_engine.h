// The engine of one process: its session, the devices that it measures on, and what the hooks reported.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "interposer/allocations.h"
#include "interposer/configuration.h"
#include "interposer/device_contexts.h"
#include "interposer/engine_api.h"
#include "interposer/owned_mutex.h"
#include "interposer/program_modules.h"
#include "interposer/results/results_queue.h"
#include "interposer/session/session.h"
#include "support/result.h"
#include "support/start_condition.h"

namespace lynxpp::interposer {

/// Prints a message that may span several lines.
void print(const std::string& text);

/// Values that the hooks report before anything else. One object per process, shared by every engine.
struct Hooks {
  std::atomic<const lynxpp_allocation_source*> allocations LYNXPP_GUARDED_BY(mutex) = nullptr;
  std::atomic<lynxpp_range_source> ranges = nullptr;
  std::atomic<lynxpp_tensor_box_source> tensor_boxes = nullptr;
  std::atomic<bool> is_profiled = false;  ///< between cuProfilerStart and cuProfilerStop
};
Hooks& hooks();

/// Lives until the process ends, because host programs launch kernels from the destructors of static objects.
struct Engine {
  ResultsQueue results;
  std::unique_ptr<Session> session;
  ProgramModules modules;
  device::KernelTimes times = device::KernelTimes::off;
  device::MemoryBudget memory;
  StartCondition start;
  RangeReader ranges;
  bool is_refused = false;  // true if the environment is not valid
  const bool is_of_child;   // the process is a forked child, which need not launch anything
  DeviceContexts contexts;
  OwnedMutex<std::mutex> mutex{LockRank::leaf};
  std::shared_ptr<AllocationReader> allocations;

  /// `parent`: the engine that a forked child has inherited; null in other processes.
  explicit Engine(const Engine* parent);

  /// True if a launch of this thread is to be measured now.
  bool has_started() const;

  /// Returns the reader that all devices share.
  device::cuda::AllocationSource allocation_reader();

  std::shared_ptr<const device::LiveAllocations> live_allocations();

  /// Returns the device of the thread's context; null without a context.
  device::Device* current_cuda_device(lynxpp_driver_lookup lookup);

  /// Returns the text of the image's module that defines `kernel`.
  Result<KernelPtx> module_text(const lynxpp_image* image, const std::string& kernel, int sm);
};

/// Returns the process's engine, created on the first call.
Engine& engine();

/// Returns the process's engine if it has been created, else null.
Engine* made_engine();

/// Returns the process's engine if it records activities besides launches, else null.
Engine* engine_with_timeline();

/// Called in the child of a fork. Returns false if the parent had used a device: the child then has none.
/// Otherwise the child gets its own engine when it first needs one.
bool begin_engine_in_child();

}  // namespace lynxpp::interposer
