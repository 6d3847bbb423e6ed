// Reads the entries of a trace from its ring (cod/trace_stream.h) and writes them to a file, column by
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

/// Reads one trace of one launch. Not thread safe.
class RingReader {
 public:
  /// `memory` holds a StreamRing followed by `entries` entries. `file` outlives the reader.
  RingReader(const cod::Specification& specification, const cod::TraceStream& stream,
             std::unique_ptr<device::HostMemory> memory, report::TraceDescription description,
             report::TraceFile& file);

  /// Returns the number of entries that fit in a ring of `bytes` bytes: a power of two, at least 64.
  static std::uint64_t entries_of(const cod::TraceStream& stream, std::uint64_t bytes);
  static std::uint64_t bytes_of(const cod::TraceStream& stream, std::uint64_t entries);

  cod::StreamControl control(std::chrono::nanoseconds patience) const;
  const cod::TraceStream& stream() const { return stream_; }

  /// Reads complete entries in numerical order. Returns false if there were none.
  bool take();
  /// Called after the launch: reads the remaining entries and writes everything. `appended`: number of
  /// entries that the kernel appended; nullopt: unknown.
  void finish(std::optional<std::uint64_t> appended);

  /// Returns the number of entries that are neither in the file nor among the first ones, which the trace
  /// itself holds.
  std::uint64_t lost(std::uint64_t appended) const;
  /// Return the number of entries in the file, and the number of those that the trace itself does not hold.
  std::uint64_t written() const { return written_; }
  std::uint64_t written_beyond() const { return written_beyond_; }
  /// Returns why writing has stopped; empty if it has not.
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
  std::vector<std::uint32_t> widths_;  ///< bytes of each field
  std::uint64_t entries_ = 0;
  std::uint64_t taken_ = 0;
  std::vector<std::vector<std::byte>> columns_;  ///< columns of the block being filled
  std::uint64_t first_ = 0;                      ///< number of the block's first entry
  std::uint64_t in_block_ = 0;
  std::chrono::steady_clock::time_point begun_;  ///< when the block's first entry was read
  std::optional<std::uint32_t> number_;          ///< number of the stream in the file
  std::uint64_t written_ = 0;
  std::uint64_t written_beyond_ = 0;  ///< written entries that the trace does not hold
  std::string problem_;
};

}  // namespace lynxpp::interposer
