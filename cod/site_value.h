// Values of the instrumented program that a handler reads, and the names that represent them in its PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cod/instruction_filter.h"

namespace lynxpp::cod {

/// Names that a handler's PTX may contain as an operand of `mov`; the splice pass replaces each at every
/// site. `<name>` is a result of name_of(SiteValue).
///   mov.b64 %rd1, __lynxpp_word_3;         parameter slot (u64)
///   mov.b64 %rd1, __lynxpp_state_0;        read of a state register: b32 for types up to 32 bits, else b64;
///                                          f32 and f64 likewise by size
///   mov.b64 __lynxpp_state_0, %rd1;        write
///   mov.b64 %rd1, __lynxpp_memory_0;       address of a module variable in its own state space
///   mov.b32 %r1, __lynxpp_site_<name>;     a site value; u32, or u64 if is_wide(value)
inline constexpr std::string_view handler_function = "lynxpp_handler";
inline constexpr std::string_view word_prefix = "__lynxpp_word_";
inline constexpr std::string_view state_prefix = "__lynxpp_state_";
inline constexpr std::string_view site_prefix = "__lynxpp_site_";
inline constexpr std::string_view memory_prefix = "__lynxpp_memory_";

enum class SiteValue {
  basic_block_id,  ///< index of the block in the kernel and its callees, 0-based
  basic_block_count,
  basic_block_instruction_count,  ///< instructions of the block
  /// Instructions that are not guarded or whose guard held, counted by this thread in this execution of the
  /// block.
  basic_block_executed_instruction_count,
  basic_block_predicated_instruction_count,  ///< guarded instructions of the block
  instruction_id,  ///< index of the instruction in the kernel and its callees, 0-based
  instruction_count,
  function_id,         ///< index of the function's first block
  loop_id,             ///< index of the loop header; basic_block_count outside loops
  loop_depth,          ///< 0 outside loops
  loop_trips,          ///< times that the thread has executed the header since it entered the loop, u64
  is_back_edge,        ///< 1 if the branch may take a back edge of an enclosing loop
  memory_address,      ///< address of this access with offset, u64 (instruction targets, as all that follow)
  access_size,         ///< bytes that this thread accesses; in a register if DeviceTarget::has_lane_sizes
  access_kind,         ///< 0 read, 1 write, 2 atomic
  follows_from_lanes,  ///< 1 if sectors and banks follow from the lanes' addresses and access_size
  branch_target,       ///< target of a branch for this lane; one number per target block
  access_space,        ///< bit of AddressSpace; for a generic access, the space that its address is in
  bulk_size,           ///< bytes of a bulk copy, u64; 0 for all other instructions
  vector_width,        ///< elements per thread
  source_line,         ///< 0 if unknown
  ptx_line,            ///< of the original module
  source_id,           ///< first_of_groups() with SiteGrouping::source_line; the following values likewise
  source_file_id,
  opcode_id,
  call_target_id,
  instruction_is,  ///< 1 if the filter matches; the parameter is the packed filter
  loaded_value,    ///< bits of element <parameter> that was read, u64 (after the instruction)
  stored_value,    ///< bits of element <parameter> to be written, u64
  operand_value,   ///< bits of operand <parameter>, in source order from 0, u64
  result_value,    ///< bits of result element <parameter>, u64 (after the instruction)
  // Hoisted results about the differences between the lanes' addresses (lower_lane_value):
  sector_threshold,     ///< the lane is first in its sector if its address modulo 32 is below this
  hoisted_banks,        ///< bankConflicts() + 65536 * bankGroupsSpared() of this access
  bank_lanes,           ///< lanes that conflict with this one at a bank; 0 in all lanes if none do
  banks_of_some_lanes,  ///< hoisted_banks, computed at the access from bank_lanes
  lane_result,          ///< the register that a routine for one of these four values writes
  predicate_value,      ///< 1 if the instruction is not guarded or its guard holds
  executions,           ///< executions of the access that one run of the routine represents; 1 except with
                        ///< WordScheme::Analysis::invariants
};
std::string_view name_of(SiteValue value);  ///< "basic_block_id"
bool is_wide(SiteValue value);
/// A value with a parameter is named "<name>_<parameter>": "operand_value_2".
bool has_parameter(SiteValue value);
/// "instruction_is_17" ▶ the filter that it tests; nullopt for other values.
std::optional<InstructionFilter> filter_of_value(std::string_view name);

}  // namespace lynxpp::cod
