// Properties of the cpu device: compute capability 9.0 with that generation's limits, and one multiprocessor
// per host core.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace lynxpp::device::cpu {

inline constexpr const char* device_name = "lynxpp cpu device";

/// Returns nullopt if the number is not an attribute. Devices differ in their bus number only.
std::optional<int> device_attribute(cudaDeviceAttr attribute, int device = 0);

/// The first device has the name above; for others, their number is appended.
cudaDeviceProp device_properties(int device);
/// Returns "0000:01:00.0": the bus is the device's number.
std::string device_bus_id(int device);
/// Returns "GPU-…", as nvidia-smi prints it.
std::string device_uuid(int device);

}  // namespace lynxpp::device::cpu
