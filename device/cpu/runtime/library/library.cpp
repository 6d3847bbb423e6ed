// A stand-in for CUDA's runtime library, for libraries that are opened later and bring their own runtime:
// symbol lookup finds these functions first, and they make liblynxpp.so bind the process to the cpu device.
// Also for programs on machines without CUDA's runtime: liblynxpp.so replaces the functions before the
// program starts. Links only libc.
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace {

/// In the order of the entry points.
constexpr const char* exported_names[] = {
#define LYNXPP_CUDA(name) #name,
#define LYNXPP_CUDA_ALWAYS(name) #name,
#define LYNXPP_CUDA_STREAM(name, suffix) #name, #name "_" #suffix,
#define LYNXPP_CUDA_RAW(name) #name,
#define LYNXPP_UNSUPPORTED(name) #name,
#define LYNXPP_UNSUPPORTED_STREAM(name, suffix) #name, #name "_" #suffix,
#define LYNXPP_UNSUPPORTED_FOREIGN(name) #name,
#define LYNXPP_UNSUPPORTED_ENTRY(name) #name,
#include "device/cpu/runtime/api.def"
#include "device/cpu/runtime/unsupported.def"
#define LYNXPP_RENAMED(name, now) #name,
#define LYNXPP_RENAMED_STREAM(name, now, suffix) #name, #name "_" #suffix,
#define LYNXPP_ADAPTED(name)
#define LYNXPP_ADAPTED_STREAM(name, suffix)
#define LYNXPP_FORMER(name) #name,
#define LYNXPP_FORMER_STREAM(name, suffix) #name, #name "_" #suffix,
#define LYNXPP_REFUSED(name)
#include "device/cpu/runtime/older.def"
#undef LYNXPP_RENAMED
#undef LYNXPP_RENAMED_STREAM
#undef LYNXPP_ADAPTED
#undef LYNXPP_ADAPTED_STREAM
#undef LYNXPP_FORMER
#undef LYNXPP_FORMER_STREAM
#undef LYNXPP_REFUSED
#undef LYNXPP_CUDA
#undef LYNXPP_CUDA_ALWAYS
#undef LYNXPP_CUDA_STREAM
#undef LYNXPP_CUDA_RAW
#undef LYNXPP_UNSUPPORTED
#undef LYNXPP_UNSUPPORTED_STREAM
#undef LYNXPP_UNSUPPORTED_FOREIGN
#undef LYNXPP_UNSUPPORTED_ENTRY
};

/// Ends a process without liblynxpp.so, as the dynamic linker does that of a program without its libraries.
[[noreturn]] void* find_nothing(const char*) {
  constexpr std::string_view text =
      "lynxpp: error: this process has no CUDA runtime library, and its environment lacks LD_PRELOAD\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(127);
}

}  // namespace

extern "C" {

/// Set by liblynxpp.so before any function is bound. Never returns null.
[[gnu::visibility("default")]] void* (*lynxpp_find_runtime_function)(const char* name) = find_nothing;

[[gnu::visibility("hidden")]] std::atomic<void*> lynxpp_runtime_slots[std::size(exported_names)] = {};

[[gnu::visibility("hidden")]] void lynxpp_runtime_bind(std::atomic<void*>* slot) {
  slot->store(lynxpp_find_runtime_function(exported_names[slot - lynxpp_runtime_slots]),
              std::memory_order_release);
}
}
