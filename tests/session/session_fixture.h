// A launch session with a device that only records its calls.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interposer/session/session.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::interposer {

inline constexpr const char* kernel_ptx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 total;\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, total;\nret;\n}\n";

/// Everything that the session passed to its sinks.
struct Records {
  std::vector<report::SitesRecord> sites;
  std::vector<report::LaunchRecord> launches;
  std::vector<report::TotalRecord> totals;
  std::vector<report::CoverageRecord> coverage;
  std::vector<report::TimingRecord> timings;
  std::vector<report::TrialRecord> trials;
  std::vector<report::DeviceRecord> devices;
  int finished = 0;
};

class RecordingSink : public report::Sink {
 public:
  explicit RecordingSink(Records& records) : records_(records) {}
  void sites(const report::SitesRecord& record) override { records_.sites.push_back(record); }
  void launch(const report::LaunchRecord& record) override { records_.launches.push_back(record); }
  void total(const report::TotalRecord& record) override { records_.totals.push_back(record); }
  void coverage(const report::CoverageRecord& record) override { records_.coverage.push_back(record); }
  void timing(const report::TimingRecord& record) override { records_.timings.push_back(record); }
  void trial(const report::TrialRecord& record) override { records_.trials.push_back(record); }
  void device(const report::DeviceRecord& record) override { records_.devices.push_back(record); }
  void finish() override { ++records_.finished; }

 private:
  Records& records_;
};

class FakeBuffer : public device::Buffer {
 public:
  FakeBuffer(std::size_t size, int& freed) : Buffer(0x1000), bytes(size), freed_(freed) {}
  ~FakeBuffer() override { ++freed_; }

  std::vector<std::byte> bytes;

 private:
  int& freed_;
};

class FakeReadback : public device::Readback {
 public:
  FakeReadback(std::vector<std::byte> bytes, const bool& ready, const bool& over, bool lost,
               std::optional<double> milliseconds)
      : bytes_(std::move(bytes)), ready_(ready), over_(over), lost_(lost), milliseconds_(milliseconds) {}
  bool ready() override { return ready_; }
  bool is_over() override { return over_ || ready_; }
  Result<std::span<std::byte>> wait() override {
    if (lost_) return failure("the launch died");
    return std::span<std::byte>(bytes_);
  }
  std::optional<double> kernel_milliseconds() override { return milliseconds_; }
  std::optional<double> max_milliseconds() override {
    return milliseconds_ ? std::optional(*milliseconds_ + 1) : std::nullopt;
  }
  std::optional<double> buffer_milliseconds() override { return 0.25; }

 private:
  std::vector<std::byte> bytes_;
  const bool& ready_;
  const bool& over_;
  bool lost_;
  std::optional<double> milliseconds_;
};

class FakeDevice : public device::Device {
 public:
  FakeDevice() {
    info_.name = "fake";
    info_.compute_capability = 90;
    info_.sm_id_limit = 4;
  }
  const device::DeviceInfo& info() const override { return info_; }
  std::shared_ptr<const device::LiveAllocations> allocations() override { return memory; }
  Result<std::unique_ptr<device::Variant>> load(const std::string& ptx, const std::string&,
                                                const device::Launch&,
                                                const device::VariantTraits& traits) override {
    loaded.push_back(ptx);
    wants_time_bound.push_back(traits.wants_time_bound);
    const bool has_calls = ptx.find("call __lynxpp_function") != std::string::npos;
    if (refuses_load || (refuses_calls && has_calls)) return failure("no room");
    return std::make_unique<device::Variant>();
  }
  std::optional<std::uint64_t> variable_address(const device::Launch&, const std::string& name) override {
    if (name == "total" && has_total) return 4096;
    return std::nullopt;
  }
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t bytes, const device::Launch&) override {
    return std::unique_ptr<device::Buffer>(std::make_unique<FakeBuffer>(bytes, freed));
  }
  Status write(device::Buffer&, std::uint64_t, std::span<const std::byte>, const device::Launch&) override {
    return success();
  }
  Status launch(device::Variant&, const device::Launch& launch, std::span<const device::ParameterSlot> slots,
                std::span<const std::uint64_t> probe, device::Buffer& buffer) override {
    if (refuses_launch) return failure("too many registers");
    if (during_launch) during_launch();
    ++launched;
    shared_bytes_seen.push_back(launch.shared_bytes);
    slots_seen.assign(slots.begin(), slots.end());
    // Writes 7 to the address in the first parameter slot, as a handler would, if there is memory.
    const std::uint64_t seven = 7;
    auto& bytes = static_cast<FakeBuffer&>(buffer).bytes;
    const bool is_address = !probe.empty() && probe[0] >= 0x1000;
    if (is_address && probe[0] - 0x1000 + sizeof seven <= bytes.size())
      std::memcpy(bytes.data() + (probe[0] - 0x1000), &seven, sizeof seven);
    return success();
  }
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer> buffer,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(std::make_unique<FakeReadback>(
        static_cast<FakeBuffer&>(*buffer).bytes, ready, over, loses_results, times()));
  }
  Result<std::unique_ptr<device::Buffer>> allocate_kept(std::size_t bytes, const device::Launch&) override {
    if (lacks_memory) return failure("no memory is left");
    return std::unique_ptr<device::Buffer>(std::make_unique<FakeBuffer>(bytes, freed));
  }
  Status copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, const device::Launch&) override {
    copies.push_back({to, from, bytes});
    return success();
  }
  bool is_idle_within(std::chrono::milliseconds, const device::Launch&) override { return is_idle; }
  Result<bool> capturing(const device::Launch&) override {
    if (during_capture_query) during_capture_query();
    if (stream_fails) return failure("cuStreamIsCapturing: an illegal memory access was encountered");
    return captures;
  }
  std::optional<device::KernelResources> resources(const device::Launch&,
                                                   const device::Variant* variant) override {
    return device::KernelResources{variant == nullptr ? 20u : 28u, 0, 0, 16, 32, 64};
  }
  Result<std::unique_ptr<device::Readback>> launch_original(const device::Launch&) override {
    if (refuses_launch) return failure("a mistake of the program's");
    ++originals;
    return std::unique_ptr<device::Readback>(
        std::make_unique<FakeReadback>(std::vector<std::byte>(), ready, over, loses_results, times()));
  }

  std::vector<std::string> loaded;
  std::vector<bool> wants_time_bound;  ///< by the loaded variants
  std::vector<device::ParameterSlot> slots_seen;
  std::vector<std::uint32_t> shared_bytes_seen;  ///< of variants' launches
  /// The program's allocations; tests may replace it.
  std::shared_ptr<const device::LiveAllocations> memory = std::make_shared<const device::LiveAllocations>();
  int launched = 0;
  int originals = 0;
  int freed = 0;
  bool ready = true, captures = false, stream_fails = false, refuses_load = false, refuses_launch = false,
       loses_results = false;
  bool over = false;  ///< launches are over, and their results are being copied
  bool refuses_calls = false;
  bool lacks_memory = false, is_idle = true;
  struct Copy {
    std::uint64_t to, from, bytes;
    bool operator==(const Copy&) const = default;
  };
  std::vector<Copy> copies;  ///< of saved memory
  bool has_total = true, knows_times = true;
  double milliseconds = 2.5;
  std::function<void()> during_launch, during_capture_query;

  void set_compute_capability(int capability) { info_.compute_capability = capability; }
  void set_keeps_counters() { info_.keeps_counters = true; }
  void set_compiles_slowly(bool compiles_slowly) { info_.compiles_slowly = compiles_slowly; }
  void set_ordinal(int ordinal) { info_.ordinal = ordinal; }
  void set_clock_khz(std::uint32_t clock_khz) { info_.clock_khz = clock_khz; }
  void set_limits(const device::MultiprocessorLimits& limits) { info_.limits = limits; }

 private:
  std::optional<double> times() const { return knows_times ? std::optional(milliseconds) : std::nullopt; }

  device::DeviceInfo info_;
};

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spec_ = written("session_test_sevens",
                    "global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\n");
    start({});
  }
  std::string written(const std::string& name, const std::string& text) const {
    std::string path = folder_.file(name + ".cod");
    std::ofstream(path) << text;
    return path;
  }
  void start(Configuration configuration) {
    session_ = std::make_unique<Session>(std::move(configuration), std::make_unique<RecordingSink>(records_),
                                         Session::Results::on_demand);
    std::string problem;
    ASSERT_TRUE(session_->attach(spec_, problem)) << problem;
  }
  bool launch(const std::string& name = "k", std::uint64_t image = 1) { return launch(name, image, 3, 33); }
  /// Also collects the results, if they are available.
  bool launch(const std::string& name, std::uint64_t image, std::uint32_t blocks, std::uint32_t threads) {
    KernelSource source{name, image, [&]() -> Result<KernelPtx> {
                          ++decoded_;
                          if (while_decoding_) while_decoding_();
                          return KernelPtx{text_};
                        }};
    found_ = {};
    const bool is_made = session_->launch(device_, request_of(blocks, threads), source, &found_);
    session_->collect();
    return is_made;
  }
  static device::Launch request_of(std::uint32_t blocks, std::uint32_t threads) {
    device::Launch request;
    request.grid[0] = blocks;
    request.block[0] = threads;
    return request;
  }

  const TemporaryFolder folder_;
  std::string spec_;
  std::string text_ = kernel_ptx;
  int decoded_ = 0;
  std::function<void()> while_decoding_;
  Session::Found found_;  ///< by the last launch()
  FakeDevice device_;
  Records records_;
  std::unique_ptr<Session> session_;
};

}  // namespace lynxpp::interposer
