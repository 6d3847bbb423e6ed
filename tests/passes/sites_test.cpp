// The site table that instrument() gives.
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

TEST(SiteTable, HoldsEveryInstructionInTheOrderOfItsId) {
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
  EXPECT_EQ(sites.blocks,
            (std::vector<cod::SiteTable::Block>{{0, 0, 3}, {0, 3, 2}, {0, 5, 1}, {0, 6, 1}, {1, 7, 2}}));
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

}  // namespace
}  // namespace lynxpp::engine
