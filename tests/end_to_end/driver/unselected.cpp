// Four threads launch a kernel that no filter selects, in ten rounds. Between rounds its module is unloaded
// and another one is loaded, whose kernel may get the same handle; thread 0 also captures launches. Prints
// the number of launches of each kernel.
#include <barrier>
#include <thread>

#include "program.h"

namespace {

constexpr int thread_count = 4;
constexpr int rounds = 10;
constexpr int launches = 8;

struct Loaded {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;

  void load(const std::string& name) {
    const std::string ptx =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry " + name + "() { ret; }\n";
    CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
    CHECK_CALL(cuModuleGetFunction(&kernel, module, name.c_str()));
  }
};

void launch(CUfunction kernel, CUstream stream) {
  CHECK_CALL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
}

/// Captures in one of three ways: correctly; after ending a capture that was never begun; with a stream that
/// is not joined again.
void capture(CUfunction kernel, CUstream stream, CUstream other, int way) {
  CUgraph graph = nullptr;
  if (way == 1 && cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS) std::exit(3);
  CHECK_CALL(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch(kernel, stream);
  if (way != 2) {
    CHECK_CALL(cuStreamEndCapture(stream, &graph));
    CHECK_CALL(cuGraphDestroy(graph));
    return;
  }
  CUevent fork = nullptr;
  CHECK_CALL(cuEventCreate(&fork, CU_EVENT_DEFAULT));
  CHECK_CALL(cuEventRecord(fork, stream));
  CHECK_CALL(cuStreamWaitEvent(other, fork, 0));
  launch(kernel, other);
  if (cuStreamEndCapture(stream, &graph) != CUDA_ERROR_STREAM_CAPTURE_UNJOINED) std::exit(3);
  CHECK_CALL(cuEventDestroy(fork));
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  Loaded now;
  std::barrier all(thread_count);
  const auto work = [&](int thread) {
    CUstream stream = nullptr, other = nullptr;
    CHECK_CALL(cuCtxSetCurrent(context));
    CHECK_CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_CALL(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 2 * rounds; ++round) {
      if (thread == 0) now.load(round % 2 == 0 ? "unselected" : "selected");
      all.arrive_and_wait();
      for (int i = 0; i < launches; ++i) launch(now.kernel, stream);
      if (thread == 0) capture(now.kernel, stream, other, round % 3);
      CHECK_CALL(cuStreamSynchronize(stream));
      all.arrive_and_wait();
      if (thread == 0) CHECK_CALL(cuModuleUnload(now.module));
    }
    for (const CUstream each : {stream, other}) CHECK_CALL(cuStreamDestroy(each));
  };
  std::vector<std::thread> threads;
  for (int thread = 1; thread < thread_count; ++thread) threads.emplace_back(work, thread);
  work(0);
  for (std::thread& each : threads) each.join();
  std::printf("%d\n", rounds * launches * thread_count);
  return 0;
}
