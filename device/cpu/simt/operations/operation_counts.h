// Counts the accesses of operations (operations/operation.h): the recorded addresses, in the roles that the
// memory table defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

struct Operation;

class AccessRecord {
 public:
  struct Entry {
    std::size_t address = 0;  ///< index among the instruction's addresses
    std::uint32_t lane = 0;
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
  };
  void add(const Entry& entry) { entries_.push_back(entry); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Adds one execution by a warp to the counts of its site.
void count_operation(WarpContext* warp, const Operation& operation, const AccessRecord& record);

}  // namespace lynxpp::device::cpu
