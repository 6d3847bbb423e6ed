// Maximum sizes of textures, surfaces and arrays, for compute capability 9.0.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace lynxpp::device::cpu {

/// Returns the value of a texture or surface attribute; nullopt for any other attribute.
std::optional<int> texture_limit(cudaDeviceAttr attribute);
/// Same for an attribute that is known to be one of these.
std::size_t texture_size(cudaDeviceAttr attribute);

/// Fills in the members about textures and surfaces.
void set_texture_limits(cudaDeviceProp& properties);

}  // namespace lynxpp::device::cpu
