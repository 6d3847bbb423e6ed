// How memory words are counted in a variant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/passes/memory/word_sites.h"

namespace lynxpp::ptx {

struct Probe;  // ptx/passes/probe.h

/// The counters, one per 4-byte memory word, to which a routine adds. The routine has no other effect. All
/// `*_slot` members are parameter slots.
struct CountedWords {
  std::uint32_t array_slot = 0;  ///< address of the counters in device memory
  std::uint32_t element_bytes = 4;
  bool is_shared = false;  ///< counts shared memory instead of device memory
  /// Device memory: the address range whose counters are contiguous. `margin_bytes` / 4 further counters
  /// precede them, and the same number follows.
  std::uint32_t begin_slot = 0, bytes_slot = 0;
  std::uint64_t margin_bytes = 0;
  /// Shared memory: the number of counters.
  std::uint32_t extent_slot = 0;
  /// From BlockCounters::arrays: 32-bit counters in shared memory to which the routine adds instead.
  std::optional<std::uint32_t> block_offset_slot = {};
};

/// Shared variables of the program whose addresses the variant stores, 8 bytes each, at the address in
/// the parameter slot.
struct SharedAddresses {
  struct Variable {
    std::string name;
    const Function* function = nullptr;  ///< resolves the name: its declaring function, else the kernel
  };
  std::vector<Variable> variables;  ///< empty: not requested
  std::uint32_t slot = 0;
};

/// Word counters in each block's shared memory, after the program's own variables: a header with the number
/// of threads that have exited, then each array's counters.
struct BlockCounters {
  static constexpr std::uint32_t header_bytes = 16;
  struct Array {
    /// Parameter slot: the counters' offset from the base of dynamic shared memory.
    std::uint32_t offset_slot = 0;
    std::uint32_t array_slot = 0;  ///< parameter slot: the array in device memory
    bool is_wide = false;          ///< 64-bit elements
  };
  std::vector<Array> arrays;  ///< empty: no counters in shared memory
  std::uint32_t bits = 32;
  std::uint32_t variable = 0;     ///< in SplicedCode::variables
  std::uint32_t extent_slot = 0;  ///< parameter slot: the number of counters of each array
};

/// How memory words are counted.
struct WordPlan {
  /// By position in SplicedCode::probes: probes that a counter of the access's own instruction can replace
  /// (probes/words/word_counters.h).
  std::map<std::size_t, CountedWords> counted;
  SharedAddresses shared;
  BlockCounters block;
  WordSites sites;  ///< word-counting probes that need not count at each execution
};

/// For --print-after word-plan: returns a line per probe with inline counters, per access of WordPlan::sites
/// and per stored address.
std::string word_plan_text(const WordPlan& plan, const std::vector<Probe>& probes);

}  // namespace lynxpp::ptx
