// The ready-made specifications (examples/specs/*.cod, part of the program) and how a name on the command
// line or in LYNXPP_SPEC becomes the text of a specification.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp::instrumentors {

struct ReadyMade {
  std::string_view name;  ///< "instruction_count"
  std::string summary;    ///< the first paragraph of the text's leading comment, as one line; may be empty
  std::string_view source;
};

/// Sorted by name. Lives as long as the process.
std::span<const ReadyMade> ready_made();

struct LoadedSpecification {
  std::string name;  ///< as records show it: the file's name without folder and ".cod"
  std::string path;  ///< as diagnostics show it: the path given, or "ready-made/NAME.cod"
  std::string source;
  bool is_ready_made = false;
  bool is_text = false;  ///< from an entry that text_entry() made: there is no file
};

/// What stands in a list for a specification without a file, its text included: a one-liner, or what was
/// read from standard input. `name` has no ':'.
std::string text_entry(const std::string& name, std::string_view source);

/// Whether a named pipe, such as a shell's process substitution, may be a specification. Reading it waits
/// until somebody has written it, and only the first reader gets the text.
enum class Pipes { refused, read };

/// A text_entry(), a path (it contains '/', ends in ".cod", or names an existing file) or a ready-made name;
/// a ready-made name wins over a file of the same name without ".cod" and '/'. Failure: nothing of that
/// name, with the closest name or the list as a hint; a file that cannot be read.
Result<LoadedSpecification> find_specification(std::string_view name_or_path, Pipes pipes = Pipes::refused);

/// "a,b,./c.cod". Blanks around names do not count. Failure: every name that cannot be found, an empty
/// name, or two specifications of one name (their records could not be told apart).
Result<std::vector<LoadedSpecification>> parse_list(std::string_view names, Pipes pipes = Pipes::refused);

}  // namespace lynxpp::instrumentors
