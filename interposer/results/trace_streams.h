// Streams the traces of launches to a file while their kernels run (LYNXPP_TRACE).
//
//   kernel ▶ ring in memory of the host ▶ a thread of its own ▶ report/trace/trace_file.h
//
// A kernel whose ring is full waits for that thread, which therefore waits for nothing but the disk: it takes
// no lock of the session's and calls no driver.
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

/// The rings of one launch. Destroyed when nothing on the device uses them any more.
class LaunchStreams {
 public:
  struct Core;
  explicit LaunchStreams(std::shared_ptr<Core> core);
  /// Without rings: why.
  LaunchStreams(std::shared_ptr<Core> core, std::size_t specifications, const std::string& problem);
  /// Waits for the thread as finish() does.
  ~LaunchStreams();
  LaunchStreams(const LaunchStreams&) = delete;
  LaunchStreams& operator=(const LaunchStreams&) = delete;

  /// What is written to the launch's buffer before it is made: at the counter of each stream. Valid as long
  /// as this.
  std::vector<device::BufferWrite> writes(const ProbeLayout& layout) const;

  /// The launch is over. `buffer` is what it left, where it ended well: the counters of its traces then say
  /// what is in them, and as dropped what is neither there nor in the file. Waits for the thread no longer
  /// than some seconds.
  void finish(const ProbeLayout& layout, std::span<std::byte> buffer);

  /// For the launch's record of a specification.
  std::vector<std::string> notes(std::size_t specification) const;

 private:
  std::shared_ptr<Core> core_;  ///< shared with the thread
  std::vector<std::pair<std::size_t, std::string>> notes_;
};

/// Thread safe.
class TraceStreams {
 public:
  /// With an empty path nothing is streamed. `patience`: of kernels with this process's taking nothing.
  explicit TraceStreams(std::string path, std::chrono::nanoseconds patience = std::chrono::seconds(2));
  ~TraceStreams();
  TraceStreams(const TraceStreams&) = delete;
  TraceStreams& operator=(const TraceStreams&) = delete;

  bool is_on() const { return !path_.empty(); }
  /// Whether so many launches are under way that their rings take much of the host's memory.
  bool is_crowded() const;

  /// Rings for a launch, none where there is no memory for them, which notes() then says. Null: no
  /// specification has a trace that can be streamed. Touches no file.
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
