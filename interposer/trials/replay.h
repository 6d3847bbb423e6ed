// Additional launches of a kernel right before a launch of the program, which then computes what it would
// compute without them.
//
//   as it is         if the kernel writes nothing that it reads, each launch computes the same from the same
//                    inputs; the program's own launch comes last
//   with saved memory  otherwise the memory that it may write is saved before, and restored after each launch
//
// A kernel is not repeated if others may observe it while it runs, or if it has effects besides memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "engine/memory_effects.h"
#include "interposer/trials/choices.h"
#include "support/result.h"

namespace lynxpp::interposer {

struct MemoryRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryRange&) const = default;
};

struct Repeatability {
  std::string obstacle;                   ///< why the launch cannot be repeated; empty: it can
  std::vector<MemoryRange> saved;         ///< memory to restore after each repetition; empty: nothing
  std::vector<MemoryRange> written = {};  ///< memory that the kernel may write, without overlaps
  /// True if nothing that the kernel may read is written while it runs.
  bool is_read_only = false;
};

/// Returns whether a launch of the kernel with these effects can be repeated. Precondition: `choice` is not
/// never.
Repeatability repeatability_of(const engine::MemoryEffects& effects, device::Device& device,
                               const device::Launch& launch, ReplayChoice choice);

/// A copy of the program's memory on the device.
class SavedMemory {
 public:
  /// Copies the ranges, ordered on the launch's stream. Fails if there is not enough memory.
  static Result<std::unique_ptr<SavedMemory>> save(device::Device& device, const device::Launch& launch,
                                                   const std::vector<MemoryRange>& ranges);

  /// Copies them back, ordered on the launch's stream.
  Status restore(device::Device& device, const device::Launch& launch) const;

 private:
  SavedMemory(std::unique_ptr<device::Buffer> copy, std::vector<MemoryRange> ranges)
      : copy_(std::move(copy)), ranges_(std::move(ranges)) {}

  std::unique_ptr<device::Buffer> copy_;
  std::vector<MemoryRange> ranges_;
};

}  // namespace lynxpp::interposer
