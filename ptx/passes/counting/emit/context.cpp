#include "ptx/passes/counting/emit/context.h"

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t slot_bytes = 8;

std::vector<VirtualRegister> declare(NameSource& names, RegisterType type, std::uint32_t count) {
  std::vector<VirtualRegister> registers;
  for (std::uint32_t i = 0; i < count; ++i) registers.push_back(names.fresh(type));
  return registers;
}

std::uint32_t words_of(std::uint32_t bits) { return (bits + word_bits - 1) / word_bits; }

}  // namespace

std::vector<CounterRegisters> declare_counter_registers(InstrumentationUnit& unit) {
  std::vector<CounterRegisters> all;
  for (const FunctionCounters& function : unit.counting.plan->functions) {
    NameSource& names = unit.edits.names(*unit.reached.functions[function.unit].function);
    CounterRegisters& registers = all.emplace_back();
    const RegisterType number = unit.counting.plan->is_wide ? RegisterType::b64 : RegisterType::b32;
    registers.numbers = declare(names, number, function.registers);
    registers.bits = declare(names, RegisterType::b32, words_of(function.bits));
  }
  return all;
}

CountContext count_context(InstrumentationUnit& unit, std::uint32_t function) {
  LYNXPP_CHECK(!unit.counting.registers.empty(), "the counters' registers are not declared");
  const CountPlan& plan = *unit.counting.plan;
  const std::uint32_t position = plan.positions.at(function);
  return {unit, plan, plan.functions[position], unit.reached.functions[function],
          unit.counting.registers[position]};
}

VirtualRegister slots_of_warp(CodeBuilder& code, const CountContext& context) {
  const ParameterSlots parameters(context.is_kernel(), code);
  return slots_of_warp(code, context.plan, parameters.load(context.unit.counting.slot, code));
}

VirtualRegister slots_of_warp(CodeBuilder& code, const CountPlan& plan, VirtualRegister slots) {
  if (plan.replicas == 1) return slots;
  VirtualRegister replica = code.special("%smid");
  if (plan.replicas > replicas_of_warps) {
    const VirtualRegister warp = code.special("%warpid");
    replica = code.b32("mad.lo.u32", {warp, replicas_of_warps, replica});
  }
  replica = code.b32("and.b32", {replica, plan.replicas - 1});
  return code.b64("mad.wide.u32", {replica, slot_bytes * plan.stride, slots});
}

CodeAddress at_slot(VirtualRegister slots, std::uint32_t slot) {
  return {slots, slot_bytes * std::int64_t{slot}};
}

void add_to(CodeBuilder& code, VirtualRegister number, const CodeOperand& amount,
            const std::optional<CodePredicate>& guard) {
  code.emit_if(guard, number.type == RegisterType::b64 ? "add.u64" : "add.u32", {number, number, amount});
}

}  // namespace lynxpp::ptx
