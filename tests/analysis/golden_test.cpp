// Every analysis of complete modules, compared literally with golden/NAME.analyses.txt.
// LYNXPP_UPDATE_GOLDEN=1 rewrites the expected results for review.
#include <cstdlib>

#include "ptx/analysis/calls/call_graph.h"
#include "support/text.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

/// One function's analyses; instructions are identified by their lines.
class Description {
 public:
  explicit Description(const Function& function) : function_(function), analyses_(function) {}

  std::string text() {
    text_ = demangle(function_.name) + "\n";
    const RegisterPressure pressure =
        estimate_register_pressure(analyses_.graph(), analyses_.registers(), analyses_.liveness());
    text_ += "  pressure " + number(pressure.units) + " registers, " + number(pressure.predicates) +
             " predicates, line " + line_of(pressure.instruction) + "\n";
    add_loops();
    for (std::uint32_t block = 0; block < analyses_.graph().blocks.size(); ++block) add_block(block);
    return text_;
  }

 private:
  static std::string number(std::uint64_t value) { return std::to_string(value); }
  static std::string block_name(std::uint32_t block) { return block == no_block ? "none" : number(block); }
  std::string line_of(std::uint32_t instruction) const {
    const auto& instructions = function_.body->instructions;
    return instruction < instructions.size() ? number(instructions[instruction].line) : "none";
  }
  static std::string list(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (const std::uint32_t each : numbers) text += (text.empty() ? "" : " ") + number(each);
    return "[" + text + "]";
  }
  std::string names(const std::vector<RegisterId>& registers) {
    std::string text;
    for (const RegisterId reg : registers) {
      text += text.empty() ? "" : " ";
      text += analyses_.registers().registers()[reg].name;
    }
    return "[" + text + "]";
  }
  /// "" for uniform values, otherwise the scopes over which they vary.
  static std::string variance(Variance variance) {
    std::string text;
    if ((variance & varies_in_warp) != 0) text += " lanes";
    if ((variance & varies_in_block) != 0) text += " threads";
    if ((variance & varies_over_blocks) != 0) text += " blocks";
    return text.empty() ? "uniform" : "varies over" + text;
  }

  void add_loops() {
    const auto& loops = analyses_.loops().loops();
    for (std::uint32_t loop = 0; loop < loops.size(); ++loop) {
      const auto trips = analyses_.affine().trip_count(loop);
      text_ += "  loop " + number(loop) + ": header " + number(loops[loop].header) + ", in " +
               (loops[loop].parent == no_loop ? "none" : number(loops[loop].parent)) + ", blocks " +
               list(analyses_.loops().blocks_of(loop)) + ", latches " + list(loops[loop].latches) +
               ", exiting " + list(loops[loop].exiting) + ", trips " + (trips ? number(*trips) : "unknown") +
               ", exit " + variance(analyses_.uniformity().of_loop_exit(loop)) + "\n";
      for (const InductionVariable& variable : analyses_.affine().induction_variables()) {
        if (variable.loop != loop) continue;
        text_ += "    " + std::string(analyses_.registers().registers()[variable.reg].name) + " from " +
                 analyses_.affine().text(variable.initial) + " step " +
                 analyses_.affine().text(variable.step) + "\n";
      }
    }
    for (const auto& region : analyses_.loops().irreducible_regions())
      text_ += "  irreducible " + list(region) + "\n";
  }

  void add_block(std::uint32_t block) {
    const BasicBlock& node = analyses_.graph().blocks[block];
    text_ += "  block " + number(block) + ": lines " +
             (node.size() == 0 ? "none" : line_of(node.begin) + "-" + line_of(node.end - 1)) + ", to " +
             list(node.successors) + (node.leaves_function ? " and out" : "");
    if (!analyses_.dominators().is_reachable(block)) {
      text_ += ", unreachable\n";
      return;
    }
    text_ += ", dominator " + block_name(analyses_.dominators().immediate(block)) + ", post-dominator " +
             block_name(analyses_.post_dominators()[block]);
    const bool branches = node.successors.size() + (node.leaves_function ? 1 : 0) > 1;
    if (branches) text_ += ", branch " + variance(analyses_.uniformity().of_branch(block));
    text_ += "\n    live " + names(analyses_.liveness().live_in(block)) + " to " +
             names(analyses_.liveness().live_out(block)) + "\n";
    for (std::uint32_t at = node.begin; at < node.end; ++at) add_instruction(at);
  }

  /// Prints reads with several reaching definitions, and addresses.
  void add_instruction(std::uint32_t at) {
    const auto registers = analyses_.registers().reads(at);
    for (std::size_t index = 0; index < registers.size(); ++index) {
      const auto definitions = analyses_.ssa().reaching_definitions(analyses_.ssa().reads(at)[index]);
      if (definitions.size() < 2) continue;
      text_ += "    line " + line_of(at) + " reads " +
               std::string(analyses_.registers().registers()[registers[index]].name) + " of lines";
      std::vector<std::string> lines;
      for (const ValueId value : definitions) {
        const Value& made = analyses_.ssa().values()[value];
        lines.push_back(made.kind == ValueKind::entry ? "entry" : line_of(made.instruction));
      }
      std::ranges::sort(lines);
      for (const std::string& each : lines) text_ += " " + each;
      text_ += "\n";
    }
    const Instruction& instruction = function_.body->instructions[at];
    if (instruction.traits.space != StateSpace::global && instruction.traits.space != StateSpace::shared)
      return;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind != OperandKind::address) continue;
      const auto form = analyses_.affine().of_address(at);
      text_ += "    line " + line_of(at) + " " + std::string(instruction.opcode) + " at " +
               (form ? analyses_.affine().text(*form) : "none") + ", " +
               variance(analyses_.uniformity().of_operand(at, operand)) + "\n";
    }
  }

  const Function& function_;
  FunctionAnalyses analyses_;
  std::string text_;
};

std::string calls_of(const Module& module) {
  const CallGraph calls(module);
  std::string text;
  for (const CallNode& node : calls.nodes()) {
    text += demangle(node.function->name) + " calls";
    for (const std::uint32_t callee : node.callees)
      text += " " + demangle(calls.nodes()[callee].function->name);
    for (const std::string_view external : node.external)
      text += " " + std::string(external) + " (elsewhere)";
    if (node.calls_indirectly) text += " through pointers";
    if (node.is_recursive) text += ", itself again";
    text += "\n";
  }
  return text;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, AnalysesMatchGoldenFile) {
  const std::string folder = std::string(LYNXPP_SOURCE_DIR) + "/tests/analysis/";
  std::string source;
  ASSERT_TRUE(read_file(folder + "data/" + GetParam() + ".ptx", source));
  Result<Module> module = parse_module(source, GetParam());
  ASSERT_TRUE(module);
  ASSERT_TRUE(parse_all_bodies(*module));
  std::string text = calls_of(*module);
  for (const Function& function : module->functions) {
    if (!function.is_declaration()) text += Description(function).text();
  }
  const std::string path = folder + "golden/" + GetParam() + ".analyses.txt";
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, text));
  }
  std::string expected;
  ASSERT_TRUE(read_file(path, expected)) << path;
  EXPECT_EQ(text, expected);
}

INSTANTIATE_TEST_SUITE_P(Modules, Golden,
                         testing::Values("shapes", "vecadd", "matmul", "transpose", "histogram", "reduction"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lynxpp::ptx
