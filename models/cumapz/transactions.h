// What the memories make of the accesses of lanes that are served together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::cumapz {

struct Transaction {
  std::int64_t address = 0;  ///< a multiple of `bytes`
  std::uint32_t bytes = 0;
};

/// The largest transaction there is: addresses that differ by a multiple of it are served alike.
constexpr std::int64_t largest_transaction = 128;

/// Of one access group's lanes, in the order of the lanes; `addresses` in bytes, each a multiple of the
/// element's size. With segments: the lowest lane's segment of 32 (elements of one byte), 64 (two) or 128
/// bytes, halved while all lanes in it keep to one half, then the lowest lane that is left.
std::vector<Transaction> transactions(const GlobalMemory& memory, std::span<const std::int64_t> addresses,
                                      std::uint32_t element_bytes);

/// How many times one after the other shared memory serves an access group: 1 without conflicts. Lanes that
/// want one word share it; words beyond the banks' number are no conflict.
std::uint32_t serialised(const SharedMemory& memory, std::span<const std::int64_t> addresses,
                         std::uint32_t element_bytes);

/// The channel that an address lies in.
std::uint32_t channel_of(const GlobalMemory& memory, std::int64_t address);

}  // namespace lynxpp::models::cumapz
