// ON_REPORT and ON_END as native code: the data that they read and the results that they emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cod/site_table.h"
#include "support/result.h"

namespace lynxpp::cod {

/// How values of a result are combined across launches, if the result determines it.
enum class Folding : std::uint8_t {
  by_name,
  sum,
  mean,
  least,
  greatest,
  same,   ///< not a quantity
  key,    ///< a column that identifies the rows of its table
  first,  ///< the first launch's value
  last,
  concatenate,  ///< table rows, launch after launch
};

/// A result whose value for several launches is the sum of the launches' values, as ON_REPORT names it.
struct AddedResult {
  std::string name;
  std::string unit;
  bool is_array = false;

  bool operator==(const AddedResult&) const = default;
};

/// One result of a launch, with a unique name. `values` is in row-major order of `dimensions`; without
/// dimensions it is one number.
struct Emitted {
  std::string name;
  std::vector<std::uint64_t> dimensions;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>> values;
  std::string unit;
  std::vector<std::string> dimension_names = {};  ///< as declared: "BASIC_BLOCKS", "4"; one per dimension
  /// Columns of one table have the same `table` and the same length; their `name` is "TABLE.COLUMN".
  std::string table = {};
  /// Histogram: bin k of the last dimension covers values from bounds[k] up to but excluding bounds[k + 1].
  std::vector<std::int64_t> bounds = {};
  /// Counts of values below the first bin and above the last one, for each index of all dimensions but the
  /// last.
  std::vector<std::uint64_t> underflow = {};
  std::vector<std::uint64_t> overflow = {};
  std::vector<std::string> labels = {};  ///< of the first dimension's indices; empty: the index itself
  std::vector<std::string> texts = {};   ///< column: text of each value, or empty
  /// Ratio: its denominators; `values` are the numerators.
  std::optional<std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>>
      denominators = {};
  Folding folding = Folding::by_name;
  std::uint64_t left_out = 0;  ///< column: rows of the table that are omitted here
};

/// An array of the program in memory whose words are counted.
struct MemoryArray {
  std::string name;         ///< PTX symbol, "dynamic", or a name that distinguishes allocations
  std::uint64_t first = 0;  ///< its first element in arrays with the extent SHARED_WORDS or DEVICE_WORDS
  std::uint64_t words = 0;
};

/// The address of a program array at a launch.
struct LocatedArray {
  std::string name;           ///< same as MemoryArray::name
  std::uint64_t address = 0;  ///< shared memory: in the shared window
  std::uint64_t bytes = 0;
  bool is_shared = false;
  std::uint64_t id = 0;  ///< device memory: result of allocationId()
};

/// Adjacent elements of an array with the same value.
struct ElementRun {
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
  std::uint64_t value = 0;  ///< not 0

  bool operator==(const ElementRun&) const = default;
};

/// The size of one execution of a tensor copy.
struct TensorCopySize {
  std::uint32_t instruction = 0;  ///< instructionId()
  std::uint64_t bytes = 0;        ///< of the box; 0: unknown
  std::uint64_t lines = 0;        ///< of 128 bytes in shared memory; 0: unknown

  bool operator==(const TensorCopySize&) const = default;
};

class WordSource;

/// The data of one launch that ON_REPORT can access. Pointers are borrowed for the call.
struct LaunchView {
  std::string_view kernel;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t sms = 0;
  std::uint32_t clock_khz = 0;  ///< SM clock, 0 if unknown
  std::string_view device;      ///< its name
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability = 0;  ///< × 10
  std::uint64_t launch = 0;              ///< index of this launch of the kernel
  /// Launches that added to `arrays`: BLOCKS, WARPS and THREADS are those of all of them. More than 1 only
  /// with Specification::added_results().
  std::uint64_t launches = 1;
  /// The launch is not over: its arrays have current values, and nothing that is emitted is kept.
  bool is_running = false;
  std::uint64_t shared_words = 0;  ///< LaunchExtents::shared_words
  std::uint64_t device_words = 0;
  bool counts_exactly = true;  ///< counts of words are neither estimates nor limited
  std::vector<MemoryArray> shared_arrays, device_arrays;  ///< arrays that own the words
  std::vector<LocatedArray> located_arrays;  ///< if lists_arrays(): shared arrays, then all of device memory
  /// Host variables, of the size of HostReport::initial_state(). Empty: this report uses its own, which are
  /// discarded.
  std::span<std::byte> host;
  const SiteTable* sites = nullptr;  ///< null if instructions are unknown
  /// If Specification::asks_for_boxes(): copies whose size may be known, ascending by instruction.
  std::vector<TensorCopySize> tensor_copies;
  /// Contents of Specification::arrays(), in the same order; ON_REPORT may modify them.
  std::vector<std::span<std::byte>> arrays;
  /// Contents of arrays of words whose span is empty. Keyed by index in `arrays`.
  std::map<std::uint32_t, std::shared_ptr<WordSource>> sources;
  std::function<void(Emitted)> emit;            ///< receives emit(…)
  std::function<void(std::string_view)> print;  ///< receives print(…)
};

class HostReport {
 public:
  virtual ~HostReport() = default;
  /// Runs ON_REPORT once. Out-of-bounds reads of arrays yield 0 and are reported as a failure.
  virtual Status run(const LaunchView& launch) const = 0;

  /// Initial contents of LaunchView::host. The owner of the attached specification keeps it across launches.
  virtual std::vector<std::byte> initial_state() const = 0;
  /// ON_END: runs once, after the last report. Uses only `host`, `emit` and `print` of the view.
  virtual bool has_end() const = 0;
  virtual Status end(const LaunchView& view) const = 0;
};

}  // namespace lynxpp::cod
