// Shared inputs of the code generators for one function's counters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/facts.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

struct CountContext {
  InstrumentationUnit& unit;
  const CountPlan& plan;
  const FunctionCounters& counters;
  const FunctionUnit& function;
  const CounterRegisters& registers;

  bool is_kernel() const { return counters.unit == 0; }
  VirtualRegister number(std::uint32_t index) const { return registers.numbers[index]; }
  /// Returns the register that contains a counter's bit.
  VirtualRegister bits_of(const Counter& bit) const { return registers.bits[bit.index / 32]; }
};

/// Counters that are incremented at one program point under one condition.
using IncrementedCounters = std::vector<const Counter*>;

/// Returns the context of the function with this index in the unit. Its registers must be declared.
CountContext count_context(InstrumentationUnit& unit, std::uint32_t function);

/// Declares the counter registers of all functions, for KernelCounting::registers.
std::vector<CounterRegisters> declare_counter_registers(InstrumentationUnit& unit);

/// Emits the address of the slots of this warp's replica.
VirtualRegister slots_of_warp(CodeBuilder& code, const CountContext& context);
/// Same, from a register with the address of all slots.
VirtualRegister slots_of_warp(CodeBuilder& code, const CountPlan& plan, VirtualRegister slots);

/// [slots + slot]
CodeAddress at_slot(VirtualRegister slots, std::uint32_t slot);

/// Adds 1, or `amount` (a register of the same type), to `number`.
void add_to(CodeBuilder& code, VirtualRegister number, const CodeOperand& amount,
            const std::optional<CodePredicate>& guard);

}  // namespace lynxpp::ptx
