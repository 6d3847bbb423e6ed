// Kernels of one tensor copy, and an independent description of what the copy moves.
//
// The reference visits the elements of a box one by one, from formulas and tables of the PTX ISA; it shares
// only the encoding of the map with the device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "device/cpu/simt/tensors/tensor_map.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {

inline constexpr std::size_t box_bytes = 32768;

/// A tensor map as a kernel parameter.
struct alignas(64) MapParameter {
  std::array<std::byte, tensor_map_bytes> bytes{};

  explicit MapParameter(const TensorMap& map) { encode(map, TensorMapBytes(bytes)); }
};

struct alignas(128) Box {
  std::array<std::uint8_t, box_bytes> bytes;
};

/// A tensor of rows without gaps, except that each row is padded to 16 bytes.
inline TensorMap tensor_of(TensorElement element, std::vector<std::uint64_t> sizes,
                           std::vector<std::uint16_t> box, void* memory) {
  TensorMap map;
  map.rank = static_cast<std::uint32_t>(sizes.size());
  map.element = element;
  map.address = reinterpret_cast<std::uintptr_t>(memory);
  std::uint64_t stride = (sizes[0] * bytes_of(element) + 15) / 16 * 16;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    map.sizes[i] = sizes[i];
    map.box[i] = box[i];
    map.steps[i] = 1;
    if (i == 0) continue;
    map.strides[i - 1] = stride;
    stride *= sizes[i];
  }
  return map;
}

/// Returns the offset of the byte that the ISA's swizzling tables put in the place of byte `at` of a box that
/// begins at a multiple of 1024.
inline std::uint32_t unswizzled(std::uint32_t at, const TensorMap& map) {
  // The rows of the tables: which 16 bytes a line of 128 bytes holds, in order.
  static constexpr std::uint8_t table_128[8][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
      {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  static constexpr std::uint8_t table_32_atom[4][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
  static constexpr std::uint8_t table_64_atom[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};
  const std::uint32_t line = at / 128;
  const std::uint32_t chunk = at % 128 / 16;
  std::uint32_t byte = at % 16;
  std::uint32_t from = chunk;
  switch (map.swizzle) {
    case TensorSwizzle::bytes_32: from = table_128[line % 2][chunk]; break;
    case TensorSwizzle::bytes_64: from = table_128[line % 4][chunk]; break;
    case TensorSwizzle::bytes_128:
      if (map.atom == SwizzleAtom::bytes_16) from = table_128[line % 8][chunk];
      if (map.atom == SwizzleAtom::bytes_32 || map.atom == SwizzleAtom::bytes_32_flip_8)
        from = table_32_atom[line % 4][chunk];
      if (map.atom == SwizzleAtom::bytes_64) from = table_64_atom[line % 2][chunk];
      if (map.atom == SwizzleAtom::bytes_32_flip_8 && line % 2 == 1) byte = (byte + 8) % 16;
      break;
    default: break;
  }
  return line * 128 + from * 16 + byte;
}

/// One element of a box.
struct BoxElement {
  std::uint32_t shared = 0;             ///< offset in the box, before swizzling
  std::optional<std::uint64_t> global;  ///< address; nullopt outside the tensor
};

inline std::optional<std::uint64_t> element_at(const TensorMap& map, const std::array<std::int64_t, 5>& at) {
  std::uint64_t address = map.address + static_cast<std::uint64_t>(at[0]) * bytes_of(map.element);
  for (std::uint32_t i = 0; i < map.rank; ++i) {
    if (at[i] < 0 || at[i] >= static_cast<std::int64_t>(map.sizes[i])) return std::nullopt;
    if (i > 0) address += static_cast<std::uint64_t>(at[i]) * map.strides[i - 1];
  }
  return address;
}

inline std::uint32_t pitch_of(const TensorMap& map) {
  const std::uint32_t row = map.box[0] * bytes_of(map.element);
  const std::uint32_t span = map.swizzle == TensorSwizzle::none ? 0 : 16u << static_cast<int>(map.swizzle);
  return std::max(row, span);
}

using At = std::array<std::int32_t, 5>;

/// The elements of a tiled box.
inline std::vector<BoxElement> tile_of(const TensorMap& map, const At& at) {
  std::vector<BoxElement> elements;
  std::array<std::uint32_t, 5> counts = {map.box[0], 1, 1, 1, 1};
  for (std::uint32_t i = 1; i < map.rank; ++i) counts[i] = (map.box[i] - 1u) / map.steps[i] + 1;
  std::uint32_t row = 0;
  for (std::uint32_t e = 0; e < counts[4]; ++e) {
    for (std::uint32_t d = 0; d < counts[3]; ++d) {
      for (std::uint32_t c = 0; c < counts[2]; ++c) {
        for (std::uint32_t b = 0; b < counts[1]; ++b, ++row) {
          for (std::uint32_t a = 0; a < counts[0]; ++a) {
            const std::array<std::int64_t, 5> place = {
                at[0] + std::int64_t{a}, at[1] + std::int64_t{b} * map.steps[1],
                at[2] + std::int64_t{c} * map.steps[2], at[3] + std::int64_t{d} * map.steps[3],
                at[4] + std::int64_t{e} * map.steps[4]};
            elements.push_back({row * pitch_of(map) + a * bytes_of(map.element), element_at(map, place)});
          }
        }
      }
    }
  }
  return elements;
}

/// The elements of an im2col box: pixel k of a column is number first + k of all filter positions, image by
/// image, row by row.
inline std::vector<BoxElement> column_of(const TensorMap& map, const At& at,
                                         const std::array<std::uint16_t, 3>& offsets) {
  const std::uint32_t spatial = map.rank - 2;
  std::array<std::int64_t, 3> counts = {1, 1, 1};
  std::int64_t first = at[map.rank - 1];
  for (std::uint32_t i = spatial; i-- > 0;) {
    const std::int64_t extent = static_cast<std::int64_t>(map.sizes[i + 1]) + map.upper[i] - map.lower[i];
    counts[i] = (extent + map.steps[i + 1] - 1) / map.steps[i + 1];
    first = first * counts[i] + (at[i + 1] - map.lower[i]) / map.steps[i + 1];
  }
  std::vector<BoxElement> elements;
  for (std::uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    std::int64_t number = first + pixel;
    std::array<std::int64_t, 5> place{};
    for (std::uint32_t i = 0; i < spatial; ++i) {
      place[i + 1] = map.lower[i] + number % counts[i] * map.steps[i + 1] + offsets[i];
      number /= counts[i];
    }
    place[map.rank - 1] = number;
    for (std::uint32_t a = 0; a < map.box[0]; ++a) {
      place[0] = at[0] + std::int64_t{a};
      elements.push_back({pixel * pitch_of(map) + a * bytes_of(map.element), element_at(map, place)});
    }
  }
  return elements;
}

/// Returns the contents of a box after a load; all other bytes are `before`.
inline Box loaded(const TensorMap& map, const std::vector<BoxElement>& elements, std::uint8_t before) {
  const std::uint32_t size = bytes_of(map.element);
  std::vector<std::uint8_t> plain(box_bytes, before);
  for (const BoxElement& each : elements) {
    for (std::uint32_t i = 0; i < size; ++i) {
      std::uint8_t byte = map.fill == TensorFill::zero ? 0 : i % 2 == 0 ? 0xf7 : 0x7f;
      if (each.global) std::memcpy(&byte, reinterpret_cast<const void*>(*each.global + i), 1);
      plain[each.shared + i] = byte;
    }
  }
  Box box;
  for (std::uint32_t i = 0; i < box_bytes; ++i) box.bytes[i] = plain[unswizzled(i, map)];
  return box;
}

/// Stores the elements of a box into `copy`, a copy of the memory at `memory`.
inline void store_elements(const TensorMap& map, const std::vector<BoxElement>& elements, const Box& box,
                           const std::uint8_t* memory, std::vector<std::uint8_t>& copy) {
  std::vector<std::uint8_t> plain(box_bytes);
  for (std::uint32_t i = 0; i < box_bytes; ++i) plain[unswizzled(i, map)] = box.bytes[i];
  for (const BoxElement& each : elements) {
    if (!each.global) continue;
    const std::uint64_t offset = *each.global - reinterpret_cast<std::uintptr_t>(memory);
    std::memcpy(copy.data() + offset, plain.data() + each.shared, bytes_of(map.element));
  }
}

/// A kernel of one thread block with `copy` between a box in shared memory (%box) and the tensor of %map, at
/// coordinates %c0 to %c4 (im2col: offsets %o0 to %o2). %memory holds the contents of shared memory before
/// and after the copy. The barrier %bar expects %bytes, unless they are 0.
inline std::string tensor_kernel(const std::string& copy) {
  return R"(.visible .entry test(.param .align 64 .b8 map[128], .param .u64 memory, .param .u32 bytes,
    .param .u32 begin, .param .align 4 .b8 at[20], .param .align 2 .b8 offsets[6]) {
  .shared .align 1024 .b8 area[32768];
  .shared .align 8 .b64 barrier;
  .reg .b64 %map, %memory, %from, %long;
  .reg .b32 %t, %i, %v, %box, %bar, %bytes, %to, %c0, %c1, %c2, %c3, %c4;
  .reg .b16 %o0, %o1, %o2;
  .reg .pred %first, %p, %q;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u64 %memory, [memory];
  ld.param.u32 %bytes, [bytes];
  ld.param.s32 %c0, [at];
  ld.param.s32 %c1, [at+4];
  ld.param.s32 %c2, [at+8];
  ld.param.s32 %c3, [at+12];
  ld.param.s32 %c4, [at+16];
  ld.param.u16 %o0, [offsets];
  ld.param.u16 %o1, [offsets+2];
  ld.param.u16 %o2, [offsets+4];
  mov.u32 %t, %tid.x;
  mov.u32 %i, area;
  ld.param.u32 %box, [begin];
  add.u32 %box, %box, %i;
  mov.u32 %bar, barrier;
  setp.eq.u32 %first, %t, 0;
  mov.u32 %i, %t;
fill:
  mul.wide.u32 %long, %i, 4;
  add.u64 %from, %memory, %long;
  ld.global.u32 %v, [%from];
  cvt.u32.u64 %to, %long;
  mov.u32 %c4, area;
  add.u32 %to, %to, %c4;
  st.shared.u32 [%to], %v;
  add.u32 %i, %i, 32;
  setp.lt.u32 %p, %i, 8192;
  @%p bra fill;
  ld.param.s32 %c4, [at+16];
  @%first mbarrier.init.shared.b64 [%bar], 1;
  fence.proxy.async;
  bar.sync 0;
  setp.ne.and.u32 %q, %bytes, 0, %first;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %bytes;
)" + copy +
         R"(
  setp.eq.u32 %p, %bytes, 0;
  @%p bra waited;
again:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra again;
waited:
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group 0;
  bar.sync 0;
  mov.u32 %i, %t;
copy:
  mul.wide.u32 %long, %i, 4;
  add.u64 %from, %memory, %long;
  cvt.u32.u64 %to, %long;
  mov.u32 %v, area;
  add.u32 %to, %to, %v;
  ld.shared.u32 %v, [%to];
  st.global.u32 [%from], %v;
  add.u32 %i, %i, 32;
  setp.lt.u32 %p, %i, 8192;
  @%p bra copy;
  ret;
})";
}

/// "{%c0, %c1}"
inline std::string coordinates(std::size_t count) {
  std::string text = "{%c0";
  for (std::size_t i = 1; i < count; ++i) text += ", %c" + std::to_string(i);
  return text + "}";
}

inline std::string load_of(const std::string& form, std::size_t count, const std::string& after = "") {
  return tensor_kernel("  @%first cp.async.bulk.tensor." + form + " [%box], [%map, " + coordinates(count) +
                       "], [%bar]" + after + ";\n");
}

inline std::string store_of(const std::string& form, std::size_t count) {
  return tensor_kernel("  @%first cp" + form + " [%map, " + coordinates(count) + "], [%box];\n");
}

/// The arguments of tensor_kernel() after the map.
struct TensorArguments {
  Box* memory = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t begin = 0;
  At at{};
  std::array<std::uint16_t, 3> offsets{};
};

/// Runs the kernel. Returns the error's text.
inline std::string run_tensor(LoadedModule& module, const MapParameter& map, const TensorArguments& arguments,
                              LaunchChecks* checks = nullptr) {
  const LaunchShape shape{{1, 1, 1}, {32, 1, 1}};
  const Arguments all(map, arguments.memory, arguments.bytes, arguments.begin, arguments.at,
                      arguments.offsets);
  return text_of(module.launch("test", shape, all.bytes(), nullptr, nullptr, checks));
}

// ---------------------------------------------------------------- copies and their references

inline constexpr std::uint8_t untouched = 0xcd;

/// Random bytes for tensors.
struct alignas(256) TensorMemory {
  std::array<std::uint8_t, 1 << 17> bytes;
  TensorMemory() {
    std::mt19937 random(7);
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
  }
};

inline std::uint32_t size_of(const TensorMap& map, const std::vector<BoxElement>& elements) {
  return static_cast<std::uint32_t>(elements.size()) * bytes_of(map.element);
}

/// Loads a box and compares all bytes of shared memory and the number of bytes that the barrier gets: the
/// kernel waits forever if it is another one. `layout`: the types and swizzle of `elements`, if `map` has no
/// types of whole bytes.
inline void expect_load(const std::string& kernel, const TensorMap& map, std::vector<BoxElement> elements,
                        At at, std::uint32_t begin = 0, std::array<std::uint16_t, 3> offsets = {},
                        const TensorMap* layout = nullptr) {
  const auto module = load(kernel);
  ASSERT_NE(module, nullptr);
  if (layout == nullptr) layout = &map;
  Box box;
  box.bytes.fill(untouched);
  ASSERT_EQ(run_tensor(*module, MapParameter(map), {&box, size_of(*layout, elements), begin, at, offsets}),
            "");
  for (BoxElement& each : elements) each.shared += begin;
  EXPECT_TRUE(box.bytes == loaded(*layout, elements, untouched).bytes);
}

inline std::string tile_load(std::uint32_t rank) {
  return load_of(std::to_string(rank) + "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", rank);
}

/// Stores a box and compares all bytes of global memory.
inline void expect_store(const std::string& kernel, const TensorMap& map,
                         const std::vector<BoxElement>& elements, At at, TensorMemory& memory,
                         const TensorMap* layout = nullptr) {
  const auto module = load(kernel);
  ASSERT_NE(module, nullptr);
  Box box;
  std::iota(box.bytes.begin(), box.bytes.end(), std::uint8_t{0});
  std::vector<std::uint8_t> expected(memory.bytes.begin(), memory.bytes.end());
  store_elements(layout != nullptr ? *layout : map, elements, box, memory.bytes.data(), expected);
  ASSERT_EQ(run_tensor(*module, MapParameter(map), {&box, 0, 0, at, {}}), "");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.bytes.begin()));
}

/// Runs a kernel and returns the error's text.
inline std::string fault_of(const std::string& kernel, const MapParameter& map, TensorArguments arguments,
                            LaunchChecks* checks = nullptr) {
  const auto module = load(kernel);
  if (module == nullptr) return "no module";
  static Box box;
  arguments.memory = &box;
  return run_tensor(*module, map, arguments, checks);
}

}  // namespace lynxpp::device::cpu::test
