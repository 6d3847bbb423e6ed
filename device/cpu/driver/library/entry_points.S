// All functions that CUDA's libcuda.so.1 exports. Each jumps to the engine's function of that name; the first
// call of any function looks up all of them (lynxpp_driver_bind).

#define ENTRY_SLOTS lynxpp_driver_slots
#define ENTRY_BIND lynxpp_driver_bind
#include "device/cpu/entry_points.inc"

#define LYNXPP_DRIVER(exported, asked, since, needs) EXPORTED_FUNCTION exported
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs) \
        EXPORTED_FUNCTION exported; EXPORTED_FUNCTION exported##_##suffix
#define LYNXPP_DRIVER_UNSUPPORTED(exported, asked, per_thread, since) EXPORTED_FUNCTION exported
#include "device/cpu/driver/api.def"
#include "device/cpu/driver/unsupported.def"

        .section .note.GNU-stack, "", @progbits
