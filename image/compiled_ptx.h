// A per-user store of the PTX that each cubin was compiled from, which outlives the process.
//
// Triton, torch.compile and JAX have ptxas produce a cubin and load only that; CuPy gets one from NVRTC. When
// the preload library observes the compiler, it stores both, and any process that loads the cubin finds the
// PTX by a byte-wise comparison of the cubin.
//
// The folder is lynxpp/ptx in the user's cache folder (XDG_CACHE_HOME, ~/.cache) or the folder that
// LYNXPP_PTX_STORE names. Only the user can write to it (support/private_folder.h), and it holds at most 256
// MiB of cubins and PTX. The oldest entries are removed first, together with the equally old files of the
// compilers' caches inside the folder: a cubin that outlived its PTX would be loaded and not compiled
// again. Other files are never removed. A program that runs with another user's rights neither reads nor
// writes the store. Functions of this file do not report errors: a cubin that cannot be stored is treated
// as one without PTX.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lynxpp::image {

/// Returns the store's folder for frameworks' caches (image/compiler_caches.h), an absolute path; empty if
/// there is no store.
std::filesystem::path compiler_cache_folder();

/// Stores `cubin` and the text it was compiled from; returns true if they are in the store.
bool remember_ptx(std::span<const std::byte> cubin, std::string_view ptx);

/// Returns the text that `cubin` was compiled from; nullopt if that was not observed.
std::optional<std::string> remembered_ptx(std::span<const std::byte> cubin);

/// Returns the text that Triton stores next to the cubin of `kernel` in its own cache (TRITON_CACHE_DIR,
/// ~/.triton/cache) or torch.compile in its cache (TORCHINDUCTOR_CACHE_DIR, torchinductor_USER in the
/// temporary folder); nullopt if no cubin there has the same bytes.
std::optional<std::string> ptx_in_triton_cache(std::span<const std::byte> cubin, const std::string& kernel);

}  // namespace lynxpp::image
