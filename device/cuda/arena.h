// Memory shared by many launches: one call clears it, and one call copies back all launches that are over.
// The program's stream only gets the kernel and an event.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/device.h"
#include "support/result.h"

namespace lynxpp::device::cuda {

class Arenas;

/// A block of device memory and an equal block of pinned memory, from which launches of one context take
/// consecutive parts. Thread safe.
class Arena {
 public:
  struct Memory {
    Pool::Block device;
    Pool::Block pinned;
    CUevent cleared = nullptr;  ///< recorded after clearing
  };

  Arena(Arenas& owner, const Memory& memory, std::size_t bytes);
  /// Returns the memory to the owner, which reuses it when the launches are over; if their end cannot be
  /// observed, the memory is abandoned.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Taken {
    std::size_t part = 0;
    std::uint64_t address = 0;
    bool is_cleared = false;
  };
  /// Takes `bytes` for a launch; nullopt if the arena is full.
  std::optional<Taken> take(std::size_t bytes);
  /// Makes `stream` wait until the memory is zeroed.
  Status wait_until_cleared(CUstream stream);

  /// Records an event on the stream before the part's launch, for max_milliseconds().
  void begins(std::size_t part, CUstream stream);
  /// Records an event on the stream after the part's work. False: the driver failed, and the end of that work
  /// cannot be observed.
  bool enqueued(std::size_t part, CUstream stream);
  /// The part's launches are known to be over; no event is needed.
  void ended(std::size_t part);

  /// True if the part's launch is over; false if the query fails.
  bool is_over(std::size_t part);
  /// True if the part's bytes are on the host. Starts the copy, including following parts that are over, and
  /// polls for it only briefly.
  bool is_on_host(std::size_t part);
  /// Waits for the launch and the copy.
  Result<std::span<std::byte>> wait(std::size_t part);
  /// Returns an upper bound of the launch's time: the time since it was made and earlier work in its stream
  /// ended. nullopt without begins().
  std::optional<double> max_milliseconds(std::size_t part);

 private:
  struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CUevent begun = nullptr;  ///< null: its time is not wanted
    CUevent done = nullptr;
    CUevent copied = nullptr;  ///< shared by the parts of one copy
    bool is_used = false;
    bool is_over = false;
    bool is_on_host = false;
  };

  Part part_of(std::size_t part);
  /// Precondition of these: the arena's context is current.
  bool query_over(std::size_t part);
  /// True if the part is over and not copied.
  bool is_copyable(std::size_t part);
  /// Copies the part, which is over, and the following parts that are over, unless it is already copied.
  Status ensure_copied(std::size_t first);

  Arenas& owner_;
  const Memory memory_;
  const std::size_t bytes_;
  std::mutex copying_;  ///< serializes copies; launches do not wait for it
  std::mutex mutex_;    ///< guards the members below; released during driver calls
  bool is_cleared_ = false;
  std::size_t used_ = 0;
  std::vector<Part> parts_;
  std::vector<CUevent> copies_;
};

/// The arenas of a context.
class Arenas {
 public:
  Arenas(const Driver& driver, Pool& pool) : driver_(driver), pool_(pool) {}
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  struct Part {
    std::shared_ptr<Arena> arena;
    std::size_t index = 0;
    std::uint64_t address = 0;
  };

  /// Returns zeroed memory for a launch on the stream. Precondition: the context is current.
  Result<Part> take(std::size_t bytes, CUstream stream);

 private:
  friend class Arena;

  Result<std::shared_ptr<Arena>> open(std::size_t bytes);
  std::optional<Arena::Memory> kept(std::size_t bytes);
  Status make_streams();
  Result<Arena::Memory> made(std::size_t bytes);
  /// Memory of an unused arena whose launches may still be running.
  struct Leaving {
    Arena::Memory memory;
    std::size_t used = 0;
    std::vector<CUevent> events;   ///< to return to the pool
    std::vector<CUevent> awaited;  ///< the ones to wait for
  };
  /// Clears and keeps the memory if its launches are over; otherwise the next open() tries again.
  void recycle(Leaving leaving);
  void recycle_finished();
  void release(const Arena::Memory& memory);
  /// Returns the memory of all unused arenas to the driver. False: there was none.
  bool release_kept();

  const Driver& driver_;
  Pool& pool_;
  std::mutex mutex_;  // guards the members below; released during driver calls
  std::shared_ptr<Arena> open_;
  std::vector<Arena::Memory> kept_;
  std::vector<Leaving> leaving_;
  std::size_t kept_bytes_ = 0;
  std::size_t next_size_ = 0;
  /// Separate streams: clearing needs resources of an SM, which a kernel of the program may occupy until the
  /// host acts, and copies that the host awaits must not queue after that.
  CUstream clearing_ = nullptr;
  CUstream copying_ = nullptr;
};

/// Returns a buffer in an arena's part.
std::unique_ptr<Buffer> make_buffer(const Driver& driver, Pool& pool, Arenas::Part part, CUstream stream);
/// Records the time before the launch on its stream, for Readback::max_milliseconds().
void note_begin(Buffer& buffer);
/// Records that work using the buffer's memory has been enqueued.
void note_use(Buffer& buffer);
/// Records the end of the launch and returns its readback. Fails if the end cannot be observed.
Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer);
/// Device::read_back_shared()
Result<std::unique_ptr<Readback>> read_back_shared(std::unique_ptr<Buffer>& buffer, bool after_launch);

}  // namespace lynxpp::device::cuda
