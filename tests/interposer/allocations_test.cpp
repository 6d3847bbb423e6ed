// The engine's snapshots of the program's memory, and the names of callers.
#include "interposer/allocations.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "interposer/preload/allocations.h"
#include "support/call_site.h"

// In the global namespace, like CUDA's functions.

static __attribute__((noinline)) lynxpp::CallStack stack_here() {
  const lynxpp::CallStack stack = lynxpp::capture_call_stack(__builtin_return_address(0));
  asm volatile("");
  return stack;
}

/// Named like CUDA's functions, which a static runtime and the templates of its header add to the program.
static __attribute__((noinline)) lynxpp::CallStack cudaMallocLikeInHeaders() {
  const lynxpp::CallStack stack = stack_here();
  asm volatile("");
  return stack;
}

static __attribute__((noinline)) lynxpp::CallStack reads_input() {
  const lynxpp::CallStack stack = cudaMallocLikeInHeaders();
  asm volatile("");
  return stack;
}

namespace lynxpp::interposer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Source {
  std::vector<lynxpp_allocation> live;
  std::uint64_t version = 1;
  int copies = 0;
};
Source source;

const lynxpp_allocation_source functions = {
    .version = [] { return source.version; },
    .copy =
        [](lynxpp_allocation* into, std::size_t capacity, std::uint64_t* version) {
          ++source.copies;
          *version = source.version;
          if (source.live.size() <= capacity) std::copy(source.live.begin(), source.live.end(), into);
          return source.live.size();
        },
};

lynxpp_allocation allocation(std::uint64_t address, std::uint64_t bytes, std::uint64_t number) {
  lynxpp_allocation result = {};
  result.address = address;
  result.bytes = bytes;
  result.number = number;
  result.kind = static_cast<std::uint32_t>(device::AllocationKind::managed);
  return result;
}

TEST(Allocations, BothSidesUseTheSameKindNumbers) {
  const auto same = [](device::AllocationKind engine, preload::MemoryKind hooks) {
    return static_cast<unsigned>(engine) == static_cast<unsigned>(hooks);
  };
  EXPECT_TRUE(same(device::AllocationKind::device, preload::MemoryKind::device));
  EXPECT_TRUE(same(device::AllocationKind::pool, preload::MemoryKind::pool));
  EXPECT_TRUE(same(device::AllocationKind::mapped, preload::MemoryKind::mapped));
  EXPECT_TRUE(same(device::AllocationKind::managed, preload::MemoryKind::managed));
  EXPECT_TRUE(same(device::AllocationKind::host, preload::MemoryKind::host));
  EXPECT_TRUE(same(device::AllocationKind::registered_host, preload::MemoryKind::registered_host));
}

TEST(Allocations, SnapshotIsSharedUntilMemoryChanges) {
  source = {{allocation(100, 10, 0), allocation(200, 20, 1)}};
  AllocationReader reader(&functions);
  const auto first = reader.read();
  ASSERT_EQ(first->sorted.size(), 2u);
  EXPECT_EQ(first->sorted[1].address, 200u);
  EXPECT_EQ(first->sorted[1].bytes, 20u);
  EXPECT_EQ(first->sorted[1].number, 1u);
  EXPECT_EQ(first->sorted[1].site.caller, "");
  EXPECT_EQ(first->sorted[1].kind, device::AllocationKind::managed);
  EXPECT_EQ(reader.read(), first);
  EXPECT_EQ(source.copies, 1);

  source.live.erase(source.live.begin());
  ++source.version;
  const auto second = reader.read();
  EXPECT_EQ(second->sorted.size(), 1u);
  EXPECT_EQ(second->version, 2u);
  EXPECT_EQ(first->sorted.size(), 2u);
}

TEST(Allocations, SnapshotGrowsToFitManyAllocations) {
  source = {};
  AllocationReader reader(&functions);
  EXPECT_TRUE(reader.read()->sorted.empty());
  for (std::uint64_t i = 0; i < 5000; ++i) source.live.push_back(allocation(100 * (i + 1), 100, i));
  ++source.version;
  EXPECT_EQ(reader.read()->sorted.size(), 5000u);
}

TEST(Allocations, SnapshotIsEmptyWithoutHooks) {
  AllocationReader reader(nullptr);
  EXPECT_TRUE(reader.read()->sorted.empty());
  EXPECT_EQ(reader.read(), reader.read());
}

TEST(Allocations, AddressFindsItsAllocation) {
  source = {{allocation(100, 10, 0), allocation(110, 20, 1), allocation(200, 1, 2)}};
  const auto now = AllocationReader(&functions).read();
  const auto number_at = [&](std::uint64_t address) {
    const device::LiveAllocation* const found = now->find(address);
    return found != nullptr ? static_cast<int>(found->number) : -1;
  };
  EXPECT_EQ(number_at(0), -1);
  EXPECT_EQ(number_at(99), -1);
  EXPECT_EQ(number_at(100), 0);
  EXPECT_EQ(number_at(109), 0);
  EXPECT_EQ(number_at(110), 1);
  EXPECT_EQ(number_at(129), 1);
  EXPECT_EQ(number_at(130), -1);
  EXPECT_EQ(number_at(200), 2);
  EXPECT_EQ(number_at(201), -1);
}

TEST(Allocations, LogListsEachAllocation) {
  source = {{allocation(0x1000, 10, 7)}};
  EXPECT_EQ(list_allocations(*AllocationReader(&functions).read()),
            "allocation 7: 10 bytes at 0x1000, managed, ");
}

// ---- callers ---------------------------------------------------------------------------------------------

TEST(CallSite, NamesTheFunctionThatCallsCuda) {
  const CallStack stack = reads_input();
  ASSERT_GT(stack.depth, 2u);
  EXPECT_THAT(std::string(call_site(stack).caller), StartsWith("reads_input()+0x"));
  const std::string chain(call_site(stack).chain);
  EXPECT_THAT(chain, StartsWith(std::string(call_site(stack).caller) + " < "));
  EXPECT_THAT(chain, HasSubstr("NamesTheFunctionThatCallsCuda"));
}

TEST(CallSite, NamesTheFunctionOfAnInnerFrame) {
  EXPECT_THAT(std::string(call_site(stack_here()).caller), HasSubstr("NamesTheFunctionOfAnInnerFrame"));
}

TEST(CallSite, UsesTheLastFrameIfCudaFillsTheStack) {
  CallStack stack = reads_input();
  stack.depth = 1;
  EXPECT_THAT(std::string(call_site(stack).chain), StartsWith("cudaMallocLikeInHeaders()+0x"));
}

TEST(CallSite, IsCreatedOnce) {
  const CallStack stack = reads_input();
  EXPECT_EQ(call_site(stack).chain.data(), call_site(stack).chain.data());
}

TEST(CallSite, UsesOffsetOrAddressWithoutASymbol) {
  EXPECT_EQ(call_site({}).chain, "");
  CallStack nowhere;
  nowhere.frames[0] = reinterpret_cast<const void*>(0x1235);
  nowhere.depth = 1;
  EXPECT_EQ(call_site(nowhere).chain, "0x1234");
  // An address outside all functions: the read-only data of this program.
  static const char data[] = "data";
  CallStack in_data;
  in_data.frames[0] = data + 1;
  in_data.depth = 1;
  EXPECT_THAT(std::string(call_site(in_data).chain), StartsWith("allocations_test+0x"));
}

TEST(CallSite, UsesTheFrameIfTheStackLacksIt) {
  const CallStack stack = capture_call_stack(reinterpret_cast<const void*>(0x10));
  EXPECT_EQ(stack.depth, 1u);
  EXPECT_EQ(stack.frames[0], reinterpret_cast<const void*>(0x10));
}

}  // namespace
}  // namespace lynxpp::interposer
