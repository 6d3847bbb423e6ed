// Traces, histograms and maps in ON_REPORT.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cod/codegen/host/runtime.h"

namespace lynxpp::cod {
namespace {

std::uint64_t value_in(const HostRun& run, const Symbol& array, std::uint64_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, run.launch.arrays[array.index].data() + index * sizeof value, sizeof value);
  return value;
}

std::uint64_t leads(const HostRun& run, const Collection& collection) {
  std::uint64_t count = 1;
  for (const Dimension& dimension : collection.leading) count *= value_of(dimension, run.extents);
  return count;
}

/// The bits of the element as a long, an unsigned long or a double.
std::uint64_t wide_bits(const HostRun& run, const Symbol& leaf, std::uint64_t index) {
  const std::uint32_t bytes = bytes_of(leaf.type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, run.launch.arrays[leaf.index].data() + index * bytes, bytes);
  if (leaf.type == Type::f32)
    return std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
  if (is_signed(leaf.type) && bytes < 8) {
    const unsigned shift = 64 - 8 * bytes;
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift);
  }
  return bits;
}

bool is_less(std::uint64_t a, std::uint64_t b, Type type) {
  if (is_floating(type)) return std::bit_cast<double>(a) < std::bit_cast<double>(b);
  if (is_signed(type)) return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  return a < b;
}

/// A field of the key in an occupied slot, in the representation of wide_bits().
std::uint64_t key_field(const HostRun& run, const Collection& map, std::uint64_t index, std::size_t field) {
  const unsigned chunk = map.has_zero_slot() ? 64 : 63;
  unsigned at = 0;
  for (std::size_t i = 0; i < field; ++i) at += bytes_of(map.key[i].type) * 8;
  const unsigned bits = bytes_of(map.key[field].type) * 8;
  const bool is_zero_key = map.has_zero_slot() && index % map.stride() == map.capacity;
  if (is_zero_key) return 0;
  const std::uint64_t mask = chunk == 64 ? ~std::uint64_t{0} : ~(std::uint64_t{1} << 63);
  const unsigned shift = at % chunk;
  std::uint64_t value = (value_in(run, *map.key_words[at / chunk], index) & mask) >> shift;
  if (shift + bits > chunk)
    value |= (value_in(run, *map.key_words[at / chunk + 1], index) & mask) << (chunk - shift);
  const unsigned unused = 64 - bits;
  if (is_signed(map.key[field].type))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
  return value << unused >> unused;
}

/// The occupied slots, by descending value, then by key.
const HostRun::Entries& entries_of(HostRun& run, const Collection& map, std::uint64_t lead) {
  const auto [known, is_new] = run.entries.try_emplace({&map, lead});
  std::vector<std::uint64_t>& entries = known->second.slots;
  if (!is_new) return known->second;
  for (std::uint64_t i = lead * map.stride(); i < (lead + 1) * map.stride(); ++i) {
    if (value_in(run, *map.key_words[0], i) == 0) continue;
    entries.push_back(i);
    std::vector<std::uint64_t> words;
    const bool is_zero_key = map.has_zero_slot() && i % map.stride() == map.capacity;
    for (const Symbol* word : map.key_words) words.push_back(is_zero_key ? 0 : value_in(run, *word, i));
    known->second.by_key.emplace(std::move(words), i);
  }
  const Symbol& first = *map.leaves[0];
  std::sort(entries.begin(), entries.end(), [&](std::uint64_t a, std::uint64_t b) {
    const std::uint64_t left = wide_bits(run, first, a);
    const std::uint64_t right = wide_bits(run, first, b);
    if (is_less(right, left, first.type)) return true;
    if (is_less(left, right, first.type)) return false;
    for (std::size_t i = 0; i < map.key.size(); ++i) {
      const std::uint64_t x = key_field(run, map, a, i);
      const std::uint64_t y = key_field(run, map, b, i);
      if (x != y) return is_less(x, y, map.key[i].type);
    }
    return false;
  });
  return known->second;
}

std::uint64_t length_of(HostRun& run, const Collection& collection, std::uint64_t lead) {
  if (collection.kind == Collection::Kind::map) return entries_of(run, collection, lead).slots.size();
  return std::min(value_in(run, *collection.counter, lead), collection.capacity);
}

std::uint64_t dropped_of(HostRun& run, const Collection& collection, std::uint64_t lead) {
  const std::uint64_t counted = value_in(run, *collection.counter, lead);
  if (collection.kind == Collection::Kind::map) return counted;
  return counted - std::min(counted, collection.capacity);
}

template <typename Value>
std::uint64_t total_of(HostRun& run, const Collection& collection, std::uint64_t lead, Value value) {
  if (lead != all_of_them) return value(run, collection, lead);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < leads(run, collection); ++i) total += value(run, collection, i);
  return total;
}

/// The slots that the rows of the table show.
struct Rows {
  std::vector<std::uint64_t> slots;
  std::uint64_t left_out = 0;  ///< entries beyond the requested maximum
};

/// How elements with the same key are combined across launches, derived from how the kernel modifies them.
Folding folding_of(const Symbol& leaf) {
  switch (leaf.changes) {
    case Symbol::added: return Folding::sum;
    case Symbol::maximised: return Folding::greatest;
    case Symbol::minimised: return Folding::least;
    default: return Folding::same;
  }
}

Rows rows_of(HostRun& run, const Collection& collection, std::uint64_t most) {
  Rows rows;
  for (std::uint64_t lead = 0; lead < leads(run, collection); ++lead) {
    const std::uint64_t entries = length_of(run, collection, lead);
    const std::uint64_t length = std::min(entries, most);
    rows.left_out += entries - length;
    for (std::uint64_t i = 0; i < length; ++i) {
      const bool is_map = collection.kind == Collection::Kind::map;
      rows.slots.push_back(is_map ? entries_of(run, collection, lead).slots[i]
                                  : lead * collection.stride() + i);
    }
  }
  return rows;
}

void emit_table(HostRun& run, const Collection& collection, const std::string& name, const std::string& unit,
                std::uint64_t most) {
  const Rows rows = rows_of(run, collection, most);
  Emitted row;
  row.table = run.take_name(name);
  row.dimensions = {rows.slots.size()};
  row.left_out = rows.left_out;
  const auto emit = [&](const std::string& column, Type type, std::vector<std::uint64_t> bits,
                        const std::string& own_unit, Folding folding, const Collection::Naming& naming) {
    Emitted each = row;
    if (naming.function != nullptr) {
      for (const std::uint64_t number : bits)
        each.texts.push_back(name_of_number(run.launch, naming.function->api, number));
    }
    run.emit_column(std::move(each), column, values_of(std::move(bits), type), own_unit, folding);
  };
  const bool is_map = collection.kind == Collection::Kind::map;
  std::uint64_t inner = leads(run, collection);
  for (const Dimension& dimension : collection.leading) {
    const std::uint64_t extent = value_of(dimension, run.extents);
    inner /= extent;
    std::vector<std::uint64_t> column;
    for (const std::uint64_t slot : rows.slots) column.push_back(slot / collection.stride() / inner % extent);
    emit(dimension.name, Type::u64, std::move(column), "", is_map ? Folding::key : Folding::same, {});
  }
  for (std::size_t i = 0; i < collection.key.size(); ++i) {
    std::vector<std::uint64_t> column;
    for (const std::uint64_t slot : rows.slots) column.push_back(key_field(run, collection, slot, i));
    const Collection::KeyField& key = collection.key[i];
    emit(key.name.empty() ? "key" : key.name, key.type, std::move(column), "", Folding::key, key.naming);
  }
  for (std::size_t i = 0; i < collection.leaves.size(); ++i) {
    const Symbol& leaf = *collection.leaves[i];
    std::vector<std::uint64_t> column;
    for (const std::uint64_t slot : rows.slots) column.push_back(wide_bits(run, leaf, slot));
    const std::string field = collection.field_name(leaf);
    const Collection::Naming& naming = collection.namings[i];
    const Folding folding = is_map                       ? folding_of(leaf)
                            : naming.function != nullptr ? Folding::same
                                                         : Folding::by_name;
    emit(field.empty() ? "value" : field, leaf.type, std::move(column), unit, folding, naming);
  }
}

void emit_histogram(HostRun& run, const Collection& histogram, const std::string& name,
                    const std::string& unit) {
  Emitted emitted;
  emitted.name = run.take_name(name);
  emitted.unit = unit;
  for (const Dimension& dimension : histogram.leading) {
    emitted.dimensions.push_back(value_of(dimension, run.extents));
    emitted.dimension_names.push_back(dimension.name);
  }
  emitted.dimensions.push_back(histogram.capacity);
  emitted.dimension_names.push_back(std::to_string(histogram.capacity));
  const std::uint64_t count = leads(run, histogram);
  std::vector<std::uint64_t> bins;
  for (std::uint64_t i = 0; i < count * histogram.capacity; ++i)
    bins.push_back(value_in(run, *histogram.leaves[0], i));
  emitted.values = std::move(bins);
  for (std::uint64_t i = 0; i <= histogram.capacity; ++i) emitted.bounds.push_back(histogram.bin_bound(i));
  for (std::uint64_t i = 0; i < count; ++i) {
    emitted.underflow.push_back(value_in(run, *histogram.counter, i));
    emitted.overflow.push_back(value_in(run, *histogram.overflow, i));
  }
  run.emit(std::move(emitted));
}

}  // namespace

std::uint64_t host_find_entry(HostRun* run, const Collection* map, std::uint64_t lead,
                              const std::uint64_t* words) {
  const HostRun::Entries& entries = entries_of(*run, *map, lead);
  const auto found = entries.by_key.find({words, words + map->key_words.size()});
  return found == entries.by_key.end() ? ~std::uint64_t{0} : found->second;
}

std::uint64_t collection_value(const HostCall& call) {
  const Collection& collection = *call.symbol(0).collection;
  const auto total = [&](auto value) { return total_of(call.run, collection, call.arguments[0], value); };
  if (call.api() == Api::length) return total(length_of);
  if (call.api() == Api::dropped) return total(dropped_of);
  const Symbol& counter = call.api() == Api::overflow ? *collection.overflow : *collection.counter;
  return total([&](HostRun& run, const Collection&, std::uint64_t i) { return value_in(run, counter, i); });
}

std::uint64_t bin_bound(const HostCall& call) {
  const Collection& histogram = *call.expression.symbol->collection;
  const std::uint64_t bin = call.arguments[1];
  if (bin >= histogram.capacity) return host_out_of_range(&call.run, &call.expression), 0;
  return static_cast<std::uint64_t>(histogram.bin_bound(bin + (call.api() == Api::bin_to ? 1 : 0)));
}

std::uint64_t map_entry(const HostCall& call) {
  const Collection& map = *call.symbol(0).collection;
  const std::vector<std::uint64_t>& entries = entries_of(call.run, map, call.arguments[0]).slots;
  const std::uint64_t number = call.arguments[1];
  const std::uint64_t part = call.expression.value;
  if (number >= entries.size()) return host_out_of_range(&call.run, &call.expression), 0;
  if (call.api() == Api::entry_key) return key_field(call.run, map, entries[number], part);
  return wide_bits(call.run, *map.leaves[part], entries[number]);
}

void emit_collection(HostRun& run, const Collection& collection, const std::string& name,
                     const std::string& unit, std::uint64_t most) {
  if (collection.kind == Collection::Kind::histogram) return emit_histogram(run, collection, name, unit);
  emit_table(run, collection, name, unit, most);
}

std::vector<std::uint64_t> entry_slots(HostRun& run, const Collection& collection) {
  return rows_of(run, collection, all_of_them).slots;
}

void note_dropped(HostRun& run) {
  if (!run.launch.print) return;
  for (const auto& collection : run.program.collections) {
    if (collection->kind == Collection::Kind::histogram) continue;
    const std::uint64_t dropped = total_of(run, *collection, all_of_them, dropped_of);
    if (dropped == 0) continue;
    const bool is_trace = collection->kind == Collection::Kind::trace;
    run.launch.print("'" + collection->name + "': " + std::to_string(dropped) +
                     (is_trace ? " entries were dropped because the trace was full"
                               : " updates were dropped because the map was full"));
  }
}

}  // namespace lynxpp::cod
