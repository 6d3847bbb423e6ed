// Memory accesses of one instruction and their operands: the rows of memory_table.def, applied to the
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
  /// Maximum number of bytes at the address of each participating lane; 0 if the instruction alone does not
  /// determine it.
  std::uint32_t bytes = 0;
  /// [base + offset]; null for textures, surfaces and tensors, which have coordinates
  const Operand* address = nullptr;
  /// The operand with the lane's number of bytes, or (LaneSize::ignored) a predicate that makes it 0; null if
  /// it is always `bytes`. Lanes with 0 bytes do not take part.
  const Operand* size = nullptr;
  std::uint32_t lanes = all_lanes;  ///< the leading lanes of the warp that may take part
  bool is_bulk = false;             ///< any size, by one lane; otherwise at most 32 bytes
  bool is_sized = true;             ///< false: no operand determines the number of bytes

  /// True if some lanes whose guard holds may not take part.
  bool selects_lanes() const { return lanes != all_lanes || size != nullptr; }
  /// True if sectors and banks follow from the lanes' addresses.
  bool follows_from_lanes() const { return address != nullptr && is_sized && !is_bulk; }
};

/// The accesses of one instruction: none, one, or for a copy its source followed by its destination.
struct MemoryAccesses {
  std::array<MemoryAccess, 2> access;
  std::uint32_t count = 0;
  bool is_async_copy = false;

  void add(const MemoryAccess& each) { access[count++] = each; }
  const MemoryAccess* begin() const { return access.data(); }
  const MemoryAccess* end() const { return access.data() + count; }
};

MemoryAccesses memory_accesses(const Instruction& instruction);

/// Interpretation of MemoryAccess::size.
enum class LaneSize : std::uint8_t {
  bytes,    ///< a number of bytes; at most MemoryAccess::bytes are accessed unless the access is bulk
  ignored,  ///< a predicate: if it holds, nothing is accessed
};
/// Precondition: the access has a size operand.
LaneSize lane_size(const Body& body, const Instruction& instruction, const MemoryAccess& access);

/// The operand that a store or an atomic operation writes or combines with memory (`k` is 0; for `cas`, 1 is
/// the new value); null if it does not exist. The operand itself holds the elements of a vector.
const Operand* stored_operand(const Instruction& instruction, std::uint32_t k);

/// The operand with the number of bytes that an mbarrier operation expects (`.expect_tx`); null for others.
const Operand* expected_bytes(const Instruction& instruction);

/// Number of elements that the instruction moves between registers and memory: those of the vector operand,
/// otherwise 1; 0 for no access.
std::uint32_t vector_width(const Instruction& instruction);

}  // namespace lynxpp::ptx
