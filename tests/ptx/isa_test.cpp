// PTX written for these tests: features of PTX ISA 9.0, including those that compilers do not emit. ptxas
// checks that it is valid (tests ptx_isa.*).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/emitter/emitter.h"
#include "ptx/ir/memory_access.h"
#include "support/text.h"

namespace lynxpp::ptx {
namespace {

class Isa : public testing::TestWithParam<const char*> {
 protected:
  Module read(const std::string& name) {
    std::string text;
    EXPECT_TRUE(read_file(std::string(LYNXPP_PTX_ISA_DATA) + "/" + name + ".ptx", text)) << name;
    auto module = parse_module(text, name);
    if (!module) {
      ADD_FAILURE() << render(module.error().diagnostics, text);
      return Module("");
    }
    expect_both_ways_agree(*module);
    const Status parsed = parse_all_bodies(*module, name);
    EXPECT_TRUE(parsed) << (parsed ? "" : render(parsed.error().diagnostics, text));
    EXPECT_EQ(emit(*module, {}), text);
    return std::move(*module);
  }

  static const Function& function(const Module& module, const char* name) {
    return *module.find_function(name);
  }
};

TEST_P(Isa, ParsesRoundTripsAndIsClassified) {
  const Module module = read(GetParam());
  ASSERT_FALSE(module.functions.empty());
  for (const Function& function : module.functions) {
    if (!function.body) continue;
    for (const Instruction& instruction : function.body->instructions) {
      EXPECT_TRUE(instruction.traits.is_known()) << instruction.line << ": " << instruction.opcode;
      EXPECT_EQ(module.text(instruction.text).back(), ';');
      const std::size_t opcode = module.text(instruction.text).find(instruction.opcode);
      EXPECT_NE(opcode, std::string_view::npos);
    }
  }
  for (const Variable& variable : module.variables)
    EXPECT_TRUE(parse_initial_value(module, variable)) << variable.name;
}

INSTANTIATE_TEST_SUITE_P(Files, Isa, testing::Values("control", "operands", "hopper", "blackwell"),
                         [](const auto& file) { return std::string(file.param); });

TEST_F(Isa, ParsesModuleDeclarations) {
  const Module module = read("control");
  EXPECT_TRUE(module.find_variable("elsewhere")->is_extern);
  EXPECT_TRUE(module.find_variable("weak_counter")->is_weak);
  EXPECT_EQ(module.find_variable("table")->size_bytes(), 32U);
  EXPECT_EQ(module.find_variable("managed_counter")->size_bytes(), 4U);
  EXPECT_EQ(module.find_variable("old_texture")->type, DataType::opaque);
  const auto pointers = parse_initial_value(module, *module.find_variable("pointers"));
  ASSERT_EQ(pointers->relocations.size(), 3U);
  EXPECT_TRUE(pointers->relocations[0].generic);
  EXPECT_EQ(pointers->relocations[1].addend, 8);
  EXPECT_EQ(parse_initial_value(module, *module.find_variable("bytes"))->relocations[3].shift, 24U);
  EXPECT_EQ(module.find_function("alternative")->name, "original");
  EXPECT_TRUE(function(module, "once").is_weak);
  EXPECT_EQ(function(module, "unified").parameters[0].size_bytes(), 12U);
  std::vector<std::string_view> directives;
  for (const Item& item : module.items) {
    if (item.kind == ItemKind::directive) directives.push_back(item.name);
  }
  EXPECT_THAT(directives, testing::ElementsAre(".version", ".target", ".address_size", ".file", ".file",
                                               ".alias", ".section", ".section", ".section"));
}

TEST_F(Isa, BuildsTheKernelsControlFlow) {
  const Module module = read("control");
  const Function& kernel = function(module, "kernel");
  EXPECT_EQ(kernel.parameters.size(), 3U);
  EXPECT_EQ(kernel.parameters[0].alignment, 8U) << ".ptr .align applies to the memory pointed to";
  const Body& body = *kernel.body;
  ASSERT_EQ(body.branch_targets.size(), 1U);
  EXPECT_THAT(body.branch_targets[0].targets, testing::ElementsAre("$L_first", "$L_second", "$L_third"));
  EXPECT_EQ(body.call_targets.size(), 2U);
  EXPECT_EQ(body.find_register("%r1", 0)->count, 20U);
  EXPECT_EQ(body.find_register("quad", 0)->vector, 4U);
  const ControlFlowGraph graph = build_control_flow_graph(kernel);
  std::size_t with_three_targets = 0;
  for (const BasicBlock& block : graph.blocks) with_three_targets += block.targets.size() == 3 ? 1 : 0;
  EXPECT_EQ(with_three_targets, 1U);
  // `.loc … inlined_at` specifies the inlined line.
  const auto setp = std::ranges::find(body.instructions, "setp.lt.and.s32", &Instruction::opcode);
  EXPECT_EQ(setp->source_file, 2U);
  EXPECT_EQ(setp->source_line, 5U);
  EXPECT_EQ(setp->operands[0].kind, OperandKind::pair);
  const Function& cluster = function(module, "cluster_kernel");
  EXPECT_TRUE(cluster.is_entry && cluster.parameters.empty());
}

TEST_F(Isa, ClassifiesAccessesOfNewInstructions) {
  const Module hopper = read("hopper");
  const auto find = [&](const Module& module, std::string_view opcode) {
    const Body& body = *function(module, "kernel").body;
    const auto found = std::ranges::find(body.instructions, opcode, &Instruction::opcode);
    EXPECT_NE(found, body.instructions.end()) << opcode;
    return found == body.instructions.end() ? Instruction{} : *found;
  };
  const auto traits = [&](const Module& module, std::string_view opcode) {
    return find(module, opcode).traits;
  };
  const auto bytes = [&](const Module& module, std::string_view opcode) {
    return memory_accesses(find(module, opcode)).access[0].bytes;
  };
  EXPECT_EQ(traits(hopper, "multimem.st.weak.global.u32").space, StateSpace::global);
  EXPECT_TRUE(traits(hopper, "multimem.st.weak.global.u32").writes_memory);
  EXPECT_EQ(bytes(hopper, "ldmatrix.sync.aligned.m8n8.x4.shared.b16"), 16U);
  EXPECT_EQ(
      traits(hopper, "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes").space,
      StateSpace::global);
  EXPECT_EQ(traits(hopper, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16").kind,
            OpcodeClass::arithmetic);
  const Module blackwell = read("blackwell");
  EXPECT_EQ(bytes(blackwell, "ld.global.v8.f32"), 32U);
}

}  // namespace
}  // namespace lynxpp::ptx
