// Findings: every rule just within and just outside of its bounds, their order, and their text.
#include "report/findings/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "report/findings/tensor_peak.h"
#include "report/reader.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel "k" on lines 10 to 16 of a.cu: a load with 64 bytes between lanes, a scattered store, an atomic
/// operation and a branch around line 14; then a loop.
SitesRecord sites() {
  constexpr std::uint32_t none = SitesRecord::unknown;
  SitesRecord record;
  record.kernel = "k";
  record.functions = {"k"};
  record.opcodes = {"ld.global.f32", "st.global.f32", "atom.global.add.u32", "bra", "add.f32", "ret"};
  record.files = {"src/a.cu"};
  record.labels = {{"MEM_READ", "GLOBAL"}, {"MEM_WRITE", "GLOBAL"}, {"ATOMIC", "MEM_READ"}, {"BRANCH"}, {}};
  record.strides = {"64"};
  record.blocks = {{0, 0, 4, 1, 2, 2, none},
                   {0, 4, 1, 2, none, 2, none},
                   {0, 5, 1, 3, 2, 3, none},
                   {0, 6, 1, none, none, none, none}};
  record.instructions = {{0, 0, 0, 20, 0, 10, none, none, 0},
                         {0, 1, 1, 21, 0, 11},
                         {0, 2, 2, 22, 0, 12},
                         {0, 3, 3, 23, 0, 13},
                         {1, 4, 4, 24, 0, 14},
                         {2, 3, 3, 25, 0, 15},
                         {3, 5, 4, 26, 0, 16}};
  return record;
}

/// The same, with a load whose neighbouring lanes are 4 bytes apart.
SitesRecord contiguous_sites() {
  SitesRecord record = sites();
  record.strides = {"4"};
  return record;
}

LaunchRecord launch(std::string spec, std::vector<ResultValue> results, std::string device = "GPU") {
  LaunchRecord record;
  record.kernel = "k";
  record.device = std::move(device);
  record.grid[0] = 400;
  record.block[0] = 256;
  record.spec = std::move(spec);
  record.results = std::move(results);
  record.sites = 0;
  return record;
}

ResultValue of_places(std::string name, std::vector<std::uint64_t> values) {
  return by_site(std::move(name), "INSTRUCTIONS", std::move(values));
}

LaunchRecord memory(std::vector<std::uint64_t> requests, std::vector<std::uint64_t> sectors,
                    std::vector<std::uint64_t> asked) {
  std::uint64_t loads = sectors[0], stores = sectors[1], of_loads = requests[0];
  return launch("memory_efficiency",
                {of_places("requests", std::move(requests)), of_places("sectors", std::move(sectors)),
                 of_places("bytes_asked", std::move(asked)), number("load_sectors", loads),
                 number("load_requests", of_loads), number("store_sectors", stores)});
}

LaunchRecord shared(std::vector<std::uint64_t> wavefronts, std::vector<std::uint64_t> conflicts) {
  const std::uint64_t all = std::accumulate(wavefronts.begin(), wavefronts.end(), std::uint64_t{0});
  return launch("shared_bank_conflicts",
                {of_places("wavefronts", std::move(wavefronts)), of_places("conflicts", std::move(conflicts)),
                 number("load_wavefronts", all)});
}

/// Returns a record of a kernel with wgmma.
LaunchRecord tile(std::vector<std::uint64_t> wavefronts, std::vector<std::uint64_t> conflicts) {
  LaunchRecord record = shared(std::move(wavefronts), std::move(conflicts));
  record.results.push_back(number("modelled_operand_wavefronts", std::uint64_t{4096}));
  return record;
}

/// Returns a record of a kernel with tensor copies of known size.
LaunchRecord boxes() {
  return launch("memory_efficiency", {number("tensor_copy_bytes", std::uint64_t{4096})});
}

/// Returns a record of the atomic operation.
LaunchRecord contention(std::uint64_t requests, std::uint64_t lanes, std::uint64_t words,
                        std::uint64_t bank_conflicts, std::uint64_t hottest) {
  return launch("atomic_contention",
                {of_places("requests", {0, 0, requests}), of_places("lanes", {0, 0, lanes}),
                 of_places("words", {0, 0, words}), of_places("bank_conflicts", {0, 0, bank_conflicts}),
                 of_places("hottest_word", {0, 0, hottest})});
}

LaunchRecord blocks(std::vector<std::uint64_t> threads, std::vector<std::uint64_t> warps) {
  return launch("basic_block_count", {by_site("thread_executions", "BASIC_BLOCKS", std::move(threads)),
                                      by_site("warp_executions", "BASIC_BLOCKS", std::move(warps))});
}

LaunchRecord instructions(std::uint64_t threads, std::uint64_t warps) {
  return launch("instruction_count",
                {number("thread_instructions", threads), number("warp_instructions", warps)});
}

/// Returns a record of divergence at the branch and at the loop's.
LaunchRecord divergence(std::uint64_t branches, std::uint64_t divergent, std::uint64_t of_loop = 0) {
  return launch("branch_divergence",
                {of_places("branches", {0, 0, 0, branches, 0, branches}),
                 of_places("divergent", {0, 0, 0, divergent, 0, of_loop}),
                 number("total_divergent", divergent + of_loop), number("total_branches", 2 * branches)});
}

LaunchRecord runtime(double imbalance, std::uint64_t longest, double mean) {
  return launch("kernel_runtime", {number("load_imbalance", imbalance), number("max_cycles", longest),
                                   number("mean_cycles", mean),
                                   number("block_imbalance", static_cast<double>(longest) / mean)});
}

DeviceRecord gpu(std::uint64_t multiprocessors) {
  DeviceRecord record;
  record.device = "GPU";
  record.multiprocessors = multiprocessors;
  return record;
}

TimingRecord resources(KernelResources of) {
  TimingRecord record;
  record.kernel = "k";
  record.launches = 1;
  record.device = "GPU";
  record.original = of;
  return record;
}

LaunchRecord with_block(LaunchRecord record, std::uint32_t threads) {
  record.block[0] = threads;
  return record;
}

LaunchRecord with_grid(LaunchRecord record, std::uint32_t blocks) {
  record.grid[0] = blocks;
  return record;
}

LaunchRecord of_one_block(LaunchRecord record) { return with_grid(std::move(record), 1); }

/// The summary must outlive the facts.
class Findings : public testing::Test {
 protected:
  std::vector<KernelFinding> findings(const std::vector<Record>& records) {
    sink_ = std::make_unique<SummarySink>();
    sink_->sites(sites());
    replay(records, *sink_);
    facts_ = facts_of(sink_->summary());
    return findings_of(facts_);
  }

  const KernelFinding* find(const std::vector<Record>& records, const std::string& rule) {
    found_ = findings(records);
    const auto known = std::ranges::find(found_, rule, &KernelFinding::rule);
    return known == found_.end() ? nullptr : &*known;
  }

  std::unique_ptr<SummarySink> sink_;
  RunFacts facts_;
  std::vector<KernelFinding> found_;
};

struct Case {
  std::string rule;
  std::vector<Record> fires;
  std::vector<Record> does_not;
  std::string says;  ///< a part of the sentence
  double benefit;    ///< negative: not estimated
};

std::vector<Record> launches(std::uint64_t count, std::uint64_t warp_instructions) {
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    records.emplace_back(of_one_block(instructions(32 * warp_instructions, warp_instructions)));
    records.emplace_back(of_one_block(memory({1, 0, 0, 0}, {4, 0, 0, 0}, {128, 0, 0, 0})));
  }
  return records;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"uncoalesced access",
       {memory({100, 0, 0, 0}, {3200, 0, 0, 0}, {12800, 0, 0, 0})},
       {memory({100, 0, 0, 0}, {500, 0, 0, 0}, {12800, 0, 0, 0})},
       "loads take 32 sectors per warp request where 4 would suffice: 102,400 bytes of sectors "
       "at L1 for "
       "12,800 bytes of data (88 % unused by the request); neighbouring lanes are 64 bytes apart",
       0.875},
      {"scattered access",
       {memory({0, 100, 0, 0}, {0, 3200, 0, 0}, {0, 12800, 0, 0})},
       {memory({0, 100, 0, 0}, {0, 500, 0, 0}, {0, 12800, 0, 0})},
       "stores take 32 sectors per warp request where 4 would suffice: 102,400 bytes of sectors "
       "at L1 for "
       "12,800 bytes of data (88 % unused by the request)",
       0.875},
      {"bank conflicts",
       {shared({320, 0, 0, 0}, {310, 0, 0, 0})},
       {shared({320, 0, 0, 0}, {60, 0, 0, 0})},
       "loads of shared memory take 32 times the wavefronts that they need: 310 of 320 are bank conflicts; "
       "neighbouring "
       "lanes are 64 bytes apart",
       0.96875},
      {"bank conflicts between rows",
       {contiguous_sites(), shared({320, 0, 0, 0}, {310, 0, 0, 0})},
       {contiguous_sites(), shared({320, 0, 0, 0}, {60, 0, 0, 0})},
       "310 of 320 are bank conflicts; neighbouring lanes of a row access neighbouring words, but the rows "
       "of a "
       "warp share banks",
       0.96875},
      {"scattered bank conflicts",
       {shared({0, 320, 0, 0}, {0, 310, 0, 0})},
       {shared({0, 320, 0, 0}, {0, 60, 0, 0})},
       "stores of shared memory take 32 times the wavefronts that they need: 310 of 320 are bank conflicts",
       0.96875},
      {"tile bank conflicts",
       {tile({0, 320, 0, 0}, {0, 310, 0, 0})},
       {tile({0, 320, 0, 0}, {0, 60, 0, 0})},
       "stores of shared memory take 32 times the wavefronts that they need: 310 of 320 are bank conflicts",
       0.96875},
      {"tile bank conflicts",
       {boxes(), shared({0, 320, 0, 0}, {0, 310, 0, 0})},
       {boxes(), shared({0, 320, 0, 0}, {0, 60, 0, 0})},
       "stores of shared memory take 32 times the wavefronts that they need: 310 of 320 are bank conflicts",
       0.96875},
      {"tile bank conflicts",
       {contiguous_sites(), tile({320, 0, 0, 0}, {310, 0, 0, 0})},
       {contiguous_sites(), shared({320, 0, 0, 0}, {310, 0, 0, 0})},
       "310 of 320 are bank conflicts",
       0.96875},
      {"shared atomics on one word",
       {shared({0, 0, 320, 0}, {0, 0, 310, 0}), contention(10, 320, 10, 0, 0)},
       {shared({0, 0, 320, 0}, {0, 0, 310, 0}), contention(10, 320, 320, 310, 0)},
       "a word of shared memory is updated by 32 lanes of a warp on average, which takes 310 of 320 "
       "wavefronts",
       0.96875},
      {"contended atomics",
       {instructions(32000, 1000), contention(250, 8000, 1000, 0, 2000)},
       {instructions(32000, 1000), contention(250, 8000, 1000, 0, 400)},
       "at least 2,000 of 8,000 atomic operations update the same word of global memory; a word is updated "
       "by "
       "8 lanes of a warp on average",
       0.8 * 1056000 / (1056000 + 250)},  // four words of 256 bytes: a cycle each, on 132 multiprocessors
      // Every other warp executes line 14 with half of its lanes.
      {"divergent branch",
       {of_one_block(instructions(9600, 350)), of_one_block(divergence(400, 200)),
        of_one_block(blocks({12800, 3200, 0, 0}, {400, 200, 0, 0}))},
       {of_one_block(instructions(9600, 350)), of_one_block(divergence(400, 10)),
        of_one_block(blocks({12800, 3200, 0, 0}, {400, 200, 0, 0}))},
       "warps diverge in 200 of 400 executions of this branch (50 %); up to where the paths join, 16 of 32 "
       "lanes are "
       "active per instruction on average",
       100.0 / 350},
      {"uneven loop",
       {instructions(12800 * 8, 4000), divergence(400, 0, 400),
        blocks({12800, 12800, 25600, 12800}, {400, 400, 3200, 400})},
       {instructions(12800 * 8, 4000), divergence(400, 0, 0),
        blocks({12800, 12800, 25600, 12800}, {400, 400, 3200, 400})},
       "the lanes of a warp iterate this loop different numbers of times: a warp enters it with 32 lanes and "
       "iterates 8 "
       "times on "
       "average, a lane 2 times; 8 lanes are active per iteration",
       0.6},
      {"idle lanes", {instructions(1600, 100)}, {instructions(2500, 100)}, "16 of 32 lanes are active", 0.5},
      {"partial warps",
       {with_block(instructions(3000, 100), 48)},
       {with_block(instructions(3000, 100), 256)},
       "a block has 48 threads, which is not a multiple of 32: 25 % of the lanes of its warps have no thread",
       0.25},
      {"small blocks",
       {with_grid(with_block(instructions(3200, 100), 32), 2113)},
       {with_grid(with_block(instructions(3200, 100), 32), 2112)},
       "each of 2,113 blocks has 32 threads",
       -1},
      {"small grid",
       {gpu(132), with_grid(instructions(3200, 100), 33)},
       {gpu(132), with_grid(instructions(3200, 100), 132)},
       "a grid of 33 blocks leaves 75 % of 132 multiprocessors without work",
       0.75},
      {"tail of the grid",
       {gpu(100), instructions(3200, 100),
        resources({.blocks_per_sm = 3, .warps_per_sm = 24, .most_warps_per_sm = 32})},
       {gpu(100), instructions(3200, 100),
        resources({.blocks_per_sm = 4, .warps_per_sm = 32, .most_warps_per_sm = 32})},
       "400 blocks are 1.33 times the 300 that run at once",
       1.0 / 3},
      {"uneven multiprocessors",
       {runtime(2, 10, 10)},
       {runtime(1.2, 10, 10)},
       "the busiest multiprocessor is busy 2 times as long as the average one",
       0.5},
      {"uneven blocks",
       {gpu(100), runtime(1, 40, 10), resources({.blocks_per_sm = 4})},
       {gpu(100), runtime(1, 19, 10), resources({.blocks_per_sm = 4})},
       "the longest block of a launch takes 4 times the average of its blocks, up to 40 cycles",
       0.75},
      {"uneven warps",
       {launch("instruction_count_per_warp", {array<std::uint64_t>("warp_instructions", {90, 10, 10, 10})})},
       {launch("instruction_count_per_warp", {array<std::uint64_t>("warp_instructions", {40, 30, 30, 30})})},
       "one warp executes 90 instructions, 3 times the average",
       -1},
      {"local memory",
       {instructions(3200, 100), resources({.registers = 255, .local_bytes = 64})},
       {instructions(3200, 100), resources({.registers = 255, .local_bytes = 0})},
       "a thread has 64 bytes of local memory and 255 registers",
       -1},
      {"low occupancy",
       {instructions(3200, 100), resources({.registers = 128, .warps_per_sm = 16, .most_warps_per_sm = 64})},
       {instructions(3200, 100), resources({.registers = 128, .warps_per_sm = 48, .most_warps_per_sm = 64})},
       "16 of 64 warps fit on a multiprocessor (25 %)",
       -1},
      {"many tiny launches", launches(100, 50), launches(99, 50),
       "100 launches execute 50 warp instructions each on average: an estimated 0.07 microseconds of work, "
       "while a "
       "launch costs some 3",
       0.99998}};
  return all;
}

TEST_F(Findings, EveryRuleAppliesExactlyWithinItsBounds) {
  for (const Case& each : cases()) {
    const KernelFinding* const finding = find(each.fires, each.rule);
    ASSERT_NE(finding, nullptr) << each.rule;
    EXPECT_THAT(finding->sentence, HasSubstr(each.says));
    EXPECT_EQ(finding->benefit.has_value(), each.benefit >= 0) << each.rule;
    EXPECT_NEAR(finding->benefit.value_or(-1), each.benefit, 1e-4) << each.rule;
    EXPECT_EQ(find(each.does_not, each.rule), nullptr) << each.rule;
  }
}

TEST_F(Findings, EveryRuleHasACase) {
  std::set<std::string> tested;
  for (const Case& each : cases()) tested.insert(each.rule);
  for (const FindingRule& rule : finding_rules())
    EXPECT_TRUE(tested.contains(std::string(rule.name))) << rule.name;
  EXPECT_EQ(tested.size(), finding_rules().size());
}

TEST_F(Findings, IdsNameRuleKernelOpcodeAndObject) {
  const std::vector<Record> records = {shared({320, 320, 0, 0}, {310, 310, 0, 0})};
  std::set<std::string> ids;
  for (const KernelFinding& each : findings(records)) ids.insert(each.id);
  EXPECT_EQ(ids, (std::set<std::string>{"bank-conflicts:k:ld.global.f32",
                                        "scattered-bank-conflicts:k:st.global.f32"}));
}

TEST_F(Findings, EveryRuleIsDocumented) {
  std::string page;
  ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/docs/findings.md", page));
  for (const FindingRule& rule : finding_rules())
    EXPECT_THAT(page, HasSubstr("\n| " + std::string(rule.name) + " |"));
}

TEST_F(Findings, NameTheLineOfTheSource) {
  const KernelFinding* const finding = find(cases()[0].fires, "uncoalesced access");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->location);
  EXPECT_EQ(location_text(*finding->location), "a.cu:10");
  EXPECT_EQ(finding->location->opcode, "ld.global.f32");
}

/// Returns the sites with the load twice on one line.
SitesRecord unrolled() {
  SitesRecord one_line = sites();
  one_line.objects = {"argument 1", "argument 2"};
  one_line.instructions[0].object = 0;
  one_line.instructions[1] = one_line.instructions[0];
  one_line.instructions[1].ptx_line = 21;
  return one_line;
}

TEST_F(Findings, CopiesAreNeitherLoadsNorStores) {
  SitesRecord copies = sites();
  copies.opcodes[0] = "cp.async.ca.shared.global";
  copies.labels[0] = {"MEM_READ", "MEM_WRITE", "ASYNC_COPY", "GLOBAL", "SHARED"};
  std::vector<Record> records{copies, memory({100, 0, 0, 0}, {3200, 0, 0, 0}, {12800, 0, 0, 0})};
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].sentence.starts_with("asynchronous copies take 32 sectors per warp request"))
      << found[0].sentence;
}

TEST_F(Findings, CopiesOfAnUnrolledLoopAreMerged) {
  const std::vector<KernelFinding> found =
      findings({unrolled(), memory({100, 100, 0, 0}, {3200, 3200, 0, 0}, {12800, 12800, 0, 0})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].sentence, HasSubstr("204,800 bytes of sectors"));
  EXPECT_EQ(found[0].location->object, "argument 1") << "the signature of k is not known";
}

TEST_F(Findings, AccessesWithOneCauseAreOneFinding) {
  SitesRecord operands = unrolled(), calls = unrolled(), lines = unrolled();
  operands.instructions[1].object = 1;
  calls.call_sites = {{0, 40}, {0, 41, 0}};
  calls.instructions[0].call_site = 0;
  calls.instructions[1].call_site = 1;
  lines.instructions[1].line = 12;
  const LaunchRecord both = memory({100, 300, 0, 0}, {3200, 9600, 0, 0}, {12800, 38400, 0, 0});
  const auto only = [&](const SitesRecord& sites) {
    const std::vector<KernelFinding> found = findings({sites, both});
    EXPECT_EQ(found.size(), 1u);
    return found.at(0);
  };
  KernelFinding finding = only(operands);
  EXPECT_THAT(finding.sentence, HasSubstr("409,600 bytes of sectors"));
  EXPECT_THAT(finding.sentence, testing::EndsWith("; together with those of argument 1"));
  finding = only(calls);
  EXPECT_EQ(location_text(*finding.location), "a.cu:10, inlined at a.cu:41, inlined at a.cu:40")
      << "the costliest one";
  EXPECT_THAT(finding.sentence, testing::EndsWith("; together with those in a.cu:10, inlined at a.cu:40"));
  finding = only(lines);
  EXPECT_EQ(location_text(*finding.location), "a.cu:12");
  EXPECT_THAT(finding.sentence, testing::EndsWith("; together with those in a.cu:10"));
}

TEST_F(Findings, AccessesOfOtherLinesAndObjectsOrStridesAreSeparate) {
  SitesRecord lines = unrolled(), strides = unrolled();
  lines.instructions[1].line = 12;
  lines.instructions[1].object = 1;
  strides.strides.push_back("256");
  strides.instructions[1].stride = 1;
  const LaunchRecord both = memory({100, 100, 0, 0}, {3200, 3200, 0, 0}, {12800, 12800, 0, 0});
  EXPECT_EQ(findings({lines, both}).size(), 2u);
  EXPECT_EQ(findings({strides, both}).size(), 2u);
}

TEST_F(Findings, ContiguousLanesAreNotUncoalesced) {
  SitesRecord dense = sites();
  dense.strides = {"-4"};
  const LaunchRecord shifted = memory({100, 0, 0, 0}, {500, 0, 0, 0}, {12800, 0, 0, 0});
  const LaunchRecord every_fourth = memory({100, 0, 0, 0}, {400, 0, 0, 0}, {3200, 0, 0, 0});
  EXPECT_THAT(findings({dense, shifted}), testing::IsEmpty());
  EXPECT_THAT(findings({dense, every_fourth}), testing::IsEmpty());
}

TEST_F(Findings, StridesOfTheLaunchAreNamed) {
  SitesRecord pitched = sites();
  pitched.strides = {"4 * argument 6"};
  const std::vector<KernelFinding> found = findings({pitched, cases()[0].fires[0]});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].sentence, testing::EndsWith("neighbouring lanes are 4 * argument 6 bytes apart"));
  pitched.strides = {"-64"};
  EXPECT_THAT(findings({pitched, cases()[0].fires[0]})[0].sentence, testing::EndsWith("are 64 bytes apart"));
}

TEST_F(Findings, AtomicsThatCompilersCombineCountOncePerWarp) {
  SitesRecord uniform = sites();
  uniform.strides = {"0"};
  uniform.instructions[2].stride = 0;
  const KernelFinding* const finding =
      find({uniform, instructions(32000, 1000), contention(250, 8000, 250, 0, 8000)}, "contended atomics");
  EXPECT_EQ(finding, nullptr) << "250 operations of 400 blocks";
}

TEST_F(Findings, AtomicsOnFarWordsOverlap) {
  const auto benefit = [&](std::uint64_t hottest) {
    const KernelFinding* const finding =
        find({instructions(32'000'000, 1'000'000), contention(1'000'000, 32'000'000, 1'000'000, 0, hottest)},
             "contended atomics");
    return finding != nullptr ? finding->benefit.value() : 0;
  };
  const auto of = [](double cycles, double hottest) {
    return cycles * 132 / (cycles * 132 + 250'000) * (hottest - 400) / hottest;
  };
  EXPECT_NEAR(benefit(32'000'000), of(48e6, 32e6), 1e-6) << "one word: 1.5 cycles each";
  EXPECT_NEAR(benefit(125'000), of(16e6, 125'000), 1e-6) << "256 words of 4 bytes: half a cycle each";
  EXPECT_NEAR(benefit(500'000), of(32e6, 500'000), 1e-6) << "64 words, which are 256 bytes: a cycle each";
  EXPECT_NEAR(benefit(12'500), of(1.6e6, 12'500), 1e-6) << "ten such parts at once";
}

TEST_F(Findings, LastWarpAtABoundsCheckIsNotALoss) {
  // One block of 4 warps; 100 of its threads pass.
  const auto one_block = [](LaunchRecord record) { return with_grid(with_block(std::move(record), 128), 1); };
  EXPECT_THAT(findings({one_block(instructions(600, 24)), one_block(divergence(4, 1)),
                        one_block(blocks({128, 100, 0, 0}, {4, 4, 0, 0}))}),
              testing::IsEmpty());
}

TEST_F(Findings, OneLaneOfAWarpIsNotUncoalesced) {
  EXPECT_EQ(find({memory({100, 0, 0, 0}, {100, 0, 0, 0}, {400, 0, 0, 0})}, "uncoalesced access"), nullptr);
}

TEST_F(Findings, TheCpuDeviceHasNoMultiprocessors) {
  DeviceRecord cpu = gpu(132);
  cpu.device = "cpu";
  LaunchRecord record = with_grid(instructions(3200, 100), 33);
  record.device = "cpu";
  LaunchRecord time = runtime(2, 10, 10);
  time.device = "cpu";
  EXPECT_THAT(findings({cpu, record, time}), testing::IsEmpty());
}

TEST_F(Findings, LargestBenefitOfTheRunComesFirst) {
  LaunchRecord other = instructions(3200 * 9, 900);
  other.kernel = "other";
  // A tenth of the run loses half of its lanes; nine tenths have 16 threads in a block.
  const std::vector<Record> records{instructions(1600, 100), with_grid(with_block(other, 16), 4000)};
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(facts_.weight, Weight::work);
  EXPECT_EQ(found[0].rule, "partial warps");
  EXPECT_NEAR(*found[0].benefit, 0.45, 1e-9);
  EXPECT_EQ(found[1].rule, "idle lanes");
  EXPECT_NEAR(*found[1].benefit, 0.05, 1e-9);
  EXPECT_EQ(found[2].rule, "small blocks") << "not estimated";
}

TEST_F(Findings, SharesAreOfTimeIfKnown) {
  LaunchRecord other = instructions(3200, 100);
  other.kernel = "other";
  TimingRecord fast = resources({}), slow = resources({});
  fast.execute = 1;
  slow.kernel = "other";
  slow.execute = 3;
  findings({instructions(1600, 100), other, fast, slow});
  EXPECT_EQ(facts_.weight, Weight::time);
  EXPECT_DOUBLE_EQ(facts_.kernels[0].weight, 0.25);
  findings({instructions(1600, 100), other, fast});
  EXPECT_EQ(facts_.weight, Weight::work) << "the other's is not known";
}

TEST_F(Findings, LongBlockCostsLessInAGridOfManyWaves) {
  const TimingRecord four_at_once = resources({.blocks_per_sm = 4});
  const auto benefit = [&](std::uint32_t blocks) {
    return find({gpu(100), with_grid(runtime(1, 40, 10), blocks), four_at_once}, "uneven blocks")->benefit;
  };
  EXPECT_NEAR(benefit(400).value(), 0.75, 1e-9);
  EXPECT_NEAR(benefit(1600).value(), 0.75 / 4, 1e-9);
}

TEST_F(Findings, TimeIsSplitByTheWorkInEachRange) {
  LaunchRecord forward = instructions(9600, 300), backward = instructions(3200, 100);
  forward.ranges = {"step", "forward"};
  backward.ranges = {"step", "backward"};
  TimingRecord time = resources({});
  time.execute = 8;
  const auto times = [this](const std::vector<Record>& records) {
    findings(records);
    std::map<std::string, double> of;
    for (const KernelFacts& kernel : facts_.kernels)
      of[kernel.ranges.back()] = kernel.facts.get("milliseconds");
    return of;
  };
  using Times = std::map<std::string, double>;
  EXPECT_EQ(times({forward, backward, time}), (Times{{"forward", 6}, {"backward", 2}}));
  EXPECT_EQ(facts_.weight, Weight::time);
  forward.results = backward.results = {number<std::uint64_t>("atomics", 5)};
  EXPECT_EQ(times({forward, backward, time}), (Times{{"forward", 4}, {"backward", 4}}))
      << "nothing says how they differ";
}

TEST_F(Findings, WarpsAreComparedWithTheAverageOfAllLaunches) {
  const auto warps = [](std::vector<std::uint64_t> counts) {
    return launch("instruction_count_per_warp", {array("warp_instructions", std::move(counts))});
  };
  const auto said = [&](const std::vector<Record>& records) {
    const KernelFinding* const finding = find(records, "uneven warps");
    return finding == nullptr ? std::string("nothing") : finding->sentence;
  };
  const LaunchRecord uneven = warps({90, 10, 10, 10});
  EXPECT_THAT(said({uneven, uneven, uneven}), HasSubstr("executes 90 instructions, 3 times the average"));
  EXPECT_THAT(said({uneven, warps({30})}), HasSubstr("90 instructions, 3 times"))
      << "of five warps, where the last launch has one";
  EXPECT_EQ(said({warps({40, 30, 30, 30}), warps({40, 30, 30, 30})}), "nothing");
}

TEST_F(Findings, TextHasFindingReasonAndAdvice) {
  const std::vector<KernelFinding> found = findings(cases()[0].fires);
  EXPECT_EQ("\n" + findings_text(found, facts_.weight, 90), R"(
== lynxpp: findings ==
Ordered by the share of the run's estimated work that a repair may save.
1.  uncoalesced access, may save about 88 % (estimated, 44 to 98 %): k, a.cu:10 (ld.global.f32)
    Loads take 32 sectors per warp request where 4 would suffice: 102,400 bytes of sectors
    at L1 for 12,800 bytes of data (88 % unused by the request); neighbouring lanes are 64
    bytes apart.
    Why: L1 serves a warp's request in sectors of 32 bytes, and each sector that a lane
    touches is requested whole.
    Try: let neighbouring lanes access neighbouring addresses: swap the roles of the
    thread indices or of the array's dimensions, turn arrays of structures into structures
    of arrays, or stage a tile in shared memory.
)");
}

SitesRecord sites_of_two_loads() {
  SitesRecord record = unrolled();
  record.instructions[1].object = 1;
  record.instructions[1].line = 12;
  return record;
}

TEST_F(Findings, TextGivesTheReasonOncePerRule) {
  const std::vector<KernelFinding> found =
      findings({sites_of_two_loads(), memory({100, 100, 0, 0}, {3200, 3200, 0, 0}, {12800, 12800, 0, 0})});
  ASSERT_EQ(found.size(), 2u);
  const std::string text = findings_text(found, facts_.weight, 100);
  EXPECT_EQ(text.find("Try: "), text.rfind("Try: ")) << text;
  EXPECT_THAT(text, HasSubstr("apart.\n    Why, and what to try: see 1.\n"));
}

TEST_F(Findings, TextWithoutLinesSuggestsLineinfo) {
  SitesRecord no_lines = sites();
  for (SitesRecord::Instruction& each : no_lines.instructions) each.line = 0;
  const std::vector<Record> records{no_lines, cases()[0].fires[0]};
  const std::string text = findings_text(findings(records), facts_.weight, 100);
  EXPECT_THAT(text, HasSubstr("k, PTX line 20 (ld.global.f32)\n"));
  EXPECT_THAT(text, HasSubstr("Compile with -lineinfo"));
  EXPECT_THAT(text, HasSubstr("An HTML report shows the PTX."));
  EXPECT_THAT(text, Not(HasSubstr("XLA")));
  EXPECT_THAT(findings_text(findings(cases()[0].fires), facts_.weight, 100), Not(HasSubstr("-lineinfo")));
}

TEST_F(Findings, TextWithoutLinesSaysWhereXlaHasThem) {
  SitesRecord no_lines = sites();
  no_lines.kernel = "loop_gather_fusion_2";
  for (SitesRecord::Instruction& each : no_lines.instructions) each.line = 0;
  LaunchRecord launch = std::get<LaunchRecord>(cases()[0].fires[0]);
  launch.kernel = no_lines.kernel;
  const std::vector<Record> records{no_lines, launch};
  const std::string text = findings_text(findings(records), facts_.weight, 100);
  EXPECT_THAT(text, HasSubstr("loop_gather_fusion_2, PTX line 20 (ld.global.f32)\n"));
  EXPECT_THAT(text, HasSubstr("XLA_FLAGS=--xla_dump_to=FOLDER"));
  EXPECT_THAT(text, Not(HasSubstr("-lineinfo")));
}

TEST_F(Findings, EstimatesAboutLocationsHaveARange) {
  // Estimates and gains measured on an H200 (docs/measurements): spmv, bfs, mm, columns.py, kmeans.py.
  for (const auto& [estimate, gain] : std::vector<std::pair<double, double>>{
           {.36, .426}, {.185, .228}, {.185, .351}, {.83, .926}, {.622, .554}, {.519, .705}}) {
    const auto [low, high] = range_of_estimate(estimate);
    EXPECT_LE(low, gain);
    EXPECT_GE(high, gain);
  }
  EXPECT_EQ(range_of_estimate(0), std::pair(0.0, 0.0));
  EXPECT_EQ(range_of_estimate(1), std::pair(1.0, 1.0));
  const std::vector<KernelFinding> found = findings(cases()[0].fires);
  ASSERT_TRUE(found.at(0).interval);
  EXPECT_LT(found[0].interval->first, found[0].benefit);
  EXPECT_GT(found[0].interval->second, found[0].benefit);
  EXPECT_FALSE(findings({with_block(instructions(1600, 100), 48)}).at(0).interval)
      << "no repair of partial warps is known";
}

TEST_F(Findings, SmallBenefitsAreSummarized) {
  LaunchRecord other = instructions(3200 * 999, 99900);
  other.kernel = "other";
  EXPECT_EQ(findings_text(findings({instructions(1600, 100), other}), facts_.weight, 100), "");
  LaunchRecord odd = with_block(other, 48);
  const std::string text = findings_text(findings({instructions(1600, 100), odd}), facts_.weight, 100);
  EXPECT_THAT(text, Not(HasSubstr("of 32 lanes")));
  EXPECT_THAT(text, HasSubstr("\n  … 1 more with less than 1 %, see an HTML report: idle lanes (k)\n"));
  EXPECT_EQ(findings_text({}, Weight::work, 100), "");
}

TEST_F(Findings, SmallBenefitsOfManyKernelsAreShownTogether) {
  std::vector<Record> records;
  for (int i = 0; i < 200; ++i) {
    LaunchRecord each = with_block(instructions(1600, 100), 48);
    each.kernel = "k" + std::to_string(i);
    records.emplace_back(each);
  }
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_FALSE(std::ranges::any_of(found, is_worth_a_line));
  EXPECT_NEAR(benefit_together(found), 0.25 + 1.0 / 3, 0.01);
  std::vector<KernelFinding> many = found;
  for (int i = 0; i < 9; ++i) many.insert(many.end(), found.begin(), found.end());
  EXPECT_EQ(benefit_together(many), 1) << "of a kernel no more than all";
  const std::string text = findings_text(found, facts_.weight, 100);
  EXPECT_THAT(text, HasSubstr(" together about 58 %. The\nfirst ones:\n1.  "));
  EXPECT_THAT(text, HasSubstr("\n3.  "));
  EXPECT_THAT(text, Not(HasSubstr("\n4.  ")));
}

TEST_F(Findings, SummarySaysWhyResultsAreLost) {
  CoverageRecord lost{"k", true, "", 1, 1, 7, {"results lost: cannot record an event"}};
  findings({lost});
  EXPECT_THAT(summary_text(sink_->summary(), 100),
              HasSubstr("\n  k: results lost: cannot record an event\n"));
  lost.notes.clear();
  findings({lost});
  EXPECT_THAT(summary_text(sink_->summary(), 100), HasSubstr("\n  k: no results were recorded\n"));
}

TEST_F(Findings, SummaryNamesKernelsThatAFilterExcluded) {
  findings({CoverageRecord{"_Z6matmulPf", false, "not selected by LYNXPP_KERNELS", 3, 0, 0, {}}});
  EXPECT_EQ(summary_text(sink_->summary(), 100),
            "== lynxpp: summary ==\nNo kernel was measured. These were launched:\n"
            "  matmul(float*): not selected by LYNXPP_KERNELS\n");
}

TEST_F(Findings, SummaryShowsTheKernelsWithTheLargestShares) {
  findings(
      {instructions(1600, 100), divergence(100, 50), memory({1, 1, 0, 0}, {4, 4, 0, 0}, {128, 128, 0, 0})});
  EXPECT_EQ("\n" + overview_text(facts_, 100), R"(
== lynxpp: summary ==
1 kernel, 1 launch on GPU; 100 warp instructions.
kernel        share of  launches          warp   lanes  divergent
        estimated work            instructions  active   branches
k                100 %         1           100    50 %       25 %
)");
}

TEST_F(Findings, SummaryHasTheBoxesOfTensorCopies) {
  LaunchRecord record = memory({1, 1, 0, 0}, {4, 4, 0, 0}, {128, 128, 0, 0});
  record.results.push_back(number("tensor_copy_bytes", std::uint64_t{4096}));
  findings({instructions(1600, 100), record});
  EXPECT_THAT(overview_text(facts_, 200), HasSubstr("; tensor copies move boxes of 4.096k bytes in total."));
  EXPECT_THAT(overview_text(facts_, 200), Not(HasSubstr("unknown")));
}

TEST_F(Findings, SummarySaysThatBytesOfTensorCopiesAreUnknown) {
  LaunchRecord record = memory({1, 1, 0, 0}, {4, 4, 0, 0}, {128, 128, 0, 0});
  record.results.push_back(number("tensor_copies_without_bytes", std::uint64_t{3}));
  findings({instructions(1600, 100), record});
  EXPECT_THAT(overview_text(facts_, 200), HasSubstr("; the bytes of 3 tensor copies are unknown."));
  findings({instructions(1600, 100), memory({1, 1, 0, 0}, {4, 4, 0, 0}, {128, 128, 0, 0})});
  EXPECT_THAT(overview_text(facts_, 200), Not(HasSubstr("tensor")));
}

// ---------------------------------------------------------------- tensor cores

DeviceRecord product(std::string name, std::uint64_t multiprocessors, std::uint64_t mhz) {
  DeviceRecord record;
  record.device = std::move(name);
  record.multiprocessors = multiprocessors;
  record.clock_khz = mhz * 1000;
  return record;
}

TEST(TensorPeak, IsTheDataSheets) {
  struct Case {
    DeviceRecord device;
    const char* type;
    double tera;  ///< 0: unknown
  };
  // Multiprocessors and boost clocks for which the data sheets give the rates.
  const DeviceRecord v100 = product("Tesla V100-SXM2-16GB", 80, 1530);
  const DeviceRecord t4 = product("Tesla T4", 40, 1590);
  const DeviceRecord a100 = product("NVIDIA A100-SXM4-80GB", 108, 1410);
  const DeviceRecord a30 = product("NVIDIA A30", 56, 1440);
  const DeviceRecord h100 = product("NVIDIA H100 80GB HBM3", 132, 1830);
  const Case cases[] = {{v100, "f16", 125},
                        {v100, "int8", 0},
                        {t4, "f16", 65},
                        {t4, "int8", 130},
                        {a100, "f64", 19.5},
                        {a100, "tf32", 156},
                        {a100, "bf16", 312},
                        {a100, "int8", 624},
                        {a100, "int4", 1248},
                        {a30, "f16", 165},
                        {h100, "tf32", 494.7},
                        {h100, "f16", 989.4},
                        {h100, "f8", 1978.9},
                        {h100, "b1", 0},
                        {product("NVIDIA H100 80GB HBM3", 132, 1980), "f64", 66.9},
                        {product("NVIDIA GH200 480GB", 132, 1830), "f16", 989.4},
                        {product("NVIDIA H20", 78, 1980), "f16", 0},  // has fewer tensor cores
                        {product("NVIDIA L40", 142, 2490), "f16", 0},
                        {product("NVIDIA H200", 0, 1980), "f16", 0},
                        {product("NVIDIA H200", 132, 0), "f16", 0}};
  for (const Case& each : cases) {
    const double peak = tensor_peak(each.device, each.type).value_or(0) / 1e12;
    EXPECT_NEAR(peak, each.tera, each.tera * 0.01) << each.device.device << ' ' << each.type;
  }
}

class TensorShare : public Findings {
 protected:
  /// A kernel that takes `ms` and executes 100 TFLOP of f16 and others of `type`.
  const Facts& facts(DeviceRecord device, double ms, const char* type = "f16", std::uint64_t launches = 1) {
    LaunchRecord counted = launch("instruction_count",
                                  {number("warp_instructions", std::uint64_t{1000}),
                                   number("tensor_operations_f16", std::uint64_t{100'000'000'000'000})},
                                  device.device);
    if (std::string_view(type) != "f16")
      counted.results.push_back(number(std::string("tensor_operations_") + type, std::uint64_t{1000}));
    TimingRecord time = resources({});
    time.device = device.device;
    time.execute = ms;
    time.launches = launches;
    findings({std::move(device), std::move(counted), std::move(time)});
    return facts_.kernels.at(0).facts;
  }
};

TEST_F(TensorShare, IsOfTheInstrumentedTime) {
  const DeviceRecord h200 = product("NVIDIA H200", 132, 1830);
  EXPECT_NEAR(facts(h200, 1000).get("tensor.share"), 100 / 989.4, 0.001);
  EXPECT_EQ(facts(h200, 1000).get("tensor.operations"), 1e14);
  EXPECT_THAT(overview_text(facts_, 120), HasSubstr("at least 10 %"));
  EXPECT_THAT(overview_text(facts_, 120), HasSubstr("tensor peak"));
}

TEST_F(TensorShare, IsUnknownWithoutTimeDeviceOrType) {
  EXPECT_EQ(facts(product("NVIDIA H200", 132, 1830), 0).find("tensor.share"), nullptr);
  EXPECT_EQ(facts(product("NVIDIA L40", 142, 2490), 1000).find("tensor.share"), nullptr);
  EXPECT_EQ(facts(product("NVIDIA H200", 132, 1830), 1000, "int4").find("tensor.share"), nullptr);
  EXPECT_EQ(facts(product("NVIDIA H200", 132, 1830), 1000, "f16", 2).find("tensor.share"), nullptr);
  EXPECT_EQ(facts(product("cpu", 132, 1830), 1000).find("tensor.share"), nullptr);
  EXPECT_EQ(facts_.kernels.at(0).facts.get("tensor.operations"), 1e14);
  EXPECT_THAT(overview_text(facts_, 120), Not(HasSubstr("tensor peak")));
}

}  // namespace
}  // namespace lynxpp::report
