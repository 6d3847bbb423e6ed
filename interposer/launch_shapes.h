// What a launch tells about the variant that suits it.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device.h"
#include "engine/instrument.h"

namespace lynxpp::interposer {

/// Keeps the device's last answer, so that a kernel that is launched again and again with blocks of one size
/// costs one question.
class LaunchShapes {
 public:
  engine::LaunchShape of(device::Device& device, const device::Launch& launch);

 private:
  struct Question {
    const device::Device* device = nullptr;
    const void* function = nullptr;
    std::uint64_t threads_per_block = 0;
    std::uint32_t shared_bytes = 0;
    bool operator==(const Question&) const = default;
  };
  std::optional<Question> asked_;
  std::uint64_t blocks_at_a_time_ = 0;  ///< that the device holds; 0: it has no such limits
};

}  // namespace lynxpp::interposer
