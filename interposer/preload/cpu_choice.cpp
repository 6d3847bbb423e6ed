#include "interposer/preload/cpu_choice.h"

#include <cstring>

#include "interposer/preload/driver.h"
#include "interposer/preload/loaded_object.h"
#include "interposer/preload/process.h"

namespace lynxpp::preload {
namespace {

std::atomic<bool> explained = false;

}  // namespace

std::atomic<size_t> bound_functions = 0;

bool is_runtime_library(const char* file_name) {
  constexpr size_t prefix_length = 9;
  return strncmp(file_name, "libcudart", prefix_length) == 0 &&
         (file_name[prefix_length] == '.' || file_name[prefix_length] == '-');
}

bool wants_cpu_device() {
  return settings.device == DeviceChoice::cpu ||
         (settings.device == DeviceChoice::automatic && !driver_present());
}

bool runs_on_cpu_device() { return bound_functions.load() != 0 || driver_is_stand_in(); }

bool has_bypassing_runtime() {
  bool found = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    found = is_runtime_library(object.base_name());
    return found;
  });
  return found && bound_functions.load(std::memory_order_relaxed) == 0 && wants_cpu_device();
}

bool is_first_explanation() { return !explained.exchange(true); }

bool has_explained() { return explained.load(); }

}  // namespace lynxpp::preload
