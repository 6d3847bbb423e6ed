// PTX from other sources: data/*.cu compiled by nvcc, and the modules in the toolkit's libraries.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "image/fatbinary.h"
#include "image/program_file.h"
#include "parse.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/emitter/emitter.h"
#include "support/text.h"

namespace lynxpp::ptx {
namespace {

class Corpus : public testing::Test {
 protected:
  void TearDown() override {
    if (modules_ == 0) return;
    std::printf(
        "%zu modules, %zu functions, %zu instructions, %zu basic blocks; scanned %.0f MB/s, bodies parsed "
        "%.1f MB/s\n",
        modules_, functions_, instructions_, blocks_, rate(scanned_bytes_, scan_seconds_),
        rate(parsed_bytes_, parse_seconds_));
  }

  void check_module(const std::string& text, const std::string& name) {
    const auto begin = std::clock();
    Result<Module> module = parse_module(text, name);
    const auto scanned = std::clock();
    ASSERT_TRUE(module) << render(module.error().diagnostics, text);
    const Status status = parse_all_bodies(*module, name);
    const auto parsed = std::clock();
    ASSERT_TRUE(status) << render(status.error().diagnostics, text);
    ++modules_;
    scanned_bytes_ += module->source().size();
    scan_seconds_ += seconds_between(begin, scanned);
    parse_seconds_ += seconds_between(scanned, parsed);
    expect_both_ways_agree(*module);
    EXPECT_TRUE(emit(*module, {}) == text) << name << ": emitted text differs";
    for (const Function& function : module->functions) {
      if (!function.is_declaration()) check_function(*module, function);
    }
    for (const Variable& variable : module->variables) {
      const auto value = parse_initial_value(*module, variable);
      ASSERT_TRUE(value) << render(value.error().diagnostics, text);
      EXPECT_EQ(value->bytes.size(), variable.size_bytes());
    }
  }

  void check_function(const Module& module, const Function& function) {
    const Body& body = *function.body;
    ++functions_;
    instructions_ += body.instructions.size();
    parsed_bytes_ += function.body_text.end - function.body_text.begin;
    const ControlFlowGraph graph = build_control_flow_graph(function);
    blocks_ += graph.blocks.size();
    check_blocks(body, graph, function.name);
    EXPECT_EQ(immediate_post_dominators(graph).size(), graph.blocks.size());
    for (const Instruction& instruction : body.instructions) {
      EXPECT_TRUE(instruction.traits.is_known())
          << function.name << ": unknown opcode " << instruction.opcode;
      check_names(module, function, instruction);
    }
  }

  /// Every instruction is in exactly one block, and only the last one may end it.
  static void check_blocks(const Body& body, const ControlFlowGraph& graph, const std::string& name) {
    std::uint32_t next = 0;
    for (std::uint32_t index = 0; index < graph.blocks.size(); ++index) {
      const BasicBlock& block = graph.blocks[index];
      ASSERT_EQ(block.begin, next) << name;
      next = block.end;
      for (std::uint32_t instruction = block.begin; instruction < block.end; ++instruction) {
        EXPECT_EQ(graph.block_of[instruction], index);
        EXPECT_TRUE(instruction + 1 == block.end || !body.instructions[instruction].traits.ends_block())
            << name;
      }
      const bool goes_on = block.leaves_function || !block.successors.empty();
      EXPECT_TRUE(goes_on) << name << ": block " << index << "has no successor";
    }
    EXPECT_EQ(next, body.instructions.size()) << name;
  }

  /// Written registers are declared in a scope around the instruction.
  static void check_names(const Module& module, const Function& function, const Instruction& instruction) {
    const std::uint32_t scope = function.body->statements[instruction.statement].scope;
    EXPECT_TRUE(!instruction.guarded() ||
                function.body->find_register(instruction.guard.predicate, scope) != nullptr);
    for (std::size_t index = 0; index < instruction.traits.destinations; ++index) {
      ASSERT_LT(index, instruction.operands.size()) << module.text(instruction.text);
      const Operand& operand = instruction.operands[index];
      if (operand.kind != OperandKind::identifier) continue;
      EXPECT_NE(function.body->find_register(operand.name, scope), nullptr) << module.text(instruction.text);
    }
  }

  void check_library(const std::string& path) {
    const auto file = image::containers_in_file(path);
    ASSERT_TRUE(file) << render(file.error().diagnostics);
    for (const image::FileImage& image : file->images) {
      const auto entries = image::list_entries(image.bytes);
      ASSERT_TRUE(entries) << render(entries.error().diagnostics);
      for (const image::Entry& entry : *entries) {
        if (entry.kind != image::EntryKind::ptx) continue;
        const auto text = image::ptx_text(entry);
        ASSERT_TRUE(text) << render(text.error().diagnostics);
        check_module(*text, image.origin);
      }
    }
    EXPECT_GT(modules_, 0U) << "no PTX in " << path;
  }

  /// Processor time, independent of other processes.
  static double seconds_between(std::clock_t begin, std::clock_t end) {
    return static_cast<double>(end - begin) / CLOCKS_PER_SEC;
  }
  static double rate(std::size_t bytes, double seconds) {
    return seconds > 0 ? static_cast<double>(bytes) / 1e6 / seconds : 0;
  }

  std::size_t modules_ = 0;
  std::size_t functions_ = 0;
  std::size_t instructions_ = 0;
  std::size_t blocks_ = 0;
  std::size_t scanned_bytes_ = 0;
  std::size_t parsed_bytes_ = 0;
  double scan_seconds_ = 0;
  double parse_seconds_ = 0;
};

#ifdef LYNXPP_PTX_TEST_DATA
TEST_F(Corpus, ParsesPtxCompiledHere) {
  for (const char* name : {"features", "features_lines", "features_debug", "features_relocatable", "cub"}) {
    std::string text;
    ASSERT_TRUE(read_file(std::string(LYNXPP_PTX_TEST_DATA) + "/" + name + ".ptx", text)) << name;
    check_module(text, name);
  }
}

TEST_F(Corpus, CompiledCodeHasSourceLines) {
  std::string text;
  ASSERT_TRUE(read_file(LYNXPP_PTX_TEST_DATA "/features_lines.ptx", text));
  Module module = std::move(*parse_module(text));
  ASSERT_TRUE(parse_all_bodies(module));
  for (const Function& function : module.functions) {
    if (!function.is_entry) continue;
    // The parameters are loaded before the first .loc; all later instructions have a line and file.
    const Instruction& last = function.body->instructions.back();
    EXPECT_GT(last.source_line, 0U) << function.name;
    EXPECT_NE(module.find_file(last.source_file), nullptr) << function.name;
  }
}

TEST_F(Corpus, ParsesTheDeviceRuntime) { check_library(LYNXPP_CUDA_LIBRARIES "/libcudadevrt.a"); }

TEST_F(Corpus, ParsesTheRandomNumberLibrary) { check_library(LYNXPP_CUDA_LIBRARIES "/libcurand.so"); }
#else
TEST_F(Corpus, RequiresTheToolkit) { GTEST_SKIP() << "no CUDA toolkit was found when this was configured"; }
#endif

}  // namespace
}  // namespace lynxpp::ptx
