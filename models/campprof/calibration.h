// Costs of memory transactions on a device, from micro-benchmarks: the four equations of CampProf, time as a
// linear function of active warps and word length, for reads and writes, spread over all partitions and
// confined to one.
//
//   const Result<Calibration> calibration = parse_calibration(text, file);
//   const Result<Equations> equations = equations_of(*calibration, Form::sums);
//   const auto ms = equations->milliseconds_of_one(*calibration, Direction::read, Placement::spread, 0, 16);
//
// If the paper is silent or ambiguous:
// - It adds "the time of each type of transaction" but gives only the benchmarks' times. Here the time of one
//   transaction is a benchmark's time divided by its total number of transactions: multiprocessors × active
//   warps × transactions per warp.
// - "co-efficients can be either 0 or 1" are the values of the indicator variables b2 and b4; their
//   coefficients are fitted.
// - The word length enters its equation as a constant, but the cost of a transaction in a saturated memory
//   grows with its bytes for every warp. Form::products adds w b2 and w b4; Form::sums is as printed.
// - Time is flat in w until the memory is saturated, then proportional to w: not a straight line. A straight
//   line through all points is below 0 at few warps for small transactions. Form::samples uses the
//   benchmarks' own times instead, which are above 0 at every number of warps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/statistics/regression.h"
#include "support/result.h"

namespace lynxpp::models::campprof {

enum class Direction { read, write };
enum class Placement { spread, camped };

/// Bytes of a transaction, by type index.
constexpr std::array<std::uint32_t, 3> transaction_bytes = {32, 64, 128};

/// One run of a benchmark.
struct Sample {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;   ///< index into transaction_bytes
  std::uint32_t warps = 0;  ///< active warps per multiprocessor
  double milliseconds = 0;
};

/// A benchmark with arithmetic added at each transaction, at the maximum number of warps: if its time hardly
/// changes, it is memory bound.
struct Validity {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;
  double ratio = 1;  ///< time with the arithmetic / time without
};
constexpr double largest_memory_bound_ratio = 1.1;

struct Calibration {
  static constexpr std::uint32_t version = 1;

  std::string device;
  std::string date;         ///< YYYY-MM-DD
  bool is_modelled = true;  ///< times are modelled, not measured
  enum class Loop : std::uint8_t {
    bare,       ///< almost only accesses, which coalesce
    printed,    ///< as in the paper's figures, with an index computed for each access
    scattered,  ///< bare, but each lane of a warp makes its own transaction
  };
  Loop loop = Loop::bare;  ///< loop of the benchmarks
  std::uint32_t multiprocessors = 1;
  std::uint32_t most_warps = 1;  ///< maximum per multiprocessor
  std::uint32_t partitions = 1;  ///< used by the spread benchmarks
  std::uint32_t partition_bytes = 256;
  std::uint64_t transactions_per_warp = 1;  ///< in every benchmark
  std::vector<Sample> samples;
  std::vector<Validity> validity;
};

/// The spread benchmarks of a device that hashes addresses over its partitions use this many regions, which
/// keep all of them busy; other devices have fewer partitions.
constexpr std::uint32_t hashed_regions = 4096;
/// True if the device hashes addresses over partitions that are unknown, as all GPUs of today do: a time
/// between the lines is then no degree of camping.
bool hashes_addresses(const Calibration& calibration);

/// Numbers of active warps per multiprocessor to measure: 1 to 16, then the even numbers up to `most`.
std::vector<std::uint32_t> configurations(std::uint32_t most);

enum class Form {
  sums,      ///< t = a1 w + a2 b2 + a3 b4 + b
  products,  ///< … + a4 w b2 + a5 w b4
  samples,   ///< no equation: each benchmark's times, interpolated linearly between numbers of warps
};
/// "sums".
std::string_view name_of(Form form);
/// Returns nullopt if `name` is not the name of a form.
std::optional<Form> find_form(std::string_view name);

/// The four equations, or the samples that replace them. Insignificant variables (p above 0.05) are dropped.
class Equations {
 public:
  /// Precondition: the form is not `samples`.
  const statistics::Regression& of(Direction direction, Placement placement) const;

  /// Returns the time of one transaction of a type if `warps` warps of each multiprocessor make such
  /// transactions; nullopt if the equation yields no positive time, which may happen at few warps, or, for
  /// `samples`, outside the benchmark's range of warps.
  std::optional<double> milliseconds_of_one(const Calibration& calibration, Direction direction,
                                            Placement placement, std::uint32_t type, double warps) const;

 private:
  friend Result<Equations> equations_of(const Calibration& calibration, Form form);
  Form form_ = Form::sums;
  std::array<statistics::Regression, 4> regressions_;
};

/// Fails if there are too few samples for one of the four equations, if they are collinear, or, for
/// `samples`, if one of the twelve benchmarks has none. The diagnostics name it.
Result<Equations> equations_of(const Calibration& calibration, Form form);

/// Numbers of warps for which a form yields no time although the benchmark ran with them.
struct Gap {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;
  std::vector<std::uint32_t> warps;
};
std::vector<Gap> gaps_of(const Calibration& calibration, const Equations& equations);

/// A benchmark's times at its greatest number of warps; 0 if it did not run.
struct Longest {
  std::uint32_t warps = 0;
  double spread = 0;  ///< milliseconds
  double camped = 0;
};
Longest longest_of(const Calibration& calibration, Direction direction, std::uint32_t type);
/// Ratio of camped to spread time from which on transactions count as camping: below it the band has no
/// width, and a degree would be noise.
constexpr double least_camping_ratio = 1.1;

/// Formats an indented object as described by docs/schema/calibration.schema.json. Its equations are
/// informative, null if the samples do not determine them; readers use the samples.
Result<std::string> to_json(const Calibration& calibration);

/// Fails for another version and for members that are missing or out of range, naming each.
Result<Calibration> parse_calibration(std::string_view text, const std::string& file);

std::string_view name_of(Direction direction);
std::string_view name_of(Placement placement);

}  // namespace lynxpp::models::campprof
