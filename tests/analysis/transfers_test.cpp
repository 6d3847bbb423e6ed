#include "ptx/analysis/transfers/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "ptx/ir/memory_access.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Lines that are part of a transfer, as "direction: instruction" with the side of a copy.
std::vector<std::string> transfers_of(const std::string& functions) {
  Module module = module_of(functions);
  const Status parsed = parse_all_bodies(module, "test.ptx");
  if (!parsed) ADD_FAILURE() << render(parsed.error().diagnostics, module.source());
  std::deque<FunctionAnalyses> analyses;
  std::vector<FunctionAnalyses*> pointers;
  for (const Function& function : module.functions) {
    if (!function.body) continue;
    analyses.emplace_back(function);
    pointers.push_back(&analyses.back());
  }
  const Transfers transfers = find_transfers(module, pointers);
  std::vector<std::string> found;
  for (const FunctionAnalyses* each : pointers) {
    for (const Instruction& instruction : each->function().body->instructions) {
      const std::uint32_t sides = memory_accesses(instruction).count;
      for (std::uint32_t side = 0; side < sides; ++side) {
        const std::string text(module.text(instruction.text));
        const std::string suffix = sides == 2 ? " side " + std::to_string(side) : "";
        const TransferSet set = transfers.of(instruction, side);
        if ((set & transfer_into_shared) != 0) found.push_back("in: " + text + suffix);
        if ((set & transfer_into_device) != 0) found.push_back("out: " + text + suffix);
      }
    }
  }
  return found;
}

std::vector<std::string> of_kernel(const std::string& body) {
  return transfers_of(".visible .entry k(.param .u64 A, .param .u64 B, .param .u32 n)\n{\n" + declarations +
                      ".shared .align 4 .b8 tile[1024];\n" + body + "\n}\n");
}

TEST(Transfers, FindsDirectTransfers) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; st.shared.u32 [tile], %r1;"
                        "ld.shared.u32 %r2, [tile+4]; st.global.u32 [%rd2], %r2; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r1;",
                          "out: ld.shared.u32 %r2, [tile+4];", "out: st.global.u32 [%rd2], %r2;"));
}

TEST(Transfers, IgnoresCopiesWithinOneMemory) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;"
                        "ld.shared.u32 %r2, [tile]; st.shared.u32 [tile+4], %r2;"
                        "ld.param.u32 %r3, [n]; st.shared.u32 [tile+8], %r3; st.shared.u32 [tile], 1; ret;"),
              IsEmpty());
}

TEST(Transfers, FollowsArithmeticAndVectors) {
  EXPECT_THAT(
      of_kernel("ld.global.v2.f32 {%f1, %f2}, [%rd1]; ld.param.u32 %r1, [n]; cvt.rn.f32.u32 %f3, %r1;"
                "fma.rn.f32 %f4, %f2, %f3, %f3; st.shared.v2.f32 [tile], {%f3, %f4}; ret;"),
      ElementsAre("in: ld.global.v2.f32 {%f1, %f2}, [%rd1];", "in: st.shared.v2.f32 [tile], {%f3, %f4};"));
}

TEST(Transfers, IgnoresAddresses) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; st.shared.u32 [%r1], 7;"
                        "ld.shared.u32 %r2, [%r1]; st.shared.u32 [tile], %r2; ret;"),
              IsEmpty());
}

TEST(Transfers, FollowsLoops) {
  EXPECT_THAT(of_kernel("mov.u32 %r1, 0; mov.u32 %r2, 0;"
                        "again: ld.shared.u32 %r3, [tile]; add.u32 %r2, %r2, %r3; add.u32 %r1, %r1, 1;"
                        "setp.lt.u32 %p1, %r1, 9; @%p1 bra again; st.global.u32 [%rd2], %r2;"
                        "st.global.u32 [%rd2+4], %r1; ret;"),
              ElementsAre("out: ld.shared.u32 %r3, [tile];", "out: st.global.u32 [%rd2], %r2;"));
}

TEST(Transfers, FollowsPredicatesAndSelections) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 3; selp.u32 %r2, 1, 2, %p1;"
                        "st.shared.u32 [tile], %r2; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r2;"));
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 3; mov.u32 %r2, 5;"
                        "@%p1 mov.u32 %r2, 6; st.shared.u32 [tile], %r2; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r2;"));
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 3; mov.u32 %r2, 5;"
                        "@%p1 bra over; mov.u32 %r2, 6; over: st.shared.u32 [tile], %r2; ret;"),
              IsEmpty())
      << "a branch is not a value";
}

TEST(Transfers, ValuesRestartInSharedMemory) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; st.shared.u32 [tile], %r1;"
                        "ld.shared.u32 %r2, [tile]; mul.lo.u32 %r3, %r2, 3; st.shared.u32 [tile+4], %r3;"
                        "ld.shared.u32 %r4, [tile+8]; st.shared.u32 [tile+12], %r4; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r1;"));
}

TEST(Transfers, FollowsLaneExchangesAndLocalMemory) {
  EXPECT_THAT(of_kernel(".local .align 4 .b8 spill[8]; ld.global.u32 %r1, [%rd1];"
                        "shfl.sync.down.b32 %r2, %r1, 1, 31, -1; st.local.u32 [spill], %r2;"
                        "ld.local.u32 %r3, [spill]; st.shared.u32 [tile], %r3; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r3;"));
}

TEST(Transfers, CopiesAreTransfersOnBothSides) {
  EXPECT_THAT(of_kernel("cp.async.ca.shared.global [tile], [%rd1], 4;"
                        "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256; ret;"),
              ElementsAre("in: cp.async.ca.shared.global [tile], [%rd1], 4; side 0",
                          "in: cp.async.ca.shared.global [tile], [%rd1], 4; side 1",
                          "out: cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256; side 0",
                          "out: cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256; side 1"));
}

TEST(Transfers, ClassifiesAtomicOperations) {
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; red.shared.add.u32 [tile], %r1;"
                        "atom.shared.exch.b32 %r2, [tile+4], %r1; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: atom.shared.exch.b32 %r2, [tile+4], %r1;"))
      << "the result stays in memory";
  EXPECT_THAT(of_kernel("ld.shared.u32 %r1, [tile]; red.global.add.u32 [%rd1], %r1; ret;"),
              ElementsAre("out: ld.shared.u32 %r1, [tile];", "out: red.global.add.u32 [%rd1], %r1;"));
  EXPECT_THAT(of_kernel("atom.global.add.u32 %r1, [%rd1], 1; st.shared.u32 [tile], %r1; ret;"),
              ElementsAre("in: atom.global.add.u32 %r1, [%rd1], 1;", "in: st.shared.u32 [tile], %r1;"));
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; atom.shared.cas.b32 %r2, [tile], %r1, 5; ret;"),
              IsEmpty())
      << "the compared value is not stored";
  EXPECT_THAT(of_kernel("ld.global.u32 %r1, [%rd1]; atom.shared.cas.b32 %r2, [tile], 5, %r1; ret;"),
              ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: atom.shared.cas.b32 %r2, [tile], 5, %r1;"));
}

TEST(Transfers, ResolvesGenericAddresses) {
  EXPECT_THAT(of_kernel("mov.u64 %rd3, tile; cvta.shared.u64 %rd4, %rd3; add.u64 %rd4, %rd4, 16;"
                        "ld.param.u64 %rd5, [A]; ld.f32 %f1, [%rd5]; st.f32 [%rd4], %f1; ret;"),
              ElementsAre("in: ld.f32 %f1, [%rd5];", "in: st.f32 [%rd4], %f1;"));
  EXPECT_THAT(of_kernel("ld.global.u64 %rd4, [%rd1]; ld.global.f32 %f1, [%rd2]; st.f32 [%rd4], %f1; ret;"),
              ElementsAre("in: ld.global.f32 %f1, [%rd2];", "in: st.f32 [%rd4], %f1;"))
      << "a pointer from memory may refer to shared memory";
}

TEST(Transfers, FollowsCalls) {
  EXPECT_THAT(
      transfers_of(".func (.param .b32 result) twice(.param .b32 x)\n{ .reg .b32 %r<3>;\n"
                   "ld.param.u32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }\n"
                   ".func put(.param .b64 to, .param .b32 x)\n{ .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
                   "ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [x]; st.shared.u32 [%rd1], %r1; ret; }\n"
                   ".visible .entry k(.param .u64 A)\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
                   ".shared .align 4 .b8 tile[64];\n"
                   "ld.global.u32 %r1, [%rd1]; { .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r1;"
                   "call (q0), twice, (p0); ld.param.b32 %r2, [q0]; }\n"
                   "{ .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd2; st.param.b32 [p1], %r2;"
                   "call put, (p0, p1); }\n"
                   "{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], 4; ld.param.b32 %r3, [q0]; }\n"
                   "st.shared.u32 [tile], %r3; ret; }\n"),
      ElementsAre("in: st.shared.u32 [%rd1], %r1;", "in: ld.global.u32 %r1, [%rd1];"))
      << "names in other scopes are different";
  EXPECT_THAT(
      transfers_of(".func (.reg .b32 result) same(.reg .b32 x)\n{ mov.u32 result, x; ret; }\n"
                   ".visible .entry k(.param .u64 A)\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
                   ".shared .align 4 .b8 tile[64];\n"
                   "ld.global.u32 %r1, [%rd1]; call (%r2), same, (%r1); st.shared.u32 [tile], %r2; ret; }\n"),
      ElementsAre("in: ld.global.u32 %r1, [%rd1];", "in: st.shared.u32 [tile], %r2;"))
      << "parameters in registers";
}

}  // namespace
}  // namespace lynxpp::ptx
