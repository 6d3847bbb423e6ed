// Random programs whose threads wait for each other in every way there is, and what they compute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::device::cpu::test {

inline constexpr std::uint32_t waiting_threads = 64;
/// Words that a program's locks, sums and turns take.
inline constexpr std::uint32_t waiting_words = 16;

struct WaitingProgram {
  std::string text;  ///< the kernel `test(.param .u64 out, .param .u64 in, .param .u64 words)`
  std::vector<std::uint32_t> in;
  std::vector<std::uint32_t> expected;        ///< of `out`
  std::vector<std::uint32_t> expected_words;  ///< of `words`, which are 0 at first
};

/// Of one block of waiting_threads. Phases are loops that lanes leave at different times, locks between
/// lanes, turns that are handed on from thread to thread, votes and shuffles of lanes that have parted, loops
/// that a vote ends.
WaitingProgram random_waiting_program(std::uint32_t seed);

}  // namespace lynxpp::device::cpu::test
