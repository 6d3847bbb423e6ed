// Wrappers of the driver's linker.
#include <cstddef>

#include "interposer/preload/compilers/linking.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {
namespace {

using LinkCreate = CUresult (*)(unsigned, int*, void**, void**);
using LinkAddData = CUresult (*)(void*, int, void*, std::size_t, const char*, unsigned, int*, void**);
using LinkAddFile = CUresult (*)(void*, int, const char*, unsigned, int*, void**);
using LinkComplete = CUresult (*)(void*, void**, std::size_t*);
using LinkDestroy = CUresult (*)(void*);

template <Slot slot, Binding binding>
CUresult link_create(unsigned count, int* options, void** values, void** state) {
  const CUresult result = original<slot, binding, LinkCreate>()(count, options, values, state);
  if (result == cuda_success && state != nullptr && !Passthrough::active())
    quietly([&] { link_created(*state, {count, options, values}); });
  return result;
}

template <Slot slot, Binding binding>
CUresult link_add_data(void* state, int type, void* data, std::size_t size, const char* name, unsigned count,
                       int* options, void** values) {
  const auto add = original<slot, binding, LinkAddData>();
  const CUresult result = add(state, type, data, size, name, count, options, values);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { link_data_added(state, type, data, size, {count, options, values}); });
  return result;
}

template <Slot slot, Binding binding>
CUresult link_add_file(void* state, int type, const char* path, unsigned count, int* options, void** values) {
  const CUresult result = original<slot, binding, LinkAddFile>()(state, type, path, count, options, values);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { link_file_added(state, type, path, {count, options, values}); });
  return result;
}

template <Slot slot, Binding binding>
CUresult link_complete(void* state, void** cubin, std::size_t* bytes) {
  std::size_t made = 0;  // the program may pass null
  const CUresult result = original<slot, binding, LinkComplete>()(state, cubin, &made);
  if (bytes != nullptr) *bytes = made;
  if (result == cuda_success && cubin != nullptr && !Passthrough::active())
    quietly([&] { link_completed(state, *cubin, made); });
  return result;
}

template <Slot slot, Binding binding>
CUresult link_destroy(void* state) {
  if (!Passthrough::active()) quietly([&] { link_destroyed(state); });
  return original<slot, binding, LinkDestroy>()(state);
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_links LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
