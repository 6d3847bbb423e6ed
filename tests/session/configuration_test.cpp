#include "interposer/configuration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "interposer/output_path.h"

namespace lynxpp::interposer {
namespace {

TEST(Configuration, ReadsHowManyLaunchesHaveRecordsOfTheirOwn) {
  const auto own_records = [](const char* text) {
    setenv("LYNXPP_LAUNCH_RECORDS", text, 1);
    Diagnostics problems;
    const std::uint64_t number = read_configuration(problems).own_records;
    unsetenv("LYNXPP_LAUNCH_RECORDS");
    EXPECT_EQ(problems.size(), std::string_view(text) == "5x" || std::string_view(text) == "-1" ? 1u : 0u)
        << text;
    return number;
  };
  EXPECT_EQ(own_records(""), 64u);
  EXPECT_EQ(own_records("0"), 0u);
  EXPECT_EQ(own_records("1000"), 1000u);
  EXPECT_EQ(own_records("all"), ~std::uint64_t{0});
  EXPECT_EQ(own_records("5x"), 64u);
  EXPECT_EQ(own_records("-1"), 64u);
}

TEST(Configuration, ReadsTheCompileBudget) {
  const auto budget = [](const char* text, std::size_t errors) {
    setenv("LYNXPP_COMPILE_BUDGET", text, 1);
    Diagnostics problems;
    const auto seconds = read_configuration(problems).compile_budget;
    unsetenv("LYNXPP_COMPILE_BUDGET");
    EXPECT_EQ(problems.size(), errors) << text;
    return seconds ? seconds->count() : -1;
  };
  EXPECT_EQ(budget("", 0), -1);
  EXPECT_EQ(budget("none", 0), -1);
  EXPECT_EQ(budget("2.5", 0), 2.5);
  EXPECT_EQ(budget("0", 0), 0);
  EXPECT_EQ(budget("-1", 1), -1);
  EXPECT_EQ(budget("nan", 1), -1);
  EXPECT_EQ(budget("5 s", 1), -1);
}

TEST(Configuration, ReadsWhatFirstLaunchesDo) {
  const auto first_launch = [](const char* text, std::size_t errors) {
    setenv("LYNXPP_FIRST_LAUNCH", text, 1);
    Diagnostics problems;
    const FirstLaunch first = read_configuration(problems).first_launch;
    unsetenv("LYNXPP_FIRST_LAUNCH");
    EXPECT_EQ(problems.size(), errors) << text;
    return first;
  };
  EXPECT_EQ(first_launch("", 0), FirstLaunch::waits);
  EXPECT_EQ(first_launch("wait", 0), FirstLaunch::waits);
  EXPECT_EQ(first_launch("native", 0), FirstLaunch::native);
  EXPECT_EQ(first_launch("alone", 0), FirstLaunch::alone);
  EXPECT_EQ(first_launch("Native", 1), FirstLaunch::waits);
}

TEST(Configuration, ReadsTheEnvironmentAndReportsErrors) {
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
  EXPECT_EQ(second.counters, CounterWidth::by_time);
  EXPECT_TRUE(second.kernels->matches("matmul"));
  setenv("LYNXPP_TIMING", "variant", 1);
  setenv("LYNXPP_WIDE_COUNTERS", "1", 1);
  const Configuration third = read_configuration(problems);
  EXPECT_EQ(third.kernel_times(), device::KernelTimes::alone);
  EXPECT_EQ(third.counters, CounterWidth::wide);
  setenv("LYNXPP_WIDE_COUNTERS", "0", 1);
  EXPECT_EQ(read_configuration(problems).counters, CounterWidth::narrow);
  setenv("LYNXPP_MEMORY_BUDGET", "64M", 1);
  EXPECT_EQ(read_configuration(problems).memory.bytes, 64u << 20);
  setenv("LYNXPP_MEMORY_BUDGET", "much", 1);
  read_configuration(problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "LYNXPP_MEMORY_BUDGET: 'much' is not an amount of memory");
  problems.clear();
  unsetenv("LYNXPP_MEMORY_BUDGET");
  EXPECT_TRUE(third.prints_table);
  setenv("LYNXPP_TABLE", "0", 1);
  EXPECT_FALSE(read_configuration(problems).prints_table);
}

TEST(Configuration, ReadsTrials) {
  setenv("LYNXPP_TIMING", "1", 1);
  setenv("LYNXPP_TRIALS", "barrier:again, shared-access:harmless@120", 1);
  setenv("LYNXPP_TRIAL_LAUNCHES", "20", 1);
  setenv("LYNXPP_TRIAL_REPLAY", "0", 1);
  Diagnostics problems;
  const Configuration listed = read_configuration(problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(listed.timing, Timing::trials);
  EXPECT_EQ(listed.kernel_times(), device::KernelTimes::alone);
  EXPECT_FALSE(listed.may_share());
  ASSERT_TRUE(listed.trials);
  ASSERT_EQ(listed.trials->perturbations.size(), 2u);
  EXPECT_EQ(ptx::to_text(listed.trials->perturbations[1]), "shared-access:harmless@120");
  EXPECT_EQ(listed.trials->launches, 20u);
  EXPECT_EQ(listed.trials->replay, ReplayChoice::never);
  setenv("LYNXPP_TRIALS", "classes", 1);
  setenv("LYNXPP_TRIAL_LAUNCHES", "0", 1);
  unsetenv("LYNXPP_TRIAL_REPLAY");
  setenv("LYNXPP_SPEC", "instruction_count", 1);
  read_configuration(problems);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].message, "LYNXPP_TRIAL_LAUNCHES: '0' is not a number of launches");
  EXPECT_EQ(problems[1].message,
            "LYNXPP_TRIALS and LYNXPP_SPEC are set: trials run while nothing is counted");
  unsetenv("LYNXPP_SPEC");
  unsetenv("LYNXPP_TRIAL_LAUNCHES");
  const Configuration classes = read_configuration(problems);
  ASSERT_TRUE(classes.trials);
  EXPECT_TRUE(classes.trials->perturbations.empty());
  EXPECT_EQ(classes.trials->launches, 60u);
  EXPECT_EQ(classes.trials->replay, ReplayChoice::if_repeatable);
  unsetenv("LYNXPP_TRIALS");
  EXPECT_FALSE(read_configuration(problems).trials);
  unsetenv("LYNXPP_TIMING");
}

TEST(OutputPath, NamesProcessHostAndRank) {
  for (const char* const variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    unsetenv(variable);
  EXPECT_EQ(*expand_output_path("a.jsonl"), "a.jsonl");
  EXPECT_EQ(*expand_output_path("%r/%p.100%%"), "0/" + std::to_string(getpid()) + ".100%");
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(*expand_output_path("on %h"), std::string("on ") + host);
  setenv("SLURM_PROCID", "7", 1);
  EXPECT_EQ(*expand_output_path("%r"), "7");
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_EQ(*expand_output_path("%r"), "3") << "the launcher inside a Slurm job";
  setenv("OMPI_COMM_WORLD_RANK", "../x", 1);
  EXPECT_EQ(*expand_output_path("%r"), "7") << "that is not a rank";
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("SLURM_PROCID");
  EXPECT_EQ(*expand_output_path("%d of %r", 2), "2 of 0");
  EXPECT_TRUE(names_device("a%%%d"));
  EXPECT_FALSE(names_device("a%%d%r"));
  EXPECT_FALSE(expand_output_path("%x").ok());
  EXPECT_FALSE(expand_output_path("out%").ok());
}

}  // namespace
}  // namespace lynxpp::interposer
