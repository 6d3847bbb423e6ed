// Folders in which frameworks keep compiled machine code without its PTX.
//
// CuPy, Numba, Warp, PyCUDA and DeepGEMM compile a kernel once and load the cubin in later runs. If an
// earlier run was not observed, their PTX is not available. `lynxpp run` gives a framework a
// separate cache inside the PTX store, so that each cubin in it was compiled under observation.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lynxpp::image {

struct CompilerCache {
  std::string_view framework;
  std::string_view variable;  ///< environment variable that names the folder
  std::string_view usual;     ///< the folder used if the variable is not set
  std::string_view library;   ///< part of the path of a library that indicates that the framework is loaded
  std::string_view folder;    ///< in the PTX store; empty: the cache stays where it is
};

std::span<const CompilerCache> compiler_caches();

/// Returns variables and values for a program that runs under observation: those of caches with a folder
/// inside the PTX store, unless the user has set the variable. Creates the folders.
std::vector<std::pair<std::string, std::string>> moved_compiler_caches();

/// Returns "; it may have been compiled in an earlier run and come from CuPy's cache (~/.cupy/kernel_cache,
/// CUPY_CACHE_DIR)": caches outside the PTX store, of frameworks that this process has loaded or whose
/// variable is set. Appends the reason why the store is not used if another user could have written to it.
/// Empty if neither applies.
std::string unobserved_compilation();

}  // namespace lynxpp::image
