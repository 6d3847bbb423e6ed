#include "ptx/ir/memory_table.h"

#include "ptx/ir/name_table.h"

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

constexpr MemoryRow row_list[] = {
#define PTX_MEMORY(mnemonic, kind, completion, first, second, note) \
  MemoryRow{mnemonic, MemoryKind::kind, MemoryCompletion::completion, {first, second}, note},
#include "ptx/ir/memory_table.def"
#undef PTX_MEMORY
};
constexpr NameTable row_table(&MemoryRow::mnemonic, row_list);

#undef SIDE
#undef NONE
#undef COORDINATES

}  // namespace

std::span<const MemoryRow> memory_rows() { return row_table.rows(); }

const MemoryRow* find_memory_row(std::string_view opcode) { return row_table.find(opcode); }

}  // namespace lynxpp::ptx
