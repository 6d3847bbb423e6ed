#include "interposer/results/trace_streams.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "interposer/owned_mutex.h"
#include "support/background_thread.h"
#include "support/log.h"

namespace lynxpp::interposer {
namespace {

constexpr std::uint64_t ring_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t most_launches = 16;
/// Limit on waiting for the thread, which may be waiting for a disk.
constexpr std::chrono::seconds patience_with_disk(5);
/// Pause between two polls of empty rings.
constexpr std::chrono::microseconds shortest_rest(100);
constexpr std::chrono::microseconds longest_rest(2000);

}  // namespace

struct LaunchStreams::Core {
  struct Ring {
    std::size_t specification = 0;
    std::unique_ptr<RingReader> reader;
  };

  Core(const std::string& file, std::atomic<std::uint64_t>& launches) : path(file), under_way(launches) {
    ++under_way;
  }
  ~Core() { --under_way; }

  OwnedMutex<std::timed_mutex> mutex{LockRank::traces};
  /// Empty: the launch is over. begin() fills it before the thread knows the launch.
  std::vector<Ring> rings;
  std::vector<cod::StreamControl> controls;
  const std::string path;
  std::atomic<std::uint64_t>& under_way;
};

struct TraceStreams::Shared {
  explicit Shared(std::string path) : file(std::move(path)) {}

  using CorePtr = std::shared_ptr<LaunchStreams::Core>;

  /// Returns false if there was nothing to read.
  static bool take(LaunchStreams::Core& core, bool& is_over) {
    if (!core.mutex.try_lock()) return false;
    const Lock lock(core.mutex, std::adopt_lock);
    is_over = core.rings.empty();
    bool is_some = false;
    for (const LaunchStreams::Core::Ring& ring : core.rings) is_some |= ring.reader->take();
    return is_some;
  }

  void run() {
    std::chrono::microseconds pause = shortest_rest;
    Lock lock(mutex);
    while (!is_stopped) {
      changed.wait(lock, [&]() LYNXPP_REQUIRES(mutex) { return !cores.empty() || is_stopped; });
      const std::vector<CorePtr> now = cores;
      lock.unlock();
      bool is_some = false;
      std::vector<CorePtr> over;
      for (const CorePtr& core : now) {
        bool is_over = false;
        is_some |= take(*core, is_over);
        if (is_over) over.push_back(core);
      }
      pause = is_some ? shortest_rest : std::min(2 * pause, longest_rest);
      if (!is_some) std::this_thread::sleep_for(pause);
      lock.lock();
      for (const CorePtr& core : over) std::erase(cores, core);
    }
    is_through = true;
    changed.notify_all();
  }

  /// Contains all failures: they would hit the program's process.
  void run_safely() {
    try {
      run();
    } catch (const std::exception& error) {
      log().error("streaming of traces has ended: {}", error.what());
      const Lock lock(mutex);
      is_through = true;
      changed.notify_all();
    }
  }

  report::TraceFile file;
  std::atomic<std::uint64_t> under_way = 0;
  OwnedMutex<std::mutex> mutex{LockRank::leaf};  ///< not held during input or output
  std::condition_variable_any changed;
  std::vector<CorePtr> cores LYNXPP_GUARDED_BY(mutex);
  bool is_started LYNXPP_GUARDED_BY(mutex) = false;
  bool is_stopped LYNXPP_GUARDED_BY(mutex) = false;
  bool is_through LYNXPP_GUARDED_BY(mutex) = false;
};

LaunchStreams::LaunchStreams(std::shared_ptr<Core> core) : core_(std::move(core)) {}

LaunchStreams::LaunchStreams(std::shared_ptr<Core> core, std::size_t specifications,
                             const std::string& problem)
    : core_(std::move(core)) {
  core_->rings.clear();
  for (std::size_t i = 0; i < specifications; ++i)
    notes_.emplace_back(i, "this launch's traces were not streamed: " + problem);
}

LaunchStreams::~LaunchStreams() {
  const std::unique_lock lock(core_->mutex, patience_with_disk);
  // The thread may still be reading, so the rings are never destroyed.
  if (!lock) static_cast<void>(new std::shared_ptr<Core>(core_));
  if (lock) core_->rings.clear();
}

std::vector<device::BufferWrite> LaunchStreams::writes(const ProbeLayout& layout) const {
  std::vector<device::BufferWrite> all;
  for (std::size_t i = 0; i < core_->rings.size(); ++i) {
    const Core::Ring& ring = core_->rings[i];
    const std::uint64_t offset =
        layout.specifications[ring.specification].arrays[ring.reader->stream().counter].first;
    all.push_back({offset, std::as_bytes(std::span(&core_->controls[i], 1))});
  }
  return all;
}

void LaunchStreams::finish(const ProbeLayout& layout, std::span<std::byte> buffer) {
  const std::unique_lock lock(core_->mutex, patience_with_disk);
  if (!lock) return notes_.emplace_back(0, "the disk is too slow: the end of the traces is lost"), void();
  for (const Core::Ring& ring : core_->rings) {
    RingReader& reader = *ring.reader;
    if (buffer.empty()) {
      reader.finish(std::nullopt);
      continue;
    }
    const cod::TraceStream& stream = reader.stream();
    std::byte* const counter =
        buffer.data() + layout.specifications[ring.specification].arrays[stream.counter].first;
    std::uint64_t appended = 0;
    std::memcpy(&appended, counter, sizeof appended);
    reader.finish(appended);
    const std::uint64_t lost = reader.lost(appended);
    const std::uint64_t told = lost == 0 ? std::min(appended, stream.capacity) : stream.capacity + lost;
    std::memcpy(counter, &told, sizeof told);
    if (reader.written_beyond() != 0) {
      notes_.emplace_back(ring.specification, "'" + stream.name +
                                                  "': " + std::to_string(reader.written_beyond()) +
                                                  " more entries are in " + core_->path);
    }
    if (!reader.problem().empty()) {
      notes_.emplace_back(ring.specification, "'" + stream.name + "': " + reader.problem());
    } else if (reader.written() != appended) {
      notes_.emplace_back(ring.specification,
                          "'" + stream.name + "': " + std::to_string(appended - reader.written()) +
                              " entries were not streamed: they arrived faster than they could be written");
    }
  }
}

std::vector<std::string> LaunchStreams::notes(std::size_t specification) const {
  std::vector<std::string> found;
  for (const auto& [of, note] : notes_) {
    if (of == specification) found.push_back(note);
  }
  return found;
}

TraceStreams::TraceStreams(std::string path, std::chrono::nanoseconds patience)
    : path_(std::move(path)), patience_(patience), shared_(std::make_shared<Shared>(path_)) {}

TraceStreams::~TraceStreams() {
  Lock lock(shared_->mutex);
  shared_->is_stopped = true;
  shared_->changed.notify_all();
  if (shared_->is_started)
    shared_->changed.wait_for(lock, patience_with_disk,
                              [&]() LYNXPP_REQUIRES(shared_->mutex) { return shared_->is_through; });
}

bool TraceStreams::is_crowded() const { return shared_->under_way >= most_launches; }

std::unique_ptr<LaunchStreams> TraceStreams::begin(
    const std::vector<engine::SpecificationPtr>& specifications, device::Device& device,
    const report::TraceDescription& description) {
  std::shared_ptr<LaunchStreams::Core> core;
  for (std::size_t i = 0; i < specifications.size(); ++i) {
    for (const cod::TraceStream& stream : specifications[i]->streams()) {
      if (core == nullptr) core = std::make_shared<LaunchStreams::Core>(path_, shared_->under_way);
      const std::uint64_t entries = RingReader::entries_of(stream, ring_bytes);
      Result<std::unique_ptr<device::HostMemory>> memory =
          device.host_memory(RingReader::bytes_of(stream, entries));
      if (!memory)
        return std::make_unique<LaunchStreams>(std::move(core), specifications.size(),
                                               memory.error().diagnostics.front().message);
      core->rings.push_back({i, std::make_unique<RingReader>(*specifications[i], stream, std::move(*memory),
                                                             description, shared_->file)});
      core->controls.push_back(core->rings.back().reader->control(patience_));
    }
  }
  if (core == nullptr) return nullptr;
  if (!start())
    return std::make_unique<LaunchStreams>(std::move(core), specifications.size(),
                                           "cannot start the thread that reads the entries");
  const Lock lock(shared_->mutex);
  shared_->cores.push_back(core);
  shared_->changed.notify_all();
  return std::make_unique<LaunchStreams>(std::move(core));
}

/// Starts the thread, once. Returns false if it cannot be started.
bool TraceStreams::start() {
  const Lock lock(shared_->mutex);
  if (shared_->is_through) return false;
  if (std::exchange(shared_->is_started, true)) return true;
  shared_->is_started = start_background_thread([shared = shared_] { shared->run_safely(); }).ok();
  return shared_->is_started;
}

}  // namespace lynxpp::interposer
