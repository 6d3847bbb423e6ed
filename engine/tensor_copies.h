// The tensor copies whose tensor map is a parameter of the kernel: a launch determines how much they move.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "ptx/passes/reached.h"

namespace lynxpp::engine {

/// A tensor copy as its instruction describes it.
struct TensorCopySite {
  std::uint32_t instruction = 0;     ///< instructionId()
  std::uint32_t parameter_byte = 0;  ///< of the map in the kernel's parameter buffer
  std::uint32_t rank = 0;
  bool is_im2col = false;
  std::uint32_t rows = 1;  ///< boxes that one copy moves: 4 for gather4 and scatter4
};

/// Returns the copies, ascending by instruction. `parameters`: the kernel's. Adds a note on each kind of copy
/// that is left out: those with a map in memory, one that depends on the path or is passed to a device
/// function, or a size that an operand determines (im2col::w).
std::vector<TensorCopySite> tensor_copies(const ptx::ReachedFunctions& reached,
                                          const std::vector<device::ParameterSlot>& parameters,
                                          std::vector<std::string>& notes);

}  // namespace lynxpp::engine
