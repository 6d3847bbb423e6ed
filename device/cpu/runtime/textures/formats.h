// Conversions between CUDA's descriptions of elements and the device's.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Converts 1, 2 or 4 channels of the same 8, 16 or 32 bits; nullopt for any other description.
std::optional<TexelFormat> format_of(const cudaChannelFormatDesc& description);
cudaChannelFormatDesc description_of(const TexelFormat& format);

/// Converts a view's format, in which it reads the resource; nullopt for compressed formats.
std::optional<TexelFormat> format_of(cudaResourceViewFormat format);

}  // namespace lynxpp::device::cpu
