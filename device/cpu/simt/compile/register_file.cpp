#include "device/cpu/simt/compile/register_file.h"

namespace lynxpp::device::cpu {
namespace {

/// Returns 0 if the cpu device cannot hold the type in a register.
std::uint32_t slot_bits(ptx::DataType type) {
  return type == ptx::DataType::pred ? 1 : ptx::size_of(type) <= 16 ? ptx::size_of(type) * 8 : 0;
}

}  // namespace

std::optional<RegisterSlot> RegisterFile::find(std::string_view name, std::uint32_t scope) {
  Names& names = found_[scope];
  const auto known = names.find(name);
  return known != names.end() ? known->second : names.emplace(name, look_up(name, scope)).first->second;
}

std::optional<RegisterSlot> RegisterFile::look_up(std::string_view name, std::uint32_t scope) {
  if (const ptx::RegisterDeclaration* declaration = function_.body->find_register(name, scope)) {
    const std::uint32_t bits = slot_bits(declaration->type);
    if (bits == 0 || declaration->vector > 1) return std::nullopt;
    return allocate({declaration, std::string(name)}, bits);
  }
  for (const auto* list : {&function_.parameters, &function_.returns}) {
    for (const ptx::Variable& parameter : *list) {
      if (parameter.space != ptx::StateSpace::reg || parameter.name != name) continue;
      const std::uint32_t bits = slot_bits(parameter.type);
      if (bits == 0) return std::nullopt;
      return allocate({&parameter, std::string(name)}, bits);
    }
  }
  return std::nullopt;
}

RegisterSlot RegisterFile::allocate(Key key, std::uint32_t bits) {
  const auto [place, added] = slots_.try_emplace(std::move(key));
  if (added) {
    // Every slot starts on a cache line, so that vector accesses never cross one.
    place->second = {static_cast<std::uint32_t>(slots_.size() - 1), bits, bytes_};
    by_id_.push_back(&place->second);
    bytes_ += (place->second.bytes() + 63) / 64 * 64;
  }
  return place->second;
}

}  // namespace lynxpp::device::cpu
