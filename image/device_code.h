// The code that a device runs for an image that has both machine code and PTX.
//
// A driver loads machine code that fits the device and compiles PTX only if there is no such code. PTX for
// another architecture than the machine code was compiled from may be a different program: `__CUDA_ARCH__`
// selects it.
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

/// One module of the code in a container that a device runs.
struct DeviceCode {
  std::string ptx;      ///< the text that runs, or that the running code was compiled from; empty if unknown
  std::string problem;  ///< why `ptx` is empty
  std::string hint;
  bool has_other_ptx = false;  ///< the container has PTX, but not of the code that runs
  PtxOrigin origin = PtxOrigin::image;
};

/// For each container, returns the code that a device of compute capability `sm` runs: one element, or one
/// per module that its machine code was linked from. Fails if the image is damaged.
Result<std::vector<DeviceCode>> device_code(std::span<const std::byte> bytes, int sm);

/// The virtual architecture (compute_XY, × 10) that a cubin's code was compiled from, as recorded by ptxas;
/// nullopt if it is not recorded.
std::optional<std::uint32_t> compiled_from(std::span<const std::byte> cubin);

}  // namespace lynxpp::image
