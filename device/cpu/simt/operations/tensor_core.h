// Instructions on tensor memory (tcgen05).
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/execute/memory/tensor_memory.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

/// Consumes `.cta_group::1` or `.cta_group::2`. Returns the number of blocks; 0 if neither is next.
unsigned take_blocks(OpcodeWords& words);

/// A use of tensor memory by an instruction: the site's index, the lane that names the address, the address.
struct TensorUse {
  std::size_t site = 0;
  std::uint32_t lane = 0;
  std::uint64_t address = 0;
};
/// Raises FaultKind::tensor_memory. `reason` lives forever.
void raise_tensor_memory(const OperationCall& call, const TensorUse& use, const char* reason);
/// Raises a fault and returns false if a column is not allocated, in `memory`, from the address on.
bool check_columns(const OperationCall& call, const TensorUse& use, const TensorMemory& memory,
                   std::uint32_t columns);

/// Returns the access to consecutive words of one lane of tensor memory. `in_peer`: of the other block.
AsyncAccess tensor_access(const AccessSite* site, bool in_peer, std::uint32_t lane, std::uint32_t column,
                          std::uint32_t columns);

Result<Operation> make_tensor_transfer(OperationRequest& request, bool loads);  ///< ld, st
Result<Operation> make_tensor_fill(OperationRequest& request);                  ///< cp
Result<Operation> make_tensor_product(OperationRequest& request);               ///< mma

}  // namespace lynxpp::device::cpu
