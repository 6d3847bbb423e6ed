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
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/control_socket.h"
#include "support/json.h"
#include "support/system_call_filter.h"

namespace lynxpp::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The process compiles specifications before it answers, perhaps on a busy machine.
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

/// Returns XDG_RUNTIME_DIR from the process's environment, which may belong to another session.
std::optional<std::string> runtime_folder_of(const std::string& process_folder) {
  constexpr std::string_view name = "XDG_RUNTIME_DIR=";
  std::ifstream file(process_folder + "/environ", std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return std::nullopt;
}

/// A process's PID in this namespace and in its own.
struct Listener {
  int number = 0;
  int number_inside = 0;
  unsigned long pid_namespace = 0;
};

/// The last number in the line "NSpid:     4711    12" is the PID in the innermost namespace.
Listener listener_of(int number, const std::string& process_folder) {
  Listener listener{number, number, control::namespace_of(process_folder.c_str())};
  std::ifstream file(process_folder + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    const char* const last = line.data() + line.find_last_of("\t ") + 1;
    std::from_chars(last, line.data() + line.size(), listener.number_inside);
  }
  return listener;
}

/// True if the peer of the socket is this process, run by this user.
bool is_listened_to_by(int descriptor, int process) {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
         credentials.uid == ::geteuid() && credentials.pid == process;
}

/// Removes and returns the number at the start of `text`; nullopt if it does not start with one.
std::optional<unsigned long> take_number(std::string_view& text) {
  unsigned long number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Removes sockets of killed processes of this namespace; processes of other namespaces are not visible here.
/// Precondition: the folder is private.
void remove_abandoned_sockets(const control::SocketPath& folder) {
  const unsigned long here = control::namespace_of("/proc/self");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder.text, error)) {
    const std::string name = entry.path().filename();
    std::string_view rest = name;
    const std::optional<unsigned long> pid_namespace = take_number(rest);
    if (here == 0 || pid_namespace != here || !rest.starts_with('-')) continue;
    rest.remove_prefix(1);
    const std::optional<unsigned long> process = take_number(rest);
    if (!process || *process > std::numeric_limits<int>::max() || rest != ".sock") continue;
    const bool has_ended = ::kill(static_cast<int>(*process), 0) != 0 && errno == ESRCH;
    const control::SocketPath path = control::socket_in(folder, here, static_cast<int>(*process));
    if (has_ended && control::is_abandoned(path)) ::unlink(path.text);
  }
}

/// Returns a descriptor, or -1 if the process does not listen.
int connect_in(const char* runtime_folder, const Listener& listener) {
  const control::SocketPath folder = control::socket_folder(runtime_folder, ::geteuid());
  const control::SocketPath path = control::socket_in(folder, listener.pid_namespace, listener.number_inside);
  if (!path.is_there() || !control::is_private_folder(folder.text, ::geteuid())) return -1;
  remove_abandoned_sockets(folder);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  // connect() blocks while the queue of peers is full.
  const timeval limit = {patience.count(), 0};
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const sockaddr_un address = control::address_of(path);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      is_listened_to_by(made, listener.number))
    return made;
  ::close(made);
  return -1;
}

Result<int> connect_to(int process) {
  const std::string number = std::to_string(process);
  const std::string process_folder = "/proc/" + number;
  struct stat status {};
  if (::kill(process, 0) != 0 && errno == ESRCH) return failure("no such process: " + number);
  if (::stat(process_folder.c_str(), &status) == 0 && status.st_uid != ::geteuid())
    return failure("process " + number + " belongs to another user");
  const Listener listener = listener_of(process, process_folder);
  const std::optional<std::string> of_process = runtime_folder_of(process_folder);
  for (const char* const folder : std::vector<const char*>{
           std::getenv("XDG_RUNTIME_DIR"), of_process ? of_process->c_str() : nullptr, nullptr}) {
    if (const int made = connect_in(folder, listener); made >= 0) return made;
  }
  if (may_filter_system_calls((process_folder + "/status").c_str()))
    return failure(
        "process " + number + " does not listen to lynxpp: its system calls are filtered (seccomp)",
        "if the filter permits sockets, start the program with LYNXPP_CONTROL=1");
  return failure("process " + number + " does not listen to lynxpp",
                 "it must be a CUDA program with liblynxpp.so preloaded (`lynxpp run`) that has loaded its "
                 "kernels, without LYNXPP_CONTROL=0");
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

/// Returns nullopt if no complete line arrives in time, or if it is too long.
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
  if (!line) return failure("process " + number + " does not answer", "it may be stopped or exiting");
  Result<nlohmann::json> answer = parse_json<nlohmann::json>(*line, {});
  if (!answer || !answer->is_object())
    return failure("process " + number + " sent an invalid answer",
                   "its liblynxpp.so may have another version");
  const auto error = answer->find("error");
  if (error == answer->end()) return answer;
  return failure("process " + number + " refuses: " + (error->is_string() ? error->get<std::string>() : ""));
}

}  // namespace lynxpp::cli
