// Static single assignment form beside the unchanged text: which value every read sees, which value every
// write makes.
//
// Values are numbered from 0. Per register there is one `entry` value (what it holds when the function
// begins: undefined, unless it is a parameter of a `.func` with register parameters) once something may read
// it. Phis stand at joins where different values of a register that is live there meet. Reads in unreachable
// blocks have no_value. This is also where reaching definitions and def-use chains come from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/dominators.h"
#include "ptx/analysis/registers/registers.h"

namespace lynxpp::ptx {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = 0xffffffff;

enum class ValueKind : std::uint8_t {
  entry,  ///< what the register holds at the function's entry
  write,  ///< written by Value::instruction; when `previous` is a value, perhaps that one survives
  phi,    ///< one of phi_inputs(), by the predecessor the block is entered from
};

struct Value {
  ValueKind kind = ValueKind::entry;
  RegisterId reg = no_register;
  std::uint32_t block = 0;
  std::uint32_t instruction = 0;  ///< of a write
  ValueId previous = no_value;    ///< of a partial write
  std::uint32_t first_input = 0;  ///< of a phi, see SsaForm::phi_inputs
};

/// Where a value is used: read by an instruction, kept by a partial write, or an input of a phi.
struct ValueUse {
  enum class Kind : std::uint8_t { read, previous, phi_input };
  Kind kind = Kind::read;
  std::uint32_t user = 0;  ///< read: the instruction; else the value that is made
};

/// Borrows the graph and the register usage.
class SsaForm {
 public:
  SsaForm(const ControlFlowGraph& graph, const DominatorTree& dominators, const RegisterUsage& usage);

  const std::vector<Value>& values() const { return values_; }

  /// Parallel to RegisterUsage::reads and writes.
  std::span<const ValueId> reads(std::uint32_t instruction) const {
    return {reads_.data() + usage_.first_read(instruction), usage_.reads(instruction).size()};
  }
  std::span<const ValueId> writes(std::uint32_t instruction) const {
    return {writes_.data() + usage_.first_write(instruction), usage_.writes(instruction).size()};
  }
  /// The value `instruction` reads from `reg`; no_value when it does not read it.
  ValueId read_of(std::uint32_t instruction, RegisterId reg) const;

  const std::vector<ValueId>& phis(std::uint32_t block) const { return phis_[block]; }
  /// Parallel to the predecessors of the phi's block; no_value for unreachable ones. In block 0, which is
  /// also entered from outside, the entry value follows.
  std::span<const ValueId> phi_inputs(ValueId phi) const {
    const Value& value = values_[phi];
    return {inputs_.data() + value.first_input, input_count(value.block)};
  }

  std::span<const ValueUse> uses(ValueId value) const {
    return {uses_.data() + first_use_[value], first_use_[value + 1] - first_use_[value]};
  }

  /// What finding the places of the phis took, for tests of how it grows.
  std::size_t placement_steps() const { return placement_steps_; }

  /// The writes and entry values, ascending, of which `value` may be any: phis and partial writes looked
  /// through.
  std::vector<ValueId> reaching_definitions(ValueId value) const;

 private:
  struct Renaming;
  std::size_t input_count(std::uint32_t block) const {
    return graph_.blocks[block].predecessors.size() + (block == 0 ? 1 : 0);
  }
  void place_phis(const DominatorTree& dominators);
  void add_phi(RegisterId reg, std::uint32_t join);
  void rename(const DominatorTree& dominators);
  void rename_block(std::uint32_t block, Renaming& state);
  void collect_uses();
  template <typename Visit>
  void for_each_use(Visit visit) const;

  const ControlFlowGraph& graph_;
  const RegisterUsage& usage_;
  std::vector<Value> values_;
  std::vector<ValueId> reads_, writes_, inputs_;
  std::vector<std::vector<ValueId>> phis_;
  std::vector<ValueUse> uses_;
  std::vector<std::uint32_t> first_use_;
  std::size_t placement_steps_ = 0;
};

}  // namespace lynxpp::ptx
