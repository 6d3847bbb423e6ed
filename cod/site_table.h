// What is known of every instruction and basic block of an instrumented kernel: the key to arrays with the
// extents INSTRUCTIONS and BASIC_BLOCKS. It depends on the kernel's PTX alone, not on what is attached, but
// for the labels of transfers, which are found out when a specification asks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::cod {

/// The filter labels an instruction answers to: bits of InstructionClass, AddressSpace, DataKind and
/// TransferKind.
struct InstructionLabels {
  std::uint32_t classes = 0;
  std::uint32_t spaces = 0;
  std::uint32_t data = 0;
  std::uint32_t transfers = 0;
  bool operator==(const InstructionLabels&) const = default;
};

/// Without those of transfers, which no instruction tells by itself.
InstructionLabels labels_of(const ptx::OpcodeTraits& traits, bool guarded);

/// A copy has two sets, one for its source and one for its destination; every other instruction has one. A
/// filter chooses an instruction when it chooses one of them.
struct LabelSets {
  InstructionLabels first;
  std::optional<InstructionLabels> second;
  bool operator==(const LabelSets&) const = default;
};
LabelSets labels_of(const ptx::Instruction& instruction);
InstructionLabels united(const LabelSets& sets);

/// {"MEM_READ", "GLOBAL", "FLOATING_POINT"}
std::vector<std::string_view> names_of(const InstructionLabels& labels);

struct SiteTable {
  static constexpr std::uint32_t unknown = 0xffffffff;

  /// Index: instructionId().
  struct Instruction {
    std::uint32_t block = 0;   ///< basicBlockId()
    std::uint32_t opcode = 0;  ///< in `opcodes`
    LabelSets labels;
    std::uint32_t ptx_line = 0;         ///< in the module's text, from 1
    std::uint32_t file = unknown;       ///< in `files`
    std::uint32_t line = 0;             ///< in that file; 0: not known
    std::uint32_t call_site = unknown;  ///< in `call_sites`: call that inlined the function of this line
    std::uint32_t object = unknown;     ///< in `objects`: memory that the address points into
    std::uint32_t stride = unknown;     ///< in `strides`: bytes between neighbouring lanes
    bool operator==(const Instruction&) const = default;
  };
  /// Index: basicBlockId().
  struct Block {
    std::uint32_t function = 0;  ///< in `functions`
    std::uint32_t first_instruction = 0;
    std::uint32_t instructions = 0;
    std::uint32_t falls_to = unknown;     ///< block reached without a jump
    std::uint32_t branches_to = unknown;  ///< the only target of the jump at its end
    std::uint32_t join = unknown;         ///< its immediate post-dominator
    std::uint32_t loop = unknown;         ///< header of the innermost loop around it, itself excluded
    bool operator==(const Block&) const = default;
  };
  /// A call that was replaced by the body of the called function.
  struct CallSite {
    std::uint32_t file = unknown;  ///< in `files`
    std::uint32_t line = 0;
    std::uint32_t outer = unknown;  ///< call that inlined the function of this line
    bool operator==(const CallSite&) const = default;
  };

  std::vector<std::string> functions;  ///< mangled names; the kernel first
  std::vector<std::string> opcodes;    ///< with all modifiers, "ld.global.f32"
  std::vector<std::string> files;      ///< paths as the compiler wrote them
  std::vector<std::string> objects;    ///< "argument 2", or the mangled name of a variable
  std::vector<std::string> strides;    ///< "4", "4 * argument 6"
  std::vector<CallSite> call_sites;
  std::vector<Block> blocks;
  std::vector<Instruction> instructions;
  std::map<std::uint32_t, std::string> callees;  ///< direct calls: instruction ▶ the function's mangled name

  const std::string& opcode_of(const Instruction& instruction) const { return opcodes[instruction.opcode]; }
  const std::string& function_of(const Instruction& instruction) const {
    return functions[blocks[instruction.block].function];
  }
  bool operator==(const SiteTable&) const = default;
};

/// What instructions can have in common.
enum class SiteGrouping { source_line, source_file, opcode, call_target };
/// By instruction the first one that has the same; of what calls no function by its name the instruction
/// itself.
std::vector<std::uint32_t> first_of_groups(const SiteTable& sites, SiteGrouping what);

}  // namespace lynxpp::cod
