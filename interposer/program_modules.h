// The PTX of the program's kernels on the CUDA device, from the images that the hooks saw being loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "image/device_code.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Thread safe. An image is read once per compute capability and kept until it is forgotten.
class ProgramModules {
 public:
  /// Returns the text of the module that defines `kernel`: the PTX that a device of compute capability `sm`
  /// runs, or from which its machine code was compiled. `bytes` is the image. On failure the message says why
  /// the kernel has none.
  Result<KernelPtx> text_of(const std::string& kernel, std::uint64_t image, std::span<const std::byte> bytes,
                            int sm);

  void forget(std::uint64_t image);

 private:
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  std::map<std::pair<std::uint64_t, int>, std::vector<image::DeviceCode>> codes_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
