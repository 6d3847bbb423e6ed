// Wrappers of the functions that encode tensor maps.
#include <cstdint>
#include <cstring>

#include "interposer/engine_api.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/quietly.h"
#include "interposer/preload/tensor_maps.h"

namespace lynxpp::preload {
namespace {

/// Records a map that the driver has just encoded. Returns `result`.
template <typename MakeBox>
CUresult encoded(CUresult result, const void* map, MakeBox make_box) {
  if (result == cuda_success && map != nullptr && !Passthrough::active())
    quietly([&] { tensor_boxes().add(map, make_box()); });
  return result;
}

template <Slot slot, Binding binding>
CUresult encode_tiled(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                      const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                      int interleave, int swizzle, int promotion, int fill) {
  using Encode = CUresult (*)(void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                              const std::uint32_t*, const std::uint32_t*, int, int, int, int);
  const CUresult result = original<slot, binding, Encode>()(map, type, rank, address, sizes, strides, box,
                                                            steps, interleave, swizzle, promotion, fill);
  return encoded(result, map, [&] { return tiled_box({type, rank, steps, interleave, swizzle}, box); });
}

template <Slot slot, Binding binding>
CUresult encode_im2col(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                       const std::uint64_t* strides, const int* lower, const int* upper,
                       std::uint32_t channels, std::uint32_t pixels, const std::uint32_t* steps,
                       int interleave, int swizzle, int promotion, int fill) {
  using Encode =
      CUresult (*)(void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, const int*,
                   const int*, std::uint32_t, std::uint32_t, const std::uint32_t*, int, int, int, int);
  const CUresult result =
      original<slot, binding, Encode>()(map, type, rank, address, sizes, strides, lower, upper, channels,
                                        pixels, steps, interleave, swizzle, promotion, fill);
  return encoded(result, map, [&] {
    return im2col_box({type, rank, steps, interleave, swizzle}, channels, pixels);
  });
}

/// The map keeps its box.
template <Slot slot, Binding binding>
CUresult replace_tensor_address(void* map, void* address) {
  using Replace = CUresult (*)(void*, void*);
  unsigned char before[tensor_map_size] = {};
  if (map != nullptr) memcpy(before, map, sizeof before);
  const CUresult result = original<slot, binding, Replace>()(map, address);
  if (result != cuda_success) return result;
  const auto box = quietly([&] { return tensor_boxes().find(before); });
  return box ? encoded(result, map, [&] { return *box; }) : result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_tensor_maps LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
