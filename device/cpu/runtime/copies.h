// Copies and fills of boxes of memory in a stream, for the APIs of runtime and driver.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace lynxpp::device::cpu {

/// A box of `width` bytes × `height` rows × `depth` slices.
struct Box {
  std::size_t width = 0, height = 1, depth = 1;
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// Where a box lies in memory.
struct Place {
  std::byte* first = nullptr;
  std::size_t pitch = 0;        ///< bytes from row to row
  std::size_t slice_pitch = 0;  ///< bytes from slice to slice
  std::byte* row(std::size_t y, std::size_t z) const { return first + z * slice_pitch + y * pitch; }
};

/// When a call returns: what CUDA promises of copies between device memory, and of fills, is the latter, too.
enum class Returns { when_done, at_once };

/// What a fill repeats: the first 1, 2 or 4 bytes of `value`, which divide the box's width.
struct FillValue {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

/// Errors: those of Streams::admit() and of cudaMemcpy and cudaMemset.
cudaError_t copy_box(const Place& to, const Place& from, const Box& box, cudaMemcpyKind kind,
                     cudaStream_t stream, Returns returns);
cudaError_t fill_box(const Place& to, const Box& box, const FillValue& value, cudaStream_t stream,
                     Returns returns);

}  // namespace lynxpp::device::cpu
