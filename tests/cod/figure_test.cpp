// The three specifications of the Lynx paper's Figure 3, from the printed text without the notes in the
// margin.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

constexpr const char* instruction_count = R"(
unsigned long currentBlockDim = blockDim();
unsigned long currentTID = blockThreadId();
unsigned long currentBlockId = blockIdx();

ON_BASIC_BLOCK_EXIT: ← insert instrumentation at the
                        end of every basic block
{
    unsigned long offset =
        basicBlockCount() * basicBlockId()
        + currentBlockDim * currentBlockId + currentTID;

    globalMem[offset] +=
        basicBlockExecutedInstructionCount();
}
)";

constexpr const char* memory_efficiency = R"(
unsigned long threadIdx = blockDim();
unsigned long warpId = (blockDim() * blockDim()
    + threadIdx) >> 5;

ON_INSTRUCTION: ← insert instrumentation on every instruction
MEM_READ:
MEM_WRITE: ← only apply instrumentation to
             global memory instructions
GLOBAL:
{
    sharedMem[threadIdx] = computeBaseAddress();

    if(leastActiveThreadInWarp())
    {
        globalMem[warpId * 2] +=
            uniqueElementCount(sharedMem, true);
        globalMem[warpId * 2 + 1] += 1;
    }
}
)";

constexpr const char* kernel_runtime = R"(
unsigned long start, stop;

ON_KERNEL_ENTRY: ← insert instrumentation at the
                  beginning of every kernel
{
    start = clockCounter();
    syncThreads();
}

ON_KERNEL_EXIT: ← insert instrumentation at the
                 end of every kernel
{
    syncThreads();
    stop = clockCounter();

    if(threadIndexX() == 0)
    {
        globalMem[blockId() * 2] = stop - start;
        globalMem[blockId() * 2 + 1] = smId();
    }
}
)";

/// Removes the notes: from the arrow to the end of the line, and indented continuation lines.
std::string without_notes(const std::string& printed) {
  std::string text;
  bool is_note = false;
  for (std::string line : split(printed, '\n')) {
    const auto arrow = line.find("←");
    if (is_note && arrow == std::string::npos && line.starts_with(" ")) continue;
    is_note = arrow != std::string::npos;
    line = line.substr(0, arrow);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return std::string(trim(text));
}

constexpr std::uint32_t blocks = 3;

class Figure3 : public testing::TestWithParam<std::uint32_t> {
 protected:
  Measured measured(const char* printed, const std::string& kernel) const {
    const Measured result = measure(without_notes(printed), {{blocks, 1, 1}, {GetParam(), 1, 1}}, kernel);
    EXPECT_EQ(result.failure, "") << kernel;
    EXPECT_EQ(result.dropped, 0u);
    return result;
  }
};

TEST_P(Figure3, CountsExecutedInstructions) {
  for (const char* kernel : {"straight", "divergent", "early"}) {
    const Measured result = measured(instruction_count, kernel);
    double sum = 0;
    for (const double each : result.results.at("globalMem")) sum += each;
    EXPECT_EQ(sum, static_cast<double>(result.thread_instructions)) << kernel;
    EXPECT_GT(sum, 0);
  }
}

/// As printed, all warps share two elements: `threadIdx` is the block's size.
TEST_P(Figure3, CountsTransactionsOfHalfWarps) {
  const Measured result = measured(memory_efficiency, "straight");
  const std::uint32_t size = GetParam();
  double transactions = 0;
  double warps = 0;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (std::uint32_t first = 0; first < size; first += 16) {
      if (first % 32 == 0) warps += 1;
      std::set<std::uint32_t> segments;
      for (std::uint32_t thread = first; thread < std::min(first + 16, size); ++thread)
        segments.insert((block * size + thread) * 4 / 128);
      transactions += static_cast<double>(segments.size());
    }
  }
  const std::size_t place = (std::size_t{size} * size + size) / 32 * 2;
  const std::vector<double>& elements = result.results.at("globalMem");
  ASSERT_LT(place + 1, elements.size());
  EXPECT_EQ(elements[place], 2 * transactions) << "of one load and one store";
  EXPECT_EQ(elements[place + 1], 2 * warps);
}

TEST_P(Figure3, MeasuresCyclesAndMultiprocessorOfEveryBlock) {
  const Measured result = measured(kernel_runtime, "divergent");
  const std::vector<double>& elements = result.results.at("globalMem");
  for (std::uint32_t block = 0; block < blocks; ++block) {
    EXPECT_GT(elements[2 * block], 0);
    EXPECT_LT(elements[2 * block + 1], 256);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Figure3, testing::Values(1, 31, 32, 33, 96, 1024));

TEST(Figure3Text, ExamplesContainThePrintedText) {
  const std::pair<const char*, const char*> files[] = {{"paper_instruction_count", instruction_count},
                                                       {"paper_memory_efficiency", memory_efficiency},
                                                       {"paper_kernel_runtime", kernel_runtime}};
  for (const auto& [name, printed] : files) {
    std::string text;
    ASSERT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/paper/" + name + ".cod", text));
    EXPECT_NE(text.find(without_notes(printed)), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace lynxpp::cod
