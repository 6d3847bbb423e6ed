// All functions that CUDA's runtime exports. Each jumps to the function that liblynxpp.so has found for its
// name; the first call performs the lookup (lynxpp_runtime_bind).

#define ENTRY_SLOTS lynxpp_runtime_slots
#define ENTRY_BIND lynxpp_runtime_bind
#include "device/cpu/entry_points.inc"

#define LYNXPP_CUDA(name) EXPORTED_FUNCTION name
#define LYNXPP_CUDA_ALWAYS(name) EXPORTED_FUNCTION name
#define LYNXPP_CUDA_STREAM(name, suffix) EXPORTED_FUNCTION name; EXPORTED_FUNCTION name##_##suffix
#define LYNXPP_CUDA_RAW(name) EXPORTED_FUNCTION name
#define LYNXPP_UNSUPPORTED(name) EXPORTED_FUNCTION name
#define LYNXPP_UNSUPPORTED_STREAM(name, suffix) EXPORTED_FUNCTION name; EXPORTED_FUNCTION name##_##suffix
#define LYNXPP_UNSUPPORTED_FOREIGN(name) EXPORTED_FUNCTION name
#define LYNXPP_UNSUPPORTED_ENTRY(name) EXPORTED_FUNCTION name
#include "device/cpu/runtime/api.def"
#include "device/cpu/runtime/unsupported.def"

// Those of CUDA 12 with another name.
#define LYNXPP_RENAMED(name, now) EXPORTED_FUNCTION name
#define LYNXPP_RENAMED_STREAM(name, now, suffix) EXPORTED_FUNCTION name; EXPORTED_FUNCTION name##_##suffix
#define LYNXPP_ADAPTED(name)
#define LYNXPP_ADAPTED_STREAM(name, suffix)
#define LYNXPP_FORMER(name) EXPORTED_FUNCTION name
#define LYNXPP_FORMER_STREAM(name, suffix) EXPORTED_FUNCTION name; EXPORTED_FUNCTION name##_##suffix
#define LYNXPP_REFUSED(name)
#include "device/cpu/runtime/older.def"

        .section .note.GNU-stack, "", @progbits
