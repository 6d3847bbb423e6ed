// Tensor maps as operands of instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/tensors/tensor_map.h"

namespace lynxpp::device::cpu {

/// The tensor map of one lane's instruction.
struct MapLocation {
  std::size_t site = 0;  ///< index of the map's address among the instruction's addresses
  std::uint64_t address = 0;
  std::uint32_t lane = 0;
};

/// Raises the fault that an instruction cannot use its tensor map or its operands. `reason` lives forever.
void raise_tensor(const OperationCall& call, const MapLocation& location, const char* reason);

/// Reads the map of a tensor copy from parameter, constant or global memory. Returns false and raises a fault
/// if it is elsewhere, or not a map.
bool read_map(const OperationCall& call, const MapLocation& location, TensorMap& map);

enum class TensorCopyKind : std::uint8_t { copy, reduction, prefetch };
/// Precondition: the words up to `tensor` have been consumed.
Result<Operation> make_tensor_copy(OperationRequest& request, TensorCopyKind kind);

}  // namespace lynxpp::device::cpu
