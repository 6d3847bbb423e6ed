// Static properties of each instruction and basic block of an instrumented kernel: the key to arrays with the
// extents INSTRUCTIONS and BASIC_BLOCKS. Depends only on the kernel's PTX, not on the attached
// specifications. Exception: transfer labels are computed only if a specification uses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cod/instruction_filter.h"

namespace lynxpp::cod {

struct SiteTable {
  static constexpr std::uint32_t unknown = 0xffffffff;

  /// Indexed by instructionId().
  struct Instruction {
    std::uint32_t block = 0;   ///< basicBlockId()
    std::uint32_t opcode = 0;  ///< in `opcodes`
    LabelSets labels;
    std::uint32_t ptx_line = 0;         ///< in the module's text, 1-based
    std::uint32_t file = unknown;       ///< in `files`
    std::uint32_t line = 0;             ///< in that file; 0 if unknown
    std::uint32_t call_site = unknown;  ///< in `call_sites`: the call that inlined this line's function
    std::uint32_t object = unknown;     ///< in `objects`: the memory object that the address points into
    std::uint32_t stride = unknown;     ///< in `strides`: bytes between adjacent lanes
    bool operator==(const Instruction&) const = default;
  };
  /// Indexed by basicBlockId().
  struct Block {
    std::uint32_t function = 0;  ///< in `functions`
    std::uint32_t first_instruction = 0;
    std::uint32_t instructions = 0;
    std::uint32_t falls_to = unknown;     ///< fall-through successor
    std::uint32_t branches_to = unknown;  ///< the only target of the branch at its end
    std::uint32_t join = unknown;         ///< immediate post-dominator
    std::uint32_t loop = unknown;  ///< header of the innermost enclosing loop, excluding the block itself
    bool operator==(const Block&) const = default;
  };
  /// A call that was inlined.
  struct CallSite {
    std::uint32_t file = unknown;  ///< in `files`
    std::uint32_t line = 0;
    std::uint32_t outer = unknown;  ///< the call that inlined this line's function
    bool operator==(const CallSite&) const = default;
  };

  std::vector<std::string> functions;  ///< mangled names, the kernel first
  std::vector<std::string> opcodes;    ///< with all modifiers: "ld.global.f32"
  std::vector<std::string> files;      ///< paths as the compiler wrote them
  std::vector<std::string> objects;    ///< "argument 2", or a variable's mangled name
  std::vector<std::string> strides;    ///< "4", "4 * argument 6"
  std::vector<CallSite> call_sites;
  std::vector<Block> blocks;
  std::vector<Instruction> instructions;
  std::map<std::uint32_t, std::string> callees;  ///< direct calls: instruction ▶ the callee's mangled name

  const std::string& opcode_of(const Instruction& instruction) const { return opcodes[instruction.opcode]; }
  const std::string& function_of(const Instruction& instruction) const {
    return functions[blocks[instruction.block].function];
  }
  bool operator==(const SiteTable&) const = default;
};

/// The property by which instructions are grouped.
enum class SiteGrouping { source_line, source_file, opcode, call_target };
/// Maps each instruction to the first one of its group. With call_target, an instruction that does not call a
/// function by name is its own group.
std::vector<std::uint32_t> first_of_groups(const SiteTable& sites, SiteGrouping what);

}  // namespace lynxpp::cod
