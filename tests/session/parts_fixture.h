// The parts of a session that make launches, without a session, on a device that only records its calls.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "interposer/session/launch_parts.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() { attach("global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\n"); }

  void attach(const std::string& specification) {
    auto attached = std::make_shared<Attached>();
    ASSERT_TRUE(attached->add({"test", "", specification}).ok());
    kernels_.attach(std::move(attached), std::nullopt);
  }
  KernelSource source_of(std::string_view kernel, std::uint64_t image = 1) {
    return {kernel, image, [this]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  }
  static device::Launch request_of(std::uint32_t blocks) {
    device::Launch request;
    request.grid[0] = blocks;
    request.block[0] = 32;
    return request;
  }
  Seen& seen(const std::string& kernel) {
    const KnownKernels::State state(kernels_);
    return kernels_.seen(kernel, "");
  }
  report::CoverageRecord coverage_of(const std::string& kernel) {
    const Seen& found = seen(kernel);
    const KnownKernels::State state(kernels_);
    return found.coverage;
  }
  /// True if the calling thread holds none of the session's locks that launches use.
  bool holds_no_lock() {
    return !kernels_.is_held_by_caller() && !recorder_.is_held_by_caller() &&
           !variants_.is_held_by_caller() && !sharing_.is_held_by_caller();
  }
  LaunchParts parts() {
    return {configuration_, launches_, kernels_, planner_, room_, sharing_, streams_, timeline_, recorder_};
  }

  std::string text_ = kernel_ptx;
  FakeDevice device_;
  Records records_;
  Configuration configuration_;
  TraceStreams streams_{""};
  Launches launches_;
  KnownKernels kernels_{configuration_};
  Recorder recorder_{configuration_, std::make_unique<RecordingSink>(records_), kernels_, nullptr,
                     [] { return false; }};
  VariantCache variants_;
  VariantMaker maker_{configuration_, false, variants_, [](const std::string&) { return true; }};
  Timeline timeline_{false};
  LaunchPlanner planner_{configuration_, kernels_, variants_, maker_};
  ResultsPipeline results_{
      {.settle = [this](Pending& pending,
                        const Result<std::span<std::byte>>& bytes) { recorder_.settle(pending, bytes); },
       .lose = [this](const Pending& pending,
                      const std::string& reason) { recorder_.lose(pending, reason); }},
      std::chrono::milliseconds(30)};
  CounterSharing sharing_{results_, 1, true};
  LaunchRoom room_{configuration_, kernels_, streams_, sharing_, results_};
};

}  // namespace lynxpp::interposer
