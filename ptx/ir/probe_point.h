// The program points at which handlers run.
#pragma once

#include <cstdint>

namespace lynxpp::ptx {

/// loop_iteration is at the start of the loop header, instruction before the instruction, instruction_after
/// after it.
enum class ProbePoint : std::uint8_t {
  kernel_entry,
  kernel_exit,
  basic_block_entry,
  basic_block_exit,
  function_entry,
  function_exit,
  loop_entry,
  loop_iteration,
  loop_exit,
  instruction,
  instruction_after
};

}  // namespace lynxpp::ptx
