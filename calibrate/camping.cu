// The micro-benchmarks of `lynxpp band calibrate`: the cost of a transaction of 32, 64 or 128 bytes, read or
// written, if the blocks' transactions are spread over all memory partitions and if all go to one, by the
// number of active warps per multiprocessor. Based on CampProf's Figures 5 and 6; but here the loop adds up
// the values it reads, so each warp has one read in flight, and nothing is written after the loop.
//
//   camping iterations=512 partitions=8 width=256 warps=32 block_warps=16 repeats=5 printed=0 scattered=0
//
// printed=1 keeps the loops of the Figures: the index is computed for each access, and nothing is unrolled. A
// warp's accesses are then further apart, as in most programs; the smallest transactions may not keep the
// memory busy.
//
// scattered=1 makes each lane, or two lanes for the larger types, issue a separate transaction, so that a
// warp waits for 32 or 16 at once, as in programs whose lanes follow pointers or lists. There are fewer
// iterations, but equally many transactions.
//
// Prints `device NAME`, `multiprocessors N`, `warps N` and `transactions N` (per warp and benchmark), then
// lines `sample DIRECTION PLACEMENT BYTES WARPS MILLISECONDS` and `validity DIRECTION PLACEMENT BYTES
// RATIO`.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

/// Operations per transaction in the runs that show whether memory limits the others.
constexpr int operations = 2;

template <bool is_busy>
__device__ float busy(float value) {
  for (int i = 0; i < (is_busy ? operations : 0); ++i) value = value * 0.5f + 1.0f;
  return value;
}

/// The locations that a benchmark accesses.
struct Places {
  int partitions;  ///< how many partitions are accessed
  int all;         ///< number of partitions
  int elements;    ///< elements per partition width
};

/// A half warp accesses 16 consecutive elements that start at a multiple of 16: one transaction. A thread
/// stays at its element, because the position in a partition does not matter; so the loop contains hardly
/// anything but accesses.
template <typename T>
__device__ volatile T* element(volatile T* data, Places places) {
  return data + static_cast<int>(blockIdx.x) % places.partitions * places.elements +
         (threadIdx.x & (places.elements - 1));
}

/// The location of a lane's scattered access: the lanes that make one transaction of the type's size access
/// both ends of its segment, and each group of them has its own row of memory. Spread rows begin in
/// consecutive partitions.
template <typename T>
__device__ volatile T* scattered_element(volatile T* data, Places places) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int together = sizeof(T) == 2 ? 1 : 2;  // the smallest segments have 32 bytes
  const int row = lane / together;
  const int partition = (static_cast<int>(blockIdx.x) + row) % places.partitions;
  return data + (static_cast<std::int64_t>(row) * places.all + partition) * places.elements +
         lane % together * 8;
}

template <bool is_scattered, typename T>
__device__ volatile T* own_element(volatile T* data, Places places) {
  if constexpr (is_scattered) return scattered_element(data, places);
  return element(data, places);
}

template <typename T, bool is_busy, bool is_scattered>
__global__ void read_benchmark(volatile T* data, Places places, int iterations) {
  volatile T* const own = own_element<is_scattered>(data, places);
  T sum = 0;
  float spent = 0;
#pragma unroll 16
  for (int i = 0; i < iterations; ++i) {
    sum += *own;
    spent = busy<is_busy>(spent);
  }
  // Never true, which the compiler cannot know: memory contains zeros.
  if (sum != 0 || spent > 3) data[0] = sum;
}

/// The location of access `i` of a thread in the Figures' loops: along the partition, 16 elements each.
__device__ int printed_index(Places places, int i) {
  const int start = static_cast<int>(blockIdx.x) % places.partitions * places.elements;
  return start + ((static_cast<int>(threadIdx.x) + 16 * i) & (places.elements - 1));
}

template <typename T, bool is_busy>
__global__ void printed_read(volatile T* data, Places places, int iterations) {
  T sum = 0;
  float spent = 0;
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
    sum += data[printed_index(places, i)];
    spent = busy<is_busy>(spent);
  }
  if (sum != 0 || spent > 3) data[0] = sum;
}

template <typename T, bool is_busy>
__global__ void printed_write(volatile T* data, Places places, int iterations) {
  float spent = 0;
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
    data[printed_index(places, i)] = 0;
    spent = busy<is_busy>(spent);
  }
  if (spent > 3) data[0] = 1;
}

template <typename T, bool is_busy, bool is_scattered>
__global__ void write_benchmark(volatile T* data, Places places, int iterations) {
  volatile T* const own = own_element<is_scattered>(data, places);
  float spent = 0;
#pragma unroll 16
  for (int i = 0; i < iterations; ++i) {
    *own = 0;
    spent = busy<is_busy>(spent);
  }
  if (spent > 3) data[0] = 1;
}

struct Settings {
  int iterations = 512;
  int partitions = 8;
  int width = 256;      ///< partition width in bytes, a power of two
  int warps = 0;        ///< maximum per multiprocessor; 0: the device's limit
  int block_warps = 0;  ///< maximum per block; 0: the device's limit
  int repeats = 5;
  int printed = 0;    ///< 1: use the loops of the Figures
  int scattered = 0;  ///< 1: each lane issues its own transactions
};

Settings settings_of(int count, char** values) {
  Settings settings;
  const struct {
    const char* name;
    int Settings::*member;
  } known[] = {{"iterations", &Settings::iterations},
               {"partitions", &Settings::partitions},
               {"width", &Settings::width},
               {"warps", &Settings::warps},
               {"block_warps", &Settings::block_warps},
               {"repeats", &Settings::repeats},
               {"printed", &Settings::printed},
               {"scattered", &Settings::scattered}};
  for (int i = 1; i < count; ++i) {
    bool is_known = false;
    for (const auto& each : known) {
      const std::size_t length = std::strlen(each.name);
      if (std::strncmp(values[i], each.name, length) != 0 || values[i][length] != '=') continue;
      settings.*each.member = std::atoi(values[i] + length + 1);
      is_known = settings.*each.member > 0 || each.member == &Settings::printed ||
                 each.member == &Settings::scattered;
    }
    if (is_known) continue;
    std::fprintf(stderr, "'%s' is not a setting with a positive value\n", values[i]);
    std::exit(2);
  }
  return settings;
}

class Benchmarks {
 public:
  Benchmarks(const Settings& settings, int multiprocessors)
      : settings_(settings), multiprocessors_(multiprocessors) {
    const std::size_t rows = settings.scattered != 0 ? 32 : 1;
    const std::size_t bytes = rows * static_cast<std::size_t>(settings.partitions) * settings.width;
    check(cudaMalloc(&memory_, bytes), "cudaMalloc");
    check(cudaMemset(memory_, 0, bytes), "cudaMemset");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Benchmarks() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaFree(memory_);
  }
  Benchmarks(const Benchmarks&) = delete;
  Benchmarks& operator=(const Benchmarks&) = delete;

  template <typename T>
  void run(const char* direction, bool is_write) {
    for (const bool is_camped : {false, true}) {
      const char* const placement = is_camped ? "camped" : "spread";
      const int bytes = static_cast<int>(16 * sizeof(T));
      float last = 0;
      for (int warps = 1; warps <= settings_.warps; warps += warps < 16 ? 1 : 2) {
        last = time<T>(is_write, is_camped, warps, false);
        std::printf("sample %s %s %d %d %.9g\n", direction, placement, bytes, warps, last);
        most_ = warps;
      }
      const float busy_time = time<T>(is_write, is_camped, most_, true);
      std::printf("validity %s %s %d %.6g\n", direction, placement, bytes, busy_time / last);
    }
  }

 private:
  /// Returns the median of the repeats, in milliseconds.
  template <typename T>
  float time(bool is_write, bool is_camped, int warps, bool is_busy) {
    const int blocks = warps <= std::min(16, settings_.block_warps) ? 1 : 2;
    std::vector<float> times;
    // The first run loads the code and warms up the clocks.
    for (int i = settings_.repeats > 1 ? -1 : 0; i < settings_.repeats; ++i) {
      check(cudaEventRecord(begin_), "cudaEventRecord");
      launch<T>(is_write, blocks, warps / blocks * 32, is_camped ? 1 : settings_.partitions, is_busy);
      check(cudaEventRecord(end_), "cudaEventRecord");
      check(cudaEventSynchronize(end_), "a benchmark");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
      if (i >= 0) times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  template <typename T>
  void launch(bool is_write, int blocks, int threads, int partitions, bool is_busy) {
    using Kernel = void (*)(volatile T*, Places, int);
    const Kernel kernels[] = {
        read_benchmark<T, false, false>, read_benchmark<T, true, false>,  write_benchmark<T, false, false>,
        write_benchmark<T, true, false>, printed_read<T, false>,          printed_read<T, true>,
        printed_write<T, false>,         printed_write<T, true>,          read_benchmark<T, false, true>,
        read_benchmark<T, true, true>,   write_benchmark<T, false, true>, write_benchmark<T, true, true>};
    const int loop = settings_.scattered != 0 ? 8 : settings_.printed != 0 ? 4 : 0;
    // Coalesced accesses make two transactions.
    const int each = settings_.scattered == 0 ? 1 : sizeof(T) == 2 ? 16 : 8;
    kernels[loop + (is_write ? 2 : 0) + (is_busy ? 1 : 0)]<<<multiprocessors_ * blocks, threads>>>(
        static_cast<volatile T*>(memory_),
        Places{partitions, settings_.partitions, settings_.width / static_cast<int>(sizeof(T))},
        settings_.iterations / each);
    check(cudaGetLastError(), "a launch");
  }

  const Settings settings_;
  const int multiprocessors_;
  int most_ = 1;
  void* memory_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int count, char** values) {
  Settings settings = settings_of(count, values);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  if (settings.warps == 0) settings.warps = properties.maxThreadsPerMultiProcessor / 32;
  if (settings.block_warps == 0) settings.block_warps = properties.maxThreadsPerBlock / 32;
  settings.warps = std::min(settings.warps, 2 * settings.block_warps);
  if (settings.scattered != 0) settings.iterations = (settings.iterations + 15) / 16 * 16;
  std::printf("device %s\nmultiprocessors %d\nwarps %d\ntransactions %d\n", properties.name,
              properties.multiProcessorCount, settings.warps, 2 * settings.iterations);
  Benchmarks benchmarks(settings, properties.multiProcessorCount);
  for (const bool is_write : {false, true}) {
    const char* const direction = is_write ? "write" : "read";
    benchmarks.run<std::int16_t>(direction, is_write);
    benchmarks.run<std::int32_t>(direction, is_write);
    benchmarks.run<std::int64_t>(direction, is_write);
  }
  return 0;
}
