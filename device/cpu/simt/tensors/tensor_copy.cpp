#include "device/cpu/simt/tensors/tensor_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint32_t line_bytes = 128;  ///< of shared memory; swizzles permute the bytes of a line
constexpr std::uint32_t chunk_bytes = 16;
constexpr std::uint32_t rows_of_gather = 4;
constexpr std::uint32_t pixels_of_w128 = 128;
constexpr std::uint32_t padded_start = 128;  ///< elements; boxes of padded elements begin at a multiple of it
/// Every 16 bits of a NaN that marks an element outside the tensor. The ISA leaves its bits open; these were
/// measured on GPUs of compute capability 10.0 and 12.0.
constexpr std::uint16_t oob_nan = 0x7ff7;
constexpr std::uint32_t tf32_nan = 0x7fff'e000;

using TensorIndex = std::array<std::int64_t, most_dimensions>;

/// Returns where swizzling moves the byte at a shared address; it stays in its line of 128 bytes.
std::uint64_t swizzled(std::uint64_t address, TensorSwizzle swizzle, SwizzleAtom atom) {
  const std::uint64_t line = address / line_bytes;
  if (swizzle == TensorSwizzle::none) return address;
  if (atom == SwizzleAtom::bytes_32_flip_8) address ^= (line & 1) << 3;
  const std::uint32_t atom_bytes = atom == SwizzleAtom::bytes_16   ? 16
                                   : atom == SwizzleAtom::bytes_64 ? 64
                                                                   : 32;
  return address ^ (line % (span_of(swizzle) / atom_bytes)) * atom_bytes;
}

/// Computes the plan row by row: a row is the elements of one box along dimension 0.
class Planner {
 public:
  Planner(const TensorCopy& copy, std::uint64_t shared_address)
      : copy_(copy), map_(copy.map), address_(shared_address) {}

  TensorPlan run() {
    made_.problem = problem();
    if (!made_.problem.empty()) return made_;
    made_.bad_start = problem_of_start(copy_);
    made_.element = map_.element;
    made_.fill = map_.fill;
    measure();
    switch (copy_.mode) {
      case TensorMode::tile: add_tile(); break;
      case TensorMode::im2col: add_pixels(); break;
      case TensorMode::im2col_w:
      case TensorMode::im2col_w128: add_columns(); break;
      case TensorMode::rows: add_rows(); break;
    }
    made_.bytes = rows_ * units_ * unit_.global_bytes;
    find_shared_ranges();
    return std::move(made_);
  }

 private:
  bool is_interleaved() const { return map_.interleave != TensorInterleave::none; }

  std::string problem() const {
    if (const char* const found = problem_of(map_); found != nullptr) return found;
    if (address_ % shared_tensor_alignment != 0) return "its shared address is not a multiple of 128";
    const char* found = problem_of_mode();
    if (found == nullptr) found = copy_.to_shared ? problem_of_load() : problem_of_store();
    if (found == nullptr && map_.access == TensorAccess::im2col) found = problem_of_im2col();
    if (found == nullptr && is_wide()) found = problem_of_columns();
    return found != nullptr ? found : "";
  }

  bool is_wide() const { return copy_.mode == TensorMode::im2col_w || copy_.mode == TensorMode::im2col_w128; }

  const char* problem_of_mode() const {
    switch (copy_.mode) {
      case TensorMode::im2col:
        if (map_.access == TensorAccess::im2col) return nullptr;
        return "an im2col copy needs a map made by cuTensorMapEncodeIm2col";
      case TensorMode::im2col_w:
        if (map_.access == TensorAccess::im2col_w) return nullptr;
        return "an im2col::w copy needs a map made by cuTensorMapEncodeIm2colWide in mode W";
      case TensorMode::im2col_w128:
        if (map_.access == TensorAccess::im2col_w128) return nullptr;
        return "an im2col::w::128 copy needs a map made by cuTensorMapEncodeIm2colWide in mode W128";
      case TensorMode::tile:
      case TensorMode::rows: break;
    }
    if (map_.access != TensorAccess::tile)
      return "a tiled copy needs a map that is not made by cuTensorMapEncodeIm2col";
    if (copy_.mode == TensorMode::tile) return nullptr;
    if (map_.rank != 2 || map_.box[1] != 1) return "copies of rows need 2 dimensions and a box of one row";
    return is_interleaved() ? "copies of rows need a tensor that is not interleaved" : nullptr;
  }

  const char* problem_of_load() const {
    return map_.element == TensorElement::b6x16_p32 && map_.atom == SwizzleAtom::bytes_64
               ? "only stores of elements of 6 bits can have swizzle atoms of 64 bytes"
               : nullptr;
  }

  const char* problem_of_store() const {
    if (map_.atom == SwizzleAtom::bytes_32_flip_8) return "only loads can flip 8 bytes in a swizzle";
    if (map_.element == TensorElement::b4x16_p64) return "elements of 4 bits with padding can only be loaded";
    if (std::ranges::any_of(copy_.at, [](std::int32_t each) { return each < 0; }))
      return "a copy from shared memory has a negative coordinate";
    if (map_.access == TensorAccess::im2col &&
        (std::ranges::any_of(map_.lower, [](std::int16_t each) { return each < 0; }) ||
         std::ranges::any_of(map_.upper, [](std::int16_t each) { return each > 0; })))
      return "a copy from shared memory has a pixel box that leaves the tensor";
    return nullptr;
  }

  const char* problem_of_im2col() const {
    if (is_interleaved()) return "im2col copies of interleaved tensors are not supported";
    if (map_.steps[map_.rank - 1] != 1) return "im2col copies with an element stride of N are not supported";
    for (std::uint32_t i = 1; i + 1 < map_.rank; ++i) {
      const std::int64_t at = copy_.at[i];
      if (at < map_.lower[i - 1] || at > last_pixel(i))
        return "the coordinates of an im2col copy are outside its pixel box";
      if (copy_.offsets[i - 1] >= (map_.rank == 3 ? 65536u : map_.rank == 4 ? 256u : 32u))
        return "an im2col offset is out of range";
    }
    return nullptr;
  }

  /// For im2col::w and im2col::w::128; the ISA's text leaves open which pixels some halos have.
  const char* problem_of_columns() const {
    const auto [halo, shift] = std::pair(copy_.offsets[0], copy_.offsets[1]);
    const bool has_128 = copy_.mode == TensorMode::im2col_w128;
    if (map_.steps[map_.rank - 1] != 1) return "im2col copies with an element stride of N are not supported";
    if (copy_.at[1] > last_pixel(1)) return "the coordinates of an im2col copy are outside its pixel box";
    if (halo >= (has_128 ? 32u : 512u)) return "wHalo is out of range";
    if (shift >= 32) return "wOffset is out of range";
    if (halo == 0) return nullptr;
    if (has_128) return "a halo in im2col::w::128 is not supported, since the ISA leaves its address open";
    std::int64_t at = copy_.at[1];
    for (std::uint32_t pixel = 1; pixel < map_.pixels; ++pixel) {
      at += map_.steps[1];
      if (at > last_pixel(1)) at = map_.lower[0];
    }
    return at + std::int64_t{halo} * map_.steps[1] > last_pixel(1)
               ? "a halo that crosses the pixel box is not supported, since the ISA leaves its pixels open"
               : nullptr;
  }

  std::int64_t last_pixel(std::uint32_t dimension) const {
    return static_cast<std::int64_t>(map_.sizes[dimension]) - 1 + map_.upper[dimension - 1];
  }

  /// In an interleaved tensor dimension 0 counts slices of 16 or 32 bytes.
  void measure() {
    unit_ = unit_of(map_.element);
    if (is_interleaved()) {
      const std::uint32_t slice = map_.interleave == TensorInterleave::bytes_16 ? 16 : 32;
      unit_ = {.elements = 1, .global_bytes = slice, .shared_bytes = slice};
    }
    step_ = is_interleaved() ? map_.steps[0] : 1u;
    units_ = (map_.box[0] / unit_.elements + step_ - 1) / step_;
    row_bytes_ = units_ * unit_.shared_bytes;
    // Each row begins a new span of the swizzle, even if it is shorter.
    pitch_ = std::max(row_bytes_, span_of(map_.swizzle));
  }

  void add_tile() {
    std::array<std::uint32_t, most_dimensions> counts{};
    counts.fill(1);
    for (std::uint32_t i = 1; i < map_.rank; ++i)
      counts[i] = (map_.box[i] + map_.steps[i] - 1u) / map_.steps[i];
    // An interleaved tensor has its slices of channels before the last dimension; a box has one of them.
    if (is_interleaved()) counts[map_.rank - 2] = 1;
    std::array<std::uint32_t, most_dimensions> index{};
    while (true) {
      TensorIndex at{};
      for (std::uint32_t i = 0; i < map_.rank; ++i)
        at[i] = std::int64_t{copy_.at[i]} + std::int64_t{index[i]} * (i == 0 ? 1 : map_.steps[i]);
      add_row(at);
      std::uint32_t axis = 1;
      while (axis < map_.rank && ++index[axis] == counts[axis]) index[axis++] = 0;
      if (axis >= map_.rank) return;
    }
  }

  void add_rows() {
    for (std::uint32_t i = 0; i < rows_of_gather; ++i) add_row({copy_.at[0], copy_.at[i + 1]});
  }

  /// Walks W, then H, then D from corner to corner of the pixel box, then the next image.
  void add_pixels() {
    TensorIndex base{};
    std::copy(copy_.at.begin(), copy_.at.end(), base.begin());
    const std::uint32_t images = map_.rank - 1;
    for (std::uint32_t pixel = 0; pixel < map_.pixels; ++pixel) {
      TensorIndex at = base;
      for (std::uint32_t i = 1; i < images; ++i) at[i] += copy_.offsets[i - 1];
      add_row(at);
      std::uint32_t axis = 1;
      for (; axis < images; ++axis) {
        base[axis] += map_.steps[axis];
        if (base[axis] <= last_pixel(axis)) break;
        base[axis] = map_.lower[axis - 1];
      }
      if (axis == images) ++base[images];
    }
  }

  /// Walks W from the left to the right of the pixel box, then the same rows of the next image.
  void add_columns() {
    const auto [halo, shift] = std::pair(copy_.offsets[0], copy_.offsets[1]);
    const std::uint32_t pixels = copy_.mode == TensorMode::im2col_w128 ? pixels_of_w128 : map_.pixels;
    TensorIndex at{};
    std::copy(copy_.at.begin(), copy_.at.end(), at.begin());
    at[1] += shift;
    for (std::uint32_t pixel = 0; pixel < pixels + halo; ++pixel) {
      add_row(at);
      at[1] += map_.steps[1];
      if (at[1] <= last_pixel(1) + shift) continue;
      at[1] = std::int64_t{map_.lower[0]} + shift;
      ++at[map_.rank - 1];
    }
  }

  bool is_inside(const TensorIndex& at, std::uint32_t dimension) const {
    return at[dimension] >= 0 && static_cast<std::uint64_t>(at[dimension]) < map_.sizes[dimension];
  }

  /// Adds the elements that begin at `at`, along dimension 0.
  void add_row(const TensorIndex& at) {
    const std::int64_t begin = at[0] / unit_.elements;
    bool is_in_tensor = true;
    std::uint64_t global = map_.address;
    for (std::uint32_t i = 1; i < map_.rank; ++i) {
      is_in_tensor = is_in_tensor && is_inside(at, i);
      global += static_cast<std::uint64_t>(at[i]) * map_.strides[i - 1];
    }
    const std::uint64_t place = address_ + std::uint64_t{rows_++} * pitch_;
    const auto size = static_cast<std::int64_t>(map_.sizes[0] / unit_.elements);
    if (step_ != 1) return add_steps(at, is_in_tensor, global, place);
    const std::int64_t first = std::clamp<std::int64_t>(-begin, 0, units_);
    const std::int64_t end = is_in_tensor ? std::clamp<std::int64_t>(size - begin, first, units_) : first;
    const std::uint64_t row = global + static_cast<std::uint64_t>(begin) * unit_.global_bytes;
    add_piece(place, 0, static_cast<std::uint32_t>(first), std::nullopt);
    add_piece(place, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end), row);
    add_piece(place, static_cast<std::uint32_t>(end), units_, std::nullopt);
  }

  void add_steps(const TensorIndex& at, bool is_in_tensor, std::uint64_t global, std::uint64_t place) {
    for (std::uint32_t i = 0; i < units_; ++i) {
      const std::int64_t unit = at[0] + std::int64_t{i} * step_;
      const bool is_in = is_in_tensor && unit >= 0 && static_cast<std::uint64_t>(unit) < map_.sizes[0];
      const std::uint64_t row = global + static_cast<std::uint64_t>(unit - i) * unit_.global_bytes;
      add_piece(place, i, i + 1, is_in ? std::optional(row) : std::nullopt);
    }
  }

  /// Adds units [first, end) of the row at `place`; `global`: the address of unit 0, if they are in the
  /// tensor.
  void add_piece(std::uint64_t place, std::uint32_t first, std::uint32_t end,
                 std::optional<std::uint64_t> global) {
    if (first == end || (!global && !copy_.to_shared)) return;
    const std::uint32_t size = unit_.global_bytes;
    if (global) extend(made_.global, *global + first * size, (end - first) * size);
    if (size == unit_.shared_bytes) return add_bytes(place, first * size, end * size, global);
    for (std::uint32_t i = first; i < end; ++i)
      add_run(place + i * unit_.shared_bytes, global ? std::optional(*global + i * size) : std::nullopt,
              size);
  }

  /// Likewise for bytes, without padding.
  void add_bytes(std::uint64_t place, std::uint32_t first, std::uint32_t end,
                 std::optional<std::uint64_t> global) {
    const std::uint32_t grain = map_.swizzle == TensorSwizzle::none         ? line_bytes
                                : map_.atom == SwizzleAtom::bytes_32_flip_8 ? 8
                                                                            : chunk_bytes;
    for (std::uint32_t at = first; at < end;) {
      const std::uint64_t from = place + at;
      const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(end - at, grain - from % grain));
      add_run(from, global ? std::optional(*global + at) : std::nullopt, bytes);
      at += bytes;
    }
  }

  void add_run(std::uint64_t place, std::optional<std::uint64_t> global, std::uint32_t bytes) {
    TensorRun run;
    run.is_inside = global.has_value();
    run.global = global.value_or(0);
    run.shared = static_cast<std::uint32_t>(swizzled(place, map_.swizzle, map_.atom) - address_);
    run.bytes = bytes;
    made_.runs.push_back(run);
  }

  void find_shared_ranges() {
    if (copy_.to_shared && row_bytes_ == pitch_ && !is_padded(map_.element)) {
      made_.shared = {{0, made_.bytes}};
      return;
    }
    std::vector<ByteRange> all;
    // A load leaves the padding as it is; a store reads units with theirs.
    const bool reads_padding = !copy_.to_shared && is_padded(map_.element);
    for (const TensorRun& run : made_.runs)
      all.push_back({run.shared, reads_padding ? unit_.shared_bytes : run.bytes});
    std::ranges::sort(all, {}, &ByteRange::begin);
    for (const ByteRange& each : all) extend(made_.shared, each.begin, each.bytes);
  }

  static void extend(std::vector<ByteRange>& ranges, std::uint64_t begin, std::uint64_t bytes) {
    if (!ranges.empty() && ranges.back().begin + ranges.back().bytes == begin)
      ranges.back().bytes += bytes;
    else
      ranges.push_back({begin, bytes});
  }

  const TensorCopy& copy_;
  const TensorMap& map_;
  const std::uint64_t address_;
  TensorPlan made_;
  ElementUnit unit_;
  std::uint32_t step_ = 1;
  std::uint32_t units_ = 0;  ///< in a row
  std::uint32_t row_bytes_ = 0;
  std::uint32_t pitch_ = 0;  ///< distance between rows in shared memory
  std::uint32_t rows_ = 0;
};

void fill_box(std::byte* to, std::uint32_t bytes, TensorFill with) {
  if (with == TensorFill::zero) {
    std::memset(to, 0, bytes);
    return;
  }
  for (std::uint32_t at = 0; at < bytes; at += sizeof oob_nan) std::memcpy(to + at, &oob_nan, sizeof oob_nan);
}

/// Packs the low 6 bits of each of 16 bytes.
void pack_6_bits(const std::byte* from, std::byte* to) {
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= (static_cast<std::uint64_t>(from[8 * half + i]) & 0x3f) << (6 * i);
    std::memcpy(to + 6 * half, &bits, 6);
  }
}

/// Rounds to the 10 bits of tf32's mantissa; all NaNs become one.
std::uint32_t to_tf32(std::uint32_t bits) {
  constexpr std::uint32_t infinity = 0x7f80'0000;
  constexpr unsigned dropped = 13;
  if ((bits & 0x7fff'ffff) > infinity) return tf32_nan;
  const std::uint32_t half = (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return (bits + half) & ~((1u << dropped) - 1);
}

}  // namespace

std::string problem_of_start(const TensorCopy& copy) {
  const TensorMap& map = copy.map;
  if (map.interleave != TensorInterleave::none) return {};
  const bool is_tiled = copy.mode == TensorMode::tile || copy.mode == TensorMode::rows;
  const ElementUnit unit = unit_of(map.element);
  const std::int64_t grain = is_padded(map.element) ? padded_start
                             : is_tiled             ? chunk_bytes * unit.elements / unit.global_bytes
                                                    : unit.elements;
  const std::int64_t at = copy.at[0];
  const std::int64_t below = at - ((at % grain) + grain) % grain;
  if (at == below) return {};
  std::string text = "coordinate 0 is " + std::to_string(at) + ", but a box of elements of " +
                     std::string(size_name(map.element)) + " begins at a multiple of " +
                     (is_padded(map.element) || !is_tiled ? std::to_string(grain) + " elements" : "16 bytes");
  if (below + grain > std::numeric_limits<std::int32_t>::max())
    return text + "; the nearest coordinate is " + std::to_string(below);
  return text + "; the nearest coordinates are " + std::to_string(below) + " and " +
         std::to_string(below + grain);
}

TensorPlan plan_copy(const TensorCopy& copy, std::uint64_t shared_address) {
  return Planner(copy, shared_address).run();
}

void load(const TensorPlan& plan, std::byte* shared) {
  const bool rounds = plan.element == TensorElement::tf32 || plan.element == TensorElement::tf32_ftz;
  for (const TensorRun& run : plan.runs) {
    std::byte* const to = shared + run.shared;
    if (!run.is_inside) {
      fill_box(to, run.bytes, plan.fill);
      continue;
    }
    std::memcpy(to, reinterpret_cast<const std::byte*>(run.global), run.bytes);
    for (std::uint32_t at = 0; rounds && at < run.bytes; at += sizeof(std::uint32_t)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, to + at, sizeof bits);
      bits = to_tf32(bits);
      std::memcpy(to + at, &bits, sizeof bits);
    }
  }
}

void store(const TensorPlan& plan, const std::byte* shared) {
  const bool packs = plan.element == TensorElement::b6x16_p32;
  for (const TensorRun& run : plan.runs) {
    auto* const to = reinterpret_cast<std::byte*>(run.global);
    if (packs)
      pack_6_bits(shared + run.shared, to);
    else
      std::memcpy(to, shared + run.shared, run.bytes);
  }
}

}  // namespace lynxpp::device::cpu
