#include "ptx/passes/probes/hoist.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// What stays the same as long as the thread lives, and the register that keeps it.
struct Hoisted {
  std::string_view special;
  std::string_view kept;
};
constexpr std::array<Hoisted, 2> hoisted_registers{
    {{"%lanemask_lt;", "%lynxpp_kept_lanes_below"}, {"%laneid;", "%lynxpp_kept_lane"}}};

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

bool replace_all(std::string& text, std::string_view old, const std::string& by) {
  bool any = false;
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size())) {
    text.replace(at, old.size(), by);
    any = true;
  }
  return any;
}

bool hoist(InstrumentationUnit& unit, const FunctionUnit& function) {
  const LoopText loops(function, unit.analyses.of(*function.function).loops());
  if (loops.empty()) return false;
  const TextRange body = function.function->body_text;
  std::array<bool, hoisted_registers.size()> wanted{};
  for (std::size_t i = 0; i < unit.edits.edits().size(); ++i) {
    const Edit& edit = unit.edits.edits()[i];
    if (edit.range.begin < body.begin || edit.range.begin >= body.end || edit.text.empty()) continue;
    if (!loops.contains(edit.range.begin)) continue;
    std::string text = edit.text;
    bool changed = false;
    for (std::size_t k = 0; k < hoisted_registers.size(); ++k) {
      const bool found =
          replace_all(text, hoisted_registers[k].special, std::string(hoisted_registers[k].kept) + ";");
      wanted[k] |= found;
      changed |= found;
    }
    if (changed) unit.edits.set_text(i, std::move(text));
  }
  std::string declarations, reads;
  for (std::size_t k = 0; k < hoisted_registers.size(); ++k) {
    if (!wanted[k]) continue;
    const std::string kept(hoisted_registers[k].kept);
    declarations += "\n\t.reg .b32 " + kept + ";";
    reads += "\n\tmov.u32 " + kept + ", " + std::string(hoisted_registers[k].special);
  }
  if (reads.empty()) return false;
  unit.edits.insert_before(body.begin + 1, declarations);
  unit.edits.insert_before(entry_position(*function.function), reads + "\n");
  return true;
}

class Hoist final : public Pass {
 public:
  std::string_view name() const override { return "hoist"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    bool any = false;
    for (const FunctionUnit& function : unit.functions) any |= hoist(unit, function);
    return any;
  }
};

}  // namespace

std::unique_ptr<Pass> make_hoist_pass() { return std::make_unique<Hoist>(); }

}  // namespace lynxpp::ptx
