// Files of traces that were streamed while kernels ran (LYNXPP_TRACE), one for each process. A process that
// is killed leaves whole frames and at most one that is cut off.
//
//   file    frames
//   frame   "lxtr" · kind (4 bytes: "open", "rows", "done") · stream (u32) · bytes of the payload (u32) ·
//           payload
//   open    JSON: what the stream is of
//   rows    number of the first entry (u64) · entries (u64) · zstd: the values of the first field, then those
//           of the next, each as wide as its type
//   done    JSON: {"appended": …, "streamed": …}
//
// All numbers are little endian. The blocks of a stream stand in the order of their entries' numbers; numbers
// that are missing were lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/descriptor.h"
#include "support/result.h"

namespace lynxpp::report {

struct TraceField {
  std::string name;
  std::string type;  ///< "i8", "u8", … "u64", "f32", "f64"
};

/// Bytes of a value; 0: there is no such type.
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
  std::uint64_t streamed = 0;  ///< entries of them in the file
};

/// Thread safe. The file is made when the first stream begins. It is always a new one: a process may have
/// begun as another program, and whatever somebody else has put at the path is neither followed nor written.
class TraceFile {
 public:
  /// `path` ends with trace_suffix and may be in a folder that does not exist.
  explicit TraceFile(std::string path) : path_(std::move(path)) {}
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Once the first stream has begun, it may have a number before its suffix.
  const std::string& path() const { return path_; }

  /// The stream's number. Failure of these: the file cannot be made, or does not take what is written. The
  /// first one is kept: nothing is written after it, and every later call gives it again.
  Result<std::uint32_t> begin(const TraceDescription& description);
  /// `columns`: the values of every field, `entries` of each.
  Status write(std::uint32_t stream, std::uint64_t first, std::uint64_t entries,
               const std::vector<std::vector<std::byte>>& columns);
  Status end(std::uint32_t stream, const TraceTotals& totals);

 private:
  Status append(const char* kind, std::uint32_t stream, std::string_view payload);
  Status open();
  Status fail(int error);

  std::mutex mutex_;  // guards what follows
  std::string path_;
  Descriptor file_;
  std::uint32_t streams_ = 0;
  Status problem_ = success();
};

/// Entries of a stream, one behind the other.
struct TraceRows {
  std::uint64_t first = 0;
  std::uint64_t entries = 0;
  std::vector<std::span<const std::byte>> columns;
};

/// What read_traces() calls for each frame; not all have to be there.
struct TraceVisitor {
  std::function<void(std::uint32_t stream, const TraceDescription&)> begin;
  /// False: enough.
  std::function<bool(std::uint32_t stream, const TraceDescription&, const TraceRows&)> rows;
  std::function<void(std::uint32_t stream, const TraceDescription&, const TraceTotals&)> end;
};

/// Goes through a file. `is_cut_off` gets whether it ends in the midst of a frame. Failure: it cannot be read
/// or is no such file; what came before the place that is none has been visited.
Status read_traces(const std::string& path, const TraceVisitor& visitor, bool& is_cut_off);

/// The files of a folder, or the file itself. Failure: there is none.
Result<std::vector<std::string>> trace_files(const std::string& path);

inline constexpr std::string_view trace_suffix = ".trace";

}  // namespace lynxpp::report
