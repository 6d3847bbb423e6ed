// Looks up NVRTC like CuPy does and requests only machine code. Arguments: the library, the path of the
// output.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace {

template <typename Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 3;
  void* program = nullptr;
  const auto create =
      look_up<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
          library, "nvrtcCreateProgram");
  const auto compile = look_up<int(void*, int, const char* const*)>(library, "nvrtcCompileProgram");
  const auto size_of = look_up<int(void*, std::size_t*)>(library, "nvrtcGetCUBINSize");
  const auto cubin_of = look_up<int(void*, char*)>(library, "nvrtcGetCUBIN");
  const char* const source =
      "extern \"C\" __global__ void twice(float* values) { values[threadIdx.x] *= 2; }\n";
  const char* const options[] = {"--gpu-architecture=sm_90"};
  std::size_t size = 0;
  if (create(&program, source, "twice.cu", 0, nullptr, nullptr) != 0 || compile(program, 1, options) != 0 ||
      size_of(program, &size) != 0) {
    return 4;
  }
  std::string cubin(size, '\0');
  if (cubin_of(program, cubin.data()) != 0) return 5;
  std::FILE* const file = std::fopen(arguments[2], "wb");
  if (file == nullptr) return 6;
  const bool written = std::fwrite(cubin.data(), 1, cubin.size(), file) == cubin.size();
  return std::fclose(file) == 0 && written ? 0 : 6;
}
