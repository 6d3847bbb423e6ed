// What memory transactions cost on a device, from micro-benchmarks: the four equations of CampProf, time as a
// linear function of active warps and word length, for reads and writes, spread over all partitions and
// confined to one.
//
//   const Result<Calibration> calibration = parse_calibration(text, file);
//   const Result<Equations> equations = equations_of(*calibration, Form::sums);
//   const auto ms = equations->milliseconds_of_one(*calibration, Direction::read, Placement::spread, 0, 16);
//
// Where the paper is silent or ambiguous:
// - It adds "the time of each type of transaction" but gives the benchmarks' times only. Here the time of one
//   transaction is a benchmark's time over all transactions that the device made in it: multiprocessors ×
//   active warps × transactions of a warp.
// - "co-efficients can be either 0 or 1" are the values of the indicator variables b2 and b4; their
//   coefficients are fitted.
// - The word length enters its equation as a constant, but what a transaction costs a busy memory grows with
//   its bytes for every warp. Form::products adds w b2 and w b4; Form::sums is as printed.
// - Time is flat in w until the memory is saturated, then proportional to w: no straight line. One through
//   all of it is below 0 at few warps for small transactions. Form::samples takes the benchmarks' own times
//   in its place, which are above 0 at every number of warps.
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

/// Bytes of a transaction, by its type's index.
constexpr std::array<std::uint32_t, 3> transaction_bytes = {32, 64, 128};

/// One run of a benchmark.
struct Sample {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;   ///< index into transaction_bytes
  std::uint32_t warps = 0;  ///< active on each multiprocessor
  double milliseconds = 0;
};

/// A benchmark with arithmetic added beside each transaction, at the most warps: where its time hardly
/// changes, memory is what it waits for.
struct Validity {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;
  double ratio = 1;  ///< time with the arithmetic over time without
};
constexpr double largest_memory_bound_ratio = 1.1;

struct Calibration {
  static constexpr std::uint32_t version = 1;

  std::string device;
  std::string date;         ///< YYYY-MM-DD
  bool is_modelled = true;  ///< times are a model's, never measured
  enum class Loop : std::uint8_t {
    bare,       ///< next to nothing but accesses, which coalesce
    printed,    ///< those of the paper's Figures, with an index computed for each access
    scattered,  ///< bare, and the lanes of a warp make transactions of their own
  };
  Loop loop = Loop::bare;  ///< of the benchmarks
  std::uint32_t multiprocessors = 1;
  std::uint32_t most_warps = 1;  ///< that a multiprocessor can hold
  std::uint32_t partitions = 1;  ///< over which the spread benchmarks go
  std::uint32_t partition_bytes = 256;
  std::uint64_t transactions_per_warp = 1;  ///< in every benchmark
  std::vector<Sample> samples;
  std::vector<Validity> validity;
};

/// Active warps of a multiprocessor that blocks can give: 1 to 16, then the even numbers to `most`.
std::vector<std::uint32_t> configurations(std::uint32_t most);

enum class Form {
  sums,      ///< t = a1 w + a2 b2 + a3 b4 + b
  products,  ///< … + a4 w b2 + a5 w b4
  samples,   ///< no equation: each benchmark's times, straight from one number of warps to the next
};
/// "sums".
std::string_view name_of(Form form);
/// Nullopt for what is no form's name.
std::optional<Form> find_form(std::string_view name);

/// The four equations, or what takes their place. Variables that are not significant (p above 0.05) are
/// dropped.
class Equations {
 public:
  /// Precondition: the form is not `samples`.
  const statistics::Regression& of(Direction direction, Placement placement) const;

  /// Of one transaction of a type when so many warps of each multiprocessor make such ones; nullopt where the
  /// equation yields no time above 0, which a straight line may do at few warps, and by `samples` beyond the
  /// numbers of warps of that benchmark.
  std::optional<double> milliseconds_of_one(const Calibration& calibration, Direction direction,
                                            Placement placement, std::uint32_t type, double warps) const;

 private:
  friend Result<Equations> equations_of(const Calibration& calibration, Form form);
  Form form_ = Form::sums;
  std::array<statistics::Regression, 4> regressions_;
};

/// Failure: too few samples of one of the four, or collinear ones; by `samples`, none of one of the twelve
/// benchmarks. The diagnostics say of which.
Result<Equations> equations_of(const Calibration& calibration, Form form);

/// Numbers of warps at which a form yields no time of a benchmark that ran with them.
struct Gap {
  Direction direction = Direction::read;
  Placement placement = Placement::spread;
  std::uint32_t type = 0;
  std::vector<std::uint32_t> warps;
};
std::vector<Gap> gaps_of(const Calibration& calibration, const Equations& equations);

/// Of a benchmark at the most warps it ran with; 0 where it did not run.
struct Longest {
  std::uint32_t warps = 0;
  double spread = 0;  ///< milliseconds
  double camped = 0;
};
Longest longest_of(const Calibration& calibration, Direction direction, std::uint32_t type);
/// Camped over spread from which on such transactions count as camping: below it the band has no width, and a
/// degree in it is noise.
constexpr double least_camping_ratio = 1.1;

/// One object, indented: what docs/schema/calibration.schema.json describes. The equations in it are for
/// people, null where the samples make none; whoever reads it takes the samples.
Result<std::string> to_json(const Calibration& calibration);

/// Fails on another version, and on members that are missing or out of range, each by its name.
Result<Calibration> parse_calibration(std::string_view text, const std::string& file);

std::string_view name_of(Direction direction);
std::string_view name_of(Placement placement);

}  // namespace lynxpp::models::campprof
