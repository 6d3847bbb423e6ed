#include "warpgroup_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

namespace lynxpp::device::cpu::test {
namespace {

constexpr unsigned group_threads = 128;
constexpr unsigned pattern_alignment = 1024;

bool is_integer(const std::string& type) { return type == "s8" || type == "u8" || type == "b1"; }

/// CuTe's Swizzle<log2(pieces), 4, 3>, or Swizzle<2, 5, 2> of pairs.
std::size_t swizzle(std::size_t offset, const OperandLayout& layout) {
  if (layout.pairs) return offset ^ ((offset >> 2) & (3 << 5));
  return offset ^ ((offset >> 3) & ((layout.pieces - 1) << 4));
}

/// The canonical layouts of the ISA, in elements; T elements are 16 bytes.
struct CanonicalLayout {
  OperandLayout layout;
  unsigned bits = 16;
  std::size_t leading = 0;  // bytes
  std::size_t stride = 0;

  std::size_t bit_offset(unsigned mn, unsigned k) const {
    const unsigned t = 128 / bits;
    const std::size_t w = layout.pieces;
    const std::size_t sbo = stride * 8 / bits;
    const std::size_t lbo = leading * 8 / bits;
    std::size_t element = 0;
    if (!layout.mn_major) {
      // ((8, m), (T, 2k)) : ((wT, SBO), (1, LBO or T))
      k += layout.k_begin * t;
      element = mn % 8 * w * t + mn / 8 * sbo + k % t + k / t * (w == 1 ? lbo : t);
    } else if (w == 1) {
      // ((T, 1, m), (8, k)) : ((1, T, SBO), (1T, LBO))
      element = mn % t + mn / t * sbo + std::size_t{k} % 8 * t + k / 8 * lbo;
    } else {
      // ((T, w, m), (8, k)) : ((1, T, LBO), (wT, SBO)); of pairs (4, k)
      const unsigned rows = layout.pairs ? 4 : 8;
      element = mn % t + mn / t % w * t + mn / (t * w) * lbo + k % rows * w * t + k / rows * sbo;
    }
    const std::size_t bit = element * bits;
    return swizzle(bit / 8, layout) * 8 + bit % 8;
  }
};

/// Returns the descriptor of a placed matrix.
std::uint64_t descriptor_of(const OperandLayout& layout, const PlacedMatrix& placed) {
  const std::uint64_t mode = layout.pieces == 1 ? 0 : layout.pieces == 8 ? 1 : layout.pieces == 4 ? 2 : 3;
  return descriptor_field(placed.begin) | descriptor_field(placed.leading) << 16 |
         descriptor_field(placed.stride) << 32 | std::uint64_t{layout.shift} << 49 | mode << 62;
}

/// Thread and position, in elements, of an element of D; `per_register`: 1 or 2.
struct ElementOfD {
  unsigned thread, word, half;
};
ElementOfD place_of_d(const WarpgroupCase& form, unsigned row, unsigned column) {
  const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
  const unsigned index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
  return form.d == "f16" ? ElementOfD{thread, index / 2, index % 2} : ElementOfD{thread, index, 0};
}

/// Metadata of chunks of four bits: two lanes of a group of four hold 16 bits of row g and of row g + 8, or,
/// of 8-bit elements, four lanes hold 32 bits each.
void put_metadata(const WarpgroupCase& form, const WarpgroupMatrices& in, WarpgroupOperands& operands) {
  const unsigned bits = bits_of_element(form.a);
  const unsigned per_chunk = bits == 32 ? 1 : 2;
  for (unsigned row = 0; row < warpgroup_rows; ++row) {
    for (unsigned chunk = 0; chunk < form.stored() / per_chunk; ++chunk) {
      const std::vector<unsigned>& at = in.positions[row];
      std::uint32_t nibble = 0;
      if (bits == 32)
        nibble = at[chunk] % 2 != 0 ? 0b1110 : 0b0100;
      else
        nibble = at[2 * chunk] % 4 | at[2 * chunk + 1] % 4 << 2;
      const unsigned upper = row % 16 / 8;
      const unsigned lane = bits == 8 ? upper + chunk / 8 * 2 : form.selector * 2 + chunk / 4;
      const unsigned shift = bits == 8 ? chunk % 8 * 4 : upper * 16 + chunk % 4 * 4;
      std::uint32_t& word = operands.metadata[row / 16 * 32 + row % 8 * 4 + lane];
      word = (word & ~(0xfu << shift)) | nibble << shift;
    }
  }
}

}  // namespace

PlacedMatrix place_matrix(std::vector<std::byte>& image, const OperandLayout& layout, unsigned bits,
                          unsigned mn_size, unsigned k_size, const ElementFunction& element) {
  const std::size_t pattern = std::size_t{layout.pieces} * (layout.pairs ? 64 : 128);
  const std::size_t next = pattern * (1 + layout.padding);
  CanonicalLayout canonical{layout, bits, next, next};
  const unsigned t = 128 / bits;
  // The two strides differ: the outer one skips all patterns along the inner dimension.
  if (!layout.mn_major) {
    if (layout.pieces == 1)
      canonical.stride = next * (k_size / t) + 16 * layout.padding;
    else
      canonical.leading = 16;  // unused
  } else if (layout.pieces == 1) {
    canonical.leading = next * (mn_size / t) + 16 * layout.padding;
  } else {
    canonical.stride = next * ((mn_size + t * layout.pieces - 1) / (t * layout.pieces));
  }
  const std::size_t begin = (image.size() + pattern_alignment - 1) / pattern_alignment * pattern_alignment +
                            std::size_t{layout.shift} * 128;
  for (unsigned mn = 0; mn < mn_size; ++mn) {
    for (unsigned k = 0; k < k_size; ++k) {
      const std::size_t bit = canonical.bit_offset(mn, k);
      const std::size_t byte = begin + bit / 8;
      image.resize(std::max(image.size(), byte + 4));
      const auto value = static_cast<std::uint64_t>(element(mn, k)) << (bit % 8);
      for (unsigned i = 0; i < std::max(8u, bits) / 8; ++i)
        image[byte + i] |= std::byte(value >> (8 * i) & 0xff);
    }
  }
  return {begin + 16 * layout.k_begin, canonical.leading, canonical.stride};
}

unsigned bits_of_element(const std::string& type) {
  if (type == "tf32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  return type == "b1" ? 1 : 8;
}

unsigned WarpgroupCase::k() const { return 256 / bits_of_element(a) * (is_sparse ? 2 : 1); }

std::string WarpgroupCase::opcode() const {
  return std::string("wgmma.mma_async") + (is_sparse ? ".sp" : "") + ".sync.aligned.m64n" +
         std::to_string(n) + "k" + std::to_string(k()) + (saturates ? ".satfinite." : ".") + d + "." + a +
         "." + b + (a == "b1" ? ".and.popc" : "");
}

double value_of_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

double value_of_element(const std::string& type, std::uint32_t bits) {
  if (type == "f16") return value_of_float(bits, 5, 10);
  if (type == "bf16") return value_of_float(bits, 8, 7);
  if (type == "tf32") return value_of_float(bits & 0xffffe000u, 8, 23);
  if (type == "f32") return std::bit_cast<float>(bits);
  if (type == "e4m3") return value_of_float(bits, 4, 3);
  if (type == "e5m2") return value_of_float(bits, 5, 2);
  if (type == "s8") return static_cast<std::int8_t>(bits);
  if (type == "s32") return static_cast<std::int32_t>(bits);
  return bits;
}

std::uint32_t encode_result(const std::string& type, bool saturates, double value) {
  if (type == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  using Limits = std::numeric_limits<std::int32_t>;
  if (saturates) value = std::clamp<double>(value, Limits::min(), Limits::max());
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
}

std::uint32_t random_element(const std::string& type, std::uint32_t random) {
  const std::uint32_t sign = random >> 31;
  const std::uint32_t exponent = random >> 24 & 15;
  if (type == "f16") return sign << 15 | (exponent + 7) << 10 | (random & 0x3ff);
  if (type == "bf16") return sign << 15 | (exponent + 120) << 7 | (random & 0x7f);
  if (type == "tf32" || type == "f32") return sign << 31 | (exponent + 120) << 23 | (random & 0x7fffff);
  if (type == "e4m3") return (random & 0x7f) == 0x7f ? random & 0x80 : random & 0xff;
  if (type == "e5m2") return (random & 0x7c) == 0x7c ? random & 0x83 : random & 0xff;
  if (type == "s32") return random;
  return random & (type == "b1" ? 1 : 0xff);
}

WarpgroupMatrices random_matrices(const WarpgroupCase& form, unsigned seed) {
  std::mt19937 random(seed);
  const auto matrix = [&](unsigned rows, unsigned columns, const std::string& type) {
    std::vector<std::vector<std::uint32_t>> made(rows, std::vector<std::uint32_t>(columns));
    for (auto& row : made) {
      for (std::uint32_t& element : row) element = random_element(type, static_cast<std::uint32_t>(random()));
    }
    return made;
  };
  WarpgroupMatrices made{matrix(warpgroup_rows, form.stored(), form.a),
                         matrix(form.k(), form.n, form.b),
                         matrix(warpgroup_rows, form.n, form.d),
                         {}};
  made.positions.resize(warpgroup_rows);
  const unsigned per_chunk = bits_of_element(form.a) == 32 ? 1 : 2;
  for (auto& row : made.positions) {
    for (unsigned index = 0; index < form.stored(); index += form.is_sparse ? per_chunk : 1) {
      if (!form.is_sparse) {
        row.push_back(index);
        continue;
      }
      std::set<unsigned> chosen;
      while (chosen.size() < per_chunk) chosen.insert(static_cast<unsigned>(random()) % (2 * per_chunk));
      for (const unsigned each : chosen) row.push_back(index * 2 + each);
    }
  }
  return made;
}

std::uint32_t expected_element(const WarpgroupCase& form, const WarpgroupMatrices& in, unsigned row,
                               unsigned column) {
  double sum = form.adds ? value_of_element(form.d, in.c[row][column]) : 0.0;
  const double sign = is_integer(form.a) ? 1 : form.scale_a * form.scale_b;
  for (unsigned index = 0; index < form.stored(); ++index)
    sum += sign * value_of_element(form.a, in.a[row][index]) *
           value_of_element(form.b, in.b[in.positions[row][index]][column]);
  return encode_result(form.d, form.saturates, sum);
}

WarpgroupOperands lay_out(const WarpgroupCase& form, const WarpgroupMatrices& in) {
  WarpgroupOperands made;
  const unsigned bits = bits_of_element(form.a);
  const unsigned run = std::max(1u, 32 / bits);
  made.a_words.resize(4 * group_threads);
  made.c_words.resize(form.registers_of_d() * group_threads);
  made.metadata.assign(group_threads, 0xe4b1'9c36);  // lanes that are not selected hold anything
  for (unsigned row = 0; row < warpgroup_rows; ++row) {
    for (unsigned k = 0; form.a_in_registers && k < form.stored(); ++k) {
      const unsigned thread = row / 16 * 32 + row % 8 * 4 + k / run % 4;
      const unsigned reg = k / (4 * run) * 2 + row % 16 / 8;
      made.a_words[reg * group_threads + thread] |= in.a[row][k] << (k % run * bits);
    }
    for (unsigned column = 0; column < form.n; ++column) {
      const ElementOfD at = place_of_d(form, row, column);
      made.c_words[at.word * group_threads + at.thread] |= in.c[row][column] << (16 * at.half);
    }
  }
  if (form.is_sparse) put_metadata(form, in, made);
  if (!form.a_in_registers)
    made.a = descriptor_of(form.layout_a,
                           place_matrix(made.image, form.layout_a, bits, warpgroup_rows, form.stored(),
                                        [&](unsigned row, unsigned k) { return in.a[row][k]; }));
  made.b = descriptor_of(form.layout_b,
                         place_matrix(made.image, form.layout_b, bits, form.n, form.k(),
                                      [&](unsigned column, unsigned k) { return in.b[k][column]; }));
  made.image.resize((made.image.size() + 15) / 16 * 16);
  return made;
}

std::string operand_list(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + std::to_string(i);
  return text + "}";
}

std::string image_copy(const std::string& index) {
  return "copy:\n  setp.lt.u32 %more, " + index + R"(, %words;
  @!%more bra copied;
  mul.wide.u32 %offset, )" +
         index + R"(, 4;
  add.u64 %offset, %image, %offset;
  ld.global.b32 %value, [%offset];
  mov.u32 %at, tile;
  mad.lo.u32 %at, )" +
         index + R"(, 4, %at;
  st.shared.b32 [%at], %value;
  add.u32 )" +
         index + ", " + index + R"(, 128;
  bra copy;
copied:
  fence.proxy.async.shared::cta;
)";
}

std::string descriptors_at_tile() {
  return R"(  mov.u32 %at, tile;
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %tile, %at;
  add.u64 %da, %da, %tile;
  add.u64 %db, %db, %tile;
)";
}

std::string warpgroup_kernel(const WarpgroupCase& form, const std::string& code) {
  const auto transfer = [](const char* name, unsigned count, bool loads, const char* base) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) {
      const std::string place = std::string("[") + base + "+" + std::to_string(i * group_threads * 4) + "]";
      const std::string value = name + std::to_string(i);
      text += loads ? "  ld.global.b32 " + value + ", " + place + ";\n"
                    : "  st.global.b32 " + place + ", " + value + ";\n";
    }
    return text;
  };
  std::string tail = form.is_sparse ? ", %meta, " + std::to_string(form.selector) : "";
  tail += ", %scale";
  if (!is_integer(form.a)) tail += ", " + std::to_string(form.scale_a) + ", " + std::to_string(form.scale_b);
  if (bits_of_element(form.a) == 16) {
    if (!form.a_in_registers) tail += form.layout_a.mn_major ? ", 1" : ", 0";
    tail += form.layout_b.mn_major ? ", 1" : ", 0";
  }
  const std::string product = "  " + form.opcode() + " " + operand_list("%d", form.registers_of_d()) + ", " +
                              (form.a_in_registers ? operand_list("%a", 4) : "%da") + ", %db" + tail + ";\n";
  return R"(.visible .entry test(.param .u64 out, .param .u64 image, .param .u32 words, .param .u64 c, .param .u64 a,
                     .param .u64 metadata, .param .u64 da, .param .u64 db, .param .u32 adds) {
  .shared .align 1024 .b8 tile[66560];
  .reg .b64 %out, %image, %c, %a, %m, %da, %db, %offset, %tile;
  .reg .b32 %t, %words, %at, %value, %adds, %meta, %a<4>, %d<128>;
  .reg .pred %scale, %more;
  ld.param.u64 %out, [out];
  ld.param.u64 %image, [image];
  ld.param.u32 %words, [words];
  ld.param.u64 %c, [c];
  ld.param.u64 %a, [a];
  ld.param.u64 %m, [metadata];
  ld.param.u64 %da, [da];
  ld.param.u64 %db, [db];
  ld.param.u32 %adds, [adds];
  setp.ne.u32 %scale, %adds, 0;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %offset, %t, 4;
  add.u64 %out, %out, %offset;
  add.u64 %c, %c, %offset;
  add.u64 %a, %a, %offset;
  add.u64 %m, %m, %offset;
  ld.global.b32 %meta, [%m];
)" + image_copy("%t") +
         "  bar.sync 0;\n" + descriptors_at_tile() + transfer("%a", 4, true, "%a") +
         transfer("%d", form.registers_of_d(), true, "%c") + "  wgmma.fence.sync.aligned;\n" +
         (code.empty() ? product : code) +
         "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n" +
         transfer("%d", form.registers_of_d(), false, "%out") + "  ret;\n}\n";
}

std::vector<std::uint32_t> run_warpgroup(const WarpgroupCase& form, const WarpgroupOperands& operands,
                                         const std::string& kernel, std::string* failure,
                                         LaunchChecks* checks) {
  std::vector<std::uint32_t> out(form.registers_of_d() * group_threads, 0xdead);
  const auto module = load(kernel);
  if (module == nullptr) return out;
  const Arguments arguments(out.data(), operands.image.data(),
                            static_cast<std::uint32_t>(operands.image.size() / 4), operands.c_words.data(),
                            operands.a_words.data(), operands.metadata.data(), operands.a, operands.b,
                            std::uint32_t{form.adds});
  const std::string text = text_of(module->launch("test", {{1, 1, 1}, {group_threads, 1, 1}, 0},
                                                  arguments.bytes(), nullptr, nullptr, checks));
  if (failure != nullptr)
    *failure = text;
  else
    EXPECT_EQ(text, "") << form.opcode();
  return out;
}

std::uint32_t element_of_d(const WarpgroupCase& form, const std::vector<std::uint32_t>& words, unsigned row,
                           unsigned column) {
  const ElementOfD at = place_of_d(form, row, column);
  const std::uint32_t word = words[at.word * group_threads + at.thread];
  return form.d == "f16" ? word >> (16 * at.half) & 0xffff : word;
}

void check_product(const WarpgroupCase& form, unsigned seed) {
  const WarpgroupMatrices in = random_matrices(form, seed);
  const std::vector<std::uint32_t> words = run_warpgroup(form, lay_out(form, in), warpgroup_kernel(form));
  for (unsigned row = 0; row < warpgroup_rows; ++row) {
    for (unsigned column = 0; column < form.n; ++column) {
      ASSERT_EQ(element_of_d(form, words, row, column), expected_element(form, in, row, column))
          << form.opcode() << " at row " << row << ", column " << column;
    }
  }
}

}  // namespace lynxpp::device::cpu::test
