// Where a process that has liblynxpp.so in it listens to `lynxpp attach`, `detach`, `status` and `top`, and
// how much is said there. Each way goes one line of JSON, interposer/control/answer.h; then the connection
// ends. No function allocates.
#pragma once

#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>

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

/// The socket of a process in that folder. Empty when it does not fit.
inline SocketPath socket_in(const SocketPath& folder, int process) {
  SocketPath path;
  const int length = std::snprintf(path.text, sizeof path.text, "%s/%d.sock", folder.text, process);
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

}  // namespace lynxpp::control
