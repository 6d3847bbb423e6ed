// Chooses which variant of a kernel each of its launches runs, so that a few tens of launches show what each
// class of operations costs and which source lines cause it.
//
//   Schedule schedule({{.groups = {{120}, {131, 132}}}, {.groups = {{140}}, .has_harmless = false}}, {});
//   while (const std::optional<TrialId> id = schedule.next()) {
//     const Variant& variant = schedule.variant(*id);   // what to launch
//     schedule.add(*id, launch(variant));               // may also come several launches later
//   }
//
// Rounds launch the original, then the variants of every class that is not decided yet; the order alternates
// so that drifts cancel. A class is decided if it surely costs less than `Budget::relevant` or its interval
// is narrow. Then lines: the groups of lines of the most expensive class are halved while a half explains a
// cost above `Budget::relevant`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/limits/gain.h"

namespace lynxpp::models::limits {

/// Identifies a variant of one Schedule. New ones appear while it halves groups of lines.
using TrialId = std::uint32_t;
inline constexpr TrialId native_trial = 0;

/// A class of operations that the kernel contains.
struct ClassOfOperations {
  /// Its sites, as groups of PTX lines that are tried together: those of one source line. Neighbours in the
  /// source are neighbours here. With fewer than two groups, lines are not tried.
  std::vector<std::vector<std::uint32_t>> groups;
  bool has_harmless = true;  ///< false: `again` is compared with the original
  bool has_pattern = false;  ///< true: `again` is compared with the original, although it has `harmless`
  bool is_timed = true;      ///< false: the variant counts; one launch suffices
  bool is_baseline = false;  ///< true: `again` is launched whenever the original is
};

enum class TrialForm : std::uint8_t { native, again, harmless };

/// The code that a launch runs.
struct Variant {
  TrialForm form = TrialForm::native;
  std::size_t class_index = 0;       ///< index in the Schedule's classes; 0 for native
  std::vector<std::uint32_t> lines;  ///< PTX lines, ascending; empty: all sites of the class
};

/// Limits of a schedule.
struct Budget {
  std::size_t class_launches = 60;  ///< at most this many launches for classes, native ones included
  std::size_t line_launches = 60;   ///< at most this many for lines
  double relevant = 0.03;           ///< gains below this fraction are not pursued
  bool is_deterministic = false;    ///< a modelled clock: one measurement of each variant is enough
};

/// The schedule of one kernel and launch shape. Not thread safe.
class Schedule {
 public:
  Schedule(std::vector<ClassOfOperations> classes, Budget budget);

  /// Returns what the next launch runs; nullopt once nothing is left to try. Returns native_trial while it
  /// waits for times on which the next step depends.
  std::optional<TrialId> next();

  /// The reference is valid as long as the schedule.
  const Variant& variant(TrialId id) const;

  /// Adds the time of a launch that next() chose. Times of one variant arrive in the order of its launches. A
  /// time that is not finite and above 0 says that the launch could not be measured.
  void add(TrialId id, double ms);

  /// Abandons a variant that cannot be made, and with it the class or lines that need it.
  void drop(TrialId id);

 private:
  enum class State : std::uint8_t { active, decided, dropped };
  /// Some operations whose cost is tried: all of a class, or those of some of its groups.
  struct Part {
    std::size_t class_index = 0;
    std::optional<std::size_t> parent = {};  ///< for a half: the Part that was split
    std::size_t begin = 0, end = 0;          ///< its groups
    TrialId again = native_trial, harmless = native_trial;
    State state = State::active;
    bool was_split = false;
    std::optional<Gain> gain = {};
  };

  TrialId add_variant(Variant variant);
  void add_part(Part part, const std::vector<std::uint32_t>& lines);
  TrialId choose(TrialId id);
  void append(TrialId id, std::deque<TrialId>& round) const;
  bool plan_round();
  std::optional<double> noise() const;
  void decide();
  bool is_decided(const Part& part) const;
  bool is_consistent(std::size_t parent) const;
  bool waits(const Part& part) const;
  bool wants_launches(const Part& part) const;
  bool split_most_expensive();

  const std::vector<ClassOfOperations> classes_;
  const Budget budget_;
  std::deque<Variant> variants_;
  // By TrialId:
  std::vector<std::vector<double>> times_;
  std::vector<std::size_t> chosen_;
  std::vector<std::size_t> outstanding_;  ///< launches whose time has not arrived
  std::vector<Part> parts_;
  std::deque<TrialId> round_;  ///< rest of the current round
  std::size_t remaining_;      ///< launches that the budget of classes, or that of lines, still allows
  std::size_t rounds_ = 0;
  bool tries_lines_ = false;
};

}  // namespace lynxpp::models::limits
