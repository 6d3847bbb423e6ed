// Launches of graphs, without a session.
#include "interposer/session/graph_launcher.h"

#include <gmock/gmock.h>

#include "tests/session/graph_fixture.h"
#include "tests/session/parts_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

class GraphLauncherTest : public PartsTest {
 protected:
  GraphLaunched launch(std::uint64_t id = 1, std::uint64_t image = 1) {
    GraphLaunch launch;
    launch.id = id;
    launch.copy.emplace().kernels.push_back(nullptr);
    launch.kernels.push_back({source_of("k", image)});
    launch.launch_original = [&] { return ++originals_ != 0; };
    return launcher_.launch(*graphs_, launch);
  }

  std::unique_ptr<GraphDevice> graphs_ = std::make_unique<GraphDevice>();
  LaunchPath path_{parts()};
  GraphLauncher launcher_{parts(), path_};
  int originals_ = 0;
};

TEST_F(GraphLauncherTest, LaunchesVariantsAndHandsThemToThePipeline) {
  EXPECT_EQ(launch(), GraphLaunched::variants);
  EXPECT_EQ(launch(), GraphLaunched::variants);
  EXPECT_EQ(graphs_->answers.instantiated, 1);
  results_.collect(ResultsPipeline::Which::all);
  EXPECT_THAT(records_.launches, SizeIs(2));
  EXPECT_EQ(coverage_of("k").instrumented_launches, 2u);
}

TEST_F(GraphLauncherTest, ForgetsGraphsOfAnImageOfADeviceOrOfTheProgram) {
  const std::vector<const device::Device*> ending{graphs_.get()};
  launch(1, 1);
  launch(2, 2);
  launcher_.forget_image(1);
  launch(1, 1);
  launch(2, 2);
  EXPECT_EQ(graphs_->answers.instantiated, 3) << "the graph with the other image was kept";
  launcher_.forget_devices(ending);
  launch(2, 2);
  EXPECT_EQ(graphs_->answers.instantiated, 4);
  launcher_.forget_graph(2);
  launch(2, 2);
  EXPECT_EQ(graphs_->answers.instantiated, 5);
}

TEST_F(GraphLauncherTest, IsHeldByNoLaunch) {
  bool held_none = false;
  graphs_->answers.during_launch = [&] { held_none = holds_no_lock() && !launcher_.is_held_by_caller(); };
  EXPECT_EQ(launch(), GraphLaunched::variants);
  EXPECT_TRUE(held_none);
}

TEST_F(GraphLauncherTest, SaysWhyADeviceLaunchesNoVariants) {
  GraphLaunch launch;
  launch.id = 1;
  launch.copy.emplace().kernels.push_back(nullptr);
  launch.kernels.push_back({source_of("k")});
  EXPECT_EQ(launcher_.launch(device_, launch), GraphLaunched::no);
  EXPECT_THAT(coverage_of("k").notes, SizeIs(1));
}

TEST_F(GraphLauncherTest, CountsAKernelThatCannotBeInstrumented) {
  text_ = "no PTX";
  EXPECT_EQ(launch(), GraphLaunched::original);
  EXPECT_EQ(originals_, 1);
  EXPECT_EQ(coverage_of("k").launches, 1u);
  EXPECT_NE(coverage_of("k").reason, "");
}

}  // namespace
}  // namespace lynxpp::interposer
