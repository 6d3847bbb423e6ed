#include "image/compiled_ptx.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "support/private_folder.h"

namespace lynxpp::image {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t greatest_store = std::uintmax_t{256} << 20;
constexpr std::size_t greatest_entry = std::size_t{64} << 20;
constexpr const char* caches_folder = "caches";
constexpr char name_format[] = "%016llx-%zu";

fs::path store_folder() { return user_cache_folder("LYNXPP_PTX_STORE", "ptx"); }

/// FNV-1a. Only names the file; a match compares all bytes.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211U;
  return hash;
}

std::string name_of(std::span<const std::byte> cubin) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), name_format, static_cast<unsigned long long>(hash_of(cubin)),
                cubin.size());
  return name.data();
}

/// Returns the length of the cubin in an entry of this name; nullopt if it is not the name of an entry.
std::optional<std::size_t> cubin_bytes_of(const std::string& name) {
  unsigned long long hash = 0;
  std::size_t bytes = 0;
  std::array<char, 64> same{};
  if (std::sscanf(name.c_str(), "%16llx-%zu", &hash, &bytes) != 2) return std::nullopt;
  std::snprintf(same.data(), same.size(), name_format, hash, bytes);
  return name == same.data() ? std::optional(bytes) : std::nullopt;
}

/// True if the file's name matches the bytes it begins with.
bool is_entry(const PrivateFolder& folder, const std::string& name) {
  const std::optional<std::size_t> bytes = cubin_bytes_of(name);
  const std::optional<std::string> text = bytes ? folder.read(name, greatest_entry) : std::nullopt;
  return text && *bytes <= text->size() && name_of(std::as_bytes(std::span(*text).first(*bytes))) == name;
}

bool begins_with(const std::string& text, std::span<const std::byte> bytes) {
  return text.size() >= bytes.size() && std::memcmp(text.data(), bytes.data(), bytes.size()) == 0;
}

std::vector<fs::path> folders_in(const fs::path& folder, std::string_view prefix = {}) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
  }
  return found;
}

/// torch.compile has one Triton cache for each device.
void add_caches_of_torch(const fs::path& folder, std::vector<fs::path>& caches) {
  for (fs::path& cache : folders_in(folder / "triton")) caches.push_back(std::move(cache));
}

std::vector<fs::path> triton_caches() {
  std::vector<fs::path> caches;
  if (const char* named = secure_getenv("TRITON_CACHE_DIR")) caches.emplace_back(named);
  if (const char* home = secure_getenv("HOME"); home != nullptr && *home == '/') {
    caches.push_back(fs::path(home) / ".triton" / "cache");
  }
  if (const char* named = secure_getenv("TORCHINDUCTOR_CACHE_DIR")) add_caches_of_torch(named, caches);
  std::error_code error;
  for (const fs::path& folder : folders_in(fs::temp_directory_path(error), "torchinductor_")) {
    add_caches_of_torch(folder, caches);
  }
  return caches;
}

/// Returns the text next to the file with these bytes, in one of the folders of `cache`.
std::optional<std::string> ptx_beside(const fs::path& cache, std::span<const std::byte> cubin,
                                      const std::string& kernel) {
  for (const fs::path& entry : folders_in(cache)) {
    std::error_code absent;
    if (fs::file_size(entry / (kernel + ".cubin"), absent) != cubin.size() || absent) continue;
    const Result<PrivateFolder> folder = PrivateFolder::open(entry);
    if (!folder) continue;
    const std::optional<std::string> machine_code = folder->read(kernel + ".cubin", greatest_entry);
    if (machine_code && begins_with(*machine_code, cubin))
      return folder->read(kernel + ".ptx", greatest_entry);
  }
  return std::nullopt;
}

/// Removes files last written no later than `last` below `folder`.
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

std::uintmax_t total_of(const std::vector<PrivateFolder::File>& files) {
  std::uintmax_t total = 0;
  for (const PrivateFolder::File& file : files) total += file.bytes;
  return total;
}

/// Removes the oldest entries until the rest fits. Another process may do the same; missing files are
/// ignored.
void keep_within_bound(const PrivateFolder& folder) {
  // A framework writes the cubin to its cache shortly after compiling it.
  constexpr std::chrono::minutes until_cached(10);
  std::vector<PrivateFolder::File> files = folder.files();
  std::erase_if(files, [](const PrivateFolder::File& file) { return !cubin_bytes_of(file.name); });
  if (total_of(files) <= greatest_store) return;
  std::erase_if(files, [&](const PrivateFolder::File& file) { return !is_entry(folder, file.name); });
  std::uintmax_t total = total_of(files);
  if (total <= greatest_store) return;
  std::ranges::sort(files, {}, &PrivateFolder::File::written);
  // Removes more than needed, so that removals are rare.
  fs::file_time_type last;
  for (const PrivateFolder::File& file : files) {
    if (total <= greatest_store / 4 * 3) break;
    folder.remove(file.name);
    total -= file.bytes;
    last = file.written;
  }
  remove_older(folder.path() / caches_folder, last + until_cached);
}

}  // namespace

fs::path compiler_cache_folder() {
  const fs::path store = store_folder();
  std::error_code error;
  return store.empty() ? store : fs::absolute(store / caches_folder, error);
}

bool remember_ptx(std::span<const std::byte> cubin, std::string_view ptx) {
  if (cubin.empty() || ptx.empty() || cubin.size() + ptx.size() > greatest_entry) return false;
  const Result<PrivateFolder> folder = PrivateFolder::make(store_folder());
  if (!folder) return false;
  const std::string name = name_of(cubin);
  if (folder->touch(name)) return true;  // the compilers' caches contain it again
  if (!folder->write(name, {cubin, std::as_bytes(std::span(ptx))})) return false;
  keep_within_bound(*folder);
  return true;
}

std::optional<std::string> remembered_ptx(std::span<const std::byte> cubin) {
  const Result<PrivateFolder> folder = PrivateFolder::open(store_folder());
  if (cubin.empty() || !folder) return std::nullopt;
  const std::optional<std::string> found = folder->read(name_of(cubin), greatest_entry);
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
