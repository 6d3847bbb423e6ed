#include "device/cuda/driver.h"

#include <algorithm>
#include <type_traits>

namespace lynxpp::device::cuda {

namespace {

template <typename... Arguments>
void refuse(DriverFunction<CUresult (*)(Arguments...)>& function) {
  function = [](Arguments...) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; };
}

}  // namespace

void Driver::end() {
  const Driver before = *this;
#define LYNXPP_REFUSE(name) refuse(name);
  LYNXPP_DRIVER_FUNCTIONS(LYNXPP_REFUSE)
  LYNXPP_DRIVER_GRAPH_FUNCTIONS(LYNXPP_REFUSE)
  LYNXPP_DRIVER_GRAPH_PART_FUNCTIONS(LYNXPP_REFUSE)
  LYNXPP_DRIVER_REPLAY_FUNCTIONS(LYNXPP_REFUSE)
#undef LYNXPP_REFUSE
  cuGetErrorString = before.cuGetErrorString;
  cuCtxPopCurrent = before.cuCtxPopCurrent;
  cuThreadExchangeStreamCaptureMode = before.cuThreadExchangeStreamCaptureMode;
}

Result<Driver> Driver::load(void* (*lookup)(const char* name)) {
  Driver driver;
  const char* missing = nullptr;
  const auto find = [&](auto& member, const char* name) {
    member = reinterpret_cast<typename std::remove_reference_t<decltype(member)>::Function>(lookup(name));
    if (member == nullptr && missing == nullptr) missing = name;
  };
  // `#name` is the plain name even if cuda.h maps `name` to a versioned one; the look-up returns the version
  // that these headers declare.
#define LYNXPP_FIND(name) find(driver.name, #name);
  LYNXPP_DRIVER_FUNCTIONS(LYNXPP_FIND)
#undef LYNXPP_FIND
#define LYNXPP_FIND(name) driver.name = reinterpret_cast<decltype(driver.name)::Function>(lookup(#name));
  LYNXPP_DRIVER_GRAPH_FUNCTIONS(LYNXPP_FIND)
  LYNXPP_DRIVER_GRAPH_PART_FUNCTIONS(LYNXPP_FIND)
  LYNXPP_DRIVER_REPLAY_FUNCTIONS(LYNXPP_FIND)
#undef LYNXPP_FIND
  driver.is_cpu_device = lookup("lynxpp_stands_in_for_driver") != nullptr;
  if (missing != nullptr) return failure(std::string("the driver has no ") + missing);
  return driver;
}

#define LYNXPP_IS_THERE(name) name != nullptr&&
bool Driver::has_graphs() const { return LYNXPP_DRIVER_GRAPH_FUNCTIONS(LYNXPP_IS_THERE) true; }
bool Driver::can_take_graphs_apart() const {
  return LYNXPP_DRIVER_GRAPH_PART_FUNCTIONS(LYNXPP_IS_THERE) true;
}
#undef LYNXPP_IS_THERE

Failure Driver::error(const char* function, CUresult result) const {
  const char* text = nullptr;
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "unknown error";
  return failure(std::string(function) + ": " + text);
}

std::string first_line_of(std::string_view log) {
  while (log.ends_with('\n')) log.remove_suffix(1);
  const std::string first(log.substr(0, log.find('\n')));
  const auto more = std::ranges::count(log, '\n');
  return more == 0 ? first
                   : first + " (and " + std::to_string(more) + (more == 1 ? " more line)" : " more lines)");
}

}  // namespace lynxpp::device::cuda
