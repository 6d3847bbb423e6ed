// Trace rings and the thread that drains them, without a device.
#include "interposer/results/trace_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "interposer/results/ring_reader.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* source =
    "struct access { unsigned char kind; unsigned long address; };\n"
    "global trace struct access accesses[100];\n"
    "ON_INSTRUCTION: MEM_READ: append(&accesses, 1, memoryAddress());";

engine::SpecificationPtr specification() {
  auto made = cod::compile(source, "mine.cod");
  EXPECT_TRUE(made.ok());
  return *made;
}

class OwnMemory : public device::HostMemory {
 public:
  explicit OwnMemory(std::size_t bytes) : OwnMemory(std::make_unique<Line[]>((bytes + 63) / 64), bytes) {}

 private:
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  OwnMemory(std::unique_ptr<Line[]> lines, std::size_t bytes)
      : HostMemory({reinterpret_cast<std::byte*>(lines.get()), bytes}), lines_(std::move(lines)) {}
  std::unique_ptr<Line[]> lines_;
};

/// Appends an entry as a kernel does.
void put(std::span<std::byte> ring, std::uint64_t entries, std::uint64_t number) {
  std::byte* const place = ring.data() + sizeof(cod::StreamRing) + number % entries * 24;
  const std::uint64_t address = 1000 + number;
  const auto kind = static_cast<std::uint8_t>(number);
  std::memcpy(place + 8, &kind, 1);
  std::memcpy(place + 16, &address, 8);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(place)).store(number + 1, std::memory_order_release);
}

std::uint64_t taken(std::span<const std::byte> ring) {
  std::uint64_t number = 0;
  std::memcpy(&number, ring.data(), sizeof number);
  return number;
}

/// Returns the numbers of the entries in a file. Fails if an entry's value differs from that of put().
std::vector<std::uint64_t> numbers_in(const std::string& path) {
  std::vector<std::uint64_t> numbers;
  report::TraceVisitor visitor;
  visitor.rows = [&](std::uint32_t, const report::TraceDescription& of, const report::TraceRows& rows) {
    EXPECT_EQ(of.specification + "." + of.trace + "." + of.kernel, "mine.accesses.k");
    for (std::uint64_t i = 0; i < rows.entries; ++i) {
      std::uint64_t address = 0;
      std::memcpy(&address, rows.columns[1].data() + 8 * i, 8);
      EXPECT_EQ(address, 1000 + rows.first + i);
      EXPECT_EQ(static_cast<std::uint8_t>(rows.columns[0][i]), static_cast<std::uint8_t>(rows.first + i));
      numbers.push_back(rows.first + i);
    }
    return true;
  };
  bool is_cut_off = false;
  EXPECT_TRUE(report::read_traces(path, visitor, is_cut_off).ok());
  EXPECT_FALSE(is_cut_off);
  return numbers;
}

std::vector<std::uint64_t> up_to(std::uint64_t end) {
  std::vector<std::uint64_t> numbers(end);
  for (std::uint64_t i = 0; i < end; ++i) numbers[i] = i;
  return numbers;
}

class RingTest : public testing::Test {
 protected:
  RingTest() : file(folder.file("one.trace")) {
    auto memory = std::make_unique<OwnMemory>(RingReader::bytes_of(specification_->streams()[0], 64));
    ring = memory->bytes();
    report::TraceDescription description;
    description.kernel = "k";
    reader = std::make_unique<RingReader>(*specification_, specification_->streams()[0], std::move(memory),
                                          description, file);
  }

  const engine::SpecificationPtr specification_ = specification();
  TemporaryFolder folder;
  report::TraceFile file;
  std::span<std::byte> ring;
  std::unique_ptr<RingReader> reader;
};

TEST_F(RingTest, CompleteEntriesAreDrainedInOrder) {
  EXPECT_EQ(reader->control(std::chrono::seconds(2)).entries, 64u);
  EXPECT_EQ(reader->control(std::chrono::seconds(2)).patience_nanoseconds, 2'000'000'000u);
  EXPECT_FALSE(reader->take());
  put(ring, 64, 1);
  EXPECT_FALSE(reader->take()) << "the first one is missing";
  put(ring, 64, 0);
  EXPECT_TRUE(reader->take());
  EXPECT_EQ(taken(ring), 2u);
  for (std::uint64_t i = 2; i < 66; ++i) put(ring, 64, i);
  EXPECT_TRUE(reader->take());
  EXPECT_EQ(taken(ring), 66u);
  reader->finish(66);
  EXPECT_EQ(numbers_in(file.path()), up_to(66));
  EXPECT_EQ(reader->written(), 66u);
  EXPECT_EQ(reader->lost(66), 0u);
}

TEST_F(RingTest, EntriesAfterALostOneAreDrainedAtTheEnd) {
  for (const std::uint64_t number : {0, 1, 3, 4, 7}) put(ring, 64, number);
  EXPECT_TRUE(reader->take());
  EXPECT_EQ(taken(ring), 2u);
  reader->finish(200);
  EXPECT_THAT(numbers_in(file.path()), ElementsAre(0, 1, 3, 4, 7));
  EXPECT_EQ(reader->lost(200), 100u) << "entries after the first 100, which are in the trace itself";
}

TEST_F(RingTest, EntriesOnlyInTheFileAreNotLost) {
  for (std::uint64_t i = 0; i < 150; ++i) {
    put(ring, 64, i);
    reader->take();
  }
  reader->finish(170);
  EXPECT_EQ(reader->written(), 150u);
  EXPECT_EQ(reader->lost(170), 20u);
}

TEST_F(RingTest, RingIsDrainedEvenIfTheFileFails) {
  std::ofstream(folder.file("file")) << "x";
  report::TraceFile none(folder.file("file") + "/one.trace");
  auto memory = std::make_unique<OwnMemory>(RingReader::bytes_of(specification_->streams()[0], 64));
  const std::span<std::byte> own = memory->bytes();
  RingReader refused(*specification_, specification_->streams()[0], std::move(memory), {}, none);
  for (std::uint64_t i = 0; i < 150; ++i) {
    put(own, 64, i);
    refused.take();
  }
  EXPECT_EQ(taken(own), 150u);
  refused.finish(150);
  EXPECT_EQ(refused.written(), 0u);
  EXPECT_EQ(refused.lost(150), 50u);
  EXPECT_THAT(refused.problem(), HasSubstr("Not a directory"));
}

TEST_F(RingTest, TraceWithoutEntriesCreatesNoFile) {
  reader->finish(0);
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

/// Allocates rings, and keeps their addresses.
class RingDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::HostMemory>> host_memory(std::size_t bytes) override {
    if (is_full) return failure("there is no memory");
    auto ring = std::make_unique<OwnMemory>(bytes);
    rings.push_back(ring->bytes());
    return std::unique_ptr<device::HostMemory>(std::move(ring));
  }
  bool is_full = false;
  std::vector<std::span<std::byte>> rings;
};

class Launches : public testing::Test {
 protected:
  Launches() : streams(folder.file("new/one.trace")) {
    auto made = lay_out(specifications, {});
    EXPECT_TRUE(made.ok());
    layout = *made;
  }

  std::unique_ptr<LaunchStreams> begin() {
    report::TraceDescription description;
    description.kernel = "k";
    return streams.begin(specifications, device, description);
  }

  /// The buffer as the launch leaves it.
  std::vector<std::byte> buffer(std::uint64_t appended) const {
    std::vector<std::byte> bytes(layout.bytes);
    std::memcpy(bytes.data() + counter(), &appended, sizeof appended);
    return bytes;
  }
  std::uint64_t counter() const {
    return layout.specifications[0].arrays[specifications[0]->streams()[0].counter].first;
  }
  std::uint64_t counted(const std::vector<std::byte>& bytes) const {
    std::uint64_t count = 0;
    std::memcpy(&count, bytes.data() + counter(), sizeof count);
    return count;
  }

  const std::vector<engine::SpecificationPtr> specifications{specification()};
  TemporaryFolder folder;
  TraceStreams streams;
  RingDevice device;
  ProbeLayout layout;
};

TEST_F(Launches, AreStreamedWhileRunning) {
  const auto launch = begin();
  ASSERT_NE(launch, nullptr);
  const auto writes = launch->writes(layout);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].offset, counter());
  cod::StreamControl control;
  ASSERT_EQ(writes[0].bytes.size(), sizeof control);
  std::memcpy(static_cast<void*>(&control), writes[0].bytes.data(), sizeof control);
  const std::span<std::byte> ring = device.rings.at(0);
  EXPECT_EQ(control.ring, reinterpret_cast<std::uint64_t>(ring.data()));
  const std::uint64_t many = 2 * control.entries + 3;
  for (std::uint64_t i = 0; i < many; ++i) {
    while (i - std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring.data())).load() >= control.entries)
      std::this_thread::yield();
    put(ring, control.entries, i);
  }
  std::vector<std::byte> left = buffer(many);
  launch->finish(layout, left);
  EXPECT_EQ(counted(left), 100u) << "nothing was dropped";
  EXPECT_THAT(launch->notes(0), ElementsAre("'accesses': " + std::to_string(many - 100) +
                                            " more entries are in " + folder.file("new/one.trace")));
  EXPECT_EQ(numbers_in(folder.file("new/one.trace")), up_to(many));
}

TEST_F(Launches, ReportLostEntries) {
  const auto launch = begin();
  for (std::uint64_t i = 0; i < 110; ++i) put(device.rings.at(0), 131072, i);
  std::vector<std::byte> left = buffer(130);
  launch->finish(layout, left);
  EXPECT_EQ(counted(left), 120u) << "20 found no room";
  EXPECT_THAT(launch->notes(0), ElementsAre(HasSubstr("'accesses': 10 more entries are in "),
                                            HasSubstr("'accesses': 20 entries were not streamed")));
}

TEST_F(Launches, KeepAppendedEntriesAfterAFailure) {
  const auto launch = begin();
  put(device.rings.at(0), 131072, 0);
  launch->finish(layout, {});
  EXPECT_EQ(numbers_in(folder.file("new/one.trace")), up_to(1));
}

TEST_F(Launches, RunWithoutRingsIfMemoryIsFull) {
  device.is_full = true;
  const auto launch = begin();
  ASSERT_NE(launch, nullptr);
  EXPECT_TRUE(launch->writes(layout).empty());
  std::vector<std::byte> left = buffer(130);
  launch->finish(layout, left);
  EXPECT_EQ(counted(left), 130u);
  EXPECT_THAT(launch->notes(0), ElementsAre("this launch's traces were not streamed: there is no memory"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));
}

TEST_F(Launches, AreCrowdedIfManyAreRunning) {
  std::vector<std::unique_ptr<LaunchStreams>> launches;
  while (!streams.is_crowded()) launches.push_back(begin());
  EXPECT_EQ(launches.size(), 16u);
  launches.clear();
  while (streams.is_crowded()) std::this_thread::yield();
}

TEST_F(SessionTest, DeviceWithoutRingsRunsTheLaunch) {
  spec_ = written("session_test_trace",
                  "global trace unsigned long seen[64];\n"
                  "ON_KERNEL_EXIT: append(&seen, 1);\n");
  Configuration configuration;
  configuration.trace = folder_.file("new/one.trace");
  start(std::move(configuration));
  EXPECT_TRUE(launch());
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_THAT(records_.launches[0].notes,
              testing::Contains("this launch's traces were not streamed: kernels of this device cannot "
                                "write host memory"));
  EXPECT_THAT(device_.loaded.at(0), HasSubstr("membar.sys"));
}

}  // namespace
}  // namespace lynxpp::interposer
