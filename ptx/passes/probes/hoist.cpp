#include "ptx/passes/probes/hoist.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// Special registers that stay the same as long as the thread lives.
constexpr std::array<std::string_view, 2> constant_registers{"%lanemask_lt", "%laneid"};

/// The instructions of one function that stand in loops.
class LoopText {
 public:
  LoopText(const FunctionUnit& function, const LoopNest& loops) {
    if (loops.loops().empty()) return;
    const Body& body = *function.function->body;
    for (std::uint32_t block = 0; block < function.graph.blocks.size(); ++block) {
      const BasicBlock& range = function.graph.blocks[block];
      if (range.size() == 0 || loops.loop_of(block) == no_loop) continue;
      ranges_.push_back(
          {body.instructions[range.begin].text.begin, body.instructions[range.end - 1].text.end});
    }
    std::ranges::sort(ranges_, {}, &TextRange::begin);
  }

  bool empty() const { return ranges_.empty(); }
  /// An insertion before or behind an instruction is the instruction's block's.
  bool contains(std::uint32_t position) const {
    const auto after = std::ranges::upper_bound(ranges_, position, {}, &TextRange::begin);
    return after != ranges_.begin() && position <= std::prev(after)->end;
  }

 private:
  std::vector<TextRange> ranges_;
};

/// The registers of one function that keep what its loops read.
class KeptRegisters {
 public:
  explicit KeptRegisters(NameSource& names) : names_(names) {}

  /// In code of a loop.
  void replace_in(Code& code) {
    for (CodeStatement& statement : code.statements) {
      auto* const instruction = std::get_if<CodeInstruction>(&statement);
      if (instruction == nullptr) continue;
      for (CodeOperand& operand : instruction->operands) {
        const auto* const special = std::get_if<SpecialRegister>(&operand.value);
        if (special == nullptr) continue;
        const auto known = std::ranges::find(constant_registers, special->name);
        if (known == constant_registers.end()) continue;
        operand = kept(static_cast<std::size_t>(known - constant_registers.begin()));
      }
    }
  }

  /// What fills them.
  Code reads() const {
    CodeBuilder code(names_);
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (kept_[k]) code.mov(*kept_[k], SpecialRegister{std::string(constant_registers[k])});
    }
    return code.take();
  }

 private:
  VirtualRegister kept(std::size_t k) {
    if (!kept_[k]) kept_[k] = names_.fresh(RegisterType::b32);
    return *kept_[k];
  }

  NameSource& names_;
  std::array<std::optional<VirtualRegister>, constant_registers.size()> kept_;
};

bool hoist(InstrumentationUnit& unit, const FunctionUnit& function) {
  const LoopText loops(function, unit.analyses.of(*function.function).loops());
  if (loops.empty()) return false;
  const TextRange body = function.function->body_text;
  KeptRegisters kept(unit.edits.names(*function.function));
  for (Edit& edit : unit.edits.edits()) {
    if (edit.range.begin < body.begin || edit.range.begin >= body.end) continue;
    auto* const code = std::get_if<Code>(&edit.content);
    if (code != nullptr && loops.contains(edit.range.begin)) kept.replace_in(*code);
  }
  Code reads = kept.reads();
  if (reads.empty()) return false;
  unit.edits.insert_before(entry_position(*function.function), std::move(reads));
  return true;
}

class Hoist final : public Pass {
 public:
  std::string_view name() const override { return "hoist"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    bool any = false;
    for (const FunctionUnit& function : unit.reached.functions) any |= hoist(unit, function);
    return any;
  }
};

}  // namespace

std::unique_ptr<Pass> make_hoist_pass() { return std::make_unique<Hoist>(); }

}  // namespace lynxpp::ptx
