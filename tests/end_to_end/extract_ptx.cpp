// Writes every PTX module of the given files (programs, libraries, archives, fatbinaries) into a folder, one file each, and prints
// "<file written>\t<where it came from>". The corpus tests use it.
//
//   extract_ptx FOLDER FILE…
#include <cstdio>
#include <string>

#include "image/fatbinary.h"
#include "image/program_file.h"
#include "support/text.h"

namespace {

/// Number of modules written, or -1 after an error was printed.
int extract(const std::string& path, const std::string& folder) {
  const auto file = lynxpp::image::containers_in_file(path);
  if (!file) {
    std::fputs(lynxpp::render(file.error().diagnostics).c_str(), stderr);
    return -1;
  }
  const std::string base = path.substr(path.find_last_of('/') + 1);
  int written = 0;
  for (const auto& image : file->images) {
    const auto entries = lynxpp::image::list_entries(image.bytes);
    if (!entries) {
      std::fputs(lynxpp::render(entries.error().diagnostics).c_str(), stderr);
      return -1;
    }
    for (const auto& entry : *entries) {
      if (entry.kind != lynxpp::image::EntryKind::ptx) continue;
      const auto text = lynxpp::image::ptx_text(entry);
      if (!text) {
        std::fputs(lynxpp::render(text.error().diagnostics).c_str(), stderr);
        return -1;
      }
      const std::string name = folder + "/" + base + "." + std::to_string(written) + ".ptx";
      if (!lynxpp::write_file(name, *text)) {
        std::fprintf(stderr, "error: cannot write %s\n", name.c_str());
        return -1;
      }
      std::printf("%s\t%s sm_%u\n", name.c_str(), image.origin.c_str(), static_cast<unsigned>(entry.sm));
      ++written;
    }
  }
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s FOLDER FILE…\n", argv[0]);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    if (extract(argv[i], argv[1]) < 0) return 1;
  }
  return 0;
}
