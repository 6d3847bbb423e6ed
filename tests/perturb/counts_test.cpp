// The variants `lanes` and `waits` on the cpu device.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/perturb/fixture.h"

namespace lynxpp::ptx::testing {
namespace {

using Counted = std::pair<std::uint64_t, std::uint64_t>;

constexpr const char* head =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<3>;\n.reg .pred %p<2>;\n.reg .f32 %f<3>;\n"
    ".shared .align 4 .b8 tile[256];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n";

Counted counted(const std::string& body, Operation variant, Operation of) {
  const KernelRun run{head + body, "k", 2, {64, 1}, {std::vector<std::byte>(1024)}};
  const engine::Instrumented made = perturbed(run.ptx, "k", {variant, Form::again, {}});
  std::vector<std::uint64_t> results;
  EXPECT_EQ(buffers_after(run, made.ptx, made.probe, &results), buffers_after(run, run.ptx, {}));
  const std::size_t word = 2 * static_cast<std::size_t>(of);
  return {results.at(word), results.at(word + 1)};
}

// Lanes below 8 skip the additions; lanes below 16 exit early.
constexpr const char* divergent =
    "and.b32 %r2, %r1, 31;\nsetp.lt.u32 %p1, %r2, 16;\n@%p1 ret;\n"
    "setp.lt.u32 %p1, %r2, 24;\n@%p1 bra done;\n"
    "add.f32 %f1, %f1, %f1;\nadd.f32 %f2, %f1, %f1;\ndone:\nadd.u64 %rd2, %rd1, 4;\nret;\n}\n";

TEST(Counts, LanesThatExecuteAClass) {
  EXPECT_EQ(counted(divergent, Operation::lanes, Operation::fp32), Counted(4 * 2 * 8, 4 * 2 * 32));
  EXPECT_EQ(counted(divergent, Operation::lanes, Operation::barrier), Counted(0, 0)) << "no such operation";
  const Counted all = counted(divergent, Operation::lanes, Operation::fetch);
  EXPECT_GT(all.first, 0u);
  EXPECT_LT(all.first, all.second);
}

TEST(Counts, AllLanesOfAConvergedKernel) {
  const Counted all = counted("add.f32 %f1, %f1, %f1;\nret;\n}\n", Operation::lanes, Operation::fetch);
  EXPECT_EQ(all.first, all.second);
  EXPECT_EQ(all.first % (2 * 64), 0u) << "each thread executes the same instructions";
}

TEST(Counts, TimeAtBarriers) {
  // The second warp loops before the barrier.
  const Counted waits = counted(
      "mov.u32 %r2, 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra meet;\n"
      "again:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra again;\n"
      "meet:\nbar.sync 0;\nret;\n}\n",
      Operation::waits, Operation::barrier);
  EXPECT_LE(waits.first, waits.second);
  EXPECT_GT(waits.second, 0u);
}

TEST(Counts, NothingWithoutBarriers) {
  EXPECT_EQ(counted("ret;\n}\n", Operation::waits, Operation::barrier), Counted(0, 0));
}

}  // namespace
}  // namespace lynxpp::ptx::testing
