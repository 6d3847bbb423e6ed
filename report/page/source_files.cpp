#include "report/page/source_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr std::size_t most_bytes_of_a_file = std::size_t{4} << 20;
constexpr std::size_t most_bytes = std::size_t{64} << 20;

constexpr std::array<std::string_view, 32> suffixes{
    ".c",   ".c++",  ".cc",   ".cpp", ".cu",  ".cuf", ".cuh", ".cxx", ".f",   ".f03", ".f08",
    ".f90", ".f95",  ".for",  ".h",   ".h++", ".hh",  ".hpp", ".hxx", ".inc", ".inl", ".ipp",
    ".jl",  ".mlir", ".mojo", ".py",  ".pyx", ".rs",  ".tcc", ".tpp", ".txx", ".zig"};

bool is_source_name(const std::filesystem::path& path) {
  std::string suffix = path.extension();
  std::ranges::transform(suffix, suffix.begin(), [](char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  });
  return std::ranges::find(suffixes, suffix) != suffixes.end();
}

}  // namespace

SourceFile SourceFiles::read(const std::string& path) {
  SourceFile file{path, {}, {}};
  // The target of a symbolic link is read, so its name is checked, too.
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (!is_source_name(path) || (!error && !is_source_name(target))) {
    file.missing = "its name has no suffix of a source file";
    return file;
  }
  if (error) {
    file.missing = "the file did not exist when the page was made";
    return file;
  }
  Result<std::string> text = read_regular_file(target, most_bytes_of_a_file, false);
  if (!text) {
    file.missing = "it could not be read: " + text.error().diagnostics.front().message;
  } else if (bytes_ + text->size() > most_bytes) {
    file.missing = "the page already has 64 MiB of source";
  } else {
    file.text = std::move(*text);
    bytes_ += file.text.size();
  }
  return file;
}

}  // namespace lynxpp::report
