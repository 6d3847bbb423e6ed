// The ready-made specifications (examples/specs/*.cod, embedded in the program) and resolution of a name from
// the command line or LYNXPP_SPEC to the text of a specification.
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
  std::string name;  ///< as shown in records: the file's name without folder and ".cod"
  std::string path;  ///< as shown in diagnostics: the path given, or "ready-made/NAME.cod"
  std::string source;
  bool is_ready_made = false;
  bool is_text = false;  ///< from an entry made by text_entry(): there is no file
};

/// Returns a list entry for a specification without a file, including its text: a one-liner, or text read
/// from standard input. `name` has no ':'.
std::string text_entry(const std::string& name, std::string_view source);

/// Determines if a named pipe, such as a shell's process substitution, may be a specification. Reading one
/// waits for its writer, and only the first reader gets the text.
enum class Pipes { refused, read };

/// Loads a text_entry(), a path (contains '/', ends in ".cod", or names an existing file) or a ready-made
/// name, which takes precedence over a file of the same name without ".cod" and '/'. Fails if nothing has
/// that name, with the closest name or the list as a hint, or if a file cannot be read.
Result<LoadedSpecification> find_specification(std::string_view name_or_path, Pipes pipes = Pipes::refused);

/// Parses "a,b,./c.cod"; ignores blanks around names. Fails with every name that cannot be found, for an
/// empty name, and for two specifications of one name (their records would be indistinguishable).
Result<std::vector<LoadedSpecification>> parse_list(std::string_view names, Pipes pipes = Pipes::refused);

}  // namespace lynxpp::instrumentors
