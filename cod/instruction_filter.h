// The filter of an instruction handler: labels, opcodes, types of the result, source lines and callees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/ir/opcode.h"
#include "support/name_pattern.h"

namespace lynxpp::cod {

/// Instruction classes of a filter; bits of InstructionFilter::classes.
enum InstructionClass : std::uint32_t {
  mem_read = 1u << 0,
  mem_write = 1u << 1,
  call = 1u << 2,
  branch = 1u << 3,
  barrier = 1u << 4,
  atomic = 1u << 5,
  arithmetic = 1u << 6,
  predicated = 1u << 7,
  async_copy = 1u << 8,  ///< copies between state spaces, completed by a group or a barrier
  bulk = 1u << 9,        ///< the number of bytes that each lane copies is an operand
  unsized = 1u << 10,    ///< neither the opcode nor an operand determines the number of bytes
  tensor_copy = 1u << 11,
  tensor_core = 1u << 12,  ///< products of matrices
  mbarrier = 1u << 13,     ///< operations on mbarrier objects
};
enum AddressSpace : std::uint32_t {
  space_global = 1u << 0,
  space_local = 1u << 1,
  space_shared = 1u << 2,
  space_const = 1u << 3,
  space_param = 1u << 4,
  space_texture = 1u << 5,
  space_generic = 1u << 6,
};
enum DataKind : std::uint32_t { integer = 1u << 0, floating_point = 1u << 1 };
/// Directions of transfers between device memory and shared memory (ptx/analysis/transfers).
enum TransferKind : std::uint32_t { transfer_in = 1u << 0, transfer_out = 1u << 1 };

/// The filter labels that an instruction matches: bits of InstructionClass, AddressSpace, DataKind and
/// TransferKind.
struct InstructionLabels {
  std::uint32_t classes = 0;
  std::uint32_t spaces = 0;
  std::uint32_t data = 0;
  std::uint32_t transfers = 0;
  bool operator==(const InstructionLabels&) const = default;
};

/// Returns the bit of AddressSpace; 0 for registers and other spaces without one.
std::uint32_t space_bit(ptx::StateSpace space);

/// Excludes transfer labels, which require analysis of the whole kernel.
InstructionLabels labels_of(const ptx::OpcodeTraits& traits, bool guarded);

/// A copy has two sets, for its source and its destination; any other instruction has one. A filter selects
/// an instruction if it selects any of its sets.
struct LabelSets {
  InstructionLabels first;
  std::optional<InstructionLabels> second;
  bool operator==(const LabelSets&) const = default;
};
LabelSets labels_of(const ptx::Instruction& instruction);
InstructionLabels united(const LabelSets& sets);

/// Example: {"MEM_READ", "GLOBAL", "FLOATING_POINT"}.
std::vector<std::string_view> names_of(const InstructionLabels& labels);

/// Bits of one kind are alternatives; kinds are combined with "and". A kind without bits does not restrict.
struct InstructionFilter : InstructionLabels {
  bool matches(const InstructionLabels& labels) const;
  bool matches(const ptx::OpcodeTraits& traits, bool guarded) const {
    return matches(labels_of(traits, guarded));
  }
  /// Returns which operand of a copy the filter selects: its source (0), else its destination (1); 0 for any
  /// other selected instruction. nullopt if the filter does not select it.
  std::optional<std::uint32_t> choose(const LabelSets& labels) const;

  std::vector<std::string> opcodes;    ///< patterns with * and ? for the whole opcode; one must match
  std::vector<ptx::DataType> results;  ///< types of the result (ptx::result_type); one must match
  struct SourceLines {
    std::string file;  ///< trailing path components: "kernel.cu", "src/kernel.cu"
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<SourceLines> sources;  ///< one must match
  /// Patterns for the callee's name, mangled or demangled; one must match.
  std::vector<NamePattern> call_targets;

  bool matches_opcode(std::string_view opcode) const;
  /// `callee` is null if the instruction does not call, or calls through a pointer.
  bool matches_callee(const std::string* callee) const;
  /// `file` is null if the instruction's source location is unknown.
  bool matches_source(const std::string* file, std::uint32_t line) const;
};

std::vector<std::string> filter_names();
bool is_label(std::string_view name);  ///< a filter label

/// Adds the filter bit of a label such as "MEM_READ"; false if the label does not exist.
bool add_filter(std::string_view label, InstructionFilter& filter);

/// "GLOBAL" ▶ its bit, the result of accessSpace().
std::optional<std::uint32_t> find_space(std::string_view name);

/// Packs the bits of a filter into one number, for generated code.
constexpr std::uint64_t pack(const InstructionLabels& filter) {
  return filter.classes | std::uint64_t{filter.spaces} << 16 | std::uint64_t{filter.data} << 32 |
         std::uint64_t{filter.transfers} << 48;
}
constexpr InstructionFilter unpack(std::uint64_t bits) {
  InstructionFilter filter;
  filter.classes = bits & 0xffff;
  filter.spaces = bits >> 16 & 0xffff;
  filter.data = bits >> 32 & 0xffff;
  filter.transfers = static_cast<std::uint32_t>(bits >> 48);
  return filter;
}

}  // namespace lynxpp::cod
