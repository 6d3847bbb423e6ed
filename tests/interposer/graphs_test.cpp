// Graphs of programs under liblynxpp.so. The fake driver ends a process that passes it a handle whose owner
// no longer exists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/interposer/preload_run.h"
#include "tests/support/readable_name.h"

namespace lynxpp {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

class GraphDoor : public testing::TestWithParam<const char*> {
 protected:
  Outcome run_actions(const std::string& actions, const std::string& environment = {}) {
    return run_driver(std::string(GetParam()) + " " + actions, attached + environment);
  }
};

TEST_P(GraphDoor, CountsEveryReplayByKernel) {
  const Outcome result = run_actions("graphs");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("driver "), SizeIs(7));
  const std::string way = " by graphs";
  EXPECT_THAT(
      result.events_of("engine natively "),
      ElementsAre("first 2" + way, "second 1" + way,  // as instantiated
                  "first 2" + way, "second 1" + way, "first 1" + way,
                  "second 1" + way,  // one node disabled
                  "second 2" + way,  // another kernel in the other node
                  "second 4" + way,  // another child graph
                  "second 1 by graphs that were changed in a way that lynxpp does not track",  // an update
                  "(graphs that were not seen being instantiated, by replay) 1 by graphs"));
}

TEST_P(GraphDoor, CountsEveryReplayIfTheDriverCannotCloneGraphs) {
  const Outcome result = run_actions("graphs", "FAKE_DRIVER_COPIES_NO_GRAPHS=1");
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::string way = " by graphs that cannot be copied";
  EXPECT_THAT(
      result.events_of("engine natively "),
      ElementsAre("first 2" + way, "second 1" + way, "first 2" + way, "second 1" + way, "first 1" + way,
                  "second 1" + way, "second 2" + way, "second 4" + way, "second 1" + way,
                  "(graphs that were not seen being instantiated, by replay) 1 by graphs"));
}

/// Launches that the engine receives for an executable graph that the program changes as specified by the
/// letters of driver_program's graph=. For each launch, the engine reads all nodes of the copy.
struct Change {
  const char* letters;
  std::vector<std::string> told;
};

const std::string lost = " by graphs that were changed in a way that lynxpp does not track";
const std::string loops = " by graphs with conditional nodes";
const std::string at_first = "graph first second second";
const std::string none = "graph without a copy";

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"c", {at_first, "graph first second first first"}},
      {"C", {at_first, "graph first second first first"}},
      {"cCc",
       {at_first, "graph first second first first", "graph first second first first",
        "graph first second first first"}},
      {"k", {at_first, "graph second second second"}},
      {"K", {at_first, "graph second second second"}},
      {"ck", {at_first, "graph first second first first", "graph second second first first"}},
      {"de", {at_first, "graph first second! second", at_first}},
      {"dc", {at_first, "graph first second! second", "graph first second! first first"}},
      {"u", {at_first, "graph first first"}},
      {"ur", {at_first, "graph first first", none, "natively first 2" + lost}},
      {"uk", {at_first, "graph first first", none, "natively first 2" + lost}},
      {"r", {at_first, none, "natively first 1" + lost, "natively second 2" + lost}},
      {"rT",
       {at_first, none, "natively first 1" + lost, "natively second 2" + lost, "natively first 1" + lost,
        "natively second 2" + lost}},
      {"rc",
       {at_first, none, "natively first 1" + lost, "natively second 2" + lost, "natively first 3" + lost,
        "natively second 1" + lost}},
      {"rk",
       {at_first, none, "natively first 1" + lost, "natively second 2" + lost, "natively second 3" + lost}},
      {"rd",
       {at_first, none, "natively first 1" + lost, "natively second 2" + lost, "natively first 1" + lost,
        "natively second 1" + lost}},
      {"ru", {at_first, none, "natively first 1" + lost, "natively second 2" + lost, "graph first first"}},
      {"U", {at_first, "graph first first first"}},
      {"Uk", {at_first, "graph first first first", "graph second first first"}},
      {"Uc",
       {at_first, "graph first first first", none,
        "natively first 4 by graphs in which a graph was replaced"}},
      {"du", {at_first, "graph first second! second", none, "natively first 2" + lost}},
      {"t", {at_first, at_first}},
      {"tT", {at_first, at_first, at_first}},
      {"fT", {at_first, at_first, at_first}},
      {"fu", {at_first, at_first, "graph first first"}},
      {"fr", {at_first, at_first, none, "natively first 1" + lost, "natively second 2" + lost}},
      {"xl", {at_first, at_first, at_first}},
      {"rx", {at_first, none, "natively first 1" + lost, "natively second 2" + lost, at_first}},
      {"n", {at_first, "graph first second second second"}},
      {"o", {at_first, at_first}},
      {"w",
       {at_first, "natively first 1" + loops, "natively second 2" + loops,
        "natively (conditional nodes of graphs, by replay) 1" + loops}},
      {"m", {at_first, "graph second second second"}},
  };
  return all;
}

TEST_P(GraphDoor, NeverUsesAHandleWhoseOwnerIsGone) {
  for (const Change& change : changes()) {
    const Outcome result = run_actions(std::string("graph=") + change.letters, "FAKE_ENGINE=graphs");
    EXPECT_EQ(result.status, 0) << change.letters << ": " << result.errors;
    std::vector<std::string> told;
    for (const std::string& event : result.events_of("engine ")) {
      if (event.starts_with("graph") || event.starts_with("natively")) told.push_back(event);
    }
    EXPECT_THAT(told, testing::UnorderedElementsAreArray(change.told)) << change.letters;
    EXPECT_THAT(result.events_of("driver cuGraphLaunch"), SizeIs(1 + std::string(change.letters).size()))
        << change.letters;
  }
}

TEST_P(GraphDoor, NeverUsesAHandleWhoseContextIsGone) {
  for (const std::string how : {"destroyed", "reset", "released"}) {
    const Outcome result = run_actions("end=" + how, "FAKE_ENGINE=graphs");
    EXPECT_EQ(result.status, 0) << how << ": " << result.errors;
    EXPECT_THAT(result.events_of("engine graph"), ElementsAre(" first", " first")) << how;
    EXPECT_THAT(result.events_of("engine launch first"), SizeIs(1)) << how;
    const auto ends =
        result.events_of(how == "destroyed" ? "engine save_results context" : "engine forget_context");
    EXPECT_THAT(ends, SizeIs(1)) << how;
  }
}

INSTANTIATE_TEST_SUITE_P(Doors, GraphDoor, testing::Values("linked", "dlsym", "proc", "proc_v1"),
                         ReadableName());

}  // namespace
}  // namespace lynxpp
