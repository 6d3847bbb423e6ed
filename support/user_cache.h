// Folders and files below the user's cache folder. Header only: the preload library links nothing of support.
//
// What others can write must not decide what is run or instrumented: a folder counts only when it belongs to
// the user alone, and a program that runs with another user's rights has none.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "support/write_signals.h"

namespace lynxpp {

/// A file of this process, closed when it goes.
class OwnFile {
 public:
  OwnFile(const std::filesystem::path& path, int flags, mode_t mode = 0)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode)) {}
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  ~OwnFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// What the variable names, or lynxpp/NAME in the user's cache folder (XDG_CACHE_HOME, ~/.cache); empty when
/// there is none.
inline std::filesystem::path user_cache_folder(const char* variable, std::string_view name) {
  namespace fs = std::filesystem;
  if (const char* named = secure_getenv(variable)) return named;
  if (const char* cache = secure_getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "lynxpp" / name;
  if (const char* home = secure_getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "lynxpp" / name;
  return {};
}

inline bool is_own_folder(const std::filesystem::path& folder) {
  struct stat status {};
  return !folder.empty() && lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Whether it is there now and belongs to the user alone.
inline bool make_own_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  return mkdir(folder.c_str(), 0700) == 0 || is_own_folder(folder);
}

inline bool write_all(int descriptor, const void* data, std::size_t size) {
  const WriteSignalsBlocked blocked;
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = write(descriptor, at, size);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace lynxpp
