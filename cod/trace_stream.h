// A trace whose entries leave the device while its kernel runs, and what the kernel and the host agree on.
//
// Whoever launches a variant that can stream (DeviceTarget::streams_traces) gives each trace a ring in memory
// of the host that the device writes, and says so in the 64 bytes that begin with the trace's counter. An
// entry's number is the counter's value before it was appended; entry `number` goes to place
// `number % entries` of the ring, once the entry before it there has been taken: the host counts in
// StreamRing::taken what it has taken, in order. A lane that finds no room waits, but no longer than the
// patience without the host's taking anything; from then on nobody waits in this launch, and what has no room
// is not streamed. So the host must not be waited for by anything that it waits for itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::cod {

struct TraceStream {
  struct Field {
    std::string name;          ///< as in the table of the trace; of a trace of numbers "value"
    std::uint32_t array = 0;   ///< in Specification::arrays(): says the type
    std::uint32_t offset = 0;  ///< bytes from the beginning of an entry in the ring
  };
  std::string name;
  std::uint32_t counter = 0;      ///< in Specification::arrays(): how many have been appended
  std::uint64_t capacity = 0;     ///< the first entries, which are in the trace's own arrays, too
  std::uint32_t entry_bytes = 0;  ///< in the ring, a multiple of 8
  std::vector<Field> fields;
};

/// In device memory at the counter; all but `appended` is zero where the launch does not stream.
struct StreamControl {
  std::uint64_t appended = 0;
  std::uint64_t ring = 0;                  ///< address of a StreamRing
  std::uint64_t entries = 0;               ///< of the ring, a power of two, 64 or more
  std::uint64_t patience_nanoseconds = 0;  ///< by %globaltimer
  std::uint64_t taken = 0;                 ///< the device's copy of StreamRing::taken, perhaps an older one
  std::uint64_t gave_up = 0;               ///< not 0: nobody waits any more
};

/// In memory of the host; the entries follow. The first 8 bytes of each are its number + 1 once it is
/// complete, which no other entry of the launch in the same place had.
struct alignas(64) StreamRing {
  std::uint64_t taken = 0;  ///< entries that the host has taken
};

/// What append() gives where an entry is neither in the trace's arrays nor in the ring.
inline constexpr std::uint64_t not_kept = ~std::uint64_t{0};

/// Traces of fewer entries keep the first ones of something, and are never streamed.
inline constexpr std::uint64_t least_streamed_entries = 64;

}  // namespace lynxpp::cod
