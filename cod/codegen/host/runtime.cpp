#include "cod/codegen/host/runtime.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cod/sema/format.h"
#include "cod/word_statistics.h"

namespace lynxpp::cod {
namespace {

template <typename T>
T element_at(const std::byte* data, std::uint64_t index) {
  T value{};
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

/// Calls `visit` with a value of the array's element type.
template <typename Visit>
auto with_type(ScalarType type, Visit visit) {
  switch (type) {
    case ScalarType::i8: return visit(std::int8_t{});
    case ScalarType::u8: return visit(std::uint8_t{});
    case ScalarType::i16: return visit(std::int16_t{});
    case ScalarType::u16: return visit(std::uint16_t{});
    case ScalarType::i32: return visit(std::int32_t{});
    case ScalarType::u32: return visit(std::uint32_t{});
    case ScalarType::i64: return visit(std::int64_t{});
    case ScalarType::f32: return visit(float{});
    case ScalarType::f64: return visit(double{});
    case ScalarType::u64: break;
  }
  return visit(std::uint64_t{});
}

template <typename Element>
using Widened =
    std::conditional_t<std::is_floating_point_v<Element>, double,
                       std::conditional_t<std::is_signed_v<Element>, std::int64_t, std::uint64_t>>;

template <typename Element>
std::uint64_t reduce(Api api, const std::byte* data, std::uint64_t count) {
  using Wide = Widened<Element>;
  if (api == Api::mean) {
    double total = 0;
    for (std::uint64_t i = 0; i < count; ++i) total += static_cast<double>(element_at<Element>(data, i));
    return std::bit_cast<std::uint64_t>(count == 0 ? 0.0 : total / static_cast<double>(count));
  }
  // Integers are added as unsigned, so that the sum wraps.
  using Sum = std::conditional_t<std::is_floating_point_v<Element>, double, std::uint64_t>;
  Wide result = count == 0 ? Wide{} : static_cast<Wide>(element_at<Element>(data, 0));
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto value = static_cast<Wide>(element_at<Element>(data, i));
    if (api == Api::sum) result = static_cast<Wide>(static_cast<Sum>(result) + static_cast<Sum>(value));
    if (api == Api::max) result = std::max(result, value);
    if (api == Api::min) result = std::min(result, value);
  }
  return std::bit_cast<std::uint64_t>(result);
}

std::string first_free(const std::string& name, std::set<std::string>& taken) {
  std::string free = name;
  for (int copy = 2; !taken.insert(free).second; ++copy) free = name + "#" + std::to_string(copy);
  return free;
}

Emitted named(const std::string& name, const std::string& unit) {
  Emitted emitted;
  emitted.name = name;
  emitted.unit = unit;
  return emitted;
}

/// Applies fold() for the column, the result or the whole table. A table's keys stay keys.
void declare_fold(const Program& program, Emitted& emitted) {
  const auto declared = [&](const std::string& name) {
    return program.folds.find(std::string_view(name).substr(0, name.find('#')));
  };
  auto found = declared(emitted.name);
  if (found == program.folds.end() && !emitted.table.empty()) {
    // "loads#2.line" is the same column as "loads.line".
    const std::string first = emitted.table.substr(0, emitted.table.find('#'));
    if (emitted.name.size() > emitted.table.size())
      found = declared(first + emitted.name.substr(emitted.table.size()));
    if (found == program.folds.end() && emitted.folding != Folding::key) found = declared(first);
  }
  if (found != program.folds.end()) emitted.folding = found->second;
}

}  // namespace

std::string HostRun::take_name(const std::string& name) { return first_free(name, taken_names); }

void HostRun::emit(Emitted emitted) {
  if (!launch.emit) return;
  declare_fold(program, emitted);
  emitted.name = first_free(emitted.name, emitted_names);
  launch.emit(std::move(emitted));
}

void HostRun::emit_column(Emitted row, const std::string& column, decltype(Emitted::values) values,
                          const std::string& unit, Folding folding) {
  row.name = row.table + "." + column;
  row.values = std::move(values);
  row.unit = unit;
  row.folding = folding;
  emit(std::move(row));
}

void HostRun::add_mishap(const Position* place, const char* message) {
  const auto known =
      std::find_if(mishaps.begin(), mishaps.end(), [&](const Mishap& each) { return each.place == place; });
  if (known != mishaps.end()) {
    ++known->times;
  } else {
    mishaps.push_back({place, message, 1});
  }
}

LaunchExtents extents_of(const LaunchView& launch) {
  LaunchExtents extents;
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  extents.basic_blocks = launch.basic_blocks;
  extents.instructions = launch.instructions;
  extents.blocks = launch.launches * launch.grid[0] * launch.grid[1] * launch.grid[2];
  extents.warps = extents.blocks * ((threads + 31) / 32);
  extents.threads = extents.blocks * threads;
  extents.sms = launch.sms;
  extents.shared_words = launch.shared_words;
  extents.device_words = launch.device_words;
  return extents;
}

Status check_arrays(const Program& program, const LaunchView& launch, HostRun& run) {
  if (launch.arrays.size() != program.arrays.size()) {
    return failure("the launch has " + std::to_string(launch.arrays.size()) +
                   " arrays, but the specification has " + std::to_string(program.arrays.size()));
  }
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const GlobalArray& array = program.arrays[i];
    const std::uint64_t count = element_count(array, run.extents);
    const bool has_source = launch.sources.contains(static_cast<std::uint32_t>(i));
    if (!has_source && launch.arrays[i].size() / size_of(array.type) < count) {
      return failure("the contents of '" + array.name +
                     "' are incomplete: " + std::to_string(launch.arrays[i].size()) + " bytes for " +
                     std::to_string(count) + " elements");
    }
    run.counts.push_back(count);
    if (!has_source) continue;
    std::optional<MappedMemory> elements = MappedMemory::of(count * size_of(array.type));
    if (!elements) return failure("'" + array.name + "' is too large for the host's memory");
    run.expanded.emplace(static_cast<std::uint32_t>(i), HostRun::Expanded{std::move(*elements)});
  }
  return success();
}

std::uint64_t host_extent(HostRun* run, std::uint64_t extent) {
  return value_of(Dimension{static_cast<Extent>(extent), 1, {}}, run->extents);
}

std::byte* HostRun::elements_of(std::uint32_t array) {
  const auto known = expanded.find(array);
  if (known == expanded.end()) return launch.arrays[array].data();
  std::byte* const elements = known->second.elements.bytes().data();
  if (std::exchange(known->second.is_filled, true)) return elements;
  const std::uint64_t size = counts[array] * size_of(program.arrays[array].type);
  launch.sources.at(array)->fill({elements, size}, size_of(program.arrays[array].type));
  return elements;
}

std::shared_ptr<WordSource> HostRun::source_of(std::uint32_t array) const {
  const auto known = expanded.find(array);
  if (known == expanded.end() || known->second.is_filled) return nullptr;
  return launch.sources.at(array);
}

void* host_array(HostRun* run, std::uint64_t array) {
  return run->elements_of(static_cast<std::uint32_t>(array));
}

void* host_variable(HostRun* run, std::uint64_t offset) { return run->host + offset; }

void host_out_of_range(HostRun* run, const Expression* place) {
  run->add_mishap(place, "this index is out of range; the access was skipped");
}

void host_endless_loop(HostRun* run, const Position* place) {
  run->add_mishap(place, "this loop does not terminate; the report was stopped after 2^30 iterations");
}

void host_division_by_zero(HostRun* run, const Expression* place) {
  run->add_mishap(place, "division by zero; the result was taken as 0");
}

decltype(Emitted::values) values_of(std::vector<std::uint64_t> bits, Type type) {
  if (is_signed(type) && !is_floating(type)) return std::vector<std::int64_t>(bits.begin(), bits.end());
  if (!is_floating(type)) return bits;
  std::vector<double> values;
  for (const std::uint64_t each : bits) values.push_back(std::bit_cast<double>(each));
  return values;
}

namespace {

/// Elements of an array; for a part of a trace or map, those of its valid entries.
struct Elements {
  const std::byte* data = nullptr;
  std::uint64_t count = 0;
  ScalarType type = ScalarType::u64;
  bool are_entries = false;
  std::vector<std::byte> copied;
};

Elements elements_of(HostRun& run, const Symbol& symbol) {
  if (symbol.memory == Symbol::Memory::host)
    return {run.host + symbol.index, constant_count(symbol.dimensions), storage_of(symbol.type), false, {}};
  Elements elements{
      run.elements_of(symbol.index), run.counts[symbol.index], storage_of(symbol.type), false, {}};
  const Collection* collection = symbol.collection;
  if (collection == nullptr || collection->kind == Collection::Kind::histogram) return elements;
  const std::size_t bytes = size_of(elements.type);
  for (const std::uint64_t slot : entry_slots(run, *collection)) {
    const std::byte* element = elements.data + slot * bytes;
    elements.copied.insert(elements.copied.end(), element, element + bytes);
  }
  elements.data = elements.copied.data();
  elements.count = elements.copied.size() / bytes;
  elements.are_entries = true;
  return elements;
}

void emit_elements(HostRun& run, const Elements& elements, const std::vector<Dimension>& dimensions,
                   Emitted emitted) {
  if (elements.are_entries) {
    emitted.dimensions = {elements.count};
  } else {
    for (const Dimension& dimension : dimensions) {
      emitted.dimensions.push_back(value_of(dimension, run.extents));
      emitted.dimension_names.push_back(dimension.name);
    }
  }
  with_type(elements.type, [&](auto element) {
    using Element = decltype(element);
    std::vector<Widened<Element>> values(elements.count);
    for (std::uint64_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<Widened<Element>>(element_at<Element>(elements.data, i));
    emitted.values = std::move(values);
  });
  run.emit(std::move(emitted));
}

void emit_column(HostRun& run, const Symbol& leaf, const std::string& table, const std::string& column,
                 const std::string& unit) {
  Emitted emitted = named(table + "." + column, unit);
  emitted.table = table;
  emit_elements(run, elements_of(run, leaf), leaf.dimensions, std::move(emitted));
}

/// An array of structures: its fields become the columns of a table.
void emit_record(const HostCall& call) {
  const std::string table = call.run.take_name(call.text(0));
  const Symbol& record = call.symbol(1);
  for_each_part(record, [&](const Symbol& part) {
    if (part.kind == Symbol::Kind::record) return;
    emit_column(call.run, part, table, part.name.substr(record.name.size() + 1), call.unit(2));
  });
}

void emit(const HostCall& call) {
  HostRun& run = call.run;
  const Expression& value = *call.expression.operands[1];
  const Symbol* symbol = value.kind == ExpressionKind::name ? value.symbol : nullptr;
  if (symbol != nullptr && symbol->collection != nullptr)
    return emit_collection(run, *symbol->collection, call.text(0), call.unit(2), all_of_them);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::record && !symbol->dimensions.empty())
    return emit_record(call);
  Emitted emitted = named(run.take_name(call.text(0)), call.unit(2));
  if (symbol != nullptr && symbol->kind == Symbol::Kind::array)
    return emit_elements(run, elements_of(run, *symbol), symbol->dimensions, std::move(emitted));
  emitted.values = values_of({call.arguments[1]}, value.type);
  run.emit(std::move(emitted));
}

void emit_ratio(const HostCall& call) {
  Emitted emitted = named(call.run.take_name(call.text(0)), call.unit(3));
  emitted.values = values_of({call.arguments[1]}, call.expression.operands[1]->type);
  emitted.denominators = values_of({call.arguments[2]}, call.expression.operands[2]->type);
  call.run.emit(std::move(emitted));
}

void emit_table(const HostCall& call) {
  const std::string table = call.run.take_name(call.text(0));
  for (std::size_t i = 1; i + 1 < call.expression.operands.size(); i += 2)
    emit_column(call.run, call.symbol(i + 1), table, call.text(i), "");
}

std::uint64_t reduce(const HostCall& call) {
  const Elements elements = elements_of(call.run, call.symbol(0));
  return with_type(elements.type, [&](auto element) {
    return reduce<decltype(element)>(call.api(), elements.data, elements.count);
  });
}

void print(const HostCall& call) {
  std::vector<FormatPiece> pieces;
  std::string unknown;
  if (!call.run.launch.print || !parse_format(call.text(0), pieces, unknown)) return;
  std::string text;
  std::size_t i = 0;
  for (const FormatPiece& piece : pieces) {
    if (piece.kind == FormatPiece::Kind::text) {
      text += piece.text;
      continue;
    }
    ++i;
    text += format_value(piece, call.arguments[i], call.expression.operands[i]->type);
  }
  call.run.launch.print(text);
}

std::uint64_t launch_value(const HostRun& run, Api api) {
  const LaunchView& launch = run.launch;
  switch (api) {
    case Api::grid_dim_x: return launch.grid[0];
    case Api::grid_dim_y: return launch.grid[1];
    case Api::grid_dim_z: return launch.grid[2];
    case Api::block_dim_x: return launch.block[0];
    case Api::block_dim_y: return launch.block[1];
    case Api::block_dim_z: return launch.block[2];
    case Api::block_dim: return std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    case Api::grid_dim: return run.extents.blocks;
    case Api::warp_count: return run.extents.warps;
    case Api::basic_block_count: return launch.basic_blocks;
    case Api::instruction_count: return launch.instructions;
    case Api::clock_rate: return launch.clock_khz;
    case Api::multiprocessor_count: return launch.multiprocessors;
    case Api::compute_capability: return launch.compute_capability;
    case Api::launch_index: return launch.launch;
    case Api::is_running: return launch.is_running ? 1 : 0;
    case Api::kernel_name: return std::bit_cast<std::uint64_t>(&run.kernel_name);
    case Api::device_name: return std::bit_cast<std::uint64_t>(&run.device_name);
    default: return 0;
  }
}

}  // namespace

std::uint64_t host_call(HostRun* run, const Expression* expression, const std::uint64_t* arguments) {
  const HostCall call{*run, *expression, arguments};
  switch (expression->api->arguments) {
    case ApiArguments::array: return reduce(call);
    case ApiArguments::collection: return collection_value(call);
    case ApiArguments::bin: return bin_bound(call);
    case ApiArguments::entry: return map_entry(call);
    case ApiArguments::instruction:
    case ApiArguments::instruction_labels:
    case ApiArguments::block:
      return expression->type == Type::text ? std::bit_cast<std::uint64_t>(&site_text(call))
                                            : site_value(call);
    case ApiArguments::emit: emit(call); break;
    case ApiArguments::emit_top:
      emit_collection(*run, *call.symbol(1).collection, call.text(0), call.unit(3), arguments[2]);
      break;
    case ApiArguments::emit_ratio: emit_ratio(call); break;
    case ApiArguments::emit_table: emit_table(call); break;
    case ApiArguments::emit_words: emit_words(call); break;
    case ApiArguments::emit_arrays: emit_arrays(call); break;
    case ApiArguments::print: print(call); break;
    default: return launch_value(*run, expression->api->api);
  }
  return 0;
}

void emit_array(HostRun& run, std::uint32_t index, const std::string& name, const std::string& unit) {
  const GlobalArray& array = run.program.arrays[index];
  const Elements elements{run.elements_of(index), run.counts[index], array.type, false, {}};
  emit_elements(run, elements, array.dimensions, named(run.take_name(name), unit));
}

}  // namespace lynxpp::cod
