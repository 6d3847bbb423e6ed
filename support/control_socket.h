// The socket on which a process with liblynxpp.so listens to `lynxpp attach`, `detach`, `status` and `top`,
// and limits on its messages. A connection carries one line of JSON in each direction
// (interposer/control/answer.h) and then ends. No function allocates.
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
/// Prefix of a request to attach something.
inline constexpr char attach_begin[] = "{\"attach\":";
inline constexpr char detach_request[] = "{\"detach\":{}}";
inline constexpr char status_request[] = "{\"status\":{}}";
inline constexpr char why_request[] = "{\"why\":{}}";

/// A path that fits the address of a socket.
struct SocketPath {
  char text[sizeof(sockaddr_un::sun_path)] = "";
  bool is_there() const { return text[0] != '\0'; }
};

/// Returns the folder of a user's sockets: "lynxpp" in `runtime_folder` (XDG_RUNTIME_DIR), or a folder in
/// /tmp if that is null or not an absolute path. Empty if the path does not fit.
inline SocketPath socket_folder(const char* runtime_folder, unsigned user) {
  SocketPath folder;
  const bool has_own = runtime_folder != nullptr && runtime_folder[0] == '/';
  const int length = has_own ? std::snprintf(folder.text, sizeof folder.text, "%s/lynxpp", runtime_folder)
                             : std::snprintf(folder.text, sizeof folder.text, "/tmp/lynxpp-%u", user);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof folder.text) folder.text[0] = '\0';
  return folder;
}

/// Returns the number of a process's PID namespace, given its folder in /proc; 0 if unknown. Several
/// containers may share one folder of sockets, and their process numbers may coincide.
inline unsigned long namespace_of(const char* process_folder) {
  char path[64];
  struct stat status = {};
  const int length = std::snprintf(path, sizeof path, "%s/ns/pid", process_folder);
  const bool fits = length > 0 && static_cast<std::size_t>(length) < sizeof path;
  return fits && stat(path, &status) == 0 ? static_cast<unsigned long>(status.st_ino) : 0;
}

/// Returns the socket in that folder of a process with this number in its namespace. Empty if the path does
/// not fit.
inline SocketPath socket_in(const SocketPath& folder, unsigned long pid_namespace, int process) {
  SocketPath path;
  const int length =
      std::snprintf(path.text, sizeof path.text, "%s/%lu-%d.sock", folder.text, pid_namespace, process);
  const bool fits = length > 0 && static_cast<std::size_t>(length) < sizeof path.text;
  if (!folder.is_there() || !fits) path.text[0] = '\0';
  return path;
}

/// True if the path is a folder, not a link, that belongs to the user and that only the user can access.
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

/// True if the path is a socket that no process listens on. A socket that was just bound looks the same.
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
