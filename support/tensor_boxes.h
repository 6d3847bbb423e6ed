// The boxes of tensor maps: how many bytes one tensor copy moves.
//
// CUDA leaves the 128 bytes of a tensor map open, so the box is known only from the call that encoded it:
//
//     boxes.add(&map, tiled_box({type, rank, steps, interleave, swizzle}, box_sizes));
//     …
//     if (const auto box = boxes.find(parameter)) …  // box->bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace lynxpp {

inline constexpr std::size_t tensor_map_size = 128;

struct TensorBox {
  /// The size of the box, with the elements outside the tensor, but without padding of elements of 4 and 6
  /// bits: a load adds it to its barrier's transaction count. 0: unknown.
  std::uint64_t bytes = 0;
  std::uint32_t rank = 0;
  bool is_im2col = false;
  bool is_dense = false;  ///< its rows are adjacent in shared memory

  bool operator==(const TensorBox&) const = default;
};

/// Returns the box of a tensor map of 128 bytes; nullopt if the map is not known.
using TensorBoxReader = std::function<std::optional<TensorBox>(const void* map)>;

/// The common arguments of cuTensorMapEncode…, with the numbers of their enumerations.
struct TensorMapArguments {
  int type = 0;
  std::uint32_t rank = 0;
  const std::uint32_t* steps = nullptr;  ///< elementStrides
  int interleave = 0;
  int swizzle = 0;
};

/// Returns the box that a map encodes which CUDA has accepted. The size is unknown for interleaved tensors
/// and for types and swizzles that are not known here.
TensorBox tiled_box(const TensorMapArguments& arguments, const std::uint32_t* sizes);
TensorBox im2col_box(const TensorMapArguments& arguments, std::uint32_t channels, std::uint32_t pixels);

/// The boxes of the maps that were encoded or found last, at most 2 × `most`. Thread safe.
class TensorBoxes {
 public:
  static constexpr std::size_t most = 1 << 14;

  /// Adds the box of an encoded map. If an equal map had another box, the size becomes unknown. May throw
  /// std::bad_alloc.
  void add(const void* map, const TensorBox& box);
  /// Returns the box of an equal map; nullopt if no such map is known.
  std::optional<TensorBox> find(const void* map);

 private:
  using Key = std::array<std::uint64_t, tensor_map_size / sizeof(std::uint64_t)>;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  using Boxes = std::unordered_map<Key, TensorBox, Hash>;

  static Key key_of(const void* map);
  TensorBox* find(const Key& key);

  std::mutex mutex_;  // guards the members below
  Boxes newer_, older_;
};

}  // namespace lynxpp
