#include "interposer/configuration.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lynxpp::interposer {
namespace {

TEST(Configuration, ReadsTheEnvironmentAndReportsWhatIsWrong) {
  setenv("LYNXPP_KERNELS", "mat(mul", 1);
  setenv("LYNXPP_LAUNCHES", "first", 1);
  setenv("LYNXPP_OUTPUT", "out.jsonl", 1);
  setenv("LYNXPP_TIMING", "0", 1);
  Diagnostics problems;
  const Configuration configuration = read_configuration(problems);
  EXPECT_EQ(problems.size(), 2u);
  EXPECT_FALSE(configuration.kernels.has_value());
  EXPECT_EQ(configuration.output, "out.jsonl");
  EXPECT_EQ(configuration.timing, Timing::off);
  EXPECT_EQ(configuration.kernel_times(), device::KernelTimes::off);
  setenv("LYNXPP_KERNELS", "mat.*", 1);
  unsetenv("LYNXPP_LAUNCHES");
  setenv("LYNXPP_TIMING", "1", 1);
  problems.clear();
  const Configuration second = read_configuration(problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(second.timing, Timing::stages);
  EXPECT_EQ(second.kernel_times(), device::KernelTimes::running);
  EXPECT_FALSE(second.wide_counters);
  EXPECT_TRUE(std::regex_search("matmul", *second.kernels));
  setenv("LYNXPP_TIMING", "variant", 1);
  setenv("LYNXPP_WIDE_COUNTERS", "1", 1);
  const Configuration third = read_configuration(problems);
  EXPECT_EQ(third.kernel_times(), device::KernelTimes::alone);
  EXPECT_TRUE(third.wide_counters);
  EXPECT_TRUE(third.prints_table);
  setenv("LYNXPP_TABLE", "0", 1);
  EXPECT_FALSE(read_configuration(problems).prints_table);
}

}  // namespace
}  // namespace lynxpp::interposer
