// Folders of files that lynxpp keeps for the user beyond the process: compiled code, PTX of cubins.
//
// What is kept is executed later, so nobody else may have written it. The folder belongs to the user, who
// alone may write to it. Every folder above it, and every symbolic link on the way, belongs to the user or to
// root, and others may not write there unless the sticky bit protects what is inside, as in /tmp. All of this
// is checked on descriptors, one component of the path after the other, and files are opened below the
// folder's descriptor: exchanging a folder or a link meanwhile has no effect.
//
// The preload library links this and nothing more of support.
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

/// Writes all bytes. False if they do not fit; no signal reaches the program.
bool write_all(const Descriptor& file, std::span<const std::byte> bytes);

/// Returns lynxpp/NAME in the folder that the variable names, or in the user's cache folder (XDG_CACHE_HOME,
/// ~/.cache). Empty if the variable is "0" or "off", if there is no such folder, or if the program runs with
/// the rights of another user.
std::filesystem::path user_cache_folder(const char* variable, std::string_view name);

class PrivateFolder {
 public:
  /// Fails if there is no such folder, or if somebody else could have written to it; says who.
  static Result<PrivateFolder> open(const std::filesystem::path& path);
  /// The same, but makes what is missing of the path, for the user alone.
  static Result<PrivateFolder> make(const std::filesystem::path& path);

  /// The path as it was given, made absolute.
  const std::filesystem::path& path() const { return path_; }

  /// Opens a regular file that belongs to the user and that nobody else may write to. With O_CREAT in
  /// `flags`, a new file is the user's alone. The result is empty if there is no such file.
  Descriptor open_file(const std::string& name, int flags) const;
  /// Returns the whole file; nullopt if open_file() finds none or it is longer than `most_bytes`.
  std::optional<std::string> read(const std::string& name, std::size_t most_bytes) const;
  /// Replaces the file by one of these parts. Readers see the former content or all of the new one.
  bool write(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) const;
  void remove(const std::string& name) const;
  /// Sets the time of the last change to now. False if there is no such file.
  bool touch(const std::string& name) const;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type written;
  };
  /// Regular files. What write() left unfinished in a process that was killed is removed, not returned.
  std::vector<File> files() const;

 private:
  PrivateFolder(Descriptor folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  static Result<PrivateFolder> reach(const std::filesystem::path& path, bool makes_missing);

  Descriptor folder_;
  std::filesystem::path path_;
};

}  // namespace lynxpp
