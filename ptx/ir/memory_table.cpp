#include "ptx/ir/memory_table.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace lynxpp::ptx {
namespace {

// The vocabulary of memory_table.def.
using Bytes = MemorySide::Bytes;
struct ByteRule {
  Bytes bytes = Bytes::unknown;
  std::uint8_t amount = 0;
};
constexpr ByteRule bytes_unknown{Bytes::unknown}, bytes_type{Bytes::type}, bytes_row{Bytes::row},
    bytes_copied{Bytes::copied}, bytes_fetched{Bytes::fetched}, bytes_fixed_4{Bytes::fixed, 4},
    bytes_fixed_16{Bytes::fixed, 16};
constexpr ByteRule bytes_OPERAND(std::uint8_t number) { return {Bytes::operand, number}; }

constexpr MemorySide side(MemorySide::Operation operation, MemorySide::Space space, std::uint8_t address,
                          ByteRule bytes, MemorySide::Lanes lanes) {
  return {operation, space, address, bytes.bytes, bytes.amount, lanes};
}

#define COORDINATES MemorySide::no_address
#define NONE \
  MemorySide {}
#define SIDE(operation, space, address, bytes, lanes)                                      \
  side(MemorySide::Operation::operation, MemorySide::Space::space, address, bytes_##bytes, \
       MemorySide::Lanes::lanes)

constexpr MemoryRow row_table[] = {
#define PTX_MEMORY(mnemonic, kind, completion, first, second, note) \
  MemoryRow{mnemonic, MemoryKind::kind, MemoryCompletion::completion, {first, second}, note},
#include "ptx/ir/memory_table.def"
#undef PTX_MEMORY
};

#undef SIDE
#undef NONE
#undef COORDINATES

/// Rows of one root mnemonic, the longest (most specific) first.
using RowFamily = std::vector<const MemoryRow*>;

const std::unordered_map<std::string_view, RowFamily>& row_families() {
  static const auto table = [] {
    std::unordered_map<std::string_view, RowFamily> result;
    for (const MemoryRow& row : row_table)
      result[row.mnemonic.substr(0, row.mnemonic.find('.'))].push_back(&row);
    for (auto& [root, family] : result) {
      std::ranges::stable_sort(family, std::ranges::greater(),
                               [](const MemoryRow* row) { return row->mnemonic.size(); });
    }
    return result;
  }();
  return table;
}

}  // namespace

std::span<const MemoryRow> memory_rows() { return row_table; }

const MemoryRow* find_memory_row(std::string_view opcode) {
  const auto family = row_families().find(opcode.substr(0, opcode.find('.')));
  if (family == row_families().end()) return nullptr;
  const auto found = std::ranges::find_if(family->second, [&](const MemoryRow* row) {
    const std::string_view mnemonic = row->mnemonic;
    return opcode.starts_with(mnemonic) &&
           (opcode.size() == mnemonic.size() || opcode[mnemonic.size()] == '.');
  });
  return found == family->second.end() ? nullptr : *found;
}

}  // namespace lynxpp::ptx
