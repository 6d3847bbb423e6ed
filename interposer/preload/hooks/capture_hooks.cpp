#include "interposer/preload/hooks/capture_hooks.h"

#include <cstdint>
#include <cstring>

#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {

constinit std::atomic<int> captures = 0;

void note_unknown(const char* name) {
  constexpr char begin[] = "cuStreamBegin";
  if (strncmp(name, begin, sizeof begin - 1) == 0) captures.fetch_add(1);
}

namespace {

/// Called before the stream is captured or destroyed.
void leave_stream(CUstream stream, bool is_destroyed) {
  const lynxpp_engine* const engine = opened_engine();
  if (engine == nullptr || Passthrough::active()) return;
  const Passthrough passthrough;
  quietly([&] { engine->leave_stream(stream, is_destroyed ? 1 : 0); });
}

template <Slot slot, Binding binding>
CUresult destroy_stream(CUstream stream) {
  using Destroy = CUresult (*)(CUstream);
  leave_stream(stream, true);
  return original<slot, binding, Destroy>()(stream);
}

/// Wraps every version; their arguments are integers and pointers.
template <Slot slot, Binding binding>
CUresult begin_capture(CUstream stream, std::uintptr_t second, const void* third, const void* fourth,
                       std::size_t fifth, std::uintptr_t sixth) {
  using Begin = CUresult (*)(CUstream, std::uintptr_t, const void*, const void*, std::size_t, std::uintptr_t);
  const auto begin = original<slot, binding, Begin>();
  // Counted before the driver begins: no captured launch can skip the query.
  captures.fetch_add(1);
  leave_stream(stream, false);
  const CUresult result = begin(stream, second, third, fourth, fifth, sixth);
  if (result != cuda_success) captures.fetch_sub(1);
  return result;
}

/// After other errors the stream may still be captured; the count then stays one too high.
template <Slot slot, Binding binding>
CUresult end_capture(CUstream stream, void** graph) {
  using End = CUresult (*)(CUstream, void**);
  const CUresult result = original<slot, binding, End>()(stream, graph);
  const bool is_over =
      result == cuda_success || result == error_capture_invalidated || result == error_capture_unjoined;
  if (is_over) captures.fetch_sub(1);
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_captures LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
