// Launches from several threads over many streams, on all devices in turn, while specifications come and go.
// Prints the most resident memory in the first half and in the second, in KiB, as it goes up and down with
// what is outstanding, and then for each device how many launches there were and how many of them the kernel
// itself has counted.
//   soak SECONDS SPECIFICATION      for so long
//   soak LAUNCHESx SPECIFICATION    until there were so many
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

__global__ void count(unsigned long long* launches) {
  if (threadIdx.x == 0) atomicAdd(launches, 1ull);
}

namespace {

constexpr int thread_count = 8;
constexpr int stream_count = 32;

long resident_kib() {
  long pages = 0;
  long resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::exit(1);
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "soak: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

struct Device {
  explicit Device(int ordinal) : ordinal(ordinal) {
    check(cudaSetDevice(ordinal));
    check(cudaMalloc(&counted, sizeof *counted));
    check(cudaMemset(counted, 0, sizeof *counted));
    streams.resize(stream_count);
    for (cudaStream_t& stream : streams) check(cudaStreamCreate(&stream));
  }

  /// How many launches the kernel has counted, when all have run.
  unsigned long long finish() const {
    unsigned long long result = 0;
    check(cudaSetDevice(ordinal));
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(&result, counted, sizeof result, cudaMemcpyDeviceToHost));
    return result;
  }

  int ordinal;
  unsigned long long* counted = nullptr;
  std::vector<cudaStream_t> streams;
  std::atomic<unsigned long long> launched = 0;
};

}  // namespace

int main(int count_of_arguments, char** arguments) {
  if (count_of_arguments != 3) return 2;
  char* unit = nullptr;
  const double amount = std::strtod(arguments[1], &unit);
  const bool counts = *unit == 'x';
  int device_count = 0;
  check(cudaGetDeviceCount(&device_count));
  std::deque<Device> devices;
  for (int ordinal = 0; ordinal < device_count; ++ordinal) devices.emplace_back(ordinal);
  std::atomic<bool> is_over = false;
  std::atomic<unsigned long long> launched = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      Device& device = devices[thread % devices.size()];
      check(cudaSetDevice(device.ordinal));
      for (unsigned long long i = 0; !is_over; ++i) {
        const cudaStream_t stream = device.streams[(thread + i * thread_count) % stream_count];
        count<<<1, 32, 0, stream>>>(device.counted);
        check(cudaGetLastError());
        ++device.launched;
        ++launched;
        if (i % 64 == 63) check(cudaStreamSynchronize(stream));
      }
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  long most_resident[2] = {};
  const auto passed = [&] {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return (counts ? static_cast<double>(launched) : time.count()) / amount;
  };
  for (bool is_attached = false; passed() < 1; is_attached = !is_attached) {
    if (is_attached) {
      unsetenv("LYNXPP_SPEC");
    } else {
      setenv("LYNXPP_SPEC", arguments[2], 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    long& most = most_resident[passed() < 0.5 ? 0 : 1];
    most = std::max(most, resident_kib());
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  for (const Device& device : devices) device.finish();
  std::printf("%ld %ld\n", most_resident[0], most_resident[1]);
  for (const Device& device : devices) std::printf("%llu %llu\n", device.launched.load(), device.finish());
  return 0;
}
