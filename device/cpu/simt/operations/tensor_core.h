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

/// Returns true if the cluster has the other block of a pair, whose rank differs in the lowest bit; otherwise
/// raises a fault.
bool check_peer(const OperationCall& call, const TensorUse& use);

/// Returns the access to consecutive words of one lane of tensor memory. `in_peer`: of the other block.
AsyncAccess tensor_access(const AccessSite* site, bool in_peer, std::uint32_t lane, std::uint32_t column,
                          std::uint32_t columns);

/// Elements of 4 and 6 bits in tensor memory are in the middle of their bytes: 0b00xxxx00 and 0b0xxxxxx0.
constexpr unsigned narrow_element_of(unsigned byte, unsigned bits) {
  return byte >> (8 - bits) / 2 & ((1u << bits) - 1);
}
constexpr unsigned byte_of_narrow(unsigned element, unsigned bits) { return element << (8 - bits) / 2; }

/// Fails because of a modifier whose rows the ISA's text leaves open: shift, .ashift and .4x256b.
Failure refuse_rows(const OpcodeWords& words);

Result<Operation> make_tensor_transfer(OperationRequest& request, bool loads);  ///< ld, st
Result<Operation> make_tensor_fill(OperationRequest& request);                  ///< cp
Result<Operation> make_tensor_product(OperationRequest& request);               ///< mma

}  // namespace lynxpp::device::cpu
