#include "device/cpu/simt/check/access_role.h"

#include "ptx/ir/memory_table.h"

namespace lynxpp::device::cpu {
namespace {

bool has_word(std::string_view opcode, std::string_view word) {
  for (std::size_t begin = opcode.find('.'); begin != std::string_view::npos;) {
    const std::size_t end = opcode.find('.', begin + 1);
    if (opcode.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1) == word) return true;
    begin = end;
  }
  return false;
}

/// Returns the side of the row that uses the instruction's address number `address`; null if none does.
const ptx::MemorySide* side_at(const ptx::MemoryRow& row, std::size_t address) {
  // The addresses of a copy are its first operands; other instructions have one address.
  for (const ptx::MemorySide& side : row.sides) {
    const std::size_t number = row.kind == ptx::MemoryKind::copy ? side.address : 0;
    if (side.exists() && number == address) return &side;
  }
  return nullptr;
}

}  // namespace

AccessRole role_of(std::string_view opcode, std::size_t address) {
  AccessRole role;
  const ptx::MemoryRow* const row = ptx::find_memory_row(opcode);
  if (row == nullptr) return role;
  const ptx::MemorySide* const side = side_at(*row, address);
  if (side == nullptr) {
    role.is_barrier = row->kind != ptx::MemoryKind::hint && row->kind != ptx::MemoryKind::descriptor;
    return role;
  }
  role.reads = side->reads();
  role.writes = side->writes();
  const bool is_ordered = has_word(opcode, "acq_rel");
  role.acquires = is_ordered || has_word(opcode, "acquire");
  role.releases = is_ordered || has_word(opcode, "release");
  const bool is_strong = (role.reads && role.writes) || role.acquires || role.releases ||
                         has_word(opcode, "relaxed") || has_word(opcode, "volatile") ||
                         has_word(opcode, "mmio");
  if (is_strong) role.reach = has_word(opcode, "cta") ? Reach::block : Reach::device;
  return role;
}

Reach reach_of_fence(std::string_view opcode) {
  return has_word(opcode, "cta") ? Reach::block : Reach::device;
}

}  // namespace lynxpp::device::cpu
