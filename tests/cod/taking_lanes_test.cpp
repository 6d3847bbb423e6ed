// Accesses that select their lanes, by the sizes of copies and the rows of matrices, in loops that lanes
// leave one after another, under guards and in partial warps, compared with the device's own counters.
#include <gtest/gtest.h>

#include "tests/cod/lane_values_fixture.h"

namespace lynxpp::cod {
namespace {

/// Sizes of 0 to 12 bytes that differ between lanes and iterations; larger ones than the copy's are its own.
constexpr const char* copies = R"(
and.b32 %r13, %r1, 7;
shl.b32 %r12, %r1, 4;
add.u32 %r12, %r5, %r12;
L: mad.lo.s32 %r9, %r6, 977, %r1;
mul.lo.u32 %r9, %r9, 2654435761;
shr.u32 %r10, %r9, 23;
and.b32 %r11, %r9, 12;
mul.wide.u32 %rd3, %r10, 16;
add.s64 %rd4, %rd1, %rd3;
cp.async.ca.shared.global [%r12], [%rd4], 16, %r11;
cp.async.ca.shared.global [%r12], [%rd4+64], 16, %r11;
cp.async.ca.shared.global [%r12+16], [%rd4], 4;
shr.u32 %r15, %r11, 1;
cp.async.ca.shared.global [%r12], [%rd4], 16, %r15;
cp.async.ca.shared.global [%r12], [%rd4], 8, %r15;
cp.async.ca.shared.global [%r12], [%rd4+28], 4, %r11;
and.b32 %r14, %r9, 1;
setp.eq.u32 %p4, %r14, 0;
setp.ne.u32 %p3, %r11, 4;
@%p3 cp.async.cg.shared.global [%r12], [%rd4+32], 16, %p4;
@!%p3 cp.async.ca.shared.global [%r12], [%rd4], 4, %r11;
@%p3 cp.async.ca.shared.global [%r12+16], [%rd4+16], 8, %r14;
cp.async.cg.shared.global [%r12], [%rd4], 16, 0;
cp.async.commit_group;
cp.async.wait_group 0;
add.u32 %r6, %r6, 1;
setp.le.u32 %p2, %r6, %r13;
@%p2 bra L;
ret;
)";

TEST(TakingLanes, CopiesSelectLanesWithANonzeroSize) {
  for (const Shape& shape : shapes) {
    MeasuredLaunch launch(access_module(copies), shape);
    for (const bool wide : {false, true}) {
      launch.wide_counters = wide;
      for (const bool lane_values : {false, true}) launch.check(lane_values);
    }
  }
}

/// Rows 144 bytes apart in the first iteration, then 160, 176, …; lanes that provide no row have an address
/// outside the tile.
constexpr const char* matrices = R"(
mov.u32 %r9, %laneid;
L: shl.b32 %r10, %r6, 4;
add.u32 %r10, %r10, 144;
mad.lo.u32 %r11, %r9, %r10, %r5;
setp.lt.u32 %p3, %r9, 8;
selp.b32 %r12, %r11, 0xfffff0, %p3;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r12];
setp.lt.u32 %p3, %r9, 16;
selp.b32 %r12, %r11, 0xfffff0, %p3;
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20, %r21}, [%r12];
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r11];
ld.shared.u32 %r24, [%r11];
add.u32 %r6, %r6, 1;
setp.lt.u32 %p2, %r6, 9;
@%p2 bra L;
ret;
)";

TEST(TakingLanes, MatricesSelectLanesThatProvideRows) {
  for (const Shape& shape : {Shape{32, 1, 1}, Shape{96, 1, 1}, Shape{16, 4, 1}, Shape{8, 8, 2}}) {
    MeasuredLaunch launch(access_module(matrices), shape);
    for (const bool lane_values : {false, true}) launch.check(lane_values);
  }
}

}  // namespace
}  // namespace lynxpp::cod
