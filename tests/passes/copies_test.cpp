// Copies between global and shared memory have two sides, each with its own labels, address and size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/handler_sites.h"
#include "engine/instrument.h"
#include "ptx/ir/memory_access.h"
#include "ptx/parser/parser.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::engine {
namespace {

using testing::ElementsAre;

constexpr const char* ptx_text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<3>;
	.shared .align 128 .b8 tile[1024];
	.shared .align 8 .b64 arrived;
	ld.param.u64 %rd1, [in];
	mov.u32 %r1, tile;
	cp.async.ca.shared.global [%r1], [%rd1], 4;
	cp.async.cg.shared.global [%r1+16], [%rd1+32], 16;
	cp.async.ca.shared.global [tile+64], [%rd1], 8, %r2;
	cp.async.commit_group;
	cp.async.wait_group 0;
	mov.u32 %r3, 64;
	mov.u32 %r4, arrived;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r3, [%r4];
	cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 32;
	cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r3;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r1];
	ret;
}
)";

struct Side {
  bool reads, writes;
  ptx::StateSpace space;
  std::uint32_t bytes;
  std::string address;
  std::string size;
  bool operator==(const Side&) const = default;
};

std::vector<Side> sides_of(const ptx::Module& module, const ptx::Instruction& instruction) {
  const auto text_of = [&](const ptx::Operand* operand) {
    return operand == nullptr ? std::string() : std::string(module.text(operand->text));
  };
  std::vector<Side> sides;
  for (const ptx::MemoryAccess& access : ptx::memory_accesses(instruction)) {
    sides.push_back({access.reads, access.writes, access.space, access.bytes, text_of(access.address),
                     text_of(access.size)});
  }
  return sides;
}

TEST(Copies, HaveASourceAndADestination) {
  constexpr auto global = ptx::StateSpace::global;
  constexpr auto shared = ptx::StateSpace::shared;
  Result<ptx::Module> module = ptx::parse_module(ptx_text);
  ASSERT_TRUE(module);
  ptx::Function* function = module->find_function("k");
  ASSERT_TRUE(ptx::parse_body(*module, *function));
  const auto sides = [&](std::size_t index) {
    return sides_of(*module, function->body->instructions[index]);
  };
  EXPECT_THAT(sides(2), ElementsAre(Side{true, false, global, 4, "[%rd1]", ""},
                                    Side{false, true, shared, 4, "[%r1]", ""}));
  EXPECT_THAT(sides(3), ElementsAre(Side{true, false, global, 16, "[%rd1+32]", ""},
                                    Side{false, true, shared, 16, "[%r1+16]", ""}));
  EXPECT_THAT(sides(4), ElementsAre(Side{true, false, global, 8, "[%rd1]", "%r2"},
                                    Side{false, true, shared, 8, "[tile+64]", ""}));
  EXPECT_TRUE(sides(5).empty());
  EXPECT_THAT(sides(9), ElementsAre(Side{true, false, global, 0, "[%rd1]", "%r3"},
                                    Side{false, true, shared, 0, "[%r1]", "%r3"}));
  EXPECT_THAT(sides(10), ElementsAre(Side{true, false, shared, 32, "[%r1]", ""},
                                     Side{false, true, global, 32, "[%rd1]", ""}));
  EXPECT_THAT(sides(11), ElementsAre(Side{true, false, shared, 0, "[%r1]", "%r3"},
                                     Side{true, true, global, 0, "[%rd1]", "%r3"}));
  EXPECT_THAT(sides(12), ElementsAre(Side{true, false, shared, 16, "[%r1]", ""}));
}

TEST(Copies, FiltersSelectOneSide) {
  const std::string text = ptx_text;
  const std::string body =
      "{ values[instructionId()] += memoryAddress() + accessSize() + bulkSize() + accessSpace() + "
      "vectorWidth() + operandValue(1); }\n";
  const auto specification = cod::compile(
      "global unsigned long values[INSTRUCTIONS];\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: " +
          body + "ON_INSTRUCTION: MEM_WRITE: SHARED: " + body + "ON_INSTRUCTION_AFTER: MEM_READ: SHARED: " +
          body + "ON_INSTRUCTION_AFTER: MEM_WRITE: GLOBAL: " + body +
          "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: SHARED: " + body,
      "t.cod");
  ASSERT_TRUE(specification) << render(specification.error().diagnostics);
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  request.device_sm = 90;
  const Result<Instrumented> result = instrument(request);
  ASSERT_TRUE(result) << render(result.error().diagnostics);
  EXPECT_THAT(result->sites_per_handler, ElementsAre(5, 4, 3, 2, 7));
  std::string messages;
  bool available = false;
  const bool accepted = ptx::testing::assemble(result->ptx, messages, available);
  EXPECT_TRUE(accepted || !available) << messages << result->ptx;

  Result<ptx::Module> module = ptx::parse_module(text);
  ASSERT_TRUE(module);
  const auto sites = find_handler_sites(*module, "k", **specification);
  ASSERT_TRUE(sites);
  std::vector<std::uint64_t> explained;
  for (const HandlerSites& each : *sites) explained.push_back(each.sites.size());
  EXPECT_EQ(explained, result->sites_per_handler);
}

TEST(Copies, LabelsIdentifyTheirKind) {
  const std::string text = ptx_text;
  const auto specification = cod::compile(
      "global unsigned long values[INSTRUCTIONS];\n"
      "ON_INSTRUCTION: ASYNC_COPY: { values[instructionId()] += 1; }\n"
      "ON_INSTRUCTION: ASYNC_COPY: LOCAL: { values[instructionId()] += 1; }\n"
      "ON_INSTRUCTION: BULK: { values[instructionId()] += bulkSectors(); }\n"
      "ON_INSTRUCTION: BULK: GLOBAL: { values[instructionId()] += bulkSectors(); }\n"
      "ON_INSTRUCTION: UNSIZED: { values[instructionId()] += 1; }\n",
      "t.cod");
  ASSERT_TRUE(specification) << render(specification.error().diagnostics);
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  request.device_sm = 90;
  const Result<Instrumented> result = instrument(request);
  ASSERT_TRUE(result) << render(result.error().diagnostics);
  EXPECT_THAT(result->sites_per_handler, ElementsAre(6, 0, 3, 3, 0));
}

TEST(Copies, TensorCopiesObjectsAndProductsHaveLabelsOfTheirOwn) {
  const std::string text = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128]) {
.reg .b64 %a, %s; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p;
.shared .align 128 .b8 box[1024]; .shared .b64 bar;
mov.b64 %a, map;
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%a, {0}], [bar];
cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%a, {0}], [box];
cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%a, {0}], [box];
cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%a, {0}];
mbarrier.init.shared::cta.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 %s, [bar], %r1;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;
mbarrier.pending_count.b64 %r2, %s;
cp.async.mbarrier.arrive.shared::cta.b64 [bar];
mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, %f1, %f2, %f3};
bar.sync 0;
ret;
}
)";
  const auto specification = cod::compile(
      "global unsigned long values[INSTRUCTIONS];\n"
      "ON_INSTRUCTION: TENSOR_COPY: { values[instructionId()] += 1; }\n"
      "ON_INSTRUCTION: TENSOR_COPY: GLOBAL: { values[instructionId()] += 1; }\n"
      "ON_INSTRUCTION: MBARRIER: { values[instructionId()] += expectedBytes(); }\n"
      "ON_INSTRUCTION: TENSOR_CORE: { values[instructionId()] += tensorCoreOperations() + tensorCoreType(); "
      "}\n"
      "ON_INSTRUCTION: BARRIER: { values[instructionId()] += 1; }\n",
      "t.cod");
  ASSERT_TRUE(specification) << render(specification.error().diagnostics);
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  request.device_sm = 90;
  const Result<Instrumented> result = instrument(request);
  ASSERT_TRUE(result) << render(result.error().diagnostics);
  EXPECT_THAT(result->sites_per_handler, ElementsAre(3, 3, 4, 1, 5));
}

/// Returns the tensor copies with their forms: "#3 at 192: 2d, 4 boxes".
std::vector<std::string> tensor_copies_of(const std::string& body, const std::string& report,
                                          const std::string& note = "") {
  const std::string text =
      ".version 8.6\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u32 n, .param .align 64 .b8 maps[256], .param .align 64 .b8 few[64])\n{\n"
      ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %rs<2>;\nmov.b64 %rd1, maps;\n" +
      body + "ret;\n}\n";
  const auto specification = cod::compile(
      "global unsigned long n[INSTRUCTIONS];\n"
      "ON_INSTRUCTION: TENSOR_COPY: { n[instructionId()] += 1; }\nON_REPORT: { " +
          report + " }\n",
      "t.cod");
  EXPECT_TRUE(specification) << render(specification.error().diagnostics);
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  request.device_sm = 100;
  const Result<Instrumented> result = instrument(request);
  EXPECT_TRUE(result) << render(result.error().diagnostics);
  EXPECT_EQ(result->notes, note.empty() ? std::vector<std::string>() : std::vector{note});
  std::vector<std::string> found;
  for (const TensorCopySite& each : result->tensor_copies) {
    found.push_back("#" + std::to_string(each.instruction) + " at " + std::to_string(each.parameter_byte) +
                    ": " + std::to_string(each.rank) + "d" + (each.is_im2col ? ", im2col" : "") +
                    (each.rows == 1 ? "" : ", " + std::to_string(each.rows) + " boxes"));
  }
  return found;
}

TEST(TensorCopies, HaveTheirMapAmongTheParameters) {
  const std::string body =
      "add.s64 %rd2, %rd1, 128;\n"
      "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {0}], [%r1];\n"
      "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd2, {0, 0, "
      "0}], "
      "[%r2], {%rs1};\n"
      "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {0, 0, 0}], [%r1];\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd2, "
      "{0, 1, 2, 3, 4}], [%r2];\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {0, 1, 2, 3, 4}], [%r1];\n"
      "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 0, 0, 0, 0}], "
      "[%r1];\n";
  EXPECT_THAT(tensor_copies_of(body, "emit(\"x\", boxBytes(0));"),
              ElementsAre("#2 at 64: 1d", "#3 at 192: 3d, im2col", "#4 at 192: 3d, im2col",
                          "#5 at 192: 2d, 4 boxes", "#6 at 64: 2d, 4 boxes", "#7 at 64: 5d"));
  EXPECT_THAT(tensor_copies_of(body, "emit(\"x\", boxLines(0));"), testing::SizeIs(6));
  EXPECT_THAT(tensor_copies_of(body, "emit(\"x\", sum(n));"), testing::IsEmpty()) << "nothing needs them";
}

TEST(TensorCopies, AreLeftOutIfTheirMapIsNotAParameter) {
  const std::string store = "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {0}], [%r1];\n";
  for (const char* const map : {"mov.b64 %rd2, few;\n", "add.s64 %rd2, %rd1, 192;\n",
                                "sub.s64 %rd2, %rd1, 64;\n", "ld.global.u64 %rd2, [%rd3];\n"})
    EXPECT_THAT(
        tensor_copies_of(map + store + store, "emit(\"x\", boxBytes(0));",
                         "the bytes of 2 tensor copies (PTX lines 9, 10) are unknown: no parameter of the "
                         "kernel is the tensor map on all paths"),
        testing::IsEmpty())
        << map;
}

TEST(TensorCopies, AreLeftOutIfAnOperandDeterminesTheirSize) {
  EXPECT_THAT(
      tensor_copies_of("cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
                       "[%r1], [%rd1, {0, 0, 0}], [%r2], {%rs1, %rs1};\n",
                       "emit(\"x\", boxBytes(0));",
                       "the bytes of 1 tensor copy (PTX line 8) are unknown: an operand determines the size "
                       "of im2col::w"),
      testing::IsEmpty());
  EXPECT_THAT(tensor_copies_of("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd1, {0}];\n",
                               "emit(\"x\", boxBytes(0));"),
              testing::IsEmpty())
      << "copies nothing";
}

}  // namespace
}  // namespace lynxpp::engine
