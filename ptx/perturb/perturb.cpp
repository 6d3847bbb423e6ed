#include "ptx/perturb/perturb.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "ptx/passes/pipeline.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {

/// In a long unrolled kernel, one in several sites is perturbed: the assembler's time grows with the text,
/// and there are two dozen variants.
constexpr std::size_t most_sites = 2048;

std::unique_ptr<OperationCode> code_of(const Perturbation& perturbation) {
  switch (perturbation.operation) {
    case Operation::shared_access: return shared_access_code();
    case Operation::global_access: return global_access_code();
    case Operation::atomic: return atomic_code();
    case Operation::barrier: return barrier_code(perturbation.lines.empty());
    case Operation::async_copy: return async_copy_code();
    case Operation::branch: return branch_code();
    case Operation::fp32: return fp32_code();
    case Operation::fp64: return fp64_code();
    case Operation::integer: return integer_code();
    case Operation::integer_division: return integer_division_code();
    case Operation::special_function: return special_function_code();
    case Operation::tensor: return tensor_code();
    case Operation::fetch: return fetch_code();
    case Operation::local_memory: return local_memory_code();
    case Operation::reuse: return reuse_code();
    case Operation::arithmetic: return arithmetic_code();
    case Operation::occupancy:
    case Operation::copy:
    case Operation::more_registers:
    case Operation::fewer_registers:
    case Operation::read_only_loads:
    case Operation::lanes:
    case Operation::waits:
    case Operation::bytes: break;
  }
  return nullptr;
}

PerturbedSite describe(const Module& module, const Instruction& instruction, Outcome outcome) {
  const std::string* const file = module.find_file(instruction.source_file);
  return {instruction.line,        file == nullptr ? std::string() : *file,
          instruction.source_line, std::string(instruction.opcode),
          outcome.is_perturbed,    std::move(outcome.note)};
}

namespace {

bool is_selected(const Perturbation& perturbation, const Instruction& instruction) {
  return perturbation.lines.empty() || std::ranges::binary_search(perturbation.lines, instruction.line);
}

/// Functions that the kernel calls have no access to the words and to the sink.
void leave_out_callees(const OperationCode& operation, const Perturbation& perturbation,
                       InstrumentationUnit& unit, std::vector<PerturbedSite>& sites) {
  for (std::size_t i = 1; i < unit.reached.functions.size(); ++i) {
    unit.reached.functions[i].instrumented = false;
    for (const Instruction& instruction : unit.reached.functions[i].function->body->instructions) {
      if (!operation.selects(unit.reached.functions[i], instruction) ||
          !is_selected(perturbation, instruction))
        continue;
      sites.push_back(describe(unit.module, instruction, left_out("in a function that the kernel calls")));
    }
  }
}

Status perturb(const Perturbation& perturbation, InstrumentationUnit& unit,
               std::vector<PerturbedSite>& sites) {
  constexpr Version active_mask{6, 2};
  unit.variant.version = std::max(unit.variant.version, active_mask);
  const std::unique_ptr<OperationCode> operation = code_of(perturbation);
  if (operation == nullptr) {
    // Functions that the kernel calls run as they are.
    for (std::size_t i = 1; i < unit.reached.functions.size(); ++i)
      unit.reached.functions[i].instrumented = false;
  }
  if (perturbation.operation == Operation::read_only_loads) {
    use_read_only_loads(unit, sites);
    return success();
  }
  if (counts(perturbation.operation)) {
    Additions additions(unit, Form::again);
    if (perturbation.operation == Operation::lanes) {
      count_lanes(additions);
    } else if (perturbation.operation == Operation::waits) {
      time_waits(additions, sites);
    } else {
      mark_bytes(additions, sites);
    }
    additions.finish();
    return success();
  }
  if (operation == nullptr) return failure("'" + to_text(perturbation) + "' adds no code");
  leave_out_callees(*operation, perturbation, unit, sites);
  Additions additions(unit, perturbation.form);
  const auto& instructions = additions.body().instructions;
  std::vector<std::uint32_t> selected;
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    if (operation->selects(additions.kernel(), instructions[i]) && is_selected(perturbation, instructions[i]))
      selected.push_back(i);
  }
  // Barriers that are not repeated everywhere may not be repeated at all.
  const bool is_bounded = perturbation.operation != Operation::barrier;
  const std::size_t stride = is_bounded ? (selected.size() + most_sites - 1) / most_sites : 1;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const Instruction& instruction = instructions[selected[i]];
    if (i % stride != 0) {
      sites.push_back(describe(unit.module, instruction, left_out("bounds the variant's text")));
      continue;
    }
    additions.begin(selected[i]);
    Outcome outcome = operation->add(additions);
    outcome.is_perturbed ? additions.insert() : additions.discard();
    sites.push_back(describe(unit.module, instruction, std::move(outcome)));
  }
  additions.finish();
  std::ranges::stable_sort(sites, {}, &PerturbedSite::ptx_line);
  return success();
}

}  // namespace

PassManager make_perturbation_pipeline(const Perturbation& perturbation, std::vector<PerturbedSite>& sites) {
  PassManager manager;
  const auto add = [&](std::string_view name) {
    const auto pass = std::ranges::find(pass_table(), name, &PassDescription::name);
    manager.add(pass->name, pass->leaves, pass->run);
  };
  add("share-variables");
  manager.add("perturb", EditState::readable, [&sites, perturbation](InstrumentationUnit& unit) {
    return perturb(perturbation, unit, sites);
  });
  add("keep-contraction");
  add("hidden-parameter");
  add("extract");
  return manager;
}

}  // namespace lynxpp::ptx
