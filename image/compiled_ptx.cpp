#include "image/compiled_ptx.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "support/user_cache.h"

namespace lynxpp::image {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t greatest_store = std::uintmax_t{256} << 20;
constexpr std::size_t greatest_entry = std::size_t{64} << 20;
constexpr const char* caches_folder = "caches";

fs::path store_folder() { return user_cache_folder("LYNXPP_PTX_STORE", "ptx"); }

/// FNV-1a. It only names the file: the bytes decide.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211U;
  return hash;
}

std::string name_of(std::span<const std::byte> cubin) {
  char name[64];
  snprintf(name, sizeof name, "%016llx-%zu", static_cast<unsigned long long>(hash_of(cubin)), cubin.size());
  return name;
}

std::optional<std::string> contents(const fs::path& path) {
  const OwnFile file(path, O_RDONLY);
  struct stat status {};
  if (!file || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::size_t>(status.st_size) > greatest_entry) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = read(file.descriptor(), text.data() + done, text.size() - done);
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return text;
}

bool begins_with(const std::string& text, std::span<const std::byte> bytes) {
  return text.size() >= bytes.size() && std::memcmp(text.data(), bytes.data(), bytes.size()) == 0;
}

/// Those below `folder` that belong to the user alone.
std::vector<fs::path> own_folders_in(const fs::path& folder, std::string_view prefix = {}) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix) && is_own_folder(at->path()))
      found.push_back(at->path());
  }
  return found;
}

/// torch.compile has one of Triton's for each device.
void add_caches_of_torch(const fs::path& folder, std::vector<fs::path>& caches) {
  if (!is_own_folder(folder)) return;
  for (fs::path& cache : own_folders_in(folder / "triton")) caches.push_back(std::move(cache));
}

std::vector<fs::path> triton_caches() {
  std::vector<fs::path> caches;
  if (const char* named = secure_getenv("TRITON_CACHE_DIR")) caches.emplace_back(named);
  if (const char* home = secure_getenv("HOME"); home != nullptr && *home == '/') {
    caches.push_back(fs::path(home) / ".triton" / "cache");
  }
  if (const char* named = secure_getenv("TORCHINDUCTOR_CACHE_DIR")) add_caches_of_torch(named, caches);
  std::error_code error;
  for (const fs::path& folder : own_folders_in(fs::temp_directory_path(error), "torchinductor_")) {
    add_caches_of_torch(folder, caches);
  }
  return caches;
}

/// The text beside the file of these bytes, in one of the folders of `cache`.
std::optional<std::string> ptx_beside(const fs::path& cache, std::span<const std::byte> cubin,
                                      const std::string& kernel) {
  if (!is_own_folder(cache)) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator at(cache, error), end; !error && at != end; at.increment(error)) {
    const fs::path compiled = at->path() / (kernel + ".cubin");
    std::error_code absent;
    if (fs::file_size(compiled, absent) != cubin.size() || absent) continue;
    const std::optional<std::string> machine_code = contents(compiled);
    if (machine_code && begins_with(*machine_code, cubin)) return contents(at->path() / (kernel + ".ptx"));
  }
  return std::nullopt;
}

struct StoredFile {
  fs::file_time_type written;
  std::uintmax_t size = 0;
  fs::path path;
};

/// Removes files written no later than `last`, below `folder`.
void remove_older(const fs::path& folder, fs::file_time_type last) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_regular_file(gone) && !at->is_symlink(gone) && at->last_write_time(gone) <= last && !gone)
      old.push_back(at->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

/// Removes the oldest entries until the rest fits. Another process may do the same: what is gone is gone.
void keep_within_bound(const fs::path& folder) {
  // A framework writes the cubin to its cache soon after it was compiled.
  constexpr std::chrono::minutes until_cached(10);
  std::error_code error;
  std::vector<StoredFile> files;
  std::uintmax_t total = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    StoredFile file{at->last_write_time(gone), at->file_size(gone), at->path()};
    if (gone) continue;
    total += file.size;
    files.push_back(std::move(file));
  }
  if (total <= greatest_store) return;
  std::sort(files.begin(), files.end(),
            [](const StoredFile& a, const StoredFile& b) { return a.written < b.written; });
  // More than needed, so that it is rare.
  fs::file_time_type last;
  for (const StoredFile& file : files) {
    if (total <= greatest_store / 4 * 3) break;
    fs::remove(file.path, error);
    total -= file.size;
    last = file.written;
  }
  remove_older(folder / caches_folder, last + until_cached);
}

}  // namespace

fs::path compiler_cache_folder() {
  const fs::path store = store_folder();
  std::error_code error;
  return store.empty() ? store : fs::absolute(store / caches_folder, error);
}

bool remember_ptx(std::span<const std::byte> cubin, std::string_view ptx) {
  if (cubin.empty() || ptx.empty() || cubin.size() + ptx.size() > greatest_entry) return false;
  const fs::path folder = store_folder();
  std::error_code error;
  if (!make_own_folder(folder)) return false;
  const std::string name = name_of(cubin);
  const fs::path path = folder / name;
  if (fs::exists(path, error)) {
    // The compilers' caches contain it again.
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return true;
  }
  const fs::path unfinished = folder / (name + "." + std::to_string(getpid()));
  {
    const OwnFile file(unfinished, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file) return false;
    if (!write_all(file.descriptor(), cubin.data(), cubin.size()) ||
        !write_all(file.descriptor(), ptx.data(), ptx.size())) {
      unlink(unfinished.c_str());
      return false;
    }
  }
  if (rename(unfinished.c_str(), path.c_str()) != 0) {
    unlink(unfinished.c_str());
    return false;
  }
  keep_within_bound(folder);
  return true;
}

std::optional<std::string> remembered_ptx(std::span<const std::byte> cubin) {
  const fs::path folder = store_folder();
  if (cubin.empty() || !is_own_folder(folder)) return std::nullopt;
  std::optional<std::string> found = contents(folder / name_of(cubin));
  if (!found || !begins_with(*found, cubin)) return std::nullopt;
  return found->substr(cubin.size());
}

std::optional<std::string> ptx_in_triton_cache(std::span<const std::byte> cubin, const std::string& kernel) {
  if (kernel.find('/') != std::string::npos) return std::nullopt;
  for (const fs::path& cache : triton_caches()) {
    if (auto text = ptx_beside(cache, cubin, kernel)) return text;
  }
  return std::nullopt;
}

}  // namespace lynxpp::image
