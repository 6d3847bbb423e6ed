// Random PTX kernels with defined results, and their expected output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"

namespace lynxpp::random_ptx {

inline constexpr std::size_t words_of_input = 16;  ///< per thread
inline constexpr std::size_t sum_count = 8;        ///< the first half are sums, the others maxima

/// `kernel(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u64 sums)`: each thread of a block
/// reads `words_of_input` words of `in`, by its index in the block, and writes `words_of_output` words of
/// `out`, by its index in the grid. `scratch` has `private_bytes` for each thread of the grid, all zero.
struct Program {
  std::string text;
  std::string kernel;  ///< its name
  std::uint32_t block[2] = {32, 1};
  std::size_t words_of_output = 0;
  std::vector<Word> in;        ///< per block
  std::vector<Word> expected;  ///< per block
  std::vector<Word> sums;      ///< contribution of one block

  std::uint32_t threads() const { return block[0] * block[1]; }
};

struct Wish {
  std::uint32_t seed = 1;
  std::uint32_t trips = 6;        ///< of outermost loops, at most
  std::uint32_t statements = 32;  ///< at the outermost level
};

/// Returns the same program for equal wishes on every platform. Device functions take their parameters in
/// registers if the seed is odd, in memory if it is even.
Program random_program(const Wish& wish);

}  // namespace lynxpp::random_ptx
