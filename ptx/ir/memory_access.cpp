#include "ptx/ir/memory_access.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t matrix_row_bytes = 16;

bool is_address(const Operand& operand) { return operand.kind == OperandKind::address; }

/// Reads the row of one instruction.
class RowReader {
 public:
  RowReader(const Instruction& instruction, const MemoryRow& row) : instruction_(instruction), row_(row) {}

  MemoryAccess read(const MemorySide& side) const {
    MemoryAccess access;
    access.reads = side.reads();
    access.writes = side.writes();
    access.space = space_of(side);
    access.address = address_of(side);
    access.lanes = lanes_of(side);
    read_bytes(side, access);
    return access;
  }

 private:
  const Operand* operand(std::size_t index) const {
    return index < instruction_.operands.size() ? &instruction_.operands[index] : nullptr;
  }

  StateSpace space_of(const MemorySide& side) const {
    switch (side.space) {
      case MemorySide::Space::named: return instruction_.traits.space;
      case MemorySide::Space::destination: return instruction_.traits.copy_spaces[0];
      case MemorySide::Space::source: return instruction_.traits.copy_spaces[1];
      case MemorySide::Space::shared: return StateSpace::shared;
      case MemorySide::Space::texture: return StateSpace::texture;
      case MemorySide::Space::surface: return StateSpace::surface;
    }
    return StateSpace::none;
  }

  /// Returns the address operand; null for a tensor, which has a descriptor and coordinates instead.
  const Operand* address_of(const MemorySide& side) const {
    if (side.address == MemorySide::no_address) return nullptr;
    const Operand* const found = operand(side.address);
    if (found == nullptr || !is_address(*found) || found->elements.empty()) return nullptr;
    return row_.kind == MemoryKind::copy && found->elements.size() != 1 ? nullptr : found;
  }

  /// Each lane holds the address of one row: 8 lanes for a matrix with 8 rows of 16 bytes.
  std::uint32_t lanes_of(const MemorySide& side) const {
    if (side.lanes == MemorySide::Lanes::one) return 1;
    if (side.lanes == MemorySide::Lanes::all) return MemoryAccess::all_lanes;
    const std::uint32_t rows = instruction_.has(Modifier::m16n16) ? 16 : 8;
    const std::uint32_t matrices = instruction_.has(Modifier::x4)   ? 4
                                   : instruction_.has(Modifier::x2) ? 2
                                                                    : 1;
    return std::min(rows * matrices, MemoryAccess::all_lanes);
  }

  void read_bytes(const MemorySide& side, MemoryAccess& access) const {
    switch (side.bytes) {
      case MemorySide::Bytes::unknown: access.is_sized = false; break;
      case MemorySide::Bytes::type:
        access.bytes = size_of(instruction_.traits.type) * instruction_.traits.vector;
        access.is_sized = access.bytes != 0;
        break;
      case MemorySide::Bytes::row: access.bytes = matrix_row_bytes; break;
      case MemorySide::Bytes::fixed: access.bytes = side.amount; break;
      case MemorySide::Bytes::operand: read_bulk(side.amount, access); break;
      case MemorySide::Bytes::copied: read_copied(access); break;
      case MemorySide::Bytes::fetched: read_fetched(access); break;
    }
  }

  /// A size given as an immediate is not read per lane.
  void read_bulk(std::size_t index, MemoryAccess& access) const {
    access.is_bulk = true;
    const Operand* const size = operand(index);
    access.is_sized = size != nullptr;
    if (size == nullptr) return;
    if (size->kind != OperandKind::integer) {
      access.size = size;
    } else if (size->integer > 0) {
      access.bytes = static_cast<std::uint32_t>(size->integer);
    } else {
      access.lanes = 0;
    }
  }

  void read_copied(MemoryAccess& access) const {
    const Operand* const size = operand(2);
    access.is_sized = size != nullptr && size->kind == OperandKind::integer && size->integer > 0;
    if (access.is_sized) access.bytes = static_cast<std::uint32_t>(size->integer);
  }

  void read_fetched(MemoryAccess& access) const {
    read_copied(access);
    constexpr std::size_t position = 3;
    const bool has_policy = instruction_.has(Modifier::l2_cache_hint);
    const std::size_t own =
        instruction_.operands.size() - (has_policy && !instruction_.operands.empty() ? 1 : 0);
    if (!access.is_sized || own <= position) return;
    const Operand& size = instruction_.operands[position];
    if (size.kind != OperandKind::integer) {
      access.size = &size;
    } else if (size.integer <= 0) {
      access.lanes = 0;
    } else {
      access.bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(size.integer, access.bytes));
    }
  }

  const Instruction& instruction_;
  const MemoryRow& row_;
};

}  // namespace

MemoryAccesses memory_accesses(const Instruction& instruction) {
  if (!instruction.traits.is_memory_access()) return {};
  const MemoryRow& row = *instruction.traits.memory;
  MemoryAccesses result;
  result.is_async_copy = row.is_async_copy();
  const RowReader reader(instruction, row);
  for (const MemorySide& side : row.sides) {
    if (side.exists()) result.add(reader.read(side));
  }
  return result;
}

LaneSize lane_size(const Body& body, const Instruction& instruction, const MemoryAccess& access) {
  LYNXPP_CHECK(access.size != nullptr, "the access has no size operand");
  if (access.size->kind != OperandKind::identifier) return LaneSize::bytes;
  const std::uint32_t scope =
      instruction.statement < body.statements.size() ? body.statements[instruction.statement].scope : 0;
  const RegisterDeclaration* const declared = body.find_register(access.size->name, scope);
  return declared != nullptr && declared->type == DataType::pred ? LaneSize::ignored : LaneSize::bytes;
}

const Operand* stored_operand(const Instruction& instruction, std::uint32_t k) {
  const MemoryRow* const row = instruction.traits.memory;
  if (row == nullptr || !row->writes() || row->kind == MemoryKind::copy) return nullptr;
  const auto& operands = instruction.operands;
  const auto address = std::find_if(operands.begin(), operands.end(), is_address);
  const auto value = static_cast<std::size_t>(address - operands.begin()) + 1;
  if (value >= operands.size()) return nullptr;
  if (k == 0 || operands[value].kind == OperandKind::vector) return &operands[value];
  const bool has_second = k == 1 && instruction.has(Modifier::cas);
  return has_second && value + 1 < operands.size() ? &operands[value + 1] : nullptr;
}

const Operand* expected_bytes(const Instruction& instruction) {
  const bool expects = instruction.op() == Op::mbarrier && instruction.has(Modifier::expect_tx);
  return expects && instruction.operands.size() > 1 ? &instruction.operands.back() : nullptr;
}

std::uint32_t vector_width(const Instruction& instruction) {
  if (!instruction.traits.is_memory_access()) return 0;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == OperandKind::vector) return static_cast<std::uint32_t>(operand.elements.size());
  }
  return 1;
}

}  // namespace lynxpp::ptx
