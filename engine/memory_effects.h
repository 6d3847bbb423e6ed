// Memory that a kernel reads and writes, from its PTX: determines whether its launches can be repeated
// without changing what the program computes.
//
//   const Result<MemoryEffects> effects = memory_effects(ptx, "_Z5scalePfS_");
//   // effects->reads.words: {0}, effects->writes.words: {8}: reads through the pointer at byte 0 of the
//   // parameters, writes through the one at byte 8
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "support/result.h"

namespace lynxpp::engine {

/// Pointers from which addresses of accesses may be derived.
struct MemoryRoots {
  std::set<std::uint32_t> words;  ///< offsets of 8 bytes of the parameters; not all of them need be pointers
  std::set<std::string> variables;  ///< variables of the module in global memory
  bool has_unknown = false;         ///< some address has another origin, or several of them
  bool empty() const { return words.empty() && variables.empty() && !has_unknown; }
};

/// A variable of the module in global memory.
struct GlobalVariable {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Accesses of global memory by a kernel and all functions that it may call.
struct MemoryEffects {
  MemoryRoots reads;
  MemoryRoots writes;    ///< atomic operations count as reads and writes
  bool updates = false;  ///< has atomic operations on global memory
  /// Has accesses or fences that other kernels or the host may rely on while the kernel runs.
  bool communicates = false;
  /// An effect besides memory, as in "it calls 'vprintf'"; empty: none.
  std::string other;
  std::vector<GlobalVariable> variables;          ///< all of the module
  std::vector<device::ParameterSlot> parameters;  ///< of the kernel
};

/// Fails if the PTX is malformed or the module does not have the kernel.
Result<MemoryEffects> memory_effects(const std::string& ptx, const std::string& kernel);

}  // namespace lynxpp::engine
