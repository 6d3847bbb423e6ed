// Launches from several threads on many streams, on all devices in turn, while specifications are attached
// and detached. At each quarter everything pauses: nothing is attached, every launch has finished, and the
// allocator has released free memory. Prints one line each for the maximum resident memory in each quarter,
// the resident memory at its end, when everything is paused, and the used heap memory then, in KiB; then for
// each device the number of launches and the number that the kernel itself has counted.
//   soak SECONDS SPECIFICATION      for so long
//   soak LAUNCHESx SPECIFICATION    until there were so many
#include <malloc.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

__global__ void count(unsigned long long* launches) {
  if (threadIdx.x == 0) atomicAdd(launches, 1ull);
}

#ifdef __SANITIZE_THREAD__
/// Replaces the C library's function, which the sanitizer does not know: data protected by such a lock would
/// seem unprotected.
extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) noexcept {
  constexpr long long second = 1'000'000'000;
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * second + time.tv_nsec; };
  timespec here{};
  timespec there{};
  clock_gettime(clock, &here);
  clock_gettime(CLOCK_REALTIME, &there);
  const long long end = nanoseconds(there) + nanoseconds(*until) - nanoseconds(here);
  const timespec at = {static_cast<time_t>(end / second), static_cast<long>(end % second)};
  return pthread_mutex_timedlock(mutex, &at);
}
#endif

namespace {

constexpr int thread_count = 8;
constexpr int stream_count = 32;
constexpr int quarters = 4;

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

  /// Returns the number of launches that the kernel has counted, after all have run.
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

/// Threads continue until they must pause, then wait until they may continue or must end.
class Rests {
 public:
  /// Returns false if the thread must end.
  bool goes_on() {
    if (!is_wanted_.load(std::memory_order_relaxed)) return true;
    std::unique_lock lock(mutex_);
    ++resting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_wanted_ || is_over_; });
    --resting_;
    changed_.notify_all();
    return !is_over_;
  }
  void begin() {
    std::unique_lock lock(mutex_);
    is_wanted_ = true;
    changed_.wait(lock, [this] { return resting_ == thread_count; });
  }
  void end(bool is_over) {
    std::unique_lock lock(mutex_);
    is_over_ = is_over;
    if (!is_over) is_wanted_ = false;
    changed_.notify_all();
    if (!is_over) changed_.wait(lock, [this] { return resting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_wanted_ = false;
  bool is_over_ = false;
  int resting_ = 0;
};

/// Memory of one quarter, in KiB.
struct Memory {
  long most_resident = 0;
  long resident_at_rest = 0;
  long in_use_at_rest = 0;
};

void launch_many(Device& device, int thread, std::atomic<unsigned long long>& launched, Rests& rests) {
  check(cudaSetDevice(device.ordinal));
  for (unsigned long long i = 0; rests.goes_on(); ++i) {
    const cudaStream_t stream = device.streams[(thread + i * thread_count) % stream_count];
    count<<<1, 32, 0, stream>>>(device.counted);
    check(cudaGetLastError());
    ++device.launched;
    ++launched;
    if (i % 64 == 63) check(cudaStreamSynchronize(stream));
  }
}

std::uintmax_t size_of(const char* file) {
  std::error_code error;
  return file != nullptr ? std::filesystem::file_size(file, error) : 0;
}

/// All launches have finished, and their results have been collected: no more records are written.
Memory memory_at_rest(const std::deque<Device>& devices, long most_resident) {
  unsetenv("LYNXPP_SPEC");
  for (const Device& device : devices) device.finish();
  const char* const output = std::getenv("LYNXPP_OUTPUT");
  std::uintmax_t written = 0;
  do {
    written = size_of(output);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  } while (size_of(output) != written);
  malloc_trim(0);
  const struct mallinfo2 heap = mallinfo2();
  return {most_resident, resident_kib(), static_cast<long>((heap.uordblks + heap.hblkhd) / 1024)};
}

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
  std::atomic<unsigned long long> launched = 0;
  Rests rests;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back(
        [&, thread] { launch_many(devices[thread % devices.size()], thread, launched, rests); });
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return (counts ? static_cast<double>(launched) : time.count()) / amount;
  };
  std::array<Memory, quarters> memory;
  for (int quarter = 0; quarter < quarters; ++quarter) {
    long most = 0;
    for (bool is_attached = false; passed() < (quarter + 1.0) / quarters; is_attached = !is_attached) {
      if (is_attached) {
        unsetenv("LYNXPP_SPEC");
      } else {
        setenv("LYNXPP_SPEC", arguments[2], 1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      most = std::max(most, resident_kib());
    }
    rests.begin();
    memory[quarter] = memory_at_rest(devices, most);
    rests.end(quarter + 1 == quarters);
  }
  for (std::thread& thread : threads) thread.join();
  for (const Memory& each : memory) std::printf("%ld ", each.most_resident);
  std::printf("\n");
  for (const Memory& each : memory) std::printf("%ld ", each.resident_at_rest);
  std::printf("\n");
  for (const Memory& each : memory) std::printf("%ld ", each.in_use_at_rest);
  std::printf("\n");
  for (const Device& device : devices) std::printf("%llu %llu\n", device.launched.load(), device.finish());
  return 0;
}
