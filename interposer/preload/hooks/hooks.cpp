#include "interposer/preload/hooks/hooks.h"

#include <cstdint>

#include "interposer/preload/engine_client.h"
#include "interposer/preload/hooks/capture_hooks.h"

// The wrappers of each family are defined in its source (define_hooks.h).
extern "C" {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) \
  [[gnu::visibility("hidden")]] extern void* const lynxpp_looked_up_##exported;
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
}

namespace lynxpp::preload {

void* looked_up_wrapper(Slot slot) {
  static constexpr void* const* wrappers[] = {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) \
  &lynxpp_looked_up_##exported,
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
  };
  return *wrappers[static_cast<unsigned>(slot)];
}

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t);
using GetProcAddressV2 = CUresult (*)(const char*, void**, int, std::uint64_t, int*);

/// Replaces the function that cuGetProcAddress found by our wrapper.
void substitute(const char* name, void** function, int version, std::uint64_t flags) {
  if (name == nullptr || function == nullptr || *function == nullptr || Passthrough::active()) return;
  const Slot slot = slot_of_request(name, version, (flags & per_thread_default_stream) != 0);
  if (slot == Slot::count) return note_unknown(name);
  remember_looked_up(slot, *function);
  *function = looked_up_wrapper(slot);
}

template <Slot slot, Binding binding>
CUresult get_proc_address(const char* name, void** function, int version, std::uint64_t flags) {
  const CUresult result = original<slot, binding, GetProcAddress>()(name, function, version, flags);
  if (result == cuda_success) substitute(name, function, version, flags);
  return result;
}

template <Slot slot, Binding binding>
CUresult get_proc_address_v2(const char* name, void** function, int version, std::uint64_t flags,
                             int* status) {
  const CUresult result = original<slot, binding, GetProcAddressV2>()(name, function, version, flags, status);
  if (result == cuda_success) substitute(name, function, version, flags);
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_lookups LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
