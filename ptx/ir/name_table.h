// A table of names, hashed at compile time. Private to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lynxpp::ptx {

/// Rows with different names, of one or more segments: "bar", "bar.red".
template <typename Row, std::size_t count>
class NameTable {
 public:
  constexpr NameTable(std::string_view Row::*name, const Row (&rows)[count])
      : rows_(std::to_array(rows)), name_(name) {
    std::ranges::sort(rows_, {}, name_);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t& slot = slots_[slot_of(root_of(rows_[i].*name_))];
      if (slot == 0) slot = static_cast<std::uint16_t>(i + 1);
    }
  }

  /// Returns all rows, sorted by name.
  const std::array<Row, count>& rows() const { return rows_; }

  /// Returns the row with the longest name that is a prefix of `text`, segment by segment; null without one.
  const Row* find(std::string_view text) const {
    const std::string_view root = root_of(text);
    const std::uint16_t slot = slots_[slot_of(root)];
    const Row* found = nullptr;
    for (std::size_t i = slot - 1U; slot != 0 && i < count && root_of(rows_[i].*name_) == root; ++i) {
      const std::string_view name = rows_[i].*name_;
      if (text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '.'))
        found = &rows_[i];
    }
    return found;
  }

 private:
  static constexpr std::size_t size = std::bit_ceil(4 * count);

  static constexpr std::string_view root_of(std::string_view name) { return name.substr(0, name.find('.')); }

  /// Returns the slot of the root, or the empty slot where it would be.
  constexpr std::size_t slot_of(std::string_view root) const {
    std::size_t slot = root.size();
    for (const char c : root) slot = slot * 33 + static_cast<unsigned char>(c);
    for (slot %= size; slots_[slot] != 0 && root_of(rows_[slots_[slot] - 1U].*name_) != root;)
      slot = (slot + 1) % size;
    return slot;
  }

  std::array<Row, count> rows_;
  std::string_view Row::*name_;
  std::array<std::uint16_t, size> slots_{};  // 1 + index of the root's first row; 0 if empty
};

}  // namespace lynxpp::ptx
