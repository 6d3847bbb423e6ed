// Takes the entries of a trace out of its ring (cod/trace_stream.h) and writes them to a file, column by
// column.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "report/trace/trace_file.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Of one trace of one launch. Not thread safe.
class RingReader {
 public:
  /// `memory` holds a StreamRing and `entries` entries behind it. `file` outlives the reader.
  RingReader(const cod::Specification& specification, const cod::TraceStream& stream,
             std::unique_ptr<device::HostMemory> memory, report::TraceDescription description,
             report::TraceFile& file);

  /// Entries for which a ring of `bytes` bytes has room: a power of two, 64 or more.
  static std::uint64_t entries_of(const cod::TraceStream& stream, std::uint64_t bytes);
  static std::uint64_t bytes_of(const cod::TraceStream& stream, std::uint64_t entries);

  cod::StreamControl control(std::chrono::nanoseconds patience) const;
  const cod::TraceStream& stream() const { return stream_; }

  /// Takes what is complete, in the order of numbers. False: there was nothing.
  bool take();
  /// The launch is over: takes what is there, and writes all of it. `appended`: by the kernel; nullopt when
  /// nobody knows.
  void finish(std::optional<std::uint64_t> appended);

  /// Entries that were neither written nor are among the first ones, which are in the trace itself.
  std::uint64_t lost(std::uint64_t appended) const;
  /// Entries in the file, and those of them that are nowhere else.
  std::uint64_t written() const { return written_; }
  std::uint64_t written_beyond() const { return written_beyond_; }
  /// Why nothing more is written; empty when all is well.
  const std::string& problem() const { return problem_; }

 private:
  const std::byte* place(std::uint64_t number) const;
  bool is_complete(std::uint64_t number) const;
  void add(std::uint64_t number);
  void write_block();
  Status begin_stream();

  const cod::TraceStream stream_;
  const std::unique_ptr<device::HostMemory> memory_;
  const report::TraceDescription description_;
  report::TraceFile& file_;
  std::vector<std::uint32_t> widths_;  ///< of the fields
  std::uint64_t entries_ = 0;
  std::uint64_t taken_ = 0;
  std::vector<std::vector<std::byte>> columns_;  ///< of the block that is being filled
  std::uint64_t first_ = 0;                      ///< its first entry's number
  std::uint64_t in_block_ = 0;
  std::chrono::steady_clock::time_point begun_;  ///< when its first entry was taken
  std::optional<std::uint32_t> number_;          ///< of the stream in the file
  std::uint64_t written_ = 0;
  std::uint64_t written_beyond_ = 0;  ///< of them those that are not in the trace
  std::string problem_;
};

}  // namespace lynxpp::interposer
