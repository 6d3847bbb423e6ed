#include "ptx/ir/source_files.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

bool contains(std::string_view path, std::string_view part) {
  return path.find(part) != std::string_view::npos;
}

/// True for "…/targets/x86_64-linux/include/…", as in the toolkit and conda's packages, and
/// "…/cuda-13.0/include/…".
bool is_in_toolkit(std::string_view path) {
  const std::size_t include = path.find("/include/");
  if (include == std::string_view::npos) return false;
  const std::string_view folder = path.substr(0, include);
  const std::string_view name = folder.substr(folder.find_last_of('/') + 1);
  return contains(folder, "/targets/") || name == "cuda" || name.starts_with("cuda-");
}

}  // namespace

bool is_library_header(std::string_view path) {
  constexpr std::string_view parts[] = {"/site-packages/nvidia/", "/dist-packages/nvidia/", "/lib/clang/",
                                        "/lib/gcc/"};
  return path.starts_with("/usr/include/") || is_in_toolkit(path) ||
         std::ranges::any_of(parts, [&](std::string_view part) { return contains(path, part); });
}

}  // namespace lynxpp::ptx
