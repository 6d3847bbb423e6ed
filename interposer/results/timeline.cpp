#include "interposer/results/timeline.h"

#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "support/call_site.h"
#include "support/text.h"

namespace lynxpp::interposer {

namespace {

/// The stream that a thread used last.
struct LastStream {
  std::uint64_t timeline = 0;
  void* stream = nullptr;
  std::uint64_t number = 0;
};

std::uint64_t next_timeline() {
  static std::atomic<std::uint64_t> timelines = 0;
  return ++timelines;
}

}  // namespace

Timeline::Timeline(bool is_written) : is_written_(is_written), id_(next_timeline()) {}

std::uint64_t Timeline::number_of(void* stream) {
  static thread_local LastStream last;
  if (stream == nullptr) return 0;
  if (last.timeline == id_ && last.stream == stream) return last.number;
  const Lock lock(mutex_);
  last = {id_, stream, streams_.try_emplace(stream, streams_.size() + 1).first->second};
  return last.number;
}

report::ActivityRecord Timeline::next(void* stream) {
  report::ActivityRecord record;
  if (reader_) record.ranges = reader_();
  const auto now = std::chrono::steady_clock::now();
  record.stream = number_of(stream);
  const Lock lock(mutex_);
  if (next_order_ == 0) first_ = now;
  record.order = next_order_++;
  record.host_ms = std::chrono::duration<double, std::milli>(now - first_).count();
  return record;
}

report::ActivityRecord Timeline::launch(const device::Launch& launch, const std::string& kernel,
                                        std::uint64_t index) {
  if (!is_written_) {
    report::ActivityRecord brief;
    if (reader_) brief.ranges = reader_();
    brief.stream = number_of(launch.stream);
    brief.launch = report::ActivityRecord::Launch{};
    brief.launch->launch = index;
    return brief;
  }
  report::ActivityRecord record = next(launch.stream);
  record.launch = report::ActivityRecord::Launch{};
  record.launch->kernel = kernel;
  record.launch->launch = index;
  record.launch->shared_bytes = launch.shared_bytes;
  return record;
}

report::ActivityRecord Timeline::copy(const CopyCall& call) {
  report::ActivityRecord record = next(call.stream);
  const bool crosses = call.to_device != call.from_device;
  const char* const within = call.to_device ? "within device" : "within host";
  record.copy = {call.bytes, crosses ? (call.to_device ? "to device" : "to host") : within,
                 call.asynchronous};
  return record;
}

report::ActivityRecord Timeline::wait() {
  report::ActivityRecord record = next(nullptr);
  record.wait = true;
  return record;
}

void note_arrays(report::ActivityRecord::Launch& record, device::Device& device, const device::Launch& launch,
                 std::span<const device::ParameterSlot> slots) {
  const Result<std::vector<std::byte>> buffer = device::parameter_buffer(launch, slots);
  if (!buffer) return;
  const auto allocations = device.allocations();
  for (std::size_t offset = 0; offset + sizeof(std::uint64_t) <= buffer->size();
       offset += sizeof(std::uint64_t)) {
    std::uint64_t address = 0;
    std::memcpy(&address, buffer->data() + offset, sizeof address);
    const device::LiveAllocation* const array = allocations->find(address);
    if (array == nullptr || std::ranges::count(record.array_numbers, array->number) != 0) continue;
    record.array_numbers.push_back(array->number);
    record.array_bytes.push_back(array->bytes);
  }
}

report::DeviceRecord record_of(device::Device& device) {
  const device::DeviceInfo& info = device.info();
  const device::DeviceLimits limits = device.limits();
  return {info.name,
          static_cast<std::uint64_t>(info.compute_capability),
          info.multiprocessors,
          info.clock_khz,
          limits.memory_clock_khz,
          limits.memory_bus_bits,
          limits.threads_per_sm,
          limits.blocks_per_sm,
          limits.registers_per_sm,
          limits.shared_per_sm,
          limits.reserved_shared_per_block,
          static_cast<std::uint64_t>(info.ordinal),
          info.uuid};
}

std::vector<std::string> ranges_of(std::string_view text) {
  std::vector<std::string> ranges;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ranges.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return ranges;
}

std::vector<std::string> function_ranges(const std::string& functions) {
  constexpr std::size_t most_frames = 128;
  std::vector<const void*> frames;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        auto& found = *static_cast<std::vector<const void*>*>(argument);
        found.push_back(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
        return found.size() < most_frames ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &frames);
  const std::vector<std::string> wanted = split(functions, ',');
  std::vector<std::string> ranges;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::string_view name = function_name(*frame);
    for (const std::string& each : wanted) {
      const std::string_view searched = trim(each);
      const bool is_it =
          !searched.empty() && name.ends_with(searched) &&
          (name.size() == searched.size() || name.substr(0, name.size() - searched.size()).ends_with("::"));
      if (is_it) ranges.push_back(std::string(searched) + "()");
    }
  }
  return ranges;
}

}  // namespace lynxpp::interposer
