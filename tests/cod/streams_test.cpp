// Traces whose entries leave the device while the kernel runs, on the cpu device: entries are never consumed,
// or consumed immediately, late or only at first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "cod/specification.h"
#include "device/cpu/simt/execute/executor.h"
#include "engine/instrument.h"
#include "support/text.h"
#include "tests/cod/test_support.h"
#include "tests/support/machine_code.h"

namespace lynxpp::cod {
namespace {

using std::chrono::milliseconds;

/// Each thread executes the load `trips` times; with `divides`, threads with an odd index leave the loop
/// first.
std::string kernel(std::uint32_t trips, bool divides) {
  return R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
  and.b32 %r7, %r4, 1;
  mov.u32 %r8, )" +
         std::to_string(trips) + ";\n" + (divides ? "  sub.u32 %r8, %r8, %r7;\n" : "") + R"(
$L_loop:
  ld.global.u32 %r9, [%rd4];
  add.u32 %r6, %r6, %r9;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, %r8;
  @%p1 bra $L_loop;
  st.global.u32 [%rd5], %r6;
  ret;
}
)";
}

/// The ring of one trace, and the thread that consumes its entries.
class Ring {
 public:
  Ring(const TraceStream& stream, std::uint64_t places)
      : stream_(stream), entries_(places), memory_(16 + places * stream.entry_bytes / 8) {}
  ~Ring() { stop(); }

  std::uint64_t address() { return (reinterpret_cast<std::uint64_t>(memory_.data()) + 63) / 64 * 64; }

  void take_from(milliseconds delay, milliseconds pause) {
    taker_ = std::thread([this, delay, pause] {
      std::this_thread::sleep_for(delay);
      while (!is_over_) {
        take(false);
        std::this_thread::sleep_for(pause);
      }
    });
  }

  void stop() {
    is_over_ = true;
    if (taker_.joinable()) taker_.join();
  }

  /// `all`: the launch has ended, so missing entries will never arrive.
  void take(bool all) {
    auto* const ring = reinterpret_cast<StreamRing*>(address());
    const std::uint64_t begin = ring->consumed;
    for (std::uint64_t number = begin; number < begin + entries_; ++number) {
      const auto* place =
          reinterpret_cast<const std::byte*>(ring + 1) + number % entries_ * stream_.entry_bytes;
      const std::uint64_t tag =
          std::atomic_ref(*const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(place)))
              .load(std::memory_order_acquire);
      if (tag != number + 1 && !all) break;
      if (tag == number + 1) {
        EXPECT_EQ(entries.count(number), 0u);
        entries[number].assign(place, place + stream_.entry_bytes);
      }
      if (!all) std::atomic_ref(ring->consumed).store(number + 1, std::memory_order_release);
    }
  }

  std::map<std::uint64_t, std::vector<std::byte>> entries;  ///< consumed entries, by number

 private:
  const TraceStream& stream_;
  const std::uint64_t entries_;
  std::vector<std::uint64_t> memory_;
  std::atomic<bool> is_over_ = false;
  std::thread taker_;
};

struct Launched {
  std::map<std::uint64_t, std::uint64_t> values;  ///< of the field "value", by entry number
  StreamControl control;
  std::vector<std::vector<std::uint64_t>> arrays;
  std::uint64_t milliseconds = 0;
};

struct How {
  std::uint32_t blocks = 4;
  std::uint32_t threads = 128;
  std::uint32_t trips = 8;
  bool divides = false;
  bool streams = true;
  std::uint64_t ring_entries = 64;
  milliseconds patience{20'000};
  bool is_taken = true;
  milliseconds delay{0};
  milliseconds pause{0};
};

/// The launch's input is the index of each thread. All streams have a ring; the first one is checked.
class StreamRun {
 public:
  StreamRun(const std::string& source, const How& how) : how_(how), specification_(compiled(source)) {}

  Launched run() {
    const std::string module = kernel(how_.trips, how_.divides);
    engine::Request request;
    request.ptx = &module;
    request.kernel = "k";
    request.specifications = {specification_};
    request.device_sm = 90;
    request.streams_traces = true;
    request.counting.plain = true;
    request.inspection.verify = true;
    const auto variant = engine::instrument(request);
    EXPECT_TRUE(variant.ok()) << (variant ? "" : render(variant.error().diagnostics));
    if (!variant) return {};
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(variant->ptx, 90), "");
    }
    const auto before = std::chrono::steady_clock::now();
    launch(*variant);
    Launched launched;
    launched.milliseconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before).count());
    launched.arrays = arrays_;
    const TraceStream& stream = specification_->streams().front();
    std::memcpy(static_cast<void*>(&launched.control), arrays_[stream.counter].data(),
                sizeof launched.control);
    for (const auto& [number, bytes] : rings_.front()->entries) {
      std::uint64_t value = 0;
      const std::uint32_t size = size_of(specification_->arrays()[stream.fields[0].array].type);
      std::memcpy(&value, bytes.data() + stream.fields[0].offset, size);
      launched.values[number] = value;
    }
    return launched;
  }

 private:
  std::uint64_t threads() const { return std::uint64_t{how_.blocks} * how_.threads; }

  void place(const engine::Instrumented& variant) {
    LaunchExtents extents;
    extents.instructions = variant.size.instructions;
    extents.threads = threads();
    for (const GlobalArray& array : specification_->arrays())
      arrays_.emplace_back(element_count(array, extents) * size_of(array.type) / 8 + 16);
    for (const TraceStream& stream : specification_->streams()) {
      rings_.push_back(std::make_unique<Ring>(stream, how_.ring_entries));
      if (!how_.streams) continue;
      const StreamControl control{0,
                                  rings_.back()->address(),
                                  how_.ring_entries,
                                  static_cast<std::uint64_t>(std::chrono::nanoseconds(how_.patience).count()),
                                  0,
                                  0};
      std::memcpy(arrays_[stream.counter].data(), &control, sizeof control);
      if (how_.is_taken) rings_.back()->take_from(how_.delay, how_.pause);
    }
  }

  void launch(const engine::Instrumented& variant) {
    place(variant);
    auto module = device::cpu::load_module(variant.ptx, "variant.ptx");
    ASSERT_TRUE(module.ok()) << render(module.error().diagnostics);
    std::vector<std::uint32_t> in(threads());
    std::vector<std::uint32_t> out(threads());
    for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i;
    std::vector<std::uint64_t> parameters{reinterpret_cast<std::uint64_t>(in.data()),
                                          reinterpret_cast<std::uint64_t>(out.data())};
    for (const engine::ProbeWord& each : variant.probe) {
      const bool is_array = each.word.kind == Word::Kind::array_address;
      parameters.push_back(is_array ? reinterpret_cast<std::uint64_t>(arrays_[each.word.index].data())
                                    : reinterpret_cast<std::uint64_t>(dropped_.data()));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(parameters.data());
    const Status status =
        (*module)->launch("k", {{how_.blocks, 1, 1}, {how_.threads, 1, 1}, 0},
                          std::vector<std::byte>(bytes, bytes + 8 * parameters.size()), nullptr);
    ASSERT_TRUE(status.ok()) << render(status.error().diagnostics);
    for (const std::unique_ptr<Ring>& ring : rings_) {
      ring->stop();
      ring->take(true);
    }
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      const std::uint32_t trips = how_.trips - (how_.divides ? i % 2 : 0);
      ASSERT_EQ(out[i], i * trips) << "the kernel computes a different result";
    }
  }

  const How how_;
  const SpecificationPtr specification_;
  std::vector<std::vector<std::uint64_t>> arrays_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<std::uint64_t> dropped_ = std::vector<std::uint64_t>(64);
};

constexpr const char* loads =
    "global trace unsigned int threads[64];\n"
    "ON_INSTRUCTION: MEM_READ: GLOBAL: { append(&threads, globalThreadId()); }";

/// Every thread's index, as often as it executes the load.
std::map<std::uint64_t, std::uint64_t> expected_counts(const How& how) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < std::uint64_t{how.blocks} * how.threads; ++i)
    counts[i] = how.trips - (how.divides ? i % 2 : 0);
  return counts;
}

void expect_whole(const Launched& launched, const How& how) {
  std::map<std::uint64_t, std::uint64_t> counts;
  std::uint64_t expected_number = 0;
  for (const auto& [number, value] : launched.values) {
    ASSERT_EQ(number, expected_number++) << "an entry is missing";
    ++counts[value];
  }
  EXPECT_EQ(counts, expected_counts(how));
  EXPECT_EQ(launched.control.appended, launched.values.size());
  EXPECT_EQ(launched.control.gave_up, 0u);
}

TEST(Streams, NothingIsLostHoweverSmallTheRing) {
  for (const bool divides : {false, true}) {
    How how;
    how.divides = divides;
    how.trips = 4;
    const Launched launched = StreamRun(loads, how).run();
    expect_whole(launched, how);
    // The first entries are in the trace as well.
    const auto* kept = reinterpret_cast<const std::uint32_t*>(launched.arrays[0].data());
    for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(kept[i], launched.values.at(i));
  }
}

TEST(Streams, LanesWaitForASlowHost) {
  How how;
  how.delay = milliseconds(60);
  how.pause = milliseconds(1);
  how.trips = 2;
  expect_whole(StreamRun(loads, how).run(), how);
}

TEST(Streams, OneLaneOfADivergedWarpWaitsForItsOwn) {
  How how;
  how.trips = 20;
  const Launched launched =
      StreamRun(
          "global trace unsigned int threads[64];\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
          "  if (laneId() % 7 == 3) append(&threads, globalThreadId());\n"
          "  else if (leastActiveThreadInWarp()) append(&threads, 100000 + globalThreadId()); }",
          how)
          .run();
  std::uint64_t lanes = 0;
  std::uint64_t elected = 0;
  std::uint64_t expected_number = 0;
  for (const auto& [number, value] : launched.values) {
    ASSERT_EQ(number, expected_number++) << "an entry is missing";
    value < 100000 ? ++lanes : ++elected;
  }
  // Lanes 3, 10, 17, 24 and 31 of 16 warps, and one more elected lane for each part of the warp, where
  // waiting lanes let others proceed.
  EXPECT_EQ(lanes, 5u * 16 * how.trips);
  EXPECT_GE(elected, 16u * how.trips);
}

TEST(Streams, LaunchWaitsOnceIfNothingIsConsumed) {
  How how;
  how.is_taken = false;
  how.patience = milliseconds(200);
  how.trips = 16;
  for (const bool divides : {false, true}) {
    how.divides = divides;
    const Launched launched = StreamRun(loads, how).run();
    EXPECT_EQ(launched.control.gave_up, 1u);
    EXPECT_EQ(launched.control.appended, std::uint64_t{512} * how.trips - (divides ? 256 : 0));
    // The ring's first fill is complete; 256 times the patience would be 51 s.
    EXPECT_EQ(launched.values.size(), 64u);
    EXPECT_EQ(launched.values.rbegin()->first, 63u);
    EXPECT_GE(launched.milliseconds, 200u);
    EXPECT_LT(launched.milliseconds, 20'000u);
  }
}

TEST(Streams, WithoutARingTheTraceKeepsTheFirst) {
  How how;
  how.streams = false;
  const Launched launched = StreamRun(loads, how).run();
  EXPECT_EQ(launched.control.appended, 512u * 8);
  EXPECT_EQ(launched.values.size(), 0u);
  const auto* kept = reinterpret_cast<const std::uint32_t*>(launched.arrays[0].data());
  // Full warps, one after another.
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(kept[i] % 32, i % 32);
}

TEST(Streams, DeviceKnowsWhichEntriesAreKept) {
  const std::string source =
      "global trace unsigned int threads[64]; global unsigned long kept; global unsigned long lost;\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
      "  unsigned long number = append(&threads, globalThreadId());\n"
      "  if (isKept(&threads, number)) atomicAdd(&kept, 1); else atomicAdd(&lost, 1); }";
  How how;
  const auto counts = [&] {
    const Launched launched = StreamRun(source, how).run();
    const std::size_t arrays = launched.arrays.size();
    return std::pair(launched.arrays[arrays - 2][0], launched.arrays[arrays - 1][0]);
  };
  EXPECT_EQ(counts(), (std::pair<std::uint64_t, std::uint64_t>(512 * 8, 0)));
  how.is_taken = false;
  how.patience = milliseconds(1);
  how.ring_entries = 128;
  EXPECT_EQ(counts(), (std::pair<std::uint64_t, std::uint64_t>(128, 512 * 8 - 128)));
  how.streams = false;
  EXPECT_EQ(counts(), (std::pair<std::uint64_t, std::uint64_t>(64, 512 * 8 - 64)));
}

TEST(Streams, AreOnlyForTracesThatOnlyGrow) {
  const auto names = [](const std::string& source) {
    std::vector<std::string> found;
    const SpecificationPtr specification = compiled(source);
    for (const TraceStream& stream : specification->streams()) found.push_back(stream.name);
    return found;
  };
  const std::string append = "ON_INSTRUCTION: MEM_READ: { append(&t, 1); ";
  EXPECT_THAT(names("global trace int t[64]; " + append + "}"), testing::ElementsAre("t"));
  EXPECT_THAT(names("global trace int t[63]; " + append + "}"), testing::IsEmpty());
  EXPECT_THAT(names("global trace int t[BLOCKS][64]; ON_INSTRUCTION: MEM_READ: append(&t[blockId()], 1);"),
              testing::IsEmpty());
  EXPECT_THAT(names("global trace int t[64]; " + append + " t[3] = 2; }"), testing::IsEmpty());
  EXPECT_THAT(names("global trace int t[64]; " + append + "} ON_REPORT: { emit(\"first\", t[0]); }"),
              testing::ElementsAre("t"));
  EXPECT_THAT(names("global histogram t[32]; ON_INSTRUCTION: MEM_READ: record(&t, 1);"), testing::IsEmpty());
}

TEST(Streams, EntriesHaveTheFieldsOfTheStructure) {
  const SpecificationPtr specification = compiled(
      "struct access { unsigned char kind; unsigned long address; short step; float weight; };\n"
      "global trace struct access accesses[64];\n"
      "ON_INSTRUCTION: MEM_READ: append(&accesses, 1, 2, 3, 0.5);");
  const TraceStream& stream = specification->streams().at(0);
  ASSERT_EQ(stream.fields.size(), 4u);
  EXPECT_EQ(stream.capacity, 64u);
  EXPECT_EQ(stream.entry_bytes, 32u);
  const std::pair<std::string, std::uint32_t> expected[] = {
      {"kind", 8}, {"address", 16}, {"step", 24}, {"weight", 28}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(stream.fields[i].name, expected[i].first);
    EXPECT_EQ(stream.fields[i].offset, expected[i].second);
  }
}

/// Lanes of several groups may wait at once, and a warp operation would use the mask of only one of them. A
/// lane that finds a free slot immediately does not execute the load that ptxas treats as waiting.
TEST(Streams, WaitingLanesWaitForTheHostOnly) {
  const auto handler = [](const std::string& source, bool streams) {
    const auto code = compiled(source)->lower_device({90, false, false, false, {}, streams});
    EXPECT_TRUE(code.ok());
    return code->handlers[0].ptx;
  };
  const std::string elected =
      "global trace unsigned int t[64]; static void keep(int x) { append(&t, x); }\n"
      "ON_INSTRUCTION: MEM_READ: { if (leastActiveThreadInWarp()) keep(1); }";
  using testing::HasSubstr;
  using testing::Not;
  for (const std::string& source : {std::string(loads), elected}) {
    const std::string text = handler(source, true);
    EXPECT_THAT(text, HasSubstr("nanosleep"));
    EXPECT_THAT(text, HasSubstr("ld.global.L1::no_allocate"));
    for (const char* each : {"bar.warp.sync", "vote.sync", "redux.sync"})
      EXPECT_THAT(text, Not(HasSubstr(each)));
  }
  EXPECT_THAT(handler(elected, false), Not(HasSubstr("nanosleep")));
  EXPECT_THAT(handler("global trace unsigned int t[63]; ON_INSTRUCTION: MEM_READ: append(&t, 1);", true),
              Not(HasSubstr("nanosleep")));
}

/// Lanes of a warp that have waited for the host are converged again.
TEST(Streams, WaitingLanesStayConverged) {
  if (!has_ptxas()) GTEST_SKIP() << "no ptxas here";
  const std::string module = kernel(4, true);
  engine::Request request;
  request.ptx = &module;
  request.kernel = "k";
  request.streams_traces = true;
  for (const int sm : {90, 100}) {
    request.device_sm = sm;
    request.specifications = {compiled(loads)};
    const auto variant = engine::instrument(request);
    ASSERT_TRUE(variant.ok());
    EXPECT_THAT(variant->ptx, testing::HasSubstr("nanosleep"));
    std::string machine_code;
    ASSERT_EQ(assembled(variant->ptx, sm, machine_code), "");
    EXPECT_EQ(machine_instructions(machine_code, lane_yield), 0u) << sm;
  }
}

/// Their masks would be those of lanes that were converged before some of them waited.
TEST(Streams, NoCountReliesOnEarlierConvergence) {
  const std::string module = kernel(4, true);
  engine::Request request;
  request.ptx = &module;
  request.kernel = "k";
  request.device_sm = 90;
  const auto text = [&](const std::string& source, bool streams) {
    request.specifications = {compiled(source)};
    request.streams_traces = streams;
    const auto variant = engine::instrument(request);
    EXPECT_TRUE(variant.ok());
    return variant ? variant->ptx : std::string();
  };
  const std::string counts =
      "global unsigned long n[1]; ON_INSTRUCTION: MEM_READ: { if (leastActiveThreadInWarp()) n[0]++; }\n";
  const std::string trace = "global trace int t[64]; ON_INSTRUCTION: MEM_WRITE: append(&t, 1);";
  EXPECT_THAT(text(counts, true), testing::HasSubstr("redux.sync.max"));
  EXPECT_THAT(text(counts + trace, false), testing::HasSubstr("redux.sync.max"));
  EXPECT_THAT(text(counts + trace, true), testing::Not(testing::HasSubstr("redux.sync.max")));
}

TEST(Streams, CostNothingIfTheyAreNotEnabled) {
  const SpecificationPtr specification = compiled(loads);
  const auto code = specification->lower_device({90});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->handlers[0].ptx.find("membar"), std::string::npos);
  EXPECT_EQ(code->handlers[0].ptx.find("nanosleep"), std::string::npos);
}

}  // namespace
}  // namespace lynxpp::cod
