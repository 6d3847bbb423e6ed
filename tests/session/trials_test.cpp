// Launches that run the original kernel and perturbed variants in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "interposer/engine_api.h"
#include "interposer/trials/one_block_fewer.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Uses only memory of its thread block.
constexpr const char* in_shared_memory =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<3>;\n"
    ".shared .align 4 .b8 tile[512];\n"
    "mov.u32 %r1, tile;\nld.shared.u32 %r2, [%r1];\nst.shared.u32 [%r1+4], %r2;\nret;\n}\n";

/// Adds one to every element of an array.
constexpr const char* in_place =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nadd.s32 %r1, %r1, 1;\n"
    "st.global.u32 [%rd1], %r1;\nret;\n}\n";

class TrialsTest : public SessionTest {
 protected:
  void start_trials(const std::string& list, ReplayChoice replay = ReplayChoice::never,
                    const std::string& launches = "6") {
    Configuration configuration;
    configuration.timing = Timing::trials;
    Result<TrialChoices> choices = parse_trial_choices(list, launches, "");
    ASSERT_TRUE(choices.ok());
    choices->replay = replay;
    configuration.trials = *choices;
    session_ = std::make_unique<Session>(std::move(configuration), std::make_unique<RecordingSink>(records_),
                                         Session::Results::on_demand);
    text_ = in_shared_memory;
    attach(LYNXPP_TRIALS_ATTACHED);
  }
  void attach(const std::string& list) {
    std::string problem;
    ASSERT_TRUE(session_->attach(list, problem)) << problem;
  }
  bool launch_in_place() {
    text_ = in_place;
    void* parameters[] = {&pointer_};
    device::Launch request = request_of(3, 33);
    request.parameters = parameters;
    const KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    const bool is_made = session_->launch(device_, request, source);
    session_->collect();
    return is_made;
  }
  /// Returns the record of the perturbation, after the end.
  const report::TrialRecord& record_of(const std::string& perturbation) {
    if (records_.finished == 0) session_->finish();
    const auto found = std::ranges::find(records_.trials, perturbation, &report::TrialRecord::perturbation);
    static const report::TrialRecord none;
    EXPECT_NE(found, records_.trials.end()) << perturbation;
    return found != records_.trials.end() ? *found : none;
  }

  static constexpr const char* both = "shared-access:again,shared-access:harmless";
  std::uint64_t pointer_ = std::uint64_t{1} << 40;
};

TEST_F(TrialsTest, VariantsTakeTurns) {
  start_trials(both);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(launch());
  EXPECT_FALSE(launch()) << "the budget is used: the program makes its own launches";
  EXPECT_EQ(device_.originals, 2);
  EXPECT_EQ(device_.launched, 4);
  EXPECT_THAT(device_.loaded, SizeIs(2)) << "each variant is loaded once";
  for (const std::string perturbation : {"", "shared-access:again", "shared-access:harmless"}) {
    const report::TrialRecord& record = record_of(perturbation);
    EXPECT_THAT(record.ms, ElementsAre(2.5, 2.5)) << perturbation;
    EXPECT_EQ(record.launches, 7u);
    EXPECT_EQ(record.replays, 0u);
    EXPECT_EQ(record.registers, perturbation.empty() ? 20u : 28u);
    EXPECT_EQ(record.blocks_per_sm, 16u);
    EXPECT_FALSE(record.is_modelled);
    EXPECT_EQ(record.device, "fake");
    EXPECT_THAT(record.grid, ElementsAre(3, 1, 1));
    EXPECT_THAT(record.block, ElementsAre(33, 1, 1));
    EXPECT_EQ(record.note, "");
  }
  EXPECT_EQ(records_.trials[0].perturbation, "") << "the original's is first";
  EXPECT_THAT(records_.launches, IsEmpty());
  EXPECT_THAT(records_.timings, IsEmpty());
  EXPECT_EQ(records_.coverage.at(0).reason, "its launches were trials");
  EXPECT_EQ(records_.coverage.at(0).launches, 7u);
  EXPECT_TRUE(session_->has_measured());
}

TEST_F(TrialsTest, ShapesHaveTurnsOfTheirOwn) {
  start_trials("shared-access:again", ReplayChoice::never, "2");
  for (std::uint32_t blocks = 1; blocks <= 9; ++blocks) {
    EXPECT_EQ(launch("k", 1, blocks, 33), blocks <= 8) << "shapes are limited";
    EXPECT_EQ(launch("k", 1, blocks, 33), blocks <= 8);
  }
  EXPECT_THAT(device_.loaded, SizeIs(1)) << "the block's shape is the same";
  EXPECT_THAT(record_of("").note, HasSubstr("2 launches with other shapes were not tried"));
  EXPECT_THAT(records_.trials, SizeIs(16));
}

TEST_F(TrialsTest, VariantsWithoutSitesAreNotTried) {
  start_trials("fp64:again", ReplayChoice::never, "4");
  EXPECT_TRUE(launch());
  EXPECT_FALSE(launch());
  EXPECT_TRUE(launch() && launch());
  EXPECT_EQ(device_.launched, 0);
  EXPECT_EQ(record_of("fp64:again").note, "nothing in the kernel can be repeated");
}

TEST_F(TrialsTest, ClassesOfTheKernelAreTried) {
  start_trials("classes", ReplayChoice::never, "100");
  while (launch()) {}
  EXPECT_THAT(record_of("shared-access:again").sites, SizeIs(2));
  EXPECT_EQ(record_of("shared-access:again").sites[0].opcode, "ld.shared.u32");
  EXPECT_GT(record_of("shared-access:harmless").ms.size(), 0u);
  for (const report::TrialRecord& record : records_.trials)
    EXPECT_FALSE(record.perturbation.starts_with("fp64")) << "it has none";
}

TEST_F(TrialsTest, RefusedVariantsLeaveTheOriginal) {
  start_trials(both, ReplayChoice::never, "9");
  device_.refuses_load = true;
  int made = 0;
  for (int i = 0; i < 10; ++i) made += launch() ? 1 : 0;
  EXPECT_EQ(device_.launched, 0);
  EXPECT_EQ(device_.originals, made);
  EXPECT_EQ(made, 7) << "two of nine were refused";
  EXPECT_THAT(device_.loaded, SizeIs(2)) << "nothing is tried twice";
  EXPECT_EQ(record_of("shared-access:again").note, "no room");
  EXPECT_THAT(record_of("shared-access:again").ms, IsEmpty());
  EXPECT_THAT(record_of("").ms, SizeIs(7));
}

TEST_F(TrialsTest, KernelsWithoutPtxRunUnchanged) {
  start_trials("classes");
  const KernelSource source{"k", 1, []() -> Result<KernelPtx> { return failure("nobody has it"); }};
  EXPECT_FALSE(session_->launch(device_, request_of(3, 33), source));
  EXPECT_FALSE(session_->launch(device_, request_of(3, 33), source));
  EXPECT_EQ(record_of("").note, "it runs unchanged: nobody has it");
  EXPECT_EQ(record_of("").launches, 2u);
  EXPECT_EQ(device_.originals, 0);
}

TEST_F(TrialsTest, LostTimesAreNoted) {
  start_trials("shared-access:again", ReplayChoice::never, "2");
  device_.loses_results = true;
  EXPECT_TRUE(launch());
  device_.loses_results = false;
  device_.knows_times = false;
  EXPECT_TRUE(launch());
  EXPECT_EQ(record_of("").note, "1 launches could not be measured");
  EXPECT_EQ(record_of("shared-access:again").note, "1 launches could not be measured");
  EXPECT_THAT(record_of("").ms, IsEmpty());
}

TEST_F(TrialsTest, CapturedLaunchesAreNoTrials) {
  start_trials(both);
  device_.captures = true;
  EXPECT_FALSE(launch());
  session_->finish();
  EXPECT_THAT(records_.trials, IsEmpty());
  EXPECT_EQ(records_.coverage.at(0).reason, "captured into a graph");
}

TEST_F(TrialsTest, DetachingEndsThem) {
  start_trials(both);
  EXPECT_TRUE(launch());
  attach("");
  EXPECT_FALSE(session_->attached());
  EXPECT_FALSE(launch());
  std::string problem;
  EXPECT_FALSE(session_->attach(spec_, problem));
  EXPECT_THAT(problem, HasSubstr("the process runs trials"));
  attach(LYNXPP_TRIALS_ATTACHED);
  EXPECT_TRUE(launch());
  EXPECT_EQ(record_of("").launches, 2u);
  EXPECT_THAT(record_of("shared-access:again").ms, SizeIs(1));
}

TEST_F(TrialsTest, ForgottenImagesAreLoadedAgain) {
  start_trials("shared-access:again", ReplayChoice::never, "4");
  EXPECT_TRUE(launch() && launch());
  session_->forget_image(1);
  EXPECT_TRUE(launch("k", 2) && launch("k", 2));
  EXPECT_THAT(device_.loaded, SizeIs(2));
  EXPECT_THAT(record_of("shared-access:again").ms, SizeIs(2)) << "the kernel's record goes on";
}

// ---- repetitions

TEST_F(TrialsTest, KernelsThatWriteNothingTheyReadAreRepeated) {
  start_trials(both, ReplayChoice::if_repeatable);
  EXPECT_FALSE(launch()) << "the program makes the last launch";
  EXPECT_EQ(device_.originals + device_.launched, 6);
  EXPECT_FALSE(launch());
  EXPECT_EQ(device_.originals + device_.launched, 6) << "nothing is left to try";
  EXPECT_THAT(device_.copies, IsEmpty());
  EXPECT_THAT(record_of("shared-access:again").ms, SizeIs(2));
  EXPECT_EQ(record_of("shared-access:again").replays, 2u);
  EXPECT_EQ(record_of("").replays, 2u);
  EXPECT_EQ(record_of("").launches, 2u);
}

TEST_F(TrialsTest, UpdatesInPlaceAreNotRepeated) {
  start_trials(both, ReplayChoice::if_repeatable);
  EXPECT_TRUE(launch_in_place());
  EXPECT_EQ(device_.originals, 1);
  EXPECT_EQ(record_of("").replays, 0u);
  EXPECT_THAT(record_of("").note, HasSubstr("its launches are not repeated: it is unknown what it writes"));
}

TEST_F(TrialsTest, SavedMemoryIsRestoredAfterEachRepetition) {
  auto memory = std::make_shared<device::LiveAllocations>();
  memory->sorted = {{pointer_, 1000, 0, {}, device::AllocationKind::device}};
  device_.memory = memory;
  start_trials("global-access:again,global-access:harmless", ReplayChoice::always);
  std::vector<std::size_t> copies_before;
  device_.during_launch = [&] { copies_before.push_back(device_.copies.size()); };
  EXPECT_FALSE(launch_in_place());
  ASSERT_THAT(device_.copies, SizeIs(7));
  EXPECT_EQ(device_.copies.front(), (FakeDevice::Copy{0x1000, pointer_, 1000}));
  device_.copies.erase(device_.copies.begin());
  EXPECT_THAT(device_.copies, Each(FakeDevice::Copy{pointer_, 0x1000, 1000}));
  EXPECT_THAT(copies_before, ElementsAre(2, 3, 5, 6)) << "restored before each variant";
  EXPECT_EQ(record_of("").replays, 2u);
}

TEST_F(TrialsTest, NothingIsRestoredWhileTheDeviceWorks) {
  auto memory = std::make_shared<device::LiveAllocations>();
  memory->sorted = {{pointer_, 1000, 0, {}, device::AllocationKind::device}};
  device_.memory = memory;
  device_.is_idle = false;
  start_trials(both, ReplayChoice::always);
  EXPECT_TRUE(launch_in_place());
  EXPECT_THAT(device_.copies, IsEmpty());
  EXPECT_THAT(record_of("").note, HasSubstr("the device is not idle"));
}

TEST_F(TrialsTest, NothingIsRepeatedWithoutMemoryForACopy) {
  auto memory = std::make_shared<device::LiveAllocations>();
  memory->sorted = {{pointer_, 1000, 0, {}, device::AllocationKind::device}};
  device_.memory = memory;
  device_.lacks_memory = true;
  start_trials(both, ReplayChoice::always);
  EXPECT_TRUE(launch_in_place());
  EXPECT_THAT(record_of("").note, HasSubstr("its memory cannot be saved: no memory is left"));
}

TEST_F(TrialsTest, NothingIsRestoredWhileOtherThreadsLaunch) {
  auto memory = std::make_shared<device::LiveAllocations>();
  memory->sorted = {{pointer_, 1000, 0, {}, device::AllocationKind::device}};
  device_.memory = memory;
  start_trials("shared-access:again", ReplayChoice::always);
  std::thread([&] { EXPECT_TRUE(launch("other")); }).join();
  EXPECT_TRUE(launch_in_place());
  EXPECT_THAT(device_.copies, IsEmpty());
  session_->finish();
  const auto own = std::ranges::find_if(records_.trials, [](const report::TrialRecord& record) {
    return record.kernel == "k" && record.perturbation.empty();
  });
  ASSERT_NE(own, records_.trials.end());
  EXPECT_THAT(own->note, HasSubstr("several threads or devices run kernels"));
}

TEST_F(TrialsTest, ALaunchThatFailsEndsRepetitions) {
  start_trials(both, ReplayChoice::if_repeatable);
  device_.loses_results = true;
  EXPECT_TRUE(launch()) << "one repetition, then the program's launch";
  EXPECT_EQ(device_.originals + device_.launched, 2);
}

// ---- occupancy

TEST_F(TrialsTest, OccupancyAddsSharedMemory) {
  device_.set_limits({.threads = 2048,
                      .blocks = 32,
                      .shared_bytes = 233472,
                      .shared_unit = 128,
                      .reserved_shared_bytes = 1024,
                      .block_shared_bytes = 232448});
  start_trials("occupancy:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch() && launch());
  // 16 blocks have 14592 bytes each; 15 blocks fit with one unit more.
  EXPECT_THAT(device_.shared_bytes_seen, ElementsAre(14592 + 128 - 1024));
  EXPECT_THAT(record_of("occupancy:again").ms, SizeIs(1));
}

TEST(OneBlockFewer, NeedsRoomForBlocksThatWait) {
  FakeDevice device;
  device.set_limits({.threads = 2048,
                     .blocks = 32,
                     .shared_bytes = 233472,
                     .shared_unit = 128,
                     .reserved_shared_bytes = 1024,
                     .block_shared_bytes = 232448});
  device::Launch launch;
  launch.grid[0] = 16;
  EXPECT_TRUE(shared_bytes_for_one_block_fewer(device, launch, false).ok());
  EXPECT_FALSE(shared_bytes_for_one_block_fewer(device, launch, true).ok()) << "15 blocks fit";
  launch.grid[0] = 15;
  EXPECT_TRUE(shared_bytes_for_one_block_fewer(device, launch, true).ok());
}

TEST_F(TrialsTest, ACopyIsTheKernelAsTheDriverCompilesIt) {
  start_trials("copy:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  EXPECT_THAT(record_of("copy:again").ms, SizeIs(1));
  ASSERT_THAT(device_.loaded, SizeIs(1));
  EXPECT_THAT(device_.loaded[0], HasSubstr("ld.shared.u32 %r2, [%r1];"));
}

TEST_F(TrialsTest, VariantsThatCountReportTheirWords) {
  start_trials("lanes:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch());
  EXPECT_TRUE(launch());
  // The device adds 7 to the first word only: the lanes that issued the operations are 0.
  EXPECT_THAT(record_of("lanes:again").counts, IsEmpty());
  EXPECT_THAT(device_.loaded.at(0), HasSubstr("red.global.add.u64"));
}

TEST_F(TrialsTest, MovingTheBytesOfAKernelIsTimed) {
  start_trials("bytes:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch_in_place());
  EXPECT_TRUE(launch_in_place());
  EXPECT_EQ(device_.launched, 1) << "the bytes are not known before";
  EXPECT_FALSE(launch_in_place());
  EXPECT_THAT(device_.loaded.back(), HasSubstr("lynxpp_moving"));
  EXPECT_FALSE(launch_in_place());
  EXPECT_EQ(device_.launched, 7) << "only once for the kernel";
  EXPECT_THAT(record_of("moving:again").ms, SizeIs(6));
}

TEST_F(TrialsTest, BytesThatCannotBeMovedAreNoted) {
  start_trials("bytes:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch_in_place() && launch_in_place());
  device_.lacks_memory = true;
  EXPECT_FALSE(launch_in_place());
  EXPECT_THAT(record_of("moving:again").ms, IsEmpty());
  EXPECT_EQ(record_of("moving:again").note, "no memory is left");
}

TEST_F(TrialsTest, LoadsAreReadOnlyIfNothingWritesTheirMemory) {
  start_trials("read-only-loads:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch_in_place());
  EXPECT_FALSE(launch_in_place());
  EXPECT_THAT(record_of("read-only-loads:again").note, HasSubstr("the kernel may write what it reads"));
  EXPECT_EQ(device_.launched, 0);
}

TEST_F(TrialsTest, TheDeviceIsDescribedOnce) {
  start_trials(both);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(launch());
  session_->finish();
  EXPECT_THAT(records_.devices, SizeIs(1)) << "also if all times arrive in repetitions";
}

TEST_F(TrialsTest, OccupancyNeedsTwoBlocks) {
  start_trials("occupancy:again", ReplayChoice::never, "2");
  EXPECT_TRUE(launch());
  EXPECT_FALSE(launch());
  EXPECT_EQ(record_of("occupancy:again").note, "the device's occupancy is unknown");
}

}  // namespace
}  // namespace lynxpp::interposer
