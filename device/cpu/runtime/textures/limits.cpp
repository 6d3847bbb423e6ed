#include "device/cpu/runtime/textures/limits.h"

namespace lynxpp::device::cpu {

std::optional<int> texture_limit(cudaDeviceAttr attribute) {
  // NOLINTBEGIN(bugprone-branch-clone): a table, in which numbers may coincide
  switch (attribute) {
    case cudaDevAttrMaxTexture1DWidth: return 131072;
    case cudaDevAttrMaxTexture2DWidth: return 131072;
    case cudaDevAttrMaxTexture2DHeight: return 65536;
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth: return 16384;
    case cudaDevAttrMaxTexture3DWidthAlt:
    case cudaDevAttrMaxTexture3DHeightAlt: return 8192;
    case cudaDevAttrMaxTexture3DDepthAlt: return 32768;
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight: return 32768;
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxTexture2DLayeredLayers: return 2048;
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight: return 32768;
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth: return 32768;
    case cudaDevAttrMaxTextureCubemapLayeredLayers: return 2046;
    case cudaDevAttrMaxTexture1DLinearWidth: return 268435456;
    case cudaDevAttrMaxTexture2DLinearWidth: return 131072;
    case cudaDevAttrMaxTexture2DLinearHeight: return 65000;
    case cudaDevAttrMaxTexture2DLinearPitch: return 2097120;
    case cudaDevAttrMaxTexture1DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedHeight: return 32768;
    case cudaDevAttrMaxSurface1DWidth: return 32768;
    case cudaDevAttrMaxSurface2DWidth: return 131072;
    case cudaDevAttrMaxSurface2DHeight: return 65536;
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth: return 16384;
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight: return 32768;
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredLayers: return 2048;
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth: return 32768;
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers: return 2046;
    default: return std::nullopt;
  }
  // NOLINTEND(bugprone-branch-clone)
}

std::size_t texture_size(cudaDeviceAttr attribute) {
  return static_cast<std::size_t>(texture_limit(attribute).value_or(0));
}

void set_texture_limits(cudaDeviceProp& properties) {
  const auto set = [](int* to, auto... attributes) {
    ((*to++ = texture_limit(attributes).value_or(0)), ...);
  };
  set(&properties.maxTexture1D, cudaDevAttrMaxTexture1DWidth);
  set(&properties.maxTexture1DMipmap, cudaDevAttrMaxTexture1DMipmappedWidth);
  set(properties.maxTexture2D, cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight);
  set(properties.maxTexture2DMipmap, cudaDevAttrMaxTexture2DMipmappedWidth,
      cudaDevAttrMaxTexture2DMipmappedHeight);
  set(properties.maxTexture2DLinear, cudaDevAttrMaxTexture2DLinearWidth, cudaDevAttrMaxTexture2DLinearHeight,
      cudaDevAttrMaxTexture2DLinearPitch);
  set(properties.maxTexture2DGather, cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight);
  set(properties.maxTexture3D, cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight,
      cudaDevAttrMaxTexture3DDepth);
  set(properties.maxTexture3DAlt, cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt,
      cudaDevAttrMaxTexture3DDepthAlt);
  set(&properties.maxTextureCubemap, cudaDevAttrMaxTextureCubemapWidth);
  set(properties.maxTexture1DLayered, cudaDevAttrMaxTexture1DLayeredWidth,
      cudaDevAttrMaxTexture1DLayeredLayers);
  set(properties.maxTexture2DLayered, cudaDevAttrMaxTexture2DLayeredWidth,
      cudaDevAttrMaxTexture2DLayeredHeight, cudaDevAttrMaxTexture2DLayeredLayers);
  set(properties.maxTextureCubemapLayered, cudaDevAttrMaxTextureCubemapLayeredWidth,
      cudaDevAttrMaxTextureCubemapLayeredLayers);
  set(&properties.maxSurface1D, cudaDevAttrMaxSurface1DWidth);
  set(properties.maxSurface2D, cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight);
  set(properties.maxSurface3D, cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight,
      cudaDevAttrMaxSurface3DDepth);
  set(properties.maxSurface1DLayered, cudaDevAttrMaxSurface1DLayeredWidth,
      cudaDevAttrMaxSurface1DLayeredLayers);
  set(properties.maxSurface2DLayered, cudaDevAttrMaxSurface2DLayeredWidth,
      cudaDevAttrMaxSurface2DLayeredHeight, cudaDevAttrMaxSurface2DLayeredLayers);
  set(&properties.maxSurfaceCubemap, cudaDevAttrMaxSurfaceCubemapWidth);
  set(properties.maxSurfaceCubemapLayered, cudaDevAttrMaxSurfaceCubemapLayeredWidth,
      cudaDevAttrMaxSurfaceCubemapLayeredLayers);
}

}  // namespace lynxpp::device::cpu
