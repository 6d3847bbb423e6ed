// Golden tests in one file each: the input and, after it in comments, what the test finds.
//
//   // Threads with a number above 40 skip the store.
//   // launches: 3 x 100                       a key and its value
//   .version 8.0 ...                           the input
//   // ---- count-plan                         a section: all lines up to the next one
//   // kernel k: 0 registers, 6 bits
//   // ---- 3 x 100: threads 300 41 300        a section of one line
//
// `scripts/update_golden` rewrites the sections for review, by running the tests with LYNXPP_UPDATE_GOLDEN=1.
#pragma once

#include <string>
#include <vector>

namespace lynxpp {

struct GoldenFile {
  std::string path;
  std::string input;     ///< the text before the sections
  std::string sections;  ///< the rest

  /// Returns the text after "// KEY: " on the line that begins with it; empty if the input lacks the key.
  std::string value(const std::string& key) const;
};

/// Reports a test failure if the file cannot be read.
GoldenFile read_golden(const std::string& path);

/// Returns the paths of the folder's .ptx files relative to it, without the suffix, in order.
std::vector<std::string> golden_names(const std::string& folder);

/// Returns a section; empty text gives no section.
std::string golden_section(const std::string& name, const std::string& text);

/// Returns the lines that were removed (-) and added (+), each group after the unchanged line before it,
/// which has its number in `before`. Joins lines up to the end of a basic block, and ignores indentation,
/// empty lines and declarations of added registers.
std::string changed_lines(const std::string& before, const std::string& after);

/// Compares the file's sections with those that the test found, or replaces them.
void expect_sections(const GoldenFile& file, const std::string& found);

}  // namespace lynxpp
