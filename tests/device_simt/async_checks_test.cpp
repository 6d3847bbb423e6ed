// Checked launches with asynchronous copies, proxy fences and mbarrier objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device_simt/kernel_fixture.h"

namespace lynxpp::device::cpu::test::async_checks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Ran {
  std::vector<Finding> findings;
  std::string status;
};

/// Runs a kernel of two warps. `body` may use %t, the thread; %s, its 16 bytes of `tile`; %o, those of a
/// thread of the other warp; %d, `data`; %g, the thread's 16 bytes of it; `bar`, room for an mbarrier object;
/// %p1 and %p2, true in thread 0 and in the first warp.
Ran run(const std::string& body, std::vector<std::uint32_t>& data, std::uint32_t threads = 64) {
  const auto module = load(R"(
.visible .entry k(.param .u64 data) {
  .reg .pred %p<4>;
  .reg .b32 %r<8>, %t, %s, %o, %v;
  .reg .b64 %a<4>, %g, %d;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b8 bar[8];
  mov.u32 %t, %tid.x;
  mov.u32 %r1, tile;
  mad.lo.u32 %s, %t, 16, %r1;
  xor.b32 %r2, %t, 33;
  mad.lo.u32 %o, %r2, 16, %r1;
  ld.param.u64 %d, [data];
  mul.wide.u32 %a1, %t, 16;
  add.u64 %g, %d, %a1;
  setp.eq.u32 %p1, %t, 0;
  setp.lt.u32 %p2, %t, 32;
)" + body + "\nret;\n}\n");
  data.assign(std::size_t{4} * 64, 1);
  LaunchChecks checks{{.memory = true, .race = true, .init = false, .sync = true}};
  const Status status = module->launch("k", {{1, 1, 1}, {threads, 1, 1}}, Arguments(data.data()).bytes(),
                                       nullptr, nullptr, &checks);
  return {std::move(checks.findings), text_of(status)};
}

std::vector<FindingKind> kinds_of(const std::string& body, std::uint32_t threads = 64) {
  std::vector<std::uint32_t> data;
  std::vector<FindingKind> kinds;
  for (const Finding& each : run(body, data, threads).findings) kinds.push_back(each.kind);
  return kinds;
}

TEST(AsyncCheckTest, AKernelMayPollTheDataOfACopy) {
  const std::string poll = R"(
  mov.u32 %v, 0;
  st.shared.u32 [%s], %v;
  cp.async.cg.shared.global [%s], [%g], 16;
again:
  ld.volatile.shared.u32 %v, [%s];
  setp.eq.u32 %p3, %v, 0;
  @%p3 bra again;
  cp.async.wait_all;
)";
  EXPECT_THAT(kinds_of(poll, 1), ElementsAre(FindingKind::unfinished_operation));
}

constexpr const char* copy = "cp.async.cg.shared.global [%s], [%g], 16;\n";
constexpr const char* commit = "cp.async.commit_group;\n";
constexpr const char* read_other = "ld.shared.u32 %v, [%o];\nst.global.u32 [%g], %v;\n";

TEST(AsyncCheckTest, AWaitCoversAllButTheNewestGroups) {
  for (const std::string pending : {"0", "1"}) {
    const std::string body = std::string(copy) + commit + "cp.async.wait_group " + pending +
                             ";\nbar.sync 0;\n" + read_other + "cp.async.wait_group 0;\n";
    if (pending == "0") {
      EXPECT_THAT(kinds_of(body), IsEmpty());
    } else {
      EXPECT_THAT(kinds_of(body), testing::Each(FindingKind::unfinished_operation));
      EXPECT_THAT(kinds_of(body), testing::Not(IsEmpty()));
    }
  }
}

TEST(AsyncCheckTest, AnEarlyReadSeesTheOldValue) {
  std::vector<std::uint32_t> data;
  const Ran ran = run("mov.u32 %v, 9;\nst.shared.u32 [%s], %v;\n" + std::string(copy) +
                          "ld.shared.u32 %v, [%s];\ncp.async.wait_all;\nst.global.u32 [%g], %v;\n",
                      data);
  EXPECT_EQ(data[0], 9u) << "the copy is performed when it is waited for";
  ASSERT_EQ(ran.findings.size(), 1u);
  EXPECT_EQ(ran.findings[0].kind, FindingKind::unfinished_operation);
  EXPECT_THAT(ran.findings[0].detail, HasSubstr("commit_group and a wait"));
}

TEST(AsyncCheckTest, ACopyWithoutACommitIsInNoGroup) {
  const std::string wait = "cp.async.wait_group 0;\nbar.sync 0;\n";
  EXPECT_THAT(kinds_of(std::string(copy) + commit + wait + read_other), IsEmpty());
  EXPECT_THAT(kinds_of(copy + wait + read_other), testing::Contains(FindingKind::unfinished_operation));
}

const std::string store_tile =
    "bar.sync 0;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d], [tile], 1024;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

TEST(AsyncCheckTest, EachWritingLaneFencesTheProxies) {
  const std::string write = "st.shared.v4.u32 [%s], {%t, %t, %t, %t};\n";
  const std::string first_lane = "and.b32 %r3, %t, 31;\nsetp.eq.u32 %p3, %r3, 0;\n";
  EXPECT_THAT(kinds_of(write + "fence.proxy.async.shared::cta;\n" + store_tile), IsEmpty());
  EXPECT_THAT(kinds_of(write + store_tile), ElementsAre(FindingKind::missing_proxy_fence));
  EXPECT_THAT(kinds_of(write + "membar.gl;\n" + store_tile), ElementsAre(FindingKind::missing_proxy_fence));
  EXPECT_THAT(kinds_of(write + first_lane + "@%p3 fence.proxy.async;\n" + store_tile),
              ElementsAre(FindingKind::missing_proxy_fence));
  EXPECT_THAT(kinds_of(write + first_lane + "bar.warp.sync -1;\n@%p3 fence.proxy.async;\n" + store_tile),
              IsEmpty())
      << "one lane's fence covers the writes of lanes with which it has synchronized";
  EXPECT_THAT(kinds_of("@%p1 st.shared.u32 [tile], %t;\nbar.sync 0;\n@%p1 fence.proxy.async;\n" + store_tile),
              IsEmpty())
      << "the fence may be anywhere on the path";
}

const std::string init = "@%p1 mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;\n";
const std::string wait_phase =
    "again: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra again;\n";

TEST(AsyncCheckTest, AnArrivalPublishesIntoItsPhase) {
  const std::string write = "st.shared.u32 [%s], %t;\n";
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [bar];\n";
  EXPECT_THAT(kinds_of(init + write + arrive + wait_phase + read_other), IsEmpty());
  EXPECT_THAT(
      kinds_of(init + write + "mbarrier.arrive.relaxed.cta.shared.b64 _, [bar];\n" + wait_phase + read_other),
      ElementsAre(FindingKind::race));
  EXPECT_THAT(kinds_of(init + arrive + write + wait_phase + read_other), ElementsAre(FindingKind::race));
}

TEST(AsyncCheckTest, ObjectsAreInitializedBeforeTheirUse) {
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [bar];\n";
  EXPECT_THAT(kinds_of(arrive), ElementsAre(FindingKind::invalid_barrier));
  EXPECT_THAT(kinds_of(init + "@%p2 mbarrier.arrive.shared.b64 _, [bar];\nbar.sync 0;\n"
                              "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"),
              ElementsAre(FindingKind::barrier_in_use));
  EXPECT_THAT(kinds_of("@%p1 mbarrier.init.shared.b64 [bar], 64;\n" + arrive),
              testing::Contains(FindingKind::race));
}

TEST(AsyncCheckTest, AHangNamesTheArrivalsAndTheBytes) {
  std::vector<std::uint32_t> data;
  const Ran ran = run(
      "@%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;\n"
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d], 512, [bar];\n" +
          wait_phase,
      data);
  ASSERT_EQ(ran.findings.size(), 1u);
  EXPECT_EQ(ran.findings[0].kind, FindingKind::endless_barrier);
  EXPECT_THAT(ran.findings[0].detail, HasSubstr("and 512 bytes missing in its present phase, of parity 0"));
  EXPECT_THAT(ran.findings[0].detail, HasSubstr("arrivals in phase 0: 1 by warp 0 at PTX line"));
  EXPECT_THAT(ran.findings[0].detail, HasSubstr("expected bytes: 1024 by warp 0"));
  EXPECT_THAT(ran.findings[0].detail, HasSubstr("bytes that copies delivered: 512 by warp 0"));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::async_checks
