#include <algorithm>
#include <tuple>

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// True if ON_REPORT has a name for each of its values.
static bool has_texts(Api api) {
  using enum Api;
  return is_one_of(api, {source_id, source_file_id, opcode_id, call_target_id, allocation_id});
}

const Expression* only_value(const Expression& name) {
  const Symbol* symbol = name.kind == ExpressionKind::name ? name.symbol : nullptr;
  const bool is_fixed = symbol != nullptr && symbol->kind == Symbol::Kind::local && symbol->assignments == 0;
  return is_fixed ? symbol->initializer : nullptr;
}

void Collection::Naming::note(const Expression& value) {
  const bool is_named =
      value.kind == ExpressionKind::call && value.api != nullptr && has_texts(value.api->api);
  const ApiFunction* given = is_named ? value.api : nullptr;
  if (!is_given) function = given;
  if (function != given) function = nullptr;
  is_given = true;
}

std::uint32_t Collection::key_bits() const {
  std::uint32_t bits = 0;
  for (const KeyField& field : key) bits += bytes_of(field.type) * 8;
  return bits;
}

std::optional<TraceStream> Collection::stream() const {
  if (kind != Kind::trace || !leading.empty() || has_named_entries || capacity < least_streamed_entries)
    return std::nullopt;
  TraceStream stream;
  stream.name = name;
  stream.counter = counter->index;
  stream.capacity = capacity;
  const auto aligned = [](std::uint32_t offset, std::uint32_t bytes) {
    return (offset + bytes - 1) / bytes * bytes;
  };
  std::uint32_t end = sizeof(std::uint64_t);  // the entry's number
  for (const Symbol* leaf : leaves) {
    const std::uint32_t bytes = bytes_of(leaf->type);
    const std::uint32_t offset = aligned(end, bytes);
    const std::string field = field_name(*leaf);
    stream.fields.push_back({field.empty() ? "value" : field, leaf->index, offset});
    end = offset + bytes;
  }
  stream.entry_bytes = aligned(end, sizeof(std::uint64_t));
  return stream;
}

std::string Collection::field_name(const Symbol& leaf) const {
  return leaf.name.size() > name.size() ? leaf.name.substr(name.size() + 1) : std::string();
}

std::int64_t Collection::bin_bound(std::uint64_t bin) const {
  // Unsigned arithmetic cannot overflow: the declaration has checked that the bounds fit.
  const auto start = static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(is_linear ? start + bin * width : start << bin);
}

std::uint64_t Program::count_of_drops(const Position& access) const {
  const auto is_it = [&](const auto& each) {
    return std::tie(each.first.file, each.first.line, each.first.column) ==
           std::tie(access.file, access.line, access.column);
  };
  const auto found = std::ranges::find_if(accesses, is_it);
  return found == accesses.end() ? 0 : static_cast<std::uint64_t>(found - accesses.begin()) + 1;
}

}  // namespace lynxpp::cod
