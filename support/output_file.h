// Output files named by users and written from inside a program, such as LYNXPP_OUTPUT. The program must
// continue whatever the path refers to: a pipe may have no reader, or one that does not read, and opening a
// device may have side effects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/descriptor.h"
#include "support/result.h"

namespace lynxpp {

/// Opens a file, creating it if necessary, a pipe, a terminal or /dev/null. `flags` are O_APPEND, O_TRUNC,
/// O_EXCL and O_NOFOLLOW. Waits at most a second for a pipe's reader. Fails for anything else; the message
/// names the path.
Result<Descriptor> open_output(const std::string& path, int flags);

struct Written {
  std::size_t bytes = 0;
  int error = 0;  ///< errno if writing failed
};

/// Writes, retrying after interruptions and short writes. Fails with ETIMEDOUT if a pipe's reader reads
/// nothing during `patience`. Raises no signals: a pipe without a reader yields EPIPE, a file that may not
/// grow EFBIG.
[[nodiscard]] Written write_output(const Descriptor& file, std::string_view text,
                                   std::chrono::milliseconds patience = std::chrono::seconds(10));

/// An output file that stays open while the program runs. The program may close the descriptor, and its own
/// next file may get the same number: then the file is opened again, and the program's is neither written to
/// nor closed.
class KeptOutput {
 public:
  KeptOutput() = default;
  /// `file` is open at `path`, which remains valid if the program changes its folder.
  KeptOutput(Descriptor file, const std::string& path);
  KeptOutput(KeptOutput&& other) noexcept;
  KeptOutput& operator=(KeptOutput&& other) noexcept;
  ~KeptOutput();

  explicit operator bool() const { return static_cast<bool>(file_); }
  /// Returns the descriptor to write to, opened again if necessary; invalid if that fails.
  const Descriptor& descriptor();

 private:
  bool is_ours() const;

  Descriptor file_;
  std::string path_;  ///< absolute
  std::uint64_t device_ = 0, inode_ = 0;
};

/// Opens the file, appends the text and closes it.
Status append_to_output(const std::string& path, std::string_view text);

/// Truncates or creates the file before a program appends to it. Does nothing to a pipe.
Status begin_output(const std::string& path);

}  // namespace lynxpp
