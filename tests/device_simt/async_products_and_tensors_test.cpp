// Seeded faults of tensor copies and products of warpgroups in checked launches, and the same kernels without
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/device_simt/tensor_fixture.h"
#include "tests/device_simt/warpgroup_fixture.h"

namespace lynxpp::device::cpu::test::async_faults {
namespace {

using testing::IsEmpty;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the kernel does not contain '" + from + "'");
  return text.replace(at, from.size(), to);
}

std::set<FindingKind> kinds_of(const std::vector<Finding>& findings) {
  std::set<FindingKind> kinds;
  for (const Finding& each : findings) kinds.insert(each.kind);
  return kinds;
}

std::string texts_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& each : findings)
    text += std::string(name_of(each.kind)) + ": " + each.place.action + ": " + each.detail + "\n";
  return text;
}

// ---------------------------------------------------------------- tensor copies

/// Runs a kernel of two warps on a tensor of 32 rows of 64 bytes; a box has 16 of them. `body` may use %t,
/// the thread; %s, its 16 bytes of `tile`, which holds the box; %o, those of a thread of the other warp; %d,
/// the tensor; %map; %y, a row; `bar`, room for an mbarrier object; %p1, true in thread 0.
std::vector<Finding> run(const std::string& body) {
  const auto module = load(R"(
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 data) {
  .reg .pred %p<4>;
  .reg .b32 %r<8>, %t, %s, %o, %v, %x, %y;
  .reg .b64 %map, %d;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b8 bar[8];
  mov.u32 %t, %tid.x;
  mov.u32 %r1, tile;
  mad.lo.u32 %s, %t, 16, %r1;
  xor.b32 %r2, %t, 33;
  mad.lo.u32 %o, %r2, 16, %r1;
  ld.param.u64 %d, [data];
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  mov.u32 %x, 0;
  mov.u32 %y, 0;
  setp.eq.u32 %p1, %t, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  bar.sync 0;
)" + body + "\nret;\n}\n");
  struct alignas(64) Tensor {
    std::array<std::uint32_t, 512> words;
  } tensor;
  std::iota(tensor.words.begin(), tensor.words.end(), 0u);
  const MapParameter map(tensor_of(TensorElement::u32, {16, 32}, {16, 16}, tensor.words.data()));
  LaunchChecks checks{{.memory = true, .race = true, .init = false, .sync = true}};
  (void)module->launch("k", {{1, 1, 1}, {64, 1, 1}}, Arguments(map, tensor.words.data()).bytes(), nullptr,
                       nullptr, &checks);
  return std::move(checks.findings);
}

std::string expect(int bytes) {
  return "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], " + std::to_string(bytes) + ";\n";
}

const std::string load_box =
    "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], "
    "[%map, {%x, %y}], [bar];\n";
const std::string wait_phase =
    "again: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra again;\n";
const std::string wait_second = "then: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 1;\n@!%p3 bra then;\n";
const std::string barrier = "bar.sync 0;\n";
const std::string read_other = "ld.shared.u32 %v, [%o];\n";
const std::string write_tile = "st.shared.v4.u32 [%s], {%t, %t, %t, %t};\n";
const std::string fence = "fence.proxy.async.shared::cta;\n";
const std::string store_box =
    "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%x, %y}], [tile];\n";
const std::string add_box =
    "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {%x, %y}], [tile];\n";
const std::string commit = "cp.async.bulk.commit_group;\n";
const std::string wait = "cp.async.bulk.wait_group 0;\n";
const std::string wait_read = "cp.async.bulk.wait_group.read 0;\n";
const std::string read_tensor = "@%p1 ld.global.u32 %v, [%d+960];\n";

struct Fault {
  const char* name = nullptr;
  FindingKind kind = FindingKind::race;
  std::string wrong;
  std::string right;
};

const Fault tensor_faults[] = {
    {"read before the wait", FindingKind::unfinished_operation,
     expect(1024) + load_box + read_other + wait_phase, expect(1024) + load_box + wait_phase + read_other},
    {"wait for the other parity", FindingKind::unfinished_operation,
     expect(1024) + load_box + replaced(wait_phase, "[bar], 0", "[bar], 1") + read_other +
         "then: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra then;\n",
     expect(1024) + load_box + wait_phase + read_other},
    {"store over a load", FindingKind::unfinished_operation,
     expect(1024) + load_box + write_tile + wait_phase, expect(1024) + load_box + wait_phase + write_tile},
    {"load over readers", FindingKind::race,
     expect(1024) + load_box + wait_phase + barrier + read_other + expect(1024) + load_box + wait_second,
     expect(1024) + load_box + wait_phase + read_other + fence + barrier + expect(1024) + load_box +
         wait_second},
    {"no proxy fence after readers", FindingKind::missing_proxy_fence,
     expect(1024) + load_box + wait_phase + read_other + barrier + expect(1024) + load_box + wait_second,
     expect(1024) + load_box + wait_phase + read_other + barrier + fence + expect(1024) + load_box +
         wait_second},
    {"load in flight at the end", FindingKind::copies_in_flight, expect(1024) + load_box,
     expect(1024) + load_box + wait_phase},
    {"fewer bytes expected", FindingKind::byte_count_mismatch,
     expect(1008) + load_box + "mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;\n",
     expect(1024) + load_box + "mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0;\n"},
    {"bytes outside the tensor not expected", FindingKind::endless_barrier,
     "mov.u32 %y, 24;\n" + expect(512) + load_box + wait_phase,
     "mov.u32 %y, 24;\n" + expect(1024) + load_box + wait_phase},
    {"no proxy fence before a store", FindingKind::missing_proxy_fence,
     write_tile + barrier + store_box + commit + wait,
     write_tile + fence + barrier + store_box + commit + wait},
    {"overwritten source of a store", FindingKind::unfinished_operation,
     write_tile + fence + barrier + store_box + commit + write_tile + wait,
     write_tile + fence + barrier + store_box + commit + wait_read + barrier + write_tile + wait},
    {"store in flight at the end", FindingKind::copies_in_flight,
     write_tile + fence + barrier + store_box + commit,
     write_tile + fence + barrier + store_box + commit + wait_read},
    {"store in no group", FindingKind::copies_in_flight, write_tile + fence + barrier + store_box + wait,
     write_tile + fence + barrier + store_box + commit + wait},
    {"sums read too early", FindingKind::unfinished_operation,
     write_tile + fence + barrier + add_box + commit + wait_read + read_tensor + wait,
     write_tile + fence + barrier + add_box + commit + wait + read_tensor},
    {"reduction into a tile being stored", FindingKind::unfinished_operation,
     write_tile + fence + barrier + store_box + add_box + commit + wait,
     write_tile + fence + barrier + add_box + add_box + commit + wait},
};

TEST(TensorCopyFaults, AreFoundAndTheirRepairsAreNot) {
  for (const Fault& each : tensor_faults) {
    SCOPED_TRACE(each.name);
    const std::vector<Finding> found = run(each.wrong);
    EXPECT_EQ(kinds_of(found), std::set{each.kind}) << texts_of(found);
    const std::vector<Finding> repaired = run(each.right);
    EXPECT_THAT(repaired, IsEmpty()) << texts_of(repaired);
  }
}

TEST(TensorCopyFaults, OnlyTheBytesOfTheBoxAreAccessed) {
  const std::string outside = "mov.u32 %y, 24;\n" + write_tile + fence + barrier + store_box + commit;
  EXPECT_THAT(run(outside + "@%p1 ld.global.u32 %v, [%d+1472];\n" + wait), IsEmpty());
  EXPECT_EQ(kinds_of(run(outside + "@%p1 ld.global.u32 %v, [%d+1536];\n" + wait)),
            std::set{FindingKind::unfinished_operation});
}

// ---------------------------------------------------------------- products

const WarpgroupCase form{"f32", "f16", "f16", 8};
std::vector<Finding> run_product(const std::string& kernel) {
  const WarpgroupOperands operands = lay_out(form, random_matrices(form, 1));
  LaunchChecks checks{{true, true, true, true}};
  std::string failure;
  run_warpgroup(form, operands, kernel, &failure, &checks);
  EXPECT_EQ(failure, "");
  return std::move(checks.findings);
}

TEST(WarpgroupFaults, OperandsNeedAProxyFence) {
  EXPECT_THAT(run_product(warpgroup_kernel(form)), IsEmpty());
  const std::vector<Finding> found =
      run_product(replaced(warpgroup_kernel(form), "fence.proxy.async.shared::cta;", ""));
  EXPECT_EQ(kinds_of(found), std::set{FindingKind::missing_proxy_fence}) << texts_of(found);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::async_faults
