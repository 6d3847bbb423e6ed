#include "device/cpu/runtime/textures/texture_objects.h"

#include <bit>
#include <cstring>

#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/arrays.h"
#include "device/cpu/runtime/textures/formats.h"
#include "device/cpu/runtime/textures/limits.h"
#include "device/cpu/simt/textures/objects.h"

namespace lynxpp::device::cpu {
namespace {

bool is_aligned(const void* pointer, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

/// Describes the program's linear memory, read by integer coordinates.
cudaError_t image_of_linear(const cudaResourceDesc& resource, Image& image) {
  const auto& linear = resource.res.linear;
  const auto format = format_of(linear.desc);
  if (!format) return cudaErrorInvalidChannelDescriptor;
  const std::size_t elements = linear.sizeInBytes / format->bytes();
  if (linear.devPtr == nullptr || !is_aligned(linear.devPtr, texture_alignment) || elements == 0 ||
      elements > texture_size(cudaDevAttrMaxTexture1DLinearWidth))
    return cudaErrorInvalidValue;
  image.format = *format;
  image.shape = ImageShape::linear;
  image.levels = {{.address = reinterpret_cast<std::uintptr_t>(linear.devPtr),
                   .width = static_cast<std::uint32_t>(elements)}};
  return cudaSuccess;
}

cudaError_t image_of_rows(const cudaResourceDesc& resource, Image& image) {
  const auto& rows = resource.res.pitch2D;
  const auto format = format_of(rows.desc);
  if (!format) return cudaErrorInvalidChannelDescriptor;
  if (rows.devPtr == nullptr || !is_aligned(rows.devPtr, texture_alignment) || rows.width == 0 ||
      rows.height == 0 || rows.width > texture_size(cudaDevAttrMaxTexture2DLinearWidth) ||
      rows.height > texture_size(cudaDevAttrMaxTexture2DLinearHeight) ||
      rows.pitchInBytes > texture_size(cudaDevAttrMaxTexture2DLinearPitch) ||
      rows.pitchInBytes % texture_pitch_alignment != 0 || rows.pitchInBytes < rows.width * format->bytes())
    return cudaErrorInvalidValue;
  image.format = *format;
  image.shape = ImageShape::plane;
  image.levels = {{.address = reinterpret_cast<std::uintptr_t>(rows.devPtr),
                   .width = static_cast<std::uint32_t>(rows.width),
                   .height = static_cast<std::uint32_t>(rows.height),
                   .slices = 1,
                   .row_bytes = rows.pitchInBytes,
                   .slice_bytes = rows.pitchInBytes * rows.height}};
  return cudaSuccess;
}

/// Describes the resource; `shape` receives the shape of an array.
cudaError_t image_of(const ObjectDescription& description, Image& image, ArrayShape& shape) {
  const cudaResourceDesc& resource = description.resource;
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const auto array = arrays().find(resource.res.array.array);
      if (array == nullptr) return cudaErrorInvalidResourceHandle;
      image = array->image;
      shape = array->shape;
      return cudaSuccess;
    }
    case cudaResourceTypeMipmappedArray: {
      const auto array = arrays().find_mipmapped(resource.res.mipmap.mipmap);
      if (array == nullptr) return cudaErrorInvalidResourceHandle;
      image = array->image;
      shape = array->shape;
      return description.is_surface ? cudaErrorInvalidValue : cudaSuccess;
    }
    case cudaResourceTypeLinear: return image_of_linear(resource, image);
    case cudaResourceTypePitch2D: return image_of_rows(resource, image);
  }
  return cudaErrorInvalidValue;
}

/// Restricts the image to a part of the resource, possibly in another format.
cudaError_t apply_view(const cudaResourceViewDesc& view, const ArrayShape& shape, Image& image) {
  const cudaExtent& extent = shape.extent;
  if (view.width != extent.width || view.height != extent.height || view.depth != extent.depth)
    return view.format >= cudaResViewFormatUnsignedBlockCompressed1 ? cudaErrorNotSupported
                                                                    : cudaErrorInvalidValue;
  if (view.format != cudaResViewFormatNone) {
    const auto format = format_of(view.format);
    if (!format) return cudaErrorNotSupported;
    if (format->bytes() != image.format.bytes()) return cudaErrorInvalidValue;
    image.format = *format;
  }
  const std::size_t levels = image.levels.size();
  if (view.firstMipmapLevel > view.lastMipmapLevel || view.lastMipmapLevel >= levels)
    return cudaErrorInvalidValue;
  const std::uint32_t layers = image.is_layered ? image.layers() : 1;
  if (view.firstLayer > view.lastLayer || view.lastLayer >= layers) return cudaErrorInvalidValue;
  image.levels.erase(image.levels.begin() + view.lastMipmapLevel + 1, image.levels.end());
  image.levels.erase(image.levels.begin(), image.levels.begin() + view.firstMipmapLevel);
  if (!image.is_layered) return cudaSuccess;
  for (ImageLevel& level : image.levels) {
    level.address += view.firstLayer * image.slices_of_layer() * level.slice_bytes;
    level.slices = (view.lastLayer - view.firstLayer + 1) * image.slices_of_layer();
  }
  return cudaSuccess;
}

bool is_mode(int mode) { return mode >= cudaAddressModeWrap && mode <= cudaAddressModeBorder; }
bool is_filter(int filter) { return filter == cudaFilterModePoint || filter == cudaFilterModeLinear; }

cudaError_t sampler_of(const ObjectDescription& description, const Image& image, Sampler& sampler) {
  static constexpr AddressMode modes[] = {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror,
                                          AddressMode::border};
  const cudaTextureDesc& texture = description.texture;
  const bool is_linear_memory = image.shape == ImageShape::linear;
  for (std::size_t i = 0; i < sampler.modes.size(); ++i) {
    if (is_linear_memory) continue;
    if (!is_mode(texture.addressMode[i])) return cudaErrorInvalidValue;
    sampler.modes[i] = modes[texture.addressMode[i]];
  }
  if (!is_filter(texture.filterMode) || !is_filter(texture.mipmapFilterMode) ||
      (texture.readMode != cudaReadModeElementType && texture.readMode != cudaReadModeNormalizedFloat))
    return cudaErrorInvalidValue;
  sampler.reading.normalizes = texture.readMode == cudaReadModeNormalizedFloat;
  sampler.reading.is_srgb =
      texture.sRGB != 0 && sampler.reading.normalizes && image.format.component == Component::u8;
  sampler.is_linear = texture.filterMode == cudaFilterModeLinear && !is_linear_memory;
  if (sampler.is_linear && !sampler.reading.yields_floats(image.format)) return cudaErrorInvalidFilterSetting;
  sampler.is_normalized = texture.normalizedCoords != 0;
  const bool is_mipmapped = description.resource.resType == cudaResourceTypeMipmappedArray;
  if ((is_mipmapped && !sampler.is_normalized) || (texture.seamlessCubemap != 0 && !image.is_cube))
    return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < sampler.border.size(); ++i)
    sampler.border[i] = std::bit_cast<std::uint32_t>(texture.borderColor[i]);
  sampler.levels_are_linear = texture.mipmapFilterMode == cudaFilterModeLinear;
  sampler.level_bias = texture.mipmapLevelBias;
  sampler.least_level = texture.minMipmapLevelClamp;
  sampler.greatest_level = texture.maxMipmapLevelClamp;
  sampler.is_seamless = texture.seamlessCubemap != 0;
  return cudaSuccess;
}

cudaError_t object_of(const ObjectDescription& description, ImageObject& object) {
  if (description.resource.flags != 0) return cudaErrorInvalidValue;
  ArrayShape shape;
  if (const cudaError_t error = image_of(description, object.image, shape); error != cudaSuccess)
    return error;
  object.is_surface = description.is_surface;
  const auto type = description.resource.resType;
  const bool is_array = type == cudaResourceTypeArray || type == cudaResourceTypeMipmappedArray;
  // An H100 does not require cudaArraySurfaceLoadStore.
  if (description.is_surface) return is_array ? cudaSuccess : cudaErrorInvalidValue;
  if (description.view) {
    if (!is_array) return cudaErrorInvalidValue;
    if (const cudaError_t error = apply_view(*description.view, shape, object.image); error != cudaSuccess)
      return error;
  }
  return sampler_of(description, object.image, object.sampler);
}

}  // namespace

cudaError_t TextureObjects::create(const ObjectDescription& description, unsigned long long& handle) {
  ImageObject object;
  if (const cudaError_t error = object_of(description, object); error != cudaSuccess) return error;
  const std::lock_guard lock(mutex_);
  handle = image_objects().add(std::move(object));
  objects_[handle] = description;
  objects_[handle].device = current_device();
  return cudaSuccess;
}

bool TextureObjects::destroy(unsigned long long handle, bool is_surface) {
  streams().wait_for_all();
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end() || found->second.is_surface != is_surface) return false;
  image_objects().remove(handle);
  objects_.erase(found);
  return true;
}

std::optional<ObjectDescription> TextureObjects::find(unsigned long long handle, bool is_surface) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end() || found->second.is_surface != is_surface) return std::nullopt;
  return found->second;
}

void TextureObjects::destroy_all(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(objects_, [device](const auto& entry) {
    if (entry.second.device != device) return false;
    image_objects().remove(entry.first);
    return true;
  });
}

TextureObjects& texture_objects() {
  static auto* const all = new TextureObjects;
  return *all;
}

}  // namespace lynxpp::device::cpu
