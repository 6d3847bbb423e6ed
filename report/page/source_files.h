// Reads the source files that the page embeds.
#pragma once

#include <cstddef>
#include <string>

namespace lynxpp::report {

struct SourceFile {
  std::string path;  ///< as the records name it
  std::string text;
  std::string missing;  ///< why there is no text; empty: there is one
};

/// Reads files that records name. Records are untrusted, so only files that look like source are read:
/// regular files with a source suffix, up to the page's size limit.
class SourceFiles {
 public:
  SourceFile read(const std::string& path);

 private:
  std::size_t bytes_ = 0;  ///< of all texts so far
};

}  // namespace lynxpp::report
