// Launches every kernel of a PTX file once through the driver, with made-up arguments, and prints the result:
// a kernel may fail when it runs, but not because an instruction is unsupported.
//
// usage: launch_ptx FILE [zeros | numbers | indices]
//
// Prints "KERNEL RESULT CHECKSUM", one line each; the checksum covers all memory that arguments point to.
// zeros: all arguments are 0. Otherwise each pointer refers to separate memory with small single-precision
// numbers, or small 64-bit integers, and all other arguments are 64 (1 in single precision).
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t bytes_of_pointer = 4u << 20;
constexpr unsigned dynamic_shared_bytes = 227u << 10;  // the maximum of a block of sm_90
constexpr std::size_t most_parameters = 64;

enum class Fill { zeros, numbers, indices };

std::vector<std::byte> content_of(Fill fill, std::size_t parameter) {
  std::vector<std::byte> content(bytes_of_pointer);
  for (std::size_t i = 0; i < content.size() / 8; ++i) {
    const std::uint64_t small = (i * 7 + parameter * 3) % 13;
    const float numbers[] = {0.25f * static_cast<float>(small), 0.5f - 0.125f * static_cast<float>(small)};
    std::uint64_t word = small;
    if (fill == Fill::numbers) std::memcpy(&word, numbers, sizeof word);
    std::memcpy(content.data() + 8 * i, &word, sizeof word);
  }
  return content;
}

/// The arguments of one launch, for parameters of these types.
class Arguments {
 public:
  Arguments(const std::string& parameters, Fill fill) {
    const std::regex parameter("\\.param\\s+(?:\\.align\\s+\\d+\\s+)?\\.(\\w+)");
    std::sregex_iterator each(parameters.begin(), parameters.end(), parameter);
    for (std::size_t i = 0; i < most_parameters; ++i) {
      std::memset(values_[i], 0, sizeof values_[i]);
      pointers_[i] = values_[i];
      if (each == std::sregex_iterator() || fill == Fill::zeros) continue;
      const std::string type = (*each++)[1];
      const std::uint32_t size = 64;
      const float one = 1;
      if (type == "u64")
        point(i, content_of(fill, i));
      else if (type == "f32")
        std::memcpy(values_[i], &one, sizeof one);
      else if (type != "b8")
        std::memcpy(values_[i], &size, sizeof size);
    }
  }
  ~Arguments() {
    for (const CUdeviceptr each : memory_) cuMemFree(each);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void** pointers() { return pointers_; }

  std::uint64_t checksum() const {
    std::uint64_t sum = 0xcbf29ce484222325;
    std::vector<std::uint64_t> content(bytes_of_pointer / 8);
    for (const CUdeviceptr each : memory_) {
      cuMemcpyDtoH(content.data(), each, bytes_of_pointer);
      for (const std::uint64_t word : content) sum = (sum ^ word) * 0x100000001b3;
    }
    return sum;
  }

 private:
  void point(std::size_t parameter, const std::vector<std::byte>& content) {
    CUdeviceptr made = 0;
    cuMemAlloc(&made, content.size());
    cuMemcpyHtoD(made, content.data(), content.size());
    memory_.push_back(made);
    std::memcpy(values_[parameter], &made, sizeof made);
  }

  alignas(64) std::byte values_[most_parameters][128];
  void* pointers_[most_parameters] = {};
  std::vector<CUdeviceptr> memory_;
};

CUresult launch(CUfunction kernel, Arguments& arguments, unsigned blocks) {
  int threads = 0;
  cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
  cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_shared_bytes);
  const CUresult result = cuLaunchKernel(kernel, blocks, 1, 1, static_cast<unsigned>(threads), 1, 1,
                                         dynamic_shared_bytes, nullptr, arguments.pointers(), nullptr);
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

}  // namespace

int main(int count, char** values) {
  if (count < 2) return 2;
  const std::string wanted = count > 2 ? values[2] : "zeros";
  const Fill fill = wanted == "numbers" ? Fill::numbers : wanted == "indices" ? Fill::indices : Fill::zeros;
  std::stringstream content;
  content << std::ifstream(values[1]).rdbuf();
  const std::string ptx = content.str();
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 3;
  if (cuModuleLoadData(&module, ptx.c_str()) != CUDA_SUCCESS) return 4;
  const std::regex entry("\\.entry\\s+([\\w$]+)\\s*\\(([^)]*)\\)");
  for (std::sregex_iterator each(ptx.begin(), ptx.end(), entry), end; each != end; ++each) {
    const std::string name = (*each)[1];
    CUfunction kernel = nullptr;
    if (cuModuleGetFunction(&kernel, module, name.c_str()) != CUDA_SUCCESS) return 5;
    Arguments arguments((*each)[2], fill);
    const CUresult result = launch(kernel, arguments, fill == Fill::zeros ? 1 : 3);
    const char* text = "?";
    cuGetErrorName(result, &text);
    const std::uint64_t checksum = result == CUDA_SUCCESS ? arguments.checksum() : 0;
    std::printf("%s %s %016llx\n", name.c_str(), text, static_cast<unsigned long long>(checksum));
  }
  return 0;
}
