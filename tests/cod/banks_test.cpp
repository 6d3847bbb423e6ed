// Wavefronts and bank conflicts, access by access, compared with the cpu device's own counters: all widths,
// strides of 0 to 64 words, permutations, random addresses, one address for all lanes, partial warps, and
// several accesses represented by one.
#include <gtest/gtest.h>

#include <numeric>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

struct Access {
  std::uint32_t bytes;
  const char* type;
  const char* value;
  const char* reduction;  // null: not available for this width
};
constexpr Access accesses[] = {{1, "u8", "%q1", nullptr},
                               {2, "u16", "%q1", nullptr},
                               {4, "u32", "%q1", "red.shared.add.u32"},
                               {8, "u64", "%qd1", "red.shared.add.u64"},
                               {16, "v4.u32", "{%q1, %q2, %q3, %q4}", nullptr}};

/// Loads and stores around the address in `reg`, by full and partial warps.
std::string accesses_at(const Access& access, const std::string& reg) {
  const std::string type = access.type;
  const std::string value = access.value;
  const auto at = [&](std::uint32_t elements) {
    return "[" + reg + "+" + std::to_string(elements * access.bytes) + "]";
  };
  std::string text;
  for (const std::uint32_t elements : {0u, 5u, 64u})
    text += "  ld.shared." + type + " " + value + ", " + at(elements) + ";\n";
  for (const std::uint32_t elements : {0u, 7u})
    text += "  st.shared." + type + " " + at(elements) + ", " + value + ";\n";
  text += "  @%g1 ld.shared." + type + " " + value + ", " + at(3) + ";\n";
  text += "  @!%g1 st.shared." + type + " " + at(3) + ", " + value + ";\n";
  if (access.reduction != nullptr) {
    text += "  " + std::string(access.reduction) + " " + at(0) + ", " + value + ";\n";
    text += "  " + std::string(access.reduction) + " " + at(2) + ", " + value + ";\n";
  }
  return text;
}

/// Addresses with a stride equal to the block's index in words, permuted, identical for all lanes, and
/// random. Threads from index 70 on exit first.
std::string module_of(const Access& access, const std::string& target) {
  const std::string mask = std::to_string(8192 - access.bytes);
  return ".version 8.0\n.target " + target + R"(
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %q<16>;
  .reg .b64 %qd<3>;
  .reg .pred %g<5>;
  .shared .align 16 .b8 tile[12288];
  mov.u32 %q5, %tid.x;
  setp.gt.u32 %g2, %q5, 69;
  @%g2 ret;
  mov.u32 %q6, tile;
  mov.u32 %q7, %ctaid.x;
  mov.u32 %q1, 0;
  mov.u32 %q2, 0;
  mov.u32 %q3, 0;
  mov.u32 %q4, 0;
  mov.u64 %qd1, 0;
  mad.lo.u32 %q8, %q7, 2891336453, %q5;
  mad.lo.u32 %q8, %q8, 747796405, 12345;
  shr.u32 %q9, %q8, 15;
  xor.b32 %q8, %q8, %q9;
  mad.lo.u32 %q8, %q8, 1664525, 1013904223;
  shr.u32 %q9, %q8, 28;
  setp.lt.u32 %g1, %q9, 11;
  mul.lo.u32 %q9, %q5, %q7;
  shl.b32 %q9, %q9, 2;
  and.b32 %q9, %q9, )" +
         mask + ";\n  add.u32 %q10, %q6, %q9;\n" + accesses_at(access, "%q10") +
         "  xor.b32 %q9, %q5, %q7;\n  mul.lo.u32 %q9, %q9, " + std::to_string(access.bytes) +
         ";\n  add.u32 %q11, %q6, %q9;\n" + accesses_at(access, "%q11") +
         "  shr.u32 %q9, %q8, 9;\n  and.b32 %q9, %q9, " + mask + ";\n  add.u32 %q12, %q6, %q9;\n" +
         accesses_at(access, "%q12") + "  shl.b32 %q9, %q7, 4;\n  add.u32 %q13, %q6, %q9;\n" +
         accesses_at(access, "%q13") + accesses_at(access, "tile") +
         "  setp.gt.u32 %g3, %q9, 512;\n  @%g3 ld.shared." + access.type + " " + access.value +
         ", [%q10];\n  and.b32 %q9, %q5, 5;\n  setp.eq.u32 %g4, %q9, 1;\n  @%g4 bra $L_next;\n  shr.u32 %q9, "
         "%q5, 1;\n  mul.lo.u32 %q9, %q9, " +
         std::to_string(access.bytes) + ";\n  add.u32 %q14, %q6, %q9;\n" + accesses_at(access, "%q14") +
         accesses_at(access, "%q10") + "$L_next:\n  ret;\n}\n";
}

std::string ready_made() {
  std::string source;
  EXPECT_TRUE(
      read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/shared_bank_conflicts.cod", source));
  return source;
}

/// The same, measured by each function separately at every access.
const char* const plainly = R"(
  global unsigned long accesses[INSTRUCTIONS];
  global unsigned long wavefronts[INSTRUCTIONS];
  global unsigned long conflicts[INSTRUCTIONS];
  global unsigned long groups[INSTRUCTIONS];
  ON_INSTRUCTION: MEM_READ: MEM_WRITE: SHARED: {
    unsigned int made = bankWavefronts();
    unsigned int avoidable = bankConflicts();
    unsigned int needed = bankGroups() - bankGroupsSpared();
    if (leastActiveThreadInWarp()) {
      atomicAdd(&accesses[instructionId()], 1);
      atomicAdd(&wavefronts[instructionId()], made);
      if (avoidable != 0) atomicAdd(&conflicts[instructionId()], avoidable);
      atomicAdd(&groups[instructionId()], needed);
    }
  }
  ON_REPORT: {
    emit("accesses", accesses); emit("wavefronts", wavefronts); emit("conflicts", conflicts); emit("groups", groups);
  }
)";

void expect_equal_sites(const Measured& measured, const std::string& what) {
  ASSERT_EQ(measured.failure, "") << what;
  std::uint64_t met = 0;
  for (std::size_t i = 0; i < measured.counters.sites.size(); ++i) {
    const device::cpu::SiteCounters& site = measured.counters.sites[i];
    const auto expect = [&](const char* name, std::uint64_t value) {
      if (!measured.results.contains(name)) return;
      EXPECT_EQ(measured.results.at(name).at(i), static_cast<double>(value))
          << what << ": " << name << " of " << site.opcode << " in line " << site.line;
    };
    expect("accesses", site.shared.accesses);
    expect("wavefronts", site.shared.wavefronts);
    expect("conflicts", site.shared.wavefronts - site.shared.least_wavefronts);
    expect("groups", site.shared.least_wavefronts);
    met += site.shared.wavefronts - site.shared.least_wavefronts;
  }
  EXPECT_GT(met, 0u) << what;
}

class Banks : public testing::TestWithParam<Access> {};

TEST_P(Banks, MatchTheDevicesCountersAtEveryAccess) {
  const std::string module = module_of(GetParam(), "sm_80");
  for (const std::uint32_t threads : {31u, 64u, 75u}) {
    const Shape shape{{65, 1, 1}, {threads, 1, 1}};
    const std::string what = GetParam().type + (" with " + std::to_string(threads)) + " threads";
    expect_equal_sites(measure_module_for(ready_made(), shape, module, 90), what);
    expect_equal_sites(measure_module_for(plainly, shape, module, 90), what + ", plainly");
  }
}

TEST_P(Banks, MatchThemOnOlderTargets) {
  const Shape shape{{65, 1, 1}, {69, 1, 1}};
  // Compute capability 7.0 has no warp reductions.
  const std::string module = module_of(GetParam(), "sm_70");
  expect_equal_sites(measure_module_for(ready_made(), shape, module, 70), GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(Each, Banks, testing::ValuesIn(accesses),
                         [](const auto& each) { return "Bytes" + std::to_string(each.param.bytes); });

/// Accesses of a block with the same lane pattern but different widths.
TEST(BankConflicts, DistinguishWidthsInOneBlock) {
  const std::string module = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %q<8>;
  .reg .b64 %qd;
  .shared .align 16 .b8 tile[4096];
  mov.u32 %q1, %tid.x;
  mov.u32 %q2, tile;
  mad.lo.u32 %q3, %q1, 64, %q2;
  ld.shared.u32 %q4, [%q3];
  ld.shared.u64 %qd, [%q3];
  ld.shared.v4.u32 {%q4, %q5, %q6, %q7}, [%q3];
  st.shared.v4.u32 [%q3], {%q4, %q5, %q6, %q7};
  st.shared.u64 [%q3+8], %qd;
  ret;
}
)";
  const Shape shape{{1, 1, 1}, {64, 1, 1}};
  expect_equal_sites(measure_module_for(ready_made(), shape, module, 90), "64 bytes apart");
  expect_equal_sites(measure_module_for(plainly, shape, module, 90), "64 bytes apart, plainly");
}

/// The number of conflicts at a stride follows from the greatest common divisor of the stride and the number
/// of banks.
TEST(BankConflicts, FollowTheCommonFactorOfStrideAndBanks) {
  const std::string module = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %q<6>;
  .reg .pred %g;
  .shared .align 4 .b8 tile[8192];
  mov.u32 %q1, %tid.x;
  mov.u32 %q2, tile;
  mov.u32 %q3, 1;
$L_stride:
  mul.lo.u32 %q4, %q1, %q3;
  shl.b32 %q4, %q4, 2;
  add.u32 %q4, %q4, %q2;
  ld.shared.u32 %q5, [%q4];
  add.u32 %q3, %q3, 1;
  setp.lt.u32 %g, %q3, 65;
  @%g bra $L_stride;
  ret;
}
)";
  const Measured measured = measure_module(ready_made(), {{3, 1, 1}, {32, 1, 1}}, module);
  ASSERT_EQ(measured.failure, "");
  std::uint32_t wavefronts = 0;
  for (std::uint32_t stride = 1; stride < 65; ++stride) wavefronts += std::gcd(stride, 32u);
  EXPECT_EQ(measured["load_accesses"], 3 * 64);
  EXPECT_EQ(measured["load_wavefronts"], 3 * wavefronts);
  EXPECT_EQ(measured["load_conflicts"], 3 * (wavefronts - 64));
}

}  // namespace
}  // namespace lynxpp::cod
