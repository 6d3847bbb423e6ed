// Memory transactions and bank conflicts of lanes that are served together.
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

/// Size of the largest transaction: addresses that differ by a multiple of it behave identically.
constexpr std::int64_t largest_transaction = 128;

/// Returns the transactions of one access group, in order of lanes; `addresses` are in bytes, each a multiple
/// of the element size. With segments: the lowest lane's segment of 32 (1-byte elements), 64 (2-byte
/// elements) or 128 bytes, halved while all its lanes are in one half, then the lowest remaining lane.
std::vector<Transaction> transactions(const GlobalMemory& memory, std::span<const std::int64_t> addresses,
                                      std::uint32_t element_bytes);

/// Returns the number of sequential turns in which shared memory serves an access group: 1 without conflicts.
/// Lanes that access the same word share it; words beyond the number of banks are not a conflict.
std::uint32_t serialised(const SharedMemory& memory, std::span<const std::int64_t> addresses,
                         std::uint32_t element_bytes);

/// Returns the channel of an address.
std::uint32_t channel_of(const GlobalMemory& memory, std::int64_t address);

}  // namespace lynxpp::models::cumapz
