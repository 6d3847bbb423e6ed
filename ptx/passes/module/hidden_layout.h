// The layout of the kernel's hidden parameter: 8-byte slots, each with a meaning.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

/// The meaning of a slot: the value that the host passes in it.
struct HiddenSlot {
  enum class Kind : std::uint8_t {
    specification,     ///< element `index` of the words of a specification
    counters,          ///< address of CountPlan::slots() zeroed counters, for all specifications
    shared_addresses,  ///< address of one value per element of SharedAddresses::variables
    // For ptx/perturb (see memory_regions.h there). The first three describe the allocation of a pointer: the
    // 8 bytes at offset `index` of the kernel's parameters.
    allocation_begin,
    allocation_mask,
    allocation_rotation,
    zero,          ///< 0, which the assembler does not know
    scratch,       ///< address of a buffer of device memory that added operations may read and write
    scratch_mask,  ///< the buffer's size, a power of two, minus 1
    results,       ///< address of ptx::result_words zeroed words that the variant adds to, or of two maps
    map_mask,      ///< bytes of one of the maps, a power of two, minus 4
  };
  Kind kind = Kind::specification;
  std::uint32_t specification = 0;  ///< for specification, with `index`
  std::uint32_t index = 0;          ///< or a parameter's offset
};

class HiddenLayout {
 public:
  /// Appends a slot and returns its position.
  std::uint32_t add(const HiddenSlot& slot) {
    slots_.push_back(slot);
    return size() - 1;
  }
  void clear() { slots_.clear(); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t bytes() const { return 8 * size(); }
  const std::vector<HiddenSlot>& slots() const { return slots_; }

 private:
  std::vector<HiddenSlot> slots_;
};

}  // namespace lynxpp::ptx
