// The table of runtime.h: each api function in a wrapper that does its error bookkeeping.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <string_view>
#include <vector>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/older_api.h"
#include "device/cpu/runtime/process_use.h"
#include "device/cpu/runtime/runtime.h"
#include "support/check.h"

namespace lynxpp::device::cpu {
namespace {

enum class Sticky { fails, ignored };

/// False for functions that work without the device, even in a process that cannot use it.
template <auto function>
constexpr bool needs_device = true;
template <>
constexpr bool needs_device<&api::cudaDriverGetVersion> = false;
template <>
constexpr bool needs_device<&api::cudaRuntimeGetVersion> = false;

/// Keeps exceptions from reaching the program.
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
    if constexpr (needs_device<function>) {
      if (is_stranded()) return record_error(cudaErrorInitializationError);
      note_use_of_device();
    }
    const ProgramCall scope(caller);
    note_use_of_runtime();
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

/// Rejects a function that the device does not support. `named` belongs to that function.
cudaError_t refuse(const char* name, std::atomic<bool>& named) noexcept {
  return guarded([&] {
    log_unsupported(name, named);
    const cudaError_t standing = sticky_error();
    return standing != cudaSuccess ? standing : cudaErrorNotSupported;
  });
}

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

// A rejected function ignores its arguments, and the caller removes them, so one parameter list fits all;
// only the result type must match.
#define LYNXPP_REFUSAL(name)                 \
  address_of(+[]() noexcept -> cudaError_t { \
    static std::atomic<bool> named{false};   \
    return refuse(name, named);              \
  })

template <typename Function>
constexpr bool returns_error = false;
template <typename... Arguments>
constexpr bool returns_error<cudaError_t(Arguments...)> = true;

#define LYNXPP_UNSUPPORTED(name) static_assert(returns_error<decltype(::name)>);
#define LYNXPP_UNSUPPORTED_STREAM(name, suffix) static_assert(returns_error<decltype(::name)>);
#define LYNXPP_UNSUPPORTED_FOREIGN(name)
#define LYNXPP_UNSUPPORTED_ENTRY(name)
#include "device/cpu/runtime/unsupported.def"
#undef LYNXPP_UNSUPPORTED
#undef LYNXPP_UNSUPPORTED_STREAM
#undef LYNXPP_UNSUPPORTED_FOREIGN
#undef LYNXPP_UNSUPPORTED_ENTRY

void sort_by_name(std::vector<ApiFunction>& table) {
  std::sort(table.begin(), table.end(),
            [](const ApiFunction& a, const ApiFunction& b) { return std::strcmp(a.name, b.name) < 0; });
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
#define LYNXPP_UNSUPPORTED(name) {#name, LYNXPP_REFUSAL(#name)},
#define LYNXPP_UNSUPPORTED_STREAM(name, suffix) \
  {#name, LYNXPP_REFUSAL(#name)}, {#name "_" #suffix, LYNXPP_REFUSAL(#name)},
#define LYNXPP_UNSUPPORTED_FOREIGN(name) {#name, LYNXPP_REFUSAL(#name)},
// The result type is unknown; null is safe if it is a pointer.
#define LYNXPP_UNSUPPORTED_ENTRY(name)         \
  {#name, address_of(+[]() noexcept -> void* { \
     static std::atomic<bool> named{false};    \
     refuse(#name, named);                     \
     return nullptr;                           \
   })},
#include "device/cpu/runtime/unsupported.def"
#undef LYNXPP_UNSUPPORTED
#undef LYNXPP_UNSUPPORTED_STREAM
#undef LYNXPP_UNSUPPORTED_FOREIGN
#undef LYNXPP_UNSUPPORTED_ENTRY
  };
  sort_by_name(table);
  return table;
}

/// Functions whose types CUDA 12 changed.
constexpr const char* changed_by_cuda12[] = {"cudaFuncGetAttributes", "cudaGetDriverEntryPoint",
                                             "cudaGetDriverEntryPoint_ptsz", "cudaGraphExecUpdate",
                                             "cudaGraphInstantiate"};

std::vector<ApiFunction> make_older_table(int version) {
  const std::span<const ApiFunction> current = runtime_api();
  std::map<std::string_view, ApiFunction> functions;
  for (const ApiFunction& function : current) functions[function.name] = function;
  const auto set = [&](const char* name, void* address) { functions[name] = {name, address}; };
  const auto address_now = [&](std::string_view name) {
    const auto found = std::ranges::find(current, name, &ApiFunction::name);
    LYNXPP_CHECK(found != current.end(), "older.def names an unknown function");
    return found->address;
  };
#define LYNXPP_RENAMED(name, now) set(#name, address_now(#now));
#define LYNXPP_RENAMED_STREAM(name, now, suffix) \
  set(#name, address_now(#now));                 \
  set(#name "_" #suffix, address_now(#now "_" #suffix));
#define LYNXPP_ADAPTED(name) set(#name, address_of(&Recorded<&api::cuda12::name, Sticky::fails>::call));
#define LYNXPP_ADAPTED_STREAM(name, suffix) \
  LYNXPP_ADAPTED(name)                      \
  set(#name "_" #suffix, address_of(&Recorded<&api::cuda12::name, Sticky::fails>::call_per_thread));
#define LYNXPP_FORMER(name) LYNXPP_ADAPTED(name)
#define LYNXPP_FORMER_STREAM(name, suffix) LYNXPP_ADAPTED_STREAM(name, suffix)
#define LYNXPP_REFUSED(name) set(#name, LYNXPP_REFUSAL(#name " of an older runtime"));
#include "device/cpu/runtime/older.def"
#undef LYNXPP_RENAMED
#undef LYNXPP_RENAMED_STREAM
#undef LYNXPP_ADAPTED
#undef LYNXPP_ADAPTED_STREAM
#undef LYNXPP_FORMER
#undef LYNXPP_FORMER_STREAM
#undef LYNXPP_REFUSED
  if (version < 12) {
    for (const char* const name : changed_by_cuda12) set(name, unknown_function());
  }
  std::vector<ApiFunction> table;
  for (const auto& [name, function] : functions) table.push_back(function);
  sort_by_name(table);
  return table;
}

}  // namespace

std::span<const ApiFunction> runtime_api() {
  static const auto* const table = new std::vector<ApiFunction>(make_table());
  return *table;
}

std::span<const ApiFunction> older_runtime_api(int version) {
  static const auto* const of_12 = new std::vector<ApiFunction>(make_older_table(12));
  static const auto* const of_11 = new std::vector<ApiFunction>(make_older_table(11));
  return version < 12 ? *of_11 : *of_12;
}

void* unknown_function() { return LYNXPP_REFUSAL("this function of another version of the runtime"); }

}  // namespace lynxpp::device::cpu
