// Counts the accesses of operations (operations/operation.h): the recorded addresses, in the roles that the
// memory table defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cpu/simt/execute/context.h"
#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu {

/// One side of an operation's access, in counted launches (ptx/ir/memory_access.h).
struct CountedSide {
  std::size_t address = 0;  ///< index among the instruction's addresses
  ptx::StateSpace space = ptx::StateSpace::generic;
  std::uint32_t kind = 0;           ///< AccessKind
  bool follows_from_lanes = false;  ///< true if sectors and wavefronts follow from the lanes' addresses
  bool is_sized = false;
};

/// The sides of an instruction that performs an operation.
struct CountedSides {
  std::uint32_t site = 0;  ///< index in WarpContext::sites
  std::vector<CountedSide> sides = {};
};

/// The accesses that an operation has made.
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

/// Returns the number of lines of 128 bytes that consecutive bytes touch: the wavefronts of a copy.
std::uint64_t lines_of(std::uint64_t address, std::uint64_t bytes);

/// Adds one execution by a warp to the counts of its site.
void count_operation(WarpContext* warp, const CountedSides& counted, const AccessRecord& record);

}  // namespace lynxpp::device::cpu
