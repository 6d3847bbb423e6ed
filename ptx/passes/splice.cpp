#include "ptx/passes/splice.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

constexpr std::string_view executed_count = "basic_block_executed_instruction_count";
constexpr std::string_view guarded_register = "%lynxpp_guarded";
constexpr std::string_view executed_register = "%lynxpp_executed";
constexpr std::string_view memory_register = "%lynxpp_memory";
constexpr std::string_view value_register = "%lynxpp_value";

std::string number(std::uint64_t value) { return std::to_string(value); }

bool leaves(const Instruction& instruction) { return instruction.traits.kind == OpcodeClass::exit; }

/// "@%p1 " or "@!%p1 ": the instruction's guard, or its opposite.
std::string guard_prefix(const Guard& guard, bool opposite) {
  return (guard.negated != opposite ? "@!" : "@") + std::string(guard.predicate) + " ";
}

/// Splices one function.
class FunctionSplicer {
 public:
  FunctionSplicer(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t& next_site)
      : unit_(unit),
        function_(function),
        body_(*function.function->body),
        next_site_(next_site),
        is_kernel_(function.function->is_entry),
        has_frame_(unit.needs_frame()) {}

  void run() {
    declare();
    enter();
    for (std::uint32_t block = 0; block < function_.graph.blocks.size(); ++block) splice_block(block);
  }

 private:
  // ---- registers and entry

  void declare() {
    std::string text = "\n";
    for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
      text += "\t.reg .b" + number(8 * unit_.state_bytes[i]) + " " + state_register(i) + ";\n";
    }
    text += "\t.reg .b32 " + std::string(guarded_register) + ", " + std::string(executed_register) + ", " +
            std::string(value_register) + ";\n\t.reg .b64 " + std::string(memory_register) + ";\n";
    if (has_frame_) {
      text += "\t.reg .b64 " + std::string(frame_register) + ";\n";
      if (is_kernel_) {
        text += "\t.local .align 8 .b8 " + std::string(frame_variable) + "[" + number(unit_.frame_bytes()) +
                "];\n";
      }
    }
    std::uint64_t depot_bytes = 0;
    for (const Probe& probe : unit_.probes) depot_bytes = std::max(depot_bytes, probe.routine.depot_bytes());
    if (depot_bytes != 0) {
      text += "\t.local .align 16 .b8 " + std::string(depot_variable) + "[" + number(depot_bytes) + "];\n";
    }
    unit_.edits.insert_before(function_.function->body_text.begin + 1, text);
  }

  /// Where the first label, scope or instruction stands: behind the declarations.
  std::uint32_t entry_position() const {
    for (const Statement& statement : body_.statements) {
      if (statement.kind == StatementKind::instruction || statement.kind == StatementKind::label ||
          statement.kind == StatementKind::scope_begin) {
        return statement.text.begin;
      }
    }
    return function_.function->body_text.end - 1;
  }

  void enter() {
    std::string text;
    if (is_kernel_) {
      for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
        text += "\tmov.b" + number(8 * unit_.state_bytes[i]) + " " + state_register(i) + ", 0;\n";
      }
      if (has_frame_) append_frame_setup(text);
      append_probes(ProbePoint::kernel_entry, 0, nullptr, text, true);
      append_probes(ProbePoint::kernel_entry, 0, nullptr, text, false);
    } else if (has_frame_) {
      text += "\tld.param.b64 " + std::string(frame_register) + ", [" + std::string(frame_parameter) + "];\n";
      append_state_transfer(text, false);
    }
    if (!text.empty()) unit_.edits.insert_before(entry_position(), "\n" + text);
  }

  void append_frame_setup(std::string& text) const {
    text += "\tmov.u64 " + std::string(frame_register) + ", " + std::string(frame_variable) + ";\n";
    for (std::uint32_t i = 0; i < unit_.words; ++i) {
      const std::string at = number(8 * i);
      text += "\tld.param.b64 " + std::string(memory_register) + ", [" + std::string(probe_parameter) + "+" +
              at + "];\n\tst.local.b64 [" + std::string(frame_register) + "+" + at + "], " +
              std::string(memory_register) + ";\n";
    }
  }

  /// State registers ▶ frame (store) or frame ▶ state registers.
  void append_state_transfer(std::string& text, bool store) const {
    for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
      const std::string slot =
          "[" + std::string(frame_register) + "+" + number(unit_.frame_state_offset(i)) + "]";
      const std::string type = ".b" + number(8 * unit_.state_bytes[i]) + " ";
      text += store ? "\tst.local" + type + slot + ", " + state_register(i) + ";\n"
                    : "\tld.local" + type + state_register(i) + ", " + slot + ";\n";
    }
  }

  // ---- blocks

  void splice_block(std::uint32_t block) {
    const BasicBlock& range = function_.graph.blocks[block];
    const bool counts = counts_guards(range);
    std::string text;
    if (counts) text += "\tmov.u32 " + std::string(guarded_register) + ", 0;\n";
    append_probes(ProbePoint::block_entry, block, nullptr, text, false);
    if (range.size() == 0) {
      append_block_exit(block, nullptr, text);
      append_fall_off(range, block, text);
      insert(function_.function->body_text.end - 1, text);
      return;
    }
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      append_instruction_probes(block, i, text);
      const bool ends = i + 1 == range.end && instruction.traits.ends_block();
      if (ends) {
        append_block_exit(block, &instruction, text);
        append_departure(block, instruction, text);
      } else if (counts && instruction.guarded()) {
        text += "\t" + guard_prefix(instruction.guard, false) + "add.u32 " + std::string(guarded_register) +
                ", " + std::string(guarded_register) + ", 1;\n";
      }
      insert(instruction.text.begin, text);
      text.clear();
    }
    splice_behind(block, body_.instructions[range.end - 1]);
  }

  /// Behind the last instruction: the exit of a block that falls through, and what follows a call.
  void splice_behind(std::uint32_t block, const Instruction& last) {
    const BasicBlock& range = function_.graph.blocks[block];
    std::string text;
    if (!last.traits.ends_block()) {
      append_block_exit(block, nullptr, text);
      append_fall_off(range, block, text);
    } else if (calls_instrumented(last)) {
      append_state_transfer(text, false);
    }
    if (!text.empty()) unit_.edits.insert_before(last.text.end, "\n" + text);
  }

  /// A body that ends without ret returns there.
  void append_fall_off(const BasicBlock& range, std::uint32_t block, std::string& text) {
    if (!range.leaves_function) return;
    if (is_kernel_) append_probes(ProbePoint::kernel_exit, block, nullptr, text, false);
    if (!is_kernel_ && has_frame_) append_state_transfer(text, true);
  }

  /// What leaving through `instruction` needs: kernel-exit probes, the state handed back to the caller or on to the callee.
  void append_departure(std::uint32_t block, const Instruction& instruction, std::string& text) {
    if (leaves(instruction) && (is_kernel_ || instruction.traits.is_thread_exit)) {
      std::string probes;
      append_probes(ProbePoint::kernel_exit, block, &instruction, probes, false);
      append_guarded(instruction, probes, text);
    } else if (has_frame_ &&
               (calls_instrumented(instruction) || (!is_kernel_ && instruction.traits.is_return))) {
      append_state_transfer(text, true);
    }
  }

  bool calls_instrumented(const Instruction& instruction) const {
    if (!has_frame_ || instruction.traits.kind != OpcodeClass::call) return false;
    const FunctionUnit* callee = unit_.find(direct_callee(unit_.module, instruction));
    return callee != nullptr && callee->instrumented;
  }

  /// Whether the block holds guarded instructions before its end that a probe must count as they pass.
  bool counts_guards(const BasicBlock& range) const {
    const bool wanted = std::any_of(unit_.probes.begin(), unit_.probes.end(), [](const Probe& probe) {
      return probe.routine.reads_site_value(executed_count);
    });
    return wanted && inner_guarded(range) != 0;
  }

  std::uint32_t inner_guarded(const BasicBlock& range) const {
    std::uint32_t guarded = 0;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const Instruction& instruction = body_.instructions[i];
      const bool ends = i + 1 == range.end && instruction.traits.ends_block();
      if (instruction.guarded() && !ends) ++guarded;
    }
    return guarded;
  }

  void append_block_exit(std::uint32_t block, const Instruction* terminator, std::string& text) {
    std::string probes;
    append_probes(ProbePoint::block_exit, block, terminator, probes, false);
    if (probes.empty()) return;
    const BasicBlock& range = function_.graph.blocks[block];
    const bool counts = counts_guards(range);
    const bool guarded_end = terminator != nullptr && terminator->guarded();
    if (counts || guarded_end) {
      const std::uint32_t always = range.size() - inner_guarded(range) - (guarded_end ? 1 : 0);
      if (guarded_end) {
        text += "\tselp.u32 " + std::string(executed_register) + ", " +
                number(always + (terminator->guard.negated ? 0 : 1)) + ", " +
                number(always + (terminator->guard.negated ? 1 : 0)) + ", " +
                std::string(terminator->guard.predicate) + ";\n";
      } else {
        text += "\tmov.u32 " + std::string(executed_register) + ", " + number(always) + ";\n";
      }
      if (counts) {
        text += "\tadd.u32 " + std::string(executed_register) + ", " + std::string(executed_register) + ", " +
                std::string(guarded_register) + ";\n";
      }
    }
    text += probes;
  }

  // ---- instructions

  void append_instruction_probes(std::uint32_t block, std::uint32_t index, std::string& text) {
    const Instruction& instruction = body_.instructions[index];
    std::string probes;
    for (Probe& probe : unit_.probes) {
      if (!probe.enabled || probe.point != ProbePoint::instruction || !probe.matches(instruction)) continue;
      if (probe.routine.reads_site_value("memory_address")) append_address(instruction, probes);
      append_copy(probe, block, &instruction, probes);
    }
    if (probes.empty()) return;
    if (instruction.traits.kind == OpcodeClass::branch) {
      text += probes;
    } else {
      append_guarded(instruction, probes, text);
    }
  }

  /// `probes` for the lanes whose guard holds.
  void append_guarded(const Instruction& instruction, const std::string& probes, std::string& text) {
    if (probes.empty()) return;
    if (!instruction.guarded()) {
      text += probes;
      return;
    }
    const std::string label = "$lynxpp_skip_" + number(next_site_++);
    text += "\t" + guard_prefix(instruction.guard, true) + "bra " + label + ";\n" + probes + label + ":\n";
  }

  /// memory_register = the address the instruction accesses, offset included.
  void append_address(const Instruction& instruction, std::string& text) const {
    const auto found =
        std::find_if(instruction.operands.begin(), instruction.operands.end(),
                     [](const Operand& operand) { return operand.kind == OperandKind::address; });
    const std::string target(memory_register);
    if (found == instruction.operands.end() || found->elements.empty()) {
      text += "\tmov.b64 " + target + ", 0;\n";
      return;
    }
    const Operand& base = found->elements[0];
    const std::uint32_t scope = body_.statements[instruction.statement].scope;
    const std::int64_t offset = found->offset + base.offset;
    if (base.kind == OperandKind::integer) {
      text += "\tmov.b64 " + target + ", " + std::to_string(base.integer + offset) + ";\n";
      return;
    }
    const std::string name(base.name);
    if (const RegisterDeclaration* declared = body_.find_register(base.name, scope)) {
      text += (size_of(declared->type) == 4 ? "\tcvt.u64.u32 " : "\tmov.b64 ") + target + ", " + name + ";\n";
    } else if (const auto shared = unit_.shared_variables.find(base.name);
               shared != unit_.shared_variables.end()) {
      text += "\tmov.b64 " + target + ", " + number(shared->second) + ";\n";
    } else if (instruction.traits.space == StateSpace::param) {
      text += "\tmov.b64 " + target +
              ", 0;\n";  // call parameters have no address: the offset within the parameter
    } else {
      text += "\tmov.u64 " + target + ", " + name + ";\n";
    }
    if (offset != 0) text += "\tadd.s64 " + target + ", " + target + ", " + std::to_string(offset) + ";\n";
  }

  // ---- probes

  void append_probes(ProbePoint point, std::uint32_t block, const Instruction* instruction, std::string& text,
                     bool initializers) {
    for (Probe& probe : unit_.probes) {
      if (probe.enabled && probe.point == point && probe.is_initializer == initializers)
        append_copy(probe, block, instruction, text);
    }
  }

  void append_copy(Probe& probe, std::uint32_t block, const Instruction* instruction, std::string& text) {
    ++probe.sites;
    if (instruction != nullptr && probe.routine.reads_site_value("predicate_value")) {
      text += instruction->guarded() ? "\tselp.u32 " + std::string(value_register) +
                                           (instruction->guard.negated ? ", 0, 1, " : ", 1, 0, ") +
                                           std::string(instruction->guard.predicate) + ";\n"
                                     : "\tmov.u32 " + std::string(value_register) + ", 1;\n";
    }
    SiteBinding binding;
    binding.site = next_site_++;
    binding.word_opcode = is_kernel_ ? "ld.param.b64" : "ld.local.b64";
    binding.word_base = is_kernel_ ? probe_parameter : frame_register;
    binding.first_word = probe.first_word;
    binding.first_state = probe.first_state;
    binding.first_variable = probe.first_variable;
    binding.site_value = [&](std::string_view name) {
      return site_value(name, probe.point, block, instruction);
    };
    probe.routine.append(binding, text);
  }

  std::string site_value(std::string_view name, ProbePoint point, std::uint32_t block,
                         const Instruction* instruction) const {
    const BasicBlock& range = function_.graph.blocks[block];
    if (name == "basic_block_id") return number(function_.first_block + block);
    if (name == "basic_block_count") return number(unit_.basic_blocks);
    if (name == "basic_block_instruction_count") return number(range.size());
    if (name == "instruction_count") return number(unit_.instructions);
    if (name == "memory_address") return std::string(memory_register);
    if (name == "predicate_value") return instruction != nullptr ? std::string(value_register) : "1";
    if (name == "access_size") return number(instruction != nullptr ? instruction->traits.access_bytes() : 0);
    if (name == "instruction_id") {
      const std::uint32_t index =
          instruction != nullptr ? body_.statements[instruction->statement].index : range.begin;
      return number(function_.first_instruction + index);
    }
    const bool guarded_end = range.size() != 0 && body_.instructions[range.end - 1].traits.ends_block() &&
                             body_.instructions[range.end - 1].guarded();
    if (name == "basic_block_predicated_instruction_count")
      return number(inner_guarded(range) + (guarded_end ? 1 : 0));
    // executed_count: known where the block ends; blocks without guards need no register.
    const bool dynamic = point == ProbePoint::block_exit && (guarded_end || inner_guarded(range) != 0);
    return dynamic ? std::string(executed_register) : number(range.size());
  }

  void insert(std::uint32_t position, const std::string& text) {
    if (!text.empty()) unit_.edits.insert_before(position, "\n" + text + "\t");
  }

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  std::uint32_t& next_site_;
  const bool is_kernel_;
  const bool has_frame_;
};

class Splice final : public Pass {
 public:
  std::string_view name() const override { return "splice"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.probes.empty()) return false;
    std::uint32_t next_site = 0;
    for (const FunctionUnit& function : unit.functions) {
      if (function.instrumented) FunctionSplicer(unit, function, next_site).run();
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> make_splice_pass() { return std::make_unique<Splice>(); }

}  // namespace lynxpp::ptx
