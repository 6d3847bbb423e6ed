// How the words of memory are counted (countWords): the schemes of GMProf (Zheng et al., 2012, section 4),
// each of which can be switched, beside the exact one that is the default.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::cod {

struct WordScheme {
  /// Which accesses are spared their own update.
  enum class Analysis : std::uint8_t {
    replay,      ///< those whose addresses follow from the launch: the host adds them up, exactly
    none,        ///< GMProf-basic: none
    invariants,  ///< GMProf-SA: fully static, invariant to the thread, invariant to a loop
  };
  Analysis analysis = Analysis::replay;
  bool is_plain = false;  ///< NA: updates may be lost, counts are an estimate
  /// SM: counters of shared memory have so many bits and lie in the block's shared memory. 0: as declared,
  /// in device memory, unless spare_counters() are used.
  std::uint32_t shared_bits = 0;
  bool stays_global = false;    ///< no spare_counters()
  std::uint32_t threshold = 0;  ///< TH: counters stop there; 0: none
  std::uint32_t sample = 1;     ///< of so many accesses of a thread one is counted, and stands for all
  std::uint32_t seed = 1;       ///< of the random sequence that chooses them

  auto operator<=>(const WordScheme&) const = default;

  bool is_estimate() const { return is_plain || sample > 1; }

  /// The default's counters of 32 bits in a block's shared memory, for launches that have room to spare. As
  /// exact as those in device memory. Null: the scheme says by itself where its counters are.
  std::optional<WordScheme> spare_counters() const {
    if (*this != WordScheme{}) return std::nullopt;
    WordScheme spare;
    spare.shared_bits = 32;
    return spare;
  }
};

/// "static,plain,shared=8,threshold=255": names with commas between them, each once.
///
///   replay | basic | static    the analysis; replay is the default
///   plain                      without atomic operations; not with sample
///   shared=32 | 16 | 8         counters of fewer bits stop at their greatest number or a threshold
///   global                     counters in device memory, also where shared memory has room; not with shared
///   threshold[=N]              N from 1 to 2^31 - 1; 255 without a number
///   sample=N, seed=N           N from 2 on; the analysis is `basic` then
///
/// Empty: the default. Failure: what is wrong, and where in the text; `origin` names it, "LYNXPP_WORDS".
Result<WordScheme> parse_word_scheme(std::string_view text, const std::string& origin);

/// As parse_word_scheme() takes it; empty for the default.
std::string text_of(const WordScheme& scheme);

}  // namespace lynxpp::cod
