// Folders in which frameworks keep machine code that they have compiled, without its PTX.
//
// CuPy, Numba, Warp, PyCUDA and DeepGEMM compile a kernel once and load the cubin in later runs. If an
// earlier run was not observed, nobody has the PTX of what these load. `lynxpp run` gives a framework a
// cache of its own inside the PTX store, so that each cubin in it was compiled under observation.
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
  std::string_view variable;  ///< names the folder
  std::string_view usual;     ///< the folder if the variable is not set
  std::string_view library;   ///< part of the path of a library that a process with the framework has loaded
  std::string_view folder;    ///< in the PTX store; empty: the cache stays where it is
};

std::span<const CompilerCache> compiler_caches();

/// Variables and their values for a program that is started under observation: of caches with a folder
/// inside the PTX store, unless the user has set the variable. Makes the folders.
std::vector<std::pair<std::string, std::string>> moved_compiler_caches();

/// "; it may have been compiled in an earlier run and come from CuPy's cache (~/.cupy/kernel_cache,
/// CUPY_CACHE_DIR)": caches outside the PTX store, of frameworks that this process has loaded or whose
/// variable is set. Empty if there is none.
std::string unobserved_compilation();

}  // namespace lynxpp::image
