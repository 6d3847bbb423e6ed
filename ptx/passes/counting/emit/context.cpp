#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {
namespace {

constexpr std::int64_t slot_bytes = 8;

void declare(NameSource& names, RegisterType type, std::uint32_t count, std::vector<VirtualRegister>& out) {
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(names.fresh(type));
}

std::uint32_t words_of(std::uint32_t bits) { return (bits + word_bits - 1) / word_bits; }

}  // namespace

std::vector<CounterRegisters> declare_counter_registers(InstrumentationUnit& unit) {
  std::vector<CounterRegisters> all;
  for (const FunctionCounters& function : unit.counting.plan->functions) {
    NameSource& names = unit.edits.names(*unit.reached.functions[function.unit].function);
    CounterRegisters registers;
    declare(names, unit.counting.plan->is_wide ? RegisterType::b64 : RegisterType::b32, function.registers,
            registers.numbers);
    declare(names, RegisterType::b32, words_of(function.bits), registers.words);
    declare(names, RegisterType::b32, words_of(function.bit_pairs), registers.holds);
    declare(names, RegisterType::b32, words_of(function.bit_pairs), registers.fails);
    if (function.converges_at_exit && !unit.options.launch.has_full_warps)
      declare(names, RegisterType::b32, 1, registers.launched);
    all.push_back(std::move(registers));
  }
  return all;
}

CountContext count_context(InstrumentationUnit& unit, std::uint32_t position) {
  const FunctionUnit& function = unit.reached.functions[unit.counting.plan->functions[position].unit];
  return count_context(unit, position, unit.edits.names(*function.function));
}

CountContext count_context(InstrumentationUnit& unit, std::uint32_t position, NameSource& names) {
  const FunctionCounters& counters = unit.counting.plan->functions[position];
  return {unit,
          *unit.counting.plan,
          counters,
          unit.reached.functions[counters.unit],
          unit.counting.registers[position],
          names};
}

VirtualRegister slots_of_warp(CodeBuilder& code, const CountContext& context) {
  const HiddenWords words(context.is_kernel(), code);
  return slots_of_warp(code, context.plan, words.load(context.unit.counting.word, code));
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

void add_to(CodeBuilder& code, const CountContext& context, VirtualRegister number, const CodeOperand& amount,
            const std::optional<CodePredicate>& guard) {
  code.emit_if(guard, context.plan.is_wide ? "add.u64" : "add.u32", {number, number, amount});
}

}  // namespace lynxpp::ptx
