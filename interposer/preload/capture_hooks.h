// Wrappers of the functions that begin and end captures; part of preload/hooks.cpp, whose helpers they use.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/preload/driver.h"

namespace lynxpp::preload {
namespace {

/// At least as many as go on in this process. With none, no launch need ask whether its stream is captured,
/// which costs more than all else that a launch needs which no filter selects.
std::atomic<int>& captures() {
  static constinit std::atomic<int> going_on = 0;
  return going_on;
}

/// A function that begins captures and that nobody knew of when this was written: from now on every launch
/// asks.
void note_unknown(const char* name) {
  constexpr char begin[] = "cuStreamBegin";
  if (strncmp(name, begin, sizeof begin - 1) == 0) captures().fetch_add(1);
}

/// Of all versions, whose arguments are integers and pointers.
template <Slot slot, Door door>
CUresult begin_capture(CUstream stream, std::uintptr_t second, const void* third, const void* fourth,
                       std::size_t fifth, std::uintptr_t sixth) {
  using Begin = CUresult (*)(CUstream, std::uintptr_t, const void*, const void*, std::size_t, std::uintptr_t);
  const auto begin = original<slot, door, Begin>();
  // Before the driver knows of it: then no launch can be captured that does not ask.
  captures().fetch_add(1);
  const CUresult result = begin(stream, second, third, fourth, fifth, sixth);
  if (result != cuda_success) captures().fetch_sub(1);
  return result;
}

/// Of other errors the stream may still be captured: then one too many is counted.
template <Slot slot, Door door>
CUresult end_capture(CUstream stream, void** graph) {
  using End = CUresult (*)(CUstream, void**);
  const CUresult result = original<slot, door, End>()(stream, graph);
  const bool is_over =
      result == cuda_success || result == error_capture_invalidated || result == error_capture_unjoined;
  if (is_over) captures().fetch_sub(1);
  return result;
}

}  // namespace
}  // namespace lynxpp::preload
