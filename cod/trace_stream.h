// A trace whose entries leave the device while its kernel runs: the protocol between kernel and host.
//
// A launch of a variant that can stream (DeviceTarget::streams_traces) gives each trace a ring in host
// memory that the device writes, and describes it in the 64 bytes that start with the trace's counter. An
// entry's number is the counter's value before the entry was appended. Entry `number` goes to slot `number %
// entries` of the ring after the previous entry of that slot was consumed; the host counts the entries that
// it has consumed, in order, in StreamRing::consumed. A lane that finds its slot occupied waits. If the host
// consumes nothing for the duration of the patience, no lane waits again in this launch, and entries without
// a free slot are not streamed. Therefore nothing that the host waits for while it consumes entries may
// itself wait for the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::cod {

struct TraceStream {
  struct Field {
    std::string name;          ///< same as in the trace's table; "value" for a trace of numbers
    std::uint32_t array = 0;   ///< in Specification::arrays(): determines the type
    std::uint32_t offset = 0;  ///< byte offset in an entry of the ring
  };
  std::string name;
  std::uint32_t counter = 0;      ///< in Specification::arrays(): the number of appended entries
  std::uint64_t capacity = 0;     ///< entries below this number are also in the trace's own arrays
  std::uint32_t entry_bytes = 0;  ///< in the ring, a multiple of 8
  std::vector<Field> fields;
};

/// In device memory at the counter. If the launch does not stream, all but `appended` are zero.
struct StreamControl {
  std::uint64_t appended = 0;
  std::uint64_t ring = 0;                  ///< address of a StreamRing
  std::uint64_t entries = 0;               ///< size of the ring, a power of two, at least 64
  std::uint64_t patience_nanoseconds = 0;  ///< by %globaltimer
  std::uint64_t consumed = 0;              ///< the device's copy of StreamRing::consumed, possibly stale
  std::uint64_t gave_up = 0;               ///< nonzero: lanes do not wait any more
};

/// In host memory, followed by the entries. The first 8 bytes of each are its number + 1 once it is complete,
/// which is unique among all entries of the launch in the same slot.
struct alignas(64) StreamRing {
  std::uint64_t consumed = 0;  ///< entries that the host has consumed
};

/// The result of append() if an entry is neither in the trace's arrays nor in the ring.
inline constexpr std::uint64_t not_kept = ~std::uint64_t{0};

/// Traces with fewer entries keep the first ones and are never streamed.
inline constexpr std::uint64_t least_streamed_entries = 64;

}  // namespace lynxpp::cod
