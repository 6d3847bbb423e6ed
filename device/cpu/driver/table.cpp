// The table of driver.h: each function in a wrapper that performs the common checks, and cuGetProcAddress,
// which searches the table.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/driver/driver.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/process_use.h"
#include "support/log.h"

namespace lynxpp::device::cpu {
namespace {

enum class Needs { none, init, context };

CUresult check(Needs needs) {
  if (needs == Needs::none) return CUDA_SUCCESS;
  if (is_stranded()) return CUDA_ERROR_NOT_INITIALIZED;
  if (!driver_initialized() && !uses_runtime()) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs == Needs::init) return CUDA_SUCCESS;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return result_of(sticky_error());
}

template <auto function, Needs needs>
struct Checked;

template <typename... Arguments, CUresult (*function)(Arguments...), Needs needs>
struct Checked<function, needs> {
  static CUresult call(Arguments... arguments) noexcept {
    return checked(__builtin_return_address(0), arguments...);
  }

  static CUresult call_per_thread(Arguments... arguments) noexcept {
    const PerThreadDefaultStream scope;
    return checked(__builtin_return_address(0), arguments...);
  }

 private:
  /// Keeps exceptions from reaching the program.
  static CUresult checked(const void* caller, Arguments... arguments) noexcept {
    const ProgramCall program(caller);
    const DriverCall driver;
    try {
      const CUresult standing = check(needs);
      return standing != CUDA_SUCCESS ? standing : function(arguments...);
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
      return CUDA_ERROR_UNKNOWN;
    }
  }
};

template <typename Function>
void* entry(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// Rejects a function that the device does not support. `named` belongs to that function.
CUresult refuse_call(const char* name, std::atomic<bool>& named) noexcept {
  if (!named.exchange(true))
    log().error("the cpu device does not have {}; the call returns CUDA_ERROR_NOT_SUPPORTED", name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

struct Entry {
  const char* exported;  ///< null for an entry that is only an alias
  void* address;
  const char* asked;
  bool per_thread;
  int since;
};

/// In the order of the two .def files; later versions of a function follow earlier ones.
const std::vector<Entry>& entries() {
  static const auto* const all = new std::vector<Entry>{
#define LYNXPP_DRIVER(exported, asked, since, needs) \
  {#exported, entry(&Checked<&driver_api::exported, Needs::needs>::call), #asked, false, since},
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs)                            \
  {#exported, entry(&Checked<&driver_api::exported, Needs::needs>::call), #asked, false, since},             \
      {#exported "_" #suffix, entry(&Checked<&driver_api::exported, Needs::needs>::call_per_thread), #asked, \
       true, suffix_since},
#define LYNXPP_DRIVER_ALIAS(exported, asked, since, needs) \
  {nullptr, entry(&Checked<&driver_api::exported, Needs::needs>::call), #asked, false, since},
#include "device/cpu/driver/api.def"
#undef LYNXPP_DRIVER
#undef LYNXPP_DRIVER_STREAM
// A rejected function ignores its arguments, and the caller removes them, so one parameter list fits all.
#define LYNXPP_DRIVER_UNSUPPORTED(exported, asked, per_thread, since) \
  {#exported, entry(+[]() noexcept -> CUresult {                      \
     static std::atomic<bool> named{false};                           \
     return refuse_call(#exported, named);                            \
   }),                                                                \
   #asked, per_thread != 0, since},
#include "device/cpu/driver/unsupported.def"
#undef LYNXPP_DRIVER_UNSUPPORTED
  };
  return *all;
}

/// Returns the newest variant known to a program of that version: per-thread if requested and available,
/// otherwise the ordinary one.
const Entry* find_variant(const char* name, int version, bool per_thread, bool& is_too_new) {
  const Entry* best = nullptr;
  for (const Entry& each : entries()) {
    if (std::strcmp(each.asked, name) != 0) continue;
    if (each.since > version) {
      is_too_new = true;
      continue;
    }
    if (each.per_thread && !per_thread) continue;
    const bool is_better = best == nullptr || (each.per_thread && !best->per_thread) ||
                           (each.per_thread == best->per_thread && each.since >= best->since);
    if (is_better) best = &each;
  }
  return best;
}

CUresult find_address(const char* name, void** function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t known =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || function == nullptr || (flags & ~known) != 0 || flags == known)
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  bool is_too_new = false;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Entry* const found = find_variant(name, version, per_thread, is_too_new);
  if (status != nullptr) {
    *status = found != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : is_too_new     ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = found->address;
  return CUDA_SUCCESS;
}

}  // namespace

std::span<const ApiFunction> driver_functions() {
  static const auto* const table = [] {
    auto* const made = new std::vector<ApiFunction>;
    for (const Entry& each : entries()) {
      if (each.exported != nullptr) made->push_back({each.exported, each.address});
    }
    std::sort(made->begin(), made->end(),
              [](const ApiFunction& a, const ApiFunction& b) { return std::strcmp(a.name, b.name) < 0; });
    return made;
  }();
  return *table;
}

namespace driver_api {

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return find_address(name, function, version, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return find_address(name, function, version, flags, status);
}

/// Export tables are private to NVIDIA's own libraries.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace driver_api
}  // namespace lynxpp::device::cpu
