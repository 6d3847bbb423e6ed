// nvcc's own host code against the table.
#include <gtest/gtest.h>

#include "tests/device_runtime/asynchronous.h"
#include "tests/device_runtime/program.h"

namespace {

TEST(CompiledProgram, LaunchesKernelsAndSharesVariables) { EXPECT_STREQ(run_polynomial(), nullptr); }

TEST(CompiledProgram, SharesManagedVariables) { EXPECT_STREQ(run_managed(), nullptr); }

TEST(CompiledProgram, LaunchesWithAConfiguration) { EXPECT_STREQ(run_extended_launch(), nullptr); }

TEST(CompiledProgram, SeesTheErrorOfALaunch) { EXPECT_STREQ(run_bad_launch(), nullptr); }

TEST(CompiledProgram, CopiesAsynchronously) { EXPECT_STREQ(run_asynchronous_copies(), nullptr); }

TEST(CompiledProgram, MultipliesMatrices) { EXPECT_STREQ(run_matrices(), nullptr); }

TEST(CompiledProgram, SynchronisesItsGrid) { EXPECT_STREQ(run_grid_barrier(), nullptr); }

}  // namespace
