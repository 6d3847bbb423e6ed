// emitWords(): statistics of an array of words, for each of the program's arrays.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "cod/codegen/host/runtime.h"

namespace lynxpp::cod {
namespace {

/// Cells of an array's heat map.
constexpr std::uint64_t cells = 64;
/// Bins of counts, each twice as wide as the previous: 1, 2 to 3, …
constexpr std::uint64_t bins = 32;

/// Words per sector of device memory.
constexpr std::uint64_t sector_words = 8;
/// Sectors with an accessed word; sectors that the same runs of words would touch if each started at a sector
/// boundary; the greatest common divisor, in words, of the distances between accessed words; the first
/// accessed word.
constexpr std::uint64_t layout_numbers = 4;

/// The counts of words: runs, or elements.
struct Words {
  std::optional<std::span<const ElementRun>> runs;  ///< nullopt: elements
  const std::byte* data;
  std::uint64_t count;
  bool is_wide;
};

/// Columns with one value for each array of the program.
struct Columns {
  std::vector<std::uint64_t> words, accesses, least, greatest, never, once, reused;
  std::vector<std::uint64_t> heat, bins_of_counts;
  std::vector<std::uint64_t> beyond;
  std::vector<std::uint64_t> layout;
};

/// Calls visit(first, words, count) for runs of equal counts, which cover [first, first + words) in order.
/// Large arrays mostly consist of long runs: words that are never accessed, or all accessed equally often.
template <typename Number, typename Visit>
void visit_runs(const std::byte* data, std::uint64_t first, std::uint64_t words, Visit visit) {
  constexpr std::uint64_t chunk = 64;
  const auto at = [&](std::uint64_t index) {
    Number number = 0;
    std::memcpy(&number, data + index * sizeof number, sizeof number);
    return number;
  };
  const std::uint64_t last = first + words;
  for (std::uint64_t begin = first, end = first; begin < last; begin = end) {
    const Number count = at(begin);
    const auto is_chunk = [&] {
      Number different = 0;
      for (std::uint64_t i = 0; i < chunk; ++i) different |= at(end + i) ^ count;
      return different == 0;
    };
    ++end;
    if (end < last && at(end) == count) {
      while (end + chunk <= last && is_chunk()) end += chunk;
      while (end < last && at(end) == count) ++end;
    }
    visit(begin, end - begin, std::uint64_t{count});
  }
}

/// Does the same for known runs.
template <typename Visit>
void visit_runs(std::span<const ElementRun> runs, std::uint64_t first, std::uint64_t words, Visit visit) {
  const std::uint64_t last = first + words;
  const auto ends_before = [](const ElementRun& run, std::uint64_t at) {
    return run.first + run.elements <= at;
  };
  auto run = std::lower_bound(runs.begin(), runs.end(), first, ends_before);
  for (std::uint64_t at = first; at < last;) {
    const bool is_counted = run != runs.end() && run->first <= at;
    const std::uint64_t end = is_counted ? run->first + run->elements : run != runs.end() ? run->first : last;
    visit(at, std::min(end, last) - at, is_counted ? run->value : 0);
    at = end;
    if (is_counted) ++run;
  }
}

/// Does the same for an array that may end after the counts do; `first` is relative to the array.
template <typename Visit>
void visit_runs(const Words& counts, const MemoryArray& array, Visit visit) {
  const std::uint64_t end = std::min(array.first + array.words, counts.count);
  const std::uint64_t known = end > array.first ? end - array.first : 0;
  const auto from_array = [&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    visit(first - array.first, words, count);
  };
  if (counts.runs) {
    visit_runs(*counts.runs, array.first, known, from_array);
  } else if (counts.is_wide) {
    visit_runs<std::uint64_t>(counts.data, array.first, known, from_array);
  } else {
    visit_runs<std::uint32_t>(counts.data, array.first, known, from_array);
  }
  if (known < array.words) visit(known, array.words - known, 0);
}

/// The layout of an array's accessed words.
class Layout {
 public:
  explicit Layout(const MemoryArray& array) : array_(array), first_(array.words) {}

  void add(std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    if (count == 0) return end_run();
    run_ += words;
    if (first_ == array_.words) first_ = first;
    stride_ = words > 1 ? 1 : std::gcd(stride_, first - first_);
    const std::uint64_t begin = (array_.first + first) / sector_words;
    const std::uint64_t end = (array_.first + first + words - 1) / sector_words;
    sectors_ += end - begin + (begin == sector_ ? 0 : 1);
    sector_ = end;
  }

  void append_to(std::vector<std::uint64_t>& layout) {
    end_run();
    layout.insert(layout.end(), {sectors_, aligned_, std::max<std::uint64_t>(stride_, 1),
                                 first_ == array_.words ? 0 : first_});
  }

 private:
  void end_run() { aligned_ += (std::exchange(run_, 0) + sector_words - 1) / sector_words; }

  const MemoryArray& array_;
  std::uint64_t sectors_ = 0, aligned_ = 0, stride_ = 0, run_ = 0;
  std::uint64_t first_, sector_ = ~std::uint64_t{0};
};

/// Adds `words` words from `first`, each counted `count` times, to the cells of the array's heat map.
void add_heat(const MemoryArray& array, std::uint64_t first, std::uint64_t words, std::uint64_t count,
              std::vector<std::uint64_t>& heat) {
  for (std::uint64_t word = first; word < first + words;) {
    const std::uint64_t cell = word * cells / array.words;
    const std::uint64_t end = std::min(((cell + 1) * array.words + cells - 1) / cells, first + words);
    heat[cell] += count * (end - word);
    word = end;
  }
}

void add_array(const Words& counts, const MemoryArray& array, Columns& columns, bool has_layout) {
  std::uint64_t total = 0, least = ~std::uint64_t{0}, greatest = 0, never = 0, once = 0, beyond = 0;
  std::vector<std::uint64_t> heat(cells), by_count(bins);
  Layout layout(array);
  visit_runs(counts, array, [&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    layout.add(first, words, count);
    least = std::min(least, count);
    greatest = std::max(greatest, count);
    if (count == 0) {
      never += words;
      return;
    }
    total += count * words;
    once += count == 1 ? words : 0;
    add_heat(array, first, words, count, heat);
    const auto bin = static_cast<std::uint64_t>(std::bit_width(count));
    (bin > bins ? beyond : by_count[bin - 1]) += words;
  });
  columns.words.push_back(array.words);
  columns.accesses.push_back(total);
  columns.least.push_back(array.words == 0 ? 0 : least);
  columns.greatest.push_back(greatest);
  columns.never.push_back(never);
  columns.once.push_back(once);
  columns.reused.push_back(array.words - never - once);
  columns.heat.insert(columns.heat.end(), heat.begin(), heat.end());
  columns.bins_of_counts.insert(columns.bins_of_counts.end(), by_count.begin(), by_count.end());
  columns.beyond.push_back(beyond);
  if (has_layout) layout.append_to(columns.layout);
}

/// Emits the columns of the table that `row` describes.
void emit_table(HostRun& run, const Emitted& row, const Columns& columns, const std::string& counted) {
  Emitted mean = row;
  mean.denominators = columns.words;
  // Across launches a row still describes one array: sizes are averaged, accesses added.
  run.emit_column(row, "words", columns.words, "words", Folding::mean);
  run.emit_column(row, "accesses", columns.accesses, counted, Folding::sum);
  run.emit_column(mean, "mean", columns.accesses, counted + " per word", Folding::by_name);
  run.emit_column(row, "least", columns.least, counted, Folding::least);
  run.emit_column(row, "greatest", columns.greatest, counted, Folding::greatest);
  run.emit_column(row, "never", columns.never, "words", Folding::mean);
  run.emit_column(row, "once", columns.once, "words", Folding::mean);
  run.emit_column(row, "reused", columns.reused, "words", Folding::mean);
}

/// Emits the data of charts, one row per array: counts over the array, its layout, and the distribution of
/// counts.
void emit_pictures(HostRun& run, const Emitted& row, const Columns& columns, const std::string& counted,
                   bool has_layout) {
  const auto picture = [&](const char* suffix, std::uint64_t width, const std::vector<std::uint64_t>& values,
                           Folding folding) {
    Emitted emitted = row;
    emitted.table.clear();
    emitted.name = row.table + suffix;
    emitted.folding = folding;
    emitted.dimensions.push_back(width);
    emitted.dimension_names.push_back(std::to_string(width));
    emitted.values = values;
    return emitted;
  };
  Emitted heat = picture("_heat", cells, columns.heat, Folding::sum);
  heat.unit = counted;
  run.emit(std::move(heat));
  if (has_layout) run.emit(picture("_layout", layout_numbers, columns.layout, Folding::same));
  Emitted distribution = picture("_distribution", bins, columns.bins_of_counts, Folding::sum);
  distribution.unit = "words";
  for (std::uint64_t bin = 0; bin <= bins; ++bin) distribution.bounds.push_back(std::int64_t{1} << bin);
  distribution.underflow = columns.never;
  distribution.overflow = columns.beyond;
  run.emit(std::move(distribution));
}

}  // namespace

void emit_words(const HostCall& call) {
  HostRun& run = call.run;
  const Symbol& symbol = call.symbol(1);
  const bool is_shared = symbol.dimensions[0].extent == Extent::shared_words;
  const std::vector<MemoryArray>& arrays = is_shared ? run.launch.shared_arrays : run.launch.device_arrays;
  const std::optional<std::span<const ElementRun>> runs = run.runs_of(symbol.index);
  const Words counts{runs, runs ? nullptr : run.elements_of(symbol.index), run.counts[symbol.index],
                     bytes_of(symbol.type) == 8};
  Emitted row;
  row.table = run.take_name(call.text(0));
  if (arrays.empty()) return;
  Columns columns;
  for (const MemoryArray& array : arrays) {
    add_array(counts, array, columns, !is_shared);
    row.labels.push_back(array.name);
  }
  row.dimensions = {arrays.size()};
  row.dimension_names = {"arrays"};
  const std::string counted = call.expression.operands.size() > 2 ? call.text(2) : "accesses";
  emit_table(run, row, columns, counted);
  emit_pictures(run, row, columns, counted, !is_shared);
}

void emit_arrays(const HostCall& call) {
  HostRun& run = call.run;
  Emitted row;
  row.table = run.take_name(call.text(0));
  const std::vector<LocatedArray>& arrays = run.launch.located_arrays;
  if (arrays.empty()) return;
  std::vector<std::uint64_t> addresses, bytes, shared;
  for (const LocatedArray& array : arrays) {
    row.labels.push_back(array.name);
    addresses.push_back(array.address);
    bytes.push_back(array.bytes);
    shared.push_back(array.is_shared ? 1 : 0);
  }
  row.dimensions = {arrays.size()};
  row.dimension_names = {"arrays"};
  run.emit_column(row, "address", addresses, "address", Folding::same);
  run.emit_column(row, "bytes", bytes, "bytes", Folding::same);
  run.emit_column(row, "shared", shared, "", Folding::same);
}

}  // namespace lynxpp::cod
