// Arrays of specifications whose reports also describe running launches: in host memory, which the kernel
// writes while the host reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/results/probe_buffer.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// These arrays of one launch. Destroy it only after the launch is over.
class LiveArrays {
 public:
  /// Returns null if no specification needs them. `layout` must outlive the result.
  static Result<std::unique_ptr<LiveArrays>> make(const std::vector<engine::SpecificationPtr>& specifications,
                                                  const ProbeLayout& layout, device::Device& device);

  /// Returns the value of a parameter slot if it refers to one of these arrays, otherwise `word`.
  std::uint64_t word(const engine::ProbeWord& asked, std::uint64_t word) const;

  /// Copies the current contents to their positions in a copy of the launch's buffer.
  void copy_to(std::span<std::byte> buffer) const;

 private:
  LiveArrays(const ProbeLayout& layout, std::vector<std::uint32_t> specifications)
      : layout_(layout), specifications_(std::move(specifications)) {}

  const ProbeLayout& layout_;
  std::vector<std::uint32_t> specifications_;                ///< their numbers
  std::vector<std::unique_ptr<device::HostMemory>> memory_;  ///< of each
};

}  // namespace lynxpp::interposer
