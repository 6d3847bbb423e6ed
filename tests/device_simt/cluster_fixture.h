// A kernel around the instructions under test, launched in clusters of four blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/cpu/simt/check/finding.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {

inline constexpr std::uint32_t cluster_blocks = 4;
inline constexpr std::uint32_t blocks = 8;
inline constexpr std::uint32_t lanes = 32;

inline std::uint32_t value_of(std::uint32_t rank, std::uint32_t lane) { return rank * 1000 + lane; }
inline std::uint32_t next(std::uint32_t rank) { return (rank + 1) % cluster_blocks; }
inline std::uint32_t previous(std::uint32_t rank) { return (rank + cluster_blocks - 1) % cluster_blocks; }

/// `%d` of each thread is the result. Before the form runs, word `lane` of a block's `words` holds %value,
/// which is value_of(rank, lane), word 64 + lane holds 500 + lane, and all others 0; `bar` waits for 32
/// arrivals. %own and %at are the addresses of the block's words and of the lane's word; %remote, %remote_at
/// and %rbar are those of the next block of the cluster; %g, %g_at, %gremote and %gremote_at are the same as
/// generic addresses. %in is global memory with the contents of block rank 0.
inline std::string kernel_with(const std::string& form) {
  std::string clear;
  for (int k = 1; k < 8; ++k) clear += "  st.shared.u32 [%at+" + std::to_string(128 * k) + "], 0;\n";
  return R"(.visible .entry test(.param .u64 out, .param .u64 in) {
  .shared .align 16 .b8 words[1024];
  .shared .align 8 .b64 bar;
  .reg .b64 %out, %in, %offset, %g, %g_at, %gremote, %gremote_at, %l, %m, %long;
  .reg .b32 %t, %rank, %n, %peer, %own, %at, %off, %value, %b, %remote, %remote_at, %rbar, %d, %e, %f, %h, %mask;
  .reg .pred %first, %p, %q;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.u32 %t, %tid.x;
  mov.u32 %e, %ctaid.x;
  mad.lo.u32 %e, %e, 32, %t;
  mul.wide.u32 %offset, %e, 4;
  add.u64 %out, %out, %offset;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %n, %cluster_nctarank;
  add.u32 %peer, %rank, 1;
  rem.u32 %peer, %peer, %n;
  mul.lo.u32 %off, %t, 4;
  mov.u32 %own, words;
  add.u32 %at, %own, %off;
  mad.lo.u32 %value, %rank, 1000, %t;
  cvt.u64.u32 %long, %value;
  st.shared.u32 [%at], %value;
)" + clear +
         R"(
  add.u32 %e, %t, 500;
  st.shared.u32 [%at+256], %e;
  mov.u32 %b, bar;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%b], 32;
  mapa.shared::cluster.u32 %remote, %own, %peer;
  add.u32 %remote_at, %remote, %off;
  mapa.shared::cluster.u32 %rbar, %b, %peer;
  cvt.u64.u32 %l, %own;
  cvta.shared.u64 %g, %l;
  cvt.u64.u32 %l, %off;
  add.u64 %g_at, %g, %l;
  mapa.u64 %gremote, %g, %peer;
  add.u64 %gremote_at, %gremote, %l;
  mov.u32 %d, 4294967295;
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
)" + form +
         R"(
  st.global.u32 [%out], %d;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
})";
}

inline constexpr const char* meet = "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
/// Waits for the first phase of the block's own barrier, which expects `bytes` from each thread.
inline std::string await(int bytes) {
  return "  mbarrier.arrive.expect_tx.shared.b64 _, [%b], " + std::to_string(bytes) +
         ";\nagain:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%b], 0;\n  @!%q bra "
         "again;\n";
}

using Values = std::array<std::uint32_t, blocks * lanes>;

inline std::string run_cluster(const std::string& code, Values& out, LaunchCounters* counters = nullptr,
                               LaunchChecks* checks = nullptr) {
  out.fill(77);
  alignas(16) std::array<std::uint32_t, lanes> in{};
  for (std::uint32_t lane = 0; lane < lanes; ++lane) in[lane] = value_of(0, lane);
  const auto module = load(code);
  if (module == nullptr) return "no module";
  LaunchShape shape{{blocks, 1, 1}, {lanes, 1, 1}};
  shape.cluster = Dim3{cluster_blocks, 1, 1};
  return text_of(
      module->launch("test", shape, Arguments(out.data(), in.data()).bytes(), counters, nullptr, checks));
}

}  // namespace lynxpp::device::cpu::test
