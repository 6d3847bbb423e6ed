// Eight threads launch on thirty-two streams, alternating between up to two devices; launches of a stream run
// in order. Prints for each device the number of launches and the number that the kernel counted. Argument:
// launches per thread.
#include <thread>

#include "program.h"

namespace {

constexpr int thread_count = 8;
constexpr int streams_of_thread = 4;
constexpr int most_devices = 2;

const char counting_kernel[] = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 counted)
{
  .reg .pred %p;
  .reg .u32 %r;
  .reg .u64 %rd;
  mov.u32 %r, %tid.x;
  setp.ne.u32 %p, %r, 0;
  @%p ret;
  ld.param.u64 %rd, [counted];
  red.global.add.u64 [%rd], 1;
  ret;
}
)";

struct Device {
  CUcontext context = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr counted = 0;

  explicit Device(int ordinal) {
    CUdevice device = 0;
    CUmodule module = nullptr;
    CHECK_CALL(cuDeviceGet(&device, ordinal));
    CHECK_CALL(cuDevicePrimaryCtxRetain(&context, device));
    CHECK_CALL(cuCtxSetCurrent(context));
    CHECK_CALL(cuModuleLoadData(&module, counting_kernel));
    CHECK_CALL(cuModuleGetFunction(&kernel, module, "count"));
    CHECK_CALL(cuMemAlloc(&counted, sizeof(unsigned long long)));
    CHECK_CALL(cuMemsetD8(counted, 0, sizeof(unsigned long long)));
  }

  unsigned long long result() const {
    unsigned long long value = 0;
    CHECK_CALL(cuCtxSetCurrent(context));
    CHECK_CALL(cuMemcpyDtoH(&value, counted, sizeof value));
    return value;
  }
};

void launch_many(Device& device, int launches) {
  CHECK_CALL(cuCtxSetCurrent(device.context));
  CUstream streams[streams_of_thread];
  for (CUstream& each : streams) CHECK_CALL(cuStreamCreate(&each, CU_STREAM_NON_BLOCKING));
  void* parameters[] = {&device.counted};
  for (int i = 0; i < launches; ++i) {
    const CUstream stream = streams[i % streams_of_thread];
    CHECK_CALL(cuLaunchKernel(device.kernel, 2, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
    if (i % 32 == 31) CHECK_CALL(cuStreamSynchronize(stream));
  }
  for (const CUstream each : streams) CHECK_CALL(cuStreamSynchronize(each));
  for (const CUstream each : streams) CHECK_CALL(cuStreamDestroy(each));
}

}  // namespace

int main(int, char** arguments) {
  const int launches = std::atoi(arguments[1]);
  int count = 0;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGetCount(&count));
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count && ordinal < most_devices; ++ordinal) devices.emplace_back(ordinal);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    Device& device = devices[i % devices.size()];
    threads.emplace_back([&device, launches] { launch_many(device, launches); });
  }
  for (std::thread& each : threads) each.join();
  const int of_each = launches * thread_count / static_cast<int>(devices.size());
  for (const Device& device : devices) std::printf("%d %llu\n", of_each, device.result());
  return 0;
}
