// CUDA's descriptions of elements, and the device's.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Of 1, 2 or 4 channels, all of the same 8, 16 or 32 bits. Nothing for any other description.
std::optional<TexelFormat> format_of(const cudaChannelFormatDesc& description);
cudaChannelFormatDesc description_of(const TexelFormat& format);

/// Of a view that reads a resource as if it had another format; nothing for compressed ones.
std::optional<TexelFormat> format_of(cudaResourceViewFormat format);

}  // namespace lynxpp::device::cpu
