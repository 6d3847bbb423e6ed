#include "cod/sema/program.h"

namespace lynxpp::cod {

std::uint32_t Collection::key_bits() const {
  std::uint32_t bits = 0;
  for (const KeyField& field : key) bits += bytes_of(field.type) * 8;
  return bits;
}

std::int64_t Collection::bin_bound(std::uint64_t bin) const {
  // Unsigned: the declaration has made sure that the bounds themselves fit.
  const auto start = static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(is_linear ? start + bin * width : start << bin);
}

}  // namespace lynxpp::cod
