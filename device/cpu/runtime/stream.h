// Streams, events, graph captures and the operations in streams.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/cpu/runtime/graphs/graph.h"

namespace lynxpp::device::cpu {

struct Stream;

/// A graph capture. Streams that wait for an event of a captured stream join the capture. After a capture is
/// invalidated, its streams execute nothing until the program ends it, because work meant for the graph must
/// not run directly.
struct Capture {
  const Stream* origin = nullptr;  ///< never dereferenced: it may be destroyed
  std::uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  std::map<const Stream*, std::vector<GraphNode*>> ends;  ///< dependencies of each stream's next node
  bool invalidated = false;
  bool ended = false;
};

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  /// Hints that the program set; guarded by Streams.
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes;
  std::size_t unfinished = 0;        ///< number of operations; guarded by Streams
  std::shared_ptr<Capture> capture;  ///< guarded by Streams

  bool is_blocking() const { return !is_legacy && (flags & cudaStreamNonBlocking) == 0; }
};

/// Work in a stream. Its members belong to Streams.
struct Operation {
  enum class Kind {
    work,    ///< runs on a thread of the device, unless a kernel has failed
    always,  ///< runs there even after a kernel has failed
    mark,    ///< a position in the stream, with little or no work
    turn,    ///< executed by the thread that waits for it
  };
  bool has_thread() const { return kind == Kind::work || kind == Kind::always; }

  Kind kind = Kind::mark;
  std::function<void()> work;
  std::shared_ptr<Stream> stream;
  std::size_t waits_for = 0;  ///< number of pending operations it depends on
  std::vector<std::shared_ptr<Operation>> dependents;
  std::atomic<bool> done = false;
  bool is_awaited = false;  ///< true if a thread sleeps until it is done
  std::chrono::steady_clock::time_point finished;
  double modelled_finish = 0;  ///< in modelled seconds, if time is modelled
};
using OperationPtr = std::shared_ptr<Operation>;

struct Event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  OperationPtr mark;                      ///< position of the last record, or null; guarded by Streams
  std::shared_ptr<Capture> capture;       ///< capture of the last record; guarded by Streams
  std::vector<GraphNode*> captured_ends;  ///< nodes that the record follows
};

}  // namespace lynxpp::device::cpu
