// Counting on few edges compared with the device's own counters: thousands of random kernels.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

/// Nested statements: conditions, loops, exits of loops and jumps to their next iterations, returns.
class StructuredKernel {
 public:
  struct Kind {
    bool is_plain = false;  ///< no calls, no returns, and loop exits only at the end of the loop
    bool ignores_block = false;
    /// some conditions compare the thread's number, mostly with a bound that exceeds all of them
    bool has_bounds = false;
    bool has_rows = false;  ///< some conditions are uniform over 32 threads of a row
  };
  StructuredKernel(std::mt19937& random, const Kind& kind)
      : random_(random),
        is_plain_(kind.is_plain),
        has_bounds_(kind.has_bounds),
        has_rows_(kind.has_rows),
        calls_(below(3) == 0 && !is_plain_) {
    if (has_bounds_) body_ = ".reg .pred %q<999>;\nmov.u32 %r12, 0;\nmov.u32 %r13, 0;\nmov.u32 %r14, 0;\n";
    if (kind.ignores_block) body_ += "mul.lo.u32 %r5, %r1, 2654435761;\n";
    if (has_rows_) {
      body_ +=
          "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\nmov.u32 %r14, 0;\nmov.u32 %r16, %tid.y;\nmov.u32 %r17, "
          "%nctaid.x;\nmul.lo.u32 %r17, %r17, %r3;\nmul.lo.u32 %r17, %r17, %r16;\nmul.wide.u32 %rd3, "
          "%r17, 4;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u32 %r4, %r4, %r17;\nmul.lo.u32 %r5, %r4, "
          "2654435761;\n";
    }
  }

  std::string make() {
    statements(3);
    return module_of(calls_ ? functions : "", body_ + "bra E;\nE: st.global.u32 [%rd1], %r8;\nret;");
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  std::string label() { return "S" + std::to_string(labels_++); }

  /// Sets %p1, which varies by lane in three of four cases.
  void condition() {
    if (has_rows_ && below(2) == 0) return row_condition();
    const std::string source = below(4) != 0 ? "%r5" : "%r6";
    body_ += "mad.lo.u32 " + source + ", " + source + ", 1664525, 1013904223;\nshr.u32 %r9, " + source +
             ", " + std::to_string(8 + below(16)) + ";\nand.b32 %r9, %r9, 3;\nsetp.lt.u32 %p1, %r9, " +
             std::to_string(1 + below(3)) + ";\n";
  }

  /// Sets %p1, which is uniform over a row's 32 threads if its other operands are.
  void row_condition() {
    const std::string count = "%r1" + std::to_string(2 + below(3));
    switch (below(6)) {
      case 0: body_ += "shr.u32 %r9, %r1, 5;\nand.b32 %r9, %r9, 1;\nsetp.eq.u32 %p1, %r9, 0;\n"; return;
      case 1: body_ += "setp.lt.u32 %p1, %r1, " + std::to_string(32 * (1 + below(2))) + ";\n"; return;
      case 2: body_ += "setp.gt.u32 %p1, %r16, " + std::to_string(below(2)) + ";\n"; return;
      case 3:
        body_ += "shl.b32 %r9, " + count + ", 5;\nadd.u32 %r9, %r9, %r4;\nsetp.gt.u32 %p1, %r9, 95;\n";
        return;
      case 4:
        body_ +=
            "mad.lo.u32 %r9, " + count + ", 64, %r1;\nrem.u32 %r9, %r9, 96;\nsetp.ge.s32 %p1, %r9, 32;\n";
        return;
      default:
        body_ += "and.b32 %r9, %r4, -32;\nadd.u32 %r9, %r9, " + count +
                 ";\nmad.lo.u32 %r9, %r9, 1664525, %r6;\nshr.u32 %r9, %r9, 17;\nand.b32 %r9, %r9, "
                 "3;\nsetp.lt.u32 %p1, %r9, 2;\n";
    }
  }

  /// Branches to `other` if the thread's number plus its number of loop iterations exceeds a bound.
  void bounds(const std::string& other) {
    const std::string inside = "%q" + std::to_string(bounds_++);
    const std::string most = std::to_string(below(3) == 0 ? below(150) : 150 + below(10));
    body_ += "add.u32 %r9, %r4, %r1" + std::to_string(2 + below(3)) + ";\nsetp.lt.u32 " + inside + ", %r9, " +
             most + ";\n@!" + inside + " bra " + other + ";\n";
  }

  void statements(std::uint32_t depth) {
    for (std::uint32_t i = 1 + below(3); i > 0; --i) {
      const std::mt19937 before = random_;
      statement(depth);
      if (below(6) != 0 || depth == 0) continue;
      random_ = before;  // the same statement again, as in unrolled loops
      statement(depth);
    }
  }

  void statement(std::uint32_t depth) {
    switch (depth == 0 ? 5 + below(4) : below(9)) {
      case 0:
      case 1: return if_else(depth - 1);
      case 2:
      case 3:
      case 4: return loop(depth - 1);
      case 5:
        if (is_plain_ || exits_.empty()) break;
        condition();
        body_ += (below(2) == 0 ? "@%p1 bra " : "@!%p1 bra ") +
                 exits_[exits_.size() - 1 - below(below(4) == 0 ? 2 : 1) % exits_.size()] + ";\n";
        return;
      case 6:
        if (is_plain_ || nexts_.empty() || below(2) == 0) break;
        condition();
        body_ += "@%p1 bra " + nexts_.back() + ";\n";
        return;
      case 7:
        if (is_plain_ || below(6) != 0) break;
        condition();
        body_ += "@%p1 bra E;\n";
        return;
      default:
        if (calls_ && below(2) == 0) return call();
        break;
    }
    body_ += "add.u32 %r8, %r8, " + std::to_string(below(100)) + ";\n";
  }

  void call() {
    const std::string source = below(4) != 0 ? "%r5" : "%r6";
    const std::string callee = below(2) == 0 ? "f" : "g";
    body_ += "{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], " + source + ";\ncall (y), " + callee +
             ", (x);\nld.param.u32 %r9, [y];\n}\nadd.u32 %r8, %r8, %r9;\n";
  }

  void if_else(std::uint32_t depth) {
    const std::string other = label();
    const std::string end = label();
    if (has_bounds_ && below(2) == 0) {
      bounds(other);
    } else {
      condition();
      body_ += "@%p1 bra " + other + ";\n";
    }
    statements(depth);
    if (below(2) == 0) {
      body_ += other + ":\n";
      return;
    }
    body_ += "bra " + end + ";\n" + other + ":\n";
    statements(depth);
    body_ += end + ":\n";
  }

  /// At most six iterations, counted in one register per depth.
  void loop(std::uint32_t depth) {
    const std::string begin = label();
    const std::string next = label();
    const std::string end = label();
    const std::string count = "%r" + std::to_string(12 + depth);
    if (below(3) == 0) {
      condition();
      body_ += "@%p1 bra " + end + ";\n";
    }
    body_ += "mov.u32 " + count + ", 0;\n" + begin + ":\n";
    exits_.push_back(end);
    nexts_.push_back(next);
    const bool is_tested_first = below(2) == 0;
    if (is_tested_first) {
      condition();
      body_ += "@%p1 bra " + end + ";\n";
    }
    statements(depth);
    nexts_.pop_back();
    exits_.pop_back();
    const std::uint32_t step = 1 + below(2);
    const std::string most = std::to_string(6 * step);
    body_ += next + ":\nadd.u32 " + count + ", " + count + ", " + std::to_string(step) + ";\n";
    if (!is_tested_first || below(2) == 0) {
      condition();
      body_ += "setp.lt.and.u32 %p1, " + count + ", " + most + ", %p1;\n@%p1 bra " + begin + ";\n";
    } else {
      body_ += "setp.ge.u32 %p1, " + count + ", " + most + ";\n@%p1 bra " + end + ";\nbra " + begin + ";\n";
    }
    body_ += end + ":\n";
  }

  /// f has a loop that lanes exit in different iterations, and two returns; g calls it in a loop for some
  /// lanes.
  static constexpr const char* functions =
      ".func (.param .u32 r) f(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %i;\nld.param.u32 %a, "
      "[a];\nshr.u32 %a, %a, 11;\nand.b32 %a, %a, 7;\nst.param.u32 [r], %a;\nsetp.eq.u32 %p, %a, 5;\n@%p "
      "ret;\nmov.u32 %i, 0;\nL: add.u32 %i, %i, 2;\nsetp.lt.u32 %p, %i, %a;\n@%p bra L;\nst.param.u32 [r], "
      "%i;\nret;\n}\n"
      ".func (.param .u32 r) g(.param .u32 a)\n{\n.reg .pred %p;\n.reg .b32 %a, %b, %i;\nld.param.u32 %a, "
      "[a];\nmov.u32 %i, 3;\nL: mad.lo.u32 %a, %a, 1664525, 1013904223;\nand.b32 %b, %a, 4096;\nsetp.eq.u32 "
      "%p, %b, 0;\n@%p bra N;\n{\n.param .u32 x;\n.param .u32 y;\nst.param.u32 [x], %a;\ncall (y), f, "
      "(x);\nld.param.u32 %b, [y];\n}\nadd.u32 %a, %a, %b;\nN: sub.u32 %i, %i, 1;\nsetp.ne.u32 %p, %i, "
      "0;\n@%p bra L;\nst.param.u32 [r], %a;\nret;\n}\n";

  std::mt19937& random_;
  const bool is_plain_;
  const bool has_bounds_;
  const bool has_rows_;
  const bool calls_;
  std::string body_;
  std::uint32_t labels_ = 0;
  std::uint32_t bounds_ = 0;
  std::vector<std::string> exits_, nexts_;  ///< of the enclosing loops
};

Form form_of(int number) {
  return number == 1 ? Form::wide : number == 2 ? Form::before_sm_80 : Form::narrow;
}

bool merges(const ptx::CountPlan& plan) {
  return std::ranges::any_of(plan.functions, [](const ptx::FunctionCounters& function) {
    return std::ranges::any_of(function.counters,
                               [](const ptx::Counter& each) { return each.increments.size() > 1; });
  });
}

TEST(CountedKernels, StructuredKernelsMatchTheDevicesCounters) {
  RandomKernels kernels(150, 21);
  int by_lanes = 0, merged = 0;
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx = StructuredKernel(kernels.random, {}).make();
    CountedLaunch launch(ptx, 2, 32 + 7 * (round % 6));
    launch.native();
    ASSERT_FALSE(HasFatalFailure()) << ptx;
    if (round % 3 == 1) launch.sum_at_most(static_cast<std::uint32_t>(round % 7));
    ASSERT_TRUE(launch.has_exact_sums(form_of(round % 5))) << "kernel " << round << "\n"
                                                           << ptx << launch.variant();
    if (merges(launch.plan())) ++merged;
    ASSERT_TRUE(launch.is_exact()) << "kernel " << round << "\n" << ptx << launch.variant();
    if (launch.variant().find("redux.sync.max") != std::string::npos) ++by_lanes;
  }
  if (!kernels.has_usual) return;
  EXPECT_GE(by_lanes, kernels.count / 10);
  EXPECT_GE(merged, kernels.count / 20);
}

/// Lanes diverge and converge as in most compiled code: converged warps, which exit as expected.
TEST(CountedKernels, PlainStructuredKernelsMatchTheDevicesCounters) {
  RandomKernels kernels(60, 22);
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx = StructuredKernel(kernels.random, {true, round % 3 == 0}).make();
    const std::uint32_t threads = 25 + 13 * (round % 6);
    CountedLaunch launch(ptx, {{2, round % 4 == 0 ? 3u : 1u, 1}, {threads, 1, 1}});
    launch.native();
    ASSERT_FALSE(HasFatalFailure()) << ptx;
    if (round % 3 == 1) launch.sum_at_most(static_cast<std::uint32_t>(round % 7));
    ASSERT_TRUE(launch.has_exact_instructions()) << "kernel " << round << "\n" << ptx << launch.variant();
    ASSERT_TRUE(launch.has_exact_sums()) << "kernel " << round << "\n" << ptx << launch.variant();
    ASSERT_TRUE(launch.is_exact()) << "kernel " << round << "\n" << ptx << launch.variant();
  }
}

/// Most threads are within bounds, so warps out of bounds are counted.
TEST(CountedKernels, KernelsWithBoundsMatchTheDevicesCounters) {
  RandomKernels kernels(60, 23);
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx = StructuredKernel(kernels.random, {round % 4 != 3, round % 2 == 0, true}).make();
    const std::uint32_t threads = 32 + 13 * (round % 4);
    CountedLaunch launch(ptx, {{3, round % 4 == 0 ? 2u : 1u, 1}, {threads, 1, 1}});
    launch.native();
    ASSERT_FALSE(HasFatalFailure()) << ptx;
    if (round % 3 == 1) launch.sum_at_most(static_cast<std::uint32_t>(round % 7));
    ASSERT_TRUE(launch.is_exact(form_of(round % 6))) << "kernel " << round << "\n" << ptx << launch.variant();
    ASSERT_TRUE(launch.has_exact_sums()) << "kernel " << round << "\n" << ptx << launch.variant();
  }
}

/// Arbitrary forward jumps, and backward jumps while fuel remains.
std::string random_kernel(std::mt19937& random) {
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::uint32_t blocks = 2 + below(9);
  const auto name = [](std::uint32_t block) { return "B" + std::to_string(block); };
  std::string body = "mov.u32 %r10, " + std::to_string(below(12)) + ";\n";
  for (std::uint32_t block = 0; block < blocks; ++block) {
    body +=
        name(block) +
        ":\nmad.lo.u32 %r5, %r5, 1664525, 1013904223;\nmad.lo.u32 %r6, %r6, 69069, 5;\nadd.u32 %r8, %r8, " +
        std::to_string(block) + ";\n";
    // %r5 varies by lane; %r6 does not while the lanes are converged.
    const std::string source = below(2) == 0 ? "%r5" : "%r6";
    body += "shr.u32 %r9, " + source + ", " + std::to_string(5 + below(20)) +
            ";\nand.b32 %r9, %r9, 3;\nsetp.lt.u32 %p1, %r9, " + std::to_string(below(4)) + ";\n";
    if (below(3) == 0) body += "@%p1 add.u32 %r8, %r8, 11;\n";
    if (below(4) == 0) body += "@!%p1 add.u32 %r8, %r8, 13;\n";
    const std::string not_taken = below(2) == 0 ? "!" : "";
    const std::uint32_t ahead = block + 1 + below(blocks - block);
    const std::string forward = ahead < blocks ? name(ahead) : "E";
    switch (below(8)) {
      case 0: body += "bra " + forward + ";\n"; break;
      case 1:
      case 2: body += "@" + not_taken + "%p1 bra " + forward + ";\n"; break;
      case 3:
      case 4: {
        const std::string target = name(below(block + 1));
        body += "setp.ne.and.u32 %p2, %r10, 0, %p1;\n@%p2 sub.u32 %r10, %r10, 1;\n@%p2 bra " + target + ";\n";
        break;
      }
      case 5:
        body += below(2) == 0 ? "st.global.u32 [%rd1], %r8;\n@%p1 ret;\n"
                              : "st.global.u32 [%rd1], %r8;\n@!%p1 exit;\n";
        break;
      case 6: {
        const std::string list = "T" + std::to_string(block);
        body += list + ": .branchtargets " + forward + ", E, " +
                (block + 1 < blocks ? name(block + 1) : "E") + ", " + forward + ";\n" +
                (below(2) == 0 ? "@%p1 " : "") + "brx.idx %r9, " + list + ";\n";
        break;
      }
      default: break;
    }
  }
  return module_of("", body + "E: st.global.u32 [%rd1], %r8;\nret;");
}

TEST(CountedKernels, RandomKernelsMatchTheDevicesCounters) {
  RandomKernels kernels(200, 20);
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx = random_kernel(kernels.random);
    CountedLaunch launch(ptx, 2, 32 + 7 * (round % 6));
    launch.native();
    ASSERT_FALSE(HasFatalFailure()) << ptx;
    if (round % 3 == 1) launch.sum_at_most(static_cast<std::uint32_t>(round % 7));
    ASSERT_TRUE(launch.is_exact(form_of(round % 5))) << "kernel " << round << "\n" << ptx;
    if (round % 4 != 0) continue;
    ASSERT_TRUE(launch.has_exact_sums(form_of(round % 20 / 4))) << "kernel " << round << "\n" << ptx;
  }
}

/// Facts about launches with whole rows are true, and save votes.
TEST(CountedKernels, RowsMatchTheDevicesCounters) {
  RandomKernels kernels(60, 24);
  constexpr std::array<std::uint32_t, 3> blocks[] = {{32, 1, 1}, {64, 1, 1}, {32, 3, 1}, {96, 2, 1}};
  int fewer = 0;
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx =
        StructuredKernel(kernels.random, {round % 3 == 0, round % 4 == 0, round % 5 == 0, true}).make();
    CountedLaunch launch(ptx, {{2, 1, 1}, blocks[round % 4]});
    launch.native();
    ASSERT_FALSE(HasFatalFailure()) << ptx;
    if (round % 3 == 1) launch.sum_at_most(static_cast<std::uint32_t>(round % 7));
    ASSERT_TRUE(launch.has_exact_sums(round % 5 == 2 ? Form::before_sm_80 : Form::narrow))
        << "kernel " << round << "\n"
        << ptx << launch.variant();
    ASSERT_TRUE(launch.is_exact()) << "kernel " << round << "\n" << ptx << launch.variant();
    CountedLaunch unknown(ptx, {{2, 1, 1}, blocks[round % 4]});
    unknown.assume({});
    unknown.native();
    ASSERT_TRUE(unknown.is_exact()) << "kernel " << round << "\n" << ptx << unknown.variant();
    fewer += launch.variant().size() < unknown.variant().size() ? 1 : 0;
  }
  if (!kernels.has_usual) return;
  EXPECT_GE(fewer, kernels.count / 4);
}

}  // namespace
}  // namespace lynxpp::cod
