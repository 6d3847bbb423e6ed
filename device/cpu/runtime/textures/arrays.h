// CUDA arrays: memory that programs access only through textures, surfaces and copies. An array is stored row
// by row, without gaps. Its address is its handle in both APIs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Alignment of array memory, and of each level.
inline constexpr std::size_t array_alignment = 512;

struct MipmappedArray;

struct ArrayShape {
  TexelFormat format;
  cudaExtent extent = {};  ///< in elements; 0 for dimensions that the array does not have
  unsigned flags = 0;      ///< cudaArrayLayered and others
};

struct Array {
  ArrayShape shape;
  Image image;                         ///< of one level
  std::shared_ptr<MipmappedArray> of;  ///< owner of a level; null for an independent array

  /// Locates a box in memory. Errors: cudaErrorInvalidValue if it exceeds the array.
  cudaError_t locate(std::size_t x_bytes, std::size_t y, std::size_t z, const Box& box,
                     Location& location) const;
  /// Locates `bytes` from a position on, row after row: such copies continue in the next row.
  cudaError_t locate_bytes(std::size_t x_bytes, std::size_t y, std::size_t bytes, Location& location) const;
};

struct MipmappedArray {
  ArrayShape shape;
  Image image;                                        ///< of all levels
  std::map<unsigned, std::shared_ptr<Array>> levels;  ///< levels handed out; guarded by Arrays
};

/// Thread safe.
class Arrays {
 public:
  /// Errors: cudaErrorInvalidValue for invalid extents or flags, cudaErrorNotSupported for sparse and
  /// deferred arrays, cudaErrorMemoryAllocation.
  cudaError_t create(const ArrayShape& shape, std::shared_ptr<Array>& made);
  /// Clamps `levels` to the number possible, and to at least one.
  cudaError_t create(const ArrayShape& shape, unsigned levels, std::shared_ptr<MipmappedArray>& made);

  /// Returns the array of a handle; null if the handle is invalid.
  std::shared_ptr<Array> find(const void* handle);
  std::shared_ptr<MipmappedArray> find_mipmapped(const void* handle);
  /// Errors: cudaErrorInvalidValue if the level does not exist.
  cudaError_t level(const std::shared_ptr<MipmappedArray>& array, unsigned level,
                    std::shared_ptr<Array>& made);

  /// Waits for all work that may use the array, and frees its memory; false if the handle is invalid or
  /// belongs to a level. Must not be called in a callback.
  bool destroy(const void* handle);
  bool destroy_mipmapped(const void* handle);

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Array>> arrays_;  // including levels handed out
  std::map<const void*, std::shared_ptr<MipmappedArray>> mipmapped_;
};

/// Returns the process's arrays. Never destroyed.
Arrays& arrays();

/// Returns the bytes of all levels.
std::size_t bytes_of(const Image& image);

/// Returns the kind of a copy to or from an array: the array's side is on the device, whatever `kind` says.
cudaMemcpyKind kind_to_array(cudaMemcpyKind kind);
cudaMemcpyKind kind_from_array(cudaMemcpyKind kind);

}  // namespace lynxpp::device::cpu
