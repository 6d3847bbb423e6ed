// How memory words are counted (countWords): the schemes of GMProf (Zheng et al., 2012, section 4), each of
// which can be enabled, and the exact default.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::cod {

struct WordScheme {
  /// Accesses that need no update of their own.
  enum class Analysis : std::uint8_t {
    replay,      ///< those whose addresses are determined by the launch: the host adds them up, exactly
    none,        ///< GMProf-basic: every access is updated
    invariants,  ///< GMProf-SA: fully static, thread-invariant, loop-invariant
  };
  Analysis analysis = Analysis::replay;
  bool is_plain = false;  ///< NA: updates may be lost, counts are estimates
  /// SM: counters of shared memory have this many bits and are in the block's shared memory. 0: as declared,
  /// in device memory, unless spare_counters() are used.
  std::uint32_t shared_bits = 0;
  bool stays_global = false;    ///< disables spare_counters()
  std::uint32_t threshold = 0;  ///< TH: counters saturate here; 0: no limit
  std::uint32_t sample = 1;     ///< one of this many accesses of a thread is counted and represents all
  std::uint32_t seed = 1;       ///< of the random sequence that selects them

  auto operator<=>(const WordScheme&) const = default;

  /// The default's 32-bit counters in the block's shared memory, for launches with enough unused shared
  /// memory. As exact as those in device memory. nullopt if the scheme determines where its counters are.
  std::optional<WordScheme> spare_counters() const {
    if (*this != WordScheme{}) return std::nullopt;
    WordScheme spare;
    spare.shared_bits = 32;
    return spare;
  }
};

/// Parses "static,plain,shared=8,threshold=255": comma-separated names, each at most once.
///
///   replay | basic | static    the analysis; replay is the default
///   plain                      without atomic operations; not with sample
///   shared=32 | 16 | 8         narrow counters saturate at their maximum or a threshold
///   global                     counters in device memory even if shared memory has room; not with shared
///   threshold[=N]              N from 1 to 2^31 - 1; 255 without a number
///   sample=N, seed=N           N of at least 2; implies `basic`
///
/// Empty: the default. Fails with what is wrong and where in the text; `origin` names the text,
/// "LYNXPP_WORDS".
Result<WordScheme> parse_word_scheme(std::string_view text, const std::string& origin);

/// The inverse of parse_word_scheme(); empty for the default.
std::string text_of(const WordScheme& scheme);

}  // namespace lynxpp::cod
