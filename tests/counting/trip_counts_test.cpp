// Random loops with induction variables that yield trip counts (ptx/passes/counting/refine/trip_counts.h).
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

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
