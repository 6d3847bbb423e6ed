#include "device/cpu/runtime/textures/arrays.h"

#include <algorithm>
#include <bit>

#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/limits.h"

namespace lynxpp::device::cpu {
namespace {

/// Flags of the driver API only.
constexpr unsigned depth_texture = 0x10;
constexpr unsigned video = 0x100;
constexpr unsigned unsupported_flags = cudaArraySparse | cudaArrayDeferredMapping | depth_texture | video;
constexpr unsigned known_flags = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap |
                                 cudaArrayTextureGather | cudaArrayColorAttachment;

struct Limits {
  std::size_t width, height, depth;

  bool hold(const cudaExtent& extent) const {
    return extent.width <= width && extent.height <= height && extent.depth <= depth;
  }
};

Limits limits(cudaDeviceAttr width) { return {texture_size(width), 0, 0}; }
Limits limits(cudaDeviceAttr width, cudaDeviceAttr height) {
  return {texture_size(width), texture_size(height), 0};
}
Limits limits(cudaDeviceAttr width, cudaDeviceAttr height, cudaDeviceAttr depth) {
  return {texture_size(width), texture_size(height), texture_size(depth)};
}
Limits layered_line(cudaDeviceAttr width, cudaDeviceAttr layers) {
  return {texture_size(width), 0, texture_size(layers)};
}

bool fits_layered(const ArrayShape& shape, bool has_surface) {
  const cudaExtent& extent = shape.extent;
  if (extent.height == 0) {
    return layered_line(cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers)
               .hold(extent) &&
           (!has_surface ||
            layered_line(cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers)
                .hold(extent));
  }
  return limits(cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
                cudaDevAttrMaxTexture2DLayeredLayers)
             .hold(extent) &&
         (!has_surface || limits(cudaDevAttrMaxSurface2DLayeredWidth, cudaDevAttrMaxSurface2DLayeredHeight,
                                 cudaDevAttrMaxSurface2DLayeredLayers)
                              .hold(extent));
}

bool fits_volume(const cudaExtent& extent, bool has_surface) {
  const bool is_texture =
      limits(cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth)
          .hold(extent) ||
      limits(cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt,
             cudaDevAttrMaxTexture3DDepthAlt)
          .hold(extent);
  return is_texture && (!has_surface || limits(cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight,
                                               cudaDevAttrMaxSurface3DDepth)
                                            .hold(extent));
}

/// True if the dimensions are within the device's limits.
bool fits_device(const ArrayShape& shape, bool is_mipmapped) {
  const cudaExtent& extent = shape.extent;
  const bool has_surface = (shape.flags & cudaArraySurfaceLoadStore) != 0;
  if ((shape.flags & cudaArrayCubemap) != 0) {
    const bool is_layered = (shape.flags & cudaArrayLayered) != 0;
    const auto width =
        is_layered ? cudaDevAttrMaxTextureCubemapLayeredWidth : cudaDevAttrMaxTextureCubemapWidth;
    return extent.width <= texture_size(width) &&
           (!is_layered || extent.depth <= texture_size(cudaDevAttrMaxTextureCubemapLayeredLayers));
  }
  if ((shape.flags & cudaArrayLayered) != 0) return fits_layered(shape, has_surface);
  if (extent.depth != 0) return fits_volume(extent, has_surface);
  if (extent.height != 0) {
    if ((shape.flags & cudaArrayTextureGather) != 0 &&
        !limits(cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight).hold(extent))
      return false;
    const Limits plane =
        is_mipmapped ? limits(cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight)
                     : limits(cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight);
    return plane.hold(extent) &&
           (!has_surface || limits(cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight).hold(extent));
  }
  return limits(is_mipmapped ? cudaDevAttrMaxTexture1DMipmappedWidth : cudaDevAttrMaxTexture1DWidth)
             .hold(extent) &&
         (!has_surface || limits(cudaDevAttrMaxSurface1DWidth).hold(extent));
}

cudaError_t check(const ArrayShape& shape, bool is_mipmapped) {
  if ((shape.flags & unsupported_flags) != 0) return cudaErrorNotSupported;
  if ((shape.flags & ~known_flags) != 0) return cudaErrorInvalidValue;
  const cudaExtent& extent = shape.extent;
  const bool is_layered = (shape.flags & cudaArrayLayered) != 0;
  const bool is_cube = (shape.flags & cudaArrayCubemap) != 0;
  const bool gathers = (shape.flags & cudaArrayTextureGather) != 0;
  if (extent.width == 0) return cudaErrorInvalidValue;
  if (is_layered && extent.depth == 0) return cudaErrorInvalidValue;
  if (!is_layered && extent.height == 0 && extent.depth != 0) return cudaErrorInvalidValue;
  if (is_cube && (extent.width != extent.height || extent.depth == 0 || extent.depth % 6 != 0))
    return cudaErrorInvalidValue;
  if (is_cube && !is_layered && extent.depth != 6) return cudaErrorInvalidValue;
  const bool is_plane = extent.height != 0 && (extent.depth == 0 || is_layered || is_cube);
  if (gathers && !is_plane) return cudaErrorInvalidValue;
  return fits_device(shape, is_mipmapped) ? cudaSuccess : cudaErrorInvalidValue;
}

unsigned most_levels(const ArrayShape& shape) {
  const bool has_layers = (shape.flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  const std::size_t longest =
      std::max({shape.extent.width, shape.extent.height, has_layers ? 0 : shape.extent.depth});
  return static_cast<unsigned>(std::bit_width(longest));
}

/// Lays out the levels; addresses are relative to the first level.
Image lay_out(const ArrayShape& shape, unsigned levels) {
  Image image;
  image.format = shape.format;
  image.is_layered = (shape.flags & cudaArrayLayered) != 0;
  image.is_cube = (shape.flags & cudaArrayCubemap) != 0;
  const bool has_layers = image.is_layered || image.is_cube;
  image.shape = shape.extent.height == 0                ? ImageShape::line
                : shape.extent.depth == 0 || has_layers ? ImageShape::plane
                                                        : ImageShape::volume;
  const auto halved = [](std::size_t size, unsigned level) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(size >> level, 1));
  };
  std::uint64_t end = 0;
  for (unsigned i = 0; i < levels; ++i) {
    ImageLevel level;
    level.width = halved(shape.extent.width, i);
    level.height = halved(shape.extent.height, i);
    level.slices =
        has_layers ? static_cast<std::uint32_t>(shape.extent.depth) : halved(shape.extent.depth, i);
    level.row_bytes = std::uint64_t{level.width} * shape.format.bytes();
    level.slice_bytes = level.row_bytes * level.height;
    level.address = end;
    end += (level.slice_bytes * level.slices + array_alignment - 1) / array_alignment * array_alignment;
    image.levels.push_back(level);
  }
  return image;
}

cudaError_t allocate(Image& image) {
  void* memory = nullptr;
  const cudaError_t error = allocations().allocate(&memory, bytes_of(image), MemoryKind::array);
  for (ImageLevel& level : image.levels) level.address += reinterpret_cast<std::uintptr_t>(memory);
  return error;
}

void free_memory(const Image& image) {
  allocations().release(reinterpret_cast<void*>(image.levels[0].address), MemoryKind::array,
                        MemoryKind::array);
}

}  // namespace

std::size_t bytes_of(const Image& image) {
  const ImageLevel& last = image.levels.back();
  return last.address - image.levels[0].address + last.slice_bytes * last.slices;
}

// ---------------------------------------------------------------- copies

cudaError_t Array::locate(std::size_t x_bytes, std::size_t y, std::size_t z, const Box& box,
                          Location& location) const {
  const ImageLevel& level = image.levels[0];
  const auto within = [](std::size_t first, std::size_t count, std::size_t size) {
    return first <= size && count <= size - first;
  };
  if (!within(x_bytes, box.width, level.row_bytes) || !within(y, box.height, level.height) ||
      !within(z, box.depth, level.slices))
    return cudaErrorInvalidValue;
  auto* const first =
      reinterpret_cast<std::byte*>(level.address + z * level.slice_bytes + y * level.row_bytes);
  location = {first + x_bytes, level.row_bytes, level.slice_bytes};
  return cudaSuccess;
}

cudaError_t Array::locate_bytes(std::size_t x_bytes, std::size_t y, std::size_t bytes,
                                Location& location) const {
  const ImageLevel& level = image.levels[0];
  const std::size_t size = level.slice_bytes * level.slices;
  if (y >= level.height || x_bytes > size || y * level.row_bytes > size - x_bytes ||
      bytes > size - x_bytes - y * level.row_bytes)
    return cudaErrorInvalidValue;
  location = {reinterpret_cast<std::byte*>(level.address + y * level.row_bytes + x_bytes), bytes, bytes};
  return cudaSuccess;
}

cudaMemcpyKind kind_to_array(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToHost) return cudaMemcpyHostToDevice;
  return kind == cudaMemcpyDeviceToHost ? cudaMemcpyDeviceToDevice : kind;
}

cudaMemcpyKind kind_from_array(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToHost) return cudaMemcpyDeviceToHost;
  return kind == cudaMemcpyHostToDevice ? cudaMemcpyDeviceToDevice : kind;
}

// ---------------------------------------------------------------- the process's arrays

Arrays& arrays() {
  static auto* const all = new Arrays;
  return *all;
}

cudaError_t Arrays::create(const ArrayShape& shape, std::shared_ptr<Array>& made) {
  if (const cudaError_t error = check(shape, false); error != cudaSuccess) return error;
  auto array = std::make_shared<Array>(Array{shape, lay_out(shape, 1), nullptr});
  if (const cudaError_t error = allocate(array->image); error != cudaSuccess) return error;
  const std::lock_guard lock(mutex_);
  arrays_[array.get()] = array;
  made = std::move(array);
  return cudaSuccess;
}

cudaError_t Arrays::create(const ArrayShape& shape, unsigned levels, std::shared_ptr<MipmappedArray>& made) {
  if (const cudaError_t error = check(shape, true); error != cudaSuccess) return error;
  const unsigned count = std::clamp(levels, 1u, most_levels(shape));
  auto array = std::make_shared<MipmappedArray>(MipmappedArray{shape, lay_out(shape, count), {}});
  if (const cudaError_t error = allocate(array->image); error != cudaSuccess) return error;
  const std::lock_guard lock(mutex_);
  mipmapped_[array.get()] = array;
  made = std::move(array);
  return cudaSuccess;
}

std::shared_ptr<Array> Arrays::find(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(handle);
  return found != arrays_.end() ? found->second : nullptr;
}

std::shared_ptr<MipmappedArray> Arrays::find_mipmapped(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = mipmapped_.find(handle);
  return found != mipmapped_.end() ? found->second : nullptr;
}

cudaError_t Arrays::level(const std::shared_ptr<MipmappedArray>& array, unsigned level,
                          std::shared_ptr<Array>& made) {
  if (level >= array->image.levels.size()) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Array>& known = array->levels[level];
  if (known == nullptr) {
    const ImageLevel& at = array->image.levels[level];
    ArrayShape shape = array->shape;
    shape.extent.width = at.width;
    if (shape.extent.height != 0) shape.extent.height = at.height;
    if (shape.extent.depth != 0) shape.extent.depth = at.slices;
    Image image = array->image;
    image.levels = {at};
    known = std::make_shared<Array>(Array{shape, std::move(image), array});
    arrays_[known.get()] = known;
  }
  made = known;
  return cudaSuccess;
}

bool Arrays::destroy(const void* handle) {
  streams().wait_for_all();
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(handle);
  if (found == arrays_.end() || found->second->of != nullptr) return false;
  free_memory(found->second->image);
  arrays_.erase(found);
  return true;
}

bool Arrays::destroy_mipmapped(const void* handle) {
  streams().wait_for_all();
  const std::lock_guard lock(mutex_);
  const auto found = mipmapped_.find(handle);
  if (found == mipmapped_.end()) return false;
  free_memory(found->second->image);
  // Each level keeps the whole array alive.
  for (const auto& [index, level] : found->second->levels) arrays_.erase(level.get());
  found->second->levels.clear();
  mipmapped_.erase(found);
  return true;
}

}  // namespace lynxpp::device::cpu
