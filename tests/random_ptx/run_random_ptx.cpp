// Launches random PTX kernels through the driver or the runtime and compares their output with the host's.
//
// usage: run_random_ptx driver|runtime|text FIRST COUNT [BLOCKS [TRIPS [STATEMENTS [FOLDER]]]]
//
// FIRST: the first seed. BLOCKS: per launch. TRIPS, STATEMENTS: as in Wish. FOLDER: receives the PTX of
// kernels with wrong results; with `text`, that of all kernels, which are not launched. A kernel whose result
// is right only without the driver's compiler optimizations is not wrong, but reported. Exit status: 0 equal,
// 1 different.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "generator.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int threads,
                            uint3*, uint3*, dim3*, dim3*, int*);
}

namespace {

using lynxpp::random_ptx::Program;
using lynxpp::random_ptx::Word;

[[noreturn]] void fail(const char* what, const char* error) {
  std::fprintf(stderr, "%s: %s\n", what, error);
  std::exit(1);
}

struct Buffers {
  std::vector<Word> out;
  std::vector<Word> sums;
};

/// Launches a program's kernel with these arguments in device memory.
class Api {
 public:
  virtual ~Api() = default;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void copy_to(void* target, const void* source, std::size_t bytes) = 0;
  virtual void copy_from(void* target, const void* source, std::size_t bytes) = 0;
  virtual void launch(const Program& program, unsigned blocks, void** arguments) = 0;
  /// Switches the compiler's optimizations on or off for later kernels; returns true if they are on.
  virtual bool optimizes(bool wanted) = 0;
};

void check(CUresult result, const char* what) {
  const char* text = "?";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &text);
  fail(what, text);
}

class Driver final : public Api {
 public:
  Driver() {
    check(cuInit(0), "cuInit");
    CUdevice device = 0;
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  }
  void* allocate(std::size_t bytes) override {
    CUdeviceptr memory = 0;
    check(cuMemAlloc(&memory, bytes), "cuMemAlloc");
    return reinterpret_cast<void*>(memory);
  }
  void release(void* memory) override {
    check(cuMemFree(reinterpret_cast<CUdeviceptr>(memory)), "cuMemFree");
  }
  void copy_to(void* target, const void* source, std::size_t bytes) override {
    check(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(target), source, bytes), "cuMemcpyHtoD");
  }
  void copy_from(void* target, const void* source, std::size_t bytes) override {
    check(cuMemcpyDtoH(target, reinterpret_cast<CUdeviceptr>(source), bytes), "cuMemcpyDtoH");
  }
  void launch(const Program& program, unsigned blocks, void** arguments) override {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL};
    void* values[] = {reinterpret_cast<void*>(std::uintptr_t{optimizes_ ? 4u : 0u})};
    check(cuModuleLoadDataEx(&module, program.text.c_str(), 1, options, values), "cuModuleLoadDataEx");
    check(cuModuleGetFunction(&kernel, module, program.kernel.c_str()), "cuModuleGetFunction");
    check(cuLaunchKernel(kernel, blocks, 1, 1, program.block[0], program.block[1], 1, 0, nullptr, arguments,
                         nullptr),
          "cuLaunchKernel");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    check(cuModuleUnload(module), "cuModuleUnload");
  }
  bool optimizes(bool wanted) override { return optimizes_ = wanted; }

 private:
  CUcontext context_ = nullptr;
  bool optimizes_ = true;
};

void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) fail(what, cudaGetErrorName(result));
}

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Returns a fatbinary with this PTX, uncompressed, as made by nvcc.
std::string fatbinary_of(std::string ptx) {
  ptx.resize((ptx.size() / 8 + 1) * 8, '\0');
  std::string bytes(16 + 64, '\0');
  put(bytes, 0, std::uint32_t{0xBA55ED50});
  put(bytes, 4, std::uint16_t{1});
  put(bytes, 6, std::uint16_t{16});
  put(bytes, 8, std::uint64_t{64 + ptx.size()});
  put(bytes, 16, std::uint16_t{1});
  put(bytes, 18, std::uint16_t{0x101});
  put(bytes, 20, std::uint32_t{64});
  put(bytes, 24, std::uint64_t{ptx.size()});
  put(bytes, 44, std::uint32_t{90});
  put(bytes, 56, std::uint64_t{0x11});
  return bytes + ptx;
}

class Runtime final : public Api {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void release(void* memory) override { check(cudaFree(memory), "cudaFree"); }
  void copy_to(void* target, const void* source, std::size_t bytes) override {
    check(cudaMemcpy(target, source, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void copy_from(void* target, const void* source, std::size_t bytes) override {
    check(cudaMemcpy(target, source, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void launch(const Program& program, unsigned blocks, void** arguments) override {
    const std::string bytes = fatbinary_of(program.text);
    struct {
      int magic = 0x466243b1;
      int version = 1;
      const void* data = nullptr;
      void* file = nullptr;
    } wrapper;
    wrapper.data = bytes.data();
    std::string name = program.kernel;
    const char stub = 0;
    void** const handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &stub, name.data(), name.data(), -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    __cudaRegisterFatBinaryEnd(handle);
    check(cudaLaunchKernel(&stub, {blocks, 1, 1}, {program.block[0], program.block[1], 1}, arguments, 0,
                           nullptr),
          "cudaLaunchKernel");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    __cudaUnregisterFatBinary(handle);
  }
  bool optimizes(bool) override { return true; }
};

Buffers run(Api& api, const Program& program, unsigned blocks) {
  const std::size_t threads = std::size_t{program.threads()} * blocks;
  Buffers buffers;
  buffers.out.assign(threads * program.words_of_output, ~Word{0});
  buffers.sums.assign(lynxpp::random_ptx::sum_count, 0);
  const std::vector<Word> zeros(threads * lynxpp::random_ptx::private_bytes / sizeof(Word));
  const std::vector<Word>* const contents[] = {&program.in, &buffers.out, &zeros, &buffers.sums};
  void* memory[4] = {};
  void* arguments[4] = {};
  for (int i = 0; i < 4; ++i) {
    memory[i] = api.allocate(contents[i]->size() * sizeof(Word));
    api.copy_to(memory[i], contents[i]->data(), contents[i]->size() * sizeof(Word));
    arguments[i] = &memory[i];
  }
  api.launch(program, blocks, arguments);
  api.copy_from(buffers.out.data(), memory[1], buffers.out.size() * sizeof(Word));
  api.copy_from(buffers.sums.data(), memory[3], buffers.sums.size() * sizeof(Word));
  for (void* const each : memory) api.release(each);
  return buffers;
}

/// Returns false, and prints where, if the kernel's results differ.
bool agrees(const Program& program, const Buffers& found, unsigned blocks, unsigned seed) {
  const std::size_t words = program.expected.size();
  for (std::size_t i = 0; i < found.out.size(); ++i) {
    if (found.out[i] == program.expected[i % words]) continue;
    std::printf("seed %u: thread %zu, word %zu: %llx, expected %llx\n", seed, i / program.words_of_output,
                i % program.words_of_output, static_cast<unsigned long long>(found.out[i]),
                static_cast<unsigned long long>(program.expected[i % words]));
    return false;
  }
  for (std::size_t i = 0; i < found.sums.size(); ++i) {
    const Word expected = i < found.sums.size() / 2 ? program.sums[i] * blocks : program.sums[i];
    if (found.sums[i] == expected) continue;
    std::printf("seed %u: sum %zu: %llx, expected %llx\n", seed, i,
                static_cast<unsigned long long>(found.sums[i]), static_cast<unsigned long long>(expected));
    return false;
  }
  return true;
}

void write(const Program& program, const std::string& folder, unsigned seed) {
  std::ofstream(folder + "/" + std::to_string(seed) + ".ptx") << program.text;
}

}  // namespace

int main(int count, char** values) {
  if (count < 4)
    fail("usage", "run_random_ptx driver|runtime|text FIRST COUNT [BLOCKS [TRIPS [STATEMENTS [FOLDER]]]]");
  const auto number = [&](int index, unsigned otherwise) {
    return index < count ? static_cast<unsigned>(std::strtoul(values[index], nullptr, 10)) : otherwise;
  };
  const unsigned first = number(2, 1);
  const unsigned programs = number(3, 1);
  const unsigned blocks = number(4, 3);
  const unsigned trips = number(5, 6);
  const unsigned statements = number(6, 32);
  const bool is_text = std::strcmp(values[1], "text") == 0;
  if (is_text && count < 8) fail("usage", "with text, all arguments are needed");
  Driver* const driver = std::strcmp(values[1], "driver") == 0 ? new Driver : nullptr;
  Runtime runtime;
  Api& api = driver != nullptr ? static_cast<Api&>(*driver) : runtime;
  unsigned wrong = 0;
  unsigned miscompiled = 0;
  for (unsigned seed = first; seed < first + programs; ++seed) {
    const Program program = lynxpp::random_ptx::random_program({seed, trips, statements});
    if (is_text) {
      write(program, values[7], seed);
      continue;
    }
    if (agrees(program, run(api, program, blocks), blocks, seed)) continue;
    const bool is_by_optimization =
        !api.optimizes(false) && agrees(program, run(api, program, blocks), blocks, seed);
    api.optimizes(true);
    if (is_by_optimization) {
      std::printf("seed %u: equal without the compiler's optimizations\n", seed);
      ++miscompiled;
      continue;
    }
    ++wrong;
    if (count > 7) write(program, values[7], seed);
  }
  if (miscompiled != 0)
    std::printf("%u kernels are miscompiled: they are correct only without optimizations\n", miscompiled);
  std::printf("%u of %u kernels compute what the host computes\n", programs - wrong, programs);
  return wrong == 0 ? 0 : 1;
}
