// Where a process that has liblynxpp.so in it listens to `lynxpp attach`, `detach`, `status` and `top`, and
// how much is said there. Each way goes one line of JSON, interposer/control/answer.h; then the connection
// ends. No function allocates.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace lynxpp::control {

inline constexpr std::size_t longest_request = std::size_t{1} << 20;
inline constexpr std::size_t longest_reply = std::size_t{4} << 20;
/// A request that begins so asks for something to be attached.
inline constexpr char attach_begin[] = "{\"attach\":";
inline constexpr char detach_request[] = "{\"detach\":{}}";
inline constexpr char status_request[] = "{\"status\":{}}";

/// A path that fits the address of a socket.
struct SocketPath {
  char text[sizeof(sockaddr_un::sun_path)] = "";
  bool is_there() const { return text[0] != '\0'; }
};

/// The folder of the sockets of a user: "lynxpp" in `runtime_folder` (XDG_RUNTIME_DIR), or, where that is
/// null or no absolute path, one in /tmp. Empty when it does not fit.
inline SocketPath socket_folder(const char* runtime_folder, unsigned user) {
  SocketPath folder;
  const bool has_own = runtime_folder != nullptr && runtime_folder[0] == '/';
  const int length = has_own ? std::snprintf(folder.text, sizeof folder.text, "%s/lynxpp", runtime_folder)
                             : std::snprintf(folder.text, sizeof folder.text, "/tmp/lynxpp-%u", user);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof folder.text) folder.text[0] = '\0';
  return folder;
}

/// The number of the PID namespace that a process lives in, by its folder in /proc; 0: unknown. The same
/// folder of sockets may be in several containers, which number their processes alike.
inline unsigned long namespace_of(const char* process_folder) {
  char path[64];
  struct stat status = {};
  const int length = std::snprintf(path, sizeof path, "%s/ns/pid", process_folder);
  const bool fits = length > 0 && static_cast<std::size_t>(length) < sizeof path;
  return fits && stat(path, &status) == 0 ? static_cast<unsigned long>(status.st_ino) : 0;
}

/// The socket in that folder of a process that has this number in its namespace. Empty when it does not fit.
inline SocketPath socket_in(const SocketPath& folder, unsigned long pid_namespace, int process) {
  SocketPath path;
  const int length =
      std::snprintf(path.text, sizeof path.text, "%s/%lu-%d.sock", folder.text, pid_namespace, process);
  const bool fits = length > 0 && static_cast<std::size_t>(length) < sizeof path.text;
  if (!folder.is_there() || !fits) path.text[0] = '\0';
  return path;
}

/// Whether it is a folder, no link, that belongs to the user and that nobody else may use.
inline bool is_private_folder(const char* path, unsigned user) {
  struct stat status = {};
  constexpr unsigned others = 077;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user &&
         (status.st_mode & others) == 0;
}

inline sockaddr_un address_of(const SocketPath& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.text, sizeof path.text);
  return address;
}

/// Whether it is a socket that nobody listens to. One that was bound a moment ago looks the same.
inline bool is_abandoned(const SocketPath& path) {
  struct stat status = {};
  if (lstat(path.text, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return false;
  const sockaddr_un address = address_of(path);
  const bool is_refused = connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                          errno == ECONNREFUSED;
  close(made);
  return is_refused;
}

}  // namespace lynxpp::control
