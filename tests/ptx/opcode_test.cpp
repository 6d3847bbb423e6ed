#include "ptx/ir/opcode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace lynxpp::ptx {
namespace {

struct Expected {
  const char* opcode;
  OpcodeClass kind;
  int destinations;
  bool reads = false;
  bool writes = false;
  StateSpace space = StateSpace::none;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.opcode; }

class Classify : public testing::TestWithParam<Expected> {};

TEST_P(Classify, OpcodeHasExpectedTraits) {
  const Expected& expected = GetParam();
  const OpcodeTraits traits = classify(expected.opcode);
  EXPECT_TRUE(traits.is_known());
  EXPECT_EQ(traits.kind, expected.kind);
  EXPECT_EQ(traits.destinations, expected.destinations);
  EXPECT_EQ(traits.reads_memory, expected.reads);
  EXPECT_EQ(traits.writes_memory, expected.writes);
  EXPECT_EQ(traits.space, expected.space);
}

using enum OpcodeClass;
using S = StateSpace;

INSTANTIATE_TEST_SUITE_P(
    Memory, Classify,
    testing::Values(
        Expected{"ld.f32", memory, 1, true, false, S::generic},
        Expected{"ld.global.nc.v4.f32", memory, 1, true, false, S::global},
        Expected{"ld.global.nc.L1::no_allocate.L2::256B.v2.u64", memory, 1, true, false, S::global},
        Expected{"ld.relaxed.gpu.global.b128", memory, 1, true, false, S::global},
        Expected{"ld.volatile.shared::cta.u8", memory, 1, true, false, S::shared},
        Expected{"ld.const.u16", memory, 1, true, false, S::constant},
        Expected{"ld.param::entry.u64", memory, 1, true, false, S::param},
        Expected{"ldu.global.v8.b32", memory, 1, true, false, S::global},
        Expected{"st.local.v2.f64", memory, 0, false, true, S::local},
        Expected{"st.u32", memory, 0, false, true, S::generic},
        Expected{"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", memory, 0, false, true,
                 S::shared},
        Expected{"st.bulk.weak.shared::cta", memory, 0, false, true, S::shared},
        Expected{"prefetch.global.L2", memory, 0},
        Expected{"cp.async.ca.shared.global", memory, 0, true, true, S::global},
        Expected{"cp.async.commit_group", other, 0}, Expected{"cp.async.wait_group", other, 0},
        Expected{"cp.async.mbarrier.arrive.noinc.shared.b64", barrier, 0},
        Expected{"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", memory,
                 0, true, true, S::global},
        Expected{"cp.async.bulk.commit_group", other, 0}, Expected{"cp.async.bulk.wait_group.read", other, 0},
        Expected{"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", memory, 0, true, true,
                 S::global},
        Expected{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", memory, 1, true, false, S::shared},
        Expected{"ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16", memory, 1, true, false, S::shared},
        Expected{"stmatrix.sync.aligned.m8n8.x2.shared.b16", memory, 0, false, true, S::shared},
        Expected{"wmma.load.a.sync.aligned.row.m16n16k16.global.f16", memory, 1, true, false, S::global},
        Expected{"wmma.store.d.sync.aligned.row.m16n16k16.global.f32", memory, 0, false, true, S::global},
        Expected{"multimem.ld_reduce.relaxed.sys.global.add.v4.f32", memory, 1, true, false, S::global},
        Expected{"tex.2d.v4.f32.s32", memory, 1, true, false, S::texture},
        Expected{"tld4.r.2d.v4.f32.f32", memory, 1, true, false, S::texture},
        Expected{"suld.b.2d.v2.b32.trap", memory, 1, true, false, S::surface},
        Expected{"sust.b.2d.b32.clamp", memory, 0, false, true, S::surface},
        Expected{"sured.b.add.2d.u32.trap", atomic, 0, true, true, S::surface},
        Expected{"atom.global.add.u32", atomic, 1, true, true, S::global},
        Expected{"atom.acq_rel.gpu.shared::cta.cas.b64", atomic, 1, true, true, S::shared},
        Expected{"atom.add.noftz.f16x2", atomic, 1, true, true, S::generic},
        Expected{"red.global.add.f32", atomic, 0, true, true, S::global},
        Expected{"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32", atomic, 0,
                 true, true, S::shared}));

INSTANTIATE_TEST_SUITE_P(
    Others, Classify,
    testing::Values(Expected{"add.s32", arithmetic, 1}, Expected{"fma.rn.ftz.f32", arithmetic, 1},
                    Expected{"setp.lt.and.s32", arithmetic, 1}, Expected{"set.eq.u32.f32", arithmetic, 1},
                    Expected{"lop3.b32", arithmetic, 1}, Expected{"vadd4.u32.u32.u32", arithmetic, 1},
                    Expected{"dp4a.u32.s32", arithmetic, 1}, Expected{"redux.sync.add.s32", arithmetic, 1},
                    Expected{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", arithmetic, 1},
                    Expected{"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", arithmetic, 1},
                    Expected{"wgmma.commit_group.sync.aligned", other, 0},
                    Expected{"wgmma.fence.sync.aligned", fence, 0}, Expected{"mov.u32", data, 1},
                    Expected{"cvt.rn.f32.s32", data, 1}, Expected{"cvta.to.global.u64", data, 1},
                    Expected{"isspacep.shared", data, 1}, Expected{"mapa.shared::cluster.u32", data, 1},
                    Expected{"selp.b32", data, 1}, Expected{"shfl.sync.bfly.b32", data, 1},
                    Expected{"vote.sync.ballot.b32", data, 1}, Expected{"match.all.sync.b32", data, 1},
                    Expected{"activemask.b32", data, 1}, Expected{"elect.sync", data, 1},
                    Expected{"txq.width.b32", data, 1}, Expected{"istypep.texref", data, 1},
                    Expected{"alloca.u64", data, 1}, Expected{"stacksave.u64", data, 1},
                    Expected{"stackrestore.u64", other, 0}, Expected{"bra.uni", branch, 0},
                    Expected{"brx.idx", branch, 0}, Expected{"call.uni", call, 0},
                    Expected{"ret.uni", exit, 0}, Expected{"exit", exit, 0}, Expected{"trap", exit, 0},
                    Expected{"bar.sync", barrier, 0}, Expected{"bar.warp.sync", barrier, 0},
                    Expected{"bar.red.popc.u32", barrier, 1},
                    Expected{"barrier.cta.sync.aligned", barrier, 0},
                    Expected{"barrier.cta.red.and.pred", barrier, 1},
                    Expected{"barrier.cluster.arrive.aligned", barrier, 0},
                    Expected{"mbarrier.init.shared::cta.b64", barrier, 0},
                    Expected{"mbarrier.arrive.expect_tx.shared.b64", barrier, 1},
                    Expected{"mbarrier.try_wait.parity.shared::cta.b64", barrier, 1},
                    Expected{"mbarrier.pending_count.b64", data, 1}, Expected{"membar.gl", fence, 0},
                    Expected{"fence.proxy.async.shared::cta", fence, 0}, Expected{"nanosleep.u32", other, 0},
                    Expected{"griddepcontrol.wait", other, 0},
                    Expected{"setmaxnreg.inc.sync.aligned.u32", other, 0}, Expected{"pmevent.mask", other, 0},
                    Expected{"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", memory, 0, false,
                             true, S::shared},
                    Expected{"tcgen05.ld.sync.aligned.16x64b.x2.b32", data, 1},
                    Expected{"tcgen05.mma.cta_group::1.kind::f16", arithmetic, 0},
                    Expected{"tcgen05.wait::ld.sync.aligned", other, 0},
                    Expected{"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", data, 1}));

TEST(ClassifyDetails, AccessesUseTheFirstTypeAndOthersTheLast) {
  EXPECT_EQ(classify("tex.2d.v4.f32.s32").type, DataType::f32);
  EXPECT_EQ(classify("cvt.rn.f32.s64").type, DataType::s64);
  EXPECT_EQ(classify("setp.lt.f64").type, DataType::f64);
  EXPECT_EQ(classify("bar.sync").type, DataType::none);
}

TEST(ClassifyDetails, IntegerPairsAreIntegersButNotScalars) {
  for (const char* opcode : {"add.u16x2", "max.s16x2.relu", "min.u16x2"}) {
    EXPECT_EQ(classify(opcode).type, DataType::integer_pair) << opcode;
    EXPECT_FALSE(classify(opcode).is_floating) << opcode;
  }
  EXPECT_EQ(size_of(DataType::integer_pair), 0U);
}

TEST(ClassifyDetails, RecognisesFloatingPoint) {
  for (const char* opcode : {"add.f32", "cvt.rni.s32.f32", "ld.global.v4.f32", "fma.rn.bf16x2", "setp.lt.f16",
                             "cvt.rn.satfinite.e4m3x2.f32", "set.eq.u32.f32"}) {
    EXPECT_TRUE(classify(opcode).is_floating) << opcode;
  }
  for (const char* opcode : {"add.s32", "ld.global.b32", "mov.b64", "bar.sync"}) {
    EXPECT_FALSE(classify(opcode).is_floating) << opcode;
  }
}

TEST(ClassifyDetails, SetsControlFlowFlags) {
  EXPECT_FALSE(classify("ret").is_thread_exit());
  EXPECT_TRUE(classify("exit").is_thread_exit());
  EXPECT_TRUE(classify("trap").is_thread_exit());
  for (const char* opcode : {"bra", "brx.idx", "call", "ret", "exit", "trap"})
    EXPECT_TRUE(classify(opcode).ends_block());
  for (const char* opcode : {"bar.sync", "add.s32", "brkpt", "brev.b32"})
    EXPECT_FALSE(classify(opcode).ends_block());
}

TEST(ClassifyDetails, UnknownOpcodesKeepOnlyTheirModifiers) {
  const OpcodeTraits traits = classify("frobnicate.global.f32");
  EXPECT_FALSE(traits.is_known());
  EXPECT_EQ(traits.op, Op::unknown);
  EXPECT_TRUE(traits.modifiers.has(Modifier::global));
  EXPECT_EQ(traits.kind, OpcodeClass::other);
  EXPECT_FALSE(traits.is_memory_access());
  EXPECT_FALSE(classify("").is_known());
  EXPECT_FALSE(classify(".f32").is_known());
  EXPECT_FALSE(classify("ldx.f32").is_known()) << "a longer word does not match its prefix";
}

TEST(Decoding, EveryRowOfTheTableIsItsOpcode) {
  constexpr std::pair<const char*, Op> rows[] = {
#define PTX_OPCODE(name, mnemonic, kind, destinations, purity) {mnemonic, Op::name},
#include "ptx/ir/opcodes.def"
  };
  for (const auto& [mnemonic, op] : rows) {
    EXPECT_EQ(op_of(mnemonic), op) << mnemonic;
    EXPECT_EQ(classify(std::string(mnemonic) + ".whatever.b32").op, op) << mnemonic;
  }
  constexpr const char* forms[] = {
#define PTX_FORM(mnemonic, kind, destinations, purity) mnemonic,
#include "ptx/ir/opcodes.def"
  };
  for (const std::string form : forms)
    EXPECT_EQ(classify(form).op, op_of(form.substr(0, form.find('.')))) << form;
}

TEST(Decoding, EveryModifierOfTheTableIsFound) {
  constexpr std::pair<const char*, Modifier> modifiers[] = {
#define PTX_MODIFIER(name, text) {text, Modifier::name},
#include "ptx/ir/opcodes.def"
  };
  for (const auto& [text, modifier] : modifiers) {
    Modifiers expected;
    expected.add(modifier);
    EXPECT_EQ(classify("mov." + std::string(text)).modifiers, expected) << text;
    EXPECT_EQ(classify("mov." + std::string(text) + "x").modifiers, Modifiers()) << text;
  }
}

TEST(Decoding, ModifiersMayBeInAnyOrderAndUnknownOnesAreText) {
  const OpcodeTraits traits = classify("ld.volatile.global.u32");
  EXPECT_EQ(classify("ld.global.volatile.u32"), traits);
  EXPECT_EQ(classify("ld.global.volatile.L1::frobnicate.u32"), traits);
  EXPECT_TRUE(classify("ld.const[2].u32").modifiers.has(Modifier::constant));
  EXPECT_TRUE(traits.modifiers.has_any({Modifier::relaxed, Modifier::is_volatile}));
  EXPECT_FALSE(traits.modifiers.has(Modifier::relaxed));
}

TEST(Decoding, ComparesOnlyWhereTheModifierIsAComparison) {
  EXPECT_EQ(classify("setp.lt.and.s32").comparison, Comparison::less);
  EXPECT_EQ(classify("setp.lo.u32").comparison, Comparison::less);
  EXPECT_EQ(classify("set.hs.u32.u32").comparison, Comparison::greater_or_equal);
  EXPECT_EQ(classify("setp.ltu.f32").comparison, std::nullopt) << "true for NaN";
  EXPECT_EQ(classify("mul.lo.u32").comparison, std::nullopt);
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    const Comparison comparison = classify("setp." + std::string(name) + ".s32").comparison.value();
    EXPECT_NE(opposite_of(comparison), comparison) << name;
    EXPECT_EQ(opposite_of(opposite_of(comparison)), comparison) << name;
  }
}

TEST(Decoding, SaysWhatAResultDependsOn) {
  for (const char* opcode : {"add.s32", "addc.cc.u32", "cvt.rn.f32.s32", "lop3.b32", "cvta.to.global.u64"})
    EXPECT_EQ(classify(opcode).purity, Purity::pure) << opcode;
  for (const char* opcode : {"mapa.shared::cluster.u32", "getctarank.shared::cluster.u32"})
    EXPECT_EQ(classify(opcode).purity, Purity::block) << opcode;
  for (const char* opcode : {"shfl.sync.bfly.b32", "vote.sync.all.pred", "activemask.b32",
                             "redux.sync.add.s32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"})
    EXPECT_EQ(classify(opcode).purity, Purity::lanes) << opcode;
  for (const char* opcode : {"ld.global.u32", "atom.global.add.u32", "bar.red.popc.u32", "alloca.u64", "call",
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "frobnicate.u32"})
    EXPECT_EQ(classify(opcode).purity, Purity::effect) << opcode;
}

TEST(Decoding, ResultsHaveTheFirstType) {
  EXPECT_EQ(classify("cvt.rn.f32.s64").result_type(), DataType::f32);
  EXPECT_EQ(classify("setp.lt.s32").result_type(), DataType::pred);
  EXPECT_EQ(classify("st.global.u32").result_type(), DataType::none);
  EXPECT_EQ(classify("tcgen05.ld.sync.aligned.16x64b.x2.b32").result_type(), DataType::none);
}

TEST(Decoding, CopiesNameTheDestinationFirst) {
  using Spaces = std::array<StateSpace, 2>;
  EXPECT_EQ(classify("cp.async.ca.shared.global").copy_spaces, (Spaces{S::shared, S::global}));
  EXPECT_EQ(classify("cp.async.bulk.global.shared::cta.bulk_group").copy_spaces,
            (Spaces{S::global, S::shared}));
  EXPECT_EQ(classify("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster")
                .copy_spaces,
            (Spaces{S::shared, S::global}));
}

TEST(Types, HaveNamesAndSizes) {
  EXPECT_EQ(parse_data_type(".u32"), DataType::u32);
  EXPECT_EQ(parse_data_type("f16x2"), DataType::f16x2);
  EXPECT_EQ(parse_data_type(".texref"), DataType::opaque);
  EXPECT_EQ(parse_data_type(".align"), DataType::none);
  EXPECT_EQ(parse_data_type(""), DataType::none);
  EXPECT_EQ(size_of(DataType::b128), 16U);
  EXPECT_EQ(size_of(DataType::bf16x2), 4U);
  EXPECT_EQ(size_of(DataType::pred), 0U);
  EXPECT_EQ(size_of(DataType::opaque), 0U);
  EXPECT_TRUE(is_floating(DataType::tf32));
  EXPECT_FALSE(is_floating(DataType::b32));
}

TEST(Types, AreFoundByTheirNames) {
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {"b8", 1},   {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2},  {"s16", 2},  {"f16", 2},
      {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},  {"tf32", 4}, {"f16x2", 4},
      {"b64", 8},  {"u64", 8}, {"s64", 8}, {"f64", 8}, {"f32x2", 8}};
  for (const auto& [name, bytes] : sizes) EXPECT_EQ(size_of(parse_data_type(name)), bytes) << name;
}

}  // namespace
}  // namespace lynxpp::ptx
