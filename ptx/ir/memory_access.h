// What an instruction accesses, and through which operands. Opcode traits say it of most instructions; copies
// have two sides.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

struct MemoryAccess {
  bool reads = false;
  bool writes = false;
  StateSpace space = StateSpace::none;
  std::uint32_t bytes = 0;  ///< per thread; 0 when the instruction does not tell
  /// [base + offset]; null for textures, surfaces and tensors, which have coordinates
  const Operand* address = nullptr;
  const Operand* size = nullptr;  ///< of a bulk copy: the operand that holds the number of bytes
};

/// The accesses of one instruction: none, one, or of a copy its source and then its destination.
struct MemoryAccesses {
  std::array<MemoryAccess, 2> access;
  std::uint32_t count = 0;

  void add(const MemoryAccess& each) { access[count++] = each; }
  const MemoryAccess* begin() const { return access.data(); }
  const MemoryAccess* end() const { return access.data() + count; }
};

MemoryAccesses memory_accesses(const Instruction& instruction);

/// The operand that a store or an atomic operation writes or combines with memory (`k` is 0, of `cas` 1 the
/// new value); null when there is none. Elements of a vector are found in the operand itself.
const Operand* stored_operand(const Instruction& instruction, std::uint32_t k);

/// Elements that the instruction moves between registers and memory: those of the vector operand, else 1; 0
/// without an access.
std::uint32_t vector_width(const Instruction& instruction);

}  // namespace lynxpp::ptx
