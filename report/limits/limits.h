// Limits of a kernel, computed from the records of its trials: what each class of operations costs it.
//
//   for (const KernelLimits& kernel : limits_of(trials, devices)) text += limits_text(kernel, width);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/limits/gain.h"
#include "report/record.h"

namespace lynxpp::report {

using models::limits::Gain;

/// A source line that a class of operations appears in.
struct LimitLocation {
  std::string file;  ///< without folders; empty: unknown
  std::uint64_t line = 0;
  std::uint64_t ptx_line = 0;
  std::vector<std::string> opcodes;  ///< different ones, in order of appearance

  /// Returns "transpose.cu:24", or "PTX line 31".
  std::string text() const;
  bool operator==(const LimitLocation&) const = default;
};

/// Upper bounds of the gain of changing a class of operations, as shares of the kernel's time.
struct Gains {
  Gain gain;                    ///< if the operations are removed
  std::optional<Gain> pattern;  ///< of memory accesses and atomics: if their pattern becomes harmless
  /// Global accesses: if loads of values that the block has loaded before become loads of shared memory.
  std::optional<Gain> reuse = {};

  /// Returns the gain of the findings' remedies, which change the access pattern of operations that have one.
  const Gain& of_remedy() const { return pattern ? *pattern : gain; }
};

/// Some lines whose operations were tried together.
struct LineLimit : Gains {
  std::vector<LimitLocation> locations;
};

enum class Verdict {
  limited,      ///< removing the cost surely gains something
  unclear,      ///< more launches are needed
  not_limited,  ///< surely not worth a change
};
/// Gains below this fraction of the kernel's time are not worth a change.
inline constexpr double least_gain = 0.03;
Verdict verdict_of(const Gain& gain);

/// A limit of a kernel: a class of operations that was tried, or
///   waiting       time that the most expensive class does not explain
///   divergence    idle lanes: the costs of the classes, each times the share of its lanes that are idle
///   more-registers, fewer-registers   what another limit of registers gains, measured
struct Limit : Gains {
  std::string operation;  ///< "shared-access"
  double cost = 0;        ///< of repeating the class; more than the gain if other classes limit it
  std::vector<LimitLocation> locations;  ///< of all its instructions
  std::vector<LineLimit> lines;          ///< that explain the gain, most expensive first; empty: not tried
  std::vector<std::uint64_t> registers;  ///< of variants that have others than the original
  std::vector<std::string> notes;        ///< what makes the gain inexact
  std::vector<std::string> left_out;     ///< why instructions were not tried, with their numbers
};

/// A class of operations that was not tried, or whose trials failed.
struct Untried {
  std::string operation;
  std::string reason;
};

/// A source line that several classes of operations appear in.
struct LineSum {
  LimitLocation location;               ///< without opcodes
  double at_most = 0;                   ///< the sum of their gains, up to 1
  std::vector<std::string> operations;  ///< most expensive first
};

/// A change of the program that keeps its results and was tried (`--try`).
struct Remedy {
  std::string operation;          ///< "more-registers", "fewer-registers", "read-only-loads", or "occupancy"
  Gain gain;                      ///< measured, or modelled
  std::string predicted_by;       ///< the limit that predicts it
  std::optional<Gain> predicted;  ///< nullopt: nothing does
  std::string results;            ///< TrialRecord::results
};

/// The trials of a kernel's launches with one shape.
struct KernelLimits {
  std::string kernel;  ///< mangled
  std::string module;
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;  ///< dynamic
  bool is_modelled = false;        ///< true: times are modelled, not measured
  std::uint64_t launches = 0;      ///< of the program
  std::uint64_t replays = 0;       ///< additional launches of all variants
  std::size_t timed = 0;           ///< launches of all variants that were timed
  double native_ms = 0;            ///< median of the original; 0: not timed
  double share = 0;                ///< of the time of all kernels and shapes
  std::uint64_t registers = 0;     ///< per thread; 0: unknown
  std::uint64_t blocks_per_sm = 0;
  std::vector<Limit> limits;   ///< by decreasing gain, then `waiting`
  std::vector<LineSum> lines;  ///< that a class was narrowed down to, by decreasing gain
  std::vector<Untried> untried;
  std::vector<Remedy> remedies;  ///< in the order of the records
  /// Blocks in waves over the multiprocessors; nullopt: unknown.
  struct Waves {
    std::uint64_t blocks = 0;
    std::uint64_t multiprocessors = 0;
    std::uint64_t blocks_per_sm = 0;
    std::uint64_t most_blocks_per_sm = 0;  ///< that the SM's threads allow; 0: unknown
    /// True if one block per SM fewer costs nothing although all slots are in use: the blocks of an SM share
    /// its throughput, so it idles only if it has no block.
    bool is_throughput_bound = false;
    double full() const;  ///< waves, as a fraction
    double idle() const;  ///< share of the time for which slots idle, if all blocks do the same work
  };
  std::optional<Waves> waves;
  /// The bytes of global memory that the kernel either only reads or only writes, each counted once.
  struct Moving {
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    double ms = 0;       ///< the least time of a kernel that only moves this number of bytes
    double at_most = 1;  ///< gain of changes that keep these bytes
  };
  std::optional<Moving> moving;  ///< nullopt: not measured
  /// The share of the time that the arithmetic needs at least, however well its latency is hidden: its cost
  /// as independent work. nullopt: not measured.
  std::optional<Gain> arithmetic;
  /// The same share for accesses to shared memory, at one of a warp per cycle and multiprocessor.
  std::optional<Gain> shared;

  double total_ms() const { return native_ms * static_cast<double>(launches); }
};

/// Returns the kernels' limits, those with the most time first. `trials` are in the order of the records, the
/// original's before those of its variants; `devices` yield the number of multiprocessors.
std::vector<KernelLimits> limits_of(std::span<const TrialRecord> trials,
                                    std::span<const DeviceRecord> devices);

/// Returns what to do about a limit, as an imperative; empty for an unknown operation.
std::string_view advice_on(std::string_view operation);

/// Returns how far to trust the gains, without an end of line (support/trust.h).
std::string trust_line_of(std::span<const KernelLimits> kernels);

/// Returns the kernel's table in lines of at most `width` characters if shortening names allows it.
std::string limits_text(const KernelLimits& kernel, std::size_t width);

/// Returns one JSON object and a newline (docs/schema/limits.schema.json).
std::string limits_json(std::span<const KernelLimits> kernels, const std::vector<std::string>& command);

/// Returns a section of a page, bars with whiskers and tables; empty without kernels.
std::string limits_html(std::span<const KernelLimits> kernels);

}  // namespace lynxpp::report
