// Remedies that trials try: limits of registers, and the comparison of results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interposer/trials/equal_results.h"
#include "interposer/trials/register_setting.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* limited = ".entry k()\n.maxntid 256, 1, 1\n.minnctapersm 8\n.maxnreg 32\n{ ret; }\n";

device::DirectiveRange directives_of(const std::string& text) { return {text.find(")") + 1, text.find("{")}; }

TEST(RegisterLimits, AreRemoved) {
  std::string text = limited;
  device::DirectiveRange directives = directives_of(text);
  ASSERT_TRUE(remove_register_limits(text, directives).ok());
  EXPECT_THAT(text, Not(HasSubstr(".minnctapersm")));
  EXPECT_THAT(text, Not(HasSubstr(".maxnreg")));
  EXPECT_THAT(text, HasSubstr(".maxntid 256, 1, 1\n"));
  EXPECT_EQ(text[directives.end], '{');
  EXPECT_FALSE(remove_register_limits(text, directives).ok()) << "none is left";
}

TEST(RegisterLimits, MakeRoomForOneBlockMore) {
  FakeDevice device;  // 20 registers, 16 blocks
  device::MultiprocessorLimits limits{.threads = 2048, .blocks = 32, .registers = 32768};
  device.set_limits(limits);
  device::Launch launch;
  launch.block[0] = 100;
  std::string text = limited;
  device::DirectiveRange directives = directives_of(text);
  EXPECT_FALSE(limit_registers(text, directives, device, launch).ok()) << "17 blocks of 4 warps are too many";
  launch.block[0] = 96;
  ASSERT_TRUE(limit_registers(text, directives, device, launch).ok());
  EXPECT_THAT(text, HasSubstr("\n.maxnreg 16\n{"));
  EXPECT_THAT(text, Not(HasSubstr(".minnctapersm")));
  limits.registers = 65536;
  device.set_limits(limits);
  EXPECT_FALSE(limit_registers(text, directives, device, launch).ok()) << "40 registers are enough";
}

/// Buffers in host memory that copies really access.
class MemoryDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t bytes, const device::Launch&) override {
    return std::unique_ptr<device::Buffer>(
        std::make_unique<RealBuffer>(std::make_unique<std::vector<std::byte>>(bytes)));
  }
  Result<std::unique_ptr<device::Buffer>> allocate_kept(std::size_t bytes,
                                                        const device::Launch& launch) override {
    return allocate_zeroed(bytes, launch);
  }
  Status copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, const device::Launch&) override {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return success();
  }
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer> buffer,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(std::make_unique<FakeReadback>(
        *static_cast<RealBuffer&>(*buffer).bytes, ready, over, false, std::optional<double>()));
  }

 private:
  struct RealBuffer : device::Buffer {
    explicit RealBuffer(std::unique_ptr<std::vector<std::byte>> memory)
        : Buffer(reinterpret_cast<std::uint64_t>(memory->data())), bytes(std::move(memory)) {}
    std::unique_ptr<std::vector<std::byte>> bytes;
  };
};

class EqualResults : public ::testing::Test {
 protected:
  std::string compare(const std::function<void()>& original, const std::function<void()>& remedy,
                      bool is_cleared) {
    const std::vector<MemoryRange> ranges = {{reinterpret_cast<std::uint64_t>(values_.data()), 4},
                                             {reinterpret_cast<std::uint64_t>(values_.data() + 4), 4}};
    Result<std::unique_ptr<SavedMemory>> saved = SavedMemory::save(device_, launch_, ranges);
    if (!saved) return "not saved";
    const auto done = [](const std::function<void()>& run) { return [&] { return run(), success(); }; };
    const Result<std::string> found =
        compare_results(device_, launch_, ranges, **saved, is_cleared, done(original), done(remedy));
    EXPECT_TRUE((*saved)->restore(device_, launch_).ok());
    EXPECT_EQ(values_, std::vector<char>(8, 7));
    return found ? *found : found.error().diagnostics.front().message;
  }

  MemoryDevice device_;
  device::Launch launch_;
  std::vector<char> values_ = std::vector<char>(8, 7);
};

TEST_F(EqualResults, AreFound) {
  const auto increment = [&] { ++values_[1], ++values_[6]; };
  EXPECT_EQ(compare(increment, increment, false), "identical") << "each begins with the saved memory";
  EXPECT_EQ(compare(increment, increment, true), "identical");
}

TEST_F(EqualResults, DifferInOneByte) {
  EXPECT_EQ(compare([&] { values_[6] = 1; }, [&] { values_[6] = 2; }, false), "different");
}

TEST_F(EqualResults, DifferIfTheRemedyWritesNothing) {
  EXPECT_EQ(compare([&] { values_[6] = 7; }, [] {}, true), "different")
      << "the memory held the result before";
}

TEST_F(EqualResults, VaryWithTheKernel) {
  char launches = 0;
  EXPECT_EQ(compare([&] { values_[0] = ++launches; }, [&] { values_[0] = ++launches; }, false), "varying");
}

}  // namespace
}  // namespace lynxpp::interposer
