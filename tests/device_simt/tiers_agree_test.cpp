// All tiers, and any point at which a run switches from one kind of code to another, yield the same memory
// and the same counts for random programs whose lanes wait for each other.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "code_tier.h"
#include "kernel_fixture.h"
#include "lane_programs.h"
#include "waiting_programs.h"

namespace lynxpp::device::cpu::test {
namespace {

std::string counts_of(const LaunchCounters& counters) {
  std::string text = std::to_string(counters.thread_instructions) + ' ' +
                     std::to_string(counters.warp_instructions) + ' ' +
                     std::to_string(counters.branches.divergent) + '\n';
  for (const SiteCounters& site : counters.sites) {
    for (const std::uint64_t count : {std::uint64_t{site.line}, site.warp_issues, site.active_lanes,
                                      site.executing_warps, site.thread_executions, site.divergent})
      text += std::to_string(count) + ' ';
    text += '\n';
  }
  return text;
}

class TiersAgree : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(TiersAgree, OnMeetingLanes) {
  const LaneProgram program = random_lane_program(1000 + GetParam());
  std::optional<std::string> counts;
  for (const Tier& tier : tiers) {
    const ChosenTier chosen(tier);
    const auto module = load(program.text);
    ASSERT_NE(module, nullptr);
    LaunchCounters counters;
    for (LaunchCounters* const wanted : {static_cast<LaunchCounters*>(nullptr), &counters}) {
      LaneValues out{};
      const Arguments arguments(out.data(), program.side.data());
      ASSERT_EQ(text_of(module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, arguments.bytes(), wanted)), "");
      ASSERT_EQ(out, program.expected) << tier.name << "\n" << program.text;
    }
    if (!counts) counts = counts_of(counters);
    ASSERT_EQ(counts_of(counters), *counts) << tier.name << "\n" << program.text;
  }
}

TEST_P(TiersAgree, OnWaitingThreads) {
  const WaitingProgram program = random_waiting_program(GetParam());
  std::optional<std::string> counts;
  for (const Tier& tier : tiers) {
    const ChosenTier chosen(tier);
    const auto module = load(program.text);
    ASSERT_NE(module, nullptr);
    LaunchCounters counters;
    for (LaunchCounters* const wanted : {static_cast<LaunchCounters*>(nullptr), &counters}) {
      std::vector<std::uint32_t> out(waiting_threads);
      std::vector<std::uint32_t> words(waiting_words);
      const Arguments arguments(out.data(), program.in.data(), words.data());
      ASSERT_EQ(
          text_of(module->launch("test", {{1, 1, 1}, {waiting_threads, 1, 1}, 0}, arguments.bytes(), wanted)),
          "")
          << tier.name << "\n"
          << program.text;
      ASSERT_EQ(out, program.expected) << tier.name << "\n" << program.text;
      ASSERT_EQ(words, program.expected_words) << tier.name << "\n" << program.text;
    }
    if (!counts) counts = counts_of(counters);
    ASSERT_EQ(counts_of(counters), *counts) << tier.name << "\n" << program.text;
  }
}

// In some seeds of the waiting programs, threads pass a turn to each other, which takes long.
INSTANTIATE_TEST_SUITE_P(Seeds, TiersAgree, ::testing::Values(0u, 1u, 3u, 4u));

}  // namespace
}  // namespace lynxpp::device::cpu::test
