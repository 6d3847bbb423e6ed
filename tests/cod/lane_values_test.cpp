// Sectors and wavefronts from differences of addresses that lanes know before, against the device's own counters.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "device/cpu/simt_executor.h"
#include "engine/instrument.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

constexpr const char* specification = R"(
global unsigned long sectors[INSTRUCTIONS];
global unsigned long wavefronts[INSTRUCTIONS];
global unsigned long conflicts[INSTRUCTIONS];
ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: {
  int first = firstInSector();
  if (first) atomicAdd(&sectors[instructionId()], 1);
}
ON_INSTRUCTION: MEM_READ: MEM_WRITE: SHARED: {
  unsigned int made = bankWavefronts();
  unsigned int avoidable = bankConflicts();
  if (leastActiveThreadInWarp()) {
    atomicAdd(&wavefronts[instructionId()], made);
    if (avoidable) atomicAdd(&conflicts[instructionId()], avoidable);
  }
}
)";

struct Shape {
  std::uint32_t x = 32, y = 1, z = 1;
  std::uint32_t threads() const { return x * y * z; }
};

/// The kernel k(u64 data) with that body: %r1 to %r3 are the thread's indices, %rd1 the middle of `data`, %rd2 its address as shared memory `tile`.
std::string module_of(const std::string& body, const std::string& functions = {}) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + functions +
         ".visible .entry k(.param .u64 data)\n{\n.shared .align 16 .b8 tile[40000];\n.reg .pred "
         "%p<30>;\n.reg "
         ".b32 %r<90>;\n.reg .b64 %rd<90>;\nld.param.u64 %rd1, [data];\nadd.s64 %rd1, %rd1, 65536;\n"
         "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nmov.u32 %r4, %ntid.x;\n"
         "mov.u32 %r5, tile;\nmov.u32 %r6, 0;\n" +
         body + "\n}\n";
}

class Launch {
 public:
  Launch(const std::string& ptx, const Shape& shape) : ptx_(ptx), shape_(shape) {
    const auto module = device::cpu::load_module(ptx_, "k.ptx");
    if (!module) {
      ADD_FAILURE() << render(module.error().diagnostics, ptx_);
      return;
    }
    run(**module, {}, &counters_);
    native_ = data_;
  }

  /// The variant's text; what it counts is compared with what the device counts.
  std::string check(bool lane_values) {
    engine::Request request;
    request.ptx = &ptx_;
    request.kernel = "k";
    request.specifications = {compiled(specification)};
    request.device_sm = 90;
    request.lane_values = lane_values;
    request.verify = true;
    request.wide_counters = wide_counters;
    const auto variant = engine::instrument(request);
    if (!variant) {
      ADD_FAILURE() << render(variant.error().diagnostics, ptx_);
      return {};
    }
    const std::uint64_t instructions = variant->instructions;
    std::vector<std::vector<std::uint64_t>> arrays(3, std::vector<std::uint64_t>(instructions));
    std::vector<std::uint64_t> slots(variant->counting->plan->slots());
    std::vector<std::uint64_t> words;
    for (const engine::ProbeWord& word : variant->probe)
      words.push_back(
          reinterpret_cast<std::uint64_t>(word.is_counters ? slots.data() : arrays[word.word.index].data()));
    const auto module = device::cpu::load_module(variant->ptx, "variant.ptx");
    if (!module) {
      ADD_FAILURE() << render(module.error().diagnostics, variant->ptx);
      return {};
    }
    run(**module, words, nullptr);
    EXPECT_EQ(data_, native_) << "the variant computes something else";
    std::vector<std::span<std::byte>> views;
    for (auto& array : arrays) views.push_back(bytes_of_vector(array));
    const std::uint64_t warps = std::uint64_t{blocks} * ((shape_.threads() + 31) / 32);
    engine::fill_counted_arrays(*variant->counting, request.specifications, slots,
                                std::uint64_t{blocks} * shape_.threads(), warps, {&views, 1});
    EXPECT_EQ(engine::may_wrap_indices(*variant->counting, slots), wraps_indices);
    if (!wraps_indices) compare(*variant, arrays);
    const auto is_number = [](const auto& each) { return !each.first.is_exception; };
    tallies = static_cast<std::size_t>(std::ranges::count_if(variant->counting->plan->tallies, is_number));
    exceptions = variant->counting->plan->tallies.size() - tallies;
    adds_nothing = std::ranges::count(slots, 0u) == std::ssize(slots);
    return variant->ptx;
  }

  bool wide_counters = false;
  bool wraps_indices = false;  ///< sectors are an estimate
  // Of the last check:
  std::size_t tallies = 0;     ///< without those of warps that are not as expected
  std::size_t exceptions = 0;  ///< numbers of such warps
  bool adds_nothing = false;   ///< no warp had anything to add to the counters in memory

 private:
  static constexpr std::uint32_t blocks = 2;

  void compare(const engine::Instrumented& variant, const std::vector<std::vector<std::uint64_t>>& arrays) {
    const auto& functions = variant.sites->functions;
    const auto place = [&](const device::cpu::SiteCounters& site) {
      return std::ranges::find(functions, site.function) - functions.begin();
    };
    std::ranges::stable_sort(counters_.sites, {}, place);
    ASSERT_EQ(counters_.sites.size(), variant.instructions);
    for (std::size_t i = 0; i < counters_.sites.size(); ++i) {
      const device::cpu::SiteCounters& site = counters_.sites[i];
      const auto what = [&] {
        return std::to_string(i) + " " + site.opcode + ", block of " + std::to_string(shape_.x) + " x " +
               std::to_string(shape_.y) + " x " + std::to_string(shape_.z) + "\n" + variant.ptx;
      };
      ASSERT_EQ(arrays[0][i], site.global.sectors) << what();
      ASSERT_EQ(arrays[1][i], site.shared.wavefronts) << what();
      ASSERT_EQ(arrays[2][i], site.shared.wavefronts - site.shared.least_wavefronts) << what();
    }
  }

  void run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
           device::cpu::LaunchCounters* counters) {
    // Always at the same place in a sector: how many are touched depends on it.
    storage_.assign(17000 * 2, 0);
    std::uint64_t* data = storage_.data();
    while (reinterpret_cast<std::uintptr_t>(data) % 128 != 0) ++data;
    std::vector<std::byte> parameters(8 + 8 * words.size());
    std::memcpy(parameters.data(), &data, 8);
    if (!words.empty()) std::memcpy(parameters.data() + 8, words.data(), 8 * words.size());
    const Status status =
        module.launch("k", {{blocks, 1, 1}, {shape_.x, shape_.y, shape_.z}}, parameters, counters);
    EXPECT_TRUE(status.ok()) << render(status.error().diagnostics) << ptx_;
    data_.assign(data, data + 16384);
  }

  const std::string ptx_;
  const Shape shape_;
  device::cpu::LaunchCounters counters_;
  std::vector<std::uint64_t> storage_, data_, native_;
};

constexpr Shape shapes[] = {{32, 1, 1}, {33, 1, 1}, {96, 1, 1}, {100, 1, 1}, {1, 1, 1},
                            {7, 5, 1},  {16, 4, 1}, {2, 3, 11}, {8, 8, 2},   {1, 40, 1}};

/// Bodies whose accesses all have patterns, and how many registers these fill.
struct Known {
  const char* name;
  int registers;
  const char* body;
};
constexpr Known known[] = {
    {"copy", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "st.global.u32 [%rd4+4096], %r10;\nret;"},
    {"one_address", 0,
     "ld.global.u32 %r10, [%rd1];\nld.global.u32 %r11, [%rd1+4];\nst.global.u32 [%rd1+64], %r10;\nret;"},
    {"descending", 1,
     "mul.wide.u32 %rd3, %r1, 8;\nsub.s64 %rd4, %rd1, %rd3;\nld.global.u64 %rd5, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+20];\nret;"},
    {"transposed", 1,
     "mad.lo.s32 %r10, %r1, 40, %r2;\nmad.lo.s32 %r10, %r3, 3, %r10;\nmul.wide.s32 %rd3, %r10, 4;\nadd.s64 "
     "%rd4, %rd1, %rd3;\nld.global.u32 %r11, [%rd4];\nld.global.u32 %r12, [%rd4+12];\nret;"},
    {"gathered", 1,
     "mul.lo.u32 %r9, %r1, 2654435761;\nshr.u32 %r10, %r9, 23;\nmul.wide.u32 %rd3, %r10, 4;\nadd.s64 %rd4, "
     "%rd1, %rd3;\nld.global.u32 %r11, [%rd4];\nld.global.u32 %r12, [%rd4+16];\nret;"},
    {"loop", 1,
     "setp.gt.u32 %p1, %r1, 40;\n@%p1 bra E;\nmul.lo.s32 %r10, %r1, %r4;\nmul.wide.s32 %rd3, %r10, 16;\n"
     "add.s64 %rd4, %rd1, %rd3;\nL: ld.global.v2.u32 {%r11, %r12}, [%rd4];\nadd.s64 %rd4, %rd4, 24;\n"
     "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 5;\n@%p2 bra L;\nE: ret;"},
    {"wrapping", 1,
     "add.s32 %r10, %r1, -5;\nand.b32 %r11, %r10, 1023;\nmul.wide.s32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd1, "
     "%rd3;\nld.global.u32 %r12, [%rd4];\nld.global.u32 %r13, [%rd4+4];\nret;"},
    {"banks", 2,
     "mul.lo.s32 %r10, %r1, 24;\nadd.s32 %r11, %r5, %r10;\nL: st.shared.u32 [%r11], %r1;\nst.shared.u64 "
     "[%r11+8], %rd1;\nadd.s32 %r11, %r11, 8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra "
     "L;\nret;"},
};

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LaneValues, AreTakenWhereTheyAreKnown) {
  for (const Known& kernel : known) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      Launch launch(module_of(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(count_of(with, ".reg .b32 %lynxpp_lane_"), kernel.registers == 0 ? 0 : 1 + kernel.registers)
          << with;
      EXPECT_EQ(count_of(launch.check(false), "lynxpp_lane_"), 0);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(Launch(module_of(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Bodies and how many numbers their sectors are added up in.
struct Shared {
  const char* name;
  std::size_t tallies;
  const char* body;
};
constexpr Shared sharing[] = {
    {"a sector on", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+32];\nst.global.u32 [%rd4+-64], %r10;\nret;"},
    {"half a sector on", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+48];\nst.global.u32 [%rd4+16], %r10;\nret;"},
    {"other differences", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd4, %rd3;\n"
     "ld.global.u32 %r10, [%rd4];\nld.global.u32 %r11, [%rd5];\nret;"},
    {"one address", 0,
     "setp.lt.u32 %p2, %r4, 33;\nld.global.u32 %r10, [%rd1+4];\n@%p2 ld.global.u32 %r11, "
     "[%rd1];\nsetp.gt.u32 %p1, "
     "%r1, 5;\n@%p1 bra E;\nst.global.u32 [%rd1+8], %r4;\nE: ret;"},
    {"rows", 1,
     "mul.wide.u32 %rd3, %r1, 96;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+4];\nld.global.v2.u32 {%r12, %r13}, [%rd4+88];\nret;"},
    {"rows of indices", 1,
     "shl.b32 %r10, %r1, 5;\nmul.wide.s32 %rd3, %r10, 4;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, "
     "[%rd4];\nld.global.u32 %r12, [%rd4+4];\nadd.s64 %rd4, %rd4, 8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, "
     "%r6, "
     "3;\n@%p2 bra L;\nret;"},
    {"moved in a loop", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, [%rd4];\nadd.s64 %rd4, "
     "%rd4, "
     "20;\nld.global.u32 %r12, [%rd4];\nst.global.u32 [%rd4+2048], %r12;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 "
     "%p2, %r6, "
     "3;\n@%p2 bra L;\nret;"},
    {"loop that lanes leave", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nand.b32 %r10, %r1, 3;\nL: ld.global.u32 %r11, "
     "[%rd4+4];\nst.global.u32 [%rd4+4100], %r11;\nadd.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, %r10;\n@%p2 "
     "bra "
     "L;\nret;"},
    {"other blocks", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nsetp.gt.u32 %p1, "
     "%r1, "
     "40;\n@%p1 bra E;\nst.global.u32 [%rd4+1024], %r10;\nE: ret;"},
    {"guarded", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nsetp.gt.u32 %p1, %r1, 4;\nld.global.u32 %r10, "
     "[%rd4];\n@%p1 st.global.u32 [%rd4], %r10;\nret;"},
    {"again in every row", 1,
     "mul.wide.u32 %rd3, %r1, 12;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r11, [%rd4];\nadd.u32 %r6, "
     "%r6, "
     "1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra L;\nret;"},
};

/// Indices plus a number that is 0, but who knows. Not to wrap around is one more number.
constexpr Shared sharing_by_indices[] = {
    {"an index a sector on", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nmul.wide.s32 %rd3, %r31, 4;\nadd.s64 %rd4, "
     "%rd1, %rd3;\nadd.s32 %r32, %r31, 8;\nmul.wide.s32 %rd5, %r32, 4;\nadd.s64 %rd6, %rd1, "
     "%rd5;\nld.global.u32 %r10, [%rd4];\nld.global.u32 %r11, [%rd6];\nret;"},
    {"unsigned and descending", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nsub.s32 %r31, 4000, %r1;\nmad.lo.s32 %r31, %r2, 31, %r31;\nadd.s32 "
     "%r32, %r31, %r30;\nmul.wide.u32 %rd3, %r32, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, "
     "[%rd4];\nadd.s32 %r33, %r32, 16;\ncvt.u64.u32 %rd5, %r33;\nmad.lo.s64 %rd6, %rd5, 4, "
     "%rd1;\nld.global.u32 %r11, [%rd6];\nret;"},
    {"an inner loop of one that lanes leave", 2,
     "ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nand.b32 %r13, %r1, 7;\nL: mov.u32 %r8, "
     "0;\nmov.u32 %r12, %r31;\nM: mul.wide.s32 %rd3, %r12, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 "
     "%r10, [%rd4];\nld.global.u32 %r11, [%rd4+64];\nadd.s32 %r12, %r12, 6;\nadd.u32 %r8, %r8, "
     "1;\nsetp.lt.u32 %p1, %r8, 3;\n@%p1 bra M;\nadd.s32 %r31, %r31, 1;\nadd.u32 %r6, %r6, "
     "1;\nsetp.le.u32 %p2, %r6, %r13;\n@%p2 bra L;\nret;"},
};

TEST(SectorSites, FollowIndicesThatDoNotWrapAround) {
  for (const Shared& kernel : sharing_by_indices) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      Launch launch(module_of(kernel.body), shape);
      for (const bool lane_values : {true, false}) {
        launch.check(lane_values);
        if (HasFatalFailure()) return;
        EXPECT_EQ(launch.tallies, kernel.tallies);
      }
      launch.wide_counters = true;
      launch.check(true);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(Launch(module_of(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// From lane 16 on the index is 2^32 lower, and the lane adds that to its address: two halves of the warp meet in two sectors.
TEST(SectorSites, MarkIndicesThatWrapAround) {
  for (const bool is_signed : {true, false}) {
    const std::string least = is_signed ? "2147483632" : "4294967280";
    const std::string lower = is_signed ? "-8589934528" : "-17179869120";
    const std::string upper = is_signed ? "8589934592" : "0";
    Launch launch(
        module_of("ld.global.nc.u32 %r30, [%rd1];\nadd.s32 %r31, %r1, %r30;\nadd.s32 %r31, %r31, " + least +
                  ";\nmul.wide." + (is_signed ? "s32" : "u32") +
                  " %rd3, %r31, 4;\nsetp.lt.u32 %p1, %r1, 16;\nselp.b64 %rd7, " + lower + ", " + upper +
                  ", %p1;\nadd.s64 %rd8, %rd7, %rd1;\nadd.s64 %rd4, %rd8, "
                  "%rd3;\nld.global.u32 %r10, [%rd4];\nret;"),
        {});
    launch.wraps_indices = true;
    launch.check(true);
    launch.wraps_indices = false;
    launch.wide_counters = true;
    launch.check(true);
  }
}

/// Bodies whose full rows, aligned, give nothing away.
constexpr Shared in_rows[] = {
    {"two places of a sector", 2,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nst.global.u32 "
     "[%rd4+4104], %r10;\nret;"},
    {"descending", 1,
     "mul.wide.u32 %rd3, %r1, 12;\nsub.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4+20];\nret;"},
    {"a sector for each", 1,
     "mul.wide.u32 %rd3, %r1, 64;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4+20];\nret;"},
    {"one address in a row", 1,
     "mul.wide.u32 %rd3, %r2, 68;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\nret;"},
};

TEST(SectorSites, TallyOnlyWarpsThatAreNoRows) {
  constexpr Shape rows[] = {{64, 1, 1}, {32, 3, 1}};
  constexpr Shape others[] = {{100, 1, 1}, {16, 4, 1}, {33, 2, 1}, {20, 1, 1}, {1, 40, 1}};
  for (const Shared& kernel : in_rows) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : rows) {
      Launch launch(module_of(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(launch.exceptions, kernel.tallies);
      EXPECT_TRUE(launch.adds_nothing) << with;
      launch.check(false);
      EXPECT_FALSE(launch.adds_nothing) << "nobody knows that they are rows";
    }
    for (const Shape& shape : others) {
      Launch launch(module_of(kernel.body), shape);
      launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_FALSE(launch.adds_nothing);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(Launch(module_of(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// The second block's rows begin in the middle of a sector.
TEST(SectorSites, TallyRowsThatBeginElsewhere) {
  Launch launch(module_of("mov.u32 %r9, %ctaid.x;\nmul.wide.u32 %rd5, %r9, 8;\nmul.wide.u32 %rd3, %r1, "
                          "4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd4, %rd4, %rd5;\nld.global.u32 %r10, "
                          "[%rd4];\nret;"),
                {64, 1, 1});
  launch.check(true);
  EXPECT_EQ(launch.exceptions, 1u);
  EXPECT_FALSE(launch.adds_nothing);
}

TEST(SectorSites, AreExpectedOfWarpsThatComeTogetherOnce) {
  const auto exceptions = [](const std::string& condition) {
    Launch launch(
        module_of("setp.gt.u32 %p1, " + condition +
                  ";\n@%p1 bra N;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, "
                  "%rd3;\nld.global.u32 %r10, [%rd4];\nN: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
                  "%r1;\n@%p2 bra E;\nmul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd6, %rd1, "
                  "%rd5;\nld.global.u64 %rd7, [%rd6];\nE: ret;"),
        {100, 1, 1});
    launch.check(true);
    return launch.exceptions;
  };
  EXPECT_EQ(exceptions("%r1, 63"), 1u) << "the other access stands behind a branch that divided them";
  EXPECT_EQ(exceptions("%r4, 500"), 2u);
}

TEST(SectorSites, ShareWhatIsEqual) {
  constexpr Shape some[] = {{100, 1, 1}, {7, 5, 1}, {16, 4, 1}};
  for (const Shared& kernel : sharing) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : some) {
      Launch launch(module_of(kernel.body), shape);
      for (const bool lane_values : {true, false}) {
        launch.check(lane_values);
        if (HasFatalFailure()) return;
        EXPECT_EQ(launch.tallies, kernel.tallies);
      }
      launch.wide_counters = true;
      launch.check(true);
      EXPECT_EQ(launch.tallies, kernel.tallies);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(Launch(module_of(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Bodies whose lanes come to their accesses to shared memory in parts, and at how many of these they know whom they meet at a bank. Those in a
/// part together have the same iteration behind them, where not said otherwise.
constexpr Known parted[] = {
    // Loads and stores a row apart, of all words different, of pairs and more at one word where %tid.y counts, and of one word for all.
    {"branch", 6,
     "mul.lo.s32 %r10, %r1, 68;\nadd.s32 %r11, %r5, %r10;\nmul.lo.s32 %r13, %r1, 64;\nadd.s32 %r14, %r5, "
     "%r13;\nL: setp.gt.u32 %p1, %r1, %r6;\n@%p1 bra N;\nld.shared.u32 %r12, [%r11+4];\nst.shared.u32 "
     "[%r11+68], %r12;\nld.shared.u32 %r12, [%r14];\nst.shared.v2.u32 [%r14+8], {%r12, %r1};\nst.shared.u64 "
     "[%r14+16], %rd1;\nred.shared.add.u32 [%r14+4], 1;\nN: add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, "
     "40;\n@%p2 bra L;\nret;"},
    {"guard", 3,
     "mul.lo.s32 %r10, %r1, 48;\nadd.s32 %r11, %r5, %r10;\nand.b32 %r12, %r1, 5;\nL: setp.eq.u32 %p1, %r12, "
     "%r6;\n@%p1 st.shared.v4.u32 [%r11], {%r1, %r2, %r3, %r4};\n@!%p1 st.shared.u32 [%r11+16], "
     "%r1;\n@!%p1 atom.shared.add.u64 %rd5, [%r11+8], 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
     "6;\n@%p2 bra L;\nret;"},
    {"permuted", 1,
     "xor.b32 %r9, %r1, 21;\nshl.b32 %r10, %r9, 6;\nadd.s32 %r11, %r5, %r10;\nL: setp.gt.u32 %p1, %r1, "
     "29;\n@%p1 bra N;\nld.shared.u32 %r12, [%r11+128];\nN: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
     "4;\n@%p2 bra L;\nret;"},
    // Each lane leaves the loop in an iteration of its own, and the address moves with the iterations.
    {"divergent_loop", 1,
     "shl.b32 %r10, %r1, 5;\nadd.s32 %r11, %r5, %r10;\nL: ld.shared.u32 %r12, [%r11+64];\nadd.s32 %r11, "
     "%r11, "
     "4;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, %r1;\n@%p2 bra L;\nret;"},
    // Wide loads of few lanes are served otherwise.
    {"wide_loads", 0,
     "shl.b32 %r10, %r1, 4;\nadd.s32 %r11, %r5, %r10;\nL: setp.gt.u32 %p1, %r1, %r6;\n@%p1 bra "
     "N;\nld.shared.v2.u32 {%r12, %r13}, [%r11];\nld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];\nN: "
     "add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, 40;\n@%p2 bra L;\nret;"},
    // Lanes that have come different ways add different numbers.
    {"ways_that_meet", 0,
     "mov.u32 %r10, 64;\nand.b32 %r12, %r1, 1;\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra W;\nmov.u32 %r10, "
     "192;\nW: "
     "mad.lo.s32 %r11, %r1, 4, %r10;\nadd.s32 %r11, %r11, %r5;\nL: setp.gt.u32 %p3, %r1, %r6;\n@%p3 bra "
     "N;\nst.shared.u32 [%r11], %r1;\nN: add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, 40;\n@%p2 bra L;\nret;"},
    // Behind a loop that lanes leave apart its address is theirs.
    {"behind_a_loop", 0,
     "mov.u32 %r10, %r5;\nL: add.s32 %r10, %r10, 4;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r1;\n@%p1 "
     "bra L;\nmov.u32 %r7, 0;\nM: setp.gt.u32 %p3, %r1, %r7;\n@%p3 bra N;\nmad.lo.s32 %r11, %r1, 60, "
     "%r10;\nst.shared.u32 [%r11], %r1;\nN: add.u32 %r7, %r7, 5;\nsetp.lt.u32 %p2, %r7, 40;\n@%p2 bra "
     "M;\nret;"},
};

TEST(LaneValues, AreThoseOfTheLanesThatAreThere) {
  for (const Known& kernel : parted) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      Launch launch(module_of(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(count_of(with, "mov.b32 %lynxpp_lane_banks"), kernel.registers) << with;
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(Launch(module_of(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Handlers that do something else besides keep their code at every place.
TEST(SectorSites, AreOnlyThoseOfHandlersThatCountSectors) {
  const auto measures = [](const std::string& code) {
    return compiled("global unsigned long n; global unsigned long m; ON_INSTRUCTION: GLOBAL: {" + code + "}")
        ->handlers()[0]
        .measures_sectors;
  };
  EXPECT_TRUE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_TRUE(measures("if (firstInSector()) { atomicAdd(&n, 1); atomicIncrement(&m); }"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 2);"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (first) atomicAdd(&n, 1); else atomicAdd(&m, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); if (!first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); first = 1; if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(
      measures("int first = firstInSector(); if (first) for (int i = 0; i < 2; ++i) atomicAdd(&n, 1);"));
  EXPECT_FALSE(measures("int first = firstInSector(); atomicAdd(&n, 1u + first);"));
  EXPECT_FALSE(
      measures("if (accessSize() > 4) { int first = firstInSector(); if (first) atomicAdd(&n, 1); }"));
}

/// Random accesses under random control flow.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::string body() {
    text_.clear();
    index();
    if (chance(3)) text_ += "setp.gt.u32 %p1, %r1, " + number(20) + ";\n@%p1 bra END;\n";
    statements(2);
    return text_ + "END: ret;";
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool chance(std::uint32_t of) { return below(of) == 0; }
  std::string number(std::uint32_t limit) { return std::to_string(below(limit)); }
  std::string fresh(const char* prefix, int& next) { return prefix + std::to_string(next++); }

  /// An index below 512 in %r10: affine, gathered, or the same for all.
  void index() {
    text_ += "mov.u32 %r10, " + number(9) + ";\n";
    for (const char* tid : {"%r1", "%r2", "%r3"})
      if (!chance(3)) text_ += std::string("mad.lo.s32 %r10, ") + tid + ", " + number(4) + ", %r10;\n";
    if (chance(4)) text_ += "mul.lo.u32 %r10, %r10, 2654435761;\nshr.u32 %r10, %r10, 24;\n";
    text_ += "and.b32 %r11, %r10, 511;\n";
    for (const std::uint32_t shift : {2u, 3u, 4u}) {
      const std::string reg = std::to_string(20 + shift);
      text_ += "mul.wide.u32 %rd" + reg + ", %r11, " + std::to_string(1u << shift) + ";\nadd.s64 %rd" + reg +
               ", %rd1, %rd" + reg + ";\nshl.b32 %r" + reg + ", %r1" + (chance(2) ? "1" : "0") + ", " +
               std::to_string(shift) + ";\nand.b32 %r" + reg + ", %r" + reg + ", 8191;\nadd.s32 %r" + reg +
               ", %r5, %r" + reg + ";\n";
    }
  }

  void access() {
    const std::uint32_t shift = 2 + below(3);
    const std::string offset = "+" + std::to_string((1u << shift) * below(20));
    const std::string moved = chance(3) ? step(shift) : "%rd" + std::to_string(20 + shift);
    static constexpr const char* types[] = {"u32", "u64", "v2.u64"};
    static constexpr const char* values[] = {"%r60", "%rd60", "{%rd60, %rd61}"};
    const std::string guard = chance(5) ? (chance(2) ? "@%p3 " : "@%p4 ") : "";
    const std::string type = types[shift - 2];
    const std::string value = values[shift - 2];
    const std::string shared = "[%r" + std::to_string(20 + shift) + offset + "]";
    switch (below(4)) {
      case 0: text_ += guard + "ld.global." + type + " " + value + ", [" + moved + offset + "];\n"; break;
      case 1: text_ += guard + "ld.shared." + type + " " + value + ", " + shared + ";\n"; break;
      case 2: text_ += guard + "st.shared." + type + " " + shared + ", " + value + ";\n"; break;
      default: text_ += guard + "ld.global.nc." + type + " " + value + ", [" + moved + offset + "];\n"; break;
    }
  }

  /// An address that the iteration moves.
  std::string step(std::uint32_t shift) {
    const std::string reg = fresh("%rd", next_wide_);
    if (next_wide_ > 58) next_wide_ = 30;
    text_ += "mul.wide.u32 " + reg + ", %r6, " + std::to_string(1u << shift) + ";\nadd.s64 " + reg + ", " +
             reg + ", %rd" + std::to_string(20 + shift) + ";\n";
    return reg;
  }

  void statements(int depth) {
    text_ += "setp.lt.u32 %p3, %r6, 2;\nsetp.lt.u32 %p4, %r1, " + number(30) + ";\n";
    for (std::uint32_t i = 0; i < 2 + below(3); ++i) access();
    if (depth == 0) return;
    const std::string label = fresh("L", next_label_);
    switch (below(4)) {
      case 0: {  // all lanes make the loop together, or not
        const std::string counter = "%r" + std::to_string(40 + depth);
        text_ += "mov.u32 " + counter + ", 0;\n" + label + ":\n";
        statements(depth - 1);
        text_ += "add.u32 " + counter + ", " + counter + ", 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p5, " +
                 counter + ", " + (chance(2) ? "3" : "%r2") + ";\n@%p5 bra " + label + ";\n";
        break;
      }
      case 1:
        text_ += "setp.lt.u32 %p6, " + std::string(chance(2) ? "%r4" : "%r1") + ", " + number(40) +
                 ";\n@%p6 bra " + label + ";\n";
        statements(depth - 1);
        text_ += label + ":\n";
        break;
      case 2: text_ += "activemask.b32 %r70;\nbar.warp.sync %r70;\n"; [[fallthrough]];
      default: statements(depth - 1);
    }
    for (std::uint32_t i = 0; i < below(3); ++i) access();
  }

  std::mt19937 random_;
  std::string text_;
  int next_label_ = 0;
  int next_wide_ = 30;
};

TEST(LaneValues, GiveWhatTheDeviceCountsOfRandomKernels) {
  int used = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    Launch launch(module_of(generator.body()), shapes[seed % std::size(shapes)]);
    used += launch.check(true).find("%lynxpp_lane_0") != std::string::npos ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(used, 10) << "of 20";
}

TEST(LaneValues, InDeviceFunctions) {
  const std::string function =
      ".func f(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %a<9>;\n.reg .b64 %b<9>;\nld.param.u64 %b1, "
      "[a];\nmov.u32 %a1, %tid.x;\nmul.wide.u32 %b2, %a1, 12;\nadd.s64 %b3, %b1, %b2;\nsetp.gt.u32 %p, %a1, "
      "9;\n@%p bra E;\nld.global.u32 %a2, [%b3];\nst.global.u32 [%b3+8], %a2;\nld.global.u32 %a3, "
      "[%b3+4];\nE: "
      "ret;\n}\n";
  const std::string body =
      "and.b32 %r10, %r1, 3;\nL: add.u32 %r6, %r6, 1;\n{\n.param .u64 x;\nst.param.u64 [x], %rd1;\ncall f, "
      "(x);\n}\nsetp.lt.u32 %p1, %r6, %r10;\n@%p1 bra L;\nret;";
  for (const Shape& shape : shapes) {
    Launch launch(module_of(body, function), shape);
    const std::string text = launch.check(true);
    if (HasFatalFailure()) return;
    EXPECT_NE(text.find("%lynxpp_lane_0"), std::string::npos);
  }
}

/// The lanes that ask are not those of the access.
TEST(LaneValues, AreNotForHandlersThatAskUnderACondition) {
  const auto can = [](const std::string& code) {
    return compiled("global unsigned long n; ON_INSTRUCTION: GLOBAL: {" + code + "}")
        ->handlers()[0]
        .can_use_lane_values;
  };
  EXPECT_TRUE(can("int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(can("if (laneId() < 7) { int first = firstInSector(); if (first) atomicAdd(&n, 1); }"));
  EXPECT_FALSE(can("if (laneId() < 7) return; int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(can("atomicAdd(&n, laneId() < 7 ? firstInSector() : 0);"));
  EXPECT_FALSE(can("atomicAdd(&n, 1);"));
}

}  // namespace
}  // namespace lynxpp::cod
