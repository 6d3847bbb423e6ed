// Memory of many launches: cleared by one call, and copied back by one call for all that are over. On the
// program's stream stands nothing but the kernel and an event.
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

/// Device memory of which the launches of one context take parts in turn, and as much pinned memory. Thread
/// safe.
class Arena {
 public:
  struct Memory {
    Pool::Block device;
    Pool::Block pinned;
    CUevent cleared = nullptr;  ///< behind the call that clears it
  };

  Arena(Arenas& owner, const Memory& memory, std::size_t bytes);
  /// When nobody uses a part any more its memory goes back to the owner, which uses it again when the
  /// launches are over; where nobody can know their end, it is given up.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Taken {
    std::size_t part = 0;
    std::uint64_t address = 0;
    bool is_cleared = false;
  };
  /// A part of so many bytes for a launch on the stream; nullopt when there is no room.
  std::optional<Taken> take(std::size_t bytes, CUstream stream);
  /// What is enqueued on `stream` from now on finds zeros.
  Status wait_until_cleared(CUstream stream);

  /// Records an event on the stream, behind what was enqueued for the part. False: the driver refuses, and
  /// nobody will know when that is over.
  bool enqueued(std::size_t part, CUstream stream);

  /// Whether the part's launch is over. An error of the query says nothing of it.
  bool is_over(std::size_t part);
  /// Whether its bytes have come to the host. Has them copied, with those of the launches that are over
  /// behind it, but waits no longer than a copy takes.
  bool has_come(std::size_t part);
  /// Waits for the launch and the copy.
  Result<std::span<std::byte>> wait(std::size_t part);
  /// No less than the part's launch took: since the one before it on its stream was over.
  std::optional<double> most_milliseconds(std::size_t part);

 private:
  struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CUstream stream = nullptr;
    CUevent done = nullptr;
    CUevent copied = nullptr;                ///< shared by the parts that are copied together
    std::optional<std::size_t> before = {};  ///< the last one enqueued on the stream when this one was taken
    bool is_used = false;
    bool is_over = false;
    bool has_come = false;
  };

  Part part_of(std::size_t part);
  /// Precondition of these: the arena's context is current.
  bool asks_whether_over(std::size_t part);
  /// Whether the part is one that is over and was not copied.
  bool goes_along(std::size_t part);
  /// Has the part, which is over, copied with those behind it that are, unless it has been.
  Status have_copied(std::size_t first);

  Arenas& owner_;
  const Memory memory_;
  const std::size_t bytes_;
  std::mutex copying_;  ///< one copy at a time; launches do not wait for it
  std::mutex mutex_;    ///< guards what follows; not held while the driver works
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

  struct Place {
    std::shared_ptr<Arena> arena;
    std::size_t part = 0;
    std::uint64_t address = 0;
  };

  /// Zeroed memory for a launch on the stream. The context is current.
  Result<Place> take(std::size_t bytes, CUstream stream);

 private:
  friend class Arena;

  Result<std::shared_ptr<Arena>> open(std::size_t bytes);
  std::optional<Arena::Memory> kept(std::size_t bytes);
  Status make_streams();
  Result<Arena::Memory> made(std::size_t bytes);
  /// An arena's that nobody uses any more, while launches are not over.
  struct Leaving {
    Arena::Memory memory;
    std::size_t used = 0;
    std::vector<CUevent> events;   ///< to give back
    std::vector<CUevent> awaited;  ///< of these
  };
  /// Clears what was used of it for the next launches, when it is over: now, or when the next arena is
  /// opened.
  void recycle(Leaving leaving);
  void recycle_what_is_over();
  void release(const Arena::Memory& memory);
  /// Gives the memory of all arenas that nobody uses to the driver. False: there was none.
  bool release_kept();

  const Driver& driver_;
  Pool& pool_;
  std::mutex mutex_;  // guards what follows; not held while the driver works
  std::shared_ptr<Arena> open_;
  std::vector<Arena::Memory> kept_;
  std::vector<Leaving> leaving_;
  std::size_t kept_bytes_ = 0;
  std::size_t next_size_ = 0;
  /// Of their own: clearing needs a place on an SM, which a kernel of the program may hold until the host
  /// does something, and the copies that the host waits for must not stand behind that.
  CUstream clearing_ = nullptr;
  CUstream copying_ = nullptr;
};

/// A launch whose memory is a part of an arena.
std::unique_ptr<Buffer> make_buffer(const Driver& driver, Pool& pool, Arenas::Place place, CUstream stream);
/// Something that uses the memory of such a buffer has been enqueued.
void note_use(Buffer& buffer);
/// … enqueued; its readback. Failure: nobody can know when it is over.
Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer);

}  // namespace lynxpp::device::cuda
