// Linked with NVRTC and nvJitLink: makes both generate only machine code. Arguments: a PTX file, the paths of
// nvJitLink's and NVRTC's cubins. As a library: runs for opener.cpp, or in its constructor with the variable
// CONSTRUCTS=PTX:CUBIN:CUBIN.
#include <nvJitLink.h>
#include <nvrtc.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
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

static int make(const char* input, const char* linked, const char* compiled) {
  std::ifstream file(input);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return link(ptx, linked) && compile(compiled) ? 0 : 1;
}

#ifdef AS_LIBRARY
[[gnu::constructor]] static void construct() {
  const char* const paths = std::getenv("CONSTRUCTS");
  if (paths == nullptr) return;
  std::istringstream text(paths);
  std::string path[3];
  for (std::string& each : path) std::getline(text, each, ':');
  if (make(path[0].c_str(), path[1].c_str(), path[2].c_str()) != 0) std::exit(5);
}

extern "C" [[gnu::visibility("default")]] int run_as_plugin(int count, char** arguments) {
#else
int main(int count, char** arguments) {
#endif
  return count == 4 ? make(arguments[1], arguments[2], arguments[3]) : 2;
}
