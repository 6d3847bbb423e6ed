#include "support/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "support/setting.h"
#include "support/write_signals.h"

namespace lynxpp {
namespace {

namespace fs = std::filesystem;

constexpr mode_t written_by_group = S_IWGRP;
constexpr mode_t written_by_others = S_IWOTH;
constexpr char unfinished_prefix[] = ".lynxpp-unfinished-";

/// Root could also replace this library.
bool is_trusted(uid_t owner) { return owner == geteuid() || owner == 0; }

std::string mode_of(const struct stat& status) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", status.st_mode & 07777u);
  return text.data();
}

/// Returns who could replace the contents; empty if only the user and root can.
std::string problem_of_parent(const struct stat& status) {
  if (!is_trusted(status.st_uid)) return "belongs to user " + std::to_string(status.st_uid);
  if (S_ISLNK(status.st_mode)) return {};
  if (!S_ISDIR(status.st_mode)) return "is not a folder";
  if ((status.st_mode & S_ISVTX) != 0) return {};
  // A group with the owner's number is, by convention, private to the owner.
  const bool group_writes = (status.st_mode & written_by_group) != 0 && status.st_gid != status.st_uid;
  if (!group_writes && (status.st_mode & written_by_others) == 0) return {};
  return "can be written by others (mode " + mode_of(status) + ")";
}

/// The same for the folders in which lynxpp stores files, and for the files.
std::string problem_of_own(const struct stat& status) {
  if (status.st_uid != geteuid()) return "belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & (written_by_group | written_by_others)) == 0) return {};
  return "can be written by others (mode " + mode_of(status) + ")";
}

/// Follows a path from the root of the file system and checks each component before using it.
class Walk {
 public:
  explicit Walk(bool makes_missing) : makes_missing_(makes_missing) {}

  Status along(const fs::path& path) {
    left_.assign(path.begin(), path.end());
    std::reverse(left_.begin(), left_.end());
    while (!left_.empty()) {
      const fs::path name = std::move(left_.back());
      left_.pop_back();
      if (Status entered = enter(name); !entered) return entered;
    }
    return success();
  }
  Descriptor take() { return std::move(at_); }

 private:
  Descriptor component(const char* name) const {
    const int base = at_ ? at_.number() : AT_FDCWD;
    Descriptor found(::openat(base, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (found || errno != ENOENT || !makes_missing_) return found;
    constexpr mode_t for_user = 0700;
    ::mkdirat(base, name, for_user);  // fails if another process was first
    return Descriptor(::openat(base, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }

  Status enter(const fs::path& name) {
    if (name.empty()) return success();  // after a trailing slash
    const fs::path reached = reached_ / name;
    Descriptor next = component(name.c_str());
    struct stat status {};
    if (!next || ::fstat(next.number(), &status) != 0)
      return failure("cannot open " + reached.string() + ": " + std::strerror(errno));
    if (const std::string problem = problem_of_parent(status); !problem.empty())
      return failure(reached.string() + " " + problem);
    if (S_ISLNK(status.st_mode)) return follow(next, reached);
    at_ = std::move(next);
    reached_ = reached;
    return success();
  }

  Status follow(const Descriptor& link, const fs::path& reached) {
    constexpr int most_links = 40;  // the kernel's limit
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(link.number(), "", target.data(), target.size());
    if (length <= 0 || ++links_ > most_links)
      return failure("cannot follow " + reached.string() + ": " + std::strerror(length < 0 ? errno : ELOOP));
    const fs::path path(std::string(target.data(), static_cast<std::size_t>(length)));
    const std::vector<fs::path> parts(path.begin(), path.end());
    left_.insert(left_.end(), parts.rbegin(), parts.rend());
    return success();
  }

  bool makes_missing_;
  int links_ = 0;
  std::vector<fs::path> left_;  // in reverse order
  Descriptor at_;
  fs::path reached_;
};

Result<fs::path> absolute_path(const fs::path& path) {
  if (path.empty()) return failure("there is no folder to keep files in");
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return failure("cannot find " + path.string() + ": " + error.message());
  return whole;
}

std::string unfinished_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint64_t>(::getpid());
  return unfinished_prefix + std::to_string(number);
}

/// Another process may still be writing a new file.
bool is_abandoned(const std::string& name, fs::file_time_type written) {
  constexpr std::chrono::hours longest_write(24);
  return name.starts_with(unfinished_prefix) && written < fs::file_time_type::clock::now() - longest_write;
}

fs::file_time_type time_of(const timespec& time) {
  const auto since_epoch = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return std::chrono::file_clock::from_sys(std::chrono::sys_time<std::chrono::nanoseconds>(since_epoch));
}

}  // namespace

bool write_all(const Descriptor& file, std::span<const std::byte> bytes) {
  const WriteSignalsBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

fs::path user_cache_folder(const char* variable, std::string_view name) {
  const auto lynxpp_in = [name](const fs::path& folder) { return folder / "lynxpp" / name; };
  if (const char* named = setting(variable); named != nullptr && *named != '\0') {
    const bool is_off = std::strcmp(named, "0") == 0 || std::strcmp(named, "off") == 0;
    return is_off ? fs::path() : lynxpp_in(named);
  }
  if (const char* cache = ::secure_getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return lynxpp_in(cache);
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && *home == '/')
    return lynxpp_in(fs::path(home) / ".cache");
  return {};
}

Result<PrivateFolder> PrivateFolder::open(const fs::path& path) { return reach(path, false); }
Result<PrivateFolder> PrivateFolder::make(const fs::path& path) { return reach(path, true); }

Result<PrivateFolder> PrivateFolder::reach(const fs::path& path, bool makes_missing) {
  Result<fs::path> whole = absolute_path(path);
  if (!whole) return whole.error();
  struct stat status {};
  ::stat(whole->c_str(), &status);  // triggers automounts, which O_PATH does not
  Walk walk(makes_missing);
  if (Status arrived = walk.along(*whole); !arrived) return arrived.error();
  Descriptor folder = walk.take();
  if (::fstat(folder.number(), &status) != 0)
    return failure("cannot open " + whole->string() + ": " + std::strerror(errno));
  if (const std::string problem = problem_of_own(status); !problem.empty())
    return failure(whole->string() + " " + problem);
  return PrivateFolder(std::move(folder), std::move(*whole));
}

Descriptor PrivateFolder::open_file(const std::string& name, int flags) const {
  constexpr mode_t for_user = 0600;
  constexpr int safely = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // a pipe must not block
  Descriptor file(::openat(folder_.number(), name.c_str(), flags | safely, for_user));
  struct stat status {};
  const bool is_own = file && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
                      problem_of_own(status).empty();
  return is_own ? std::move(file) : Descriptor();
}

std::optional<std::string> PrivateFolder::read(const std::string& name, std::size_t most_bytes) const {
  const Descriptor file = open_file(name, O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > most_bytes) return std::nullopt;
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(file.number(), content.data() + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return content;
}

bool PrivateFolder::write(const std::string& name,
                          std::initializer_list<std::span<const std::byte>> parts) const {
  const std::string unfinished = unfinished_name();
  bool is_written = false;
  if (const Descriptor file = open_file(unfinished, O_WRONLY | O_CREAT | O_EXCL)) {
    is_written = true;
    for (const std::span<const std::byte> part : parts) is_written = is_written && write_all(file, part);
  }
  if (is_written && ::renameat(folder_.number(), unfinished.c_str(), folder_.number(), name.c_str()) == 0)
    return true;
  remove(unfinished);
  return false;
}

void PrivateFolder::remove(const std::string& name) const { ::unlinkat(folder_.number(), name.c_str(), 0); }

bool PrivateFolder::touch(const std::string& name) const {
  return ::utimensat(folder_.number(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<PrivateFolder::File> PrivateFolder::files() const {
  std::vector<File> found;
  const int listed = ::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(listed), ::closedir);
  if (folder == nullptr) {
    const Descriptor unused(listed);
    return found;
  }
  while (const dirent* const entry = ::readdir(folder.get())) {
    struct stat status {};
    if (::fstatat(folder_.number(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    File file{entry->d_name, static_cast<std::uint64_t>(status.st_size), time_of(status.st_mtim)};
    if (is_abandoned(file.name, file.written)) {
      remove(file.name);
    } else if (!file.name.starts_with(unfinished_prefix)) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

}  // namespace lynxpp
