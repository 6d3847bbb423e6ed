// A launch session's state, shared by the files that implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/graphs.h"
#include "interposer/session/session.h"

namespace lynxpp::interposer {

/// A kernel node of a graph that is being launched.
struct Session::GraphNode {
  std::size_t index = 0;  ///< index in GraphLaunch::kernels
  const GraphLaunch::Kernel* kernel = nullptr;
  Seen* seen = nullptr;
  std::uint64_t number = 0;  ///< among the kernel's launches
  bool is_wanted = false;    ///< its results are wanted
  device::Launch launch;
  report::ActivityRecord activity;
  KernelPtr made;           ///< null: the original runs
  std::uint64_t first = 0;  ///< offset in the graph's buffers
  PendingPtr pending;
};

/// An executable graph of the program, as the session launches it.
struct Session::Graph {
  /// The kernels it was created with: while these are unchanged, the graph is reused.
  struct Made {
    std::size_t index = 0;  ///< index in GraphLaunch::kernels
    KernelPtr kernel;
    std::uint64_t bytes = 0;
    std::uint32_t shared_bytes = 0;
    std::vector<std::uint64_t> probe;  ///< computed for buffers at address 0

    bool operator==(const Made&) const = default;
  };

  const device::Device* device = nullptr;  ///< compared only
  /// Version of the graph and of functions' attributes.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version;
  std::vector<Made> made;                      ///< guarded by Session::state_
  std::unique_ptr<device::ProgramGraph> runs;  // destroyed before the objects that it uses
  std::string problem;                         ///< why the graph runs without variants
  /// What runs of the graph if its kernels are timed; a failure: why they are not. nullopt: not known yet.
  std::optional<Result<std::span<const device::ProgramGraph::Part>>> parts;
  std::pair<std::uint64_t, std::uint64_t> version_of_parts;
  /// A refused graph may succeed when the driver has memory again: retries after 1, 2, 4, … launches.
  std::uint64_t launches_between = 1;
  std::uint64_t launches_since = 0;

  bool tries_again() {
    if (problem.empty()) return true;
    if (++launches_since < launches_between) return false;
    launches_between *= 2;
    launches_since = 0;
    return true;
  }
};

/// The program's waits collect results if more launches than this are outstanding.
inline constexpr std::size_t launches_left_to_worker = 1024;

/// During its lifetime, the thread is in the middle of a launch.
class Session::Launching {
 public:
  explicit Launching(Session& session) : session_(session) {
    ++session_.launching_;
    ++depth_;
  }
  ~Launching() {
    --depth_;
    --session_.launching_;
  }
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;

  static bool is_in_this_thread() { return depth_ != 0; }

 private:
  Session& session_;
  static thread_local int depth_;
};

}  // namespace lynxpp::interposer
