// Integer, bit, directed-rounding and transcendental operations, one lane at a time.
#include "device/cpu/simt/lanes/lane_functions.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "device/cpu/simt/lanes/half.h"
#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

using Table = std::map<std::string, LaneOperation, std::less<>>;

// ---------------------------------------------------------------- integers

/// Division by zero yields a quotient with all bits set and the dividend as remainder, as on hardware.
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(T{0} - static_cast<std::make_unsigned_t<T>>(a));
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};

/// Position of the most significant bit that differs from the sign bit (of the most significant set bit if
/// unsigned); all ones if no such bit exists.
template <typename T, bool shift_amount>
struct BitFind {
  std::uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U bits = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0) bits = static_cast<U>(~bits);
    if (bits == 0) return ~0u;
    const auto leading = static_cast<std::uint32_t>(std::countl_zero(bits));
    return shift_amount ? leading : std::numeric_limits<U>::digits - 1 - leading;
  }
};

/// bfe: extracts `length` bits from `position`; bits past the top are copies of the field's sign bit (0 if
/// unsigned). The ISA restricts both operands to 0 to 255. For larger values an H200 uses the low 8 bits in
/// 32-bit instructions and the full value in 64-bit instructions.
template <typename T>
struct BitFieldExtract {
  T operator()(T a, std::uint32_t position, std::uint32_t length) const {
    constexpr std::uint32_t top = std::numeric_limits<std::make_unsigned_t<T>>::digits - 1;
    const auto restricted = [](std::uint32_t number) {
      return sizeof(T) == 8 ? std::min(number, 255u) : number & 255;
    };
    position = restricted(position);
    length = restricted(length);
    if (length == 0) return 0;
    const std::uint32_t sign_position = std::min(position + length - 1, top);
    const bool sign = std::is_signed_v<T> && (a >> sign_position & 1) != 0;
    std::make_unsigned_t<T> result = 0;
    for (std::uint32_t i = 0; i <= top; ++i) {
      const bool in_field = i < length && position + i <= top;
      const bool bit = in_field ? (a >> (position + i) & 1) != 0 : sign;
      result |= static_cast<std::make_unsigned_t<T>>(bit) << i;
    }
    return static_cast<T>(result);
  }
};

/// bfi: the low bits of a replace a field of b. `field` is position + 256 × length.
template <typename T>
struct BitFieldInsert {
  T operator()(T a, T b, std::uint32_t field) const {
    constexpr std::uint32_t width = std::numeric_limits<T>::digits;
    const std::uint32_t position = field & 0xff;
    const std::uint32_t length = field >> 8 & 0xff;
    for (std::uint32_t i = 0; i < length && position + i < width; ++i) {
      const T bit = T{1} << (position + i);
      b = (a >> i & 1) != 0 ? b | bit : b & ~bit;
    }
    return b;
  }
};

/// fns: finds the n-th set bit from `base` upwards (n > 0) or downwards (n < 0).
struct FindNthSet {
  std::uint32_t operator()(std::uint32_t mask, std::uint32_t base, std::int32_t n) const {
    if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    std::int64_t left = n > 0 ? n : -static_cast<std::int64_t>(n);
    for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
      if ((mask >> at & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
    }
    return ~0u;
  }
};

template <typename T, bool clamp>
struct SignZeroExtend {
  T operator()(T a, std::uint32_t bits) const {
    if (clamp && bits >= 32) return a;
    bits &= 31;
    if (bits == 0) return 0;
    const auto shifted = static_cast<std::uint32_t>(a) << (32 - bits);
    return static_cast<T>(static_cast<T>(shifted) >> (32 - bits));
  }
};

template <bool clamp>
struct BitMask {
  std::uint32_t operator()(std::uint32_t position, std::uint32_t width) const {
    if (clamp) {
      position = std::min(position, 32u);
      width = std::min(width, 32u);
    } else {
      position &= 31;
      width &= 31;
    }
    const std::uint64_t ones = (std::uint64_t{1} << width) - 1;
    return static_cast<std::uint32_t>(ones << position);
  }
};

enum class PermuteMode { index, f4e, b4e, rc8, ecl, ecr, rc16 };

template <PermuteMode mode>
struct Permute {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t control) const {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    const std::uint32_t c = control & 3;
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t selector = control >> (4 * i) & 0xf;
      if constexpr (mode == PermuteMode::f4e) selector = c + i;
      if constexpr (mode == PermuteMode::b4e) selector = (c + 8 - i) & 7;
      if constexpr (mode == PermuteMode::rc8) selector = c;
      if constexpr (mode == PermuteMode::ecl) selector = std::max(i, c);
      if constexpr (mode == PermuteMode::ecr) selector = std::min(i, c);
      if constexpr (mode == PermuteMode::rc16) selector = (c & 1) * 2 + (i & 1);
      std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (selector & 7))) & 0xff;
      if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

template <bool a_signed, bool b_signed>
struct DotProduct4 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int i = 0; i < 4; ++i) {
      const auto byte = [i](std::uint32_t word, bool sign) -> std::uint32_t {
        const auto value = static_cast<std::uint8_t>(word >> (8 * i));
        return sign ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value)) : value;
      };
      c += byte(a, a_signed) * byte(b, b_signed);
    }
    return c;
  }
};

template <bool a_signed, bool b_signed, bool high>
struct DotProduct2 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int i = 0; i < 2; ++i) {
      const auto half = static_cast<std::uint16_t>(a >> (16 * i));
      const auto byte = static_cast<std::uint8_t>(b >> (8 * (i + (high ? 2 : 0))));
      const std::uint32_t x = a_signed ? static_cast<std::uint32_t>(static_cast<std::int16_t>(half)) : half;
      const std::uint32_t y = b_signed ? static_cast<std::uint32_t>(static_cast<std::int8_t>(byte)) : byte;
      c += x * y;
    }
    return c;
  }
};

template <typename T>
void add_integers(Table& table, const std::string& type) {
  table["div." + type] = binary<T, T, T, Divide>();
  table["rem." + type] = binary<T, T, T, Remainder>();
}

template <typename T>
void add_bit_operations(Table& table, const std::string& type) {
  table["bfind." + type] = unary<std::uint32_t, T, BitFind<T, false>>();
  table["bfind.shiftamt." + type] = unary<std::uint32_t, T, BitFind<T, true>>();
  table["bfe." + type] = ternary<T, T, std::uint32_t, std::uint32_t, BitFieldExtract<T>>();
}

template <bool a_signed, bool b_signed>
void add_dot_products(Table& table) {
  const std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
  using U = std::uint32_t;
  table["dp4a" + types] = ternary<U, U, U, U, DotProduct4<a_signed, b_signed>>();
  table["dp2a.lo" + types] = ternary<U, U, U, U, DotProduct2<a_signed, b_signed, false>>();
  table["dp2a.hi" + types] = ternary<U, U, U, U, DotProduct2<a_signed, b_signed, true>>();
}

void add_integer_table(Table& table) {
  using U = std::uint32_t;
  add_integers<std::int16_t>(table, "s16");
  add_integers<std::uint16_t>(table, "u16");
  add_integers<std::int32_t>(table, "s32");
  add_integers<U>(table, "u32");
  add_integers<std::int64_t>(table, "s64");
  add_integers<std::uint64_t>(table, "u64");
  add_bit_operations<std::int32_t>(table, "s32");
  add_bit_operations<U>(table, "u32");
  add_bit_operations<std::int64_t>(table, "s64");
  add_bit_operations<std::uint64_t>(table, "u64");
  table["bfi.b32"] = ternary<U, U, U, U, BitFieldInsert<U>>();
  table["bfi.b64"] = ternary<std::uint64_t, std::uint64_t, std::uint64_t, U, BitFieldInsert<std::uint64_t>>();
  table["fns.b32"] = ternary<U, U, U, std::int32_t, FindNthSet>();
  table["szext.clamp.s32"] = binary<std::int32_t, std::int32_t, U, SignZeroExtend<std::int32_t, true>>();
  table["szext.clamp.u32"] = binary<U, U, U, SignZeroExtend<U, true>>();
  table["szext.wrap.s32"] = binary<std::int32_t, std::int32_t, U, SignZeroExtend<std::int32_t, false>>();
  table["szext.wrap.u32"] = binary<U, U, U, SignZeroExtend<U, false>>();
  table["bmsk.clamp.b32"] = binary<U, U, U, BitMask<true>>();
  table["bmsk.wrap.b32"] = binary<U, U, U, BitMask<false>>();
  table["prmt"] = ternary<U, U, U, U, Permute<PermuteMode::index>>();
  table["prmt.f4e"] = ternary<U, U, U, U, Permute<PermuteMode::f4e>>();
  table["prmt.b4e"] = ternary<U, U, U, U, Permute<PermuteMode::b4e>>();
  table["prmt.rc8"] = ternary<U, U, U, U, Permute<PermuteMode::rc8>>();
  table["prmt.ecl"] = ternary<U, U, U, U, Permute<PermuteMode::ecl>>();
  table["prmt.ecr"] = ternary<U, U, U, U, Permute<PermuteMode::ecr>>();
  table["prmt.rc16"] = ternary<U, U, U, U, Permute<PermuteMode::rc16>>();
  add_dot_products<false, false>(table);
  add_dot_products<false, true>(table);
  add_dot_products<true, false>(table);
  add_dot_products<true, true>(table);
}

// ---------------------------------------------------------------- directed rounding

/// Runs `operation` in a rounding mode. Operands and result go through volatile objects, so that the compiler
/// cannot move the operation across the mode changes.
template <int mode, typename T, typename... A>
T rounded(T (*operation)(A...), A... operands) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile T result = operation(static_cast<A>(*static_cast<volatile A*>(&operands))...);
  std::fesetround(before);
  return result;
}

template <typename T, int mode>
void add_rounded_arithmetic(Table& table, const std::string& suffix) {
  struct Add {
    T operator()(T a, T b) const {
      return rounded<mode>(
          +[](T x, T y) { return x + y; }, a, b);
    }
  };
  struct Sub {
    T operator()(T a, T b) const {
      return rounded<mode>(
          +[](T x, T y) { return x - y; }, a, b);
    }
  };
  struct Mul {
    T operator()(T a, T b) const {
      return rounded<mode>(
          +[](T x, T y) { return x * y; }, a, b);
    }
  };
  struct Div {
    T operator()(T a, T b) const {
      return rounded<mode>(
          +[](T x, T y) { return x / y; }, a, b);
    }
  };
  struct Fma {
    T operator()(T a, T b, T c) const {
      return rounded<mode>(
          +[](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c);
    }
  };
  table["add" + suffix] = binary<T, T, T, Add>();
  table["sub" + suffix] = binary<T, T, T, Sub>();
  table["mul" + suffix] = binary<T, T, T, Mul>();
  table["div" + suffix] = binary<T, T, T, Div>();
  table["fma" + suffix] = ternary<T, T, T, T, Fma>();
}

template <typename T, int mode>
void add_rounded_roots(Table& table, const std::string& suffix) {
  struct Sqrt {
    T operator()(T a) const {
      return rounded<mode>(
          +[](T x) { return std::sqrt(x); }, a);
    }
  };
  struct Rcp {
    T operator()(T a) const {
      return rounded<mode>(
          +[](T x) { return T{1} / x; }, a);
    }
  };
  table["sqrt" + suffix] = unary<T, T, Sqrt>();
  table["rcp" + suffix] = unary<T, T, Rcp>();
}

template <typename T, int mode>
void add_rounded_conversions(Table& table, const std::string& suffix) {
  struct FromSigned {
    T operator()(std::int64_t a) const {
      return rounded<mode>(
          +[](std::int64_t x) { return static_cast<T>(x); }, a);
    }
  };
  struct FromUnsigned {
    T operator()(std::uint64_t a) const { return unsigned_to_float<T>(a, mode); }
  };
  table["cvt" + suffix + ".s64"] = unary<T, std::int64_t, FromSigned>();
  table["cvt" + suffix + ".u64"] = unary<T, std::uint64_t, FromUnsigned>();
}

template <typename T, int mode>
void add_rounded(Table& table, const std::string& suffix) {
  add_rounded_arithmetic<T, mode>(table, suffix);
  add_rounded_roots<T, mode>(table, suffix);
  add_rounded_conversions<T, mode>(table, suffix);
}

template <int mode>
void add_rounding_mode(Table& table, const std::string& name) {
  struct Narrow {
    float operator()(double a) const {
      return rounded<mode>(
          +[](double x) { return static_cast<float>(x); }, a);
    }
  };
  add_rounded<float, mode>(table, "." + name + ".f32");
  add_rounded<double, mode>(table, "." + name + ".f64");
  table["cvt." + name + ".f32.f64"] = unary<float, double, Narrow>();
}

// ---------------------------------------------------------------- approximations

struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Sine {
  float operator()(float a) const { return std::sin(a); }
};
struct Cosine {
  float operator()(float a) const { return std::cos(a); }
};
struct HyperbolicTangent {
  float operator()(float a) const { return std::tanh(a); }
};
struct InverseRoot {
  float operator()(float a) const { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
  double operator()(double a) const { return 1.0 / std::sqrt(a); }
};

void add_approximations(Table& table) {
  table["ex2.f32"] = unary<float, float, Exp2>();
  table["lg2.f32"] = unary<float, float, Log2>();
  table["sin.f32"] = unary<float, float, Sine>();
  table["cos.f32"] = unary<float, float, Cosine>();
  table["tanh.f32"] = unary<float, float, HyperbolicTangent>();
  table["rsqrt.f32"] = unary<float, float, InverseRoot>();
  table["rsqrt.f64"] = unary<double, double, InverseRoot>();
}

Table build() {
  Table table;
  add_integer_table(table);
  add_rounding_mode<FE_TOWARDZERO>(table, "rz");
  add_rounding_mode<FE_DOWNWARD>(table, "rm");
  add_rounding_mode<FE_UPWARD>(table, "rp");
  add_approximations(table);
  add_half_operations(table);
  return table;
}

struct Wide {
  std::uint64_t halves[2];
};

template <typename T>
void merge(void* place, const void* values, std::uint32_t mask) {
  for_each_lane(
      mask, [=](std::uint32_t lane) { static_cast<T*>(place)[lane] = static_cast<const T*>(values)[lane]; });
}

}  // namespace

MergeFunction find_merge(unsigned bytes) {
  switch (bytes) {
    case 1: return merge<std::uint8_t>;
    case 2: return merge<std::uint16_t>;
    case 4: return merge<std::uint32_t>;
    case 8: return merge<std::uint64_t>;
    case 16: return merge<Wide>;
    default: return nullptr;
  }
}

const LaneOperation* find_lane_operation(std::string_view key) {
  static const Table table = build();
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace lynxpp::device::cpu
