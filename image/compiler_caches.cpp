#include "image/compiler_caches.h"

#include <link.h>

#include <cstdlib>

#include "image/compiled_ptx.h"
#include "support/private_folder.h"

namespace lynxpp::image {
namespace {

namespace fs = std::filesystem;

// Triton and torch.compile store the PTX next to the cubin; a separate cache would only make them recompile
// everything. JAX stores nothing by default.
constexpr CompilerCache caches[] = {
    {"CuPy", "CUPY_CACHE_DIR", "~/.cupy/kernel_cache", "/cupy/", "cupy"},
    {"Numba", "NUMBA_CACHE_DIR", "__pycache__ next to the source", "/numba", "numba"},
    {"Warp", "WARP_CACHE_PATH", "~/.cache/warp", "/warp/bin/", "warp"},
    {"PyCUDA", "PYCUDA_CACHE_DIR", "~/.cache/pycuda", "/pycuda/", "pycuda"},
    {"DeepGEMM", "DG_JIT_CACHE_DIR", "~/.deep_gemm", "/deep_gemm", "deep_gemm"},
    {"Triton", "TRITON_CACHE_DIR", "~/.triton/cache", "/triton/_C/", ""},
    {"torch.compile", "TORCHINDUCTOR_CACHE_DIR", "", "", ""},
    {"JAX", "JAX_COMPILATION_CACHE_DIR", "", "", ""},
};

std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        if (object->dlpi_name != nullptr)
          static_cast<std::vector<std::string>*>(into)->emplace_back(object->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

bool is_loaded(const CompilerCache& cache, const std::vector<std::string>& objects) {
  if (cache.library.empty()) return false;
  for (const std::string& path : objects) {
    if (path.find(cache.library) != std::string::npos) return true;
  }
  return false;
}

const char* value_of(const CompilerCache& cache) {
  const char* const value = secure_getenv(std::string(cache.variable).c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_inside(const fs::path& folder, const fs::path& path) {
  return !folder.empty() && path.string().starts_with(folder.string() + "/");
}

/// Returns why an existing store is not used; empty if it is used.
std::string refusal_of(const fs::path& store) {
  std::error_code error;
  if (!fs::exists(store, error)) return {};
  const Result<PrivateFolder> folder = PrivateFolder::open(store);
  return folder ? "" : "; the PTX store is not used, as " + folder.error().diagnostics.front().message;
}

}  // namespace

std::span<const CompilerCache> compiler_caches() { return caches; }

std::vector<std::pair<std::string, std::string>> moved_compiler_caches() {
  std::vector<std::pair<std::string, std::string>> variables;
  const fs::path folder = compiler_cache_folder();
  if (folder.empty()) return variables;
  for (const CompilerCache& cache : caches) {
    if (cache.folder.empty() || value_of(cache) != nullptr) continue;
    const fs::path own = folder / cache.folder;
    if (PrivateFolder::make(own).ok()) variables.emplace_back(cache.variable, own.string());
  }
  return variables;
}

std::string unobserved_compilation() {
  const std::vector<std::string> objects = loaded_objects();
  const fs::path own = compiler_cache_folder();
  std::string text;
  for (const CompilerCache& cache : caches) {
    const char* const value = value_of(cache);
    if (value == nullptr ? !is_loaded(cache, objects) : is_inside(own, value)) continue;
    const std::string folder = value != nullptr ? std::string(value) : std::string(cache.usual);
    text += (text.empty() ? "; it may have been compiled in an earlier run and come from " : " or ") +
            std::string(cache.framework) + "'s cache (" + folder + ", " + std::string(cache.variable) + ")";
  }
  return text + refusal_of(own.parent_path());
}

}  // namespace lynxpp::image
