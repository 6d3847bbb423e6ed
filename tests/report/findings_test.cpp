// Findings in words: every rule where it holds and where it just does not, their order, and their text.
#include "report/findings/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "report/reader.h"
#include "support/text.h"
#include "tests/report/records.h"

namespace lynxpp::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel "k" with a load, a store, an atomic operation and a branch, on lines 10 to 13 of a.cu.
SitesRecord sites() {
  SitesRecord record;
  record.kernel = "k";
  record.functions = {"k"};
  record.opcodes = {"ld.global.f32", "st.global.f32", "atom.global.add.u32", "bra"};
  record.files = {"src/a.cu"};
  record.labels = {{"MEM_READ", "GLOBAL"}, {"MEM_WRITE", "GLOBAL"}, {"ATOMIC", "MEM_READ"}, {"BRANCH"}};
  record.blocks = {{0, 0, 4}};
  record.instructions = {
      {0, 0, 0, 20, 0, 10}, {0, 1, 1, 21, 0, 11}, {0, 2, 2, 22, 0, 12}, {0, 3, 3, 23, 0, 13}};
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
  std::uint64_t loads = sectors[0], stores = sectors[1];
  return launch("memory_efficiency",
                {of_places("requests", std::move(requests)), of_places("sectors", std::move(sectors)),
                 of_places("bytes_asked", std::move(asked)), number("load_sectors", loads),
                 number("store_sectors", stores)});
}

LaunchRecord shared(std::vector<std::uint64_t> wavefronts, std::vector<std::uint64_t> conflicts) {
  const std::uint64_t all = wavefronts[0];
  return launch("shared_bank_conflicts",
                {of_places("wavefronts", std::move(wavefronts)), of_places("conflicts", std::move(conflicts)),
                 number("load_wavefronts", all)});
}

LaunchRecord instructions(std::uint64_t threads, std::uint64_t warps) {
  return launch("instruction_count",
                {number("thread_instructions", threads), number("warp_instructions", warps)});
}

LaunchRecord divergence(std::uint64_t branches, std::uint64_t divergent) {
  return launch("branch_divergence",
                {of_places("branches", {0, 0, 0, branches}), of_places("divergent", {0, 0, 0, divergent}),
                 number("total_divergent", divergent), number("total_branches", branches)});
}

LaunchRecord runtime(double imbalance, std::uint64_t longest, double mean) {
  return launch("kernel_runtime", {number("load_imbalance", imbalance), number("max_cycles", longest),
                                   number("mean_cycles", mean)});
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

/// The summary has to outlive the facts.
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
  for (std::uint64_t i = 0; i < count; ++i)
    records.emplace_back(instructions(32 * warp_instructions, warp_instructions));
  return records;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"uncoalesced access",
       {memory({100, 0, 0, 0}, {3200, 0, 0, 0}, {12800, 0, 0, 0})},
       {memory({100, 0, 0, 0}, {500, 0, 0, 0}, {12800, 0, 0, 0})},
       "loads here move 102,400 bytes for 12,800 that were asked for: 32 sectors a request, where 4 would "
       "do; "
       "89,600 bytes (88 %) are wasted",
       0.875},
      {"misaligned access",
       {memory({0, 100, 0, 0}, {0, 500, 0, 0}, {0, 12800, 0, 0})},
       {memory({0, 100, 0, 0}, {0, 440, 0, 0}, {0, 12800, 0, 0})},
       "stores here take 5 sectors a request, where 4 would do; 20 %",
       0.2},
      {"bank conflicts",
       {shared({320, 0, 0, 0}, {310, 0, 0, 0})},
       {shared({320, 0, 0, 0}, {60, 0, 0, 0})},
       "take 32 times the wavefronts that they need: 310 of 320 are bank conflicts",
       0.96875},
      {"divergent branch",
       {instructions(1600, 100), divergence(100, 50)},
       {instructions(1600, 100), divergence(100, 4)},
       "50 % of the warps that come to this branch are divided by it (50 times, 100 % of the kernel's); 16 "
       "of 32",
       0.5},
      {"idle lanes", {instructions(1600, 100)}, {instructions(2500, 100)}, "16 of 32 lanes work", 0.5},
      {"blocks of broken warps",
       {with_block(instructions(3000, 100), 48)},
       {with_block(instructions(3000, 100), 256)},
       "a block has 48 threads, no multiple of 32: 25 % of its lanes have no thread",
       0.25},
      {"small blocks",
       {with_block(instructions(3200, 100), 32)},
       {with_block(instructions(3200, 100), 64)},
       "a block has 32 threads",
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
       "has 2 times the work of the mean",
       0.5},
      {"uneven blocks",
       {gpu(100), runtime(1, 40, 10), resources({.blocks_per_sm = 4})},
       {gpu(100), runtime(1, 19, 10), resources({.blocks_per_sm = 4})},
       "takes 4 times the cycles of the mean (40)",
       0.75},
      {"uneven warps",
       {launch("instruction_count_per_warp", {array<std::uint64_t>("warp_instructions", {90, 10, 10, 10})})},
       {launch("instruction_count_per_warp", {array<std::uint64_t>("warp_instructions", {40, 30, 30, 30})})},
       "one warp executes 90 instructions, 3 times the mean",
       -1},
      {"spilled registers",
       {instructions(3200, 100), resources({.registers = 255, .local_bytes = 64})},
       {instructions(3200, 100), resources({.registers = 255, .local_bytes = 0})},
       "a thread has 64 bytes of local memory beside its 255 registers",
       -1},
      {"low occupancy",
       {instructions(3200, 100), resources({.registers = 128, .warps_per_sm = 16, .most_warps_per_sm = 64})},
       {instructions(3200, 100), resources({.registers = 128, .warps_per_sm = 48, .most_warps_per_sm = 64})},
       "16 of 64 warps fit on a multiprocessor (25 %), with 128 registers",
       -1},
      {"atomics on one word",
       {memory({0, 0, 100, 0}, {0, 0, 100, 0}, {0, 0, 12800, 0})},
       {memory({0, 0, 100, 0}, {0, 0, 400, 0}, {0, 0, 12800, 0})},
       "at least 4 lanes of a warp meet in one word",
       -1},
      {"many tiny launches", launches(100, 50), launches(99, 50),
       "100 launches with 50 instructions of warps each", 0.99998}};
  return all;
}

TEST_F(Findings, EveryRuleHoldsWhereItShouldAndNotBeside) {
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

TEST_F(Findings, EveryRuleIsDocumented) {
  std::string page;
  ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/docs/findings.md", page));
  for (const FindingRule& rule : finding_rules())
    EXPECT_THAT(page, HasSubstr("\n| " + std::string(rule.name) + " |"));
}

TEST_F(Findings, NameTheLineOfTheSource) {
  const KernelFinding* const finding = find(cases()[0].fires, "uncoalesced access");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->place);
  EXPECT_EQ(place_text(*finding->place), "a.cu:10");
  EXPECT_EQ(finding->place->opcode, "ld.global.f32");
}

TEST_F(Findings, InstructionsOfOneLineAreOnePlace) {
  SitesRecord one_line = sites();
  one_line.instructions[1] = one_line.instructions[0];
  one_line.instructions[1].ptx_line = 21;
  std::vector<Record> records{one_line, memory({100, 100, 0, 0}, {3200, 3200, 0, 0}, {12800, 12800, 0, 0})};
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].sentence, HasSubstr("move 204,800 bytes"));
}

TEST_F(Findings, CopiesAreNeitherLoadsNorStores) {
  SitesRecord copies = sites();
  copies.opcodes[0] = "cp.async.ca.shared.global";
  copies.labels[0] = {"MEM_READ", "MEM_WRITE", "ASYNC_COPY", "GLOBAL", "SHARED"};
  std::vector<Record> records{copies, memory({100, 0, 0, 0}, {3200, 0, 0, 0}, {12800, 0, 0, 0})};
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].sentence.starts_with("asynchronous copies here move 102,400 bytes"))
      << found[0].sentence;
}

TEST_F(Findings, ASectorMoreForEachRequestIsMisaligned) {
  const std::vector<KernelFinding> found =
      findings({memory({100, 0, 0, 0}, {200, 0, 0, 0}, {3200, 0, 0, 0})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "misaligned access") << "bytes";
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

TEST_F(Findings, TheMostPromisingOfTheRunStandsFirst) {
  LaunchRecord other = instructions(3200 * 9, 900);
  other.kernel = "other";
  // A tenth of the run loses half of its lanes; nine tenths have 16 threads in a block.
  const std::vector<Record> records{instructions(1600, 100), with_block(other, 16)};
  const std::vector<KernelFinding> found = findings(records);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(facts_.weight, Weight::work);
  EXPECT_EQ(found[0].rule, "blocks of broken warps");
  EXPECT_NEAR(*found[0].benefit, 0.45, 1e-9);
  EXPECT_EQ(found[1].rule, "idle lanes");
  EXPECT_NEAR(*found[1].benefit, 0.05, 1e-9);
  EXPECT_EQ(found[2].rule, "small blocks") << "not estimated";
}

TEST_F(Findings, SharesAreOfTheTimeWhereItIsKnown) {
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

TEST_F(Findings, TextSaysWhatWhyAndWhatToTry) {
  const std::vector<KernelFinding> found = findings(cases()[0].fires);
  EXPECT_EQ("\n" + findings_text(found, facts_.weight, 90), R"(
== lynxpp: findings ==
In order of what might be saved at most: an estimate, in shares of the run's estimated
work.
1.  uncoalesced access, up to 88 %: k, a.cu:10 (ld.global.f32)
    Loads here move 102,400 bytes for 12,800 that were asked for: 32 sectors a request,
    where 4 would do; 89,600 bytes (88 %) are wasted.
    Why: memory moves sectors of 32 bytes, and a warp's request all sectors that its lanes
    touch.
    Try: let neighbouring lanes access neighbouring addresses: swap the roles of the
    thread indices or of the array's dimensions, turn arrays of structures into structures
    of arrays, or go through a tile in shared memory.
)");
}

TEST_F(Findings, TextSaysWhyOnceForEachRule) {
  const std::vector<KernelFinding> found =
      findings({memory({100, 100, 0, 0}, {3200, 3200, 0, 0}, {12800, 12800, 0, 0})});
  ASSERT_EQ(found.size(), 2u);
  const std::string text = findings_text(found, facts_.weight, 100);
  EXPECT_EQ(text.find("Try: "), text.rfind("Try: ")) << text;
  EXPECT_THAT(text, HasSubstr("are wasted.\n    Why, and what to try: as of 1.\n"));
}

TEST_F(Findings, TextWithoutLinesSaysWhatIsMissing) {
  SitesRecord no_lines = sites();
  for (SitesRecord::Instruction& each : no_lines.instructions) each.line = 0;
  const std::vector<Record> records{no_lines, cases()[0].fires[0]};
  const std::string text = findings_text(findings(records), facts_.weight, 100);
  EXPECT_THAT(text, HasSubstr("k, PTX line 20 (ld.global.f32)\n"));
  EXPECT_THAT(text, HasSubstr("Compile with -lineinfo"));
  EXPECT_THAT(findings_text(findings(cases()[0].fires), facts_.weight, 100), Not(HasSubstr("-lineinfo")));
}

TEST_F(Findings, LittlePromisesAreCounted) {
  LaunchRecord other = instructions(3200 * 999, 99900);
  other.kernel = "other";
  const std::string text = findings_text(findings({instructions(1600, 100), other}), facts_.weight, 100);
  EXPECT_THAT(text, Not(HasSubstr("idle lanes")));
  EXPECT_THAT(text, HasSubstr("… 1 more that promise less than 1 %"));
  EXPECT_EQ(findings_text({}, Weight::work, 100), "");
}

TEST_F(Findings, TheSummaryNamesTheKernelsThatAFilterMissed) {
  findings({CoverageRecord{"_Z6matmulPf", false, "not selected by LYNXPP_KERNELS", 3, 0, 0, {}}});
  EXPECT_EQ(summary_text(sink_->summary(), 100),
            "== lynxpp: summary ==\nNo kernel was measured. These were launched:\n"
            "  matmul(float*): not selected by LYNXPP_KERNELS\n");
}

TEST_F(Findings, TheSummaryShowsTheKernelsThatMatter) {
  findings(
      {instructions(1600, 100), divergence(100, 50), memory({1, 1, 0, 0}, {4, 4, 0, 0}, {128, 128, 0, 0})});
  EXPECT_EQ("\n" + overview_text(facts_, 100), R"(
== lynxpp: summary ==
1 kernel, 1 launch on GPU; 100 instructions of warps.
kernel        share of  launches  instructions   lanes  divergent
        estimated work                of warps  active   branches
k                100 %         1           100    50 %       50 %
)");
}

}  // namespace
}  // namespace lynxpp::report
