// CUDA arrays: memory that programs reach by textures, surfaces and copies only. An array lies in memory row
// by row, without gaps. Its address is its handle in both of CUDA's APIs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/runtime/copies.h"
#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Of the memory of arrays, and of each of their levels.
inline constexpr std::size_t array_alignment = 512;

struct MipmappedArray;

struct ArrayShape {
  TexelFormat format;
  cudaExtent extent = {};  ///< in elements; 0 in dimensions that it does not have
  unsigned flags = 0;      ///< cudaArrayLayered and its like
};

struct Array {
  ArrayShape shape;
  Image image;                         ///< of one level
  std::shared_ptr<MipmappedArray> of;  ///< null: an array of its own

  /// Where a box lies. Errors: cudaErrorInvalidValue when it reaches beyond the array.
  cudaError_t place(std::size_t x_bytes, std::size_t y, std::size_t z, const Box& box, Place& place) const;
  /// Of `bytes` from a place on, row after row: such copies go beyond a row's end into the next one.
  cudaError_t place_of_bytes(std::size_t x_bytes, std::size_t y, std::size_t bytes, Place& place) const;
};

struct MipmappedArray {
  ArrayShape shape;
  Image image;                                        ///< of all levels
  std::map<unsigned, std::shared_ptr<Array>> levels;  ///< that were asked for; guarded by Arrays
};

/// Thread safe.
class Arrays {
 public:
  /// Errors: cudaErrorInvalidValue for extents or flags that an array cannot have, cudaErrorNotSupported for
  /// sparse and deferred ones, cudaErrorMemoryAllocation.
  cudaError_t create(const ArrayShape& shape, std::shared_ptr<Array>& made);
  /// As many levels as there are at most, at least one.
  cudaError_t create(const ArrayShape& shape, unsigned levels, std::shared_ptr<MipmappedArray>& made);

  /// What a handle stands for; null when it is none.
  std::shared_ptr<Array> find(const void* handle);
  std::shared_ptr<MipmappedArray> find_mipmapped(const void* handle);
  /// Errors: cudaErrorInvalidValue for a level that there is not.
  cudaError_t level(const std::shared_ptr<MipmappedArray>& array, unsigned level,
                    std::shared_ptr<Array>& made);

  /// Waits for everything that may use the array, and frees its memory; false when the handle is none, or a
  /// level of another. Not in a callback.
  bool destroy(const void* handle);
  bool destroy_mipmapped(const void* handle);

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Array>> arrays_;  // levels that were asked for included
  std::map<const void*, std::shared_ptr<MipmappedArray>> mipmapped_;
};

/// The process's arrays. Never destroyed.
Arrays& arrays();

/// Bytes of all levels.
std::size_t bytes_of(const Image& image);

/// The kind of a copy one side of which is an array: that side is the device's, whatever `kind` says.
cudaMemcpyKind kind_to_array(cudaMemcpyKind kind);
cudaMemcpyKind kind_from_array(cudaMemcpyKind kind);

}  // namespace lynxpp::device::cpu
