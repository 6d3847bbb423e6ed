// The order of execution of a checked launch where CUDA leaves it open, as a sequence of choices.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lynxpp::device::cpu {

/// The agent that a choice concerns.
struct Actor {
  static constexpr std::uint32_t whole_block = 0xffff'ffff;
  static constexpr std::uint32_t whole_cluster = 0xffff'fffe;
  std::uint32_t block = 0;           ///< number in the grid; of a cluster, its first block
  std::uint32_t warp = whole_block;  ///< number in the block

  auto operator<=>(const Actor&) const = default;
};

enum class ChoiceKind : std::uint8_t {
  rotation,    ///< warp of a block that takes its turn first; the last alternative is the reverse order
  delay,       ///< rounds that pass before the actor's next turn
  slice,       ///< length of a warp's turn
  rounds,      ///< rounds that a block runs before another block gets a turn
  side,        ///< side of a divergent branch that runs first
  completion,  ///< time at which an asynchronous operation takes effect
};

/// A choice other than alternative 0.
struct Deviation {
  ChoiceKind kind = ChoiceKind::delay;
  Actor actor;
  std::uint32_t occasion = 0;  ///< choices of this kind that the actor has made before
  std::uint32_t alternative = 0;
};

/// Makes the choices of one run of a launch. Alternative 0 is always what launches without a schedule do, and
/// each actor deviates a limited number of times, so every schedule is fair in the end. Not thread safe: a
/// checked launch runs on one thread. Example:
///
///     Schedule schedule(5);
///     if (schedule.choose(ChoiceKind::side, {block, warp}, 2) == 1) std::swap(sides[0], sides[1]);
class Schedule {
 public:
  /// Chooses pseudo-randomly, by the seed, which is at least 2: seed 1 is the order without a schedule.
  explicit Schedule(std::uint32_t seed);
  /// Repeats deviations of another schedule.
  explicit Schedule(const std::vector<Deviation>& deviations);

  /// Returns a number less than `alternatives`, which is not 0.
  std::uint32_t choose(ChoiceKind kind, Actor actor, std::uint32_t alternatives);
  const std::vector<Deviation>& deviations() const { return deviations_; }

 private:
  struct Key {
    ChoiceKind kind;
    Actor actor;
    auto operator<=>(const Key&) const = default;
  };
  struct History {
    std::uint32_t occasions = 0;
    std::uint32_t deviations = 0;
  };
  /// Frequencies of alternatives other than 0, in sixteenths.
  struct Profile {
    std::uint32_t rotations = 0;
    std::uint32_t delays = 0;
    std::uint32_t victims = 0;  ///< share of actors that are always delayed
    std::uint32_t slices = 0;
    std::uint32_t sides = 0;
    std::uint32_t completions = 0;
    bool is_extreme = false;  ///< takes the last alternatives for rotations, and the first for completions
  };
  static Profile profile_of(std::uint32_t seed);
  std::uint32_t pick(const Key& key, std::uint32_t occasion, std::uint32_t alternatives) const;

  const std::uint32_t seed_;  ///< 0: repeats
  const Profile profile_;
  std::map<Key, History> histories_;
  std::map<std::pair<Key, std::uint32_t>, std::uint32_t> repeated_;
  std::vector<Deviation> deviations_;
};

/// Alternatives of ChoiceKind::delay, in rounds.
inline constexpr std::uint32_t delay_rounds[] = {0, 1, 2, 4, 8, 32};
// Alternatives other than 0:
/// Lengths for ChoiceKind::slice, in segments that begin with an atomic, volatile or ordered access.
inline constexpr std::uint32_t slice_accesses[] = {1, 1, 2, 3, 5};
/// Numbers of rounds for ChoiceKind::rounds and, in rounds after the issue, ChoiceKind::completion.
inline constexpr std::uint32_t block_rounds[] = {1, 2, 8};
inline constexpr std::uint32_t completion_rounds[] = {0, 1, 3};

}  // namespace lynxpp::device::cpu
