// Linked with NVRTC and nvJitLink: has both make machine code alone. Arguments: a PTX file, where to write
// nvJitLink's cubin, where NVRTC's. As a library: opener.cpp's.
#include <nvJitLink.h>
#include <nvrtc.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

void write(const char* path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

bool link(const std::string& ptx, const char* path) {
  nvJitLinkHandle handle = nullptr;
  const char* options[] = {"-arch=sm_90"};
  std::size_t size = 0;
  if (nvJitLinkCreate(&handle, 1, options) != NVJITLINK_SUCCESS ||
      nvJitLinkAddData(handle, NVJITLINK_INPUT_PTX, ptx.data(), ptx.size(), "input") != NVJITLINK_SUCCESS ||
      nvJitLinkComplete(handle) != NVJITLINK_SUCCESS ||
      nvJitLinkGetLinkedCubinSize(handle, &size) != NVJITLINK_SUCCESS)
    return false;
  std::string cubin(size, '\0');
  if (nvJitLinkGetLinkedCubin(handle, cubin.data()) != NVJITLINK_SUCCESS) return false;
  write(path, cubin);
  return nvJitLinkDestroy(&handle) == NVJITLINK_SUCCESS;
}

bool compile(const char* path) {
  nvrtcProgram program = nullptr;
  const char* const source =
      "extern \"C\" __global__ void twice(float* values) { values[threadIdx.x] *= 2; }\n";
  const char* const options[] = {"--gpu-architecture=sm_90"};
  std::size_t size = 0;
  if (nvrtcCreateProgram(&program, source, "twice.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
      nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS ||
      nvrtcGetCUBINSize(program, &size) != NVRTC_SUCCESS)
    return false;
  std::string cubin(size, '\0');
  if (nvrtcGetCUBIN(program, cubin.data()) != NVRTC_SUCCESS) return false;
  write(path, cubin);
  return nvrtcDestroyProgram(&program) == NVRTC_SUCCESS;
}

}  // namespace

#ifdef AS_LIBRARY
extern "C" [[gnu::visibility("default")]] int run_as_plugin(int count, char** arguments) {
#else
int main(int count, char** arguments) {
#endif
  if (count != 4) return 2;
  std::ifstream file(arguments[1]);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return link(ptx, arguments[2]) && compile(arguments[3]) ? 0 : 1;
}
