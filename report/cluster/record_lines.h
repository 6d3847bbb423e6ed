// Reads the lines of a record file one by one; the file may be compressed (gzip).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp::report {

/// Uses memory for the longest line only.
class RecordLines {
 public:
  /// "-" is standard input. Fails if the file cannot be opened. A small compressed file may hold any number
  /// of bytes without a newline, so reading fails at a line longer than `longest_line`, a power of two.
  static Result<RecordLines> open(const std::string& path, std::size_t longest_line = std::size_t{1} << 30);

  /// Returns the line without its newline, valid until the next call; nullopt at the end of the file or if
  /// status() is a failure.
  std::optional<std::string_view> next();
  std::uint32_t number() const { return number_; }  ///< of the line, from 1
  const Status& status() const { return status_; }

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  bool read_more();

  std::string path_;
  std::unique_ptr<void, Closer> file_;
  std::vector<char> buffer_;
  std::size_t longest_line_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // bytes read but not yet returned
  bool is_at_end_ = false;
  std::uint32_t number_ = 0;
  Status status_ = success();
};

}  // namespace lynxpp::report
