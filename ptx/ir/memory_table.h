// Rows of memory_table.def. Code that has an instruction uses memory_access.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lynxpp::ptx {

enum class MemoryKind : std::uint8_t { access, copy, hint, synchronization, descriptor };

/// When an instruction's reads and writes complete. named: a modifier says bulk_group or barrier.
enum class MemoryCompletion : std::uint8_t { now, async_group, bulk_group, barrier, named };

struct MemorySide {
  enum class Operation : std::uint8_t { none, read, write, update };
  enum class Space : std::uint8_t { named, destination, source, shared, texture, surface };
  enum class Bytes : std::uint8_t { unknown, type, row, fixed, operand, copied, fetched };
  enum class Lanes : std::uint8_t { all, rows, one };

  Operation operation = Operation::none;
  Space space = Space::named;
  std::uint8_t address = 0;  ///< operand index; no_address for coordinates
  Bytes bytes = Bytes::unknown;
  std::uint8_t amount = 0;  ///< Bytes::fixed: the number of bytes; Bytes::operand: the operand's index
  Lanes lanes = Lanes::all;

  static constexpr std::uint8_t no_address = 0xff;
  bool exists() const { return operation != Operation::none; }
  bool reads() const { return operation == Operation::read || operation == Operation::update; }
  bool writes() const { return operation == Operation::write || operation == Operation::update; }
};

struct MemoryRow {
  std::string_view mnemonic;
  MemoryKind kind = MemoryKind::access;
  MemoryCompletion completion = MemoryCompletion::now;
  std::array<MemorySide, 2> sides;
  std::string_view note;

  bool reads() const { return sides[0].reads() || sides[1].reads(); }
  bool writes() const { return sides[0].writes() || sides[1].writes(); }
  bool is_async_copy() const { return kind == MemoryKind::copy && completion != MemoryCompletion::now; }
};

/// Returns the rows, sorted by mnemonic.
std::span<const MemoryRow> memory_rows();

/// Returns the row that describes the opcode's memory accesses; null if it has none.
const MemoryRow* find_memory_row(std::string_view opcode);

}  // namespace lynxpp::ptx
