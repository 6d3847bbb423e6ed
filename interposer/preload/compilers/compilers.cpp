#include "interposer/preload/compilers/compilers.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "image/bytes.h"
#include "image/compiled_ptx.h"
#include "interposer/owned_mutex.h"
#include "interposer/preload/process.h"

namespace lynxpp::preload {
namespace {

std::span<char*> ptxas_arguments;

bool runs_ptxas() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  const char* const name = strrchr(path, '/');
  return name != nullptr && strncmp(name + 1, "ptxas", 5) == 0;
}

/// Returns the file's content; empty if `path` is not a file, since arguments may be option values.
std::string contents(const char* path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool is_cubin(const std::string& bytes) {
  return image::load<std::uint32_t>(std::as_bytes(std::span(bytes)), 0) == image::elf_magic;
}

/// PTX states its version before anything but comments, and compilers write few comments.
bool is_ptx(const std::string& bytes) { return bytes.substr(0, 4096).find(".version") != std::string::npos; }

/// The relevant part of ptxas's command line.
struct Compilation {
  std::string cubin_path;
  std::string ptx;
  bool is_plain = true;  ///< one input, and no option that changes the code compared with the driver's
};

/// Returns the value of the option at `i` if it is `name` or begins with "name="; else null.
const char* option_value(std::size_t& i, const char* name) {
  const char* const argument = ptxas_arguments[i];
  const std::size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0) return nullptr;
  if (argument[length] == '=') return argument + length + 1;
  if (argument[length] != '\0' || i + 1 >= ptxas_arguments.size()) return nullptr;
  return ptxas_arguments[++i];
}

const char* option_value(std::size_t& i, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* const value = option_value(i, name)) return value;
  }
  return nullptr;
}

Compilation read_arguments() {
  Compilation found;
  for (std::size_t i = 1; i < ptxas_arguments.size(); ++i) {
    if (const char* output = option_value(i, {"--output-file", "-o"})) {
      found.cubin_path = output;
    } else if (const char* fused = option_value(i, {"--fmad", "-fmad"})) {
      // The driver would contract multiplications and additions that this compilation kept apart.
      if (strcmp(fused, "false") == 0) found.is_plain = false;
    } else if (strncmp(ptxas_arguments[i], "-o", 2) == 0 && ptxas_arguments[i][2] == '/') {
      found.cubin_path = ptxas_arguments[i] + 2;
    } else if (ptxas_arguments[i][0] != '-') {
      std::string bytes = contents(ptxas_arguments[i]);
      if (!is_ptx(bytes)) continue;
      if (!found.ptx.empty()) found.is_plain = false;
      found.ptx = std::move(bytes);
    }
  }
  return found;
}

void remember(const Compilation& compilation) {
  if (!compilation.is_plain || compilation.ptx.empty() || compilation.cubin_path.empty()) return;
  const std::string cubin = contents(compilation.cubin_path.c_str());
  if (is_cubin(cubin)) image::remember_ptx(std::as_bytes(std::span(cubin)), compilation.ptx);
}

/// Functions of one library: several versions may be loaded.
struct Nvrtc {
  int (*cubin_size)(void*, std::size_t*) = nullptr;
  int (*cubin)(void*, char*) = nullptr;
  int (*ptx_size)(void*, std::size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
};

constexpr std::size_t most_libraries = 8;
std::array<Nvrtc, most_libraries> nvrtc_libraries;
std::atomic<std::size_t> nvrtc_count = 0;
constinit OwnedMutex<std::mutex> nvrtc_mutex{LockRank::leaf};

void remember_program(const Nvrtc& library, void* program, const char* cubin) {
  std::size_t cubin_size = 0;
  std::size_t ptx_size = 0;
  if (library.cubin_size(program, &cubin_size) != 0 || library.ptx_size(program, &ptx_size) != 0 ||
      cubin_size == 0 || ptx_size <= 1) {
    return;
  }
  std::string ptx(ptx_size, '\0');
  if (library.ptx(program, ptx.data()) != 0) return;
  ptx.resize(strlen(ptx.c_str()));
  const auto bytes = std::as_bytes(std::span(cubin, cubin_size));
  if (is_ptx(ptx) && image::load<std::uint32_t>(bytes, 0) == image::elf_magic)
    image::remember_ptx(bytes, ptx);
}

template <std::size_t index>
int get_cubin(void* program, char* cubin) {
  const Nvrtc& library = nvrtc_libraries[index];
  const int status = library.cubin(program, cubin);
  if (status != 0 || cubin == nullptr) return status;
  try {
    remember_program(library, program, cubin);
  } catch (...) {
    // Out of memory: nothing is remembered.
  }
  return status;
}

using GetCubin = int (*)(void*, char*);

template <std::size_t... index>
constexpr std::array<GetCubin, sizeof...(index)> forwarding_functions(std::index_sequence<index...>) {
  return {get_cubin<index>...};
}

constexpr auto forward_to = forwarding_functions(std::make_index_sequence<most_libraries>());

}  // namespace

void watch_ptxas(int count, char** arguments) {
  if (runs_ptxas()) ptxas_arguments = {arguments, static_cast<std::size_t>(count)};
}

void remember_ptxas_output() {
  if (ptxas_arguments.empty()) return;
  try {
    remember(read_arguments());
  } catch (...) {
    // Out of memory, or a file cannot be read: nothing is remembered, and the compiler ends normally.
  }
  ptxas_arguments = {};
}

void* watched_compiler_function(void* handle, const char* name) {
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) return nullptr;
  return watched_compiler_function([handle](const char* wanted) { return real_dlsym(handle, wanted); }, name);
}

void* watched_compiler_function(const std::function<void*(const char*)>& find, const char* name) {
  if (strcmp(name, "nvrtcGetCUBIN") != 0) return nullptr;
  Nvrtc library;
  const auto look_up = [&find](auto& function, const char* wanted) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(wanted));
  };
  look_up(library.cubin, "nvrtcGetCUBIN");
  look_up(library.cubin_size, "nvrtcGetCUBINSize");
  look_up(library.ptx, "nvrtcGetPTX");
  look_up(library.ptx_size, "nvrtcGetPTXSize");
  if (library.cubin == nullptr || library.cubin_size == nullptr || library.ptx == nullptr ||
      library.ptx_size == nullptr) {
    return nullptr;
  }
  const Lock lock(nvrtc_mutex);
  const std::size_t known = nvrtc_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < known; ++i) {
    if (nvrtc_libraries[i].cubin == library.cubin) return reinterpret_cast<void*>(forward_to[i]);
  }
  if (known == most_libraries) return nullptr;
  nvrtc_libraries[known] = library;
  nvrtc_count.store(known + 1, std::memory_order_release);
  return reinterpret_cast<void*>(forward_to[known]);
}

}  // namespace lynxpp::preload
