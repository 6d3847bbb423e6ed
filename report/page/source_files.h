// The source files whose text the page holds.
#pragma once

#include <cstddef>
#include <string>

namespace lynxpp::report {

struct SourceFile {
  std::string path;  ///< as the records name it
  std::string text;
  std::string missing;  ///< why there is no text; empty: there is
};

/// Reads files that records name. Records may come from anybody, so that only what looks like source is read:
/// regular files with a suffix of source files, as much as a page can hold.
class SourceFiles {
 public:
  SourceFile read(const std::string& path);

 private:
  std::size_t bytes_ = 0;  ///< of all texts so far
};

}  // namespace lynxpp::report
