#include "machine.h"

#include <bit>
#include <utility>

namespace lynxpp::random_ptx {
namespace {

template <typename Visit>
void for_each(Mask mask, const Visit& visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

Mask holds(const std::optional<Guard>& guard, const Warp& warp, Mask mask) {
  if (!guard) return mask;
  Mask result = 0;
  for_each(mask, [&](std::uint32_t lane) {
    if ((warp.lanes[lane].registers[guard->predicate.index] != 0) != guard->negated) result |= 1u << lane;
  });
  return result;
}

/// Runs the statements for the lanes; returns the lanes that have not left them.
Mask run(const Statements& statements, Warp& warp, Mask mask);

Mask run_loop(const Statement& loop, Warp& warp, Mask mask) {
  Mask pending = mask;
  while (pending != 0) {
    pending = run(*loop.body, warp, pending);
    Mask again = 0;
    for_each(pending, [&](std::uint32_t lane) {
      auto& registers = warp.lanes[lane].registers;
      const auto count = static_cast<std::uint32_t>(registers[loop.counter.index] + 1);
      registers[loop.counter.index] = count;
      if (count < static_cast<std::uint32_t>(registers[loop.trips.index])) again |= 1u << lane;
    });
    pending = again;
  }
  return mask;
}

void run_call(const Statement& call, Warp& warp, Mask mask) {
  std::array<std::vector<Word>, lanes_of_warp> callers;
  for_each(mask, [&](std::uint32_t lane) {
    Thread& thread = warp.lanes[lane];
    callers[lane] = std::exchange(thread.registers, std::vector<Word>(call.function->registers));
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      thread.registers[call.function->parameters[i].index] = callers[lane][call.arguments[i].index];
  });
  run(*call.function->body, warp, mask);
  for_each(mask, [&](std::uint32_t lane) {
    Thread& thread = warp.lanes[lane];
    const Word result = thread.registers[call.function->result.index];
    thread.registers = std::move(callers[lane]);
    thread.registers[call.result.index] = result;
  });
}

Mask run_one(const Statement& statement, Warp& warp, Mask mask) {
  const Mask guarded = holds(statement.guard, warp, mask);
  switch (statement.kind) {
    case Statement::Kind::lane:
      for_each(guarded, [&](std::uint32_t each) { statement.lane(warp.lanes[each]); });
      return mask;
    case Statement::Kind::warp: statement.warp(warp, mask); return mask;
    case Statement::Kind::branch: {
      const Mask stays = run(*statement.body, warp, guarded);
      return stays | run(*statement.other, warp, mask & ~guarded);
    }
    case Statement::Kind::loop: return run_loop(statement, warp, mask);
    case Statement::Kind::leave: return mask & ~guarded;
    case Statement::Kind::exit: warp.alive &= ~guarded; return mask & ~guarded;
    case Statement::Kind::call: run_call(statement, warp, guarded); return mask;
    case Statement::Kind::sequence: return run(*statement.body, warp, mask);
    case Statement::Kind::block: break;
  }
  return mask;
}

Mask run(const Statements& statements, Warp& warp, Mask mask) {
  for (const Statement& statement : statements) {
    if (mask == 0) break;
    mask = run_one(statement, warp, mask);
  }
  return mask;
}

}  // namespace

void execute(const Statements& statements, Block& block) {
  for (const Statement& statement : statements) {
    if (statement.kind == Statement::Kind::block) {
      statement.block(block);
      continue;
    }
    const Statements one = {statement};
    for (Warp& warp : block.warps) run(one, warp, warp.alive);
  }
}

}  // namespace lynxpp::random_ptx
