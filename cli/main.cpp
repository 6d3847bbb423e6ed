// The program `lynxpp`: opens the engine library of its installation, which contains the command.
#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>

#include "cli/entry.h"
#include "cli/exit_code.h"
#include "support/own_program.h"

namespace {

constexpr char engine[] = "lib/liblynxpp-engine.so";
using Path = std::array<char, PATH_MAX + sizeof(engine)>;

/// Writes the engine's path in the folder above this program's; "" if the program's file is unknown.
void find_engine(Path& path) {
  char program[PATH_MAX];
  lynxpp::find_own_program(program);
  path[0] = '\0';
  if (program[0] == '\0') return;
  for (int folders = 0; folders < 2; ++folders)
    if (char* const name = std::strrchr(program, '/')) *name = '\0';
  std::snprintf(path.data(), path.size(), "%s/%s", program, engine);
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
