#include "instrumentors/catalogue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "instrumentors/embedded.h"
#include "support/text.h"

namespace lynxpp::instrumentors {
namespace {

constexpr std::string_view extension = ".cod";
/// Prefix of an entry that contains a text, in which every byte except letters and digits is escaped as
/// "%3a".
constexpr std::string_view text_mark = "text:";
/// A specification is about a page of text; larger files are something else.
constexpr std::size_t greatest_size = 4u << 20;

std::string summary_of(std::string_view source) {
  source = trim(source);
  const bool is_block = source.starts_with("/*");
  if (!is_block && !source.starts_with("//")) return {};
  if (is_block) source = source.substr(0, source.find("*/"));
  std::string summary;
  for (const std::string& each : split(source, '\n')) {
    std::string_view line = trim(each);
    if (!is_block && !line.starts_with("//")) break;
    line.remove_prefix(std::min(line.find_first_not_of("/* \t\r"), line.size()));
    if (line.empty() && !summary.empty()) break;
    if (!line.empty()) summary.append(summary.empty() ? "" : " ").append(line);
  }
  return summary;
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

Result<LoadedSpecification> load_file(const std::string& path, Pipes pipes) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return failure("cannot read specification '" + path + "': no such file",
                   "`lynxpp list` shows the ready-made specifications");
  }
  if (std::filesystem::is_directory(status)) return failure("specification '" + path + "' is a folder");
  if (std::filesystem::is_fifo(status)) {
    if (pipes == Pipes::refused)
      return failure("specification '" + path + "' is a pipe, which cannot be read a second time",
                     "save it to a file");
    LoadedSpecification specification{stem_of(path), path, {}};
    if (read_file(path, specification.source)) return specification;
    return failure("cannot read specification '" + path + "': " + std::strerror(errno));
  }
  // A device could be endless.
  if (!std::filesystem::is_regular_file(status)) return failure("specification '" + path + "' is not a file");
  if (std::filesystem::file_size(path, error) > greatest_size)
    return failure("specification '" + path + "' is larger than 4 MiB", "is it a .cod file?");
  Result<std::string> source = read_regular_file(path, greatest_size);
  if (!source)
    return failure("cannot read specification '" + path + "': " + source.error().diagnostics.front().message);
  return LoadedSpecification{stem_of(path), path, std::move(*source)};
}

Failure unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const ReadyMade& entry : ready_made()) names.emplace_back(entry.name);
  const std::string close = closest_match(name, names);
  if (!close.empty()) return failure("no specification '" + name + "'", "did you mean '" + close + "'?");
  std::string list;
  for (const std::string& known : names)
    list += (list.empty() ? "ready-made specifications: " : ", ") + known;
  return failure(
      "no specification '" + name + "'",
      list + (list.empty() ? "" : "; ") + "to use a file, give its path or a name that ends in .cod");
}

bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

/// Returns the value of a hexadecimal digit; nullopt if it is not one.
std::optional<int> digit_of(char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t value = digits.find(byte);
  return value == std::string_view::npos ? std::nullopt : std::optional<int>(static_cast<int>(value));
}

/// Decodes `entry` without its prefix: "NAME:TEXT".
Result<LoadedSpecification> text_of_entry(std::string_view entry) {
  const std::size_t colon = std::min(entry.find(':'), entry.size());
  LoadedSpecification specification{
      std::string(entry.substr(0, colon)), std::string(entry.substr(0, colon)), {}, false, true};
  for (std::size_t i = colon + 1; i < entry.size(); ++i) {
    if (entry[i] != '%') {
      specification.source += entry[i];
      continue;
    }
    const auto high = i + 2 < entry.size() ? digit_of(entry[i + 1]) : std::nullopt;
    const auto low = high ? digit_of(entry[i + 2]) : std::nullopt;
    if (!low) return failure("the text of specification '" + specification.name + "' is damaged");
    specification.source += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return specification;
}

}  // namespace

std::string text_entry(const std::string& name, std::string_view source) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string entry = std::string(text_mark) + name + ":";
  for (const char byte : source) {
    if (is_plain(byte)) {
      entry += byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    entry += {'%', digits[value / 16], digits[value % 16]};
  }
  return entry;
}

std::span<const ReadyMade> ready_made() {
  // Leaked on purpose: host programs may still launch kernels during static destruction.
  static const auto* const catalogue = new std::vector<ReadyMade>(make_catalogue());
  return *catalogue;
}

Result<LoadedSpecification> find_specification(std::string_view name_or_path, Pipes pipes) {
  const std::string name(trim(name_or_path));
  if (name.empty())
    return failure("empty name of a specification", "`lynxpp list` shows the ready-made specifications");
  if (name.starts_with(text_mark)) return text_of_entry(std::string_view(name).substr(text_mark.size()));
  for (const ReadyMade& entry : ready_made()) {
    if (entry.name != name) continue;
    return LoadedSpecification{name, "ready-made/" + name + std::string(extension), std::string(entry.source),
                               true};
  }
  return is_path(name) ? load_file(name, pipes) : unknown(name);
}

Result<std::vector<LoadedSpecification>> parse_list(std::string_view names, Pipes pipes) {
  std::vector<LoadedSpecification> found;
  Diagnostics errors;
  for (const std::string& name : split(names, ',')) {
    Result<LoadedSpecification> specification = find_specification(name, pipes);
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
