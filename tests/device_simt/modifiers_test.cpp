// Every modifier of every opcode is known, or the kernel is rejected with the instruction's name and line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernel_fixture.h"
#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Registers: %r has 32 bits, %l 64, %h 16; %p are predicates.
constexpr const char* forms[] = {
    "add.s32 %r1, %r2, %r3",
    "add.sat.s32 %r1, %r2, %r3",
    "add.cc.u64 %l1, %l2, %l3",
    "add.u16x2 %r1, %r2, %r3",
    "add.rn.ftz.sat.f32 %r1, %r2, %r3",
    "add.rz.f64 %l1, %l2, %l3",
    "add.rn.ftz.f16x2 %r1, %r2, %r3",
    "sub.s64 %l1, %l2, %l3",
    "sub.rm.f32 %r1, %r2, %r3",
    "sub.f16 %h1, %h2, %h3",
    "addc.cc.u32 %r1, %r2, %r3",
    "subc.u32 %r1, %r2, %r3",
    "mul.lo.s32 %r1, %r2, %r3",
    "mul.hi.u64 %l1, %l2, %l3",
    "mul.wide.u32 %l1, %r2, %r3",
    "mul.rp.f32 %r1, %r2, %r3",
    "mul.rn.f64 %l1, %l2, %l3",
    "mul.bf16x2 %r1, %r2, %r3",
    "mad.lo.cc.u32 %r1, %r2, %r3, %r4",
    "mad.hi.sat.s32 %r1, %r2, %r3, %r4",
    "mad.wide.s16 %r1, %h2, %h3, %r4",
    "mad.rn.f32 %r1, %r2, %r3, %r4",
    "madc.hi.cc.u32 %r1, %r2, %r3, %r4",
    "mul24.lo.u32 %r1, %r2, %r3",
    "mad24.hi.sat.s32 %r1, %r2, %r3, %r4",
    "fma.rn.ftz.f32 %r1, %r2, %r3, %r4",
    "fma.rn.f64 %l1, %l2, %l3, %l4",
    "fma.rn.relu.f16x2 %r1, %r2, %r3, %r4",
    "fma.rn.f16 %h1, %h2, %h3, %h4",
    "div.s32 %r1, %r2, %r3",
    "div.rn.f32 %r1, %r2, %r3",
    "div.approx.ftz.f32 %r1, %r2, %r3",
    "div.full.f32 %r1, %r2, %r3",
    "rem.u64 %l1, %l2, %l3",
    "abs.s32 %r1, %r2",
    "abs.ftz.f32 %r1, %r2",
    "abs.f16 %h1, %h2",
    "neg.s64 %l1, %l2",
    "neg.ftz.f32 %r1, %r2",
    "neg.bf16x2 %r1, %r2",
    "min.s32 %r1, %r2, %r3",
    "min.relu.s16x2 %r1, %r2, %r3",
    "max.ftz.NaN.f32 %r1, %r2, %r3",
    "max.f32 %r1, %r2, %r3, %r4",
    "min.NaN.f16x2 %r1, %r2, %r3",
    "sad.u32 %r1, %r2, %r3, %r4",
    "and.b32 %r1, %r2, %r3",
    "or.pred %p1, %p2, %p3",
    "xor.b64 %l1, %l2, %l3",
    "not.b16 %h1, %h2",
    "cnot.b32 %r1, %r2",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x96",
    "shl.b64 %l1, %l2, %r3",
    "shr.s32 %r1, %r2, %r3",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4",
    "shf.r.clamp.b32 %r1, %r2, %r3, %r4",
    "popc.b64 %r1, %l2",
    "clz.b32 %r1, %r2",
    "brev.b32 %r1, %r2",
    "bfind.shiftamt.s32 %r1, %r2",
    "bfe.u64 %l1, %l2, %r3, %r4",
    "bfi.b32 %r1, %r2, %r3, %r4, %r5",
    "fns.b32 %r1, %r2, %r3, %r4",
    "szext.wrap.u32 %r1, %r2, %r3",
    "bmsk.clamp.b32 %r1, %r2, %r3",
    "prmt.b32 %r1, %r2, %r3, %r4",
    "prmt.b32.f4e %r1, %r2, %r3, %r4",
    "dp4a.u32.s32 %r1, %r2, %r3, %r4",
    "dp2a.lo.u32.s32 %r1, %r2, %r3, %r4",
    "mov.b32 %r1, %r2",
    "mov.b64 %l1, {%r1, %r2}",
    "mov.b64 {%r1, %r2}, %l1",
    "mov.u32 %r1, %tid.x",
    "selp.b32 %r1, %r2, %r3, %p1",
    "slct.u32.s32 %r1, %r2, %r3, %r4",
    "slct.ftz.f32.f32 %r1, %r2, %r3, %r4",
    "setp.lt.s32 %p1, %r2, %r3",
    "setp.ne.and.ftz.f32 %p1|%p2, %r2, %r3, %p3",
    "setp.geu.f64 %p1, %l2, %l3",
    "setp.lt.f16 %p1, %h2, %h3",
    "set.eq.u32.f32 %r1, %r2, %r3",
    "set.lt.xor.f32.s32 %r1, %r2, %r3, %p1",
    "sqrt.rn.ftz.f32 %r1, %r2",
    "sqrt.approx.f32 %r1, %r2",
    "rcp.rn.f64 %l1, %l2",
    "rcp.approx.ftz.f32 %r1, %r2",
    "rcp.approx.ftz.f64 %l1, %l2",
    "rsqrt.approx.ftz.f32 %r1, %r2",
    "ex2.approx.ftz.f32 %r1, %r2",
    "lg2.approx.f32 %r1, %r2",
    "sin.approx.f32 %r1, %r2",
    "cos.approx.ftz.f32 %r1, %r2",
    "tanh.approx.f32 %r1, %r2",
    "copysign.f32 %r1, %r2, %r3",
    "testp.subnormal.f64 %p1, %l2",
    "cvt.u64.u32 %l1, %r2",
    "cvt.sat.s8.s32 %h1, %r2",
    "cvt.rzi.sat.s32.f32 %r1, %r2",
    "cvt.rni.ftz.s64.f32 %l1, %r2",
    "cvt.rn.f32.s32 %r1, %r2",
    "cvt.rz.sat.f32.u64 %r1, %l2",
    "cvt.rn.ftz.sat.f32.f64 %r1, %l2",
    "cvt.f64.f32 %l1, %r2",
    "cvt.rni.f32.f32 %r1, %r2",
    "cvt.rn.f16.f32 %h1, %r2",
    "cvt.rn.relu.f16x2.f32 %r1, %r2, %r3",
    "cvt.f32.f16 %r1, %h2",
    "cvt.rzi.sat.s32.f16 %r1, %h2",
    "cvt.rn.f16.s32 %h1, %r2",
    "ld.global.u32 %r1, [%l1]",
    "ld.relaxed.gpu.global.L1::evict_last.L2::128B.v2.b32 {%r1, %r2}, [%l1]",
    "ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%r1, %r2, %r3, %r4}, [%l1]",
    "ld.volatile.shared.b64 %l1, [%r1]",
    "ld.shared::cta.s8 %h1, [%r1]",
    "ld.acquire.sys.u64 %l1, [%l2]",
    "ld.global.ca.f32 %r1, [%l1]",
    "ld.param.u64 %l1, [out]",
    "ld.const.b16 %h1, [%l1]",
    "ld.weak.local.u32 %r1, [%l1]",
    "ldu.global.u32 %r1, [%l1]",
    "st.global.u32 [%l1], %r1",
    "st.release.cta.v2.u32 [%l1], {%r1, %r2}",
    "st.shared.cs.b64 [%r1], %l1",
    "st.global.wb.L1::no_allocate.u8 [%l1], %h1",
    "atom.global.add.u32 %r1, [%l1], %r2",
    "atom.acq_rel.sys.shared::cta.cas.b64 %l1, [%r1], %l2, %l3",
    "atom.add.noftz.f16x2 %r1, [%l1], %r2",
    "red.relaxed.gpu.global.max.s64 [%l1], %l2",
    "cvta.to.global.u64 %l1, %l2",
    "cvta.shared.u64 %l1, %l2",
    "isspacep.shared::cta %p1, %l1",
    "isspacep.global %p1, %l1",
    "membar.gl",
    "fence.acq_rel.gpu",
    "fence.proxy.alias",
    "vote.sync.any.pred %p1, %p2, -1",
    "vote.sync.ballot.b32 %r1, !%p2, -1",
    "vote.uni.pred %p1, %p2",
    "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1",
    "shfl.up.b32 %r1, %r2, %r3, 0",
    "match.any.sync.b64 %r1, %l2, -1",
    "match.all.sync.b32 %r1|%p1, %r2, -1",
    "redux.sync.add.s32 %r1, %r2, -1",
    "redux.sync.min.f32 %r1, %r2, -1",
    "redux.sync.max.abs.NaN.f32 %r1, %r2, -1",
    "activemask.b32 %r1",
    "elect.sync %r1|%p1, -1",
    "bra.uni end",
    "bra end",
    "bar.sync 0",
    "bar.warp.sync -1",
    "bar.cta.sync 0",
    "bar.red.popc.u32 %r1, 0, %p1",
    "bar.cta.red.and.pred %p1, 0, %p2",
    "barrier.sync.aligned 0",
    "barrier.cta.arrive 0, 64",
    "barrier.cluster.arrive",
    "barrier.cluster.arrive.release.aligned",
    "barrier.cluster.arrive.relaxed",
    "barrier.cluster.wait.acquire.aligned",
    "mapa.shared::cluster.u32 %r1, %r2, %r3",
    "mapa.u64 %l1, %l2, %r3",
    "getctarank.shared::cluster.u32 %r1, %r2",
    "getctarank.u64 %l1, %l2",
    "cvta.to.shared::cluster.u64 %l1, %l2",
    "isspacep.shared::cluster %p1, %l1",
    "prefetch.global.L2::evict_last [%l1]",
    "prefetchu.L1 [%l1]",
    "discard.global.L2 [%l1], 128",
    "applypriority.global.L2::evict_normal [%l1], 128",
    "nanosleep.u32 20",
    "pmevent 1",
    "pmevent.mask 1",
    "griddepcontrol.wait",
    "griddepcontrol.launch_dependents",
    "brkpt",
    "trap",
    "exit",
    "ret.uni",
    "call.uni callee, (%r1)",
    "brx.idx.uni %r1, targets",
};

std::string failure_of(const std::string& instruction) {
  const auto module = load(
      ".func callee(.reg .b32 %x) {\n  ret;\n}\n"
      ".visible .entry test(.param .u64 out) {\n  .reg .b32 %r<8>;\n  .reg .b64 %l<8>;\n  .reg .b16 %h<8>;\n"
      "  .reg .pred %p<8>;\n  setp.eq.u32 %p7, 0, 1;\n  @%p7 bra run;\n  bra end;\nrun:\n" +
      std::string(instruction.starts_with("brx") ? "targets: .branchtargets end;\n" : "\n") + instruction +
      ";\nend:\n  ret;\n}\n");
  if (module == nullptr) return "no module";
  std::uint64_t out = 0;
  return text_of(module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, Arguments(&out).bytes(), nullptr));
}

/// Inserts `modifier` after the root, or after the last modifier.
std::string with_modifier(const std::string& form, const std::string& modifier, bool last) {
  const std::size_t space = std::min(form.find(' '), form.size());
  const std::size_t at = last ? space : std::min(form.find('.'), space);
  return form.substr(0, at) + "." + modifier + form.substr(at);
}

TEST(Modifiers, AreAcceptedByTheirForms) {
  for (const char* form : forms) EXPECT_EQ(failure_of(form), "") << form;
}

TEST(Modifiers, AreRejectedByNameOtherwise) {
  // The first is not a modifier; the others belong to other opcodes or to unsupported forms.
  for (const char* modifier : {"bogus", "oob", "rs", "scale"}) {
    for (const char* form : forms) {
      const std::string instruction = with_modifier(form, modifier, false);
      const std::string text = failure_of(instruction);
      EXPECT_THAT(text, StartsWith("test.ptx:17:")) << instruction;
      EXPECT_THAT(text, HasSubstr("'" + instruction.substr(0, instruction.find(' ')) + "'"));
    }
  }
  EXPECT_THAT(failure_of("add.bogus.s32 %r1, %r2, %r3"), HasSubstr("unknown modifier '.bogus'"));
}

TEST(Modifiers, BelongingToOtherFormsAreRejected) {
  for (const char* instruction :
       {"fma.rn.oob.f16x2 %r1, %r2, %r3, %r4",
        "fma.rn.oob.relu.bf16 %h1, %h2, %h3, %h4",
        "cvt.rs.satfinite.e2m1x4.f32 %h1, {%r2, %r3, %r4, %r5}, %r6",
        "cvt.rm.satfinite.f16.f32 %h1, %r2",
        "cvt.rs.f16.f32 %h1, %r2, %r3",
        "atom.global.min.noftz.f16 %h1, [%l1], %h2",
        "cvt.rn.scaled::n2::ue8m0.f16x2.f32 %r1, %r2, %r3",
        "add.rn.f32.f16 %r1, %h2, %r3",
        "fma.rn.f32.bf16 %r1, %h2, %h3, %r4",
        "fma.rn.relu.f32 %r1, %r2, %r3, %r4",
        "min.xorsign.f32 %r1, %r2, %r3",
        "redux.sync.add.f32 %r1, %r2, -1",
        "redux.sync.min.abs.s32 %r1, %r2, -1",
        "add.sat.u32 %r1, %r2, %r3",
        "add.sat.s64 %l1, %l2, %l3",
        "mul.cc.lo.u32 %r1, %r2, %r3",
        "and.cc.b32 %r1, %r2, %r3",
        "min.abs.f32 %r1, %r2, %r3",
        "atom.global.add.noftz.v2.f32 %r1, [%l1], %r2",
        "red.async.relaxed.cluster.shared::cluster.add.u32 [%r1], %r2",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.u32 "
        "[%r1], %r2, [%r3]",
        "st.async.u32 [%r1], %r2",
        "ld.global.texture.u32 %r1, [%l1]",
        "setp.lt.sat.s32 %p1, %r2, %r3",
        "mov.wide.u32 %r1, %r2",
        "barrier.cluster.arrive.acquire",
        "barrier.cluster.wait.release",
        "barrier.cluster",
        "shfl.sync.ring.b32 %r1, %r2, %r3, 31, -1",
        "lop3.or.b32 %r1, %r2, %r3, %r4, 1"}) {
    EXPECT_THAT(failure_of(instruction), HasSubstr("is not supported by the cpu device")) << instruction;
  }
}

TEST(Modifiers, EveryOpcodeIsTestedOrRejected) {
  std::set<std::string> tested;
  for (const std::string form : forms) tested.insert(form.substr(0, form.find_first_of(". ")));
  static constexpr const char* mnemonics[] = {
#define PTX_OPCODE(name, mnemonic, kind, destinations, purity) mnemonic,
#define PTX_FORM(mnemonic, kind, destinations, purity) mnemonic,
#include "ptx/ir/opcodes.def"
  };
  for (const std::string mnemonic : mnemonics) {
    if (tested.contains(mnemonic.substr(0, mnemonic.find('.')))) continue;
    EXPECT_THAT(failure_of(mnemonic + ".b32 %r1, %r2"), HasSubstr("is not supported by the cpu device"))
        << mnemonic;
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
