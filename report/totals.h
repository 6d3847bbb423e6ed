// Launch records folded into one row per kernel, specification and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/number.h"
#include "report/record.h"
#include "report/sites.h"
#include "report/tables/tables.h"

namespace lynxpp::report {

struct ArrayTotals {
  std::string name;
  std::string unit;
  Fold fold = Fold::sum;                  ///< of the elements, over launches
  std::optional<SiteKind> site_kind;      ///< by instruction or basic block
  std::string table;                      ///< the table that it is a column of, or empty
  std::vector<std::string> labels;        ///< names of the first extent's indices; empty: unnamed
  std::vector<std::int64_t> bounds;       ///< of a histogram's bins
  std::vector<std::uint64_t> extents;     ///< of the last launch; with labels, of all launches
  std::vector<std::string> extent_names;  ///< as declared
  std::size_t elements = 0;               ///< the product of the extents
  std::uint64_t summed_elements = 0;      ///< of all launches
  bool has_sum = true;                    ///< its elements are quantities
  FoldedNumber sum{Fold::sum};            ///< over all elements of all launches
  bool has_extremes = true;               ///< no launches share a record; otherwise the next two are unknown
  FoldedNumber least{Fold::minimum};
  FoldedNumber greatest{Fold::maximum};
  std::uint64_t below = 0;   ///< a histogram's values below its first bin, over all launches
  std::uint64_t beyond = 0;  ///< above its last bin
  /// Elements folded over launches, by label if they have labels. Empty if there are too many, or if extents,
  /// bins or sites changed from launch to launch.
  std::vector<FoldedNumber> each;
};

/// A grid or a thread block.
struct LaunchExtent {
  std::uint32_t extent[3] = {1, 1, 1};
  bool differs = false;  ///< between launches
};

struct NoteTotals {
  std::string text;
  std::uint64_t records = 0;  ///< records that had it
  std::uint64_t times = 0;
  bool is_of_launches = true;  ///< each of these records is of one launch
};
/// Returns the note with its frequency if that is above one: "text (3 times in 2 launches)", or "records" if
/// launches share some.
std::string to_text(const NoteTotals& note);

struct KernelTotals {
  std::string kernel;
  std::string module = {};          ///< LaunchPlace::module; other modules have separate totals
  std::vector<std::string> ranges;  ///< in which it was launched; other ranges have separate totals
  std::uint64_t launches = 0;
  double thread_blocks = 0;  ///< of all launches
  LaunchExtent grid;
  LaunchExtent block;
  std::optional<std::uint64_t> sites;  ///< number of the table of sites of the last launch that had one
  std::map<std::string, FoldedNumber> scalars;
  std::vector<ArrayTotals> arrays;
  std::vector<TableTotals> tables;
  std::vector<NoteTotals> notes;    ///< the first ones
  std::uint64_t further_notes = 0;  ///< number of different notes after the first shown_notes
};

/// Joins ranges, "outer/inner"; empty without ranges.
std::string path_of(const std::vector<std::string>& ranges);

struct ScalarColumn {
  std::string name;
  std::string unit;
  Fold fold = Fold::sum;
};

/// Arrays of at most this many elements are listed element by element.
inline constexpr std::size_t listed_elements = 32;

/// Totals of one specification on one device.
struct SpecificationTotals {
  std::string spec;
  std::string device;
  std::size_t kept = listed_elements;  ///< limit on kept elements per array and rows per table
  std::vector<ScalarColumn> columns;   ///< in order of appearance
  std::vector<KernelTotals> kernels;   ///< in order of their first launch

  void add(const LaunchRecord& record);

 private:
  std::map<std::tuple<std::string, std::string, std::vector<std::string>>, std::size_t> index_;
};

/// Limit on different notes kept per kernel: a specification may print different text at every launch.
inline constexpr std::size_t shown_notes = 16;

/// Limit on elements of arrays by site that are kept one by one.
inline constexpr std::size_t kept_sites = 1 << 20;

}  // namespace lynxpp::report
