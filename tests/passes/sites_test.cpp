// The site table that instrument() returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cod/specification.h"
#include "engine/instrument.h"

namespace lynxpp::engine {
namespace {

using testing::ElementsAre;

constexpr const char* ptx = R"(.version 8.0
.target sm_80
.address_size 64
.func helper(.param .b32 a)
{
	.reg .b32 %r<2>;
	.loc 1 7 3
	ld.param.u32 %r1, [a];
	ret;
}
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .f32 %f<3>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [p];
	.loc 2 20 5
	@%p1 ld.global .f32 %f1, [%rd1+4];
	.loc 2 21 5
	@%p1 bra $end;
	.param .b32 arg;
	st.param.b32 [arg], 1;
	call helper, (arg);
	red.global.add.f32 [%rd1], %f1;
$end:
	ret;
}
.file 1 "helper.cuh"
.file 2 "src/k.cu"
)";

TEST(SiteTable, ListsEveryInstructionInIdOrder) {
  const std::string text = ptx;
  const auto specification = cod::compile("ON_INSTRUCTION: { }", "t.cod");
  ASSERT_TRUE(specification);
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  const Result<Instrumented> result = instrument(request);
  ASSERT_TRUE(result);
  const cod::SiteTable& sites = *result->sites;
  EXPECT_THAT(sites.functions, ElementsAre("k", "helper"));
  EXPECT_EQ(sites.instructions.size(), result->size.instructions);
  EXPECT_EQ(sites.blocks.size(), result->size.basic_blocks);
  constexpr std::uint32_t none = cod::SiteTable::unknown;
  EXPECT_EQ(sites.blocks, (std::vector<cod::SiteTable::Block>{{0, 0, 3, 1, 3, 3, none},
                                                              {0, 3, 2, 2, none, 2, none},
                                                              {0, 5, 1, 3, none, 3, none},
                                                              {0, 6, 1, none, none, none, none},
                                                              {1, 7, 2, none, none, none, none}}));
  std::vector<std::string> opcodes;
  std::vector<std::uint32_t> blocks, ptx_lines, lines;
  std::vector<std::string> files;
  for (const auto& site : sites.instructions) {
    opcodes.push_back(sites.opcode_of(site));
    blocks.push_back(site.block);
    ptx_lines.push_back(site.ptx_line);
    lines.push_back(site.line);
    files.push_back(site.file == cod::SiteTable::unknown ? "-" : sites.files[site.file]);
  }
  EXPECT_THAT(opcodes, ElementsAre("ld.param.u64", "ld.global.f32", "bra", "st.param.b32", "call",
                                   "red.global.add.f32", "ret", "ld.param.u32", "ret"));
  EXPECT_THAT(blocks, ElementsAre(0, 0, 0, 1, 1, 2, 3, 4, 4));
  EXPECT_THAT(ptx_lines, ElementsAre(16, 18, 20, 22, 23, 24, 26, 8, 9));
  EXPECT_THAT(lines, ElementsAre(0, 20, 21, 21, 21, 21, 21, 7, 7));
  EXPECT_THAT(files, ElementsAre("-", "src/k.cu", "src/k.cu", "src/k.cu", "src/k.cu", "src/k.cu", "src/k.cu",
                                 "helper.cuh", "helper.cuh"));
  EXPECT_THAT(cod::names_of(cod::united(sites.instructions[1].labels)),
              ElementsAre("MEM_READ", "PREDICATED", "GLOBAL", "FLOATING_POINT"));
  EXPECT_THAT(cod::names_of(cod::united(sites.instructions[5].labels)),
              ElementsAre("MEM_READ", "MEM_WRITE", "ATOMIC", "GLOBAL", "FLOATING_POINT"));
  EXPECT_THAT(cod::names_of(cod::united(sites.instructions[4].labels)), ElementsAre("CALL"));
}

/// Returns "object stride" for each access, in order.
std::vector<std::string> accesses_of(const std::string& body) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2) {\n"
      ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<4>;\n"
      ".shared .align 4 .b8 tile[4096];\n"
      "ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1]; ld.param.u32 %r2, [k_param_2];\n"
      "mov.u32 %r1, %tid.x;\n" +
      body + "\nret;\n}\n";
  const auto specification = cod::compile("ON_INSTRUCTION: { }", "t.cod");
  Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*specification};
  const Result<Instrumented> result = instrument(request);
  if (!result) return {"not instrumented"};
  const cod::SiteTable& sites = *result->sites;
  std::vector<std::string> found;
  for (const auto& each : sites.instructions) {
    if (each.object == cod::SiteTable::unknown && each.stride == cod::SiteTable::unknown) continue;
    found.push_back((each.object == cod::SiteTable::unknown ? "?" : sites.objects[each.object]) + " " +
                    (each.stride == cod::SiteTable::unknown ? "?" : sites.strides[each.stride]));
  }
  return found;
}

TEST(SiteTable, KnowsObjectsAndStrides) {
  EXPECT_THAT(
      accesses_of("mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f1, [%rd4+4];"),
      ElementsAre("argument 1 8"));
  EXPECT_THAT(accesses_of("mul.lo.s32 %r3, %r1, %r2; mul.wide.s32 %rd3, %r3, 4; add.s64 %rd4, %rd2, %rd3;\n"
                          "st.global.f32 [%rd4], %f1; st.global.f32 [%rd1], %f1;"),
              ElementsAre("argument 2 4 * argument 3", "argument 1 0"));
  EXPECT_THAT(
      accesses_of("and.b32 %r3, %r1, 31; shl.b32 %r4, %r3, 7; mov.u32 %r5, tile; add.s32 %r6, %r5, %r4;\n"
                  "ld.shared.f32 %f1, [%r6];"),
      ElementsAre("tile 128"));
  // Both the index and the pointer are data.
  EXPECT_THAT(accesses_of("mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd1, %rd3; ld.global.u64 %rd5, [%rd4];\n"
                          "shl.b64 %rd6, %rd5, 2; add.s64 %rd7, %rd2, %rd6; ld.global.f32 %f1, [%rd7];"),
              ElementsAre("argument 1 8", "argument 2 ?"));
  // A pointer chosen by one of two paths.
  EXPECT_THAT(accesses_of("setp.eq.u32 %p1, %r2, 0; mov.u64 %rd3, %rd1; @%p1 bra L; mov.u64 %rd3, %rd2;\n"
                          "L: ld.global.f32 %f1, [%rd3];"),
              ElementsAre("? 0"));
}

}  // namespace
}  // namespace lynxpp::engine
