// What the kernels of an image are on a device, where machine code stands beside PTX.
//
// A driver takes machine code that fits the device and compiles PTX only where there is none. PTX of another
// architecture than the machine code was compiled from may be another program: `__CUDA_ARCH__` chooses.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "image/cubin_ptx.h"
#include "image/fatbinary.h"
#include "support/result.h"

namespace lynxpp::image {

/// One module of the code of a container that a device runs.
struct DeviceCode {
  std::string ptx;      ///< the text that runs, or that the running code was compiled from; empty if unknown
  std::string problem;  ///< why there is none
  std::string hint;
  bool has_other_ptx = false;  ///< there is PTX, but not of what runs
  PtxOrigin origin = PtxOrigin::image;
};

/// For each container, returns the code that a device of compute capability `sm` runs: one element, or one
/// per module that its machine code was linked from. Fails if the image is damaged.
Result<std::vector<DeviceCode>> device_code(std::span<const std::byte> bytes, int sm);

/// The virtual architecture (compute_XY, × 10) that a cubin's code was compiled from, as ptxas noted it;
/// nullopt when the bytes do not tell.
std::optional<std::uint32_t> compiled_from(std::span<const std::byte> cubin);

}  // namespace lynxpp::image
