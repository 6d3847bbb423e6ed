// liblynxpp.so in real processes, with a fake driver, runtime and engine that log their calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/text.h"
#include "tests/interposer/preload_run.h"
#include "tests/support/readable_name.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// ---- doors -----------------------------------------------------------------------------------------------

class Binding : public testing::TestWithParam<const char*> {
 protected:
  std::string with_binding(const std::string& actions) { return std::string(GetParam()) + " " + actions; }
};

TEST_P(Binding, OffersEveryLaunchToTheEngineAndThenMakesIt) {
  const Outcome result = run_driver(with_binding("launches"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  const std::string image = "image " + std::to_string(80) + " ";
  EXPECT_THAT(result.events,
              ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                          "engine launch kernel " + image +
                              "grid 1 2 3 block 32 4 5 shared 64 stream 0x10 ptsz 0 coop 0 attr 0",
                          "driver cuLaunchKernel kernel grid 1 block 32",
                          "engine launch kernel " + image +
                              "grid 1 1 1 block 32 1 1 shared 0 stream (nil) ptsz 1 coop 0 attr 0",
                          "driver cuLaunchKernel_ptsz kernel grid 1 block 32",
                          "engine launch kernel " + image +
                              "grid 4 5 6 block 64 2 1 shared 128 stream 0x20 ptsz 0 coop 0 attr 2",
                          "driver cuLaunchKernelEx kernel grid 4 block 64",
                          "engine launch kernel " + image +
                              "grid 4 5 6 block 64 2 1 shared 128 stream 0x20 ptsz 1 coop 0 attr 2",
                          "driver cuLaunchKernelEx_ptsz kernel grid 4 block 64",
                          "engine launch kernel " + image +
                              "grid 8 1 1 block 96 1 1 shared 0 stream (nil) ptsz 0 coop 1 attr 0",
                          "driver cuLaunchCooperativeKernel kernel grid 8 block 96",
                          "engine launch kernel " + image +
                              "grid 8 1 1 block 96 1 1 shared 0 stream (nil) ptsz 1 coop 1 attr 0",
                          "driver cuLaunchCooperativeKernel_ptsz kernel grid 8 block 96", "engine finish"));
}

TEST_P(Binding, KnowsImagesAndNames) {
  const Outcome result = run_driver(with_binding("images"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "),
              ElementsAre(StartsWith("module_data image 80 "), StartsWith("module_data_ex image 80 "),
                          StartsWith("fat_binary image 24 "), StartsWith("library_kernel image 24 "),
                          StartsWith("library_kernel image 24 grid 7"),
                          StartsWith("module_of_library image 24 "), StartsWith("relocatable image 72 ")));
}

TEST_P(Binding, QueriesTheDriverForUnseenHandles) {
  const Outcome result = run_driver(with_binding("unseen"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "),
              ElementsAre(StartsWith("from_file image 0 "), StartsWith("enumerated_function image 80 "),
                          StartsWith("enumerated_kernel image 24 ")));
}

TEST_P(Binding, EngineMayMakeTheLaunchItself) {
  const Outcome result = run_driver(with_binding("launch"), attached + "FAKE_ENGINE=take");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events,
              ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                          StartsWith("engine launch kernel "), "driver cuLaunchKernel kernel grid 2 block 32",
                          "engine sees device 1", "engine sees device 2", "engine finish"));
}

TEST_P(Binding, ReleasingASharedContextDoesNotWait) {
  const Outcome result = run_driver(with_binding("holds"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  ASSERT_THAT(result.events, SizeIs(9));
  EXPECT_THAT(std::vector(result.events.begin() + 4, result.events.end()),
              ElementsAre("driver cuDevicePrimaryCtxRelease_v2", "driver cuDevicePrimaryCtxRelease_v2",
                          "engine save_results no context device -1", "driver cuDevicePrimaryCtxRelease_v2",
                          "engine finish"))
      << "and the last hold, with which it ends, does";
}

TEST_P(Binding, EngineKnowsIfTheProgramIsProfiled) {
  const Outcome result = run_driver(with_binding("profile launch profile_end launch profile"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events,
              ElementsAre("driver cuProfilerStart", "engine opened, LYNXPP_SPEC is set", "engine profile 1",
                          "engine attach a,b", StartsWith("engine launch kernel "),
                          StartsWith("driver cuLaunchKernel "), "engine profile 0", "driver cuProfilerStop",
                          StartsWith("engine launch kernel "), StartsWith("driver cuLaunchKernel "),
                          "driver cuProfilerStart", "engine profile 1", "engine finish"));
}

TEST_P(Binding, CountsLaunchesThatAreNeverInstrumented) {
  const Outcome result = run_driver(with_binding("counted_launches"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine natively "),
              ElementsAre("kernel 1 by cuLaunch, cuLaunchGrid or cuLaunchGridAsync",
                          "kernel 1 by cuLaunchCooperativeKernelMultiDevice",
                          "kernel 1 by cuLaunchCooperativeKernelMultiDevice"));
}

TEST_P(Binding, KnowsImagesOfFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.file("module.ptx");
  std::ofstream(path) << ".version 9.0\n.target sm_75\n.address_size 64\n";
  const Outcome result = run_driver(with_binding("from_files"), attached + "DRIVER_PROGRAM_FILE=" + path);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "),
              ElementsAre(StartsWith("module_file image 44 "), StartsWith("library_file image 44 ")));
}

TEST_P(Binding, ProgramAttachesAndDetachesByItsEnvironment) {
  const Outcome result =
      run_driver(with_binding("launch setenv=a launch setenv=a launch putenv=b,c launch unsetenv launch "
                              "setenv=unknown launch setenv=d clearenv "
                              "launch"));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(
      result.events,
      ElementsAre(StartsWith("driver cuLaunchKernel kernel"), "engine opened, LYNXPP_SPEC is set",
                  "engine attach a", StartsWith("engine launch kernel "),
                  StartsWith("driver cuLaunchKernel kernel"), StartsWith("engine launch kernel "),
                  StartsWith("driver cuLaunchKernel kernel"), "engine attach b,c",
                  StartsWith("engine launch kernel "), StartsWith("driver cuLaunchKernel kernel"),
                  "engine attach (null)", StartsWith("driver cuLaunchKernel kernel"), "engine attach unknown",
                  StartsWith("driver cuLaunchKernel kernel"), "engine attach d", "engine attach (null)",
                  StartsWith("driver cuLaunchKernel kernel"), "engine finish"));
}

TEST_P(Binding, CollectsResultsWhenTheProgramWaits) {
  const Outcome result = run_driver(with_binding("synchronisations"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(
      result.events,
      ElementsAre("driver cuStreamSynchronize", "engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                  StartsWith("engine launch "), StartsWith("driver cuLaunchKernel"),
                  "driver cuStreamSynchronize", "engine waited", "driver cuStreamSynchronize_ptsz",
                  "engine waited", "driver cuEventSynchronize", "engine waited", "driver cuCtxSynchronize",
                  "engine waited", "driver cuMemcpy 3", "engine waited", "driver cuMemcpyDtoH_v2 4",
                  "engine waited", "driver cuMemcpy2D_v2", "engine waited", "driver cuMemcpy3D_v2",
                  "engine waited", "engine finish"));
}

TEST_P(Binding, ReportsUnloadingToTheEngine) {
  const Outcome result = run_driver(with_binding("unload"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events,
              ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                          StartsWith("engine launch kernel image 80 "),
                          StartsWith("driver cuLaunchKernel kernel"), "engine forget_image",
                          "driver cuModuleUnload", StartsWith("engine launch library_kernel image 24 "),
                          StartsWith("driver cuLaunchKernel library_kernel"), "engine forget_image",
                          "driver cuLibraryUnload", "engine finish"));
}

TEST_P(Binding, RefusedUnloadForgetsNothing) {
  const Outcome result = run_driver(with_binding("unload"), attached + "FAKE_DRIVER_KEEPS_MODULES=1");
  EXPECT_THAT(result.events_of("engine launch "),
              ElementsAre(StartsWith("kernel image 80 "), StartsWith("kernel image 80 "),
                          StartsWith("library_kernel ")));
}

TEST_P(Binding, SavesResultsBeforeAContextEnds) {
  const Outcome result = run_driver(with_binding("contexts"), attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events,
              ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                          StartsWith("engine launch kernel "), StartsWith("driver cuLaunchKernel kernel"),
                          "engine save_results no context device -1", "driver cuDevicePrimaryCtxRelease_v2",
                          "engine save_results no context device 1", "driver cuDevicePrimaryCtxReset_v2",
                          "driver cuDevicePrimaryCtxReset_v2", "engine save_results context device -1",
                          "driver cuCtxDestroy_v2", "driver cuCtxDestroy_v2", "engine finish"));
}

TEST_P(Binding, OpensNothingWithoutASpecification) {
  for (const char* environment : {"", "LYNXPP_SPEC="}) {
    const Outcome result = run_driver(with_binding("launches images"), environment);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    EXPECT_THAT(result.events, Not(Contains(HasSubstr("engine"))));
    EXPECT_EQ(result.events_of("driver cuLaunch").size(), 13u);
  }
}

TEST_P(Binding, ProgramBehavesAsWithoutLynxpp) {
  const std::string actions = with_binding("launches images unseen unload");
  const Outcome alone = run_driver(actions, {}, "");
  const Outcome preloaded = run_driver(actions, attached);
  EXPECT_EQ(alone.status, preloaded.status);
  EXPECT_EQ(alone.output, preloaded.output);
  EXPECT_EQ(alone.errors, preloaded.errors);
  EXPECT_FALSE(alone.events.empty());
  EXPECT_EQ(alone.events, [&] {
    std::vector<std::string> drivers;
    for (const std::string& event : preloaded.events) {
      if (event.starts_with("driver")) drivers.push_back(event);
    }
    return drivers;
  }());
}

INSTANTIATE_TEST_SUITE_P(Preload, Binding, testing::Values("linked", "dlsym", "proc", "proc_v1"),
                         ReadableName());

TEST(Preload, LinkedProgramsMayAlsoUseDlsym) {
  // One program through two doors: every launch is offered exactly once.
  const Outcome result =
      run(programs_folder + "/linked_driver_program dlsym launch", attached + "LYNXPP_DEVICE=cuda");
  EXPECT_EQ(result.events_of("engine launch ").size(), 1u);
  EXPECT_EQ(result.events_of("driver cuLaunchKernel").size(), 1u);
}

TEST(Preload, ThreadsMayLoadLaunchAndUnloadConcurrently) {
  const Outcome result = run_driver("dlsym threads", attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.events_of("engine opened").size(), 1u);
  EXPECT_EQ(result.events_of("engine attach").size(), 1u);
  EXPECT_EQ(result.events_of("engine forget_image").size(), 400u);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "thread_" + std::to_string(i);
    EXPECT_EQ(result.events_of("engine launch " + name + " image 80 ").size(), 50u);
    EXPECT_EQ(result.events_of("driver cuLaunchKernel " + name).size(), 50u);
  }
}

TEST(Preload, TrialsAreAttachedInsteadOfSpecifications) {
  EXPECT_THAT(run_driver("dlsym launch", "LYNXPP_TRIALS=classes ").events_of("engine attach "),
              ElementsAre("(trials)"));
  EXPECT_THAT(run_driver("dlsym launch", "LYNXPP_TRIALS=classes " + attached).events_of("engine attach "),
              ElementsAre("a,b"))
      << "which the engine refuses";
  EXPECT_THAT(run_driver("dlsym launch", "LYNXPP_TRIALS= ").events_of("engine "), IsEmpty());
}

// ---- the engine ------------------------------------------------------------------------------------------

TEST(Preload, UnknownSpecificationDetaches) {
  const Outcome result = run_driver("dlsym launches", "LYNXPP_SPEC=unknown");
  EXPECT_THAT(result.events_of("engine "), ElementsAre(StartsWith("opened"), "attach unknown"));
  EXPECT_EQ(result.events_of("driver cuLaunch").size(), 6u);
}

TEST(Preload, ReportsAMissingEngineInOneLine) {
  const std::string preload = stage_folder + "/without_engine/liblynxpp.so";
  const Outcome result = run_driver("dlsym launches", attached, preload);
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, StartsWith("lynxpp: cannot open the engine: " + stage_folder +
                                        "/without_engine/liblynxpp-engine.so: "));
  EXPECT_THAT(result.errors, testing::EndsWith("; the program runs uninstrumented\n"));
  EXPECT_EQ(split(result.errors, '\n').size(), 2u);
  EXPECT_EQ(result.events_of("driver cuLaunch").size(), 6u);
}

TEST(Preload, MessageToAClosedPipeDoesNotEndTheProgram) {
  const std::string preload = stage_folder + "/without_engine/liblynxpp.so";
  const std::string program =
      "LD_PRELOAD=" + preload + " " + programs_folder + "/driver_program dlsym launches";
  const Outcome result = run("bash -c '{ sleep 0.2; " + program + "; } 2>&1 | true; exit ${PIPESTATUS[0]}'",
                             attached + "LYNXPP_DEVICE=cuda", "");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.events_of("driver cuLaunch").size(), 6u);
}

TEST(Preload, ReportsAnEngineFromAnotherBuildInOneLine) {
  const Outcome result = run_driver("dlsym launches", attached, stage_folder + "/other_build/liblynxpp.so");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("liblynxpp-engine.so is from a different build than "));
  EXPECT_EQ(split(result.errors, '\n').size(), 2u);
  EXPECT_EQ(result.events_of("driver cuLaunch").size(), 6u);
}

TEST(Preload, RelativePathSurvivesAChangeOfDirectory) {
  const Outcome result = run("sh -c 'cd " + stage_folder + " && export LD_PRELOAD=./liblynxpp.so && exec " +
                                 programs_folder + "/driver_program dlsym launch'",
                             attached + "LYNXPP_DEVICE=cuda", "");
  EXPECT_THAT(result.events, Contains(StartsWith("engine launch kernel")));
}

TEST(Preload, WritesRecordsOnEveryExitPath) {
  for (const auto& [action, status] : {std::pair{"_exit", 3}, {"_Exit", 4}, {"quick_exit", 5}}) {
    const Outcome result = run_driver(std::string("dlsym launch ") + action, attached);
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.events_of("engine finish").size(), 1u) << action;
    EXPECT_EQ(run_driver(std::string("dlsym ") + action, attached).events.size(), 0u) << action;
  }
}

// The driver's own handler ends all contexts, and with them uncollected results.
TEST(Preload, WritesRecordsOfLynxppRunBeforeTheDriverEnds) {
  for (const std::string run_mark : {"", "LYNXPP_RUN=$$:2 "}) {
    const Outcome result = run("sh -c '" + run_mark + "LD_PRELOAD=" + preload_library + " exec " +
                                   programs_folder + "/driver_program dlsym init launch'",
                               attached + "LYNXPP_DEVICE=cuda FAKE_DRIVER_TELLS_END=1", "");
    EXPECT_EQ(result.status, 0) << result.errors;
    ASSERT_GE(result.events.size(), 3u);
    EXPECT_EQ(result.events[result.events.size() - 2], "engine finish") << run_mark;
    EXPECT_EQ(result.events.back(), "driver ends") << run_mark;
  }
}

TEST(Preload, ForkedChildLeavesTheRecordsToItsParent) {
  const Outcome result = run_driver("dlsym fork", attached);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "), ElementsAre(StartsWith("parent ")));
  EXPECT_EQ(result.events_of("driver cuLaunchKernel in_child").size(), 2u);
  EXPECT_EQ(result.events_of("engine finish").size(), 1u);
  EXPECT_EQ(result.events.back(), "engine finish");
}

TEST(Preload, ForkedChildIsMeasuredIfTheEngineServesIt) {
  const Outcome result = run_driver("dlsym fork", attached + "FAKE_ENGINE_SERVES_CHILD=1");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events_of("engine launch "),
              ElementsAre(StartsWith("parent "), StartsWith("in_child "), StartsWith("in_child ")));
  EXPECT_EQ(result.events_of("engine finish").size(), 3u) << "each ends in its own way";
}

// ---- transparency ----------------------------------------------------------------------------------------

TEST(Preload, OrdinaryProgramsAreUnaffected) {
  const Outcome result = run("/bin/true", attached);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output + result.errors, "");
  EXPECT_THAT(result.events, IsEmpty());
  EXPECT_EQ(run("/bin/echo word", attached).output, "word\n");
  EXPECT_EQ(run("sh -c 'exit 7'", attached).status, 7);
  EXPECT_EQ(run("sh -c '(exit 5); echo $?; exec /bin/sh -c \"kill -9 \\$\\$\"'", attached).output, "5\n");
}

TEST(Preload, LookUpsDependOnTheirRealCaller) {
  const std::string other = programs_folder + "/libother_preload.so";
  const std::string dlsym = programs_folder + "/libother_dlsym.so";
  // Not tested: a dlsym interposed before ours that finds the C library's with dlvsym. It bypasses us.
  for (const std::string& preload :
       {std::string(), preload_library, preload_library + ":" + other, other + ":" + preload_library,
        preload_library + ":" + dlsym, preload_library + ":" + other + ":" + dlsym}) {
    const bool has_other_dlsym = preload.find(dlsym) != std::string::npos;
    const Outcome result = run(programs_folder + "/dlsym_program",
                               attached + (has_other_dlsym ? "LYNXPP_TEST_OTHER_DLSYM=1" : ""), preload);
    EXPECT_EQ(result.status, 0) << preload << result.errors;
    EXPECT_THAT(result.output, Not(HasSubstr("WRONG"))) << preload;
    EXPECT_EQ(split(result.output, '\n').size(), 16u) << preload << result.output;
    EXPECT_EQ(result.errors, "");
  }
}

TEST(Preload, ReportsAnUnknownDeviceInOneLine) {
  const Outcome result = run("/bin/true", "LYNXPP_DEVICE=gpu");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.errors, "lynxpp: unknown LYNXPP_DEVICE 'gpu'; expected auto, cuda or cpu; using auto\n");
}

// ---- the cpu device --------------------------------------------------------------------------------------

class RuntimeProgram : public testing::TestWithParam<const char*> {
 protected:
  std::string program() { return programs_folder + "/" + GetParam(); }
};

// No call reaches the real runtime: functions that the engine lacks are refused, even if found by dlsym.
TEST_P(RuntimeProgram, CallsTheEngineInsteadOfTheRuntime) {
  const Outcome result = run(program(), attached + "LYNXPP_DEVICE=cpu");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events, ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                                         "cpu __cudaRegisterFatBinary", "cpu __cudaRegisterFatBinary", "main",
                                         "cpu cudaMalloc 1", "cpu cudaFree", "cpu cudaMalloc 70",
                                         "cpu refuses", "cpu refuses", "own cudaDescribe", "cpu cudaMalloc 2",
                                         "cpu cudaMalloc 3", "engine finish"));
}

TEST_P(RuntimeProgram, LibrariesOpenedLaterAreBoundBeforeTheirConstructors) {
  const Outcome result = run(program() + " " + programs_folder + "/liblater.so", "LYNXPP_DEVICE=cpu");
  EXPECT_EQ(result.status, 0) << result.errors;
  ASSERT_GE(result.events.size(), 3u);
  const std::vector<std::string> last(result.events.end() - 3, result.events.end());
  EXPECT_THAT(last, ElementsAre("cpu __cudaRegisterFatBinary", "cpu cudaMalloc 71", "engine finish"));
  EXPECT_EQ(result.events[1], "engine attach (null)");
}

TEST_P(RuntimeProgram, MissingFunctionsAreListedOnRequest) {
  const Outcome result = run(program(), "LYNXPP_DEVICE=cpu LYNXPP_LOG=info");
  EXPECT_EQ(result.errors,
            "lynxpp: the cpu device does not have these runtime functions, which this program imports: "
            "cudaGetDeviceCount\n");
}

TEST_P(RuntimeProgram, UsesTheRuntimeOnTheCudaDevice) {
  const Outcome result = run(program(), attached + "LYNXPP_DEVICE=cuda");
  EXPECT_THAT(result.events, Not(Contains(AnyOf(StartsWith("cpu"), StartsWith("engine")))));
  EXPECT_EQ(result.events_of("runtime cudaMalloc").size(), 4u);
}

TEST_P(RuntimeProgram, ContinuesWithoutAnEngine) {
  const Outcome result = run(program(), "LYNXPP_DEVICE=cpu", stage_folder + "/without_engine/liblynxpp.so");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, testing::EndsWith("; the program runs without the cpu device\n"));
  EXPECT_EQ(result.events_of("runtime cudaMalloc").size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Preload, RuntimeProgram,
                         testing::Values("runtime_program_lazy", "runtime_program_now",
                                         "runtime_program_no_pie"),
                         ReadableName());

TEST(Preload, AnOlderProgramGetsTheFunctionsOfItsVersion) {
  const Outcome result = run(programs_folder + "/older_program", "LYNXPP_DEVICE=cpu");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events, ElementsAre("engine opened, LYNXPP_SPEC is not set", "engine attach (null)",
                                         "cpu cudaMalloc 1", "cpu refuses", "cpu cudaMemAdvise of CUDA 12",
                                         "cpu cudaMemAdvise", "cpu refuses", "engine finish"));
}

class StaticRuntimeProgram : public RuntimeProgram {};

// Its functions are redirected before the first constructor.
TEST_P(StaticRuntimeProgram, CallsTheEngineInsteadOfItsRuntime) {
  const Outcome result = run(program(), attached + "LYNXPP_DEVICE=cpu");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.events, ElementsAre("engine opened, LYNXPP_SPEC is set", "engine attach a,b",
                                         "cpu __cudaRegisterFatBinary", "cpu cudaMalloc 1", "cpu cudaFree",
                                         "cpu cudaMemAdvise", "own cudaDescribe", "engine finish"));
}

TEST_P(StaticRuntimeProgram, UsesItsRuntimeOnTheCudaDevice) {
  const Outcome result = run(program(), attached + "LYNXPP_DEVICE=cuda");
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.events, Not(Contains(AnyOf(StartsWith("cpu"), StartsWith("engine opened")))));
  EXPECT_EQ(result.events_of("runtime cudaMalloc").size(), 1u);
}

// The last one has no device code: its kernels may be in a library.
INSTANTIATE_TEST_SUITE_P(Preload, StaticRuntimeProgram,
                         testing::Values("static_runtime_program", "static_runtime_program_no_pie",
                                         "no_device_code_program"),
                         ReadableName());

TEST(Preload, AnOlderStaticRuntimeGetsTheFunctionsOfItsVersion) {
  const Outcome result = run(programs_folder + "/static_older_runtime_program", "LYNXPP_DEVICE=cpu");
  EXPECT_THAT(result.events,
              testing::AllOf(Contains("cpu cudaMalloc 1"), Contains("cpu cudaMemAdvise of CUDA 12")));
}

// Such a runtime must not find a driver. The reason is given once.
TEST(Preload, ExplainsWhyAStaticRuntimeFindsNoDriver) {
  const auto errors = [](const std::string& program, const std::string& device) {
    const Outcome result =
        run("env LD_LIBRARY_PATH= " + programs_folder + "/" + program, "LYNXPP_DEVICE=" + device);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output.find("no driver") != std::string::npos, true);
    return result.errors;
  };
  EXPECT_EQ(
      errors("static_runtime_program", "cpu"),
      "lynxpp: this program calls a function of the CUDA runtime that the cpu device does not have; the "
      "call fails\n");
  EXPECT_EQ(
      errors("stripped_runtime_program", "cpu"),
      "lynxpp: this program links the CUDA runtime statically and has no symbol table, so it cannot run on "
      "the cpu device; do not strip it, or link it with `nvcc -cudart shared`\n");
  EXPECT_EQ(errors("static_runtime_program", "cuda"), "");
  EXPECT_EQ(errors("no_device_code_program", "cuda"), "");
}

TEST(Preload, DoesNotInstrumentAProgramOnTheGpuIfTheCpuDeviceIsRequested) {
  const Outcome result =
      run(programs_folder + "/driver_program dlsym launches", attached + "LYNXPP_DEVICE=cpu");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, StartsWith("lynxpp: LYNXPP_DEVICE is cpu, but this program has loaded the GPU's "
                                        "driver and runs there, uninstrumented; "));
  EXPECT_EQ(split(result.errors, '\n').size(), 2u);
  EXPECT_THAT(result.events_of("engine "), IsEmpty());
  EXPECT_EQ(result.events_of("driver cuLaunch").size(), 6u);
}

// ---- the last word -------------------------------------------------------------------------------

/// Runs a program like `lynxpp run`: LYNXPP_RUN names the program's own process.
Outcome run_as_program(const std::string& arguments) {
  return run("sh -c 'LYNXPP_RUN=$$:9 exec " + programs_folder + "/driver_program " + arguments + "'",
             "LYNXPP_DEVICE=cuda LYNXPP_SPEC=a");
}

TEST(LastWord, IsPrintedByARunThatLaunchedNothing) {
  const std::string word =
      "lynxpp: no kernel launch was seen in 'driver_program': the program loaded the CUDA driver but "
      "launched no kernel\n";
  EXPECT_EQ(run_as_program("dlsym setenv=a").errors, word);
  EXPECT_EQ(run_as_program("dlsym setenv=a").status, 3);
  for (const auto& [action, status] : {std::pair{"_exit", 3}, {"_Exit", 4}, {"quick_exit", 5}}) {
    const Outcome result = run_as_program(std::string("dlsym ") + action);
    EXPECT_EQ(result.errors, word) << action;
    EXPECT_EQ(result.status, status);
  }
}

TEST(LastWord, IsNotPrintedAfterALaunchOrByOtherProcesses) {
  EXPECT_EQ(run_as_program("dlsym launch").errors, "");
  EXPECT_EQ(run_as_program("dlsym fork").errors, "");
  EXPECT_EQ(run_driver("dlsym setenv=a", attached).errors, "");
  EXPECT_EQ(run_driver("dlsym setenv=a", attached + "LYNXPP_RUN=1:9").errors, "");
}

}  // namespace
}  // namespace lynxpp
