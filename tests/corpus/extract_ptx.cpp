// Writes the PTX modules of the given files (programs, libraries, archives, fatbinaries, cubins) to a folder,
// one file each, and prints "<file written>\t<origin>\t<PTX modules in that file>". For containers without
// PTX, uses the debug sections of their machine code. Used by the corpus tests.
//
//   extract_ptx [--modules N] FOLDER FILE…      --modules: at most N of each file, evenly spread over it
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/debug_ptx.h"
#include "image/fatbinary.h"
#include "image/program_file.h"
#include "image/targets.h"
#include "support/text.h"

namespace {

namespace image = lynxpp::image;

struct Found {
  image::Entry entry;
  std::optional<std::string> text;  ///< from the debug section; nullopt: the entry is PTX
  std::string origin;
};

int complain(const lynxpp::Diagnostics& diagnostics) {
  std::fputs(lynxpp::render(diagnostics).c_str(), stderr);
  return 1;
}

/// Adds the texts from the debug section of a cubin; prints a warning if they cannot be used.
void add_debug_ptx(const image::Entry& cubin, const std::string& origin, std::vector<Found>& modules) {
  const auto machine_code = image::content(cubin);
  if (!machine_code) return static_cast<void>(complain(machine_code.error().diagnostics));
  auto found = image::debug_ptx(std::as_bytes(std::span(*machine_code)));
  if (!found) {
    std::fprintf(stderr, "warning: %s: the PTX in the debug section of a cubin cannot be used: %s\n",
                 origin.c_str(), found.error().diagnostics.front().message.c_str());
    return;
  }
  for (std::string& text : found->modules) modules.push_back({cubin, std::move(text), origin});
}

void add_image(std::span<const image::Entry> entries, const std::string& origin,
               std::vector<Found>& modules) {
  for (const std::span<const image::Entry> container : image::by_container(entries)) {
    const auto is_ptx = [](const image::Entry& entry) { return entry.kind == image::EntryKind::ptx; };
    const bool has_ptx = std::ranges::any_of(container, is_ptx);
    for (const image::Entry& entry : container) {
      if (is_ptx(entry)) modules.push_back({entry, std::nullopt, origin});
      if (!has_ptx && entry.kind == image::EntryKind::cubin) add_debug_ptx(entry, origin, modules);
    }
  }
}

/// Returns the exit status.
int extract(const std::string& path, const std::string& folder, std::size_t most) {
  const auto file = image::containers_in_file(path);
  if (!file) return complain(file.error().diagnostics);
  std::vector<Found> modules;
  for (const auto& held : file->images) {
    const auto entries = image::list_entries(held.bytes);
    if (!entries) return complain(entries.error().diagnostics);
    add_image(*entries, held.origin, modules);
  }
  const std::string base = path.substr(path.find_last_of('/') + 1);
  const std::size_t count = most == 0 || most > modules.size() ? modules.size() : most;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = i * modules.size() / count;
    const Found& module = modules[index];
    const auto text = module.text ? lynxpp::Result<std::string>(*module.text) : image::ptx_text(module.entry);
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
