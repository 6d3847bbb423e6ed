// Counting on few edges compared with the device's own counters: kernels with every shape of control flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

struct Kernel {
  const char* name;
  const char* functions;
  const char* body;
};

constexpr Kernel kernels[] = {
    {"straight", "", "st.global.u32 [%rd1], %r4;\nret;"},
    {"falls_off", "", "st.global.u32 [%rd1], %r4;"},
    {"early_exit", "", "setp.gt.u32 %p1, %r4, 40;\n@%p1 bra E;\nst.global.u32 [%rd1], %r4;\nE: ret;"},
    {"guarded_exits", "",
     "and.b32 %r9, %r4, 1;\nsetp.ne.u32 %p1, %r9, 0;\n@%p1 exit;\nsetp.lt.u32 %p2, %r4, 20;\n@!%p2 "
     "ret;\nst.global.u32 [%rd1], %r4;\n@%p2 "
     "exit;"},
    {"uniform_loop", "",
     "L: add.u32 %r7, %r7, 1;\nadd.u32 %r8, %r8, %r4;\nsetp.lt.u32 %p1, %r7, 9;\n@%p1 bra L;\nst.global.u32 "
     "[%rd1], %r8;\nret;"},
    {"divergent_loop", "",
     "and.b32 %r9, %r4, 7;\nsetp.eq.u32 %p2, %r9, 5;\nL: add.u32 %r7, %r7, 1;\n@%p2 add.u32 %r8, %r8, "
     "1;\nsetp.gt.u32 %p2, %r7, 3;\n@!%p2 sub.u32 %r8, %r8, 1;\nsetp.lt.u32 "
     "%p1, %r7, %r9;\n@%p1 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"diamond_in_loop", "",
     "L: add.u32 %r7, %r7, 1;\nxor.b32 %r9, %r7, %r4;\nand.b32 %r9, %r9, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 "
     "bra A;\nadd.u32 %r8, %r8, 3;\nbra "
     "B;\nA: add.u32 %r8, %r8, 5;\nB: setp.lt.u32 %p2, %r7, 20;\n@%p2 bra L;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"sums_in_bytes", "",
     "L: add.u32 %r7, %r7, 1;\nxor.b32 %r9, %r7, %r4;\nand.b32 %r9, %r9, 3;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 "
     "bra A;\nsetp.eq.u32 %p1, %r9, 1;\n@%p1 bra B;\nadd.u32 %r8, %r8, 3;\nbra C;\nA: add.u32 %r8, %r8, "
     "5;\nbra C;\nB: "
     "add.u32 %r8, %r8, 1;\nC: setp.lt.u32 %p2, %r7, 6;\n@%p2 bra L;\nsetp.lt.u32 %p1, %r4, 40;\n@%p1 bra "
     "D;\nadd.u32 "
     "%r8, %r8, 2;\nbra E;\nD: mul.lo.u32 %r8, %r8, 3;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"switch", "",
     "T: .branchtargets A, B, A, C;\nL: shr.u32 %r9, %r5, 3;\nand.b32 %r9, %r9, 3;\nsetp.lt.u32 %p1, %r7, "
     "3;\n@%p1 brx.idx %r9, T;\nadd.u32 %r8, %r8, "
     "7;\nA: add.u32 %r8, %r8, 1;\nB: add.u32 %r8, %r8, 2;\nC: add.u32 %r7, %r7, 1;\nmul.lo.u32 %r5, %r5, "
     "5;\nsetp.lt.u32 %p2, %r7, 6;\n@%p2 bra "
     "L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"irreducible", "",
     "and.b32 %r9, %r4, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra B;\nA: add.u32 %r8, %r8, 1;\nB: add.u32 %r7, "
     "%r7, 1;\nsetp.lt.u32 %p2, %r7, 5;\n@%p2 "
     "bra A;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"conditions", "",
     "and.b32 %r9, %r5, 15;\nsetp.gt.u32 %p1, %r4, 270;\n@%p1 bra E;\nsetp.lt.u32 %p2, %r9, 4;\n@%p2 bra "
     "A;\nsetp.eq.u32 %p3, %r9, 9;\n@%p3 bra A;\nadd.u32 %r8, %r8, 1;\nbra B;\nA: add.u32 %r8, %r8, 5;\nB: "
     "setp.gt.u32 %p1, %r9, 10;\n@!%p1 bra C;\nadd.u32 %r8, %r8, 7;\nsetp.gt.u32 %p2, %r9, 13;\n@%p2 bra "
     "C;\nadd.u32 %r8, %r8, 9;\nC: st.global.u32 [%rd1], %r8;\nE: ret;"},
    {"conditions_behind_a_loop", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nsetp.gt.u32 "
     "%p2, %r7, 3;\n@%p2 bra A;\nadd.u32 %r8, %r8, 1;\nsetp.gt.u32 %p3, %r7, 1;\n@%p3 bra A;\nadd.u32 %r8, "
     "%r8, 2;\nA: st.global.u32 [%rd1], %r8;\nret;"},
    {"leaves_before_a_barrier", "",
     "and.b32 %r9, %r5, 15;\nsetp.gt.u32 %p1, %r9, 11;\n@%p1 bra E;\nsetp.lt.u32 %p2, %r9, 4;\n@%p2 bra "
     "A;\nadd.u32 %r8, %r8, 1;\nA: bar.sync 0;\nsetp.eq.u32 %p3, %r9, 9;\n@%p3 bra B;\nadd.u32 %r8, %r8, "
     "5;\nB: st.global.u32 [%rd1], %r8;\nE: ret;"},
    {"unreachable", "", "bra E;\nadd.u32 %r8, %r8, 1;\nX: @%p1 bra X;\nE: st.global.u32 [%rd1], %r4;\nret;"},
    {"barriers", "",
     "and.b32 %r9, %r4, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra A;\nadd.u32 %r8, %r8, 1;\nA: bar.sync 0;\nL: "
     "add.u32 %r7, %r7, 1;\nbar.sync "
     "0;\nsetp.lt.u32 %p2, %r7, 4;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"barriers_in_a_loop_that_all_skip_or_none", "",
     "setp.lt.u32 %p3, %r3, 2;\n@%p3 bra Z;\nL: add.u32 %r7, %r7, 1;\nbar.sync 0;\nxor.b32 %r9, %r7, "
     "%r4;\nshr.u32 "
     "%r9, %r9, 2;\nsetp.lt.u32 %p1, %r9, 3;\n@%p1 bra A;\nadd.u32 %r8, %r8, 1;\nadd.u32 %r8, %r8, 5;\nA: "
     "bar.sync "
     "0;\nsetp.lt.u32 %p2, %r7, 9;\n@%p2 bra L;\nZ: setp.ne.u32 %p1, %r1, 3;\n@%p1 bra E;\nadd.u32 %r8, %r8, "
     "7;\nE: "
     "st.global.u32 [%rd1], %r8;\nret;"},
    {"functions",
     ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
     "[a];\nmov.u32 %i, 0;\nL: add.u32 %i, %i, 1;\nsetp.lt.u32 "
     "%p, %i, %a;\n@%p bra L;\nst.param.u32 [r], %i;\nret;\n}\n"
     ".func (.param .u32 r) f(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %b;\nld.param.u32 %a, "
     "[a];\nsetp.gt.u32 %p, %a, 4;\n@%p bra "
     "E;\n{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %a;\ncall (y), g, (x);\nld.param.u32 %b, "
     "[y];\n}\nadd.u32 %a, %a, %b;\nE: "
     "st.param.u32 [r], %a;\nret;\n}\n",
     "and.b32 %r9, %r4, 7;\nL: add.u32 %r7, %r7, 1;\n{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], "
     "%r9;\ncall (y), f, (x);\nld.param.u32 %r10, "
     "[y];\n}\nadd.u32 %r8, %r8, %r10;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"exits_in_a_function",
     ".func f(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a;\nld.param.u32 %a, [a];\nsetp.gt.u32 %p, %a, "
     "5;\n@%p exit;\nret;\n}\n",
     "and.b32 %r9, %r4, 7;\nL: add.u32 %r7, %r7, 1;\nst.global.u32 [%rd1], %r7;\nadd.u32 %r10, %r9, "
     "%r7;\n{\n.param .u32 x;\nst.param.u32 [x], "
     "%r10;\ncall f, (x);\n}\nsetp.lt.u32 %p1, %r7, 4;\n@%p1 bra L;\nret;"},
    {"recursion",
     ".func (.param .u32 r) f(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %b;\nld.param.u32 %a, "
     "[a];\nmov.u32 %b, 0;\nsetp.eq.u32 %p, %a, 0;\n@%p bra E;\n"
     "{\n.param .u32 x;\n.param .u32 y;\nsub.u32 %a, %a, 1;\nst.param.u32 [x], %a;\ncall (y), f, "
     "(x);\nld.param.u32 %b, [y];\n}\nadd.u32 %b, %b, 1;\nE: "
     "st.param.u32 [r], %b;\nret;\n}\n",
     "and.b32 %r9, %r4, 3;\n{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %r9;\ncall (y), f, "
     "(x);\nld.param.u32 %r10, [y];\n}\nst.global.u32 [%rd1], "
     "%r10;\nret;"},
    {"guarded_call", ".func f()\n{\nret;\n}\n",
     "and.b32 %r9, %r4, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 call f;\nst.global.u32 [%rd1], %r4;\nret;"},
};

// Loops that lanes exit in different iterations. %r9 is between 0 and 7 and varies by lane.
constexpr Kernel loops[] = {
    {"two_exits", "",
     "and.b32 %r9, %r5, 7;\nand.b32 %r10, %r4, 5;\nL: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, %r9;\n@%p1 "
     "bra E;\nadd.u32 %r8, %r8, %r7;\nsetp.le.u32 %p2, %r7, %r10;\n@%p2 bra L;\nE: st.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"exits_to_different_blocks", "",
     "and.b32 %r9, %r5, 7;\nand.b32 %r10, %r4, 5;\nL: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, %r9;\n@%p1 "
     "bra X;\nadd.u32 %r8, %r8, %r7;\nsetp.le.u32 %p2, %r7, %r10;\n@%p2 bra L;\nadd.u32 %r8, %r8, 5;\nbra "
     "E;\nX: add.u32 %r8, %r8, 9;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"a_uniform_exit_too", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, 4;\n@%p1 bra X;\nadd.u32 %r8, "
     "%r8, "
     "%r7;\nsetp.le.u32 %p2, %r7, %r9;\n@%p2 bra L;\nbra E;\nX: add.u32 %r8, %r8, 9;\nE: st.global.u32 "
     "[%rd1], %r8;\nret;"},
    {"nested", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nshr.u32 %r5, %r5, 1;\nand.b32 %r10, %r5, 3;\nM: add.u32 "
     "%r8, %r8, 1;\nsub.u32 %r10, %r10, 1;\nsetp.gt.s32 %p1, %r10, 0;\n@%p1 bra M;\nsetp.lt.u32 %p2, %r7, "
     "%r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"leaves_both", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nshr.u32 %r5, %r5, 1;\nand.b32 %r10, %r5, 3;\nM: add.u32 "
     "%r8, %r8, 1;\nsetp.gt.u32 %p3, %r8, 12;\n@%p3 bra E;\nsub.u32 %r10, %r10, 1;\nsetp.gt.s32 %p1, %r10, "
     "0;\n@%p1 bra M;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"continues", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nxor.b32 %r10, %r7, %r4;\nand.b32 %r10, %r10, "
     "1;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra N;\nadd.u32 %r8, %r8, 3;\nN: setp.le.u32 %p2, %r7, %r9;\n@%p2 "
     "bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"continues_and_breaks", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nxor.b32 %r10, %r7, %r4;\nand.b32 %r10, %r10, "
     "3;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra N;\nsetp.eq.u32 %p3, %r10, 3;\n@%p3 bra E;\nadd.u32 %r8, %r8, "
     "3;\nN: setp.le.u32 %p2, %r7, %r9;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"breaks_in_a_condition", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nand.b32 %r10, %r7, 1;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 "
     "bra N;\nsetp.gt.u32 %p3, %r7, %r9;\n@%p3 bra E;\nadd.u32 %r8, %r8, 3;\nN: setp.lt.u32 %p2, %r7, "
     "6;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"jumps_back_from_two_places", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, %r9;\n@%p1 bra E;\nand.b32 %r10, "
     "%r7, 1;\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra L;\nadd.u32 %r8, %r8, 3;\nbra L;\nE: st.global.u32 "
     "[%rd1], "
     "%r8;\nret;"},
    {"returns", "",
     "and.b32 %r9, %r5, 7;\nst.global.u32 [%rd1], %r9;\nL: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, "
     "%r9;\n@%p1 ret;\nadd.u32 %r8, %r8, %r7;\nsetp.le.u32 %p2, %r7, 5;\n@%p2 bra L;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"skipped_by_some", "",
     "and.b32 %r9, %r5, 7;\nsetp.lt.u32 %p3, %r9, 2;\n@%p3 bra E;\nadd.u32 %r8, %r8, 1;\nL: add.u32 %r7, "
     "%r7, "
     "1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"right_behind_a_division", "",
     "and.b32 %r9, %r5, 7;\nsetp.lt.u32 %p3, %r9, 2;\n@%p3 bra X;\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, "
     "%r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r7;\nX: ret;"},
    {"some_leave_before", "",
     "and.b32 %r9, %r5, 7;\nsetp.lt.u32 %p3, %r9, 2;\n@%p3 ret;\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, "
     "%r7, %r9;\n@%p2 bra L;\nadd.u32 %r8, %r8, %r7;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"jumped_to", "",
     "and.b32 %r9, %r5, 7;\nsetp.lt.u32 %p3, %r9, 5;\n@%p3 bra L;\nadd.u32 %r8, %r8, 7;\nbra E;\nL: add.u32 "
     "%r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"on_both_paths", "",
     "and.b32 %r9, %r5, 7;\nsetp.lt.u32 %p3, %r9, 4;\n@%p3 bra X;\nmov.u32 %r10, 2;\nL: add.u32 %r7, %r7, "
     "1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nbra E;\nX: mov.u32 %r10, 3;\nM: add.u32 %r8, %r8, "
     "2;\nsetp.lt.u32 %p2, %r8, %r9;\n@%p2 bra M;\nE: add.u32 %r8, %r8, %r10;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"entered_by_two_edges", "",
     "and.b32 %r9, %r5, 7;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra E;\nsetp.lt.u32 %p3, %r9, 4;\n@%p3 bra "
     "Q;\nsetp.eq.u32 %p3, %r9, 5;\n@%p3 bra E;\nadd.u32 %r8, %r8, 1;\nQ: add.u32 %r8, %r8, 1;\nL: add.u32 "
     "%r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"one_after_the_other", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nM: add.u32 "
     "%r8, "
     "%r8, 2;\nsetp.lt.u32 %p2, %r8, %r9;\n@%p2 bra M;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"exchanges_with_other_lanes", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nactivemask.b32 %r10;\nshfl.sync.idx.b32 %r11, %r7, 0, "
     "31, "
     "%r10;\nsetp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r7;\nret;"},
    {"barriers_around", "",
     "and.b32 %r9, %r5, 7;\nM: mov.u32 %r7, 0;\nbar.sync 0;\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, "
     "%r9;\n@%p2 bra L;\nadd.u32 %r8, %r8, 1;\nbar.sync 0;\nsetp.lt.u32 %p1, %r8, 3;\n@%p1 bra "
     "M;\nst.global.u32 [%rd1], %r7;\nret;"},
    {"calls",
     ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
     "[a];\nmov.u32 %i, 0;\nsetp.eq.u32 %p, %a, 3;\n@%p bra E;\nadd.u32 %i, %i, 0;\nL: add.u32 %i, %i, "
     "1;\nsetp.lt.u32 %p, %i, %a;\n@%p bra L;\nE: st.param.u32 [r], %i;\nret;\n}\n",
     "and.b32 %r9, %r5, 7;\n{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %r9;\ncall (y), g, "
     "(x);\nld.param.u32 %r10, [y];\n}\nL: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r10;\n@%p1 bra "
     "L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"switches", "",
     "T: .branchtargets A, B, C;\nand.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nxor.b32 %r10, %r7, "
     "%r5;\nand.b32 %r10, %r10, 1;\nbrx.idx %r10, T;\nA: add.u32 %r8, %r8, 1;\nbra N;\nB: add.u32 %r8, %r8, "
     "2;\nbra N;\nC: add.u32 %r8, %r8, 3;\nN: setp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], "
     "%r8;\nret;"},
    {"switches_on_constants", "",
     "T: .branchtargets A, B, C, B;\nand.b32 %r9, %r5, 7;\nsetp.lt.u32 %p1, %r5, 9;\nL: add.u32 %r7, %r7, "
     "1;\n@%p1 brx.idx 1, T;\nA: add.u32 %r8, %r8, 1;\nbrx.idx (1+2), T;\nC: add.u32 %r8, %r8, 2;\nB: "
     "setp.lt.u32 %p2, %r7, %r9;\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;"},
    {"switch_continues_and_leaves", "",
     "T: .branchtargets A, B, E, E;\nL: add.u32 %r7, %r7, 1;\nmad.lo.u32 %r5, %r5, 1664525, "
     "1013904223;\nshr.u32 %r9, %r5, 30;\nbrx.idx %r9, T;\nA: add.u32 %r8, %r8, 1;\nbra L;\nB: add.u32 "
     "%r8, %r8, 2;\nbra L;\nE: st.global.u32 [%rd1], %r8;\nret;"},
    {"exits_under_a_guard", "",
     "and.b32 %r9, %r5, 7;\nL: add.u32 %r7, %r7, 1;\nst.global.u32 [%rd1], %r7;\nsetp.gt.u32 %p2, %r7, "
     "%r9;\n@%p2 exit;\nbra L;"},
};

class CountedKernel : public testing::TestWithParam<Kernel> {};

TEST_P(CountedKernel, MatchesTheDevicesCounters) {
  for (const std::uint32_t threads : {1u, 31u, 32u, 96u, 100u}) {
    CountedLaunch launch(module_of(GetParam().functions, GetParam().body), 3, threads);
    launch.native();
    if (HasFatalFailure()) return;
    launch.expect_exact();
    launch.expect_exact(true);
    launch.expect_exact(false, 75);  // no redux.sync
    EXPECT_TRUE(launch.has_exact_sums()) << launch.variant();
    EXPECT_TRUE(launch.has_exact_sums(true)) << launch.variant();
    EXPECT_TRUE(launch.has_exact_sums(false, 75)) << launch.variant();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CountedKernel, testing::ValuesIn(kernels),
                         [](const auto& each) { return each.param.name; });

class CountedLoop : public testing::TestWithParam<Kernel> {};

TEST_P(CountedLoop, MatchesTheDevicesCounters) {
  for (const std::uint32_t threads : {1u, 32u, 75u}) {
    CountedLaunch launch(module_of(GetParam().functions, GetParam().body), 2, threads);
    launch.native();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(launch.is_exact()) << launch.variant();
    ASSERT_TRUE(launch.has_exact_sums()) << launch.variant();
    if (threads == 75) launch.expect_exact();
  }
}

INSTANTIATE_TEST_SUITE_P(All, CountedLoop, testing::ValuesIn(loops),
                         [](const auto& each) { return each.param.name; });

/// The lanes that a switch keeps in the loop take turns, so that none of them has the warp's trip count.
TEST(CountedLoops, LanesDoNotIterateTogetherIfTheyDivergeAtASwitch) {
  const auto* const kernel =
      std::ranges::find(loops, std::string_view("switch_continues_and_leaves"), &Kernel::name);
  CountedLaunch launch(module_of("", kernel->body), 2, 64);
  launch.native();
  launch.count(everything, false, false, 90);
  EXPECT_TRUE(launch.plan().functions.front().lane_loops.empty());
}

/// True if lanes count for the warp in the kernel's loops.
bool counts_by_lanes(const Kernel& kernel) {
  CountedLaunch launch(module_of(kernel.functions, kernel.body), 1, 32);
  launch.native();
  launch.count(everything, false, false, 90);
  return launch.variant().find("redux.sync.max") != std::string::npos;
}

TEST(CountedKernels, LanesCountWhereTheyConvergeAfterALoop) {
  const std::set<std::string> elected = {"leaves_both",
                                         "continues_and_breaks",
                                         "breaks_in_a_condition",
                                         "returns",
                                         "exchanges_with_other_lanes",
                                         "entered_by_two_edges",
                                         "barriers_around",  // in another loop
                                         "switch_continues_and_leaves",
                                         "exits_under_a_guard"};
  for (const Kernel& kernel : loops)
    EXPECT_EQ(counts_by_lanes(kernel), !elected.contains(kernel.name)) << kernel.name;
}

/// True if lanes wait for each other before they exit, to combine one-time events.
bool leaves_together(const std::string& name) {
  const Kernel& kernel = *std::ranges::find(kernels, name, &Kernel::name);
  CountedLaunch launch(module_of(kernel.functions, kernel.body), 1, 32);
  launch.native();
  launch.count(everything, false, false, 90);
  return launch.variant().find("redux.sync.or") != std::string::npos;
}

TEST(CountedKernels, LanesExitTogetherUnlessOthersWaitForTheirExit) {
  EXPECT_TRUE(leaves_together("conditions"));
  EXPECT_TRUE(leaves_together("conditions_behind_a_loop"));
  EXPECT_TRUE(leaves_together("barriers_in_a_loop_that_all_skip_or_none"));
  EXPECT_FALSE(leaves_together("leaves_before_a_barrier"));
  EXPECT_FALSE(leaves_together("guarded_exits"));
  EXPECT_FALSE(leaves_together("exits_in_a_function"));
}

TEST(CountedKernels, MoreConditionsThanBitsAreExact) {
  std::string body;
  for (int i = 0; i < 110; ++i) {
    const std::string label = "Skip" + std::to_string(i);
    body +=
        "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r9, %r5, 20;\nand.b32 %r9, %r9, "
        "31;\nsetp.ne.u32 %p1, %r9, 3;\n@%p1 bra " +
        label + ";\nadd.u32 %r8, %r8, 1;\n" + label + ":\n";
  }
  for (const std::uint32_t threads : {5u, 75u}) {
    CountedLaunch launch(module_of("", body + "st.global.u32 [%rd1], %r8;\nret;"), 2, threads);
    launch.native();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(launch.is_exact());
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(launch.variant(), 80), "");
    }
  }
}
TEST(CountedKernels, SumsOfAnySizeAreExact) {
  // Values that fit in a byte, a half word, a word.
  for (const std::uint32_t iterations : {6u, 300u, 2500u}) {
    const std::string body =
        "L: add.u32 %r7, %r7, 1;\nxor.b32 %r9, %r7, %r4;\nand.b32 %r9, %r9, 3;\nsetp.eq.u32 %p1, %r9, 0;\n"
        "@%p1 bra A;\nsetp.eq.u32 %p1, %r9, 1;\n@%p1 bra B;\nadd.u32 %r8, %r8, 3;\nbra C;\n"
        "A: add.u32 %r8, %r8, 5;\nbra C;\nB: add.u32 %r8, %r8, 1;\nC: setp.lt.u32 %p2, %r7, " +
        std::to_string(iterations) + ";\n@%p2 bra L;\nst.global.u32 [%rd1], %r8;\nret;";
    for (const int sm : {75, 90}) {
      CountedLaunch launch(module_of("", body), 2, 100);
      launch.native();
      ASSERT_TRUE(launch.is_exact(false, sm)) << iterations << " iterations, sm_" << sm;
    }
  }
}
/// Lane i iterates 2^27 - 16 + i times: half of the lanes have values that are not summed, and all lanes
/// together iterate 2^32 - 16 times.
TEST(CountedKernels, SumsBeyond32BitsAreExact) {
  CountedLaunch launch(module_of("",
                                 "and.b32 %r9, %r4, 31;\nadd.u32 %r9, %r9, 134217712;\nL: add.u32 %r7, "
                                 "%r7, 1;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\n"
                                 "st.global.u32 [%rd1], %r7;\nret;"),
                       1, 32);
  launch.native();
  ASSERT_TRUE(launch.has_exact_instructions()) << launch.variant();
}

/// No thread calls f, so the device does not know it; a launch can be compared repeatedly.
TEST(CountedKernels, CountsOfUncalledFunctionsAreExact) {
  const std::string function =
      ".func f()\n{\n.reg .pred %p;\n.reg .b32 %i;\nmov.u32 %i, 0;\nL: add.u32 %i, %i, 1;\nsetp.lt.u32 %p, "
      "%i, "
      "3;\n@%p bra L;\nret;\n}\n";
  CountedLaunch launch(
      module_of(function,
                "setp.lt.u32 %p1, %r3, 1025;\n@%p1 bra E;\ncall f;\nE: st.global.u32 [%rd1], %r8;\nret;"),
      2, 40);
  launch.native();
  for (const bool wide : {false, true, false}) EXPECT_TRUE(launch.is_exact(wide)) << launch.variant();
  launch.expect_exact();
}

/// Both edges of the branch reach the next instruction.
TEST(CountedKernels, BranchesToTheNextInstructionDoNotDiverge) {
  constexpr const char* specification = R"(
global unsigned long divergent[INSTRUCTIONS];
global unsigned long branches;
ON_INSTRUCTION: BRANCH: PREDICATED: OPCODE("bra*"): {
  int divides = divergentWarp(branchTarget());
  if (divides && leastActiveThreadInWarp()) atomicAdd(&divergent[instructionId()], 1);
  atomicAdd(&branches, 1);
}
)";
  const auto divergent = [&](const std::string& before_label) {
    CountedLaunch launch(module_of("", "and.b32 %r9, %r4, 1;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra N;\n" +
                                           before_label + "N: st.global.u32 [%rd1], %r8;\nret;"),
                         2, 64);
    launch.native();
    const auto counted = launch.count(specification, false, false, 90);
    return std::accumulate(counted[0].begin(), counted[0].end(), std::uint64_t{0});
  };
  EXPECT_EQ(divergent("add.u32 %r8, %r8, 1;\n"), 4u) << "every warp";
  EXPECT_EQ(divergent(""), 0u);
}

TEST(CountedKernels, CopySizesAreCountedSeparately) {
  constexpr const char* specification =
      "global unsigned long bytes[INSTRUCTIONS];\nON_INSTRUCTION: MEM_READ: GLOBAL: "
      "atomicAdd(&bytes[instructionId()], accessSize());\n";
  CountedLaunch launch(module_of("",
                                 ".shared .align 16 .b8 tile[32];\nmov.u32 %r10, tile;\nand.b32 %r9, %r4, "
                                 "4;\nld.param.u64 %rd3, [out];\n"
                                 "cp.async.ca.shared.global [%r10], [%rd3], 16, %r9;\n"
                                 "cp.async.ca.shared.global [%r10+16], [%rd3], 8, %r9;\n"
                                 "shl.b32 %r11, %r9, 1;\n"
                                 "cp.async.ca.shared.global [%r10+24], [%rd3], 4, %r11;\n"
                                 "cp.async.wait_all;\nst.global.u32 [%rd1], %r9;\nret;"),
                       2, 40);
  launch.native();
  const auto counted = launch.count(specification, false, false, 90);
  EXPECT_EQ(counted, launch.count(specification, true, false, 90)) << launch.variant();
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(std::ranges::count(counted[0], 2 * 20 * 4u), 3)
      << "half of the threads copy 4 bytes each time, also where the size is larger than the copy";
}

}  // namespace
}  // namespace lynxpp::cod
