#include "ptx/passes/probes/splice.h"

#include <algorithm>
#include <span>

#include "ptx/passes/facts.h"
#include "ptx/passes/memory/taking_lanes.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/frame.h"
#include "ptx/passes/probes/carry_flag.h"
#include "ptx/passes/probes/loop_edges.h"
#include "ptx/passes/probes/loop_sites.h"
#include "ptx/passes/probes/outline.h"
#include "ptx/passes/probes/routine_copies.h"
#include "ptx/passes/probes/words/word_probes.h"

namespace lynxpp::ptx {
namespace {

bool writes_register(const Operand& operand, std::string_view name) {
  const auto writes = [name](const Operand& element) { return writes_register(element, name); };
  return operand.name == name ||
         (operand.kind != OperandKind::address && std::ranges::any_of(operand.elements, writes));
}

bool overwrites_guard(const Instruction& instruction) {
  if (!instruction.guarded()) return false;
  const auto written = std::min<std::size_t>(instruction.traits.destinations, instruction.operands.size());
  const auto writes = [&](const Operand& each) { return writes_register(each, instruction.guard.predicate); };
  return std::ranges::any_of(std::span(instruction.operands).first(written), writes);
}

/// Splices one function: finds the sites and adds the routines there.
class FunctionSplicer {
 public:
  FunctionSplicer(InstrumentationUnit& unit, const FunctionUnit& function, Outliner& outliner)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        names_(unit.edits.names(*function.function)),
        registers_(unit.thread_registers(*function.function)),
        is_kernel_(function.function->is_entry),
        frame_(unit, function),
        carry_(*function.function, function.graph()),
        copies_(unit, function, outliner),
        words_(unit, function, copies_),
        loops_(unit, function, copies_.values(),
               [this](ProbePoint point, std::uint32_t loop, std::uint32_t block, CodeBuilder& code) {
                 add_loop_probes({point, block, nullptr, 0, nullptr, loop}, code);
               }) {}

  void run() {
    declare();
    enter();
    for (std::uint32_t block = 0; block < function_.graph().blocks.size(); ++block) splice_block(block);
    copies_.insert();
    words_.insert();
    drop_masks_of_loads();
  }

 private:
  // ---- memory and entry

  void declare() {
    CodeBuilder code(names_);
    frame_.add_declarations(code);
    std::uint64_t depot_bytes = 0;
    for (const Probe& probe : unit_.spliced.probes) {
      depot_bytes = std::max(depot_bytes, probe.routine.depot_bytes());
      if (probe.with_lane_values) depot_bytes = std::max(depot_bytes, probe.with_lane_values->depot_bytes());
    }
    if (depot_bytes != 0) code.add_text(declaration_of_depot(depot_bytes));
    unit_.edits.insert_before(function_.function->body_text.begin + 1, code.take());
  }

  void enter() {
    CodeBuilder code(names_);
    if (is_kernel_) {
      for (const VirtualRegister state : registers_.states) code.mov(state, 0);
    }
    words_.add_entry(code);
    frame_.add_entry(code);
    if (is_kernel_) {
      add_probes({ProbePoint::kernel_entry}, code, true);
      add_probes({ProbePoint::kernel_entry}, code, false);
    }
    add_probes({ProbePoint::function_entry}, code);
    loops_.add_function_entry(code);
    unit_.edits.insert_before(entry_position(*function_.function), code.take());
  }

  /// Removes `.pragma "used_bytes_mask 0xf"`, which applies to the next load: inserted code may contain a
  /// load in between. The pragma has no effect on results.
  void drop_masks_of_loads() {
    for (const Statement& statement : body_.statements) {
      const bool is_mask = statement.kind == StatementKind::directive && statement.name == ".pragma" &&
                           unit_.module.text(statement.text).find("used_bytes_mask") != std::string::npos;
      if (is_mask) unit_.edits.replace(statement.text, "");
    }
  }

  // ---- blocks

  void splice_block(std::uint32_t block) {
    const BasicBlock& range = function_.graph().blocks[block];
    CodeBuilder code(names_);
    copies_.begin_block(block);
    copies_.values().add_block_start(block, code);
    words_.add_block_start(block, code);
    loops_.add_block_start(block, code);
    add_probes({ProbePoint::basic_block_entry, block}, code);
    if (range.size() == 0) {
      add_block_exit(block, nullptr, code);
      add_fall_off(range, block, code);
      unit_.edits.insert_before(function_.function->body_text.end - 1, code.take());
      return;
    }
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      if (is_exit(instruction)) add_words_before_exit(block, instruction, code);
      copies_.add_before(instruction, code);
      add_instruction_probes(block, instruction, code);
      Code after = probes_after(block, instruction, code);
      if (i + 1 == range.end && instruction.traits.ends_block()) {
        add_block_exit(block, &instruction, code);
        loops_.add_before_end(block, instruction, code);
        add_departure(block, instruction, code);
      } else {
        copies_.values().add_guard_count(block, instruction, code);
      }
      unit_.edits.insert_before(instruction.text.begin, carry_.preserve_before(i, code.take(), names_));
      splice_after(block, i, std::move(after));
    }
  }

  /// After an instruction: its probes; after the last one, also the exit of a block, or what follows a call.
  void splice_after(std::uint32_t block, std::uint32_t index, Code probes) {
    const BasicBlock& range = function_.graph().blocks[block];
    const Instruction& instruction = body_.instructions[index];
    CodeBuilder code(names_);
    if (frame_.is_passed_by(instruction)) frame_.add_load(code);
    copies_.add_after(index, code);
    code.append(std::move(probes));
    if (index + 1 == range.end) {
      if (!instruction.traits.ends_block()) add_block_exit(block, nullptr, code);
      loops_.add_after_end(block, instruction, code);
      if (may_run_off_after(block, instruction)) add_fall_off(range, block, code);
    }
    unit_.edits.insert_before(instruction.text.end, carry_.preserve_after(index, code.take(), names_));
  }

  void add_block_exit(std::uint32_t block, const Instruction* terminator, CodeBuilder& code) {
    CodeBuilder probes(names_);
    add_probes({ProbePoint::basic_block_exit, block, terminator}, probes);
    if (probes.empty()) return;
    copies_.values().add_block_total(block, code);
    code.append(probes.take());
  }

  /// True if threads may reach the end of the body after the block's last instruction: a branch whose guard
  /// fails, or a call that returns.
  bool may_run_off_after(std::uint32_t block, const Instruction& last) const {
    const bool goes_elsewhere = is_exit(last) || last.traits.kind == OpcodeClass::branch;
    return block + 1 == function_.graph().blocks.size() && (last.guarded() || !goes_elsewhere);
  }

  /// A body that ends without ret returns there.
  void add_fall_off(const BasicBlock& range, std::uint32_t block, CodeBuilder& code) {
    if (!range.leaves_function) return;
    words_.add_before_exit(block, code);
    add_probes({ProbePoint::function_exit, block}, code);
    if (is_kernel_) {
      add_probes({ProbePoint::kernel_exit, block}, code);
    } else {
      frame_.add_store(code);
    }
  }

  /// Before an exit or a call: exit probes, and the store of the state for the caller or the callee.
  void add_departure(std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
    const bool ends = is_exit(instruction) && (is_kernel_ || instruction.traits.is_thread_exit());
    if (is_exit(instruction)) {
      CodeBuilder probes(names_);
      add_probes({ProbePoint::function_exit, block, &instruction}, probes);
      if (ends) add_probes({ProbePoint::kernel_exit, block, &instruction}, probes);
      add_guarded(predicate_of(instruction.guard), probes.take(), code);
    }
    if (ends) return;
    if (frame_.is_passed_by(instruction) || (!is_kernel_ && instruction.op() == Op::ret)) {
      frame_.add_store(code);
    }
  }

  // ---- probes

  void add_instruction_probes(std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
    CodeBuilder probes(names_);
    for (Probe& probe : unit_.spliced.probes) {
      if (!is_at(probe, ProbePoint::instruction, instruction)) continue;
      if (copies_.is_measured_elsewhere(probe, instruction) || has_nothing_to_measure(probe, instruction)) {
        ++probe.sites;
        continue;
      }
      CodeBuilder own(names_);
      if (!words_.add(probe, block, instruction, own))
        copies_.add_prepared(probe, copies_.site_at(probe, block, instruction), own);
      add_guarded(taking(probe, instruction, probes), own.take(), probes);
    }
    if (instruction.traits.kind == OpcodeClass::branch) {
      code.append(probes.take());
    } else {
      add_guarded(predicate_of(instruction.guard), probes.take(), code);
    }
  }

  /// Returns the lanes that take part in the probe's access; nullopt: all lanes whose guard holds.
  std::optional<CodePredicate> taking(const Probe& probe, const Instruction& instruction,
                                      CodeBuilder& code) const {
    const std::optional<MemoryAccess> access = probe.access_at(instruction);
    if (!access || !access->selects_lanes()) return std::nullopt;
    return TakingLanes(unit_.module, unit_.variant.shared_variables, *function_.function)
        .predicate(instruction, *access, code);
  }

  /// For threads that exit the function inside a loop.
  void add_words_before_exit(std::uint32_t block, const Instruction& exit, CodeBuilder& code) {
    CodeBuilder words(names_);
    words_.add_before_exit(block, words);
    add_guarded(predicate_of(exit.guard), words.take(), code);
  }

  /// Returns the probes after an instruction, and adds to `before` what they read before it. Empty for
  /// branches and exits.
  Code probes_after(std::uint32_t block, const Instruction& instruction, CodeBuilder& before) {
    if (instruction.traits.kind == OpcodeClass::branch || is_exit(instruction)) return {};
    CodeBuilder probes(names_);
    for (Probe& probe : unit_.spliced.probes) {
      if (!is_at(probe, ProbePoint::instruction_after, instruction)) continue;
      const Site site = copies_.site_at(probe, block, instruction);
      copies_.values().add_preparation(probe, site, before);
      CodeBuilder own(names_);
      copies_.values().add_loaded_values(probe, site, own);
      copies_.add(probe, site, own);
      add_guarded(taking(probe, instruction, before), own.take(), probes);
    }
    if (probes.empty()) return {};
    std::optional<CodePredicate> guard = predicate_of(instruction.guard);
    if (guard && overwrites_guard(instruction)) {
      const VirtualRegister kept = before.pred("mov.pred", {guard->reg});
      guard = CodePredicate(kept, guard->is_negated);
    }
    CodeBuilder code(names_);
    add_guarded(guard, probes.take(), code);
    return code.take();
  }

  /// Adds `probes` for the lanes whose guard holds.
  static void add_guarded(const std::optional<CodePredicate>& guard, Code probes, CodeBuilder& code) {
    if (probes.empty()) return;
    if (!guard) return code.append(std::move(probes));
    const Label skip = code.fresh_label();
    code.branch_if(!*guard, skip);
    code.append(std::move(probes));
    code.place(skip);
  }

  void add_probes(const Site& site, CodeBuilder& code, bool initializers = false) {
    for (Probe& probe : unit_.spliced.probes) {
      if (probe.enabled && probe.point == site.point && probe.is_initializer == initializers)
        copies_.add_prepared(probe, site, code);
    }
  }

  void add_loop_probes(const Site& site, CodeBuilder& code) {
    const Loop& loop = function_.analyses->loops().loops()[site.loop];
    for (Probe& probe : unit_.spliced.probes) {
      if (probe.enabled && probe.point == site.point &&
          (!probe.matches || is_chosen(loop, function_.graph(), body_.instructions, probe.matches)))
        copies_.add_prepared(probe, site, code);
    }
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  NameSource& names_;
  const ThreadRegisters& registers_;
  const bool is_kernel_;
  const Frame frame_;
  CarryFlag carry_;
  RoutineCopies copies_;
  WordProbes words_;
  LoopSites loops_;
};

}  // namespace

Status splice_probes(InstrumentationUnit& unit) {
  if (std::ranges::none_of(unit.spliced.probes, &Probe::enabled) && !unit.needs_frame()) return success();
  Outliner outliner(unit);
  for (const FunctionUnit& function : unit.reached.functions) {
    if (function.instrumented) FunctionSplicer(unit, function, outliner).run();
  }
  return success();
}

}  // namespace lynxpp::ptx
