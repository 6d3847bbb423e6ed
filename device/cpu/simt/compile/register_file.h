// Layout of a function's registers in a frame's register file.
//
// An N-bit register is an array of 32 N-bit values, one per lane; a predicate is one 32-bit mask.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::device::cpu {

struct RegisterSlot {
  std::uint32_t id = 0;      ///< dense, in order of first use
  std::uint32_t bits = 0;    ///< 1 for a predicate
  std::uint32_t offset = 0;  ///< in the register file
  std::uint32_t bytes() const { return bits == 1 ? 4 : bits / 8 * 32; }
};

class RegisterFile {
 public:
  explicit RegisterFile(const ptx::Function& function) : function_(function) {}

  /// Returns the register that `name` denotes in `scope`, allocating it on first use. Returns nullopt if it
  /// is not a register, or one of a vector type.
  std::optional<RegisterSlot> find(std::string_view name, std::uint32_t scope);
  /// Returns the carry flag CC.CF, a predicate.
  RegisterSlot carry() { return allocate({nullptr, "cc"}, 1); }

  /// Precondition: `id` belongs to an allocated slot.
  const RegisterSlot& slot(std::uint32_t id) const { return *by_id_[id]; }

  std::uint32_t bytes() const { return bytes_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  using Key = std::pair<const void*, std::string>;
  std::optional<RegisterSlot> look_up(std::string_view name, std::uint32_t scope);
  RegisterSlot allocate(Key key, std::uint32_t bits);

  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  /// Look-up results by scope and name.
  using Names = std::unordered_map<std::string, std::optional<RegisterSlot>, NameHash, std::equal_to<>>;

  const ptx::Function& function_;
  std::unordered_map<std::uint32_t, Names> found_;
  std::map<Key, RegisterSlot> slots_;
  std::vector<const RegisterSlot*> by_id_;
  std::uint32_t bytes_ = 0;
};

}  // namespace lynxpp::device::cpu
