// Each file golden/NAME.ptx with the key `launches` is a test: in every launch and form, all counts are those
// of the cpu device's own counters. Keys:
//   launches  3 x 32, 100; 3*2 x 64    grids of 3 blocks of 32 and of 100 threads, and of 3 by 2 blocks of 64
//   launch    of all launches that the variant is for; by default the launch itself
//   n         the kernel's second parameter
//   plan      properties (below) that the plan for full warps has; after `no`, that it lacks
//   show      passes (tests/passes/shown_passes.h)
// Sections show the blocks' counts: in the last launch, or in each one if the file also shows passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "engine/handler_sites.h"
#include "ptx/parser/parser.h"
#include "support/text.h"
#include "tests/cod/test_support.h"
#include "tests/counting/fixture.h"
#include "tests/passes/shown_passes.h"
#include "tests/support/readable_name.h"

namespace lynxpp::cod {
namespace {

const std::string folder = LYNXPP_SOURCE_DIR "/tests/counting/golden/";

std::vector<std::string> launched_names() {
  std::vector<std::string> names = golden_names(folder);
  std::erase_if(names, [](const auto& name) { return golden_kernel(name).value("launches").empty(); });
  return names;
}

std::vector<std::string> words_in(const std::string& list, char separator) {
  std::vector<std::string> words;
  if (list.empty()) return words;
  for (const std::string& each : split(list, separator)) words.emplace_back(trim(each));
  return words;
}

struct NamedGrid {
  std::string name;
  Grid grid;
};

std::vector<NamedGrid> grids_in(const std::string& launches) {
  std::vector<NamedGrid> grids;
  for (const std::string& group : words_in(launches, ';')) {
    const std::vector<std::string> sides = words_in(group, 'x');
    Grid grid{{1, 1, 1}, {1, 1, 1}};
    std::size_t dimension = 0;
    for (const std::string& extent : words_in(sides.at(0), '*'))
      grid.blocks.at(dimension++) = static_cast<std::uint32_t>(std::stoul(extent));
    for (const std::string& threads : words_in(sides.at(1), ',')) {
      grid.threads[0] = static_cast<std::uint32_t>(std::stoul(threads));
      grids.push_back({sides.at(0) + " x " + threads, grid});
    }
  }
  return grids;
}

CountedLaunch launch_of(const GoldenFile& file, const Grid& grid) {
  const std::string n = file.value("n");
  CountedLaunch launch(file.input, grid,
                       n.empty() ? std::nullopt : std::optional(static_cast<std::uint32_t>(std::stoul(n))));
  const std::string shape = file.value("launch");
  if (!shape.empty()) launch.assume({shape != "any", shape == "whole_rows"});
  launch.native();
  return launch;
}

// ---- properties of plans

/// Returns the code between two texts of the variant.
std::string between(const std::string& variant, const std::string& begin, const std::string& end) {
  const std::size_t at = variant.find(begin);
  return at == std::string::npos ? "" : variant.substr(at, variant.find(end, at) - at);
}

struct PlanProperty {
  const char* specification;
  bool (*holds)(const CountedLaunch&);
};

const std::map<std::string, PlanProperty> plan_properties{
    // The lane with the most iterations counts for the warp where the lanes converge after a loop.
    {"lane_maxima",
     {everything,
      [](const CountedLaunch& launch) {
        return launch.variant().find("redux.sync.max") != std::string::npos;
      }}},
    // Warps that skip a block which nearly all enter are counted by a vote.
    {"votes",
     {everything,
      [](const CountedLaunch& launch) {
        return std::ranges::any_of(launch.plan().functions[0].counters, [](const ptx::Counter& each) {
          return each.increments[0].condition.kind == ptx::Condition::Kind::none_takes;
        });
      }}},
    // Nothing is inserted between the comparison with 200 and the branch to E.
    {"unsplit_branch",
     {only_instructions,
      [](const CountedLaunch& launch) {
        const std::string code = between(launch.variant(), "setp.ne.u32 %p1, %r4, 200;", "bra E;");
        return !code.empty() && code.find("lynxpp") == std::string::npos;
      }}},
};

void expect_properties(const GoldenFile& file) {
  for (std::string name : words_in(file.value("plan"), ',')) {
    const bool expected = !name.starts_with("no ");
    if (!expected) name.erase(0, 3);
    CountedLaunch launch = launch_of(file, {{4, 1, 1}, {64, 1, 1}});
    const PlanProperty& property = plan_properties.at(name);
    launch.count(property.specification);
    EXPECT_EQ(property.holds(launch), expected) << name << "\n" << launch.variant();
  }
}

// ---- all kernels

void expect_assembles(const std::string& variant) {
  if (has_ptxas()) {
    const bool is_for_hopper = variant.find(".target sm_90a") != std::string::npos;
    EXPECT_EQ(ptxas_errors(variant, is_for_hopper ? 90 : 80), "") << variant;
  }
}

/// The blocks' counts, those of warps after those of threads.
std::string counts_text(const device::cpu::LaunchCounters& counters) {
  std::string threads = "threads", warps = "; warps";
  for (const device::cpu::BlockCounters& block : counters.blocks) {
    threads += " " + std::to_string(block.thread_executions);
    warps += " " + std::to_string(block.warp_executions);
  }
  return threads + warps;
}

class CountedKernel : public testing::TestWithParam<std::string> {};

TEST_P(CountedKernel, MatchesTheDevicesCounters) {
  const GoldenFile file = golden_kernel(GetParam());
  std::string found = engine::shown_passes(file);
  const std::vector<NamedGrid> grids = grids_in(file.value("launches"));
  std::set<std::string> assembled;
  for (const NamedGrid& each : grids) {
    SCOPED_TRACE(each.name);
    const bool is_last = &each == &grids.back();
    CountedLaunch launch = launch_of(file, each.grid);
    ASSERT_FALSE(HasFatalFailure());
    for (const Form form : derived_forms) {
      ASSERT_TRUE(launch.is_exact(form)) << launch.variant();
      const bool is_new = assembled.insert(launch.variant()).second;
      if (is_new && (form == Form::narrow || is_last)) expect_assembles(launch.variant());
      ASSERT_TRUE(launch.has_exact_sums(form)) << launch.variant();
    }
    ASSERT_TRUE(launch.has_exact_instructions()) << launch.variant();
    if (is_last || !file.value("show").empty())
      found += golden_section(each.name, counts_text(launch.device_counters()));
    if (!is_last) continue;
    ASSERT_TRUE(launch.has_exact_instructions(Form::wide)) << launch.variant();
    ASSERT_TRUE(launch.is_exact(Form::plain)) << launch.variant();
  }
  expect_properties(file);
  expect_sections(file, found);
}

INSTANTIATE_TEST_SUITE_P(All, CountedKernel, testing::ValuesIn(launched_names()),
                         [](const auto& each) { return name_of_text(each.param); });

// ---- kernels with other specifications

/// Lane i iterates 2^27 - 16 + i times.
TEST(CountedKernels, SumsBeyond32BitsAreExact) {
  CountedLaunch launch(golden_kernel("single/long_loop").input, 1, 32);
  launch.native();
  ASSERT_TRUE(launch.has_exact_instructions()) << launch.variant();
}

/// Values that fit in a byte, a half word, a word.
TEST(CountedKernels, SumsOfAnySizeAreExact) {
  for (const std::string iterations : {"300", "2500"}) {
    std::string ptx = golden_kernel("shapes/sums_in_bytes").input;
    const std::string limit = "%p2, %r7, 6;";
    ptx.replace(ptx.find(limit), limit.size(), "%p2, %r7, " + iterations + ";");
    CountedLaunch launch(ptx, 2, 100);
    launch.native();
    for (const Form form : {Form::narrow, Form::before_sm_80})
      ASSERT_TRUE(launch.is_exact(form)) << iterations << " iterations";
  }
}

TEST(CountedKernels, BranchesToTheNextInstructionDoNotDiverge) {
  constexpr const char* specification = R"(
global unsigned long divergent[INSTRUCTIONS];
global unsigned long branches;
ON_INSTRUCTION: BRANCH: PREDICATED: OPCODE("bra*"): {
  int diverges = divergentWarp(branchTarget());
  if (diverges && leastActiveThreadInWarp()) atomicAdd(&divergent[instructionId()], 1);
  atomicAdd(&branches, 1);
}
)";
  const auto divergent = [&](const std::string& name) {
    CountedLaunch launch(golden_kernel(name).input, 2, 64);
    launch.native();
    const auto counted = launch.count(specification);
    return std::accumulate(counted[0].begin(), counted[0].end(), std::uint64_t{0});
  };
  EXPECT_EQ(divergent("shapes/branch_over_an_instruction"), 4u) << "every warp";
  EXPECT_EQ(divergent("shapes/branch_to_the_next_instruction"), 0u);
}

TEST(CountedKernels, CopySizesAreCountedSeparately) {
  constexpr const char* specification =
      "global unsigned long bytes[INSTRUCTIONS];\nON_INSTRUCTION: MEM_READ: GLOBAL: "
      "atomicAdd(&bytes[instructionId()], accessSize());\n";
  CountedLaunch launch(golden_kernel("single/copies").input, 2, 40);
  launch.native();
  const auto counted = launch.count(specification);
  EXPECT_EQ(counted, launch.count(specification, Form::plain)) << launch.variant();
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(std::ranges::count(counted[0], 2 * 20 * 4u), 3) << "half of the threads copy 4 bytes each time";
}

TEST(CountedKernels, SectorsMatchPlainHandlers) {
  constexpr const char* sectors = R"(
global unsigned long sectors[INSTRUCTIONS];
global unsigned long bytes[INSTRUCTIONS];
ON_INSTRUCTION: MEM_READ: GLOBAL: {
  int first = firstInSector();
  if (first) atomicAdd(&sectors[instructionId()], 1);
  atomicAdd(&bytes[instructionId()], accessSize());
}
)";
  CountedLaunch launch(golden_kernel("shapes/many_functions").input, 2, 75);
  launch.native();
  const auto plain = launch.count(sectors, Form::plain);
  for (const Form form : {Form::narrow, Form::before_sm_80}) EXPECT_EQ(launch.count(sectors, form), plain);
}

TEST(HandlerSites, AKernelWithoutRetEndsAfterItsLastInstruction) {
  Result<ptx::Module> module = ptx::parse_module(golden_kernel("shapes/without_ret").input);
  ASSERT_TRUE(module);
  const auto specification = compiled("global int n;\nON_KERNEL_EXIT: { atomicAdd(&n, 1); }\n");
  const auto found = engine::find_handler_sites(*module, "k", *specification);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().sites.size(), 1u);
}

}  // namespace
}  // namespace lynxpp::cod
