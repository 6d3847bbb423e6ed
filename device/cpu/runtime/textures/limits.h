// How large textures, surfaces and arrays may be: as compute capability 9.0 has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace lynxpp::device::cpu {

/// Of an attribute of textures or surfaces; nothing for any other.
std::optional<int> texture_limit(cudaDeviceAttr attribute);
/// The same where it is known to be one.
std::size_t texture_size(cudaDeviceAttr attribute);

/// Fills in the members about textures and surfaces.
void set_texture_limits(cudaDeviceProp& properties);

}  // namespace lynxpp::device::cpu
