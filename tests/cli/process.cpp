#include "tests/cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "support/text.h"

namespace lynxpp::cli {
namespace {

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    bool is_kept = !name.starts_with("LYNXPP_") && name != "LD_PRELOAD";
    for (const auto& change : changes) is_kept &= change.first != name;
    if (is_kept) variables.push_back(variable);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) variables.push_back(name + "=" + value);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Outcome start(const std::vector<std::string>& command,
              const std::vector<std::pair<std::string, std::string>>& environment,
              const std::string& folder) {
  const TemporaryFolder output;
  const std::string out_path = output.path("out");
  const std::string err_path = output.path("err");
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environment_with(environment);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> values = pointers_to(variables);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(99);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out_path.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::dup2(::open(err_path.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    ::execve(arguments[0], arguments.data(), values.data());
    ::_exit(98);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  EXPECT_TRUE(read_file(out_path, outcome.out));
  EXPECT_TRUE(read_file(err_path, outcome.err));
  return outcome;
}

Outcome lynxpp(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LYNXPP_COMMAND);
  return start(arguments);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lynxpp-cli-XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr) << std::strerror(errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string TemporaryFolder::path(const std::string& name) const {
  return name.empty() ? path_.string() : (path_ / name).string();
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  EXPECT_TRUE(write_file(path(name), text));
  return path(name);
}

void install_with(const std::string& preload, const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder.path("bin"));
  std::filesystem::create_directories(folder.path("lib"));
  // The command finds its installation by its own path, without links.
  std::error_code error;
  std::filesystem::create_hard_link(LYNXPP_COMMAND, folder.path("bin/lynxpp"), error);
  if (error) std::filesystem::copy_file(LYNXPP_COMMAND, folder.path("bin/lynxpp"));
  std::filesystem::create_symlink(LYNXPP_TEST_ENGINE, folder.path("lib/liblynxpp-engine.so"));
  std::filesystem::copy_file(preload, folder.path("lib/liblynxpp.so"));
}

}  // namespace lynxpp::cli
