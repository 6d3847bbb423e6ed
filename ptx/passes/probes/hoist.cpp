#include "ptx/passes/probes/hoist.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// Special registers that are constant for the lifetime of a thread.
constexpr std::array<std::string_view, 2> constant_registers{"%lanemask_lt", "%laneid"};

/// Returns the text ranges of a function's blocks in loops: ends by begins.
std::map<std::uint32_t, std::uint32_t> text_of_loops(const FunctionUnit& function, const LoopNest& loops) {
  std::map<std::uint32_t, std::uint32_t> ends;
  const std::vector<Instruction>& instructions = function.function->body->instructions;
  for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
    const BasicBlock& range = function.graph().blocks[block];
    if (range.size() == 0 || loops.loop_of(block) == no_loop) continue;
    ends[instructions[range.begin].text.begin] = instructions[range.end - 1].text.end;
  }
  return ends;
}

/// The registers of one function that hold the special registers its loops read.
class HoistedRegisters {
 public:
  explicit HoistedRegisters(NameSource& names) : names_(names) {}

  /// Replaces reads in code of a loop.
  void replace_in(Code& code) {
    visit_instructions(code, [this](CodeInstruction& instruction) {
      if (!instruction.opcode.starts_with("mov.")) return;
      const auto* const special = std::get_if<SpecialRegister>(&instruction.operands[1].value);
      if (special == nullptr) return;
      const auto known = std::ranges::find(constant_registers, special->name);
      if (known == constant_registers.end()) return;
      const VirtualRegister reg = kept(static_cast<std::size_t>(known - constant_registers.begin()));
      instruction.operands[1] = reg;
      const auto* const target = std::get_if<VirtualRegister>(&instruction.operands[0].value);
      if (target != nullptr && target->type == reg.type) copies_.emplace(*target, reg);
    });
  }

  /// Removes copies of kept registers in all code of the function; their readers use the kept register
  /// itself.
  void remove_copies(const std::vector<Code*>& codes) {
    keep_what_is_written_twice(codes);
    if (copies_.empty()) return;
    for (Code* const code : codes) {
      visit_instructions(*code, [this](CodeInstruction& instruction) {
        for (CodeOperand& operand : instruction.operands) {
          visit_registers(operand, [this](VirtualRegister& reg) {
            if (const auto copy = copies_.find(reg); copy != copies_.end()) reg = copy->second;
          });
        }
      });
      std::erase_if(code->statements, [](const CodeStatement& statement) {
        const auto* const i = std::get_if<CodeInstruction>(&statement);
        return i != nullptr && i->opcode.starts_with("mov.") && i->operands[0] == i->operands[1];
      });
    }
  }

  /// Emits the code that sets the registers.
  Code reads() const {
    CodeBuilder code(names_);
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (kept_[k]) code.mov(*kept_[k], SpecialRegister{std::string(constant_registers[k])});
    }
    return code.take();
  }

 private:
  /// A register with several definitions is not a copy. All destinations are in the first operand.
  void keep_what_is_written_twice(const std::vector<Code*>& codes) {
    std::set<VirtualRegister> written;
    const auto note = [&](VirtualRegister reg) {
      if (copies_.contains(reg) && !written.insert(reg).second) copies_.erase(reg);
    };
    for (Code* const code : codes) {
      visit_instructions(*code, [&](CodeInstruction& instruction) {
        if (!instruction.operands.empty()) visit_registers(instruction.operands[0], note);
      });
    }
  }

  VirtualRegister kept(std::size_t k) {
    if (!kept_[k]) kept_[k] = names_.fresh(RegisterType::b32);
    return *kept_[k];
  }

  NameSource& names_;
  std::array<std::optional<VirtualRegister>, constant_registers.size()> kept_;
  std::map<VirtualRegister, VirtualRegister> copies_;  // by copy: the copied register
};

void hoist(const FunctionUnit& function, EditList& edits) {
  const auto loops = text_of_loops(function, function.analyses->loops());
  const TextRange body = function.function->body_text;
  HoistedRegisters kept(edits.names(*function.function));
  std::vector<Code*> codes;
  for (Edit& edit : edits.edits()) {
    auto* const code = std::get_if<Code>(&edit.content);
    if (code == nullptr || edit.range.begin < body.begin || edit.range.begin >= body.end) continue;
    codes.push_back(code);
    // An insertion before or after an instruction belongs to the instruction's block.
    const auto after = loops.upper_bound(edit.range.begin);
    if (after != loops.begin() && edit.range.begin <= std::prev(after)->second) kept.replace_in(*code);
  }
  Code reads = kept.reads();
  if (reads.empty()) return;
  kept.remove_copies(codes);
  edits.insert_before(entry_position(*function.function), std::move(reads));
}

}  // namespace

void hoist_special_registers(const ReachedFunctions& reached, EditList& edits) {
  for (const FunctionUnit& function : reached.functions) hoist(function, edits);
}

}  // namespace lynxpp::ptx
