#include "cod/site_value.h"

#include <charconv>
#include <string>

namespace lynxpp::cod {
std::string_view name_of(SiteValue value) {
  switch (value) {
    case SiteValue::basic_block_id: return "basic_block_id";
    case SiteValue::basic_block_count: return "basic_block_count";
    case SiteValue::basic_block_instruction_count: return "basic_block_instruction_count";
    case SiteValue::basic_block_executed_instruction_count: return "basic_block_executed_instruction_count";
    case SiteValue::basic_block_predicated_instruction_count:
      return "basic_block_predicated_instruction_count";
    case SiteValue::instruction_id: return "instruction_id";
    case SiteValue::instruction_count: return "instruction_count";
    case SiteValue::function_id: return "function_id";
    case SiteValue::loop_id: return "loop_id";
    case SiteValue::loop_depth: return "loop_depth";
    case SiteValue::loop_trips: return "loop_trips";
    case SiteValue::is_back_edge: return "is_back_edge";
    case SiteValue::memory_address: return "memory_address";
    case SiteValue::access_size: return "access_size";
    case SiteValue::access_kind: return "access_kind";
    case SiteValue::follows_from_lanes: return "follows_from_lanes";
    case SiteValue::branch_target: return "branch_target";
    case SiteValue::access_space: return "access_space";
    case SiteValue::bulk_size: return "bulk_size";
    case SiteValue::vector_width: return "vector_width";
    case SiteValue::source_line: return "source_line";
    case SiteValue::ptx_line: return "ptx_line";
    case SiteValue::source_id: return "source_id";
    case SiteValue::source_file_id: return "source_file_id";
    case SiteValue::opcode_id: return "opcode_id";
    case SiteValue::call_target_id: return "call_target_id";
    case SiteValue::instruction_is: return "instruction_is";
    case SiteValue::loaded_value: return "loaded_value";
    case SiteValue::stored_value: return "stored_value";
    case SiteValue::operand_value: return "operand_value";
    case SiteValue::result_value: return "result_value";
    case SiteValue::sector_threshold: return "sector_threshold";
    case SiteValue::hoisted_banks: return "hoisted_banks";
    case SiteValue::bank_lanes: return "bank_lanes";
    case SiteValue::banks_of_some_lanes: return "banks_of_some_lanes";
    case SiteValue::lane_result: return "lane_result";
    case SiteValue::executions: return "executions";
    case SiteValue::predicate_value: break;
  }
  return "predicate_value";
}

bool is_wide(SiteValue value) {
  switch (value) {
    case SiteValue::memory_address:
    case SiteValue::bulk_size:
    case SiteValue::loaded_value:
    case SiteValue::stored_value:
    case SiteValue::operand_value:
    case SiteValue::result_value:
    case SiteValue::loop_trips: return true;
    default: return false;
  }
}

std::optional<InstructionFilter> filter_of_value(std::string_view name) {
  const std::string prefix = std::string(name_of(SiteValue::instruction_is)) + "_";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t bits = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), bits);
  return unpack(bits);
}

bool has_parameter(SiteValue value) {
  switch (value) {
    case SiteValue::instruction_is:
    case SiteValue::loaded_value:
    case SiteValue::stored_value:
    case SiteValue::operand_value:
    case SiteValue::result_value: return true;
    default: return false;
  }
}

}  // namespace lynxpp::cod
