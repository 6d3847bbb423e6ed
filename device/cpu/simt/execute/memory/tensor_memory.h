// Tensor memory of a thread block (tcgen05): 128 lanes of 512 columns of 32 bits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace lynxpp::device::cpu {

/// An address in tensor memory: the lane in the upper 16 bits, the column in the lower ones.
struct TensorAddress {
  std::uint32_t lane = 0;
  std::uint32_t column = 0;
  explicit TensorAddress(std::uint64_t bits)
      : lane(static_cast<std::uint32_t>(bits >> 16 & 0xffff)),
        column(static_cast<std::uint32_t>(bits & 0xffff)) {}
};

/// The memory and its allocations. Example:
///
///     TensorMemory memory;
///     const std::optional<std::uint32_t> column = memory.allocate(64);  // 0
///     memory.row(5)[*column + 3] = 7;
class TensorMemory {
 public:
  static constexpr std::uint32_t lanes = 128;
  static constexpr std::uint32_t columns = 512;
  static constexpr std::uint32_t unit = 32;  ///< columns; allocations are multiples of it

  /// Returns to the state before the first instruction of a block: nothing is allocated, all bits are 0.
  void start();
  /// Returns the first of `count` consecutive columns, the lowest that are free; nullopt if none are.
  std::optional<std::uint32_t> allocate(std::uint32_t count);
  /// Returns false if allocate(count) has not returned this column.
  bool release(std::uint32_t column, std::uint32_t count);
  bool is_allocated(std::uint32_t column, std::uint32_t count) const;
  /// Allocations that have not been released: counts by first column.
  const std::map<std::uint32_t, std::uint32_t>& allocations() const { return allocations_; }

  /// Returns the words of a lane. Precondition: some column has been allocated since start().
  std::uint32_t* row(std::uint32_t lane) { return &words_[lane * columns]; }

  bool has_permit() const { return has_permit_; }
  void relinquish_permit() { has_permit_ = false; }

 private:
  std::unique_ptr<std::uint32_t[]> words_;  ///< [lane][column]; allocated on first use
  std::map<std::uint32_t, std::uint32_t> allocations_;
  bool is_used_ = false;
  bool has_permit_ = true;
};

}  // namespace lynxpp::device::cpu
