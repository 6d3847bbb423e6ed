// Values with names: source locations, opcodes and functions as keys of maps, words and allocations by
// address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr Shape eight_threads{{1, 1, 1}, {8, 1, 1}};

/// Two lines of one file and one of another; the last load's location is unknown.
const std::string lines = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "first.cu"
.file 2 "second.cuh"
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  .loc 1 10 3
  ld.global.u32 %r2, [%rd1];
  .loc 1 11 3
  ld.global.u32 %r3, [%rd1+4];
  .loc 1 10 9
  ld.global.u32 %r4, [%rd1+8];
  .loc 2 10 1
  ld.global.u32 %r5, [%rd2];
  st.global.u32 [%rd2], %r4;
  ret;
}
)";

TEST(NamedNumbers, SourceLocationsAreKeys) {
  const Measured measured = measure_module(
      "global map unsigned long by_line[64] by unsigned int;\n"
      "global map unsigned long by_file[64] by unsigned int;\n"
      "global map unsigned long mixed[64] by unsigned int;\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
      "  by_line[sourceId()]++; by_file[sourceFileId()] += 1; mixed[sourceId()]++; mixed[laneId() + 1000]++; "
      "}\n"
      "ON_REPORT: { emit(\"line\", by_line); emit(\"file\", by_file); emit(\"mixed\", mixed);\n"
      "  print(\"%s:%u\", sourceFile(entryKey(by_line, 0)), sourceLine(entryKey(by_line, 0)));\n"
      "  emit(\"of file\", by_file[sourceFileId(entryKey(by_line, 0))]); }",
      eight_threads, lines);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.emitted.at("line.key").texts,
              ElementsAre("first.cu:10", "first.cu:11", "second.cuh:10"));
  EXPECT_THAT(measured.results.at("line.value"), ElementsAre(16, 8, 8));
  EXPECT_THAT(measured.emitted.at("file.key").texts, ElementsAre("first.cu", "second.cuh"));
  EXPECT_THAT(measured.results.at("file.value"), ElementsAre(24, 8));
  EXPECT_TRUE(measured.emitted.at("mixed.key").texts.empty()) << "not all keys are locations";
  EXPECT_THAT(measured.notes, ElementsAre("first.cu:10"));
  EXPECT_EQ(measured["of file"], 24);
}

TEST(NamedNumbers, OpcodesAreKeysAndFieldsOfTraces) {
  const Measured measured = measure_module(
      "global map unsigned long uses[64] by unsigned int;\n"
      "struct event { unsigned int where; unsigned int lane; };\nglobal trace struct event events[64];\n"
      "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: {\n"
      "  uses[opcodeId()]++; if (laneId() == 3) append(&events, sourceId(), laneId()); }\n"
      "ON_REPORT: { emit(\"uses\", uses); emit(\"events\", events); print(\"%s\", opcode(entryKey(uses, "
      "0))); }",
      eight_threads, lines);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.emitted.at("uses.key").texts, ElementsAre("ld.global.u32", "st.global.u32"));
  EXPECT_THAT(measured.results.at("uses.value"), ElementsAre(32, 8));
  EXPECT_THAT(measured.emitted.at("events.where").texts,
              ElementsAre("first.cu:10", "first.cu:11", "first.cu:10", "second.cuh:10", "second.cuh:10"));
  EXPECT_TRUE(measured.emitted.at("events.lane").texts.empty());
  EXPECT_THAT(measured.notes, ElementsAre("ld.global.u32"));
}

TEST(NamedNumbers, AllocationsAreFoundByAddress) {
  const Measured measured = measure_module(
      "global map unsigned long uses[64] by unsigned long;\nglobal unsigned long ends[3];\n"
      "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: { uses[allocationId(memoryAddress())]++; }\n"
      "ON_KERNEL_EXIT: { uses[allocationId(64)]++; }\n"
      "ON_REPORT: { emit(\"uses\", uses); print(\"%s %s\", allocationName(1), allocationName(-1)); }",
      eight_threads, lines);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.emitted.at("uses.key").texts, ElementsAre("in", "out", "(none)"));
  EXPECT_THAT(measured.results.at("uses.value"), ElementsAre(24, 16, 8));
  EXPECT_THAT(measured.notes, ElementsAre("out (none)"));
}

/// An array that shadows device memory holds the values that a handler writes.
TEST(NamedNumbers, ShadowArraysAreIndexedByAddress) {
  const Measured measured = measure_module(
      "global unsigned int last_reader[DEVICE_WORDS];\nglobal unsigned int reads[DEVICE_WORDS];\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
      "  unsigned long word = deviceWord(memoryAddress());\n"
      "  last_reader[word] = blockThreadId() + 1; reads[word] += 1; }\n"
      "ON_KERNEL_EXIT: { reads[deviceWord(64)] += 1; }\n"
      "ON_REPORT: { emit(\"words\", DEVICE_WORDS); emit(\"reads\", sum(reads)); emit(\"most\", max(reads));\n"
      "  emit(\"reader\", max(last_reader)); }",
      eight_threads, lines);
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["reads"], 32);
  EXPECT_EQ(measured["most"], 3);
  EXPECT_EQ(measured["reader"], 8);
  EXPECT_EQ(measured.dropped, 8u) << "no memory of the program has that address";
}

}  // namespace
}  // namespace lynxpp::cod
