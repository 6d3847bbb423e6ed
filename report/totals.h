// Launch records folded into one row per kernel, specification and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/number.h"
#include "report/record.h"

namespace lynxpp::report {

/// How the values of several launches become one.
enum class Fold { sum, mean, minimum, maximum };

/// By the result's name: mean*, avg*, average*, *efficiency*, *imbalance, *_per_*, *ratio are averaged over
/// launches, min* and max* give the least and the greatest, everything else is summed.
Fold fold_of(std::string_view name);
std::string_view name_of(Fold fold);

/// A value folded over launches. Launches whose value is NaN (nothing to divide by) do not enter a mean,
/// minimum or maximum.
class FoldedNumber {
 public:
  explicit FoldedNumber(Fold fold) : fold_(fold) {}
  void add(const Number& value);
  Number value() const;

 private:
  Fold fold_;
  std::uint64_t count_ = 0;
  Number number_;
};

/// What an array's elements stand for, when the report can name them.
enum class SiteKind { instruction, basic_block };

struct ArrayTotals {
  std::string name;
  std::string unit;
  std::optional<SiteKind> site_kind;   ///< by instruction or basic block
  std::string table;                   ///< of which it is a column; its rows are others in another launch
  std::vector<std::string> labels;     ///< of the elements; none: their numbers
  std::vector<std::int64_t> bounds;    ///< of a histogram's bins
  std::vector<std::uint64_t> extents;  ///< of the last launch
  std::size_t elements = 0;            ///< of the last launch
  FoldedNumber sum{Fold::sum};         ///< over all elements of all launches
  FoldedNumber least{Fold::minimum};
  FoldedNumber greatest{Fold::maximum};
  std::uint64_t below = 0;   ///< a histogram's values before its first bin, over all launches
  std::uint64_t beyond = 0;  ///< and behind its last one
  /// Element by element over launches; empty when there are too many or their number (or their sites) changed
  /// from launch to launch.
  std::vector<FoldedNumber> each;
};

struct KernelTotals {
  std::string kernel;
  std::uint64_t launches = 0;
  std::uint32_t grid[3] = {1, 1, 1};  ///< of the last launch
  std::uint32_t block[3] = {1, 1, 1};
  std::optional<std::uint64_t> sites;  ///< number of the table of sites, of the last launch that had one
  std::map<std::string, FoldedNumber> scalars;
  std::vector<ArrayTotals> arrays;
  /// the first ones, with the number of launches that had it
  std::vector<std::pair<std::string, std::uint64_t>> notes;
  std::uint64_t further_notes = 0;  ///< beyond shown_notes different ones
};

struct ScalarColumn {
  std::string name;
  std::string unit;
  Fold fold = Fold::sum;
};

/// Everything about one specification on one device.
struct SpecificationTotals {
  std::string spec;
  std::string device;
  std::vector<ScalarColumn> columns;  ///< in order of appearance
  std::vector<KernelTotals> kernels;  ///< in order of their first launch

  void add(const LaunchRecord& record);

 private:
  std::map<std::string, std::size_t> index_;
};

/// Different notes of a kernel that are kept; a specification may print another text at every launch.
inline constexpr std::size_t shown_notes = 16;

/// Arrays of at most this many elements are listed element by element.
inline constexpr std::size_t listed_elements = 32;
/// Arrays by site are kept element by element up to this many.
inline constexpr std::size_t kept_sites = 1 << 20;

}  // namespace lynxpp::report
