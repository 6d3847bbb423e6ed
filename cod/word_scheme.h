// How memory words are counted (countWords): exactly by default, or by GMProf's schemes, whose names are in
// instrumentors/gmprof/schemes.h.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

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

  /// True if counts are neither estimates nor limited.
  bool is_exact() const { return !is_plain && threshold == 0 && sample == 1; }

  /// The default's 32-bit counters in the block's shared memory, for launches with enough unused shared
  /// memory. As exact as those in device memory. nullopt if the scheme determines where its counters are.
  std::optional<WordScheme> spare_counters() const {
    if (*this != WordScheme{}) return std::nullopt;
    WordScheme spare;
    spare.shared_bits = 32;
    return spare;
  }
};

}  // namespace lynxpp::cod
