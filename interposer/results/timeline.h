// What the program does with the device, in the order in which it calls, as records.
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
#include "report/record.h"

namespace lynxpp::interposer {

/// The ranges that the calling thread is in, the outermost first.
using RangeReader = std::function<std::vector<std::string>()>;

/// A copy between two places, each of the device or of the host.
struct CopyCall {
  std::uint64_t bytes = 0;
  bool to_device = false;
  bool from_device = false;
  void* stream = nullptr;
  bool asynchronous = false;  ///< the call did not wait for it
};

/// Numbers activities and streams. Thread safe.
class Timeline {
 public:
  /// Where activities are not written, those of launches have their stream, ranges and number alone.
  explicit Timeline(bool is_written);

  /// Before the first launch.
  void use_ranges(RangeReader reader) { reader_ = std::move(reader); }

  /// An activity that the calling thread begins now, of no kind yet.
  report::ActivityRecord next(void* stream);
  report::ActivityRecord launch(const device::Launch& launch, const std::string& kernel, std::uint64_t index);
  report::ActivityRecord copy(const CopyCall& call);
  report::ActivityRecord wait();

 private:
  std::uint64_t number_of(void* stream);

  const bool is_written_;
  const std::uint64_t id_;  ///< of this one in the process
  RangeReader reader_;
  std::mutex mutex_;  // guards what follows
  std::uint64_t next_order_ = 0;
  std::chrono::steady_clock::time_point first_;
  std::map<void*, std::uint64_t> streams_;
};

/// Notes the arrays that the launch's parameters point into, each once: what is known of the bytes that a
/// kernel works on. A structure's members count too; pointers that stand in memory do not.
void note_arrays(report::ActivityRecord::Launch& record, device::Device& device, const device::Launch& launch,
                 std::span<const device::ParameterSlot> slots);

report::DeviceRecord record_of(device::Device& device);

/// "a\nb\n" as {"a", "b"}.
std::vector<std::string> ranges_of(std::string_view text);

/// Of `functions`, separated by commas, those that the calling thread is in, as "reduce()", the outermost
/// first: functions of the program or of a library whose symbol table names them, inlined ones not.
std::vector<std::string> function_ranges(const std::string& functions);

}  // namespace lynxpp::interposer
