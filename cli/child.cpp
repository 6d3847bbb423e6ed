#include "cli/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "image/compiler_caches.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

std::vector<std::string> environment_with(Variables variables) {
  std::vector<std::string> entries;
  if (variables.contains("LD_PRELOAD")) {
    const std::string path = library_path_for(variables["LYNXPP_DEVICE"]);
    if (variables["LYNXPP_DEVICE"].empty()) variables.erase("LYNXPP_DEVICE");
    if (!path.empty()) variables["LD_LIBRARY_PATH"] = path;
    for (const auto& [name, folder] : image::moved_compiler_caches()) variables.emplace(name, folder);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool is_kept = name == "LYNXPP_LOG" || name == "LYNXPP_DEBUG" || name == "LYNXPP_PTX_STORE" ||
                         name == "LYNXPP_CPU_CACHE";
    if ((is_kept || !name.starts_with("LYNXPP_")) && !variables.contains(name)) entries.push_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t most = 2000;
  return text.size() > most ? "..." + text.substr(text.size() - most) : text;
}

}  // namespace

WorkFolder::WorkFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string pattern = ((error ? "/tmp" : parent) / "lynxpp-XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

int run_in_terminal(const std::string& path, const std::vector<std::string>& command) {
  pid_t child = -1;
  const int error =
      ::posix_spawnp(&child, path.c_str(), nullptr, nullptr, pointers_to(command).data(), environ);
  if (error != 0) {
    print_error("cannot execute " + path + ": " + std::strerror(error));
    return exit_cannot_execute;
  }
  // Ctrl-C goes to the program, which may handle it.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? exit_of_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<ChildRun> run_child(const std::string& path, const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& variables, const WorkFolder& folder,
                           const std::string& how) {
  const std::vector<std::string> environment = environment_with(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  const std::string out = folder.file("stdout");
  const std::string err = folder.file("stderr");
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t child = -1;
  const auto begin = std::chrono::steady_clock::now();
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, pointers_to(command).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failure("cannot execute " + path + ": " + std::strerror(error));
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
  ChildRun run;
  run.processor_milliseconds = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  run.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  read_file(out, run.output);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return run;
  std::string said;
  read_file(err, said);
  const std::string ending = WIFSIGNALED(status)
                                 ? "was terminated by signal " + std::to_string(WTERMSIG(status))
                                 : "failed with exit code " + std::to_string(WEXITSTATUS(status));
  return failure("the program " + ending + ", " + how,
                 trim(said).empty() ? "" : "its messages: " + last_lines(std::string(trim(said))));
}

}  // namespace lynxpp::cli
