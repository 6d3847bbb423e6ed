// Looks up nvJitLink and makes it generate only machine code. Arguments: the library, the suffix of the
// functions' names ("" for the plain ones, "_13_0"), a PTX file, the path of the cubin to write, options. If
// LTO_OF_NVRTC names an NVRTC library, the input is intermediate code instead of the file.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

template <typename Function>
Function* look_up(void* library, const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(library, name.c_str()));
}

std::string intermediate_code(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto create =
      look_up<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
          library, "nvrtcCreateProgram");
  const auto compile = look_up<int(void*, int, const char* const*)>(library, "nvrtcCompileProgram");
  const auto size_of = look_up<int(void*, std::size_t*)>(library, "nvrtcGetLTOIRSize");
  const auto code_of = look_up<int(void*, char*)>(library, "nvrtcGetLTOIR");
  const char* const source =
      "extern \"C\" __global__ void twice(float* values) { values[threadIdx.x] *= 2; }\n";
  const char* const options[] = {"--gpu-architecture=compute_90", "-dlto"};
  void* program = nullptr;
  std::size_t size = 0;
  if (create(&program, source, "twice.cu", 0, nullptr, nullptr) != 0 || compile(program, 2, options) != 0 ||
      size_of(program, &size) != 0) {
    return {};
  }
  std::string code(size, '\0');
  return code_of(program, code.data()) == 0 ? code : std::string();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) return 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 3;
  const std::string version = arguments[2];
  const auto name = [&](const char* plain) {
    return (version.empty() ? "" : "__") + std::string("nvJitLink") + plain + version;
  };
  const auto create = look_up<int(void**, std::uint32_t, const char**)>(library, name("Create"));
  const auto add = look_up<int(void*, int, const void*, std::size_t, const char*)>(library, name("AddData"));
  const auto complete = look_up<int(void*)>(library, name("Complete"));
  const auto size_of = look_up<int(void*, std::size_t*)>(library, name("GetLinkedCubinSize"));
  const auto cubin_of = look_up<int(void*, void*)>(library, name("GetLinkedCubin"));
  const auto destroy = look_up<int(void**)>(library, name("Destroy"));
  std::ifstream file(arguments[3]);
  std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const char* const nvrtc = std::getenv("LTO_OF_NVRTC");
  if (nvrtc != nullptr) input = intermediate_code(nvrtc);
  std::vector<const char*> options(arguments + 5, arguments + count);
  void* link = nullptr;
  std::size_t size = 0;
  // NVJITLINK_INPUT_LTOIR, NVJITLINK_INPUT_PTX
  if (create(&link, static_cast<std::uint32_t>(options.size()), options.data()) != 0 ||
      add(link, nvrtc != nullptr ? 3 : 2, input.data(), input.size(), "input") != 0 || complete(link) != 0 ||
      size_of(link, &size) != 0) {
    return 4;
  }
  std::string cubin(size, '\0');
  if (cubin_of(link, cubin.data()) != 0 || destroy(&link) != 0) return 5;
  std::ofstream(arguments[4], std::ios::binary) << cubin;
  return 0;
}
