#include "interposer/allocations.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <vector>

#include "support/call_site.h"

namespace lynxpp::interposer {
namespace {

device::LiveAllocation live(const lynxpp_allocation& seen) {
  CallStack stack;
  std::copy(std::begin(seen.stack), std::end(seen.stack), stack.frames);
  stack.depth = seen.depth;
  return {seen.address, seen.bytes, seen.number, call_site(stack),
          static_cast<device::AllocationKind>(seen.kind)};
}

}  // namespace

std::shared_ptr<const device::LiveAllocations> AllocationReader::read() {
  const Lock lock(mutex_);
  const bool is_current = last_ != nullptr && (source_ == nullptr || source_->version() == last_->version);
  if (is_current) return last_;
  auto read = std::make_shared<device::LiveAllocations>();
  std::vector<lynxpp_allocation> seen(last_ != nullptr ? last_->sorted.size() + 16 : 256);
  std::size_t count = 0;
  // Other threads may allocate between two attempts.
  while (source_ != nullptr &&
         (count = source_->copy(seen.data(), seen.size(), &read->version)) > seen.size())
    seen.resize(count + count / 8);
  seen.resize(count);
  read->sorted.reserve(count);
  std::transform(seen.begin(), seen.end(), std::back_inserter(read->sorted), live);
  return last_ = std::move(read);
}

std::string list_allocations(const device::LiveAllocations& allocations) {
  std::string result;
  for (const device::LiveAllocation& each : allocations.sorted) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "allocation %" PRIu64 ": %" PRIu64 " bytes at 0x%" PRIx64 ", ",
                  each.number, each.bytes, each.address);
    if (!result.empty()) result += '\n';
    result += numbers;
    result += name_of(each.kind);
    result += ", ";
    result += each.site.chain;
  }
  return result;
}

}  // namespace lynxpp::interposer
