// Every row of ptx/ir/memory_table.def, checked with one instruction and its expected accesses in the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "parse.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

/// A module with one instruction, which is the first of `text`.
struct OneInstruction {
  explicit OneInstruction(const std::string& text)
      : module(module_of_body(text)), body(*module.functions.at(0).body) {}
  const Instruction& first() const { return body.instructions.at(0); }

  Module module;
  const Body& body;
};

std::string name_of(StateSpace space) {
  switch (space) {
    case StateSpace::global: return "global";
    case StateSpace::shared: return "shared";
    case StateSpace::local: return "local";
    case StateSpace::param: return "param";
    case StateSpace::constant: return "const";
    case StateSpace::texture: return "texture";
    case StateSpace::surface: return "surface";
    case StateSpace::generic: return "generic";
    default: return "?";
  }
}

/// Formats "read global 16 at [%rd1]", and special properties.
std::string text_of(const OneInstruction& parsed, const Instruction& instruction,
                    const MemoryAccess& access) {
  std::string text = access.reads ? (access.writes ? "update" : "read") : "write";
  text += " " + name_of(access.space) + " " + std::to_string(access.bytes);
  if (access.address != nullptr) text += " at " + std::string(parsed.module.text(access.address->text));
  if (access.size != nullptr) {
    const bool is_bytes = lane_size(parsed.body, instruction, access) == LaneSize::bytes;
    text +=
        std::string(is_bytes ? " size " : " unless ") + std::string(parsed.module.text(access.size->text));
  }
  if (access.lanes != MemoryAccess::all_lanes) text += " lanes " + std::to_string(access.lanes);
  if (access.is_bulk) text += " bulk";
  if (!access.is_sized) text += " unsized";
  return text;
}

struct Row {
  const char* mnemonic;
  const char* instruction;
  std::vector<std::string> sides;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.instruction; }

// clang-format off
const Row table[] = {
    {"ld", "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];", {"read global 16 at [%rd1+16]"}},
    {"ld", "ld.u8 %r1, [%rd1];", {"read generic 1 at [%rd1]"}},
    {"ld", "ld.shared::cta.b64 %rd2, [%r1];", {"read shared 8 at [%r1]"}},
    {"ldu", "ldu.global.u32 %r1, [%rd1];", {"read global 4 at [%rd1]"}},
    {"st", "st.local.v2.f64 [%rd1], {%fd1, %fd2};", {"write local 16 at [%rd1]"}},
    {"st.async", "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r2, %r3}, [%r4];", {"write shared 8 at [%r1]"}},
    {"st.bulk", "st.bulk.weak.shared::cta [%r1], %rd2, 0;", {"write shared 0 at [%r1] size %rd2 bulk"}},
    {"st.bulk", "st.bulk.weak.shared::cta [%r1], 64, 0;", {"write shared 64 at [%r1] bulk"}},
    {"atom", "atom.global.add.u32 %r1, [%rd1], %r2;", {"update global 4 at [%rd1]"}},
    {"atom", "atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4};", {"update global 16 at [%rd1]"}},
    {"red", "red.shared.add.u64 [%r1], %rd2;", {"update shared 8 at [%r1]"}},
    {"red.async", "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];", {"update shared 4 at [%r1]"}},
    {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", {"read shared 16 at [%r2] lanes 8"}},
    {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r3}, [%r2];", {"read shared 16 at [%r2] lanes 16"}},
    {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r3, %r4, %r5}, [%r2];", {"read shared 16 at [%r2]"}},
    {"ldmatrix", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r3}, [%r2];", {"read shared 16 at [%r2] lanes 16"}},
    {"ldmatrix", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r1, %r3, %r4, %r5}, [%r2];", {"read shared 16 at [%r2]"}},
    {"stmatrix", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1, %r3};", {"write shared 16 at [%r2] lanes 16"}},
    {"wmma.load", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];", {"read global 0 at [%rd1] unsized"}},
    {"wmma.store", "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd1], {%r1, %r2, %r3, %r4};", {"write global 0 at [%rd1] unsized"}},
    {"cp.async", "cp.async.ca.shared.global [%r1], [%rd1], 4;", {"read global 4 at [%rd1]", "write shared 4 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;", {"read global 16 at [ %rd1 + 0 ] size %r2", "write shared 16 at [ %r1 + 0 ]"}},
    {"cp.async", "cp.async.cg.shared.global [%r1], [%rd1], 16, %p1;", {"read global 16 at [%rd1] unless %p1", "write shared 16 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global [%r1], [%rd1], 16, 8;", {"read global 8 at [%rd1]", "write shared 16 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global [%r1], [%rd1], 16, 32;", {"read global 16 at [%rd1]", "write shared 16 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global [%r1], [%rd1], 16, 0;", {"read global 16 at [%rd1] lanes 0", "write shared 16 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;", {"read global 16 at [%rd1]", "write shared 16 at [%r1]"}},
    {"cp.async", "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %r2, %rd2;", {"read global 16 at [%rd1] size %r2", "write shared 16 at [%r1]"}},
    {"cp.async.bulk", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];", {"read global 0 at [%rd1] size %r2 bulk", "write shared 0 at [%r1] size %r2 bulk"}},
    {"cp.async.bulk", "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 512;", {"read shared 512 at [%r1] bulk", "write global 512 at [%rd1] bulk"}},
    {"cp.async.bulk", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 32, [%r3];", {"read shared 32 at [%r2] bulk", "write shared 32 at [%r1] bulk"}},
    {"cp.reduce.async.bulk", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;", {"read shared 0 at [%r1] size %r2 bulk", "update global 0 at [%rd1] size %r2 bulk"}},
    {"cp.async.bulk.tensor", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];", {"read global 0 unsized", "write shared 0 at [%r1] unsized"}},
    {"cp.async.bulk.tensor", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r1];", {"read shared 0 at [%r1] unsized", "write global 0 unsized"}},
    {"cp.reduce.async.bulk.tensor", "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd1, {%r2}], [%r1];", {"read shared 0 at [%r1] unsized", "update global 0 unsized"}},
    {"tensormap.cp_fenceproxy", "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;", {"read shared 128 at [%r1] lanes 1 bulk", "write global 128 at [%rd1] lanes 1 bulk"}},
    {"multimem", "multimem.st.weak.global.u32 [%rd1], %r1;", {"write global 4 at [%rd1]"}},
    {"multimem.ld_reduce", "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd1];", {"read global 4 at [%rd1]"}},
    {"multimem.ld_reduce", "multimem.ld_reduce.relaxed.sys.global.add.e4m3x4 %r1, [%rd1];", {"read global 0 at [%rd1] unsized"}},
    {"multimem.red", "multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;", {"update global 4 at [%rd1]"}},
    {"multimem.cp.async.bulk", "multimem.cp.async.bulk.bulk_group.global.shared::cta [%rd1], [%r1], %r2;", {"read shared 0 at [%r1] size %r2 bulk", "write global 0 at [%rd1] size %r2 bulk"}},
    {"multimem.cp.reduce.async.bulk", "multimem.cp.reduce.async.bulk.bulk_group.global.shared::cta.add.u32 [%rd1], [%r1], %r2;", {"read shared 0 at [%r1] size %r2 bulk", "update global 0 at [%rd1] size %r2 bulk"}},
    {"tex", "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];", {"read texture 16"}},
    {"tld4", "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];", {"read texture 16"}},
    {"suld", "suld.b.2d.v2.b32.trap {%r1, %r2}, [%rd1, {%r1, %r2}];", {"read surface 8"}},
    {"sust", "sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};", {"write surface 4"}},
    {"sured", "sured.b.add.2d.u32.trap [%rd1, {%r1, %r2}], %r3;", {"update surface 4"}},
    {"clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];", {"write shared 16 at [%r1]"}},
    {"tcgen05.alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;", {"write shared 4 at [%r1] lanes 1"}},
    {"prefetch", "prefetch.global.L2 [%rd1];", {}},
    {"prefetchu", "prefetchu.L1 [%rd1];", {}},
    {"applypriority", "applypriority.global.L2::evict_normal [%rd1], 128;", {}},
    {"discard", "discard.global.L2 [%rd1], 128;", {}},
    {"cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global [%rd1], %r1;", {}},
    {"mbarrier", "mbarrier.init.shared::cta.b64 [%r1], 1;", {}},
    {"mbarrier", "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512;", {}},
    {"mbarrier", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;", {}},
    {"cp.async.mbarrier", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];", {}},
    {"cp.async.commit_group", "cp.async.commit_group;", {}},
    {"cp.async.wait_group", "cp.async.wait_group 0;", {}},
    {"cp.async.wait_all", "cp.async.wait_all;", {}},
    {"cp.async.bulk.commit_group", "cp.async.bulk.commit_group;", {}},
    {"cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read 0;", {}},
    {"tensormap", "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd1;", {}},
    {"wgmma.mma_async", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;", {}},
    {"tcgen05.commit", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];", {}},
    {"tcgen05.cp", "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;", {}},
    {"tcgen05.mma", "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", {}},
};
// clang-format on

class MemoryTable : public testing::TestWithParam<Row> {};

TEST_P(MemoryTable, DescribesTheAccessesOfAnInstruction) {
  const Row& row = GetParam();
  const OneInstruction parsed(".reg .pred %p<4>;\n" + std::string(row.instruction));
  const Instruction& instruction = parsed.first();
  const MemoryRow* const found = find_memory_row(instruction.opcode);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->mnemonic, row.mnemonic);
  EXPECT_TRUE(instruction.traits.is_known());
  std::vector<std::string> sides;
  bool reads = false, writes = false;
  for (const MemoryAccess& access : memory_accesses(instruction)) {
    sides.push_back(text_of(parsed, instruction, access));
    reads |= access.reads;
    writes |= access.writes;
  }
  EXPECT_EQ(sides, row.sides);
  EXPECT_EQ(instruction.traits.reads_memory, reads);
  EXPECT_EQ(instruction.traits.writes_memory, writes);
  EXPECT_EQ(instruction.traits.synchronizes, found->kind == MemoryKind::synchronization);
}

INSTANTIATE_TEST_SUITE_P(Rows, MemoryTable, testing::ValuesIn(table));

TEST(MemoryTableRows, AllHaveAnExample) {
  std::set<std::string_view> shown;
  for (const Row& row : table) shown.insert(row.mnemonic);
  for (const MemoryRow& row : memory_rows()) EXPECT_TRUE(shown.contains(row.mnemonic)) << row.mnemonic;
}

TEST(MemoryTableRows, HaveKnownOpcodesAndAppearOnce) {
  std::set<std::string_view> seen;
  for (const MemoryRow& row : memory_rows()) {
    EXPECT_TRUE(seen.insert(row.mnemonic).second) << row.mnemonic;
    EXPECT_TRUE(classify(row.mnemonic).is_known()) << row.mnemonic;
    EXPECT_EQ(row.kind == MemoryKind::copy, row.sides[1].exists()) << row.mnemonic;
    const bool has_side = row.sides[0].exists();
    EXPECT_EQ(row.kind == MemoryKind::access || row.kind == MemoryKind::copy, has_side) << row.mnemonic;
  }
}

}  // namespace
}  // namespace lynxpp::ptx
