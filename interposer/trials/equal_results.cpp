#include "interposer/trials/equal_results.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace lynxpp::interposer {
namespace {

/// Copies on the host and the device are limited to this.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 29;

class WrittenMemory {
 public:
  WrittenMemory(device::Device& device, const device::Launch& launch, const std::vector<MemoryRange>& ranges)
      : device_(device), launch_(launch), ranges_(ranges) {
    for (const MemoryRange& each : ranges) {
      total_ += each.bytes;
      longest_ = std::max(longest_, each.bytes);
    }
  }

  std::uint64_t total() const { return total_; }

  /// Returns the bytes after a launch from the state `saved`, cleared first if requested.
  Result<std::vector<std::byte>> after(const std::function<Status()>& run, const SavedMemory& saved,
                                       bool is_cleared) const {
    if (Status restored = saved.restore(device_, launch_); !restored) return restored.error();
    std::unique_ptr<device::Buffer> zeros;
    if (is_cleared) {
      Result<std::unique_ptr<device::Buffer>> made = device_.allocate_zeroed(longest_, launch_);
      if (!made) return made.error();
      zeros = std::move(*made);
    }
    const Status ran = clear(zeros.get()) ? run() : Status(failure("the memory cannot be cleared"));
    if (Status over = finish(zeros); !over) return over.error();
    if (!ran) return ran.error();
    return read();
  }

 private:
  Status clear(const device::Buffer* zeros) const {
    for (const MemoryRange& each : ranges_) {
      if (zeros == nullptr) break;
      if (Status copied = device_.copy(each.address, zeros->address(), each.bytes, launch_); !copied)
        return copied;
    }
    return success();
  }

  Result<std::vector<std::byte>> read() const {
    Result<std::unique_ptr<device::Buffer>> copy = device_.allocate_zeroed(total_, launch_);
    if (!copy) return copy.error();
    std::uint64_t to = (*copy)->address();
    Status copied = success();
    for (const MemoryRange& each : ranges_) {
      if (copied) copied = device_.copy(to, each.address, each.bytes, launch_);
      to += each.bytes;
    }
    if (Status over = finish(*copy); !over) return over.error();
    if (!copied) return copied.error();
    const Result<std::unique_ptr<device::Readback>> readback = device_.read_back(std::move(*copy), launch_);
    if (!readback) return readback.error();
    const Result<std::span<std::byte>> bytes = (*readback)->wait();
    if (!bytes) return bytes.error();
    return std::vector<std::byte>(bytes->begin(), bytes->end());
  }

  /// Waits until the device does not use the buffer. If it still does, the buffer is never freed.
  Status finish(std::unique_ptr<device::Buffer>& buffer) const {
    constexpr std::chrono::seconds patience(10);
    if (device_.is_idle_within(patience, launch_)) return success();
    (void)buffer.release();
    return failure("the device is not idle");
  }

  device::Device& device_;
  const device::Launch& launch_;
  const std::vector<MemoryRange>& ranges_;
  std::uint64_t total_ = 0;
  std::uint64_t longest_ = 0;
};

}  // namespace

Result<std::string> compare_results(device::Device& device, const device::Launch& launch,
                                    const std::vector<MemoryRange>& written, const SavedMemory& saved,
                                    bool is_cleared, const std::function<Status()>& original,
                                    const std::function<Status()>& remedy) {
  const WrittenMemory memory(device, launch, written);
  if (memory.total() > most_bytes) return failure("the kernel may write more than 512 MiB");
  const auto after = [&](const std::function<Status()>& run) { return memory.after(run, saved, is_cleared); };
  const Result<std::vector<std::byte>> expected = after(original);
  if (!expected) return expected.error();
  const Result<std::vector<std::byte>> found = after(remedy);
  if (!found) return found.error();
  if (*found == *expected) return std::string("identical");
  const Result<std::vector<std::byte>> repeated = after(original);
  if (!repeated) return repeated.error();
  return std::string(*repeated == *expected ? "different" : "varying");
}

}  // namespace lynxpp::interposer
