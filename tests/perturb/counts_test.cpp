// The variants `lanes` and `waits` on the cpu device.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ptx/perturb/memory_regions.h"
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

/// Returns the bytes that the body reads, and those that it writes plus 1,000 times those that it both reads
/// and writes, in two blocks of 64 threads with a buffer of 8 KiB.
Counted bytes_of(const std::string& body) {
  KernelRun run{head + body, "k", 2, {64, 1}, {std::vector<std::byte>(8192)}};
  const engine::Instrumented made = perturbed(run.ptx, "k", {Operation::bytes, Form::again, {}});
  std::vector<std::uint64_t> maps;
  EXPECT_EQ(buffers_after(run, made.ptx, made.probe, &maps), buffers_after(run, run.ptx, {}));
  const BytesMoved moved = bytes_moved(std::as_bytes(std::span(maps)));
  return {moved.read, moved.written + 1000 * moved.both};
}

TEST(Counts, BytesThatAKernelMoves) {
  constexpr const char* of_thread = "mul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd2, %rd1, %rd2;\n";
  EXPECT_EQ(
      bytes_of(std::string(of_thread) + "ld.global.u32 %r2, [%rd2];\nld.global.u32 %r2, [%rd2];\nret;\n}\n"),
      Counted(64 * 4, 0))
      << "each byte counts once, in whatever block";
  EXPECT_EQ(bytes_of(std::string(of_thread) + "ld.global.v4.f32 {%f1, %f2, %f1, %f2}, [%rd2];\n"
                                              "st.global.u16 [%rd2+4096], %r1;\nret;\n}\n"),
            Counted(64 * 16, 64 * 2));
  EXPECT_EQ(
      bytes_of(std::string(of_thread) + "ld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd2], %r2;\nret;\n}\n"),
      Counted(0, 1000 * 64 * 4))
      << "results in between need no memory";
  EXPECT_EQ(bytes_of(std::string(of_thread) +
                     "setp.lt.u32 %p1, %r1, 10;\n@%p1 ld.global.u8 %r2, [%rd2];\nret;\n}\n"),
            Counted(10, 0));
}

TEST(Counts, NothingWithoutBarriers) {
  EXPECT_EQ(counted("ret;\n}\n", Operation::waits, Operation::barrier), Counted(0, 0));
}

}  // namespace
}  // namespace lynxpp::ptx::testing
