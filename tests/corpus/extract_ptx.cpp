// Writes the PTX modules of the given files (programs, libraries, archives, fatbinaries) into a folder, one
// file each, and prints "<file written>\t<where it came from>\t<PTX modules in that file>". The corpus tests
// use it.
//
//   extract_ptx [--modules N] FOLDER FILE…      --modules: at most N of each file, evenly spread over it
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "image/fatbinary.h"
#include "image/program_file.h"
#include "support/text.h"

namespace {

struct Found {
  lynxpp::image::Entry entry;
  std::string origin;
};

int complain(const lynxpp::Diagnostics& diagnostics) {
  std::fputs(lynxpp::render(diagnostics).c_str(), stderr);
  return 1;
}

/// Exit status.
int extract(const std::string& path, const std::string& folder, std::size_t most) {
  const auto file = lynxpp::image::containers_in_file(path);
  if (!file) return complain(file.error().diagnostics);
  std::vector<Found> modules;
  for (const auto& image : file->images) {
    const auto entries = lynxpp::image::list_entries(image.bytes);
    if (!entries) return complain(entries.error().diagnostics);
    for (const auto& entry : *entries) {
      if (entry.kind == lynxpp::image::EntryKind::ptx) modules.push_back({entry, image.origin});
    }
  }
  const std::string base = path.substr(path.find_last_of('/') + 1);
  const std::size_t count = most == 0 || most > modules.size() ? modules.size() : most;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = i * modules.size() / count;
    const Found& module = modules[index];
    const auto text = lynxpp::image::ptx_text(module.entry);
    if (!text) return complain(text.error().diagnostics);
    const std::string name = folder + "/" + base + "." + std::to_string(index) + ".ptx";
    if (!lynxpp::write_file(name, *text)) {
      std::fprintf(stderr, "error: cannot write %s\n", name.c_str());
      return 1;
    }
    std::printf("%s\t%s sm_%u\t%zu\n", name.c_str(), module.origin.c_str(),
                static_cast<unsigned>(module.entry.sm), modules.size());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int next = 1;
  std::size_t most = 0;
  if (argc > 2 && std::string_view(argv[1]) == "--modules") {
    most = std::strtoul(argv[2], nullptr, 10);
    next = 3;
  }
  if (argc < next + 2) {
    std::fprintf(stderr, "usage: %s [--modules N] FOLDER FILE…\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[next];
  for (int i = next + 1; i < argc; ++i) {
    if (extract(argv[i], folder, most) != 0) return 1;
  }
  return 0;
}
