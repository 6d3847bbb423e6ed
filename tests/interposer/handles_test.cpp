// Functions that lynxpp does not interpose reach the driver through any handle that a program holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/text.h"
#include "tests/interposer/preload_run.h"

namespace lynxpp {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome look_up_with(const std::string& preload) {
  return run(programs_folder + "/handles_program", "LYNXPP_DEVICE=cuda LYNXPP_SPEC=a", preload);
}

/// Returns the program's checks that failed.
std::vector<std::string> wrong(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const std::string& line : split(outcome.output, '\n')) {
    if (line.ends_with("WRONG")) lines.push_back(line);
  }
  return lines;
}

TEST(Handles, EveryHandleReachesTheDriver) {
  const Outcome alone = look_up_with("");
  EXPECT_THAT(wrong(alone), IsEmpty()) << "without lynxpp";
  const std::string other = programs_folder + "/libother_dlsym.so";
  for (const std::string& preload : {preload_library, preload_library + ":" + other}) {
    const Outcome result = look_up_with(preload);
    EXPECT_EQ(result.status, 0) << preload << result.errors;
    EXPECT_THAT(wrong(result), IsEmpty()) << preload;
    EXPECT_EQ(split(result.output, '\n').size(), split(alone.output, '\n').size());
  }
}

TEST(Handles, EveryHandleReachesTheDriverBypassingOurDlsym) {
  const std::string other = programs_folder + "/libother_dlsym.so";
  const Outcome result = look_up_with(other + ":" + preload_library);
  EXPECT_EQ(result.status, 0) << result.errors;
  // The dynamic linker's results from the global scope cannot be revoked.
  EXPECT_THAT(wrong(result), Each(HasSubstr("without a driver")));
}

TEST(Handles, HandlesOfAMistakenDriverReachTheDriver) {
  const std::string profiler = programs_folder + "/libprofiler.so";
  for (const std::string& preload : {profiler + ":" + preload_library, preload_library + ":" + profiler}) {
    const Outcome result = look_up_with(preload);
    EXPECT_EQ(result.status, 0) << preload << result.errors;
    for (const std::string what : {"the driver by dlsym: ok", "the driver by the C library's: ok"})
      EXPECT_THAT(result.output, HasSubstr(what)) << preload;
  }
}

}  // namespace
}  // namespace lynxpp
