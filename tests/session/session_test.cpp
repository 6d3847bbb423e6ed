// The launch session on a device that only records its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SessionTest, InstrumentsOnceAndRecordsEveryLaunch) {
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_EQ(decoded_, 1);
  EXPECT_EQ(device_.loaded.size(), 1u);
  EXPECT_THAT(device_.loaded[0], Not(HasSubstr("4096")));
  ASSERT_EQ(device_.slots_seen.size(), 2u);
  EXPECT_EQ(device_.slots_seen[1].offset, 8u);
  EXPECT_EQ(device_.slots_seen[1].bytes, 4u);
  ASSERT_EQ(records_.launches.size(), 2u);
  EXPECT_EQ(records_.launches[1].launch, 1u);
  EXPECT_EQ(records_.launches[1].spec, "session_test_sevens");
  EXPECT_EQ(records_.launches[1].device, "fake");
  ASSERT_EQ(records_.launches[1].results.size(), 1u);
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(records_.launches[1].results[0].values), ElementsAre(7));
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_TRUE(records_.coverage[0].instrumented);
  EXPECT_EQ(records_.coverage[0].launches, 2u);
  EXPECT_EQ(records_.coverage[0].sites, 1u);
  EXPECT_EQ(records_.finished, 1);
  EXPECT_FALSE(launch()) << "nothing is instrumented after the end";
  session_->finish();
  EXPECT_EQ(records_.finished, 1);
}

TEST_F(SessionTest, LaunchesOfAnotherShapeGetTheirOwnVariant) {
  std::ofstream(spec_) << "global unsigned long warps[BASIC_BLOCKS];\nON_BASIC_BLOCK_ENTRY: { if "
                          "(leastActiveThreadInWarp()) atomicAdd(&warps[basicBlockId()], 1); }\n";
  start({});
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 "
      "n)\n{\n.reg "
      ".pred %p<2>;\n.reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.eq.u32 %p1, %r2, "
      "1;\n@%p1 bra E;\nadd.u32 %r3, %r3, 1;\nE: ret;\n}\n";
  EXPECT_TRUE(launch("k", 1, 100, 33));
  EXPECT_TRUE(launch("k", 1, 100, 64));
  ASSERT_EQ(device_.loaded.size(), 2u);
  EXPECT_NE(device_.loaded[1], device_.loaded[0]) << "rows of 32 threads reach E together";
  EXPECT_TRUE(launch("k", 1, 200, 96)) << "rows, too";
  EXPECT_TRUE(launch("k", 1, 300, 17)) << "none, as in the first launch";
  EXPECT_EQ(device_.loaded.size(), 2u);
  EXPECT_EQ(decoded_, 2);
  session_->finish();
  EXPECT_EQ(records_.launches.size(), 4u);
  EXPECT_EQ(records_.sites.size(), 1u) << "one table for both";
}

TEST_F(SessionTest, VariantsWithTheSameTextAreLoadedOnce) {
  EXPECT_TRUE(launch("k", 1, 100, 33));
  EXPECT_TRUE(launch("k", 1, 100, 64));
  EXPECT_TRUE(launch("k", 1, 16, 33));
  EXPECT_EQ(device_.loaded.size(), 1u);
  EXPECT_EQ(device_.launched, 3);
  EXPECT_TRUE(launch("k", 2, 100, 33)) << "from another image";
  EXPECT_EQ(device_.loaded.size(), 2u);
}

TEST_F(SessionTest, ShapesFollowFromTheLaunch) {
  device::Launch launch;
  const auto of = [&](std::uint32_t x, std::uint32_t y) {
    launch.block[0] = x;
    launch.block[1] = y;
    return engine::shape_of(launch.block);
  };
  EXPECT_EQ(of(32, 3), (engine::LaunchShape{true, true}));
  EXPECT_EQ(of(16, 6), (engine::LaunchShape{true, false}));
  EXPECT_EQ(of(33, 1), (engine::LaunchShape{false, false}));
}

TEST_F(SessionTest, SiteTableIsWrittenOnceBeforeItsFirstUse) {
  std::ofstream(spec_) << "global unsigned long counts[INSTRUCTIONS];\n"
                          "ON_INSTRUCTION: { atomicAdd(&counts[instructionId()], 1); }\n";
  start({});
  EXPECT_TRUE(launch("k", 1));
  EXPECT_TRUE(launch("k", 1));
  EXPECT_TRUE(launch("k", 2)) << "another image with the same kernel";
  text_.insert(text_.find("ret;"), "add.u64 %rd1, %rd1, 1;\n");
  EXPECT_TRUE(launch("k", 3)) << "another kernel of the same name";
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 4u);
  EXPECT_EQ(records_.launches[1].sites, 0u);
  EXPECT_EQ(records_.launches[2].sites, 0u);
  EXPECT_EQ(records_.launches[3].sites, 1u);
  EXPECT_THAT(records_.launches[0].results.at(0).extent_names, ElementsAre("INSTRUCTIONS"));
  ASSERT_EQ(records_.sites.size(), 2u);
  const report::SitesRecord& sites = records_.sites[1];
  EXPECT_EQ(sites.kernel, "k");
  EXPECT_EQ(sites.table, 1u);
  EXPECT_THAT(sites.functions, ElementsAre("k"));
  EXPECT_THAT(sites.opcodes, ElementsAre("mov.u64", "add.u64", "ret"));
  ASSERT_EQ(sites.instructions.size(), 3u);
  EXPECT_THAT(sites.labels.at(sites.instructions[1].labels), ElementsAre("ARITHMETIC", "INTEGER"));
  EXPECT_EQ(sites.instructions[1].ptx_line, 9u);
  EXPECT_EQ(sites.instructions[1].file, report::SitesRecord::unknown);
  EXPECT_EQ(sites.blocks, (std::vector<report::SitesRecord::Block>{{0, 0, 3}}));
}

TEST_F(SessionTest, LaunchesWithoutValuesPerSiteNeedNoSiteTable) {
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_TRUE(records_.sites.empty());
  EXPECT_EQ(records_.launches.at(0).sites, std::nullopt);
}

TEST_F(SessionTest, OnlySampledLaunchesAreInstrumentedAndMarked) {
  std::ofstream(spec_) << "global unsigned long sevens;\n"
                          "host unsigned long all;\n"
                          "ON_KERNEL_EXIT: SAMPLE_LAUNCHES(3): SAMPLE_BLOCKS(2): { atomicAdd(&sevens, 1); }\n"
                          "ON_REPORT: { all += sevens; emit(\"sevens\", sevens); }\n"
                          "ON_END: { emit(\"all\", all); }\n";
  start({});
  std::vector<bool> instrumented;
  for (int i = 0; i < 7; ++i) instrumented.push_back(launch());
  EXPECT_THAT(instrumented, ElementsAre(true, false, false, true, false, false, true));
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 3u);
  EXPECT_EQ(records_.launches[2].launch, 6u);
  EXPECT_EQ(records_.launches[2].sampling.launches, 3u);
  EXPECT_EQ(records_.launches[2].sampling.blocks, 2u);
  EXPECT_EQ(records_.launches[2].sampling.warps, 1u);
  EXPECT_THAT(records_.launches[2].notes, ElementsAre("sampled 1 of 3 launches, 1 of 2 thread blocks"));
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(records_.launches[2].results[0].values)[0], 7u)
      << "nothing is scaled";
  ASSERT_EQ(records_.totals.size(), 1u);
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(records_.totals[0].results[0].values)[0], 21u);
  EXPECT_THAT(records_.totals[0].notes, ElementsAre("sampled 1 of 3 launches, 1 of 2 thread blocks"));
  EXPECT_EQ(records_.coverage[0].launches, 7u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 3u);
}

TEST_F(SessionTest, ReportsHandlersWithDifferentSampling) {
  std::ofstream(spec_) << "global unsigned long sevens; global unsigned long all;\n"
                          "ON_KERNEL_EXIT: SAMPLE_BLOCKS(2): { atomicAdd(&sevens, 1); }\n"
                          "ON_KERNEL_EXIT: { atomicAdd(&all, 1); }\n"
                          "ON_KERNEL_EXIT: KERNEL(\"other\"): SAMPLE_WARPS(9): { atomicAdd(&all, 1); }\n";
  start({});
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_THAT(records_.launches[0].notes,
              ElementsAre("sampled handler of line 2: 1 of 2 thread blocks; handler of line 3: all"));
  const report::LaunchRecord::Sampling& sampling = records_.launches[0].sampling;
  EXPECT_EQ(sampling.blocks, 2u);
  EXPECT_EQ(sampling.warps, 1u);
  ASSERT_EQ(sampling.handlers.size(), 2u);
  EXPECT_EQ(sampling.handlers[0].line, 2u);
  EXPECT_EQ(sampling.handlers[0].blocks, 2u);
  EXPECT_EQ(sampling.handlers[1].blocks, 1u);
}

TEST_F(SessionTest, ReportErrorsNameTheirSourceLocation) {
  std::ofstream(spec_) << "global unsigned long a[2];\nhost int zero;\n"
                          "ON_KERNEL_EXIT: { atomicAdd(&a[0], 1); }\n"
                          "ON_REPORT: {\n  int i = 5;\n  emit(\"x\", a[i]);\n  emit(\"y\", 7 / zero);\n}\n"
                          "ON_END: emit(\"z\", 1 % zero);\n";
  start({});
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_THAT(records_.launches[0].notes,
              ElementsAre(spec_ + ":6:13: this index is out of range; the access was skipped",
                          spec_ + ":7:13: division by zero; the result was taken as 0"));
  ASSERT_EQ(records_.totals.size(), 1u);
  EXPECT_THAT(records_.totals[0].notes,
              ElementsAre(spec_ + ":9:19: division by zero; the result was taken as 0"));
}

TEST_F(SessionTest, PendingResultsKeepTheirOrder) {
  device_.ready = false;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  EXPECT_TRUE(records_.launches.empty());
  device_.ready = true;
  EXPECT_TRUE(launch());
  EXPECT_EQ(records_.launches.size(), 3u);
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(records_.launches[i].launch, i);
}

TEST_F(SessionTest, LaunchesThatAreOverAreCollectedBeforeTheirResultsArrive) {
  device_.ready = false;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(records_.launches.empty());
  device_.over = true;
  session_->collect();
  EXPECT_EQ(records_.launches.size(), 1u);
}

TEST_F(SessionTest, UninstrumentableKernelRunsUnchangedWithAReason) {
  text_ = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry other()\n{\nret;\n}\n";
  EXPECT_FALSE(launch());
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_EQ(decoded_, 1) << "it is tried once";
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_FALSE(records_.coverage[0].instrumented);
  EXPECT_EQ(records_.coverage[0].reason, "the module has no kernel 'k'");
  EXPECT_EQ(records_.coverage[0].launches, 2u);
}

TEST_F(SessionTest, SpecificationWithoutMatchesIsNamed) {
  const std::string textures =
      written("textures",
              "global unsigned long n; unsigned int mine = 0;\n"
              "ON_INSTRUCTION: TEXTURE: { ++mine; }\nON_KERNEL_EXIT: { atomicAdd(&n, mine); }\n");
  const std::string counted =
      written("counted", "global unsigned long n;\nON_INSTRUCTION: MEM_READ: { atomicAdd(&n, 1); }\n");
  const std::string elsewhere = written(
      "elsewhere", "global unsigned long n;\nON_BASIC_BLOCK_ENTRY: KERNEL(\"other\"): { n += laneId(); }\n");
  const std::string blocks =
      written("blocks", "global unsigned long n;\nON_BASIC_BLOCK_ENTRY: { atomicAdd(&n, 1); }\n");
  std::string list = spec_;
  for (const std::string& path : {textures, counted, elsewhere, blocks}) list += "," + path;
  std::string problem;
  ASSERT_TRUE(session_->attach(list, problem)) << problem;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_TRUE(records_.coverage[0].instrumented);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre("no site in this kernel matches 'textures'",
                                                      "no site in this kernel matches 'counted'",
                                                      "no site in this kernel matches 'elsewhere'"));
}

TEST_F(SessionTest, RejectsExcessiveTotalSharedMemory) {
  const std::string text =
      "shared unsigned int words[6144]; global unsigned int n[THREADS];\n"
      "ON_KERNEL_ENTRY: { words[blockThreadId()] = 1; }\n"
      "ON_KERNEL_EXIT: { n[globalThreadId()] = words[blockThreadId()]; }\n";
  const std::string first = written("first", text);
  const std::string second = written("second", text);
  const std::string third = written("third", text);
  std::string problem;
  ASSERT_TRUE(session_->attach(first + "," + second, problem)) << problem;
  EXPECT_TRUE(launch()) << "48 KiB together";
  ASSERT_TRUE(session_->attach(first + "," + second + "," + third, problem)) << problem;
  EXPECT_FALSE(launch());
  session_->finish();
  ASSERT_EQ(records_.coverage.size(), 2u) << "one for each list";
  EXPECT_THAT(records_.coverage[0].specs, ElementsAre("first", "second"));
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 1);
  EXPECT_THAT(records_.coverage[1].specs, ElementsAre("first", "second", "third"));
  EXPECT_EQ(records_.coverage[1].instrumented_launches, 0);
  EXPECT_EQ(records_.coverage[1].reason,
            "the attached specifications need 73728 bytes of shared memory in total, more than 49152");
}

TEST_F(SessionTest, VariableWithoutAddressKeepsTheOriginal) {
  device_.has_total = false;
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_EQ(records_.coverage[0].reason, "the device does not report the address of the variable 'total'");
}

TEST_F(SessionTest, IndirectCallsKeepTheOriginal) {
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 f)\n{\n.reg .b64 "
      "%rd<2>;\n"
      "ld.param.u64 %rd1, [f];\nproto: .callprototype _ ();\ncall %rd1, proto;\nret;\n}\n";
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_THAT(records_.coverage[0].reason, HasSubstr("calls functions through pointers"));
}

TEST_F(SessionTest, FailedLoadOrLaunchKeepsTheOriginal) {
  device_.refuses_load = true;
  EXPECT_FALSE(launch("k", 1));
  device_.refuses_load = false;
  device_.refuses_launch = true;
  EXPECT_FALSE(launch("k", 2));
  EXPECT_EQ(device_.freed, 1) << "the buffer of the launch that failed";
  session_->finish();
  EXPECT_EQ(records_.coverage[0].reason, "too many registers");
  EXPECT_TRUE(records_.launches.empty());
}

TEST_F(SessionTest, CopiesHandlersIfTheirCallsAreRejected) {
  device_.refuses_calls = true;
  setenv("LYNXPP_OUTLINE", "all", 1);
  EXPECT_TRUE(launch());
  unsetenv("LYNXPP_OUTLINE");
  session_->finish();
  ASSERT_EQ(device_.loaded.size(), 2u);
  EXPECT_THAT(device_.loaded[0], HasSubstr("call __lynxpp_function"));
  EXPECT_THAT(device_.loaded[1], Not(HasSubstr("call __lynxpp_function")));
  EXPECT_TRUE(records_.coverage[0].instrumented);
  EXPECT_EQ(records_.launches.size(), 1u);
}

TEST_F(SessionTest, LostResultsAreNoted) {
  device_.loses_results = true;
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_TRUE(records_.launches.empty());
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre("results lost: the launch died"));
}

TEST_F(SessionTest, CapturedLaunchesRunUnchanged) {
  device_.captures = true;
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_EQ(device_.launched, 0);
  EXPECT_EQ(records_.coverage[0].reason, "captured into a graph");
  EXPECT_EQ(records_.coverage[0].launches, 0u) << "a capture launches nothing";
}

TEST_F(SessionTest, AnInstrumentedLaunchClearsTheReasonOfACapturedOne) {
  device_.captures = true;
  EXPECT_FALSE(launch());
  device_.captures = false;
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_TRUE(records_.coverage[0].instrumented);
  EXPECT_EQ(records_.coverage[0].reason, "");
}

TEST_F(SessionTest, CapturedLaunchesTakeNoNumber) {
  Configuration configuration;
  configuration.launches = *LaunchFilter::parse("0", "LYNXPP_LAUNCHES");
  start(std::move(configuration));
  device_.captures = true;
  EXPECT_FALSE(launch());
  device_.captures = false;
  EXPECT_TRUE(launch()) << "the first one";
  EXPECT_FALSE(launch());
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_EQ(records_.launches[0].launch, 0u);
  EXPECT_EQ(records_.coverage[0].launches, 2u);
}

TEST_F(SessionTest, DetachingDoesNotOvertakeALaunch) {
  while_decoding_ = [&] {
    std::string problem;
    EXPECT_TRUE(session_->attach("", problem));
  };
  EXPECT_TRUE(launch());
  EXPECT_FALSE(launch()) << "this one comes after it";
  session_->finish();
  ASSERT_EQ(records_.coverage.size(), 1u);
  EXPECT_EQ(records_.coverage[0].launches, 1u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 1u);
  EXPECT_EQ(records_.launches.size(), 1u);
}

TEST_F(SessionTest, LaunchesThatAreNeverInstrumentedAppearInCoverage) {
  device_.captures = true;
  EXPECT_FALSE(launch());
  device_.captures = false;
  for (int i = 0; i < 3; ++i) session_->launched_natively("k", 2, "by graphs");
  session_->launched_natively("other", 1, "by graphs");
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.coverage.size(), 2u);
  EXPECT_EQ(records_.coverage[0].launches, 7u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 1u);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre("6 launches by graphs were not counted"));
  EXPECT_FALSE(records_.coverage[1].instrumented);
  EXPECT_EQ(records_.coverage[1].reason, "launched by graphs");
  EXPECT_EQ(records_.coverage[1].launches, 1u);
  EXPECT_THAT(records_.coverage[1].notes, ElementsAre("1 launch by graphs was not counted"));
}

// A kernel that fails makes every later call fail, which does not indicate a graph.
TEST_F(SessionTest, LaunchesOnFailedStreamsRunUnchanged) {
  device_.stream_fails = true;
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_EQ(device_.launched, 0);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre(HasSubstr("illegal memory access")));
}

TEST_F(SessionTest, ReportsAFilterThatSelectsNothing) {
  Configuration configuration;
  configuration.kernels = *NamePattern::parse("matmull");
  start(std::move(configuration));
  for (const char* kernel : {"_Z6reducePf", "_Z9transposePf", "_Z6matmulPf"}) EXPECT_FALSE(launch(kernel));
  testing::internal::CaptureStderr();
  session_->finish();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("'matmull' matches none of the 3 kernels that were launched; the nearest: "
                        "matmul(float*), reduce(float*), transpose(float*)"));
  ASSERT_EQ(records_.coverage.size(), 3u);
  EXPECT_EQ(records_.coverage[0].kernel, "_Z6matmulPf");
}

TEST_F(SessionTest, FiltersSelectKernelsAndLaunches) {
  Configuration configuration;
  configuration.kernels = *NamePattern::parse("^k$");
  configuration.launches = *LaunchFilter::parse("1", "LYNXPP_LAUNCHES");
  start(std::move(configuration));
  EXPECT_FALSE(launch("unwanted"));
  EXPECT_FALSE(launch("k"));
  EXPECT_TRUE(launch("k"));
  EXPECT_FALSE(launch("k"));
  session_->finish();
  ASSERT_EQ(records_.coverage.size(), 2u);
  EXPECT_EQ(records_.coverage[0].kernel, "k");
  EXPECT_EQ(records_.coverage[0].launches, 3u);
  EXPECT_EQ(records_.coverage[0].instrumented_launches, 1u);
  EXPECT_EQ(records_.coverage[1].reason, "not selected by LYNXPP_KERNELS");
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_EQ(records_.launches[0].launch, 1u);
}

TEST_F(SessionTest, DetachesAndAttachesAgain) {
  std::string problem;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(session_->attach("", problem));
  EXPECT_FALSE(session_->attached());
  EXPECT_FALSE(launch());
  EXPECT_TRUE(session_->attach("kernel_runtime", problem)) << problem;
  EXPECT_TRUE(session_->attached());
  EXPECT_TRUE(launch());
  EXPECT_EQ(device_.loaded.size(), 2u) << "another specification needs another variant";
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 2u);
  EXPECT_EQ(records_.launches[1].spec, "kernel_runtime");
}

TEST_F(SessionTest, EndHandlersSeeStateOfAllReports) {
  const std::string path = written(
      "session_test_end",
      "global unsigned long a; host unsigned long launches = 10, last;\n"
      "ON_KERNEL_EXIT: { a = 1; }\n"
      "ON_REPORT: { ++launches; last = launchIndex(); emit(\"so_far\", launches); }\n"
      "ON_END: { emit(\"launches\", launches, \"launches\"); emit(\"last\", last); print(\"done\"); }\n");
  std::string problem;
  ASSERT_TRUE(session_->attach(path + ",kernel_runtime", problem)) << problem;
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  EXPECT_TRUE(session_->attach("kernel_runtime", problem)) << problem;
  EXPECT_TRUE(launch());
  ASSERT_TRUE(session_->attach(path, problem)) << problem;
  session_->finish();
  ASSERT_EQ(records_.totals.size(), 1u) << "the second time no launch was made";
  const report::TotalRecord& total = records_.totals[0];
  EXPECT_EQ(total.spec, "session_test_end");
  ASSERT_EQ(total.results.size(), 2u);
  EXPECT_EQ(total.results[0].unit, "launches");
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(total.results[0].values), std::vector<std::uint64_t>{12});
  EXPECT_EQ(std::get<std::vector<std::uint64_t>>(total.results[1].values), std::vector<std::uint64_t>{1});
  EXPECT_THAT(total.notes, testing::ElementsAre("done"));
}

TEST_F(SessionTest, InvalidSpecificationIsReportedAndChangesNothing) {
  std::string problem;
  EXPECT_FALSE(session_->attach("instruction_cuont", problem));
  EXPECT_THAT(problem, HasSubstr("instruction_count"));
  const std::string path = written("session_test_bad", "ON_KERNEL_EXIT: { x = 1; }\n");
  EXPECT_FALSE(session_->attach(path, problem));
  EXPECT_THAT(problem, HasSubstr("session_test_bad.cod:1:19: error: "));
  EXPECT_THAT(problem, HasSubstr("  ON_KERNEL_EXIT: { x = 1; }\n                    ^"));
  EXPECT_TRUE(session_->attached()) << "what was attached before stays";
}

TEST_F(SessionTest, ForgottenImageIsInstrumentedAgain) {
  EXPECT_TRUE(launch("k", 5));
  session_->forget_image(5);
  EXPECT_TRUE(launch("k", 5));
  EXPECT_EQ(device_.loaded.size(), 2u);
}

TEST_F(SessionTest, ResultsAreSavedBeforeAContextEnds) {
  device_.ready = false;
  EXPECT_TRUE(launch("k", 5));
  EXPECT_TRUE(records_.launches.empty());
  const device::Device* const ending[] = {&device_};
  session_->save_results({});
  EXPECT_EQ(records_.launches.size(), 1u);
  EXPECT_TRUE(launch("k", 5));
  EXPECT_EQ(device_.loaded.size(), 1u) << "nothing has ended";
  session_->save_results(ending);
  EXPECT_EQ(records_.launches.size(), 2u);
  EXPECT_TRUE(launch("k", 5));
  EXPECT_EQ(device_.loaded.size(), 2u) << "the variant died with its context";
}

TEST_F(SessionTest, TimingIsReportedOnRequest) {
  Configuration configuration;
  configuration.timing = Timing::stages;
  start(std::move(configuration));
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  session_->finish();
  ASSERT_EQ(records_.timings.size(), 1u);
  EXPECT_DOUBLE_EQ(records_.timings[0].execute, 5.0);
  EXPECT_GT(records_.timings[0].parse, 0);
  EXPECT_DOUBLE_EQ(records_.timings[0].buffers.value(), 0.5);
  EXPECT_EQ(records_.timings[0].launches, 2u);
  EXPECT_EQ(records_.timings[0].original->registers, 20u);
  EXPECT_EQ(records_.timings[0].variant->registers, 28u);
  EXPECT_EQ(records_.launches.size(), 2u);
}

TEST_F(SessionTest, OriginalsAreTimedWithoutBeingInstrumented) {
  Configuration configuration;
  configuration.timing = Timing::originals;
  start(std::move(configuration));
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  device_.refuses_launch = true;
  EXPECT_FALSE(launch()) << "the program launches it and gets its own error";
  session_->finish();
  EXPECT_EQ(device_.originals, 2);
  EXPECT_TRUE(device_.loaded.empty());
  EXPECT_TRUE(records_.launches.empty());
  ASSERT_EQ(records_.timings.size(), 1u);
  EXPECT_EQ(records_.timings[0].launches, 2u);
  EXPECT_DOUBLE_EQ(records_.timings[0].execute, 5.0);
  EXPECT_EQ(records_.timings[0].original->registers, 20u);
  EXPECT_FALSE(records_.timings[0].variant);
  EXPECT_FALSE(records_.coverage[0].instrumented);
}

TEST_F(SessionTest, VariantsAreTimedWithoutTheirResults) {
  Configuration configuration;
  configuration.timing = Timing::variants;
  start(std::move(configuration));
  EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_EQ(device_.launched, 1);
  EXPECT_TRUE(records_.launches.empty());
  ASSERT_EQ(records_.timings.size(), 1u);
  EXPECT_EQ(records_.timings[0].launches, 1u);
  EXPECT_TRUE(records_.coverage[0].instrumented);
}

TEST(Session, IsSilentIfNothingWasAttached) {
  Records records;
  Session session({}, std::make_unique<RecordingSink>(records));
  session.finish();
  EXPECT_EQ(records.finished, 0);
}

}  // namespace
}  // namespace lynxpp::interposer
