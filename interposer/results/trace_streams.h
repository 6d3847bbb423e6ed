// Streams the traces of launches to a file while their kernels run (LYNXPP_TRACE).
//
//   kernel ▶ ring in host memory ▶ separate thread ▶ report/trace/trace_file.h
//
// A kernel whose ring is full waits for that thread. The thread therefore waits only for the disk: it takes
// none of the session's locks and does not call the driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/instrument.h"
#include "interposer/results/probe_buffer.h"
#include "interposer/results/ring_reader.h"

namespace lynxpp::interposer {

/// The rings of one launch. Destroyed when the device no longer uses them.
class LaunchStreams {
 public:
  struct Core;
  explicit LaunchStreams(std::shared_ptr<Core> core);
  /// Creates no rings; `problem` says why.
  LaunchStreams(std::shared_ptr<Core> core, std::size_t specifications, const std::string& problem);
  /// Waits for the thread in the same way as finish().
  ~LaunchStreams();
  LaunchStreams(const LaunchStreams&) = delete;
  LaunchStreams& operator=(const LaunchStreams&) = delete;

  /// Returns what must be written to the launch's buffer before the launch, at the counter of each stream.
  /// Valid during the lifetime of this object.
  std::vector<device::BufferWrite> writes(const ProbeLayout& layout) const;

  /// Called after the launch. `buffer` is the launch's buffer if it succeeded: its trace counters then report
  /// what is in the traces, and as dropped what is in neither the traces nor the file. Waits at most a few
  /// seconds for the thread.
  void finish(const ProbeLayout& layout, std::span<std::byte> buffer);

  /// Returns notes for the launch's record of a specification.
  std::vector<std::string> notes(std::size_t specification) const;

 private:
  std::shared_ptr<Core> core_;  ///< shared with the thread
  std::vector<std::pair<std::size_t, std::string>> notes_;
};

/// Thread safe.
class TraceStreams {
 public:
  /// An empty path disables streaming. `patience`: how long a kernel waits while this process reads nothing.
  explicit TraceStreams(std::string path, std::chrono::nanoseconds patience = std::chrono::seconds(2));
  ~TraceStreams();
  TraceStreams(const TraceStreams&) = delete;
  TraceStreams& operator=(const TraceStreams&) = delete;

  bool is_on() const { return !path_.empty(); }
  /// True if the rings of active launches use much of the host's memory.
  bool is_crowded() const;

  /// Creates the rings of a launch; without memory for them it creates none, and notes() says so. Returns
  /// null if no specification has a trace that can be streamed. Does not access any file.
  std::unique_ptr<LaunchStreams> begin(const std::vector<engine::SpecificationPtr>& specifications,
                                       device::Device& device, const report::TraceDescription& description);

 private:
  struct Shared;
  bool start();
  const std::string path_;
  const std::chrono::nanoseconds patience_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::interposer
