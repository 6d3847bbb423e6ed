#include "cli/program.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/own_program.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr const char* usual_path = "/usr/local/bin:/usr/bin:/bin";

/// True if the file is an ELF program without an interpreter, that is, without a dynamic loader.
bool is_statically_linked(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * sizeof(segment)));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

}  // namespace

ProgramSearch find_program(const std::string& name) {
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else if (!name.empty()) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : split(path != nullptr ? path : usual_path, ':')) {
      candidates.push_back((folder.empty() ? "." : folder) + "/" + name);
    }
  }
  ProgramSearch search;
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (!std::filesystem::exists(candidate, error)) continue;
    if (std::filesystem::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) {
      return {ProgramSearch::Outcome::found, candidate};
    }
    if (search.outcome == ProgramSearch::Outcome::missing)
      search = {ProgramSearch::Outcome::not_executable, candidate};
  }
  return search;
}

std::string preload_obstacle(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "runs with another user's privileges, so the system ignores LD_PRELOAD";
  if (is_statically_linked(path)) return "is statically linked, so LD_PRELOAD has no effect on it";
  return {};
}

bool uses_program_api(const std::string& path) {
  // the name that lynxpp.h looks up
  constexpr std::string_view name = "lynxpp_open_api";
  constexpr std::size_t part_bytes = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string part;
  while (file) {
    // Keep the tail: the name may continue in the next block.
    part.erase(0, part.size() - std::min(part.size(), name.size() - 1));
    const std::size_t before = part.size();
    part.resize(before + part_bytes);
    file.read(part.data() + before, part_bytes);
    part.resize(before + static_cast<std::size_t>(file.gcount()));
    if (part.find(name) != std::string::npos) return true;
  }
  return false;
}

std::string executable_folder() {
  char path[PATH_MAX];
  find_own_program(path);
  return std::filesystem::path(path).parent_path().string();
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace lynxpp::cli
