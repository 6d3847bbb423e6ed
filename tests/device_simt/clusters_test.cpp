// Thread block clusters: special registers, waiting, errors and counts. cluster_forms_test.cpp tests each
// form of an instruction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "cluster_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;

// ---------------------------------------------------------------- special registers

TEST(Clusters, SpecialRegistersIdentifyTheBlock) {
  const auto module = load(R"(.visible .entry test(.param .u64 out) {
  .reg .b64 %out, %p;
  .reg .b32 %r<16>, %i, %j;
  .reg .pred %e;
  ld.param.u64 %out, [out];
  mov.u32 %i, %ctaid.y;
  mov.u32 %j, %nctaid.x;
  mov.u32 %r0, %ctaid.x;
  mad.lo.u32 %i, %i, %j, %r0;
  mul.wide.u32 %p, %i, 48;
  add.u64 %out, %out, %p;
  mov.u32 %r0, %clusterid.x;
  mov.u32 %r1, %clusterid.y;
  mov.u32 %r2, %nclusterid.x;
  mov.u32 %r3, %nclusterid.y;
  mov.u32 %r4, %cluster_ctaid.x;
  mov.u32 %r5, %cluster_ctaid.y;
  mov.u32 %r6, %cluster_nctaid.x;
  mov.u32 %r7, %cluster_nctaid.y;
  mov.u32 %r8, %cluster_ctarank;
  mov.u32 %r9, %cluster_nctarank;
  mov.pred %e, %is_explicit_cluster;
  selp.u32 %r10, 1, 0, %e;
  mov.u32 %r11, %cluster_nctaid.z;
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%out+16], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%out+32], {%r8, %r9, %r10, %r11};
  ret;
})");
  ASSERT_NE(module, nullptr);
  alignas(16) std::array<std::array<std::uint32_t, 12>, 24> out{};
  LaunchShape shape{{6, 4, 1}, {1, 1, 1}};
  shape.cluster = Dim3{3, 2, 1};
  ASSERT_EQ(text_of(module->launch("test", shape, Arguments(out.data()).bytes(), nullptr)), "");
  for (std::uint32_t y = 0; y < 4; ++y) {
    for (std::uint32_t x = 0; x < 6; ++x) {
      const std::array<std::uint32_t, 12> expected = {
          x / 3, y / 2, 2, 2, x % 3, y % 2, 3, 2, x % 3 + y % 2 * 3, 6, 1, 1};
      EXPECT_EQ(out[y * 6 + x], expected) << x << ", " << y;
    }
  }
  shape.cluster.reset();
  ASSERT_EQ(text_of(module->launch("test", shape, Arguments(out.data()).bytes(), nullptr)), "");
  const std::array<std::uint32_t, 12> alone = {4, 3, 6, 4, 0, 0, 1, 1, 0, 1, 0, 1};
  EXPECT_EQ(out[3 * 6 + 4], alone);
}

TEST(Clusters, ThePtxMayDeclareTheirSize) {
  const std::string body = R"({
  .reg .b64 %out;
  .reg .b32 %n;
  ld.param.u64 %out, [out];
  mov.u32 %n, %cluster_nctarank;
  st.global.u32 [%out], %n;
  ret;
})";
  const auto module =
      load(".visible .entry required(.param .u64 out)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n" +
           body + ".visible .entry wanting(.param .u64 out)\n.explicitcluster\n" + body +
           ".visible .entry small(.param .u64 out)\n.maxclusterrank 2\n" + body);
  ASSERT_NE(module, nullptr);
  std::uint32_t blocks_seen = 0;
  LaunchShape shape{{4, 1, 1}, {1, 1, 1}};
  const Arguments arguments(&blocks_seen);
  EXPECT_EQ(text_of(module->launch("required", shape, arguments.bytes(), nullptr)), "");
  EXPECT_EQ(blocks_seen, 2u);
  EXPECT_THAT(text_of(module->launch("wanting", shape, arguments.bytes(), nullptr)), HasSubstr("clusters"));
  shape.cluster = Dim3{4, 1, 1};
  EXPECT_EQ(text_of(module->launch("wanting", shape, arguments.bytes(), nullptr)), "");
  EXPECT_EQ(blocks_seen, 4u);
  EXPECT_THAT(text_of(module->launch("required", shape, arguments.bytes(), nullptr)),
              HasSubstr(".reqnctapercluster"));
  EXPECT_THAT(text_of(module->launch("small", shape, arguments.bytes(), nullptr)),
              HasSubstr(".maxclusterrank"));
  shape.grid.x = 6;
  EXPECT_THAT(text_of(module->launch("wanting", shape, arguments.bytes(), nullptr)),
              HasSubstr("do not divide"));
}

// ---------------------------------------------------------------- waiting

TEST(Clusters, ThreadsThatHaveExitedAreNotWaitedFor) {
  Values out{};
  EXPECT_EQ(run_cluster(kernel_with("  setp.gt.u32 %p, %rank, 1;\n  @%p ret;\n  st.shared::cluster.u32 "
                                    "[%remote_at+128], %value;\n" +
                                    std::string(meet) + "  ld.shared.u32 %d, [%at+128];\n"),
                        out),
            "");
  EXPECT_EQ(out[lanes + 3], value_of(0, 3)) << "the first block's value, stored in the second block";
  EXPECT_EQ(out[2 * lanes], 77u);
}

TEST(Clusters, MembersProgressTogether) {
  // Each block waits for the value that the next one stores after the barrier; the last one starts.
  Values out{};
  EXPECT_EQ(run_cluster(kernel_with(R"(
  setp.eq.u32 %p, %rank, 3;
  @%p bra go;
wait:
  ld.acquire.cluster.shared::cta.u32 %d, [%at+128];
  setp.eq.u32 %q, %d, 0;
  @%q bra wait;
go:
  setp.eq.u32 %q, %rank, 0;
  add.u32 %e, %rank, 3;
  rem.u32 %e, %e, %n;
  mapa.shared::cluster.u32 %f, %at, %e;
  add.u32 %h, %rank, 1;
  @!%q st.release.cluster.shared::cluster.u32 [%f+128], %h;
)"),
                        out),
            "");
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(out[rank * lanes + 9], rank + 2);
}

TEST(Clusters, ABarrierThatCannotCompleteIsReported) {
  Values out{};
  const std::string text = run_cluster(kernel_with(R"(
  setp.eq.u32 %p, %rank, 2;
  @%p bra other;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  bra done;
other:
  bar.sync 1, 64;
done:
)"),
                                       out);
  // The block of rank 2 of either cluster: host threads run clusters concurrently.
  EXPECT_THAT(text, testing::ContainsRegex("warp 0 of block \\([26], 0, 0\\) waits forever at barrier 1"));
  EXPECT_THAT(text, HasSubstr("32 of 64 threads have arrived"));
}

TEST(Clusters, WithoutClusterTheBarrierCoversTheBlock) {
  const auto module = load(R"(.visible .entry test(.param .u64 out) {
  .shared .align 4 .b8 words[256];
  .reg .b64 %out, %p;
  .reg .b32 %t, %a, %v;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %p, %t, 4;
  add.u64 %out, %out, %p;
  mov.u32 %a, words;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.u32 [%a], %t;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %t, %t, 32;
  mov.u32 %a, words;
  mad.lo.u32 %a, %t, 4, %a;
  ld.shared.u32 %v, [%a];
  st.global.u32 [%out], %v;
  ret;
})");
  ASSERT_NE(module, nullptr);
  std::array<std::uint32_t, 64> out{};
  for (const bool checked : {false, true}) {
    LaunchChecks checks{{.memory = true, .race = true, .init = true, .sync = true}, {}};
    ASSERT_EQ(text_of(module->launch("test", {{1, 1, 1}, {64, 1, 1}}, Arguments(out.data()).bytes(), nullptr,
                                     nullptr, checked ? &checks : nullptr)),
              "");
    EXPECT_EQ(checks.findings.size(), 0u);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 32);
  }
}

// ---------------------------------------------------------------- errors

TEST(Clusters, AddressesOutsideTheClusterAreIllegal) {
  Values out{};
  EXPECT_THAT(run_cluster(kernel_with("  ld.shared.u32 %d, [%remote_at];\n"), out),
              HasSubstr("illegal address"))
      << "shared::cta";
  EXPECT_THAT(run_cluster(kernel_with("  ld.shared::cluster.u32 %d, [%remote_at+2048];\n"), out),
              HasSubstr("illegal address"));
  EXPECT_THAT(
      run_cluster(kernel_with("  mapa.shared::cluster.u32 %e, %at, 4;\n  ld.shared::cluster.u32 %d, [%e];\n"),
                  out),
      HasSubstr("illegal address"));
  EXPECT_THAT(run_cluster(kernel_with("  ld.shared::cluster.u32 %d, [%remote_at+2];\n"), out),
              HasSubstr("misaligned address"));
  EXPECT_THAT(run_cluster(kernel_with("  ld.global.u32 %d, [%gremote_at];\n"), out),
              HasSubstr("wrong space"));
}

TEST(Clusters, ChecksFollowAccessesAcrossBlocks) {
  const auto findings = [](const std::string& form) {
    LaunchChecks checks{{.memory = true, .race = true, .init = true, .sync = true}, {}};
    Values out{};
    EXPECT_EQ(run_cluster(kernel_with(form), out, nullptr, &checks), "");
    std::set<std::string_view> kinds;
    for (const Finding& each : checks.findings) kinds.insert(name_of(each.kind));
    return kinds;
  };
  EXPECT_THAT(findings("  st.shared::cluster.u32 [%remote_at+128], %value;\n" + std::string(meet) +
                       "  ld.shared.u32 %d, [%at+128];\n"),
              testing::IsEmpty());
  EXPECT_THAT(
      findings("  st.shared::cluster.u32 [%remote_at+128], %value;\n  ld.shared.u32 %d, [%at+128];\n"),
      testing::ElementsAre(name_of(FindingKind::race)));
  EXPECT_THAT(
      findings(
          "  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%remote_at+128], %value, [%rbar];\n" +
          await(4) + "  ld.shared.u32 %d, [%at+128];\n"),
      testing::IsEmpty());
}

TEST(Clusters, CountsCoverAllBlocks) {
  LaunchCounters counters;
  Values out{};
  ASSERT_EQ(
      run_cluster(kernel_with("  ld.shared::cluster.u32 %d, [%remote_at];\n  ld.u32 %e, [%gremote_at];\n"),
                  out, &counters),
      "");
  for (const SiteCounters& site : counters.sites) {
    EXPECT_EQ(site.warp_issues, blocks) << site.opcode;
    if (site.opcode == "ld.shared::cluster.u32") {
      EXPECT_EQ(site.shared.accesses, blocks);
      EXPECT_EQ(site.shared.wavefronts, blocks);
    }
    if (site.opcode != "ld.u32") continue;
    EXPECT_EQ(site.shared.accesses + site.global.requests, 0u)
        << "neither the block's shared memory nor global";
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
