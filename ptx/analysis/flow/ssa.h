// Static single assignment form of the unchanged text: which value each read sees and each write defines.
//
// Values are numbered from 0. A register has one `entry` value (its contents when the function begins:
// undefined, unless it is a parameter of a `.func` with register parameters) if something may read it. Phis
// are at joins where different values of a live register converge. Reads in unreachable blocks have no_value.
// Reaching definitions and def-use chains are derived from this form.
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
  entry,  ///< the register's contents at the function's entry
  write,  ///< written by Value::instruction; if `previous` is a value, that one may survive
  phi,    ///< one of phi_inputs(), selected by the predecessor the block is entered from
};

struct Value {
  ValueKind kind = ValueKind::entry;
  RegisterId reg = no_register;
  std::uint32_t block = 0;
  std::uint32_t instruction = 0;  ///< of a write
  ValueId previous = no_value;    ///< of a partial write
  std::uint32_t first_input = 0;  ///< of a phi, see SsaForm::phi_inputs
};

/// A use of a value: read by an instruction, preserved by a partial write, or input of a phi.
struct ValueUse {
  enum class Kind : std::uint8_t { read, previous, phi_input };
  Kind kind = Kind::read;
  std::uint32_t user = 0;  ///< read: the instruction; otherwise the value defined
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
  /// The value `instruction` reads from `reg`; no_value if it does not read the register.
  ValueId read_of(std::uint32_t instruction, RegisterId reg) const;

  const std::vector<ValueId>& phis(std::uint32_t block) const { return phis_[block]; }
  /// Parallel to the predecessors of the phi's block; no_value for unreachable ones. Block 0, which is also
  /// entered from outside, has the entry value as a last input.
  std::span<const ValueId> phi_inputs(ValueId phi) const {
    const Value& value = values_[phi];
    return {inputs_.data() + value.first_input, input_count(value.block)};
  }

  std::span<const ValueUse> uses(ValueId value) const {
    return {uses_.data() + first_use_[value], first_use_[value + 1] - first_use_[value]};
  }

  /// Steps that phi placement took; tests check how it scales.
  std::size_t placement_steps() const { return placement_steps_; }

  /// The writes and entry values, ascending, that may reach `value` through phis and partial writes.
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
