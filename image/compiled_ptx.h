// Which PTX a compiler made a cubin of, remembered per user beyond the process.
//
// Triton, torch.compile and JAX let ptxas make a cubin and load that alone; CuPy asks NVRTC for one. Where
// the preload library sees the compiler at work it remembers both, and the PTX is found again by the cubin's
// own bytes, compared one by one, in whichever process loads it.
//
// The folder is lynxpp/ptx in the user's cache folder (XDG_CACHE_HOME, ~/.cache) or in the folder that
// LYNXPP_PTX_STORE names. It belongs to the user alone (support/private_folder.h) and holds 256 MiB of cubins
// and PTX at most. The oldest entries go first, and with them what the compilers' caches inside the folder
// have kept since then: a cubin that outlived its PTX would be loaded and not compiled again. Other files are
// left alone. A program that runs with another user's rights neither reads nor writes the store. Functions of
// this file never fail loudly: a cubin that is not remembered is one without PTX.
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

/// Whether `cubin` and the text it was compiled from are in the store now.
bool remember_ptx(std::span<const std::byte> cubin, std::string_view ptx);

/// The text that `cubin` was compiled from; nullopt when nobody saw that.
std::optional<std::string> remembered_ptx(std::span<const std::byte> cubin);

/// The text that Triton keeps beside the cubin of `kernel` in its own cache (TRITON_CACHE_DIR,
/// ~/.triton/cache) or torch.compile in its (TORCHINDUCTOR_CACHE_DIR, torchinductor_USER among the temporary
/// files); nullopt when no cubin there has the same bytes.
std::optional<std::string> ptx_in_triton_cache(std::span<const std::byte> cubin, const std::string& kernel);

}  // namespace lynxpp::image
