// Accesses of one instruction, and their operands: the rows of memory_table.def, applied to the
// instruction.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/ir/memory_table.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

struct MemoryAccess {
  static constexpr std::uint32_t all_lanes = 32;

  bool reads = false;
  bool writes = false;
  StateSpace space = StateSpace::none;
  /// Maximum bytes at the address of each lane that takes part; 0: unknown from the instruction alone.
  std::uint32_t bytes = 0;
  /// [base + offset]; null for textures, surfaces and tensors, which have coordinates
  const Operand* address = nullptr;
  /// The operand with the lane's number of bytes, or (LaneSize::ignored) a predicate that makes it 0; null:
  /// always `bytes`. Lanes with 0 bytes take no part.
  const Operand* size = nullptr;
  std::uint32_t lanes = all_lanes;  ///< the leading lanes of the warp that may take part
  bool is_bulk = false;             ///< of any size, by one lane; else up to 32 bytes
  bool is_sized = true;             ///< false: no operand gives the number of bytes

  /// True if lanes whose guard holds need not all take part.
  bool selects_lanes() const { return lanes != all_lanes || size != nullptr; }
  /// True if sectors and banks follow from the lanes' addresses.
  bool is_of_lanes() const { return address != nullptr && is_sized && !is_bulk; }
};

/// The accesses of one instruction: none, one, or of a copy its source and then its destination.
struct MemoryAccesses {
  std::array<MemoryAccess, 2> access;
  std::uint32_t count = 0;
  bool is_async_copy = false;

  void add(const MemoryAccess& each) { access[count++] = each; }
  const MemoryAccess* begin() const { return access.data(); }
  const MemoryAccess* end() const { return access.data() + count; }
};

MemoryAccesses memory_accesses(const Instruction& instruction);

/// How MemoryAccess::size is read.
enum class LaneSize : std::uint8_t {
  bytes,    ///< a number of bytes; at most MemoryAccess::bytes are accessed unless it is bulk
  ignored,  ///< a predicate: where it holds, nothing is accessed
};
/// Precondition: the access has a size operand.
LaneSize lane_size(const Body& body, const Instruction& instruction, const MemoryAccess& access);

/// The operand that a store or an atomic operation writes or combines with memory (`k` is 0, of `cas` 1 the
/// new value); null when there is none. Elements of a vector are found in the operand itself.
const Operand* stored_operand(const Instruction& instruction, std::uint32_t k);

/// Elements that the instruction moves between registers and memory: those of the vector operand, else 1; 0
/// without an access.
std::uint32_t vector_width(const Instruction& instruction);

}  // namespace lynxpp::ptx
