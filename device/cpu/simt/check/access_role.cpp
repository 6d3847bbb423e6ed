#include "device/cpu/simt/check/access_role.h"

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

AccessRole role_of_copy(std::string_view opcode, std::size_t address) {
  AccessRole role;
  if (address == 2 || opcode.starts_with("cp.async.mbarrier")) {
    role.is_barrier = true;
  } else {
    const bool reduces = address == 0 && opcode.starts_with("cp.reduce");
    role.writes = address == 0;
    role.reads = address == 1 || reduces;
    if (reduces) role.reach = Reach::device;
  }
  return role;
}

}  // namespace

AccessRole role_of(std::string_view opcode, std::size_t address) {
  if (opcode.starts_with("cp.")) return role_of_copy(opcode, address);
  AccessRole role;
  // st.async and red.async tell a barrier at their second address.
  if (opcode.starts_with("mbarrier") || (address == 1 && has_word(opcode, "async"))) {
    role.is_barrier = true;
    return role;
  }
  const bool is_atomic =
      opcode.starts_with("atom") || opcode.starts_with("red") || opcode.starts_with("sured");
  const bool stores =
      opcode.starts_with("st") || opcode.starts_with("sust") || opcode.starts_with("wmma.store");
  role.reads = is_atomic || !stores;
  role.writes = is_atomic || stores;
  const bool is_ordered = has_word(opcode, "acq_rel");
  role.acquires = is_ordered || has_word(opcode, "acquire");
  role.releases = is_ordered || has_word(opcode, "release");
  const bool is_strong = is_atomic || role.acquires || role.releases || has_word(opcode, "relaxed") ||
                         has_word(opcode, "volatile") || has_word(opcode, "mmio");
  if (is_strong) role.reach = has_word(opcode, "cta") ? Reach::block : Reach::device;
  return role;
}

Reach reach_of_fence(std::string_view opcode) {
  return has_word(opcode, "cta") ? Reach::block : Reach::device;
}

}  // namespace lynxpp::device::cpu
