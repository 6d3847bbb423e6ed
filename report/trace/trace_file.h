// Files of traces that were streamed while kernels ran (LYNXPP_TRACE), one per process. A killed process
// leaves complete frames and at most one truncated frame.
//
//   file    frames
//   frame   "lxtr" · kind (4 bytes: "open", "rows", "done") · stream (u32) · bytes of the payload (u32) ·
//           payload
//   open    JSON: the description of the stream
//   rows    number of the first entry (u64) · entries (u64) · zstd: the values of the first field, then those
//           of the next, each as wide as its type
//   done    JSON: {"appended": …, "streamed": …}
//
// All numbers are little endian. The blocks of a stream are in the order of their entries' numbers; entries
// with missing numbers were lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/output_file.h"
#include "support/result.h"

namespace lynxpp::report {

struct TraceField {
  std::string name;
  std::string type;  ///< "i8", "u8", … "u64", "f32", "f64"
};

/// Returns the bytes of a value; 0 if the type is unknown.
std::uint32_t bytes_of_trace_type(std::string_view type);

/// A trace of one launch.
struct TraceDescription {
  std::string specification;
  std::string trace;
  std::string kernel;  ///< mangled
  std::uint64_t launch = 0;
  std::string device;
  std::uint64_t ordinal = 0;
  std::uint64_t process = 0;
  std::vector<TraceField> fields;
};

struct TraceTotals {
  std::uint64_t appended = 0;
  std::uint64_t streamed = 0;  ///< of these, entries in the file
};

/// Thread safe. The file is created when the first stream begins. It is always a new file: the process may
/// have started as another program, and anything already at the path is neither followed nor overwritten.
class TraceFile {
 public:
  /// `path` ends with trace_suffix; its folder need not exist.
  explicit TraceFile(std::string path) : path_(std::move(path)) {}
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// After the first stream began, the path may have a number before its suffix.
  const std::string& path() const { return path_; }

  /// Returns the stream's number. These functions fail if the file cannot be created or written. After the
  /// first failure, nothing is written, and every later call returns that failure.
  Result<std::uint32_t> begin(const TraceDescription& description);
  /// `columns`: the values of every field, `entries` of each.
  Status write(std::uint32_t stream, std::uint64_t first, std::uint64_t entries,
               const std::vector<std::vector<std::byte>>& columns);
  Status end(std::uint32_t stream, const TraceTotals& totals);

 private:
  Status append(const char* kind, std::uint32_t stream, std::string_view payload);
  Status open();
  Status fail(int error);

  std::mutex mutex_;  // guards the members below
  std::string path_;
  KeptOutput file_;
  std::uint32_t streams_ = 0;
  Status problem_ = success();
};

/// Consecutive entries of a stream.
struct TraceRows {
  std::uint64_t first = 0;
  std::uint64_t entries = 0;
  std::vector<std::span<const std::byte>> columns;
};

/// Callbacks for the frames that read_traces() finds; each may be empty.
struct TraceVisitor {
  std::function<void(std::uint32_t stream, const TraceDescription&)> begin;
  /// Returns false to stop.
  std::function<bool(std::uint32_t stream, const TraceDescription&, const TraceRows&)> rows;
  std::function<void(std::uint32_t stream, const TraceDescription&, const TraceTotals&)> end;
};

/// Reads a file. Sets `is_cut_off` to whether it ends within a frame. Fails if it cannot be read or is
/// invalid; frames before the error have been visited.
Status read_traces(const std::string& path, const TraceVisitor& visitor, bool& is_cut_off);

/// Returns the files of a folder, or the file itself. Fails if no file is found.
Result<std::vector<std::string>> trace_files(const std::string& path);

inline constexpr std::string_view trace_suffix = ".trace";

}  // namespace lynxpp::report
