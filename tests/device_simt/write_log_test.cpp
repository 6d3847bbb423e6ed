// The log of global memory that a launch writes: exact to the byte, and exchanged as often as wanted.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "device/cpu/simt/check/write_log.h"
#include "device/cpu/simt/check/written_memory.h"

namespace lynxpp::device::cpu::test::write_logs {
namespace {

/// Two allocations; the second one can be removed.
class TwoRanges : public GlobalMemory {
 public:
  AddressRange around(std::uint64_t address) const override {
    if (first.holds(address, 1)) return first;
    return second.holds(address, 1) ? second : AddressRange{};
  }
  std::string describe(std::uint64_t) const override { return ""; }
  HostAccess host_access_at(std::uint64_t) const override { return access; }
  void* allocate_for_kernel(std::uint64_t) override { return nullptr; }
  bool free_for_kernel(void*) override { return false; }
  void remove_second() {
    second = {};
    note_removal();
  }

  AddressRange first, second;
  HostAccess access = HostAccess::none;
};

constexpr AccessSite site_of(const AccessRole& role, std::string_view opcode = {}) {
  AccessSite site;
  site.role = role;
  site.opcode = opcode;
  return site;
}
constexpr AccessSite store_site = site_of({.writes = true});
constexpr AccessSite load_site = site_of({.reads = true});

class WriteLogs : public testing::Test {
 protected:
  WriteLogs() {
    std::iota(bytes_.begin(), bytes_.end(), std::uint8_t{0});
    memory_.first = {address(0), 1500};
    memory_.second = {address(2000), 1000};
  }
  std::uint64_t address(std::size_t at) const { return reinterpret_cast<std::uint64_t>(bytes_.data()) + at; }
  void write(WriteLog& log, std::size_t at, std::size_t count, std::uint8_t value) {
    log.note(store_site, address(at), count);
    std::memset(bytes_.data() + at, value, count);
  }

  alignas(512) std::array<std::uint8_t, 4096> bytes_;
  const std::array<std::uint8_t, 4096> before_ = [] {
    std::array<std::uint8_t, 4096> made;
    std::iota(made.begin(), made.end(), std::uint8_t{0});
    return made;
  }();
  TwoRanges memory_;
};

TEST_F(WriteLogs, ExchangeBothStatesOfOverlappingRanges) {
  WriteLog log(memory_);
  write(log, 100, 4, 1);
  write(log, 98, 8, 2);    // around the first
  write(log, 102, 1, 3);   // in both
  write(log, 500, 30, 4);  // in two pages
  write(log, 2100, 900, 5);
  const auto after = bytes_;
  for (int i = 0; i < 3; ++i) {
    log.exchange();
    EXPECT_EQ(bytes_, before_);
    log.exchange();
    EXPECT_EQ(bytes_, after);
  }
}

TEST_F(WriteLogs, LeaveBytesNextToWrittenOnesAlone) {
  WriteLog log(memory_);
  write(log, 10, 2, 1);
  write(log, 14, 2, 1);
  bytes_[9] = bytes_[12] = bytes_[13] = bytes_[16] = 99;  // the host's
  log.exchange();
  for (const std::size_t at : {9, 12, 13, 16}) EXPECT_EQ(bytes_[at], 99) << at;
  for (const std::size_t at : {10, 11, 14, 15}) EXPECT_EQ(bytes_[at], before_[at]) << at;
  log.exchange();
  for (const std::size_t at : {9, 12, 13, 16}) EXPECT_EQ(bytes_[at], 99) << at;
}

TEST_F(WriteLogs, KeepWhatALaterOrderFinds) {
  // The second order writes other bytes than the first: each log restores its own.
  WriteLog first(memory_);
  write(first, 0, 16, 1);
  const auto after = bytes_;
  first.exchange();
  WriteLog second(memory_);
  write(second, 8, 16, 2);
  second.exchange();
  EXPECT_EQ(bytes_, before_);
  first.exchange();
  EXPECT_EQ(bytes_, after);
}

TEST_F(WriteLogs, IgnoreBytesOutsideAllocationsAndPlainReads) {
  WriteLog log(memory_);
  log.note(store_site, address(1496), 8);  // four of them are past the end
  log.note(store_site, address(1700), 8);
  log.note(load_site, address(20), 8);
  std::memset(bytes_.data() + 1496, 1, 8);
  std::memset(bytes_.data() + 1700, 1, 8);
  std::memset(bytes_.data() + 20, 1, 8);
  log.exchange();
  for (std::size_t at = 1496; at < 1500; ++at) EXPECT_EQ(bytes_[at], before_[at]);
  for (const std::size_t at : {1500, 1503, 1700, 1707, 20, 27}) EXPECT_EQ(bytes_[at], 1) << at;
}

TEST_F(WriteLogs, NoteWhatAsynchronousOperationsWriteLater) {
  constexpr AccessSite copy_site = site_of({.reads = true, .is_async = true});
  WriteLog log(memory_);
  log.note(copy_site, address(40), 4);
  std::memset(bytes_.data() + 40, 1, 4);
  log.exchange();
  EXPECT_EQ(bytes_, before_);
}

TEST_F(WriteLogs, SkipAllocationsThatNoLongerExist) {
  WriteLog log(memory_);
  write(log, 2100, 10, 7);
  write(log, 100, 10, 7);
  memory_.remove_second();
  log.exchange();
  EXPECT_EQ(bytes_[100], before_[100]);
  EXPECT_EQ(bytes_[2100], 7);
}

TEST_F(WriteLogs, NoticeSignalsToTheHost) {
  const auto site = [](const char* opcode, bool reads, bool writes) {
    return site_of({.reads = reads, .writes = writes, .reach = Reach::device}, opcode);
  };
  struct Case {
    HostAccess access;
    AccessSite site;
    bool synchronizes, signals;
  };
  const Case cases[] = {
      {HostAccess::none, site("st.volatile.global.u32", false, true), false, false},
      {HostAccess::managed, site("red.global.add.u32", true, true), true, false},
      {HostAccess::managed, site("atom.global.exch.b32", true, true), true, true},
      {HostAccess::managed, site("atom.global.cas.b32", true, true), true, true},
      {HostAccess::managed, site("ld.volatile.global.u32", true, false), true, true},
      {HostAccess::pinned, site("red.global.add.u32", true, true), true, true},
      {HostAccess::pinned, store_site, false, false},  // a weak access
  };
  for (const Case& each : cases) {
    memory_.access = each.access;
    WriteLog log(memory_);
    log.note(each.site, address(0), 4);
    EXPECT_EQ(log.synchronizes_with_host(), each.synchronizes) << each.site.opcode;
    EXPECT_EQ(log.may_signal_host(), each.signals) << each.site.opcode;
  }
}

TEST_F(WriteLogs, ExchangeWhetherBytesCountAsInitialized) {
  keep_written_memory();
  WrittenMemory& written = *written_memory();
  written.enter(address(0), 1500);
  written.write(address(100), 2);
  WriteLog log(memory_);
  write(log, 98, 8, 1);
  written.write(address(98), 8);
  log.exchange();
  EXPECT_EQ(bytes_, before_);
  EXPECT_TRUE(written.is_written(address(100), 2));
  EXPECT_TRUE(written.is_unwritten(address(98), 2));
  EXPECT_TRUE(written.is_unwritten(address(102), 4));
  log.exchange();
  EXPECT_TRUE(written.is_written(address(98), 8));
  EXPECT_TRUE(written.is_unwritten(address(106), 8));
  written.leave(address(0));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::write_logs
