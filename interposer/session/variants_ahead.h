// Threads that compile variants before a launch needs them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "ptx/analysis/launch_shape.h"

namespace lynxpp::interposer {

/// Thread safe. Keeps one job per variant. Jobs must not use the program's memory or images, which may go
/// away; they may use their device until discard() or stop() returns.
class VariantsAhead {
 public:
  /// Identifies a variant before it is compiled.
  struct Key {
    const device::Device* device = nullptr;
    std::uint64_t image = 0;
    std::string kernel;                    ///< mangled
    const void* specifications = nullptr;  ///< compared only
    ptx::LaunchShape shape;
    bool wide_counters = false;

    bool operator==(const Key&) const = default;
  };
  /// A text and what Device::compile() returned for it.
  struct Compiled {
    std::string ptx;
    std::unique_ptr<device::Variant> variant;
  };
  /// Returns a null variant on failure: the launch then compiles the kernel and reports the problem.
  using Job = std::function<Compiled()>;
  enum class State : std::uint8_t { unknown, waiting, running, done };

  /// Runs up to `threads` jobs at a time. Threads start with the first job and block all signals.
  explicit VariantsAhead(unsigned threads);
  /// Same as stop(), without a limit.
  ~VariantsAhead();
  VariantsAhead(const VariantsAhead&) = delete;
  VariantsAhead& operator=(const VariantsAhead&) = delete;

  /// Adds a job unless its key is known, as it is from then on, or very many jobs are waiting. `is_urgent`:
  /// it runs before the others.
  void add(const Key& key, Job job, bool is_urgent);
  State state_of(const Key& key) const;
  /// Waits for a running job, at most `patience`, and returns its result; null without a result. A job that
  /// has not begun never runs: its caller is faster.
  Compiled take(const Key& key, std::chrono::milliseconds patience);

  /// Forgets the chosen keys. Waits for their running jobs, at most `patience`.
  void discard(const std::function<bool(const Key&)>& is_chosen, std::chrono::milliseconds patience);
  /// Forgets all keys; later jobs are not accepted. Waits for running jobs, at most `patience`.
  void stop(std::chrono::milliseconds patience);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::interposer
