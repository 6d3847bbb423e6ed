// Random programs whose threads wait for each other in all supported ways, and their results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::device::cpu::test {

inline constexpr std::uint32_t waiting_threads = 64;
/// Words for a program's locks, sums and turns.
inline constexpr std::uint32_t waiting_words = 16;

struct WaitingProgram {
  std::string text;  ///< the kernel `test(.param .u64 out, .param .u64 in, .param .u64 words)`
  std::vector<std::uint32_t> in;
  std::vector<std::uint32_t> expected;        ///< of `out`
  std::vector<std::uint32_t> expected_words;  ///< of `words`, which are 0 initially
};

/// Generates a program for one block of waiting_threads. Its phases are loops that lanes exit at different
/// times, locks between lanes, turns that threads pass to each other, votes and shuffles of diverged lanes,
/// and loops that a vote ends.
WaitingProgram random_waiting_program(std::uint32_t seed);

}  // namespace lynxpp::device::cpu::test
