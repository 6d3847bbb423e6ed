// Processes that were not started with liblynxpp.so; the driver itself opens it in cuInit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/interposer/preload_run.h"
#include "tests/support/readable_name.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string injected = "CUDA_INJECTION64_PATH=" + preload_library + " ";

/// Doors that are opened before cuInit: as in the CUDA runtime, the functions are already stored in a table
/// in the program's data.
class InjectedDoor : public testing::TestWithParam<const char*> {
 protected:
  static Outcome run_injected(const std::string& actions, const std::string& environment = attached) {
    return run_driver(std::string(GetParam()) + " " + actions, injected + environment, "");
  }
};

TEST_P(InjectedDoor, OffersEveryLaunchToTheEngineAndThenMakesIt) {
  const Outcome result = run_injected("launch init launches");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events,
              ElementsAre("driver cuLaunchKernel kernel grid 1 block 32", "driver injects: 1",
                          "engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                          StartsWith("engine launch kernel image 80 grid 1 2 3"),
                          "driver cuLaunchKernel kernel grid 1 block 32",
                          StartsWith("engine launch kernel image 80 grid 1 1 1"),
                          "driver cuLaunchKernel_ptsz kernel grid 1 block 32",
                          StartsWith("engine launch kernel image 80 grid 4 5 6"),
                          "driver cuLaunchKernelEx kernel grid 4 block 64",
                          StartsWith("engine launch kernel image 80 grid 4 5 6"),
                          "driver cuLaunchKernelEx_ptsz kernel grid 4 block 64",
                          StartsWith("engine launch kernel image 80 grid 8 1 1"),
                          "driver cuLaunchCooperativeKernel kernel grid 8 block 96",
                          StartsWith("engine launch kernel image 80 grid 8 1 1"),
                          "driver cuLaunchCooperativeKernel_ptsz kernel grid 8 block 96", "engine finish"));
}

TEST_P(InjectedDoor, SeesImagesGraphsAndContexts) {
  EXPECT_THAT(run_injected("init images").events_of("engine launch "),
              Contains(StartsWith("library_kernel image 24 ")));
  EXPECT_THAT(run_injected("init graphs").events_of("engine natively "), Contains("first 2 by graphs"));
  EXPECT_THAT(run_injected("init contexts").events_of("engine save_results "), Not(IsEmpty()));
}

TEST_P(InjectedDoor, SeesTheEnvironmentAndTheEndOfTheProgram) {
  const Outcome result = run_injected("init setenv=a launch unsetenv launch _exit", "");
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.events, ElementsAre("driver injects: 1", "engine opened, LYNXPP_SPEC is set",
                                         "engine attach a", StartsWith("engine launch kernel "),
                                         StartsWith("driver cuLaunchKernel "), StartsWith("engine attach"),
                                         StartsWith("driver cuLaunchKernel "), "engine finish"));
}

TEST_P(InjectedDoor, StartsOnceIfOpenedTwice) {
  const Outcome result = run_injected("init init launch");
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events_of("engine launch "), testing::SizeIs(1));
}

TEST_P(InjectedDoor, DoesNothingMoreIfPreloaded) {
  const Outcome result = run_driver(std::string(GetParam()) + " init launch", injected + attached);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events, ElementsAre("driver injects: 1", "engine opened, LYNXPP_SPEC is set",
                                         "engine attach a,b", StartsWith("engine launch kernel "),
                                         StartsWith("driver cuLaunchKernel "), "engine finish"));
}

TEST_P(InjectedDoor, SecondCopyLeavesEverythingToTheFirst) {
  const TemporaryFolder folder;
  const std::string copy = folder.file("liblynxpp.so");
  std::filesystem::copy_file(preload_library, copy);
  const Outcome result =
      run_driver(std::string(GetParam()) + " init launch", "CUDA_INJECTION64_PATH=" + copy + " " + attached);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events_of("engine launch "), testing::SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Preload, InjectedDoor, testing::Values("linked", "dlsym", "proc", "proc_v1"),
                         ReadableName());

TEST(Injection, LaterLookUpsReturnOurWrappers) {
  const Outcome result = run_driver("linked init later launch", injected + attached, "");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "), testing::SizeIs(1));
}

}  // namespace
}  // namespace lynxpp
