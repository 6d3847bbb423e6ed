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

struct Words {
  const std::byte* data;
  std::uint64_t count;
  bool is_wide;
  std::uint64_t operator[](std::uint64_t index) const {
    std::uint64_t wide = 0;
    std::uint32_t narrow = 0;
    if (index >= count) return 0;
    if (is_wide) {
      std::memcpy(&wide, data + 8 * index, sizeof wide);
      return wide;
    }
    std::memcpy(&narrow, data + 4 * index, sizeof narrow);
    return narrow;
  }
};

/// Columns with one value for each array of the program.
struct Columns {
  std::vector<std::uint64_t> words, accesses, least, greatest, never, once, reused;
  std::vector<std::uint64_t> heat, bins_of_counts;
  std::vector<std::uint64_t> beyond;
  std::vector<std::uint64_t> layout;
};

/// Appends the layout of the accessed words of an array.
void add_layout(const Words& counts, const MemoryArray& array, std::vector<std::uint64_t>& layout) {
  std::uint64_t sectors = 0, aligned = 0, stride = 0, run = 0;
  std::uint64_t first = array.words, sector = ~std::uint64_t{0};
  for (std::uint64_t i = 0; i <= array.words; ++i) {
    if (i == array.words || counts[array.first + i] == 0) {
      aligned += (std::exchange(run, 0) + sector_words - 1) / sector_words;
      continue;
    }
    ++run;
    if (first == array.words) first = i;
    stride = std::gcd(stride, i - first);
    const std::uint64_t own = (array.first + i) / sector_words;
    sectors += std::exchange(sector, own) == own ? 0 : 1;
  }
  layout.insert(layout.end(),
                {sectors, aligned, std::max<std::uint64_t>(stride, 1), first == array.words ? 0 : first});
}

void add_array(const Words& counts, const MemoryArray& array, Columns& columns) {
  std::uint64_t total = 0, least = ~std::uint64_t{0}, greatest = 0, never = 0, once = 0, beyond = 0;
  std::vector<std::uint64_t> heat(cells), by_count(bins);
  for (std::uint64_t i = 0; i < array.words; ++i) {
    const std::uint64_t count = counts[array.first + i];
    total += count;
    least = std::min(least, count);
    greatest = std::max(greatest, count);
    never += count == 0 ? 1 : 0;
    once += count == 1 ? 1 : 0;
    heat[i * cells / array.words] += count;
    const auto bin = static_cast<std::uint64_t>(std::bit_width(count));
    if (bin > bins) ++beyond;
    if (bin != 0 && bin <= bins) ++by_count[bin - 1];
  }
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
}

/// Emits the columns of the table that `row` describes.
void emit_table(HostRun* run, const Emitted& row, const Columns& columns, const std::string& counted) {
  const auto emit = [&](const char* column, const std::vector<std::uint64_t>& values, const std::string& unit,
                        Folding folding) {
    Emitted emitted = row;
    emitted.name = row.table + "." + column;
    emitted.values = values;
    if (std::string_view(column) == "mean") emitted.denominators = columns.words;
    emitted.unit = unit;
    emitted.folding = folding;
    run->emit(std::move(emitted));
  };
  // Across launches a row still describes one array: sizes are averaged, accesses added.
  emit("words", columns.words, "words", Folding::mean);
  emit("accesses", columns.accesses, counted, Folding::sum);
  emit("mean", columns.accesses, counted + " per word", Folding::by_name);
  emit("least", columns.least, counted, Folding::least);
  emit("greatest", columns.greatest, counted, Folding::greatest);
  emit("never", columns.never, "words", Folding::mean);
  emit("once", columns.once, "words", Folding::mean);
  emit("reused", columns.reused, "words", Folding::mean);
}

/// Emits the data of charts, one row per array: counts over the array, its layout, and the distribution of
/// counts.
void emit_pictures(HostRun* run, const Emitted& row, const Columns& columns, const std::string& counted,
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
  run->emit(std::move(heat));
  if (has_layout) run->emit(picture("_layout", layout_numbers, columns.layout, Folding::same));
  Emitted distribution = picture("_distribution", bins, columns.bins_of_counts, Folding::sum);
  distribution.unit = "words";
  for (std::uint64_t bin = 0; bin <= bins; ++bin) distribution.bounds.push_back(std::int64_t{1} << bin);
  distribution.underflow = columns.never;
  distribution.overflow = columns.beyond;
  run->emit(std::move(distribution));
}

}  // namespace

void host_emit_words(HostRun* run, const Expression* call, const std::string* name, const std::string* unit) {
  const Symbol& symbol = *call->operands[1]->symbol;
  const bool is_shared = symbol.dimensions[0].extent == Extent::shared_words;
  const std::vector<MemoryArray>& arrays = is_shared ? run->launch.shared_arrays : run->launch.device_arrays;
  const Words counts{run->launch.arrays[symbol.index].data(), run->counts[symbol.index],
                     bytes_of(symbol.type) == 8};
  const std::string table = run->take_name(*name);
  if (arrays.empty()) return;
  Columns columns;
  Emitted row;
  for (const MemoryArray& array : arrays) {
    add_array(counts, array, columns);
    if (!is_shared) add_layout(counts, array, columns.layout);
    row.labels.push_back(array.name);
  }
  row.dimensions = {arrays.size()};
  row.dimension_names = {"arrays"};
  row.table = table;
  const std::string counted = unit == nullptr ? "accesses" : *unit;
  emit_table(run, row, columns, counted);
  emit_pictures(run, row, columns, counted, !is_shared);
}

void host_emit_arrays(HostRun* run, const std::string* name) {
  const std::string table = run->take_name(*name);
  const std::vector<LocatedArray>& arrays = run->launch.located_arrays;
  if (arrays.empty()) return;
  Emitted row;
  std::vector<std::uint64_t> addresses, bytes, shared;
  for (const LocatedArray& array : arrays) {
    row.labels.push_back(array.name);
    addresses.push_back(array.address);
    bytes.push_back(array.bytes);
    shared.push_back(array.is_shared ? 1 : 0);
  }
  row.dimensions = {arrays.size()};
  row.dimension_names = {"arrays"};
  row.table = table;
  const auto emit = [&](const char* column, std::vector<std::uint64_t>& values, const char* unit) {
    Emitted emitted = row;
    emitted.name = table + "." + column;
    emitted.values = std::move(values);
    emitted.unit = unit;
    emitted.folding = Folding::same;
    run->emit(std::move(emitted));
  };
  emit("address", addresses, "address");
  emit("bytes", bytes, "bytes");
  emit("shared", shared, "");
}

}  // namespace lynxpp::cod
