#include "cli/texts/texts.h"

#include <cstdio>

#include "cod/declared_by_use.h"
#include "instrumentors/catalogue.h"

namespace lynxpp::cli {
namespace {

constexpr const char* standard_input = "-";
/// The kernel takes at most 128 KiB for a variable of the environment.
constexpr std::size_t longest_entry = 100'000;

Result<std::string> read_standard_input() {
  std::string text;
  char buffer[1 << 14];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof(buffer), stdin)) != 0;) {
    text.append(buffer, count);
    if (text.size() > longest_entry) break;
  }
  if (std::ferror(stdin) != 0) return failure("cannot read standard input");
  return text;
}

Result<std::string> entry_of(const std::string& name, const std::string& source) {
  std::string entry = instrumentors::text_entry(name, source);
  if (entry.size() <= longest_entry) return entry;
  return failure("the specification '" + name + "' is too long", "save it to a file");
}

Result<std::string> one_liner_entry(const std::string& name, const std::string& text) {
  Result<std::string> declarations = cod::declared_by_use(text, name);
  if (!declarations) return declarations.error();
  return entry_of(name, declarations->empty() ? text : text + "\n" + *declarations + "\n");
}

}  // namespace

std::string one_liner_name(std::size_t index) {
  return index == 0 ? "one-liner" : "one-liner-" + std::to_string(index + 1);
}

Result<std::vector<std::string>> with_texts(const std::vector<std::string>& specifications,
                                            const std::vector<std::string>& one_liners) {
  std::vector<std::string> entries;
  bool has_read = false;
  for (const std::string& each : specifications) {
    if (each != standard_input) {
      entries.push_back(each);
      continue;
    }
    if (has_read) return failure("standard input can be only one specification");
    has_read = true;
    const Result<std::string> text = read_standard_input();
    if (!text) return text.error();
    Result<std::string> entry = entry_of("stdin", *text);
    if (!entry) return entry.error();
    entries.push_back(std::move(*entry));
  }
  for (std::size_t i = 0; i < one_liners.size(); ++i) {
    Result<std::string> entry = one_liner_entry(one_liner_name(i), one_liners[i]);
    if (!entry) return entry.error();
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace lynxpp::cli
