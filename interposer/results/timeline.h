// The program's use of the device as records, in call order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "interposer/owned_mutex.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// Returns the ranges that the calling thread is in, outermost first.
using RangeReader = std::function<std::vector<std::string>()>;

/// A copy; source and destination are each in device or host memory.
struct CopyCall {
  std::uint64_t bytes = 0;
  bool to_device = false;
  bool from_device = false;
  void* stream = nullptr;
  bool asynchronous = false;  ///< the call did not wait for the copy
};

/// Numbers activities and streams. Thread safe.
class Timeline {
 public:
  /// If activities are not written, those of launches have only their stream, ranges and number.
  explicit Timeline(bool is_written);

  /// Call it before the first launch.
  void use_ranges(RangeReader reader) { reader_ = std::move(reader); }

  /// Returns an activity, of no kind yet, that the calling thread begins now.
  report::ActivityRecord next(void* stream);
  report::ActivityRecord launch(const device::Launch& launch, const std::string& kernel, std::uint64_t index);
  report::ActivityRecord copy(const CopyCall& call);
  report::ActivityRecord wait();

 private:
  std::uint64_t number_of(void* stream);

  const bool is_written_;
  const std::uint64_t id_;  ///< identity of this timeline in the process
  RangeReader reader_;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  std::uint64_t next_order_ LYNXPP_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point first_ LYNXPP_GUARDED_BY(mutex_);
  std::map<void*, std::uint64_t> streams_ LYNXPP_GUARDED_BY(mutex_);
};

/// Records the arrays that the launch's parameters point into, each once: an estimate of the memory that the
/// kernel uses. Members of structures count too; pointers stored in memory do not.
void note_arrays(report::ActivityRecord::Launch& record, device::Device& device, const device::Launch& launch,
                 std::span<const device::ParameterSlot> slots);

report::DeviceRecord record_of(device::Device& device);

/// Splits "a\nb\n" into {"a", "b"}.
std::vector<std::string> ranges_of(std::string_view text);

/// Returns those of `functions`, separated by commas, that the calling thread is in, as "reduce()", outermost
/// first. Finds functions of the program or of a library that have a symbol; inlined functions are not found.
std::vector<std::string> function_ranges(const std::string& functions);

}  // namespace lynxpp::interposer
