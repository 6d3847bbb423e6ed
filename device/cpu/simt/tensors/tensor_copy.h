// The bytes that a tensor copy moves between a tensor in global memory and a box in shared memory.
//
// plan_copy() computes them from a tensor map and the operands of the instruction, without accessing memory;
// load(), store() and reduce() move them. A copy can so be checked when it is issued and performed later:
//
//   const TensorPlan plan = plan_copy({map, TensorMode::tile, true, {x, y}}, shared_address);
//   if (!plan.problem.empty() || !plan.bad_start.empty()) …  // the instruction is illegal
//   for (const ByteRange& row : plan.global) …            // what it reads in global memory
//   load(plan, shared);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/tensors/tensor_map.h"

namespace lynxpp::device::cpu {

/// rows: four rows of a tensor of two dimensions (.tile::gather4, .tile::scatter4). im2col_w and im2col_w128:
/// .im2col::w and .im2col::w::128.
enum class TensorMode : std::uint8_t { tile, im2col, im2col_w, im2col_w128, rows };

/// The decoded operands of a tensor copy.
struct TensorCopy {
  TensorMap map;
  TensorMode mode = TensorMode::tile;
  bool to_shared = false;
  /// The coordinates of the box, dimension 0 first; rows: one of dimension 0 and four of dimension 1.
  std::array<std::int32_t, most_dimensions> at{};
  std::array<std::uint32_t, 3> offsets{};  ///< im2col: of W, H and D; im2col_w: wHalo and wOffset
};

/// Consecutive bytes in both memories. No run crosses a line of 128 bytes of shared memory.
struct TensorRun {
  std::uint64_t global = 0;  ///< address; 0 for elements outside the tensor
  std::uint32_t shared = 0;  ///< offset from the copy's shared address
  std::uint32_t bytes = 0;   ///< of the tensor
  bool is_inside = false;    ///< false: elements outside the tensor, which a load fills and a store skips
};

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

struct TensorPlan {
  std::string problem;  ///< why the copy is illegal, or not supported; the other members are then empty
  /// Why the copy is illegal although its bytes are known (problem_of_start).
  std::string bad_start;
  TensorElement element = TensorElement::u8;
  TensorFill fill = TensorFill::zero;
  /// Size of the box with the elements outside the tensor, but without padding of elements of 4 and 6 bits: a
  /// load reports it to its barrier.
  std::uint32_t bytes = 0;
  std::vector<ByteRange> global;  ///< accessed in global memory
  std::vector<ByteRange> shared;  ///< accessed in shared memory, as offsets from the copy's shared address
  std::vector<TensorRun> runs;    ///< a store has only those inside the tensor
};

inline constexpr std::uint32_t shared_tensor_alignment = 128;

/// Returns what is wrong with where the box begins along dimension 0, which must be a multiple of 16 bytes in
/// tiled modes, with the nearest coordinates that are allowed. Empty if nothing is.
std::string problem_of_start(const TensorCopy& copy);

/// `shared_address`: of the box in shared memory, whose bits 7 to 9 determine the swizzle.
TensorPlan plan_copy(const TensorCopy& copy, std::uint64_t shared_address);

// Precondition: the plan has no problem, and all its bytes are accessible.

/// Fills the box at `shared`, without the padding of elements of 4 and 6 bits. Elements of type tf32 are
/// rounded to nearest even, as a GPU does.
void load(const TensorPlan& plan, std::byte* shared);
void store(const TensorPlan& plan, const std::byte* shared);

/// Calls `combine(element of the tensor, element of the box)` for each element inside the tensor.
template <typename Combine>
void reduce(const TensorPlan& plan, const std::byte* shared, const Combine& combine) {
  const std::uint32_t size = bytes_of(plan.element);
  for (const TensorRun& run : plan.runs) {
    for (std::uint32_t at = 0; at < run.bytes; at += size)
      combine(reinterpret_cast<std::byte*>(run.global + at), shared + run.shared + at);
  }
}

}  // namespace lynxpp::device::cpu
