// Host access to the elements of a launch's arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace lynxpp::engine {

/// A view of consecutive 4-byte or 8-byte integers. Additions outside the array are ignored.
class Elements {
 public:
  Elements(std::span<std::byte> array, std::uint32_t bytes) : array_(array), bytes_(bytes) {}

  std::uint64_t size() const { return array_.size() / bytes_; }
  /// The maximum value of an element.
  std::uint64_t most() const {
    return is_wide() ? std::numeric_limits<std::uint64_t>::max() : std::numeric_limits<std::uint32_t>::max();
  }

  std::uint64_t operator[](std::uint64_t index) const {
    return is_wide() ? number<std::uint64_t>(index) : number<std::uint32_t>(index);
  }
  void set(std::uint64_t index, std::uint64_t value) {
    is_wide() ? store(index, value) : store(index, static_cast<std::uint32_t>(value));
  }

  /// Wraps around as on the device.
  void add(std::uint64_t index, std::uint64_t amount) {
    if (index < size()) set(index, (*this)[index] + amount);
  }
  /// Adds to each of `elements` elements from `first` on.
  void add_up_to_most(std::uint64_t first, std::uint64_t elements, std::uint64_t amount) {
    const std::uint64_t begin = std::min(first, size());
    const std::uint64_t end = begin + std::min(elements, size() - begin);
    is_wide() ? add_to<std::uint64_t>(begin, end, amount) : add_to<std::uint32_t>(begin, end, amount);
  }

 private:
  bool is_wide() const { return bytes_ == sizeof(std::uint64_t); }
  template <typename Number>
  Number number(std::uint64_t index) const {
    Number value = 0;
    std::memcpy(&value, array_.data() + index * sizeof value, sizeof value);
    return value;
  }
  template <typename Number>
  void add_to(std::uint64_t begin, std::uint64_t end, std::uint64_t amount) {
    constexpr Number greatest = std::numeric_limits<Number>::max();
    const auto added = static_cast<Number>(std::min<std::uint64_t>(amount, greatest));
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto old = number<Number>(i);
      store(i, old > greatest - added ? greatest : static_cast<Number>(old + added));
    }
  }
  template <typename Number>
  void store(std::uint64_t index, Number value) {
    std::memcpy(array_.data() + index * sizeof value, &value, sizeof value);
  }

  std::span<std::byte> array_;
  std::uint32_t bytes_;
};

}  // namespace lynxpp::engine
