#include "instrumentors/catalogue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "instrumentors/embedded.h"
#include "support/text.h"

namespace lynxpp::instrumentors {
namespace {

constexpr std::string_view extension = ".cod";
/// A specification is a page of text; what is larger is some other file.
constexpr std::uintmax_t greatest_size = 4u << 20;

std::string_view summary_of(std::string_view source) {
  source = trim(source);
  if (!source.starts_with("//") && !source.starts_with("/*")) return {};
  source.remove_prefix(2);
  // Skips an empty first line and the decoration of a block comment.
  source.remove_prefix(std::min(source.find_first_not_of("/* \t\r\n"), source.size()));
  std::string_view line = source.substr(0, source.find('\n'));
  return trim(line.substr(0, line.find("*/")));
}

std::vector<ReadyMade> make_catalogue() {
  std::vector<ReadyMade> catalogue;
  for (const EmbeddedText& text : embedded_specifications()) {
    catalogue.push_back({text.name, summary_of(text.source), text.source});
  }
  return catalogue;
}

bool is_path(const std::string& text) {
  std::error_code error;
  return text.find('/') != std::string::npos || text.ends_with(extension) ||
         std::filesystem::is_regular_file(text, error);
}

std::string stem_of(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);
  if (path.ends_with(extension)) path.remove_suffix(extension.size());
  return std::string(path);
}

Result<LoadedSpecification> load_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return failure("cannot read specification '" + path + "': no such file",
                   "`lynxpp list` shows the ready-made specifications");
  }
  if (std::filesystem::is_directory(status)) return failure("specification '" + path + "' is a folder");
  // A pipe is welcome (shells' process substitution), a device could be endless.
  if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_fifo(status)) {
    return failure("specification '" + path + "' is not a file");
  }
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(path, error) > greatest_size) {
    return failure("specification '" + path + "' is larger than 4 MiB", "is it a .cod file?");
  }
  LoadedSpecification specification{stem_of(path), path, {}, false};
  errno = 0;
  if (!read_file(path, specification.source)) {
    return failure("cannot read specification '" + path + "': " + std::strerror(errno));
  }
  return specification;
}

Failure unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const ReadyMade& entry : ready_made()) names.emplace_back(entry.name);
  const std::string close = closest_match(name, names);
  if (!close.empty()) return failure("no specification '" + name + "'", "did you mean '" + close + "'?");
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "ready-made are: " : ", ") + known;
  return failure("no specification '" + name + "'",
                 list + (list.empty() ? "" : "; ") + "a file of your own is named with its path or its .cod");
}

}  // namespace

std::span<const ReadyMade> ready_made() {
  // Leaked on purpose: host programs may still launch kernels while static objects die.
  static const auto* const catalogue = new std::vector<ReadyMade>(make_catalogue());
  return *catalogue;
}

Result<LoadedSpecification> find_specification(std::string_view name_or_path) {
  const std::string name(trim(name_or_path));
  if (name.empty())
    return failure("empty name of a specification", "`lynxpp list` shows the ready-made specifications");
  for (const ReadyMade& entry : ready_made()) {
    if (entry.name != name) continue;
    return LoadedSpecification{name, "ready-made/" + name + std::string(extension), std::string(entry.source),
                               true};
  }
  return is_path(name) ? load_file(name) : unknown(name);
}

Result<std::vector<LoadedSpecification>> parse_list(std::string_view names) {
  std::vector<LoadedSpecification> found;
  Diagnostics errors;
  for (const std::string& name : split(names, ',')) {
    Result<LoadedSpecification> specification = find_specification(name);
    if (!specification) {
      std::move(specification.error().diagnostics.begin(), specification.error().diagnostics.end(),
                std::back_inserter(errors));
      continue;
    }
    const auto same = std::find_if(found.begin(), found.end(), [&](const LoadedSpecification& other) {
      return other.name == specification->name;
    });
    if (same != found.end()) {
      Failure twice = failure("specification '" + specification->name + "' is given twice");
      errors.push_back(std::move(twice.diagnostics.front()));
      continue;
    }
    found.push_back(std::move(*specification));
  }
  if (!errors.empty()) return Failure{std::move(errors)};
  return found;
}

}  // namespace lynxpp::instrumentors
