// Adds up in a variable of each of two modules with the same text, and unloads and loads them again. Prints
// the variables.
#include "program.h"

namespace {

/// add_step adds `step` and an element of `pairs` to `total` in each thread, by a function; touch_pairs
/// stores the elements of `pairs` again.
const char variables_ptx[] = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 total = 100;
.visible .const .align 4 .u32 step = 3;
.visible .global .align 4 .u32 pairs[4] = {1, 2, 3, 4};
.func (.param .b32 value) get_step(.param .b32 index)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.b32 %r1, [index];
  ld.const.u32 %r2, [step];
  mul.wide.u32 %rd1, %r1, 4;
  mov.u64 %rd2, pairs;
  add.u64 %rd3, %rd2, %rd1;
  ld.global.u32 %r3, [%rd3];
  add.u32 %r2, %r2, %r3;
  st.param.b32 [value], %r2;
  ret;
}
.visible .entry add_step()
{
  .reg .b32 %r<4>;
  mov.u32 %r1, %tid.x;
  and.b32 %r1, %r1, 3;
  { .param .b32 index; .param .b32 value;
    st.param.b32 [index], %r1;
    call (value), get_step, (index);
    ld.param.b32 %r2, [value]; }
  red.global.add.u32 [total], %r2;
  ret;
}
.visible .entry touch_pairs()
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  and.b32 %r1, %r1, 3;
  mul.wide.u32 %rd1, %r1, 4;
  mov.u64 %rd2, pairs;
  add.u64 %rd3, %rd2, %rd1;
  ld.global.u32 %r2, [%rd3];
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

struct Module {
  CUmodule module = nullptr;
  CUfunction add_step = nullptr, touch_pairs = nullptr;

  void load() {
    CHECK_CALL(cuModuleLoadData(&module, variables_ptx));
    CHECK_CALL(cuModuleGetFunction(&add_step, module, "add_step"));
    CHECK_CALL(cuModuleGetFunction(&touch_pairs, module, "touch_pairs"));
  }
  void launch(unsigned blocks) const {
    CHECK_CALL(cuLaunchKernel(add_step, blocks, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
    CHECK_CALL(cuLaunchKernel(touch_pairs, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
  }
  void set_step(unsigned step) const {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CHECK_CALL(cuModuleGetGlobal(&address, &bytes, module, "step"));
    CHECK_CALL(cuMemcpyHtoD(address, &step, sizeof step));
  }
  unsigned total() const {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    unsigned value = 0;
    CHECK_CALL(cuModuleGetGlobal(&address, &bytes, module, "total"));
    CHECK_CALL(cuMemcpyDtoH(&value, address, sizeof value));
    return value;
  }
};

}  // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuCtxCreate(&context, nullptr, 0, device));
  for (unsigned round = 0; round < 4; ++round) {
    Module first, second;
    first.load();
    second.load();
    second.set_step(10 + round);
    first.launch(1);
    second.launch(2);
    first.launch(3);
    std::printf("%u %u\n", first.total(), second.total());
    CHECK_CALL(cuModuleUnload(first.module));
    CHECK_CALL(cuModuleUnload(second.module));
  }
  CHECK_CALL(cuCtxDestroy(context));
  return 0;
}
