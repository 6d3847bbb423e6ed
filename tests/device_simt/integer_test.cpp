// Integer instructions compared with host arithmetic.
#include "instruction_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using S16 = std::int16_t;
using U16 = std::uint16_t;
using S32 = std::int32_t;
using U32 = std::uint32_t;
using S64 = std::int64_t;
using U64 = std::uint64_t;
__extension__ using S128 = __int128;
__extension__ using U128 = unsigned __int128;

/// Programs may read registers that they have not written; runs must still be reproducible.
TEST(Integer, RegistersStartAtZeroInEveryLaunch) {
  const std::vector<U32> ones(64, ~U32{0});
  run_instruction<U32, U32, U32, U32>(
      "mov.b32 %t0, %a; mov.b32 %t1, %a; and.b32 %d, %t0, %t1; and.b32 %d, %d, %b;", ones, ones, ones);
  const std::vector<U32> sums = run_instruction<U32, U32, U32, U32>("or.b32 %d, %t0, %t1;", ones, ones, ones);
  EXPECT_EQ(sums, std::vector<U32>(64, 0));
}

TEST(Integer, AddsAndSubtracts) {
  check2<U32, U32, U32>("add.u32 %d, %a, %b;", [](U32 a, U32 b) { return a + b; });
  check2<U16, U16, U16>("add.s16 %d, %a, %b;", [](U16 a, U16 b) { return static_cast<U16>(a + b); });
  check2<U64, U64, U64>("sub.s64 %d, %a, %b;", [](U64 a, U64 b) { return a - b; });
  check2<S32, S32, S32>("add.sat.s32 %d, %a, %b;", [](S32 a, S32 b) {
    return static_cast<S32>(std::clamp<S64>(S64{a} + b, INT32_MIN, INT32_MAX));
  });
  check2<S32, S32, S32>("sub.sat.s32 %d, %a, %b;", [](S32 a, S32 b) {
    return static_cast<S32>(std::clamp<S64>(S64{a} - b, INT32_MIN, INT32_MAX));
  });
}

/// Applies `operation` to the low and the high halves.
template <typename Half, typename Operation>
U32 of_halves(U32 a, U32 b, Operation operation) {
  const auto half = [&](unsigned shift) {
    const auto result = operation(static_cast<Half>(a >> shift), static_cast<Half>(b >> shift));
    return U32{static_cast<U16>(result)} << shift;
  };
  return half(0) | half(16);
}

TEST(Integer, ComputesPairsOfHalves) {
  const auto sum = [](auto x, auto y) { return x + y; };
  const auto least = [](auto x, auto y) { return std::min(x, y); };
  const auto most = [](auto x, auto y) { return std::max(x, y); };
  check2<U32, U32, U32>("add.u16x2 %d, %a, %b;", [&](U32 a, U32 b) { return of_halves<U16>(a, b, sum); });
  check2<U32, U32, U32>("add.s16x2 %d, %a, %b;", [&](U32 a, U32 b) { return of_halves<S16>(a, b, sum); });
  check2<U32, U32, U32>("min.u16x2 %d, %a, %b;", [&](U32 a, U32 b) { return of_halves<U16>(a, b, least); });
  check2<U32, U32, U32>("max.s16x2 %d, %a, %b;", [&](U32 a, U32 b) { return of_halves<S16>(a, b, most); });
  check2<U32, U32, U32>("min.s16x2.relu %d, %a, %b;", [&](U32 a, U32 b) {
    return of_halves<S16>(a, b, [](S16 x, S16 y) { return std::max<S16>(std::min(x, y), 0); });
  });
}

TEST(Integer, CarriesThroughLongAdditions) {
  // Second 32-bit word of a multiword sum: (a, b) + (b, a) + (a, a).
  check2<U32, U32, U32>("add.cc.u32 %t0, %a, %b; addc.cc.u32 %t1, %b, %a; addc.u32 %d, %a, %a;",
                        [](U32 a, U32 b) {
                          const U64 low = (U64{b} << 32 | a) + (U64{a} << 32 | b);
                          const bool carry = low < (U64{b} << 32 | a);
                          return a + a + carry;
                        });
  check2<U32, U32, U32>("sub.cc.u32 %t0, %a, %b; subc.u32 %d, %b, %a;", [](U32 a, U32 b) {
    return static_cast<U32>(((U64{b} << 32 | a) - (U64{a} << 32 | b)) >> 32);
  });
  check3<U32, U32, U32, U32>(
      "mad.lo.cc.u32 %t0, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;",
      [](U32 a, U32 b, U32 c) { return static_cast<U32>((U64{a} * b + (U64{c} << 32 | c)) >> 32); });
}

/// `producer` sets the carry flag and `consumer` reads it, for 32 and 64 bits, in registers %t and %w.
template <typename T>
void check_carry(const std::string& producer, std::function<bool(T, T, T)> carry) {
  const std::string bits = std::to_string(sizeof(T) * 8);
  const std::string scratch = sizeof(T) == 4 ? "%t" : "%w";
  const auto with = [&](std::string consumer) {
    std::string code = producer + " " + consumer;
    const std::pair<std::string, std::string> places[] = {{"TYPE", bits}, {"SCRATCH", scratch}};
    for (const auto& [name, text] : places) {
      for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name))
        code.replace(at, name.size(), text);
    }
    return code;
  };
  __extension__ using W = unsigned __int128;
  constexpr unsigned width = sizeof(T) * 8;
  const auto flag = [&](T a, T b, T c) { return static_cast<T>(carry(a, b, c)); };
  check3<T, T, T, T>(with("addc.uTYPE %d, 0, 0;"), flag);
  check3<T, T, T, T>(with("subc.uTYPE %d, %b, %c;"),
                     [&](T a, T b, T c) { return static_cast<T>(b - c - (1 - flag(a, b, c))); });
  check3<T, T, T, T>(with("madc.hi.uTYPE %d, %b, %c, %a;"),
                     [&](T a, T b, T c) { return static_cast<T>((W{b} * c >> width) + a + flag(a, b, c)); });
  check3<T, T, T, T>(with("addc.cc.uTYPE SCRATCH1, %b, %c; addc.uTYPE %d, 0, 0;"),
                     [&](T a, T b, T c) { return static_cast<T>((W{b} + c + flag(a, b, c)) >> width); });
  check3<T, T, T, T>(with("subc.cc.uTYPE SCRATCH1, %b, %c; addc.uTYPE %d, 0, 0;"), [&](T a, T b, T c) {
    return static_cast<T>((W{b} + static_cast<T>(~c) + flag(a, b, c)) >> width);
  });
  check3<T, T, T, T>(with("madc.lo.cc.uTYPE SCRATCH1, %b, %c, %a; addc.uTYPE %d, 0, 0;"), [&](T a, T b, T c) {
    return static_cast<T>((W{static_cast<T>(b * c)} + a + flag(a, b, c)) >> width);
  });
}

template <typename T>
void check_carries() {
  __extension__ using W = unsigned __int128;
  constexpr unsigned width = sizeof(T) * 8;
  check_carry<T>("add.cc.uTYPE SCRATCH0, %a, %b;", [](T a, T b, T) { return (W{a} + b) >> width != 0; });
  // The flag after a subtraction is the carry of adding the complement: set if there is no borrow.
  check_carry<T>("sub.cc.uTYPE SCRATCH0, %a, %b;", [](T a, T b, T) { return a >= b; });
  check_carry<T>("sub.cc.sTYPE SCRATCH0, %a, %b;", [](T a, T b, T) { return a >= b; });
  check_carry<T>("mad.lo.cc.uTYPE SCRATCH0, %a, %b, %c;",
                 [](T a, T b, T c) { return (W{static_cast<T>(a * b)} + c) >> width != 0; });
  check_carry<T>("mad.hi.cc.uTYPE SCRATCH0, %a, %b, %c;",
                 [](T a, T b, T c) { return ((W{a} * b >> width) + c) >> width != 0; });
}

TEST(Integer, KeepsTheCarryOfSumsDifferencesAndProducts) {
  check_carries<U32>();
  check_carries<U64>();
}

TEST(Integer, Multiplies) {
  check2<U32, U32, U32>("mul.lo.s32 %d, %a, %b;", [](U32 a, U32 b) { return a * b; });
  check2<U32, U32, U32>("mul.hi.u32 %d, %a, %b;",
                        [](U32 a, U32 b) { return static_cast<U32>(U64{a} * b >> 32); });
  check2<S32, S32, S32>("mul.hi.s32 %d, %a, %b;",
                        [](S32 a, S32 b) { return static_cast<S32>(S64{a} * b >> 32); });
  check2<U64, U64, U64>("mul.hi.u64 %d, %a, %b;",
                        [](U64 a, U64 b) { return static_cast<U64>(U128{a} * b >> 64); });
  check2<S64, S64, S64>("mul.hi.s64 %d, %a, %b;",
                        [](S64 a, S64 b) { return static_cast<S64>(S128{a} * b >> 64); });
  check2<S64, S32, S32>("mul.wide.s32 %d, %a, %b;", [](S32 a, S32 b) { return S64{a} * b; });
  check2<U64, U32, U32>("mul.wide.u32 %d, %a, %b;", [](U32 a, U32 b) { return U64{a} * b; });
  check2<S32, S16, S16>("mul.wide.s16 %d, %a, %b;", [](S16 a, S16 b) { return S32{a} * b; });
  check3<U64, U32, U32, U64>("mad.wide.u32 %d, %a, %b, %c;",
                             [](U32 a, U32 b, U64 c) { return U64{a} * b + c; });
  check3<S32, S32, S32, S32>("mad.hi.sat.s32 %d, %a, %b, %c;", [](S32 a, S32 b, S32 c) {
    return static_cast<S32>(std::clamp<S64>((S64{a} * b >> 32) + c, INT32_MIN, INT32_MAX));
  });
  check3<U16, U16, U16, U16>("mad.lo.u16 %d, %a, %b, %c;",
                             [](U16 a, U16 b, U16 c) { return static_cast<U16>(U32{a} * b + c); });
  check2<U32, U32, U32>("mul24.lo.u32 %d, %a, %b;",
                        [](U32 a, U32 b) { return static_cast<U32>(U64{a & 0xffffff} * (b & 0xffffff)); });
  check2<S32, S32, S32>("mul24.hi.s32 %d, %a, %b;", [](S32 a, S32 b) {
    const S64 product = S64{a << 8 >> 8} * (b << 8 >> 8);
    return static_cast<S32>(product >> 16);
  });
}

template <typename T>
void check_division(const std::string& type) {
  check2<T, T, T>("div." + type + " %d, %a, %b;", [](T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(U64{0} - static_cast<U64>(a));
    return static_cast<T>(a / b);
  });
  check2<T, T, T>("rem." + type + " %d, %a, %b;", [](T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
    return static_cast<T>(a % b);
  });
}

TEST(Integer, Divides) {
  check_division<S32>("s32");
  check_division<U32>("u32");
  check_division<S64>("s64");
  check_division<U64>("u64");
  check_division<S16>("s16");
  check_division<U16>("u16");
}

TEST(Integer, ComparesAndSelects) {
  check2<S32, S32, S32>("min.s32 %d, %a, %b;", [](S32 a, S32 b) { return std::min(a, b); });
  check2<U32, U32, U32>("max.u32 %d, %a, %b;", [](U32 a, U32 b) { return std::max(a, b); });
  check2<S64, S64, S64>("max.s64 %d, %a, %b;", [](S64 a, S64 b) { return std::max(a, b); });
  check1<S32, S32>("abs.s32 %d, %a;",
                   [](S32 a) { return a < 0 ? static_cast<S32>(0u - static_cast<U32>(a)) : a; });
  check1<U64, U64>("neg.s64 %d, %a;", [](U64 a) { return U64{0} - a; });
  check3<S32, S32, S32, S32>("sad.s32 %d, %a, %b, %c;", [](S32 a, S32 b, S32 c) {
    return static_cast<S32>(static_cast<U32>(c) + static_cast<U32>(std::abs(S64{a} - b)));
  });
  check2<U32, S32, S32>("setp.lt.s32 %p, %a, %b; selp.b32 %d, 1, 0, %p;",
                        [](S32 a, S32 b) { return U32{a < b}; });
  check2<U32, U32, U32>("setp.hi.u32 %p, %a, %b; selp.u32 %d, 5, 9, %p;",
                        [](U32 a, U32 b) { return a > b ? 5u : 9u; });
  check2<U32, S64, S64>(
      "setp.ge.s64 %p|%q, %a, %b; selp.b32 %t0, 1, 0, %p; selp.b32 %t1, 2, 0, %q; or.b32 %d, %t0, %t1;",
      [](S64 a, S64 b) { return a >= b ? 1u : 2u; });
  check2<U32, U32, U32>(
      "setp.eq.u32 %p, %a, 0; setp.lt.and.u32 %q|%p, %a, %b, !%p; selp.b32 %t0, 1, 0, %q; selp.b32 %t1, 2, "
      "0, %p;"
      " or.b32 %d, %t0, %t1;",
      [](U32 a, U32 b) { return a == 0  ? 0u
                                : a < b ? 1u
                                        : 2u; });
  check2<U32, S32, S32>("set.le.u32.s32 %d, %a, %b;", [](S32 a, S32 b) { return a <= b ? ~0u : 0u; });
  check3<U32, U32, U32, S32>("slct.u32.s32 %d, %a, %b, %c;",
                             [](U32 a, U32 b, S32 c) { return c >= 0 ? a : b; });
}

TEST(Integer, DoesLogic) {
  check2<U32, U32, U32>("and.b32 %d, %a, %b;", [](U32 a, U32 b) { return a & b; });
  check2<U64, U64, U64>("xor.b64 %d, %a, %b;", [](U64 a, U64 b) { return a ^ b; });
  check1<U16, U16>("not.b16 %d, %a;", [](U16 a) { return static_cast<U16>(~a); });
  check1<U32, U32>("cnot.b32 %d, %a;", [](U32 a) { return U32{a == 0}; });
  check3<U32, U32, U32, U32>("lop3.b32 %d, %a, %b, %c, 0xE8;",
                             [](U32 a, U32 b, U32 c) { return (a & b) | (b & c) | (a & c); });
  check3<U32, U32, U32, U32>("lop3.b32 %d, %a, %b, %c, 0x96;", [](U32 a, U32 b, U32 c) { return a ^ b ^ c; });
  check2<U32, U32, U32>(
      "setp.ne.u32 %p, %a, 0; setp.ne.u32 %q, %b, 1; xor.pred %p, %p, %q; not.pred %q, %p;"
      " selp.u32 %d, 3, 4, %q;",
      [](U32 a, U32 b) { return (a != 0) != (b != 1) ? 4u : 3u; });
}

TEST(Integer, ShiftsWithClamping) {
  check2<U32, U32, U32>("shl.b32 %d, %a, %b;", [](U32 a, U32 b) { return b >= 32 ? 0 : a << b; });
  check2<U64, U64, U32>("shr.u64 %d, %a, %b;", [](U64 a, U32 b) { return b >= 64 ? 0 : a >> b; });
  check2<S32, S32, U32>("shr.s32 %d, %a, %b;", [](S32 a, U32 b) { return a >> std::min(b, 31u); });
  check2<S16, S16, U32>("shr.s16 %d, %a, %b;",
                        [](S16 a, U32 b) { return static_cast<S16>(a >> std::min(b, 15u)); });
  check3<U32, U32, U32, U32>("shf.l.wrap.b32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    return static_cast<U32>(((U64{b} << 32 | a) << (c & 31)) >> 32);
  });
  check3<U32, U32, U32, U32>("shf.r.clamp.b32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    return static_cast<U32>((U64{b} << 32 | a) >> std::min(c, 32u));
  });
}

TEST(Integer, CountsBits) {
  check1<U32, U32>("popc.b32 %d, %a;", [](U32 a) { return static_cast<U32>(std::popcount(a)); });
  check1<U32, U64>("popc.b64 %d, %a;", [](U64 a) { return static_cast<U32>(std::popcount(a)); });
  check1<U32, U32>("clz.b32 %d, %a;", [](U32 a) { return static_cast<U32>(std::countl_zero(a)); });
  check1<U32, U64>("clz.b64 %d, %a;", [](U64 a) { return static_cast<U32>(std::countl_zero(a)); });
  check1<U32, U32>("bfind.u32 %d, %a;", [](U32 a) { return a == 0 ? ~0u : 31u - std::countl_zero(a); });
  check1<U32, S32>("bfind.s32 %d, %a;", [](S32 a) {
    const U32 bits = static_cast<U32>(a < 0 ? ~a : a);
    return bits == 0 ? ~0u : 31u - std::countl_zero(bits);
  });
  check1<U32, U64>("bfind.shiftamt.u64 %d, %a;",
                   [](U64 a) { return a == 0 ? ~0u : U32(std::countl_zero(a)); });
  check1<U32, U32>("brev.b32 %d, %a;", [](U32 a) {
    U32 result = 0;
    for (int i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
    return result;
  });
}

/// bfe as the PTX manual defines it for positions and lengths from 0 to 255; beyond that, as an H200 computes
/// it.
template <typename T>
T extract(T a, U32 position, U32 length) {
  constexpr int top = sizeof(T) * 8 - 1;
  const auto restricted = [](U32 number) {
    return static_cast<int>(sizeof(T) == 8 ? std::min(number, 255u) : number & 255);
  };
  const int begin = restricted(position);
  const int size = restricted(length);
  const bool sign =
      std::is_unsigned_v<T> || size == 0 ? false : (a >> std::min(begin + size - 1, top) & 1) != 0;
  T result = 0;
  for (int i = 0; i <= top; ++i) {
    const bool bit = i < size && begin + i <= top ? (a >> (begin + i) & 1) != 0 : sign;
    if (bit) result = static_cast<T>(result | T{1} << i);
  }
  return result;
}

TEST(Integer, MovesBitFields) {
  check3<U32, U32, U32, U32>("bfe.u32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) { return extract(a, b, c); });
  check3<S32, S32, U32, U32>("bfe.s32 %d, %a, %b, %c;", [](S32 a, U32 b, U32 c) { return extract(a, b, c); });
  check3<S64, S64, U32, U32>("bfe.s64 %d, %a, %b, %c;", [](S64 a, U32 b, U32 c) { return extract(a, b, c); });
  check2<U32, U32, U32>("bfi.b32 %d, %a, %b, 5, 9;",
                        [](U32 a, U32 b) { return (b & ~(0x1ffu << 5)) | (a & 0x1ff) << 5; });
  check2<U64, U64, U64>("bfi.b64 %d, %a, %b, 60, 9;",
                        [](U64 a, U64 b) { return (b & ~(U64{0xf} << 60)) | (a & 0xf) << 60; });
  check1<U32, U32>("bmsk.clamp.b32 %d, 4, %a;",
                   [](U32 a) { return static_cast<U32>(((U64{1} << std::min(a, 32u)) - 1) << 4); });
  check1<S32, U32>("szext.wrap.s32 %d, %a, 8;", [](U32 a) { return S32{static_cast<std::int8_t>(a)}; });
  // The second set bit from bit 0 upwards.
  check1<U32, U32>("fns.b32 %d, %a, 0, 2;", [](U32 a) {
    a &= a - (a != 0);
    return a == 0 ? ~0u : static_cast<U32>(std::countr_zero(a));
  });
}

TEST(Integer, PermutesBytes) {
  check3<U32, U32, U32, U32>("prmt.b32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    U32 result = 0;
    for (int i = 0; i < 4; ++i) {
      const U32 select = c >> (4 * i) & 15;
      U32 byte = static_cast<U32>((U64{b} << 32 | a) >> (8 * (select & 7))) & 0xff;
      if (select & 8) byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  });
  check2<U32, U32, U32>("prmt.b32.f4e %d, %a, %b, 1;", [](U32 a, U32 b) { return a >> 8 | b << 24; });
  check2<U32, U32, U32>("prmt.b32.rc16 %d, %a, %b, 1;",
                        [](U32 a, U32) { return a >> 16 | (a & 0xffff0000u); });
}

TEST(Integer, MultipliesBytesAndAccumulates) {
  check3<S32, U32, U32, S32>("dp4a.s32.u32 %d, %a, %b, %c;", [](U32 a, U32 b, S32 c) {
    U32 sum = static_cast<U32>(c);
    for (int i = 0; i < 4; ++i) {
      sum +=
          static_cast<U32>(static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::uint8_t>(b >> (8 * i)));
    }
    return static_cast<S32>(sum);
  });
  check3<U32, U32, U32, U32>("dp2a.hi.u32.u32 %d, %a, %b, %c;", [](U32 a, U32 b, U32 c) {
    return c + (a & 0xffff) * (b >> 16 & 0xff) + (a >> 16) * (b >> 24);
  });
}

TEST(Integer, ConvertsBetweenWidths) {
  check1<S64, S32>("cvt.s64.s32 %d, %a;", [](S32 a) { return S64{a}; });
  check1<U64, U32>("cvt.u64.u32 %d, %a;", [](U32 a) { return U64{a}; });
  check1<U16, U64>("cvt.u16.u64 %d, %a;", [](U64 a) { return static_cast<U16>(a); });
  check1<S32, S32>("cvt.s32.s8 %d, %a;", [](S32 a) { return S32{static_cast<std::int8_t>(a)}; });
  check1<S32, S64>("cvt.sat.s32.s64 %d, %a;",
                   [](S64 a) { return static_cast<S32>(std::clamp<S64>(a, INT32_MIN, INT32_MAX)); });
  check1<U32, S64>("cvt.sat.u32.s64 %d, %a;",
                   [](S64 a) { return static_cast<U32>(std::clamp<S64>(a, 0, UINT32_MAX)); });
  check1<S64, U64>("cvt.sat.s64.u64 %d, %a;",
                   [](U64 a) { return static_cast<S64>(std::min<U64>(a, INT64_MAX)); });
  check1<U64, S64>("cvt.sat.u64.s64 %d, %a;", [](S64 a) { return static_cast<U64>(std::max<S64>(a, 0)); });
  check1<U32, S32>("cvt.sat.u8.s32 %d, %a;", [](S32 a) { return static_cast<U32>(std::clamp(a, 0, 255)); });
}

TEST(Integer, PacksAndUnpacks) {
  check2<U64, U32, U32>("mov.b64 %d, {%a, %b};", [](U32 a, U32 b) { return U64{b} << 32 | a; });
  check1<U32, U64>("mov.b64 {%t0, %d}, %a;", [](U64 a) { return static_cast<U32>(a >> 32); });
  check1<U32, U32>("mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0};",
                   [](U32 a) { return a << 16 | a >> 16; });
  check1<U64, U64>("mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %d, {%h3, %h2, %h1, %h0};", [](U64 a) {
    return (a >> 48) | (a >> 16 & 0xffff0000u) | (a << 16 & 0xffff'0000'0000u) | a << 48;
  });
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
