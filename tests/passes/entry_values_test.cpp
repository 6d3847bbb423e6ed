// Values of handlers in loops that the entry computes.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "engine/instrument.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx::testing {
namespace {

/// A store in a loop and one after it.
const std::string module_text =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n.reg .pred "
    "%p<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r2, "
    "0;\nmov.u32 %r4, "
    "%laneid;\n"
    "AGAIN:\nst.global.u32 [%rd1], %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra AGAIN;\n"
    "st.global.u32 [%rd1+4], %r4;\nret;\n}\n";

std::string instrument_with(const std::string& source) {
  engine::Request request;
  request.ptx = &module_text;
  request.kernel = "k";
  Result<engine::SpecificationPtr> specification = cod::compile(source, "lanes.cod");
  EXPECT_TRUE(specification.ok());
  if (!specification) return {};
  request.specifications = {*specification};
  request.device_sm = 80;
  request.inspection.verify = true;
  Result<engine::Instrumented> result = engine::instrument(request);
  EXPECT_TRUE(result.ok()) << render(result.error().diagnostics);
  return result ? result->ptx : std::string();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Returns the number of occurrences of each of lynxpp's registers in the text.
std::map<std::string, int> registers_in(const std::string& text) {
  static const std::regex name("%lynxpp_[a-z]+[0-9]+");
  std::map<std::string, int> names;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), name); at != std::sregex_iterator(); ++at)
    ++names[at->str()];
  return names;
}

/// Returns the handler values that the entry computes and the loop reads, except registers of lanes.
std::vector<std::string> kept_values(const std::string& text) {
  const std::size_t loop = text.find("AGAIN:"), behind = text.find("bra AGAIN");
  const std::string entry = text.substr(0, loop);
  std::vector<std::string> kept;
  for (const auto& [name, times] : registers_in(text.substr(loop, behind - loop))) {
    const bool is_of_lanes = entry.find("mov.u32 " + name + ", %lane") != std::string::npos;
    if (registers_in(entry).contains(name) && !is_of_lanes) kept.push_back(name);
  }
  return kept;
}

// Values that handlers compute only from the thread and the launch are computed at the entry, once for all
// sites in loops.
TEST(EntryValues, HandlerValuesInLoopsAreComputedOnceAtEntry) {
  const std::string text = instrument_with(
      "global unsigned long counts[WARPS];\n"
      "ON_INSTRUCTION: MEM_WRITE: { if (leastActiveThreadInWarp()) { atomicMax(&counts[warpId()], "
      "clockCounter()); } }\n"
      "ON_INSTRUCTION_AFTER: MEM_WRITE: { if (leastActiveThreadInWarp()) { atomicMax(&counts[warpId()], "
      "clockCounter()); } }\n");
  const std::size_t loop = text.find("AGAIN:"), behind = text.find("bra AGAIN");
  ASSERT_LT(loop, behind);
  EXPECT_EQ(count(text.substr(0, loop), "%tid.z;"), 1u) << text;
  EXPECT_EQ(count(text.substr(loop, behind - loop), "%tid"), 0u) << text;
  const std::vector<std::string> kept = kept_values(text);
  ASSERT_EQ(kept.size(), 1u) << text;
  EXPECT_EQ(count(text.substr(loop, behind - loop), "red.global.max.u64 [" + kept[0] + "]"), 2u) << text;
  // The sites after the loop compute it themselves.
  EXPECT_EQ(count(text.substr(behind), "%tid.z;"), 2u) << text;
  std::string messages;
  bool available = false;
  if (!assemble(text, messages, available) && available) FAIL() << messages;
}

std::string handlers(std::size_t number, const std::string& value) {
  std::string source = "global unsigned long counts[WARPS][8];\n";
  for (std::size_t i = 0; i < number; ++i) {
    std::string with_number = value;
    with_number.replace(with_number.find('?'), 1, std::to_string(i + 3));
    source += "ON_INSTRUCTION: MEM_WRITE: { if (leastActiveThreadInWarp()) { atomicMax(&counts[warpId()][" +
              std::to_string(i) + "], clockCounter() + " + with_number + "); } }\n";
  }
  return source;
}

// The warp number is the common subexpression of array addresses and values, so it gets the register.
TEST(EntryValues, CommonSubexpressionsOfValuesAreKept) {
  const std::string text = instrument_with(handlers(8, "warpId() * ?"));
  EXPECT_EQ(kept_values(text).size(), 1u) << text;
  const std::size_t loop = text.find("AGAIN:"), behind = text.find("bra AGAIN");
  EXPECT_EQ(count(text.substr(loop, behind - loop), "%tid"), 0u) << text;
}

// The function has no further registers to spare.
TEST(EntryValues, KeepsAtMostTheAvailableRegisters) {
  const std::string text = instrument_with(handlers(8, "(warpId() + ?) * (globalThreadId() + laneId())"));
  const std::vector<std::string> kept = kept_values(text);
  EXPECT_EQ(kept.size(), 4u) << text;
  for (const std::string& name : kept) EXPECT_TRUE(name.starts_with("%lynxpp_rd")) << name;
  const std::size_t loop = text.find("AGAIN:");
  EXPECT_GE(count(text.substr(loop), "%tid.z;"), 1u) << text;
}

// Each is computed separately, although one uses the other.
TEST(EntryValues, DependentValuesAreKeptSeparately) {
  const std::string text = instrument_with(
      "global unsigned long counts[8];\n"
      "ON_INSTRUCTION: MEM_WRITE: { if (memoryAddress() > globalThreadId()) atomicMax(&counts[0], "
      "(globalThreadId() + 5) * (warpId() + 1) * (blockId() ^ 3)); }\n");
  const std::vector<std::string> kept = kept_values(text);
  EXPECT_EQ(kept.size(), 2u) << text;
  // They are defined there, and nowhere else before the loop.
  std::map<std::string, int> at_entry = registers_in(text.substr(0, text.find("AGAIN:")));
  for (const std::string& name : kept) {
    EXPECT_TRUE(name.starts_with("%lynxpp_rd")) << name;
    EXPECT_EQ(at_entry[name], 1) << text;
  }
  std::string messages;
  bool available = false;
  if (!assemble(text, messages, available) && available) FAIL() << messages;
}

// A 16-bit register is not worth keeping.
TEST(EntryValues, ShortValuesAreNotKept) {
  const std::string text = instrument_with(
      "global unsigned int last[THREADS];\nglobal unsigned short small[8];\n"
      "ON_INSTRUCTION: MEM_WRITE: { if (clockCounter() == 5) { small[0] = (globalThreadId() ^ 77) * "
      "(warpId() + 3); small[1] = (globalThreadId() ^ 78) * (warpId() + 5); } }\n");
  const std::vector<std::string> kept = kept_values(text);
  EXPECT_GE(kept.size(), 1u) << text;
  for (const std::string& name : kept) EXPECT_FALSE(name.starts_with("%lynxpp_rs")) << name;
}

}  // namespace
}  // namespace lynxpp::ptx::testing
