// Graphs whose kernels run as variants, on a device that only records its calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/session/graph_fixture.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GraphLaunches : public SessionTest {
 protected:
  GraphLaunched launch_graph() {
    GraphLaunch launch;
    launch.id = 1;
    launch.copy.emplace().kernels.push_back(nullptr);
    launch.kernels.push_back({{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }}});
    launch.launch_original = [&] { return ++originals_ != 0; };
    const GraphLaunched how = session_->launch(graphs_, launch);
    session_->collect();
    return how;
  }
  const report::CoverageRecord& finish() {
    session_->finish();
    EXPECT_THAT(records_.coverage, SizeIs(1));
    return records_.coverage.at(0);
  }

  GraphDevice graphs_;
  int originals_ = 0;
};

TEST_F(GraphLaunches, UseOneInstanceOfTheVariants) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch_graph(), GraphLaunched::variants);
  EXPECT_EQ(graphs_.answers.instantiated, 1);
  EXPECT_THAT(finish().notes, IsEmpty());
  EXPECT_THAT(records_.launches, SizeIs(3));
}

TEST_F(GraphLaunches, AreTakenApartIfTheirKernelsAreTimed) {
  Configuration configuration;
  configuration.timing = Timing::originals;
  start(configuration);
  graphs_.answers.parts = {{}, {0}, {}};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(launch_graph(), GraphLaunched::variants);
  EXPECT_EQ(graphs_.answers.taken_apart, 1) << "until the program changes the graph";
  EXPECT_THAT(graphs_.answers.others, ElementsAre(0u, 2u, 0u, 2u));
  EXPECT_EQ(graphs_.originals, 2);
  EXPECT_EQ(originals_, 0);
  EXPECT_EQ(finish().launches, 2u);
}

TEST_F(GraphLaunches, RunUnchangedIfTheyCannotBeTakenApart) {
  Configuration configuration;
  configuration.timing = Timing::originals;
  start(configuration);
  EXPECT_EQ(launch_graph(), GraphLaunched::original);
  EXPECT_EQ(originals_, 1);
  EXPECT_THAT(finish().notes,
              Contains("1 launch by graphs, whose kernels are not timed: graphs are not taken apart on this "
                       "device was not counted"));
}

TEST_F(GraphLaunches, ResumeVariantsWhenMemoryIsAvailable) {
  graphs_.answers.has_buffers = false;
  EXPECT_EQ(launch_graph(), GraphLaunched::original);
  EXPECT_EQ(launch_graph(), GraphLaunched::original);
  graphs_.answers.has_buffers = true;
  EXPECT_EQ(launch_graph(), GraphLaunched::variants);
  const report::CoverageRecord& coverage = finish();
  EXPECT_EQ(coverage.launches, 3u);
  EXPECT_EQ(coverage.instrumented_launches, 1u);
  EXPECT_THAT(
      coverage.notes,
      Contains("2 launches ran uninstrumented for lack of memory (up to 512 bytes): the device is full"));
}

TEST_F(GraphLaunches, RunOriginalsWithoutRoomForResults) {
  graphs_.answers.has_results = false;
  EXPECT_EQ(launch_graph(), GraphLaunched::original);
  EXPECT_EQ(graphs_.answers.launched, 0);
  graphs_.answers.has_results = true;
  EXPECT_EQ(launch_graph(), GraphLaunched::variants);
  EXPECT_EQ(graphs_.answers.instantiated, 1) << "the same one";
  EXPECT_THAT(finish().notes, Contains(HasSubstr("the host is full")));
}

TEST_F(GraphLaunches, AreRetriedWithExponentialBackoff) {
  graphs_.answers.can_instantiate = false;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(launch_graph(), GraphLaunched::original);
  EXPECT_EQ(graphs_.answers.instantiated, 5) << "after 1, 2, 4 and 8 launches";
  graphs_.answers.can_instantiate = true;
  for (int i = 0; i < 20; ++i) launch_graph();
  EXPECT_EQ(graphs_.answers.instantiated, 6);
  EXPECT_THAT(finish().notes, ElementsAre("launches by graphs run uninstrumented: out of memory"));
  EXPECT_EQ(records_.launches.size() + static_cast<std::size_t>(originals_), 40u);
  EXPECT_GT(records_.launches.size(), 0u);
}

}  // namespace
}  // namespace lynxpp::interposer
