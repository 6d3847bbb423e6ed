// The program `lynxpp`: opens the engine library of its installation, which contains the command.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>

#include "cli/entry.h"
#include "cli/exit_code.h"

namespace {

constexpr char engine[] = "lib/liblynxpp-engine.so";
using Path = std::array<char, PATH_MAX + sizeof(engine)>;

/// Writes the engine's path in the folder above this program's; "" without /proc.
void find_engine(Path& path) {
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), PATH_MAX);
  path[length > 0 ? static_cast<std::size_t>(length) : 0] = '\0';
  for (int folders = 0; folders < 2; ++folders)
    if (char* const name = std::strrchr(path.data(), '/')) *name = '\0';
  if (length <= 0) return;
  std::strcat(path.data(), "/");
  std::strcat(path.data(), engine);
}

}  // namespace

int main(int count, char** values) {
  Path path;
  find_engine(path);
  void* const library = ::dlopen(path.data(), RTLD_LAZY | RTLD_LOCAL);
  const auto run = reinterpret_cast<decltype(&lynxpp_run_command)>(
      library != nullptr ? ::dlsym(library, "lynxpp_run_command") : nullptr);
  if (run != nullptr) return run(count, values);
  std::fprintf(
      stderr,
      "lynxpp: error: %s\n  hint: bin/lynxpp and lib/liblynxpp-engine.so must be in one installation "
      "folder\n",
      ::dlerror());
  return lynxpp::cli::exit_usage_error;
}
