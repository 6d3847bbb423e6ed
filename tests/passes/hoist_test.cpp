// Special registers that handlers and counters read in loops.
#include <gtest/gtest.h>

#include "engine/instrument.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx::testing {
namespace {

/// A store in a loop and one behind it.
const std::string module_text =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n.reg .pred "
    "%p<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r2, "
    "0;\nmov.u32 %r4, "
    "%laneid;\n"
    "AGAIN:\nst.global.u32 [%rd1], %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra AGAIN;\n"
    "st.global.u32 [%rd1+4], %r4;\nret;\n}\n";

std::string instrument(const std::string& target) {
  const std::string source = "global unsigned long last;\n" + target +
                             " if (leastActiveThreadInWarp()) { atomicMax(&last, clockCounter()); }\n";
  engine::Request request;
  request.ptx = &module_text;
  request.kernel = "k";
  Result<engine::SpecificationPtr> specification = cod::compile(source, "lanes.cod");
  EXPECT_TRUE(specification.ok());
  if (!specification) return {};
  request.specifications = {*specification};
  request.device_sm = 80;
  request.verify = true;
  Result<engine::Instrumented> result = engine::instrument(request);
  EXPECT_TRUE(result.ok()) << render(result.error().diagnostics);
  return result ? result->ptx : std::string();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Hoist, WhatHandlersReadInLoopsIsReadOnceAtTheEntry) {
  const std::string text = instrument("ON_INSTRUCTION: MEM_WRITE:");
  const std::size_t loop = text.find("AGAIN:"), behind = text.find("bra AGAIN");
  ASSERT_LT(loop, behind);
  ASSERT_NE(behind, std::string::npos);
  EXPECT_EQ(count(text.substr(0, loop), "mov.u32 %lynxpp_kept_lanes_below, %lanemask_lt;"), 1u) << text;
  EXPECT_EQ(count(text.substr(loop, behind - loop), "%lanemask_lt"), 0u) << text;
  EXPECT_EQ(count(text.substr(loop, behind - loop), "%lynxpp_kept_lanes_below;"), 1u) << text;
  // The place behind the loop reads it for itself, and the program's own read stays.
  EXPECT_EQ(count(text.substr(behind), "%lanemask_lt;"), 1u) << text;
  EXPECT_EQ(count(text, "mov.u32 %r4, %laneid;"), 1u) << text;
  EXPECT_EQ(count(text, "%lynxpp_kept_lane;"), 0u) << text;
  std::string messages;
  bool available = false;
  if (!assemble(text, messages, available) && available) FAIL() << messages;
}

TEST(Hoist, WithoutReadsInLoopsNothingIsKept) {
  const std::string text = instrument("ON_KERNEL_EXIT:");
  EXPECT_GE(count(text, "%lanemask_lt;"), 1u) << text;
  EXPECT_EQ(count(text, "%lynxpp_kept_lanes_below"), 0u) << text;
}

}  // namespace
}  // namespace lynxpp::ptx::testing
