// Launches one kernel hundreds of times, each time with another amount of work, and then does something that
// needs the results of these launches (the only argument). Prints the sum that the kernels computed.
#include <thread>

#include "program.h"

namespace {

/// Adds 1 to *sum `n` + %tid.x % 4 times per thread, with a bank conflict each time; or writes to an invalid
/// address if `n` is 999.
const char work_ptx[] = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry work(.param .u64 sum, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  .shared .align 4 .b8 tile[128];
  ld.param.u64 %rd1, [sum];
  ld.param.u32 %r1, [n];
  setp.ne.u32 %p, %r1, 999;
  @%p bra START;
  mov.u64 %rd2, 16;
  st.global.u32 [%rd2], %r1;
START:
  mov.u32 %r2, %tid.x;
  and.b32 %r3, %r2, 3;
  add.u32 %r1, %r1, %r3;
  and.b32 %r3, %r2, 15;
  shl.b32 %r3, %r3, 3;
  mov.u32 %r4, tile;
  add.u32 %r3, %r3, %r4;
AGAIN:
  setp.eq.u32 %p, %r1, 0;
  @%p bra DONE;
  red.global.add.u32 [%rd1], 1;
  st.shared.u32 [%r3], %r1;
  sub.u32 %r1, %r1, 1;
  bra AGAIN;
DONE:
  ret;
}
)";

struct Program {
  CUdeviceptr sum = 0;
  CUmodule module = nullptr;
  CUfunction work = nullptr;
  unsigned made = 0;

  void load() {
    CHECK_CALL(cuModuleLoadData(&module, work_ptx));
    CHECK_CALL(cuModuleGetFunction(&work, module, "work"));
  }
  void launch(CUstream stream = nullptr, unsigned blocks = 2) {
    unsigned n = made++ % 7;
    void* parameters[] = {&sum, &n};
    CHECK_CALL(cuLaunchKernel(work, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  }
  void launch_times(int times, CUstream stream = nullptr) {
    for (int i = 0; i < times; ++i) launch(stream);
  }
  void launch_fault() {
    unsigned n = 999;
    void* parameters[] = {&sum, &n};
    CHECK_CALL(cuLaunchKernel(work, 2, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  }
};

/// Returns false if the sum cannot be read afterwards.
bool launch_and(const std::string& what, Program& program, CUcontext context) {
  if (what == "wait") {
    for (int i = 0; i < 1000; ++i) {
      program.launch();
      if (i % 100 == 0) CHECK_CALL(cuCtxSynchronize());
    }
  } else if (what == "alternate") {
    for (unsigned i = 0; i < 1000; ++i) program.launch(nullptr, 1 + i % 2);
  } else if (what == "streams" || what == "destroy_streams") {
    CUstream streams[4];
    for (CUstream& each : streams) CHECK_CALL(cuStreamCreate(&each, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 1000; ++i) program.launch(streams[i % 4]);
    if (what == "destroy_streams") {
      for (CUstream each : streams) CHECK_CALL(cuStreamDestroy(each));
    }
  } else if (what == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        Program own = program;
        own.made = static_cast<unsigned>(i);
        CHECK_CALL(cuCtxSetCurrent(context));
        own.launch_times(300);
      });
    }
    for (std::thread& each : threads) each.join();
  } else if (what == "detach") {
    program.launch_times(300);
    const std::string specifications = std::getenv("LYNXPP_SPEC");
    unsetenv("LYNXPP_SPEC");
    program.launch_times(100);
    setenv("LYNXPP_SPEC", specifications.c_str(), 1);
    program.launch_times(300);
  } else if (what == "unload") {
    for (int i = 0; i < 3; ++i) {
      program.launch_times(200);
      CHECK_CALL(cuModuleUnload(program.module));
      program.load();
    }
  } else if (what == "exit") {
    program.launch_times(1000);
    return false;
  } else if (what == "destroy_context") {
    program.launch_times(500);
    CHECK_CALL(cuCtxDestroy(context));
    return false;
  } else if (what == "fault") {
    program.launch_times(500);
    program.launch_fault();
    std::printf("%s\n", cuCtxSynchronize() == CUDA_SUCCESS ? "no fault" : "a fault");
    return false;
  }
  return true;
}

}  // namespace

int main(int, char** arguments) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuCtxCreate(&context, nullptr, 0, device));
  Program program;
  program.load();
  CHECK_CALL(cuMemAlloc(&program.sum, sizeof(unsigned)));
  CHECK_CALL(cuMemsetD32(program.sum, 0, 1));
  CHECK_CALL(cuCtxSynchronize());
  if (!launch_and(arguments[1], program, context)) return 0;
  unsigned sum = 0;
  CHECK_CALL(cuCtxSynchronize());
  CHECK_CALL(cuMemcpyDtoH(&sum, program.sum, sizeof sum));
  std::printf("%u\n", sum);
  return 0;
}
