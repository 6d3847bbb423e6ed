#include "interposer/preload/control.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include "interposer/preload/engine_client.h"
#include "interposer/preload/process.h"
#include "support/control_socket.h"
#include "support/system_call_filter.h"

namespace lynxpp::preload {
namespace {

using Clock = std::chrono::steady_clock;

/// Peers are served one at a time: a silent peer delays the next by at most this time.
constexpr std::chrono::milliseconds patience(1000);
constexpr int waiting_peers = 8;

std::atomic<bool> has_begun = false;
std::atomic<int> listener = -1;
std::atomic<pid_t> listening_process = 0;
control::SocketPath socket_path;  // written before listening_process

void leave_listening_to_parent() {
  const int inherited = listener.exchange(-1);
  if (inherited >= 0) close(inherited);
}

/// Waits until the peer's socket is usable, or `until`.
bool is_usable(int peer, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry = {peer, events, 0};
    const int ready = poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

/// Reads a line without its end. Returns false if none arrived in time or it is too long.
bool read_line(int peer, std::string& line) {
  const Clock::time_point until = Clock::now() + patience;
  char buffer[4096];
  while (line.size() <= control::longest_request && is_usable(peer, POLLIN, until)) {
    const ssize_t count = recv(peer, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    line.append(buffer, static_cast<std::size_t>(count));
    const std::size_t end = line.find('\n');
    if (end == std::string::npos) continue;
    line.resize(end);
    return end <= control::longest_request;
  }
  return false;
}

void write_line(int peer, std::string line) {
  line += '\n';
  const Clock::time_point until = Clock::now() + patience;
  std::size_t written = 0;
  while (written < line.size() && is_usable(peer, POLLOUT, until)) {
    const ssize_t count =
        send(peer, line.data() + written, line.size() - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return;
    written += static_cast<std::size_t>(count);
  }
}

bool is_of_same_user(int peer) {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 && credentials.uid == geteuid();
}

void serve(int peer) {
  if (!is_of_same_user(peer)) return;
  std::string request;
  if (!read_line(peer, request)) return;
  std::string reply;
  answer_request(request, reply);
  write_line(peer, std::move(reply));
}

/// The program may have closed the descriptor, as daemons close everything, and opened another file.
bool is_our_listener(int descriptor) {
  sockaddr_un address = {};
  socklen_t size = sizeof address;
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sun_family == AF_UNIX &&
         strncmp(address.sun_path, socket_path.text, sizeof address.sun_path) == 0;
}

void* answer(void*) {
  constexpr timespec while_out_of_descriptors = {0, 100'000'000};
  while (is_our_listener(listener.load())) {
    const int peer = accept4(listener.load(), nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) {
      if (errno != EINTR && errno != ECONNABORTED) nanosleep(&while_out_of_descriptors, nullptr);
      continue;
    }
    try {
      serve(peer);
    } catch (...) {
      // Out of memory: this peer gets no answer.
    }
    close(peer);
  }
  return nullptr;
}

/// Returns the descriptor of a socket that listens at `path`, or -1.
int listen_at(const control::SocketPath& path) {
  constexpr int out_of_the_way = 200;
  const int low = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (low < 0) return -1;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, out_of_the_way);
  if (high >= 0) close(low);
  const int made = high >= 0 ? high : low;
  const sockaddr_un address = control::address_of(path);
  if (control::is_abandoned(path)) unlink(path.text);  // left by a killed process with the same number
  constexpr mode_t for_owner = 0600;
  const bool listens = bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                       chmod(path.text, for_owner) == 0 && listen(made, waiting_peers) == 0;
  if (listens) return made;
  close(made);
  return -1;
}

/// `sudo` may keep the variable of another user, whose folder must not get our files.
bool belongs_to_user(const char* folder) {
  struct stat status = {};
  return folder != nullptr && stat(folder, &status) == 0 && status.st_uid == geteuid();
}

int listen_in(const char* runtime_folder, pid_t process) {
  const control::SocketPath folder = control::socket_folder(runtime_folder, geteuid());
  socket_path = control::socket_in(folder, control::namespace_of("/proc/self"), process);
  constexpr mode_t for_owner = 0700;
  if (!socket_path.is_there() || (mkdir(folder.text, for_owner) != 0 && errno != EEXIST)) return -1;
  return control::is_private_folder(folder.text, geteuid()) ? listen_at(socket_path) : -1;
}

/// Blocks all signals: the program's threads handle the program's signals.
bool start_thread() {
  constexpr std::size_t stack_bytes = std::size_t{8} << 20;  // specifications are compiled on it
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, answer, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

void begin_control() {
  if (settings.control == ControlChoice::off) return;
  if (has_begun.load(std::memory_order_relaxed) || has_begun.exchange(true)) return;
  const int error = errno;
  if (settings.control != ControlChoice::on && may_filter_system_calls("/proc/self/status")) {
    if (settings.verbose)
      say("`lynxpp attach` cannot reach this process: its system calls are filtered (seccomp), and opening "
          "a socket could end it; set LYNXPP_CONTROL=1 to open one anyway");
    errno = error;
    return;
  }
  const pid_t process = getpid();
  int made = belongs_to_user(settings.runtime_folder) ? listen_in(settings.runtime_folder, process) : -1;
  if (made < 0) made = listen_in(nullptr, process);
  if (made >= 0) {
    listener.store(made);
    listening_process.store(process);
    pthread_atfork(nullptr, nullptr, leave_listening_to_parent);
    if (!start_thread()) end_control();
  } else if (settings.verbose) {
    say("`lynxpp attach` cannot reach this process: cannot create the socket %s", socket_path.text);
  }
  errno = error;
}

void end_control() {
  if (listening_process.load() != getpid()) return;
  listening_process.store(0);
  unlink(socket_path.text);
}

}  // namespace lynxpp::preload
