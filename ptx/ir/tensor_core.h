// Products of matrices on tensor cores: the work of one instruction, from its opcode.
#pragma once

#include <cstdint>
#include <string_view>

namespace lynxpp::ptx {

struct Instruction;

/// The type of the factors; of factors with different types the wider one.
enum class TensorCoreType : std::uint8_t {
  f64,
  tf32,
  f16,
  bf16,
  f8,  ///< e4m3, e5m2
  f6,  ///< e3m2, e2m3
  f4,  ///< e2m1
  s8,  ///< also u8
  s4,  ///< also u4
  b1,
  unknown
};

/// Work of one execution of an instruction by one warp.
struct TensorCoreProduct {
  TensorCoreType type = TensorCoreType::unknown;
  /// Multiplications plus additions that are executed: 2 · M · N · K, for sparse matrices half of it, because
  /// only stored elements of A are multiplied; for `wgmma` the warp's quarter of its warpgroup's work.
  std::uint32_t operations = 0;
};

/// Returns the work of `mma`, `wmma.mma` and `wgmma.mma_async`; type unknown and 0 operations for other
/// opcodes, among them `tcgen05.mma`, which has its shape in a register. Example:
/// "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" has the type f16 and 4096 operations.
TensorCoreProduct tensor_core_product(std::string_view opcode);

/// Returns the bytes of shared memory that one execution of `wgmma.mma_async` by one warp reads by matrix
/// descriptors: the warp's 16 rows of A, unless A is in registers, and a quarter of B, which the warps of its
/// warpgroup share. 0 for other instructions. Example: 512 + 8 * N for a dense product of two descriptors.
std::uint32_t descriptor_bytes(const Instruction& instruction);

}  // namespace lynxpp::ptx
