// Tensor maps as operands of instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/tensors/tensor_map.h"

namespace lynxpp::device::cpu {

/// The tensor map of one lane's instruction.
struct MapLocation {
  std::size_t site = 0;  ///< index of the map's address among the instruction's addresses
  std::uint64_t address = 0;
  std::uint32_t lane = 0;
};

/// Raises the fault that an instruction cannot use its tensor map or its operands.
void raise_tensor(const OperationCall& call, const MapLocation& location, std::string reason);

/// Why an address is not a tensor map's: the kind of its fault, or what is wrong with the bytes.
struct MapFault {
  FaultKind kind = FaultKind::none;
  const char* problem = nullptr;

  bool is_map() const { return kind == FaultKind::none && problem == nullptr; }
};

/// Reads the map of a tensor copy from parameter, constant or global memory. Raises no fault.
MapFault find_map(const OperationCall& call, const MapLocation& location, TensorMap& map);
/// Likewise; returns false and raises a fault if the address is not a map's.
bool read_map(const OperationCall& call, const MapLocation& location, TensorMap& map);

enum class TensorCopyKind : std::uint8_t { copy, reduction, prefetch };
/// Precondition: the words up to `tensor` have been consumed.
Result<Operation> make_tensor_copy(OperationRequest& request, TensorCopyKind kind);

}  // namespace lynxpp::device::cpu
