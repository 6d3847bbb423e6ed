#include "device/cpu/driver/textures/descriptions.h"

#include <algorithm>

#include "device/cpu/runtime/textures/formats.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::pair<CUarray_format, Component> formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, Component::u8},   {CU_AD_FORMAT_UNSIGNED_INT16, Component::u16},
    {CU_AD_FORMAT_UNSIGNED_INT32, Component::u32}, {CU_AD_FORMAT_SIGNED_INT8, Component::s8},
    {CU_AD_FORMAT_SIGNED_INT16, Component::s16},   {CU_AD_FORMAT_SIGNED_INT32, Component::s32},
    {CU_AD_FORMAT_HALF, Component::f16},           {CU_AD_FORMAT_FLOAT, Component::f32}};

template <typename T>
T* pointer_of(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

/// Sets a flag for a texture property that is a separate field in the runtime.
void set(unsigned& flags, unsigned flag, bool is_set) {
  if (is_set) flags |= flag;
}

}  // namespace

std::optional<TexelFormat> texel_format(CUarray_format format, unsigned channels) {
  const auto* const found = std::ranges::find(formats, format, &std::pair<CUarray_format, Component>::first);
  if (found == std::end(formats) || (channels != 1 && channels != 2 && channels != 4)) return std::nullopt;
  return TexelFormat{found->second, channels};
}

CUarray_format array_format(const TexelFormat& format) {
  return std::ranges::find(formats, format.component, &std::pair<CUarray_format, Component>::second)->first;
}

CUresult from_driver(const CUDA_RESOURCE_DESC& description, cudaResourceDesc& same) {
  same = {};
  same.flags = description.flags;
  switch (description.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      same.resType = cudaResourceTypeArray;
      same.res.array.array = reinterpret_cast<cudaArray_t>(description.res.array.hArray);
      return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      same.resType = cudaResourceTypeMipmappedArray;
      same.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(description.res.mipmap.hMipmappedArray);
      return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = description.res.linear;
      const auto format = texel_format(linear.format, linear.numChannels);
      if (!format) return CUDA_ERROR_INVALID_VALUE;
      same.resType = cudaResourceTypeLinear;
      same.res.linear.devPtr = pointer_of<void>(linear.devPtr);
      same.res.linear.desc = description_of(*format);
      same.res.linear.sizeInBytes = linear.sizeInBytes;
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& rows = description.res.pitch2D;
      const auto format = texel_format(rows.format, rows.numChannels);
      if (!format) return CUDA_ERROR_INVALID_VALUE;
      same.resType = cudaResourceTypePitch2D;
      same.res.pitch2D.devPtr = pointer_of<void>(rows.devPtr);
      same.res.pitch2D.desc = description_of(*format);
      same.res.pitch2D.width = rows.width;
      same.res.pitch2D.height = rows.height;
      same.res.pitch2D.pitchInBytes = rows.pitchInBytes;
      return CUDA_SUCCESS;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_RESOURCE_DESC to_driver(const cudaResourceDesc& description) {
  CUDA_RESOURCE_DESC same{};
  same.flags = description.flags;
  switch (description.resType) {
    case cudaResourceTypeArray:
      same.resType = CU_RESOURCE_TYPE_ARRAY;
      same.res.array.hArray = reinterpret_cast<CUarray>(description.res.array.array);
      break;
    case cudaResourceTypeMipmappedArray:
      same.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      same.res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(description.res.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear: {
      const auto& linear = description.res.linear;
      const TexelFormat format = format_of(linear.desc).value_or(TexelFormat{});
      same.resType = CU_RESOURCE_TYPE_LINEAR;
      same.res.linear = {reinterpret_cast<CUdeviceptr>(linear.devPtr), array_format(format), format.channels,
                         linear.sizeInBytes};
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& rows = description.res.pitch2D;
      const TexelFormat format = format_of(rows.desc).value_or(TexelFormat{});
      same.resType = CU_RESOURCE_TYPE_PITCH2D;
      same.res.pitch2D = {reinterpret_cast<CUdeviceptr>(rows.devPtr),
                          array_format(format),
                          format.channels,
                          rows.width,
                          rows.height,
                          rows.pitchInBytes};
      break;
    }
  }
  return same;
}

cudaTextureDesc from_driver(const CUDA_TEXTURE_DESC& description) {
  cudaTextureDesc same{};
  for (int i = 0; i < 3; ++i)
    same.addressMode[i] = static_cast<cudaTextureAddressMode>(description.addressMode[i]);
  same.filterMode = static_cast<cudaTextureFilterMode>(description.filterMode);
  const unsigned flags = description.flags;
  same.readMode =
      (flags & CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  same.sRGB = (flags & CU_TRSF_SRGB) != 0 ? 1 : 0;
  std::copy_n(description.borderColor, 4, same.borderColor);
  same.normalizedCoords = (flags & CU_TRSF_NORMALIZED_COORDINATES) != 0 ? 1 : 0;
  same.maxAnisotropy = description.maxAnisotropy;
  same.mipmapFilterMode = static_cast<cudaTextureFilterMode>(description.mipmapFilterMode);
  same.mipmapLevelBias = description.mipmapLevelBias;
  same.minMipmapLevelClamp = description.minMipmapLevelClamp;
  same.maxMipmapLevelClamp = description.maxMipmapLevelClamp;
  same.disableTrilinearOptimization = (flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0 ? 1 : 0;
  same.seamlessCubemap = (flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0 ? 1 : 0;
  return same;
}

CUDA_TEXTURE_DESC to_driver(const cudaTextureDesc& description) {
  CUDA_TEXTURE_DESC same{};
  for (int i = 0; i < 3; ++i) same.addressMode[i] = static_cast<CUaddress_mode>(description.addressMode[i]);
  same.filterMode = static_cast<CUfilter_mode>(description.filterMode);
  set(same.flags, CU_TRSF_READ_AS_INTEGER, description.readMode == cudaReadModeElementType);
  set(same.flags, CU_TRSF_NORMALIZED_COORDINATES, description.normalizedCoords != 0);
  set(same.flags, CU_TRSF_SRGB, description.sRGB != 0);
  set(same.flags, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, description.disableTrilinearOptimization != 0);
  set(same.flags, CU_TRSF_SEAMLESS_CUBEMAP, description.seamlessCubemap != 0);
  same.maxAnisotropy = description.maxAnisotropy;
  same.mipmapFilterMode = static_cast<CUfilter_mode>(description.mipmapFilterMode);
  same.mipmapLevelBias = description.mipmapLevelBias;
  same.minMipmapLevelClamp = description.minMipmapLevelClamp;
  same.maxMipmapLevelClamp = description.maxMipmapLevelClamp;
  std::copy_n(description.borderColor, 4, same.borderColor);
  return same;
}

cudaResourceViewDesc from_driver(const CUDA_RESOURCE_VIEW_DESC& description) {
  cudaResourceViewDesc same{};
  same.format = static_cast<cudaResourceViewFormat>(description.format);
  same.width = description.width;
  same.height = description.height;
  same.depth = description.depth;
  same.firstMipmapLevel = description.firstMipmapLevel;
  same.lastMipmapLevel = description.lastMipmapLevel;
  same.firstLayer = description.firstLayer;
  same.lastLayer = description.lastLayer;
  return same;
}

CUDA_RESOURCE_VIEW_DESC to_driver(const cudaResourceViewDesc& description) {
  CUDA_RESOURCE_VIEW_DESC same{};
  same.format = static_cast<CUresourceViewFormat>(description.format);
  same.width = description.width;
  same.height = description.height;
  same.depth = description.depth;
  same.firstMipmapLevel = description.firstMipmapLevel;
  same.lastMipmapLevel = description.lastMipmapLevel;
  same.firstLayer = description.firstLayer;
  same.lastLayer = description.lastLayer;
  return same;
}

}  // namespace lynxpp::device::cpu
