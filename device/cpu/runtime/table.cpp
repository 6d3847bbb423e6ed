// The table of runtime.h: each api function inside the wrapper that does its error bookkeeping.
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu {
namespace {

enum class Sticky { fails, ignored };

/// No exception reaches the program.
template <typename Call>
cudaError_t guarded(Call call) noexcept {
  try {
    return record_error(call());
  } catch (const std::bad_alloc&) {
    return record_error(cudaErrorMemoryAllocation);
  } catch (...) {
    return record_error(cudaErrorUnknown);
  }
}

template <auto function, Sticky sticky>
struct Recorded;

template <typename... Arguments, cudaError_t (*function)(Arguments...), Sticky sticky>
struct Recorded<function, sticky> {
  static cudaError_t call(Arguments... arguments) noexcept {
    return recorded(__builtin_return_address(0), arguments...);
  }

  static cudaError_t call_per_thread(Arguments... arguments) noexcept {
    const PerThreadDefaultStream scope;
    return recorded(__builtin_return_address(0), arguments...);
  }

 private:
  static cudaError_t recorded(const void* caller, Arguments... arguments) noexcept {
    const ProgramCall scope(caller);
    return guarded([&] {
      const cudaError_t standing = sticky == Sticky::fails ? sticky_error() : cudaSuccess;
      return standing != cudaSuccess ? standing : function(arguments...);
    });
  }
};

template <auto function>
struct Contained;

template <typename Value, typename... Arguments, Value (*function)(Arguments...)>
struct Contained<function> {
  static Value call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (...) {
      record_error(cudaErrorMemoryAllocation);
      return Value();
    }
  }
};

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

std::vector<ApiFunction> make_table() {
  std::vector<ApiFunction> table = {
#define LYNXPP_CUDA(name) {#name, address_of(&Recorded<&api::name, Sticky::fails>::call)},
#define LYNXPP_CUDA_ALWAYS(name) {#name, address_of(&Recorded<&api::name, Sticky::ignored>::call)},
#define LYNXPP_CUDA_STREAM(name, suffix)                           \
  {#name, address_of(&Recorded<&api::name, Sticky::fails>::call)}, \
      {#name "_" #suffix, address_of(&Recorded<&api::name, Sticky::fails>::call_per_thread)},
#define LYNXPP_CUDA_RAW(name) {#name, address_of(&Contained<&api::name>::call)},
#include "device/cpu/runtime/api.def"
#undef LYNXPP_CUDA
#undef LYNXPP_CUDA_ALWAYS
#undef LYNXPP_CUDA_STREAM
#undef LYNXPP_CUDA_RAW
  };
  std::sort(table.begin(), table.end(),
            [](const ApiFunction& a, const ApiFunction& b) { return std::strcmp(a.name, b.name) < 0; });
  return table;
}

}  // namespace

std::span<const ApiFunction> runtime_api() {
  static const auto* const table = new std::vector<ApiFunction>(make_table());
  return *table;
}

}  // namespace lynxpp::device::cpu
