// Copies and fills of boxes of memory in a stream, for the runtime API and the driver API.
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

/// A box's position in memory.
struct Location {
  std::byte* first = nullptr;
  std::size_t pitch = 0;        ///< bytes between rows
  std::size_t slice_pitch = 0;  ///< bytes between slices
  std::byte* row(std::size_t y, std::size_t z) const { return first + z * slice_pitch + y * pitch; }
};

/// When a call returns. CUDA returns at once from copies within device memory and from fills in either case.
enum class Returns { when_done, at_once };

/// The pattern that a fill repeats: the first 1, 2 or 4 bytes of `value`, which divide the box's width.
struct FillValue {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

/// Errors: those of Streams::admit(), cudaMemcpy and cudaMemset.
cudaError_t copy_box(const Location& to, const Location& from, const Box& box, cudaMemcpyKind kind,
                     cudaStream_t stream, Returns returns);
cudaError_t fill_box(const Location& to, const Box& box, const FillValue& value, cudaStream_t stream,
                     Returns returns);
/// Enqueues the fill of a memset node in the null stream.
cudaError_t fill_elements_of(const cudaMemsetParams& fill);

}  // namespace lynxpp::device::cpu
