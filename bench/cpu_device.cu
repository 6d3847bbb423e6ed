// Kernels, and the same algorithms as loops on the host, for bench/cpu_device.
//
// usage: cpu_device kernels          for each kernel a line: name, seconds on the device, those of the loops
//        cpu_device launches         microseconds that a launch of one block takes, and the wait for it
//        cpu_device alone KERNEL     seconds of that kernel on the device
//        cpu_device cub              seconds until CUB's sort, scan, reduction and histogram have run first
#include <cub/cub.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void synchronize() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

constexpr int threads = 256;

__global__ void vecadd(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void stencil(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
  const float* at = in + y * n + x;
  out[y * n + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-n] + at[n]);
}

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    left[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[16][17];
  tile[threadIdx.y][threadIdx.x] = in[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x];
  __syncthreads();
  out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(own + in[i], 1u);
  __syncthreads();
  atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}

__global__ void reduction(const float* in, float* sums, int n) {
  __shared__ float own[threads];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  own[threadIdx.x] = sum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = own[0];
}

__global__ void nbody(const float4* bodies, float4* forces, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = bodies[i];
  float x = 0, y = 0, z = 0;
  for (int j = 0; j < n; ++j) {
    const float4 other = bodies[j];
    const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    const float square = dx * dx + dy * dy + dz * dz + 0.01f;
    const float inverse = 1.0f / sqrtf(square);
    const float scale = other.w * inverse * inverse * inverse;
    x += dx * scale;
    y += dy * scale;
    z += dz * scale;
  }
  forces[i] = make_float4(x, y, z, 0);
}

__host__ __device__ inline int escape(float cx, float cy) {
  float x = 0, y = 0;
  int i = 0;
  for (; i < 256 && x * x + y * y < 4; ++i) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  return i;
}

__global__ void mandelbrot(int* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  out[blockIdx.y * n + x] = escape(-2.0f + 3.0f * x / n, -1.5f + 3.0f * blockIdx.y / n);
}

// The same algorithms as loops on the host.

template <int n>
void vecadd_loop(const float* a, const float* b, float* c) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

template <int n>
void stencil_loops(const float* in, float* out) {
#pragma omp parallel for
  for (int y = 1; y < n - 1; ++y) {
    for (int x = 1; x < n - 1; ++x) {
      const float* at = in + y * n + x;
      out[y * n + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-n] + at[n]);
    }
  }
}

template <int n>
void matmul_loops(const float* a, const float* b, float* c) {
#pragma omp parallel for
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) c[row * n + column] = 0;
    for (int k = 0; k < n; ++k) {
      for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
    }
  }
}

template <int n>
void transpose_loops(const float* in, float* out) {
#pragma omp parallel for
  for (int y = 0; y < n; y += 16) {
    for (int x = 0; x < n; x += 16) {
      for (int i = y; i < y + 16; ++i) {
        for (int j = x; j < x + 16; ++j) out[j * n + i] = in[i * n + j];
      }
    }
  }
}

template <int n>
void histogram_loop(const unsigned char* in, unsigned* bins) {
  unsigned sums[256] = {};
#pragma omp parallel for reduction(+ : sums)
  for (int i = 0; i < n; ++i) ++sums[in[i]];
  std::memcpy(bins, sums, sizeof sums);
}

template <int n>
void reduction_loop(const float* in, float* result) {
  float sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += in[i];
  result[0] = sum;
}

template <int n>
void nbody_loops(const float4* bodies, float4* forces) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float x = 0, y = 0, z = 0;
    for (int j = 0; j < n; ++j) {
      const float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y,
                  dz = bodies[j].z - bodies[i].z;
      const float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float scale = bodies[j].w * inverse * inverse * inverse;
      x += dx * scale;
      y += dy * scale;
      z += dz * scale;
    }
    forces[i] = make_float4(x, y, z, 0);
  }
}

template <int n>
void mandelbrot_loops(int* out) {
#pragma omp parallel for
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) out[y * n + x] = escape(-2.0f + 3.0f * x / n, -1.5f + 3.0f * y / n);
  }
}

struct Data {
  template <typename T>
  static T* of(std::size_t count) {
    T* place = nullptr;
    if (cudaMallocManaged(&place, count * sizeof(T)) != cudaSuccess) std::exit(1);
    auto* const bytes = reinterpret_cast<unsigned char*>(place);
    unsigned state = 1;
    for (std::size_t i = 0; i < count * sizeof(T); ++i) {
      state = state * 1664525u + 1013904223u;
      bytes[i] = static_cast<unsigned char>(state >> 24) & (i % 4 == 3 ? 0x3f : 0xff);  // floats below 2
    }
    return place;
  }
};

struct Case {
  std::string name;
  std::function<void()> launch;
  std::function<void()> loops;
};

std::vector<Case> cases() {
  const int n = 1 << 23;
  const int side = 2048;
  const int small = 384;
  const int bodies = 4096;
  float* const a = Data::of<float>(n);
  float* const b = Data::of<float>(n);
  float* const c = Data::of<float>(n);
  auto* const bytes = Data::of<unsigned char>(n);
  auto* const bins = Data::of<unsigned>(256);
  auto* const places = Data::of<float4>(bodies);
  auto* const forces = Data::of<float4>(bodies);
  auto* const counts = Data::of<int>(512 * 512);
  const dim3 tile(16, 16);
  return {
      {"vecadd", [=] { vecadd<<<n / threads, threads>>>(a, b, c, n); }, [=] { vecadd_loop<n>(a, b, c); }},
      {"stencil", [=] { stencil<<<dim3(side / threads, side), threads>>>(a, c, side); },
       [=] { stencil_loops<side>(a, c); }},
      {"matmul", [=] { matmul<<<dim3(small / 16, small / 16), tile>>>(a, b, c, small); },
       [=] { matmul_loops<small>(a, b, c); }},
      {"transpose", [=] { transpose<<<dim3(side / 16, side / 16), tile>>>(a, c, side); },
       [=] { transpose_loops<side>(a, c); }},
      {"histogram", [=] { histogram<<<64, threads>>>(bytes, bins, n); },
       [=] { histogram_loop<n>(bytes, bins); }},
      {"reduction", [=] { reduction<<<64, threads>>>(a, c, n); }, [=] { reduction_loop<n>(a, c); }},
      {"nbody", [=] { nbody<<<bodies / threads, threads>>>(places, forces, bodies); },
       [=] { nbody_loops<bodies>(places, forces); }},
      {"mandelbrot", [=] { mandelbrot<<<dim3(512 / threads, 512), threads>>>(counts, 512); },
       [=] { mandelbrot_loops<512>(counts); }},
  };
}

/// Returns the minimum of several runs after two warm-up runs, in which hot code is compiled.
double least(const std::function<void()>& work) {
  double best = 1e30;
  for (int i = 0; i < 7; ++i) {
    const double spent = seconds_of(work);
    if (i >= 2) best = std::min(best, spent);
  }
  return best;
}

__global__ void nothing() {}

void measure_launches() {
  constexpr int count = 200000;  // at first the system may run all threads on one core
  for (int i = 0; i < 20000; ++i) nothing<<<1, 32>>>();
  synchronize();
  const double queued = seconds_of([] {
    for (int i = 0; i < count; ++i) nothing<<<1, 32>>>();
    synchronize();
  });
  const double waited = seconds_of([] {
    for (int i = 0; i < count; ++i) {
      nothing<<<1, 32>>>();
      synchronize();
    }
  });
  std::printf("%.3f %.3f\n", queued / count * 1e6, waited / count * 1e6);
}

template <typename Call>
void with_storage(Call call) {
  std::size_t bytes = 0;
  call(nullptr, bytes);
  void* storage = nullptr;
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
  synchronize();
}

void measure_cub() {
  constexpr int n = 10000;
  auto* const in = Data::of<int>(n);
  auto* const out = Data::of<int>(n);
  auto* const bins = Data::of<int>(256);
  const double spent = seconds_of([=] {
    with_storage([=](void* s, std::size_t& b) { cub::DeviceRadixSort::SortKeys(s, b, in, out, n); });
    with_storage([=](void* s, std::size_t& b) { cub::DeviceScan::InclusiveSum(s, b, in, out, n); });
    with_storage([=](void* s, std::size_t& b) { cub::DeviceReduce::Sum(s, b, in, out, n); });
    with_storage([=](void* s, std::size_t& b) {
      cub::DeviceHistogram::HistogramEven(s, b, in, bins, 257, 0, 1 << 30, n);
    });
  });
  std::printf("%.3f\n", spent);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "kernels";
  if (what == "launches") {
    measure_launches();
  } else if (what == "cub") {
    measure_cub();
  } else {
    for (const Case& each : cases()) {
      if (argc > 2 && each.name != argv[2]) continue;
      const double device = least([&] {
        each.launch();
        synchronize();
      });
      std::printf("%s %.6f %.6f\n", each.name.c_str(), device, what == "alone" ? 0 : least(each.loops));
      std::fflush(stdout);
    }
  }
  return 0;
}
