#include <algorithm>
#include <cstring>

#include "device/device.h"

namespace lynxpp::device {

Result<std::vector<std::byte>> parameter_buffer(const Launch& launch, std::span<const ParameterSlot> slots) {
  std::size_t size = 0;
  for (const ParameterSlot& slot : slots) size = std::max<std::size_t>(size, slot.offset + slot.bytes);
  std::vector<std::byte> buffer(size);
  if (slots.empty()) return buffer;
  if (launch.parameters != nullptr) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (launch.parameters[i] == nullptr) return failure("a kernel parameter is a null pointer");
      std::memcpy(buffer.data() + slots[i].offset, launch.parameters[i], slots[i].bytes);
    }
    return buffer;
  }
  // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END of cuda.h.
  const void* bytes = nullptr;
  std::size_t given = 0;
  for (void** entry = launch.extra; entry != nullptr && *entry != nullptr; entry += 2) {
    if (*entry == reinterpret_cast<void*>(1)) {
      bytes = entry[1];
    } else if (*entry == reinterpret_cast<void*>(2)) {
      given = *static_cast<const std::size_t*>(entry[1]);
    } else {
      return failure("the launch's extra options hold an unknown key");
    }
  }
  if (bytes == nullptr || given < size) return failure("the launch gives too few parameters");
  std::memcpy(buffer.data(), bytes, size);
  return buffer;
}

}  // namespace lynxpp::device
