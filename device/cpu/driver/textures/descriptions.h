// Conversions between the driver's and the runtime's descriptions of arrays, textures and surfaces.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "device/cpu/driver/api.h"
#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Converts formats of 1, 2 or 4 channels; nullopt for video and compressed formats.
std::optional<TexelFormat> texel_format(CUarray_format format, unsigned channels);
CUarray_format array_format(const TexelFormat& format);

/// Errors: CUDA_ERROR_INVALID_VALUE.
CUresult from_driver(const CUDA_RESOURCE_DESC& description, cudaResourceDesc& same);
CUDA_RESOURCE_DESC to_driver(const cudaResourceDesc& description);

cudaTextureDesc from_driver(const CUDA_TEXTURE_DESC& description);
CUDA_TEXTURE_DESC to_driver(const cudaTextureDesc& description);

cudaResourceViewDesc from_driver(const CUDA_RESOURCE_VIEW_DESC& description);
CUDA_RESOURCE_VIEW_DESC to_driver(const cudaResourceViewDesc& description);

}  // namespace lynxpp::device::cpu
