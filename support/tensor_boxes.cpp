#include "support/tensor_boxes.h"

#include <cstring>
#include <utility>

namespace lynxpp {
namespace {

/// By CUtensorMapDataType.
constexpr std::uint32_t element_bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
constexpr int first_padded_type = 14;
/// Bytes that a swizzle permutes, by CUtensorMapSwizzle.
constexpr std::uint32_t swizzle_spans[] = {0, 32, 64, 128, 128, 128, 128};

template <typename Value, std::size_t count>
bool is_index(int number, const Value (&)[count]) {
  return number >= 0 && static_cast<std::size_t>(number) < count;
}

/// `rows`: of `row_elements` elements each.
TensorBox box_of(const TensorMapArguments& arguments, std::uint64_t row_elements, std::uint64_t rows) {
  TensorBox box;
  box.rank = arguments.rank;
  const bool is_known = arguments.interleave == 0 && is_index(arguments.type, element_bits) &&
                        is_index(arguments.swizzle, swizzle_spans);
  if (!is_known) return box;
  const std::uint64_t row_bytes = row_elements * element_bits[arguments.type] / 8;
  box.bytes = rows * row_bytes;
  // Each row begins a new span of the swizzle, even if it is shorter.
  box.is_dense = arguments.type < first_padded_type && row_bytes >= swizzle_spans[arguments.swizzle];
  return box;
}

}  // namespace

/// A tensor that is not interleaved has no steps along dimension 0.
TensorBox tiled_box(const TensorMapArguments& arguments, const std::uint32_t* sizes) {
  std::uint64_t rows = 1;
  for (std::uint32_t i = 1; i < arguments.rank; ++i)
    rows *= (std::uint64_t{sizes[i]} + arguments.steps[i] - 1) / arguments.steps[i];
  return box_of(arguments, sizes[0], rows);
}

TensorBox im2col_box(const TensorMapArguments& arguments, std::uint32_t channels, std::uint32_t pixels) {
  TensorBox box = box_of(arguments, channels, pixels);
  box.is_im2col = true;
  return box;
}

/// CUTLASS clears one bit of encoded maps of small tensors.
TensorBoxes::Key TensorBoxes::key_of(const void* map) {
  constexpr std::uint64_t cleared_later = std::uint64_t{1} << 21;
  Key key;
  std::memcpy(key.data(), map, tensor_map_size);
  key[1] &= ~cleared_later;
  return key;
}

std::size_t TensorBoxes::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : key) {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Maps that are still in use stay among the newer ones.
TensorBox* TensorBoxes::find(const Key& key) {
  if (const auto newer = newer_.find(key); newer != newer_.end()) return &newer->second;
  const auto older = older_.find(key);
  if (older == older_.end()) return nullptr;
  const TensorBox box = older->second;
  if (newer_.size() >= most) older_ = std::exchange(newer_, {});
  return &newer_.emplace(key, box).first->second;
}

void TensorBoxes::add(const void* map, const TensorBox& box) {
  const Key key = key_of(map);
  const std::lock_guard lock(mutex_);
  if (TensorBox* const known = find(key)) {
    if (*known != box) known->bytes = 0;
    return;
  }
  if (newer_.size() >= most) older_ = std::exchange(newer_, {});
  newer_.emplace(key, box);
}

std::optional<TensorBox> TensorBoxes::find(const void* map) {
  const Key key = key_of(map);
  const std::lock_guard lock(mutex_);
  const TensorBox* const box = find(key);
  return box == nullptr ? std::nullopt : std::optional(*box);
}

}  // namespace lynxpp
