#include "cli/control/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "support/control_socket.h"
#include "support/json.h"
#include "support/system_call_filter.h"

namespace lynxpp::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Specifications are compiled meanwhile, perhaps on a busy machine.
constexpr std::chrono::seconds patience(30);

class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  ~Connection() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// XDG_RUNTIME_DIR as the process got it, which may be another session's.
std::optional<std::string> runtime_folder_of(const std::string& process_folder) {
  constexpr std::string_view name = "XDG_RUNTIME_DIR=";
  std::ifstream file(process_folder + "/environ", std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return std::nullopt;
}

bool is_of_this_user(int descriptor) {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
         credentials.uid == ::geteuid();
}

/// What processes that were killed have left. Precondition: the folder is private.
void remove_stale_sockets(const control::SocketPath& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder.text, error)) {
    const std::string name = entry.path().stem();
    int process = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    const bool is_socket_name = problem == std::errc() && end == name.data() + name.size() && process > 0 &&
                                entry.path().extension() == ".sock";
    if (is_socket_name && ::kill(process, 0) != 0 && errno == ESRCH)
      std::filesystem::remove(entry.path(), error);
  }
}

/// A descriptor, or -1 where nobody listens.
int connect_in(const char* runtime_folder, int process) {
  const control::SocketPath folder = control::socket_folder(runtime_folder, ::geteuid());
  const control::SocketPath path = control::socket_in(folder, process);
  if (!path.is_there() || !control::is_private_folder(folder.text, ::geteuid())) return -1;
  remove_stale_sockets(folder);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  // Where more peers wait than may, connecting waits.
  const timeval limit = {patience.count(), 0};
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.text, sizeof path.text);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      is_of_this_user(made))
    return made;
  ::close(made);
  return -1;
}

Result<int> connect_to(int process) {
  const std::string number = std::to_string(process);
  const std::string process_folder = "/proc/" + number;
  struct stat status {};
  if (::kill(process, 0) != 0 && errno == ESRCH) return failure("there is no process " + number);
  if (::stat(process_folder.c_str(), &status) == 0 && status.st_uid != ::geteuid())
    return failure("process " + number + " belongs to another user");
  const std::optional<std::string> of_process = runtime_folder_of(process_folder);
  for (const char* const folder : std::vector<const char*>{
           std::getenv("XDG_RUNTIME_DIR"), of_process ? of_process->c_str() : nullptr, nullptr}) {
    if (const int made = connect_in(folder, process); made >= 0) return made;
  }
  if (may_filter_system_calls((process_folder + "/status").c_str()))
    return failure(
        "process " + number + " does not listen to lynxpp: its system calls are filtered (seccomp)",
        "if the filter permits sockets, start the program with LYNXPP_CONTROL=1");
  return failure("process " + number + " does not listen to lynxpp",
                 "it must be a CUDA program that has liblynxpp.so preloaded (`lynxpp run`), has loaded its "
                 "kernels, and has not LYNXPP_CONTROL=0");
}

bool send_all(int descriptor, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = ::send(descriptor, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

/// nullopt: nothing came in time, or too much.
std::optional<std::string> receive_line(int descriptor) {
  const Clock::time_point until = Clock::now() + patience;
  std::string line;
  char buffer[1 << 14];
  while (line.size() < control::longest_reply) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry = {descriptor, POLLIN, 0};
    const int ready = ::poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t count = ::recv(descriptor, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    line.append(buffer, static_cast<std::size_t>(count));
    if (line.back() == '\n') return line;
  }
  return std::nullopt;
}

}  // namespace

Result<nlohmann::json> ask(int process, const std::string& request) {
  if (request.size() > control::longest_request) return failure("the specifications are too long");
  const Result<int> connected = connect_to(process);
  if (!connected) return connected.error();
  const Connection connection(*connected);
  const std::string number = std::to_string(process);
  std::optional<std::string> line;
  if (send_all(connection.descriptor(), request + "\n")) line = receive_line(connection.descriptor());
  if (!line) return failure("process " + number + " does not answer", "it may be stopped, or ending");
  Result<nlohmann::json> answer = parse_json<nlohmann::json>(*line, {});
  if (!answer || !answer->is_object())
    return failure("process " + number + " answers what is not understood",
                   "its liblynxpp.so may be of another version");
  const auto error = answer->find("error");
  if (error == answer->end()) return answer;
  return failure("process " + number + " refuses: " + (error->is_string() ? error->get<std::string>() : ""));
}

}  // namespace lynxpp::cli
