// emitWords(): statistics of an array of words, for each of the program's arrays.
#include <cstring>
#include <memory>
#include <utility>

#include "cod/codegen/host/runtime.h"
#include "cod/word_statistics.h"

namespace lynxpp::cod {
namespace {

/// Numbers of the layout of an array: WordStatistics::sectors, aligned_sectors, stride, first.
constexpr std::uint64_t layout_numbers = 4;

/// Columns with one value for each array of the program.
struct Columns {
  std::vector<std::uint64_t> words, accesses, least, greatest, never, once, reused;
  std::vector<std::uint64_t> heat, bins_of_counts;
  std::vector<std::uint64_t> beyond;
  std::vector<std::uint64_t> layout;
};

void add_array(const WordStatistics& array, Columns& columns) {
  columns.words.push_back(array.words);
  columns.accesses.push_back(array.accesses);
  columns.least.push_back(array.least);
  columns.greatest.push_back(array.greatest);
  columns.never.push_back(array.never);
  columns.once.push_back(array.once);
  columns.reused.push_back(array.words - array.never - array.once);
  columns.heat.insert(columns.heat.end(), array.heat.begin(), array.heat.end());
  columns.bins_of_counts.insert(columns.bins_of_counts.end(), array.words_by_count.begin(),
                                array.words_by_count.end());
  columns.beyond.push_back(array.beyond);
  columns.layout.insert(columns.layout.end(),
                        {array.sectors, array.aligned_sectors, array.stride, array.first});
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

/// Accesses by live range of shared words (docs/metrics.md, shared_memory_profile).
struct RangeColumns {
  std::vector<std::uint64_t> ranges, accesses, reused;
};

std::uint64_t count_at(const WordElements& counts, std::uint64_t index) {
  if (index >= counts.count) return 0;
  std::uint64_t wide = 0;
  std::uint32_t narrow = 0;
  const std::byte* const at = counts.data + index * counts.bytes_each;
  if (counts.bytes_each == sizeof wide) std::memcpy(&wide, at, sizeof wide);
  if (counts.bytes_each == sizeof narrow) std::memcpy(&narrow, at, sizeof narrow);
  return wide | narrow;
}

WordElements word_elements(HostRun& run, const Symbol& symbol) {
  return {run.elements_of(symbol.index), run.counts[symbol.index], bytes_of(symbol.type)};
}

void emit_ranges(HostRun& run, const Emitted& row, const Symbol& accesses, const Symbol& begins) {
  RangeColumns columns;
  const WordElements of_words = word_elements(run, accesses), of_ranges = word_elements(run, begins);
  for (const MemoryArray& array : run.launch.shared_arrays) {
    std::uint64_t ranges = 0, counted = 0, reused = 0;
    for (std::uint64_t i = array.first; i < array.first + array.words; ++i) {
      const std::uint64_t of_word = count_at(of_ranges, i);
      if (of_word == 0) continue;
      const std::uint64_t count = count_at(of_words, i);
      ranges += of_word;
      counted += count;
      if (count > 2 * of_word) reused += of_word;
    }
    columns.ranges.push_back(ranges);
    columns.accesses.push_back(counted);
    columns.reused.push_back(reused);
  }
  Emitted mean = row;
  mean.denominators = columns.ranges;
  run.emit_column(row, "ranges", columns.ranges, "ranges of a word", Folding::sum);
  run.emit_column(row, "range_accesses", columns.accesses, "accesses", Folding::sum);
  run.emit_column(mean, "per_range", columns.accesses, "accesses per word and range", Folding::by_name);
  run.emit_column(row, "reused_ranges", columns.reused, "ranges of a word", Folding::sum);
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
  Emitted heat = picture("_heat", WordStatistics::cells, columns.heat, Folding::sum);
  heat.unit = counted;
  run.emit(std::move(heat));
  if (has_layout) run.emit(picture("_layout", layout_numbers, columns.layout, Folding::same));
  Emitted distribution = picture("_distribution", WordStatistics::bins, columns.bins_of_counts, Folding::sum);
  distribution.unit = "words";
  for (std::uint64_t bin = 0; bin <= WordStatistics::bins; ++bin)
    distribution.bounds.push_back(std::int64_t{1} << bin);
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
  const std::shared_ptr<const WordSource> source = run.source_of(symbol.index);
  Emitted row;
  row.table = run.take_name(call.text(0));
  if (arrays.empty()) return;
  Columns columns;
  const WordElements elements{source ? nullptr : run.elements_of(symbol.index), run.counts[symbol.index],
                              bytes_of(symbol.type)};
  for (const MemoryArray& array : arrays) {
    add_array(source ? source->statistics(array) : word_statistics(elements, array), columns);
    row.labels.push_back(array.name);
  }
  if (source) source->release();
  row.dimensions = {arrays.size()};
  row.dimension_names = {"arrays"};
  const std::string counted = call.expression.operands.size() > 2 ? call.text(2) : "accesses";
  emit_table(run, row, columns, counted);
  if (call.expression.operands.size() > 3 && run.launch.counts_exactly)
    emit_ranges(run, row, symbol, call.symbol(3));
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
