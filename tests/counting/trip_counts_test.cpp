// Loops with an induction variable that yields the trip count (ptx/passes/counting/refine/trip_counts.h),
// compared with the device's own counters.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

const char* const warps_only =
    "global unsigned long warps[BASIC_BLOCKS];\nON_BASIC_BLOCK_ENTRY: { if (leastActiveThreadInWarp()) "
    "atomicAdd(&warps[basicBlockId()], 1); }\n";

enum Divided : bool { together = false, divided = true };

struct Loop {
  const char* name;
  bool counts_itself;  ///< no counter is needed between the labels L and M
  const char* body;
  const char* functions = "";
  Divided lanes = divided;  ///< lanes may exit it in different iterations
};

// %r9 is between 0 and 7 and varies by lane; %r7 and %r8 are 0. %r12 is 2 or another uniform value, but not a
// constant.
constexpr Loop loops[] = {
    {"one_block", true,
     "L: add.u32 %r7, %r7, 1;\nadd.u32 %r8, %r8, %r7;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"of_all_lanes", true,
     "L: add.u32 %r7, %r7, 1;\nadd.u32 %r8, %r8, %r7;\nsetp.lt.u32 %p1, %r7, 9;\n@%p1 bra L;\nM:", "",
     together},
    {"decreases", true,
     "mov.u32 %r10, 9;\nL: sub.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, 3;\nsetp.gt.u32 %p1, %r10, %r9;\n@%p1 "
     "bra L;\nM:"},
    {"decreases_from_where_lanes_differ", true,
     "add.u32 %r10, %r9, 1;\nL: add.s32 %r10, %r10, -1;\nadd.u32 %r8, %r8, 3;\nsetp.ne.u32 %p1, %r10, "
     "0;\n@%p1 bra "
     "L;\nM:"},
    {"wraps_around", true,
     "mov.u32 %r10, 4294967293;\nL: add.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, 3;\nsetp.ne.u32 %p1, %r10, "
     "%r9;\n@%p1 "
     "bra L;\nM:"},
    {"steps_by_two", false,
     "L: add.u32 %r7, %r7, 2;\nadd.u32 %r8, %r8, %r7;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"steps_by_two_and_skipped_by_some", false,
     "setp.eq.u32 %p1, %r9, 1;\n@%p1 bra M;\nL: add.u32 %r7, %r7, 2;\nadd.u32 %r8, %r8, %r7;\nsetp.lt.u32 "
     "%p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"steps_by_two_with_three_exits", false,
     "and.b32 %r10, %r4, 5;\nshr.u32 %r11, %r5, 9;\nand.b32 %r11, %r11, 14;\nL: setp.ge.u32 %p1, %r7, "
     "%r9;\n@%p1 bra X;\nadd.u32 %r7, %r7, 2;\nsetp.eq.u32 %p2, %r7, %r11;\n@%p2 bra Y;\nadd.u32 %r8, %r8, "
     "2;\nsetp.le.u32 %p2, %r7, %r10;\n@%p2 bra L;\nadd.u32 %r8, %r8, 3;\nbra M;\nX: add.u32 %r8, %r8, "
     "5;\nbra M;\nY: add.u32 %r8, %r8, 7;\nM:"},
    {"steps_by_two_in_a_loop", false,
     "mov.u32 %r11, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 7;\nsetp.eq.u32 %p3, %r9, 2;\n@%p3 bra "
     "M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 2;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, "
     "%r9;\n@%p1 bra L;\nM: add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 6;\n@%p2 bra O;\n"},
    {"steps_by_no_constant", false,
     "shr.u32 %r12, %r2, 9;\nadd.u32 %r12, %r12, 2;\nL: add.u32 %r7, %r7, %r12;\nadd.u32 %r8, %r8, "
     "%r7;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"steps_by_no_constant_and_skipped_by_some", false,
     "shr.u32 %r12, %r2, 9;\nadd.u32 %r12, %r12, 2;\nsetp.eq.u32 %p1, %r9, 1;\n@%p1 bra M;\nL: add.u32 %r7, "
     "%r7, %r12;\nadd.u32 %r8, %r8, %r7;\nsetp.lt.u32 "
     "%p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"steps_by_no_constant_with_three_exits", false,
     "shr.u32 %r12, %r2, 9;\nadd.u32 %r12, %r12, 2;\nand.b32 %r10, %r4, 5;\nshr.u32 %r11, %r5, 9;\nand.b32 "
     "%r11, %r11, 14;\nL: setp.ge.u32 %p1, %r7, "
     "%r9;\n@%p1 bra X;\nadd.u32 %r7, %r7, %r12;\nsetp.eq.u32 %p2, %r7, %r11;\n@%p2 bra Y;\nadd.u32 %r8, "
     "%r8, "
     "2;\nsetp.le.u32 %p2, %r7, %r10;\n@%p2 bra L;\nadd.u32 %r8, %r8, 3;\nbra M;\nX: add.u32 %r8, %r8, "
     "5;\nbra M;\nY: add.u32 %r8, %r8, 7;\nM:"},
    {"steps_by_no_constant_in_a_loop", false,
     "shr.u32 %r12, %r2, 9;\nadd.u32 %r12, %r12, 2;\nmov.u32 %r11, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, "
     "%r5, 7;\nsetp.eq.u32 %p3, %r9, 2;\n@%p3 bra "
     "M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, %r12;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, "
     "%r9;\n@%p1 bra L;\nM: add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 6;\n@%p2 bra O;\n"},
    {"begins_where_lanes_differ", true,
     "and.b32 %r10, %r4, 3;\nadd.u32 %r11, %r10, %r9;\nL: add.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, "
     "3;\nsetp.lt.u32 "
     "%p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"of_64_bits", true,
     "cvt.u64.u32 %rd3, %r9;\nmov.u64 %rd4, 4294967290;\nadd.u64 %rd3, %rd3, %rd4;\nL: add.u64 %rd4, %rd4, "
     "1;\nadd.u32 "
     "%r8, %r8, 3;\nsetp.lt.u64 %p1, %rd4, %rd3;\n@%p1 bra L;\nM:"},
    {"of_64_bits_from_where_lanes_differ", true,
     "cvt.u64.u32 %rd3, %r9;\nadd.u64 %rd4, %rd3, 5;\nL: add.s64 %rd4, %rd4, -1;\nadd.u32 %r8, %r8, "
     "3;\nsetp.gt.s64 "
     "%p1, %rd4, 2;\n@%p1 bra L;\nM:"},
    {"two_exits", true,
     "and.b32 %r10, %r4, 5;\nL: setp.ge.u32 %p1, %r7, %r9;\n@%p1 bra M;\nadd.u32 %r7, %r7, 1;\nsetp.le.u32 "
     "%p2, %r7, "
     "%r10;\n@%p2 bra L;\nM:"},
    {"skipped_by_some_and_tested_first", true,
     "setp.eq.u32 %p1, %r9, 1;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: setp.eq.u32 %p1, %r10, %r9;\n@%p1 bra "
     "X;\nadd.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, 3;\nbra L;\nX: add.u32 %r8, %r8, 1;\nM:"},
    {"three_exits", true,
     "and.b32 %r10, %r4, 5;\nshr.u32 %r11, %r5, 9;\nand.b32 %r11, %r11, 7;\nL: setp.ge.u32 %p1, %r7, "
     "%r9;\n@%p1 bra "
     "X;\nadd.u32 %r7, %r7, 1;\nsetp.eq.u32 %p2, %r7, %r11;\n@%p2 bra Y;\nadd.u32 %r8, %r8, 2;\nsetp.le.u32 "
     "%p2, "
     "%r7, %r10;\n@%p2 bra L;\nadd.u32 %r8, %r8, 3;\nbra M;\nX: add.u32 %r8, %r8, 5;\nbra M;\nY: add.u32 "
     "%r8, %r8, "
     "7;\nM:"},
    {"a_way_out_for_all", true,
     "L: add.u32 %r7, %r7, 1;\nsetp.gt.u32 %p1, %r7, 4;\n@%p1 bra X;\nadd.u32 %r8, %r8, %r7;\nsetp.le.u32 "
     "%p2, %r7, "
     "%r9;\n@%p2 bra L;\nbra M;\nX: add.u32 %r8, %r8, 9;\nM:"},
    {"skipped_by_some", true,
     "setp.eq.u32 %p1, %r9, 0;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, "
     "3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra L;\nM:"},
    {"skipped_by_some_and_read_behind", true,
     "mov.u32 %r10, 0;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, "
     "1;\nadd.u32 "
     "%r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra L;\nM: add.u32 %r8, %r8, %r10;\n"},
    {"skipped_with_another_value", true,
     "mov.u32 %r10, 77;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, "
     "1;\nadd.u32 "
     "%r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra L;\nM: add.u32 %r8, %r8, %r10;\n"},
    {"skipped_and_begins_where_lanes_differ", true,
     "setp.eq.u32 %p1, %r9, 0;\n@%p1 bra M;\nand.b32 %r10, %r4, 3;\nadd.u32 %r11, %r10, %r9;\nL: add.u32 "
     "%r10, %r10, "
     "1;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"jumped_to", true,
     "mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r9, 5;\n@%p1 bra L;\nadd.u32 %r8, %r8, 7;\nbra M;\nL: add.u32 "
     "%r10, %r10, "
     "1;\nsetp.lt.u32 %p2, %r10, %r9;\n@%p2 bra L;\nM:"},
    {"changed_behind_the_loop", true,
     "L: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM: mul.lo.u32 %r7, %r7, 5;\nadd.u32 "
     "%r8, %r8, "
     "%r7;\n"},
    {"changed_on_one_way_out", false,
     "and.b32 %r10, %r4, 5;\nL: setp.ge.u32 %p1, %r7, %r9;\n@%p1 bra X;\nadd.u32 %r7, %r7, 1;\nsetp.le.u32 "
     "%p2, %r7, "
     "%r10;\n@%p2 bra L;\nbra Y;\nX: mul.lo.u32 %r7, %r7, 3;\nY: add.u32 %r8, %r8, %r7;\nM:"},
    {"changed_twice", false,
     "L: add.u32 %r7, %r7, 1;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM: add.u32 "
     "%r8, %r8, "
     "%r7;\n"},
    {"changed_by_some", false,
     "L: and.b32 %r10, %r5, 1;\nsetp.eq.u32 %p2, %r10, 0;\nshr.u32 %r5, %r5, 1;\n@%p2 add.u32 %r7, %r7, "
     "1;\nadd.u32 "
     "%r8, %r8, 2;\nsetp.lt.u32 %p1, %r8, %r9;\n@%p1 bra L;\nM: add.u32 %r8, %r8, %r7;\n"},
    {"goes_on_early", false,
     "L: add.u32 %r7, %r7, 1;\nand.b32 %r10, %r7, 1;\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra N;\nadd.u32 %r8, "
     "%r8, "
     "5;\nN: setp.lt.u32 %p1, %r7, %r9;\n@%p1 bra L;\nM:"},
    {"in_a_loop_that_begins_it_anew", true,
     "mov.u32 %r11, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 3;\nmov.u32 %r10, 0;\nL: add.u32 %r10, "
     "%r10, "
     "1;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra L;\nM: add.u32 %r11, %r11, "
     "1;\nsetp.lt.u32 %p2, "
     "%r11, 4;\n@%p2 bra O;\n"},
    {"in_a_loop_and_goes_on", true,
     "mov.u32 %r11, 0;\nmov.u32 %r10, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 3;\nadd.u32 %r9, %r9, "
     "%r10;\nL: "
     "add.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra L;\nM: add.u32 "
     "%r11, %r11, "
     "1;\nsetp.lt.u32 %p2, %r11, 4;\n@%p2 bra O;\n"},
    {"in_a_loop_and_skipped_now_and_then", true,
     "mov.u32 %r11, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 3;\nsetp.eq.u32 %p3, %r9, 2;\n@%p3 bra "
     "M;\nmov.u32 "
     "%r10, 0;\nL: add.u32 %r10, %r10, 1;\nadd.u32 %r8, %r8, 3;\nsetp.lt.u32 %p1, %r10, %r9;\n@%p1 bra "
     "L;\nM: add.u32 "
     "%r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 6;\n@%p2 bra O;\n"},
    {"in_a_loop_and_left_by_two_exits", true,
     "mov.u32 %r13, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 3;\nshr.u32 %r11, %r5, 2;\nand.b32 %r11, "
     "%r11, "
     "3;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 1;\nsetp.gt.u32 %p1, %r10, %r9;\n@%p1 bra M;\nsetp.lt.u32 "
     "%p2, "
     "%r10, %r11;\n@%p2 bra L;\nadd.u32 %r8, %r8, 7;\nM: add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p2, %r13, "
     "4;\n@%p2 bra "
     "O;\n"},
    {"in_a_function", true,
     "{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %r9;\ncall (y), g, (x);\nld.param.u32 %r8, "
     "[y];\n}\n",
     ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
     "[a];\nmov.u32 %i, "
     "0;\nsetp.eq.u32 %p, %a, 3;\n@%p bra M;\nL: add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %a;\n@%p bra L;\nM: "
     "st.param.u32 [r], %i;\nret;\n}\n"},
};

// Steps other than one, and loops that lanes exit together.
constexpr Loop steps[] = {
    {"by_as_much_as_there_are_numbers", false,
     "shl.b32 %r11, %r9, 30;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 1073741824;\nxor.b32 %r8, %r8, "
     "%r10;\nsetp.ne.u32 %p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"by_as_much_as_there_are_numbers_and_skipped_by_some", false,
     "setp.eq.u32 %p1, %r9, 1;\n@%p1 bra M;\nshl.b32 %r11, %r9, 30;\nmov.u32 %r10, 0;\nL: add.u32 %r10, "
     "%r10, 1073741824;\nxor.b32 %r8, %r8, %r10;\nsetp.ne.u32 %p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"by_as_much_as_there_are_numbers_and_tested_first", false,
     "shl.b32 %r11, %r9, 30;\nmov.u32 %r10, 2147483648;\nL: setp.eq.u32 %p1, %r10, %r11;\n@%p1 bra "
     "X;\nadd.u32 %r10, %r10, 1073741824;\nxor.b32 %r8, %r8, %r10;\nbra L;\nX: add.u32 %r8, %r8, 1;\nM:"},
    {"by_as_much_as_there_are_numbers_and_tested_on_both_sides", false,
     "shl.b32 %r11, %r9, 30;\nadd.u32 %r12, %r11, 1073741824;\nmov.u32 %r10, 0;\nL: setp.eq.u32 %p2, %r10, "
     "%r12;\n@%p2 bra M;\nadd.u32 %r10, %r10, 1073741824;\nxor.b32 %r8, %r8, %r10;\nsetp.ne.u32 %p1, %r10, "
     "%r11;\n@%p1 bra L;\nM:"},
    {"by_as_much_as_there_are_numbers_and_tested_by_what_one_iteration_sets", false,
     "shl.b32 %r11, %r9, 30;\nmov.u32 %r10, 0;\nmov.u32 %r12, 1;\nL: add.u32 %r10, %r10, "
     "1073741824;\nsetp.eq.u32 %p2, %r10, 2147483648;\n@%p2 mov.u32 %r12, 0;\nxor.b32 %r13, %r10, "
     "%r12;\nadd.u32 %r8, %r8, %r13;\nsetp.ne.u32 %p1, %r13, %r11;\n@%p1 bra L;\nM:"},
    {"by_a_multiple_of_as_much_as_there_are_numbers", false,
     "shl.b32 %r11, %r9, 29;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 1610612736;\nxor.b32 %r8, %r8, "
     "%r10;\nsetp.ne.u32 %p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"by_less_than_what_is_tested", false,
     "shl.b32 %r11, %r9, 29;\nmov.u32 %r10, 0;\nL: sub.u32 %r10, %r10, 536870912;\nadd.u32 %r7, %r7, "
     "6;\nsetp.ne.u32 %p1, %r10, %r11;\n@%p1 bra L;\nM:"},
    {"by_minus_four_from_where_lanes_differ", false,
     "shl.b32 %r10, %r9, 2;\nadd.u32 %r10, %r10, 4;\nL: add.s32 %r10, %r10, -4;\nxor.b32 %r8, %r8, "
     "%r10;\nsetp.ne.s32 %p1, %r10, 0;\n@%p1 bra L;\nM:"},
    {"by_an_odd_number_and_tested_by_other_data", true,
     "mov.u32 %r10, 4294967286;\nL: add.u32 %r10, %r10, 7;\nshr.u32 %r5, %r5, 1;\nand.b32 %r11, %r5, "
     "511;\nsetp.ne.u32 %p1, %r11, 0;\n@%p1 bra L;\nM: add.u32 %r8, %r8, %r10;\n"},
    {"by_two_and_tested_by_other_data", false,
     "L: add.u32 %r7, %r7, 2;\nshr.u32 %r5, %r5, 1;\nand.b32 %r11, %r5, 511;\nsetp.ne.u32 %p1, %r11, "
     "0;\n@%p1 bra L;\nM: add.u32 %r8, %r8, %r7;\n"},
    {"of_64_bits_by_twelve_and_tested_by_other_data", true,
     "cvt.u64.u32 %rd3, %r9;\nmul.lo.u64 %rd4, %rd3, 858993459;\nL: add.s64 %rd4, %rd4, -12;\nshr.u32 %r5, "
     "%r5, 1;\nand.b32 %r11, %r5, 511;\nsetp.ne.u32 %p1, %r11, 0;\n@%p1 bra L;\nM: cvt.u32.u64 %r8, %rd4;\n"},
    {"of_64_bits_by_all_of_32", true,
     "mov.u64 %rd4, -8589934592;\nL: add.u64 %rd4, %rd4, 4294967296;\nshr.u32 %r5, %r5, 1;\nand.b32 %r11, "
     "%r5, 511;\nsetp.ne.u32 %p1, %r11, 0;\n@%p1 bra L;\nM: shr.u64 %rd4, %rd4, 32;\ncvt.u32.u64 %r8, "
     "%rd4;\n"},
    {"of_64_bits_jumped_to_with_another_step", false,
     "cvt.u64.u32 %rd4, %r9;\nsetp.lt.u32 %p1, %r9, 5;\n@%p1 bra L;\nadd.u32 %r8, %r8, 7;\nbra M;\nL: "
     "add.u64 %rd4, %rd4, 8;\nsetp.lt.u64 %p2, %rd4, 30;\n@%p2 bra L;\nM:"},
    {"by_four_behind_a_condition", true,
     "setp.gt.u32 %p1, %r9, 4;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 4;\nxor.b32 %r8, %r8, "
     "%r10;\nsetp.lt.u32 %p2, %r10, 20;\n@%p2 bra L;\nM:",
     "", together},
    {"by_four_in_all_lanes", false,
     "mul.lo.u32 %r10, %r3, 4;\nL: add.u32 %r10, %r10, -4;\nxor.b32 %r8, %r8, %r10;\nsetp.ne.s32 %p2, %r10, "
     "0;\n@%p2 bra L;\nM:",
     "", together},
    {"with_a_division_in_it", false,
     "setp.gt.u32 %p1, %r9, 4;\n@%p1 bra M;\nmov.u32 %r10, 12;\nL: and.b32 %r11, %r9, %r10;\nsetp.eq.u32 "
     "%p3, %r11, 0;\n@%p3 bra N;\nxor.b32 %r8, %r8, %r10;\nN: add.s32 %r10, %r10, -2;\nsetp.ne.s32 %p2, "
     "%r10, 0;\n@%p2 bra L;\nM:",
     "", together},
    {"with_an_atomic_in_it", true,
     "setp.gt.u32 %p1, %r9, 4;\n@%p1 bra M;\nmov.u32 %r10, 12;\nL: atom.global.add.u32 %r11, [%rd1], "
     "0;\nadd.u32 %r8, %r8, %r11;\nadd.s32 %r10, %r10, -2;\nsetp.ne.s32 %p2, %r10, 0;\n@%p2 bra L;\nM:",
     "", together},
    {"in_a_loop_and_behind_a_condition", false,
     "mov.u32 %r13, 0;\nO: shr.u32 %r5, %r5, 1;\nand.b32 %r9, %r5, 3;\nsetp.eq.u32 %p1, %r9, 2;\n@%p1 bra "
     "M;\nshl.b32 %r10, %r13, 3;\nadd.u32 %r11, %r10, 24;\nL: add.u32 %r10, %r10, 8;\nxor.b32 %r8, %r8, "
     "%r10;\nsetp.lt.u32 %p2, %r10, %r11;\n@%p2 bra L;\nM: add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p2, %r13, "
     "6;\n@%p2 bra O;\n",
     "", together},
    {"left_in_the_middle", true,
     "setp.gt.u32 %p1, %r9, 4;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: setp.eq.u32 %p2, %r10, 12;\n@%p2 bra "
     "M;\nadd.u32 %r10, %r10, 4;\nxor.b32 %r8, %r8, %r10;\nbra L;\nM:",
     "", together},
    {"changed_before_the_way_out", true,
     "setp.gt.u32 %p1, %r9, 4;\n@%p1 bra M;\nmov.u32 %r10, 0;\nL: mov.u32 %r11, %r10;\nmul.lo.u32 %r10, "
     "%r10, 5;\nadd.u32 %r8, %r8, %r10;\nsetp.ge.u32 %p2, %r11, 6;\n@%p2 bra X;\nadd.u32 %r10, %r11, 2;\nbra "
     "L;\nX: add.u32 %r8, %r8, %r10;\nM:",
     "", together},
    {"in_a_function_by_three", true,
     "{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %r9;\ncall (y), g, (x);\nld.param.u32 %r8, "
     "[y];\n}\n",
     ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p, %q;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
     "[a];\nmov.u32 %i, 24;\nsetp.eq.u32 %p, %a, 3;\n@%p bra M;\nmov.u32 %i, 0;\nL: add.u32 %i, %i, "
     "3;\nsetp.lt.u32 %q, %i, "
     "24;\n@%q bra L;\nM: st.param.u32 [r], %i;\nret;\n}\n",
     together},
    {"in_a_function_without_a_preheader", true,
     "{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %r9;\ncall (y), g, (x);\nld.param.u32 %r8, "
     "[y];\n}\n",
     ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p, %q;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
     "[a];\nmov.u32 %i, 0;\nsetp.eq.u32 %p, %a, 3;\n@%p bra M;\nL: add.u32 %i, %i, 3;\nsetp.lt.u32 %q, %i, "
     "24;\n@%q bra L;\nM: st.param.u32 [r], %i;\nret;\n}\n",
     together},
};

std::string ptx_of(const Loop& loop) {
  return module_of(loop.functions,
                   std::string("and.b32 %r9, %r5, 7;\n") + loop.body + "\nst.global.u32 [%rd1], %r8;\nret;");
}

/// Returns the code between the labels L and M, except code on the branch's exit edge.
std::string inside(const std::string& variant) {
  const std::size_t begin = variant.find("L:");
  const std::size_t end = variant.find("bra L;", begin);
  return variant.substr(begin, end - begin);
}

class CountedIterations : public testing::TestWithParam<Loop> {};

TEST_P(CountedIterations, MatchTheDevicesCounters) {
  for (const std::uint32_t threads : {1u, 32u, 75u}) {
    CountedLaunch launch(ptx_of(GetParam()), 2, threads);
    launch.native();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(launch.is_exact(true)) << launch.variant();
    ASSERT_TRUE(launch.is_exact(false, 75)) << launch.variant();
    ASSERT_TRUE(launch.is_exact()) << launch.variant();
    if (threads == 75) launch.expect_exact();
  }
}

TEST_P(CountedIterations, CountThreadsByTheInductionVariable) {
  CountedLaunch launch(ptx_of(GetParam()), 1, 32);
  launch.native();
  launch.count(threads_only, false, false, 90);
  EXPECT_EQ(inside(launch.variant()).find("lynxpp") == std::string::npos, GetParam().counts_itself)
      << launch.variant();
}

/// A loop that yields its trip count and is exited together needs no election.
TEST_P(CountedIterations, CountWarpsAfterAConvergentExit) {
  if (!GetParam().counts_itself || GetParam().lanes == divided) return;
  CountedLaunch launch(ptx_of(GetParam()), 1, 32);
  launch.native();
  launch.count(warps_only, false, false, 90);
  EXPECT_EQ(inside(launch.variant()).find("add.u32 %lynxpp"), std::string::npos) << launch.variant();
}

INSTANTIATE_TEST_SUITE_P(All, CountedIterations, testing::ValuesIn(loops),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Steps, CountedIterations, testing::ValuesIn(steps),
                         [](const auto& each) { return each.param.name; });

/// Nested loops over variables of all kinds, with exits, and edges around them.
std::string random_loops(std::mt19937& random) {
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const auto differing = [&](const std::string& into, std::uint32_t mask) {
    return "mad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 " + into + ", %r5, 13;\nand.b32 " + into +
           ", " + into + ", " + std::to_string(mask) + ";\n";
  };
  static constexpr const char* differences[] = {"1", "-1", "2", "-4", "3", "-12", "1073741824"};
  std::string body;
  std::string closing;
  const std::uint32_t depth = 1 + below(3);
  for (std::uint32_t level = 0; level < depth; ++level) {
    const std::string at = std::to_string(level);
    const std::string variable = "%r" + std::to_string(10 + level);
    const std::string left = "%r" + std::to_string(14 + level);  // so that every loop terminates
    const bool begins_anew = level == 0 || below(4) != 0;
    if (below(3) == 0) body += differing("%r9", 3) + "setp.eq.u32 %p1, %r9, 0;\n@%p1 bra M" + at + ";\n";
    if (begins_anew) body += below(2) == 0 ? "mov.u32 " + variable + ", 5;\n" : differing(variable, 7);
    body += "mov.u32 " + left + ", 6;\n";
    if (below(4) == 0) body += differing("%r9", 3) + "setp.eq.u32 %p1, %r9, 1;\n@%p1 bra M" + at + ";\n";
    body += "L" + at + ":\nadd.u32 %r8, %r8, 1;\n";
    const bool is_first = below(2) == 0;
    const std::string change = std::string("add.s32 ") + variable + ", " + variable + ", " +
                               differences[below(std::size(differences))] + ";\n";
    if (is_first) body += change;
    if (below(2) == 0) body += differing("%r9", 7) + "setp.eq.u32 %p1, %r9, 3;\n@%p1 bra M" + at + ";\n";
    std::string end = is_first ? "" : change;
    end += differing("%r9", 7) + "sub.u32 " + left + ", " + left + ", " + (below(2) == 0 ? "2" : "1") +
           ";\nsetp.gt.s32 %p2, " + left + ", 0;\n";
    // Lanes exit together or independently.
    end += (below(3) == 0 ? "mov.pred %p1, %p2;\n" : "setp.ne.and.u32 %p1, %r9, 1, %p2;\n") +
           std::string("@%p1 bra L") + at + ";\n";
    if (below(4) == 0) end += "xor.b32 " + variable + ", " + variable + ", 9;\n";
    end += "M" + at + ":\n";
    if (below(3) == 0) end += "add.u32 %r8, %r8, " + variable + ";\n";
    closing = end + closing;
  }
  return module_of("", "mov.u32 %r10, 1;\nmov.u32 %r11, 2;\nmov.u32 %r12, 3;\n" + body + closing +
                           "st.global.u32 [%rd1], %r8;\nret;");
}

TEST(CountedIterations, MatchTheDevicesCountersInRandomLoops) {
  RandomKernels kernels(100, 7);
  for (int round = 0; round < kernels.count; ++round) {
    CountedLaunch launch(random_loops(kernels.random), 2, 32 + 7 * (round % 6));
    launch.native();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(launch.is_exact()) << "kernel " << round << "\n" << launch.variant();
  }
}

}  // namespace
}  // namespace lynxpp::cod
