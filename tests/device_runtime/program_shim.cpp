// Defines every function of the table under its exported name as a jump through a slot. The slots are filled
// before the constructors that nvcc generates run.
#include "tests/device_runtime/runtime_fixture.h"

#define LYNXPP_JUMP(name)                                                                          \
  extern "C" {                                                                                     \
  void* lynxpp_slot_##name __attribute__((visibility("hidden"))) = nullptr;                        \
  }                                                                                                \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  jmp *lynxpp_slot_" #name \
      "(%rip)\n");

#define LYNXPP_CUDA(name) LYNXPP_JUMP(name)
#define LYNXPP_CUDA_ALWAYS(name) LYNXPP_JUMP(name)
#define LYNXPP_CUDA_STREAM(name, suffix) LYNXPP_JUMP(name) LYNXPP_JUMP(name##_##suffix)
#define LYNXPP_CUDA_RAW(name) LYNXPP_JUMP(name)
#include "device/cpu/runtime/api.def"
#undef LYNXPP_CUDA
#undef LYNXPP_CUDA_ALWAYS
#undef LYNXPP_CUDA_STREAM
#undef LYNXPP_CUDA_RAW

namespace {

__attribute__((constructor(101))) void fill_slots() {
  using lynxpp::device::cpu::test::lookup;
#define LYNXPP_CUDA(name) lynxpp_slot_##name = lookup(#name);
#define LYNXPP_CUDA_ALWAYS(name) lynxpp_slot_##name = lookup(#name);
#define LYNXPP_CUDA_STREAM(name, suffix) \
  lynxpp_slot_##name = lookup(#name);    \
  lynxpp_slot_##name##_##suffix = lookup(#name "_" #suffix);
#define LYNXPP_CUDA_RAW(name) lynxpp_slot_##name = lookup(#name);
#include "device/cpu/runtime/api.def"
#undef LYNXPP_CUDA
#undef LYNXPP_CUDA_ALWAYS
#undef LYNXPP_CUDA_STREAM
#undef LYNXPP_CUDA_RAW
}

}  // namespace
