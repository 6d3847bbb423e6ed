#include <algorithm>
#include <map>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/word_runs.h"

namespace lynxpp::ptx {
namespace {

/// True if threads enter the loop at most once, and its registers can be recorded before and after it.
bool can_be_written_down(FunctionAnalyses& analyses, const Loop& loop, std::uint32_t number) {
  const std::vector<BasicBlock>& blocks = analyses.graph().blocks;
  const std::vector<Instruction>& instructions = analyses.function().body->instructions;
  if (loop.parent != no_loop || loop.header == 0 || loop.latches.size() != 1 || loop.exiting != loop.latches)
    return false;
  const BasicBlock& latch = blocks[loop.latches[0]];
  const bool is_exited_after = latch.fall_through != no_block && !latch.leaves_function &&
                               !analyses.loops().contains(number, latch.fall_through);
  if (!is_exited_after) return false;
  return std::ranges::all_of(blocks[loop.header].predecessors, [&](std::uint32_t each) {
    const BasicBlock& before = blocks[each];
    if (before.size() == 0) return false;
    const Instruction& last = instructions[before.end - 1];
    return last.traits.kind == OpcodeClass::branch || !last.traits.ends_block();
  });
}

/// True if the run's register is a phi of the header and grows at the same rate as the run's addresses.
bool is_at_loop_register(FunctionAnalyses& analyses, const WordRun& run) {
  if (!run.distance || *run.distance == 0) return false;
  const std::uint32_t access = run.instructions[0];
  const Instruction& instruction = analyses.function().body->instructions[access];
  const Operand& base = memory_accesses(instruction).access[0].address->elements[0];
  const RegisterId reg = analyses.registers().find(base.name, access);
  const Value& value = analyses.ssa().values()[analyses.ssa().read_of(access, reg)];
  // A register declared in an inner scope is not visible at the loop's entry.
  const Body& body = *analyses.function().body;
  const std::uint32_t scope = body.statements[instruction.statement].scope;
  const bool is_everywhere = body.find_register(base.name, scope)->scope == 0;
  return is_everywhere && value.kind == ValueKind::phi && value.reg == reg &&
         value.block == analyses.loops().loops()[run.loop].header;
}

std::int64_t step_of(const WordRun& run) {
  return *run.distance * static_cast<std::int64_t>(run.instructions.size());
}

}  // namespace

void assign_records(FunctionAnalyses& analyses, std::vector<WordRun>& runs, std::uint32_t& bytes) {
  constexpr std::uint32_t most = 128;  // per thread
  constexpr std::uint32_t alignment = 32;
  std::map<std::uint32_t, std::vector<WordRun*>> by_loop;
  for (WordRun& run : runs) {
    const Loop& loop = analyses.loops().loops()[run.loop];
    if (can_be_written_down(analyses, loop, run.loop) && is_at_loop_register(analyses, run))
      by_loop[run.loop].push_back(&run);
  }
  for (auto& [loop, own] : by_loop) {
    const auto needed =
        static_cast<std::uint32_t>(8 * own.size() + 8 + alignment - 1) / alignment * alignment;
    if (bytes + needed > most) continue;
    const auto end_of = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes + 8 * i); };
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i]->record = {end_of(own.size()), end_of(0), step_of(*own[0]), end_of(i)};
    bytes += needed;
  }
}

}  // namespace lynxpp::ptx
