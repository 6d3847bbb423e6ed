// The executor's counters of memory accesses and branches, compared with closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "device/cpu/simt/execute/counters/counters.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using Addresses = std::array<std::uint64_t, warp_size>;

constexpr std::uint32_t full = ~0u;

Addresses strided(std::uint64_t base, std::uint64_t stride) {
  Addresses addresses{};
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) addresses[lane] = base + lane * stride;
  return addresses;
}

std::uint32_t sectors(const Addresses& addresses, std::uint32_t bytes, std::uint32_t mask = full) {
  return count_sectors(addresses.data(), mask, bytes);
}

TEST(Sectors, FollowTheStride) {
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    for (std::uint32_t stride = 1; stride <= 64; ++stride) {
      const std::uint64_t step = std::uint64_t{stride} * bytes;
      const std::uint64_t expected = step >= 32 ? 32 : (31 * step + bytes + 31) / 32;
      EXPECT_EQ(sectors(strided(1 << 20, step), bytes), expected) << bytes << " bytes, stride " << stride;
    }
  }
}

TEST(Sectors, MisalignedRowsTouchOneMore) {
  for (std::uint64_t offset = 0; offset < 64; offset += 4) {
    EXPECT_EQ(sectors(strided(4096 + offset, 4), 4), offset % 32 == 0 ? 4u : 5u) << offset;
  }
  EXPECT_EQ(sectors(strided(4096 + 30, 0), 4), 2u);  // an access across two sectors
}

TEST(Sectors, FollowBroadcastsAndPartialWarps) {
  EXPECT_EQ(sectors(strided(4096, 0), 16), 1u);
  for (std::uint32_t lanes = 1; lanes < 32; ++lanes) {
    EXPECT_EQ(sectors(strided(4096, 4), 4, (1u << lanes) - 1), (lanes + 7) / 8) << lanes;
  }
  EXPECT_EQ(sectors(strided(4096, 4), 4, 0x80000001u), 2u);
  Addresses backwards = strided(4096, 4);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(sectors(backwards, 4), 4u);
}

std::uint32_t wavefronts(const Addresses& addresses, std::uint32_t bytes, AccessKind kind = AccessKind::store,
                         std::uint32_t mask = full) {
  return count_wavefronts(addresses.data(), mask, bytes, kind).made;
}

TEST(Wavefronts, FollowTheStrideOfWords) {
  for (std::uint32_t stride = 1; stride <= 64; ++stride) {
    for (const AccessKind kind : {AccessKind::load, AccessKind::store, AccessKind::atomic}) {
      EXPECT_EQ(wavefronts(strided(128, 4 * stride), 4, kind), std::gcd(stride, 32u)) << stride;
    }
  }
  EXPECT_EQ(wavefronts(strided(0, 4 * 32), 4), 32u);  // a column of a tile
  EXPECT_EQ(wavefronts(strided(0, 4 * 33), 4), 1u);   // a column of a padded tile
}

TEST(Wavefronts, ShareWords) {
  EXPECT_EQ(wavefronts(strided(64, 0), 4), 1u);
  EXPECT_EQ(wavefronts(strided(64, 1), 1), 1u);
  EXPECT_EQ(wavefronts(strided(64, 2), 2), 1u);
  EXPECT_EQ(wavefronts(strided(64, 64), 1), 16u);
  EXPECT_EQ(wavefronts(strided(64, 0), 4, AccessKind::atomic), 32u);  // serialized
}

TEST(Wavefronts, WideAccessesSplitIntoGroups) {
  EXPECT_EQ(wavefronts(strided(0, 8), 8), 2u);
  EXPECT_EQ(wavefronts(strided(0, 16), 16), 4u);
  EXPECT_EQ(wavefronts(strided(0, 16), 8), 4u);
  EXPECT_EQ(wavefronts(strided(0, 8), 8, AccessKind::store, 0xffffu), 1u);
  const Wavefronts column = count_wavefronts(strided(0, 128).data(), full, 16, AccessKind::load);
  EXPECT_EQ(column.made, 32u);
  EXPECT_EQ(column.least, 4u);
}

TEST(Wavefronts, LoadsMergeGroupsWithMatchingNeighbors) {
  EXPECT_EQ(wavefronts(strided(64, 0), 8, AccessKind::load), 1u);
  EXPECT_EQ(wavefronts(strided(64, 0), 8, AccessKind::store), 2u);
  EXPECT_EQ(wavefronts(strided(64, 0), 16, AccessKind::load), 2u);
  Addresses pairs{};
  Addresses across{};
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    pairs[lane] = lane / 2 * 8;
    across[lane] = (lane / 4 * 2 + lane % 2) * 8;  // the same for lane and lane ^ 2
  }
  EXPECT_EQ(wavefronts(pairs, 8, AccessKind::load), 1u);
  EXPECT_EQ(wavefronts(across, 8, AccessKind::load), 1u);
  pairs[5] = 64 * 8;
  EXPECT_EQ(wavefronts(pairs, 8, AccessKind::load), 3u);
  EXPECT_EQ(wavefronts(pairs, 8, AccessKind::load, ~(1u << 5)), 1u);  // lane 4 has no partner
}

// ---------------------------------------------------------------- launches

const SiteCounters& site_of(const LaunchCounters& counters, std::string_view opcode) {
  for (const SiteCounters& site : counters.sites) {
    if (site.opcode == opcode) return site;
  }
  static const SiteCounters none;
  ADD_FAILURE() << "no " << opcode;
  return none;
}

/// Threads below `limit` load from base + thread × stride, store to shared memory and read it back through a
/// generic address.
constexpr const char* accesses = R"(
.visible .entry accesses(.param .u64 base, .param .u64 stride, .param .u32 limit) {
  .reg .pred %p<4>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .shared .align 16 .b8 tile[8192];
  ld.param.u64 %rd1, [base];
  ld.param.u64 %rd2, [stride];
  ld.param.u32 %r1, [limit];
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p1, %r2, %r1;
  mad.wide.u32 %rd3, %r2, 1, 0;
  mul.lo.u64 %rd4, %rd3, %rd2;
  add.u64 %rd5, %rd1, %rd4;
  @%p1 ld.global.u32 %r3, [%rd5];
  and.b32 %r4, %r2, 31;
  mov.u32 %r5, tile;
  shl.b32 %r6, %r4, 7;
  add.u32 %r7, %r5, %r6;
  @%p1 st.shared.u32 [%r7], %r2;
  bar.sync 0;
  cvt.u64.u32 %rd6, %r7;
  cvta.shared.u64 %rd7, %rd6;
  ld.u32 %r3, [%rd7];
  ld.u32 %r3, [%rd1];
  @%p1 bra $done;
  red.global.add.u32 [%rd1], 1;
$done:
  ret;
})";

TEST(Counters, MatchClosedForms) {
  const auto module = load(accesses);
  ASSERT_NE(module, nullptr);
  alignas(32) static std::array<std::uint32_t, 1024 * 16> memory{};
  for (const std::uint32_t threads : {1u, 31u, 33u, 96u, 1024u}) {
    for (const std::uint32_t limit : {0u, 1u, 20u, 33u, 1024u}) {
      LaunchCounters counters;
      ASSERT_EQ(text_of(module->launch("accesses", {{1, 1, 1}, {threads, 1, 1}, 0},
                                       Arguments(memory.data(), std::uint64_t{8}, limit).bytes(), &counters)),
                "");
      const std::uint32_t loading = std::min(threads, limit);
      const std::uint32_t warps = (threads + 31) / 32;
      const std::uint32_t loading_warps = (loading + 31) / 32;
      const SiteCounters& load_site = site_of(counters, "ld.global.u32");
      EXPECT_EQ(load_site.warp_issues, warps);
      EXPECT_EQ(load_site.executing_warps, loading_warps);
      EXPECT_EQ(load_site.thread_executions, loading);
      EXPECT_EQ(load_site.global.requests, loading_warps);
      EXPECT_EQ(load_site.global.sectors, (loading + 3) / 4);
      EXPECT_EQ(load_site.global.bytes, loading * 4u);
      const SiteCounters& store = site_of(counters, "st.shared.u32");
      EXPECT_EQ(store.shared.accesses, loading_warps);
      EXPECT_EQ(store.shared.wavefronts, loading);  // all at one bank
      EXPECT_EQ(counters.stores.shared.least_wavefronts, loading_warps);
      EXPECT_EQ(counters.loads.shared.wavefronts, threads);
      EXPECT_EQ(counters.loads.global.requests, loading_warps + warps);
      EXPECT_EQ(counters.loads.global.sectors, (loading + 3) / 4 + warps);
      EXPECT_EQ(counters.branches.warps, warps);
      EXPECT_EQ(counters.branches.threads, threads);
      EXPECT_EQ(counters.branches.divergent, limit < threads && limit % 32 != 0 ? 1u : 0u);
      EXPECT_EQ(counters.barriers.warps, warps);
      EXPECT_EQ(counters.barriers.threads, threads);
      EXPECT_EQ(counters.atomics.global.bytes, (threads - loading) * 4u);
      EXPECT_EQ(counters.stores.global.requests, 0u);
    }
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
