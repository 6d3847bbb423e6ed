// Folders of files that lynxpp stores for the user beyond the process: compiled code, PTX of cubins.
//
// The files are executed later, so nobody else may have written them. The folder belongs to the user, and
// only the user can write to it. Every folder above it, and every symbolic link on the way, belongs to the
// user or to root and is not writable by others unless the sticky bit protects its contents, as in /tmp. All
// checks use descriptors, one path component after the other, and files are opened relative to the folder's
// descriptor: concurrently replacing a folder or a link has no effect.
//
// The preload library links only this part of support.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/descriptor.h"
#include "support/result.h"

namespace lynxpp {

/// Writes all bytes; returns false on failure. Raises no signals.
bool write_all(const Descriptor& file, std::span<const std::byte> bytes);

/// Returns lynxpp/NAME in the folder that the variable names, or in the user's cache folder (XDG_CACHE_HOME,
/// ~/.cache). Empty if the variable is "0" or "off", if there is no such folder, or if the program runs with
/// another user's rights.
std::filesystem::path user_cache_folder(const char* variable, std::string_view name);

class PrivateFolder {
 public:
  /// Fails if there is no such folder, or, naming the user, if somebody else could have written to it.
  static Result<PrivateFolder> open(const std::filesystem::path& path);
  /// The same, but creates missing components of the path, accessible only to the user.
  static Result<PrivateFolder> make(const std::filesystem::path& path);

  /// The absolute form of the given path.
  const std::filesystem::path& path() const { return path_; }

  /// Opens a regular file that belongs to the user and that nobody else may write to. With O_CREAT in
  /// `flags`, a new file is private to the user. The result is empty if there is no such file.
  Descriptor open_file(const std::string& name, int flags) const;
  /// Returns the entire file; nullopt if open_file() finds none or it is longer than `most_bytes`.
  std::optional<std::string> read(const std::string& name, std::size_t most_bytes) const;
  /// Replaces the file atomically by the concatenated parts: readers see either the old or the new contents.
  bool write(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) const;
  void remove(const std::string& name) const;
  /// Sets the modification time to now. Returns false if there is no such file.
  bool touch(const std::string& name) const;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type written;
  };
  /// Returns the regular files. Removes unfinished files of write() in processes that were killed.
  std::vector<File> files() const;

 private:
  PrivateFolder(Descriptor folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  static Result<PrivateFolder> reach(const std::filesystem::path& path, bool makes_missing);

  Descriptor folder_;
  std::filesystem::path path_;
};

}  // namespace lynxpp
