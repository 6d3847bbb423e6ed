// The path of a launch, the planner and the state of kernels, without a session.
#include "interposer/session/launch_path.h"

#include <gmock/gmock.h>

#include "tests/session/parts_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Which = ResultsPipeline::Which;

class LaunchPathTest : public PartsTest {
 protected:
  bool launch(std::uint32_t blocks = 3, FoundKernel* found = nullptr) {
    return path_.launch(device_, request_of(blocks), source_of("k"), found);
  }

  LaunchPath path_{parts()};
};

TEST_F(LaunchPathTest, LaunchesAVariantAndHandsItToThePipeline) {
  EXPECT_TRUE(launch());
  EXPECT_EQ(device_.launched, 1);
  EXPECT_EQ(results_.size(), 1u);
  EXPECT_TRUE(room_.has_measured());
  results_.collect(Which::all);
  ASSERT_THAT(records_.launches, SizeIs(1));
  EXPECT_EQ(records_.launches[0].kernel, "k");
  EXPECT_EQ(seen("k").outstanding, 0u);
}

TEST_F(LaunchPathTest, LeavesLaunchesAloneIfNothingIsAttached) {
  kernels_.attach(nullptr, std::nullopt);
  KernelSource source = source_of("k");
  source.content = []() -> std::string {
    ADD_FAILURE() << "the image is not needed";
    return "";
  };
  EXPECT_FALSE(path_.launch(device_, request_of(1), source, nullptr));
  EXPECT_FALSE(kernels_.has_seen_launches());
  EXPECT_THAT(device_.loaded, IsEmpty());
}

TEST_F(LaunchPathTest, HoldsNoLockDuringADevicesLaunch) {
  bool held_none = false, is_in_progress = false;
  device_.during_launch = [&] {
    held_none = holds_no_lock();
    is_in_progress =
        Launches::is_in_this_thread() && !launches_.are_made_within(std::chrono::milliseconds(0));
  };
  EXPECT_TRUE(launch());
  EXPECT_TRUE(held_none);
  EXPECT_TRUE(is_in_progress);
  EXPECT_FALSE(Launches::is_in_this_thread());
  EXPECT_TRUE(launches_.are_made_within(std::chrono::milliseconds(0)));
}

TEST_F(LaunchPathTest, RepeatsALaunchOnlyIfAPlanIsKnown) {
  FoundKernel found;
  EXPECT_TRUE(launch(3, &found));
  ASSERT_NE(found.selected, nullptr);
  EXPECT_EQ(path_.launch_again(device_, request_of(3), found), true);
  EXPECT_EQ(path_.launch_again(device_, request_of(4), found), std::nullopt) << "another grid";
  EXPECT_EQ(coverage_of("k").launches, 2u) << "the caller counts the launch that was not made";
  planner_.drop([](const InstrumentedKernel&) { return true; });
  EXPECT_EQ(path_.launch_again(device_, request_of(3), found), std::nullopt);
}

TEST_F(LaunchPathTest, RunsTheOriginalIfTheDeviceRefusesTheVariant) {
  device_.refuses_launch = true;
  EXPECT_FALSE(launch());
  EXPECT_EQ(coverage_of("k").reason, "too many registers");
  EXPECT_EQ(seen("k").outstanding, 0u);
  EXPECT_FALSE(room_.has_measured());
}

// ---- plans

TEST_F(LaunchPathTest, LaunchesOfOneShapeHaveOnePlan) {
  Seen& kernel = seen("k");
  const std::shared_ptr<const Attached> attached = kernels_.attached();
  const auto plan_of = [&](std::uint32_t blocks) {
    const KernelPtr made = planner_.kernel_for(kernel, attached, device_, request_of(blocks), source_of("k"));
    Result<PlanPtr> plan = planner_.plan_for(kernel, made, device_, request_of(blocks), true);
    return plan ? *plan : nullptr;
  };
  const PlanPtr first = plan_of(1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(plan_of(1), first);
  for (std::uint32_t blocks = 2; blocks < 10; ++blocks) EXPECT_NE(plan_of(blocks), first);
  EXPECT_NE(plan_of(1), first) << "eight others were made since";
  EXPECT_THAT(device_.loaded, SizeIs(1)) << "of one variant";
}

// ---- the state of kernels

TEST_F(PartsTest, LaunchesThatWereOnlyCountedBelongToTheFirstModule) {
  kernels_.launched_natively("k", 2, "by graphs");
  const KnownKernels::State state(kernels_);
  Seen& first = kernels_.seen("k", "m1");
  EXPECT_EQ(first.coverage.launches, 2u);
  EXPECT_EQ(first.coverage.module, "m1");
  EXPECT_EQ(first.numbers.next(0), 2u);
  EXPECT_NE(&kernels_.seen("k", "m2"), &first);
  EXPECT_EQ(&kernels_.first_of_name("k"), &first);
  EXPECT_THAT(kernels_.all(), SizeIs(2));
}

TEST_F(PartsTest, AFilterAppliesToKnownKernels) {
  Seen& kernel = seen("k");
  const std::uint64_t before = kernels_.choices();
  kernels_.attach(kernels_.attached(), *NamePattern::parse("other"));
  EXPECT_NE(kernels_.choices(), before);
  EXPECT_FALSE(kernels_.selects("k"));
  const KnownKernels::State state(kernels_);
  EXPECT_FALSE(kernel.wanted);
  EXPECT_EQ(kernels_.filter(), "other");
}

/// Attaches other specifications while it is queried.
class BusyDevice : public FakeDevice {
 public:
  std::optional<device::KernelResources> resources(const device::Launch& launch,
                                                   const device::Variant* variant) override {
    if (during_query) during_query();
    return FakeDevice::resources(launch, variant);
  }
  std::function<void()> during_query;
};

TEST_F(PartsTest, AKernelKeepsItsNameWhenCoverageBeginsAgain) {
  kernels_.launched_natively("k", 1, "by graphs");
  Seen& kernel = seen("k");
  BusyDevice device;
  device.during_query = [&] {
    attach("global unsigned others;\nON_KERNEL_EXIT: { atomicAdd(&others, 1); }\n");
  };
  InstrumentedKernel made;
  made.lacks_ptx = true;
  // The first coverage has the shape; the second must not receive its registers.
  kernels_.note_unmeasured(kernel, made, device, request_of(5));
  EXPECT_EQ(kernel.name, "k");
  const KnownKernels::State state(kernels_);
  EXPECT_EQ(kernel.coverage.kernel, "k");
}

}  // namespace
}  // namespace lynxpp::interposer
