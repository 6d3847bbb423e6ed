// Compiled with -frounding-math and without contraction: rounding modes are those of the host.
#include <cfenv>
#include <cmath>
#include <limits>

#include "operations.h"
#include "words.h"

namespace lynxpp::random_ptx {
namespace {

struct Rounding {
  const char* name;
  int mode;
};
constexpr Rounding roundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

/// Computes f in a rounding mode.
template <typename F>
auto rounded(int mode, const F& f) {
  std::fesetround(mode);
  const volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return static_cast<decltype(f())>(result);
}

/// Double precision preserves NaN payloads, which differ: values are clamped to exclude NaNs and infinities.
constexpr double largest = 1e300;
double clamped(double value) {
  return value != value ? largest : std::fmax(std::fmin(value, largest), -largest);
}

/// `text` computes %z.
std::string clamping(const std::string& text) {
  return "{ .reg .f64 %z; " + text +
         " min.f64 %z, %z, 0d7E37E43C8800759C; max.f64 $0, %z, 0dFE37E43C8800759C; }";
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

void add_singles(std::vector<Operation>& all) {
  for (const bool flushes : {false, true}) {
    const auto in_of = [flushes](Word word) {
      return flushes ? flushed(from<float>(word)) : from<float>(word);
    };
    const auto out_of = [flushes](float value) { return to(flushes ? flushed(value) : value); };
    for (const Rounding& each : roundings) {
      const int mode = each.mode;
      const std::string suffix = "." + std::string(each.name) + (flushes ? ".ftz" : "") + ".f32 ";
      const auto push = [&](const std::string& opcode, auto f) {
        all.push_back({opcode + suffix + "$0, $1, $2;", "f", "ff", [=](const Word* in, Word* out, bool&) {
                         const volatile float a = in_of(in[0]);
                         const volatile float b = in_of(in[1]);
                         out[0] = out_of(rounded(mode, [&] { return f(a, b); }));
                       }});
      };
      push("add", [](float a, float b) { return a + b; });
      push("sub", [](float a, float b) { return a - b; });
      push("mul", [](float a, float b) { return a * b; });
      if (!flushes) push("div", [](float a, float b) { return a / b; });
      all.push_back({"fma" + suffix + "$0, $1, $2, $3;", "f", "fff", [=](const Word* in, Word* out, bool&) {
                       const volatile float a = in_of(in[0]);
                       const volatile float b = in_of(in[1]);
                       const volatile float c = in_of(in[2]);
                       out[0] = out_of(rounded(mode, [&] { return std::fma(a, b, c); }));
                     }});
    }
  }
  all.push_back({"sqrt.rn.f32 $0, $1;", "f", "f",
                 [](const Word* in, Word* out, bool&) { out[0] = to(std::sqrt(from<float>(in[0]))); }});
}

void add_doubles(std::vector<Operation>& all) {
  for (const Rounding& each : roundings) {
    const int mode = each.mode;
    const std::string suffix = "." + std::string(each.name) + ".f64 %z, ";
    const auto push = [&](const std::string& opcode, auto f) {
      all.push_back({clamping(opcode + suffix + "$1, $2;"), "g", "gg", [=](const Word* in, Word* out, bool&) {
                       const volatile double a = from<double>(in[0]);
                       const volatile double b = from<double>(in[1]);
                       out[0] = to(clamped(rounded(mode, [&] { return f(a, b); })));
                     }});
    };
    push("add", [](double a, double b) { return a + b; });
    push("sub", [](double a, double b) { return a - b; });
    push("mul", [](double a, double b) { return a * b; });
    all.push_back(
        {clamping("fma" + suffix + "$1, $2, $3;"), "g", "ggg", [=](const Word* in, Word* out, bool&) {
           const volatile double a = from<double>(in[0]);
           const volatile double b = from<double>(in[1]);
           const volatile double c = from<double>(in[2]);
           out[0] = to(clamped(rounded(mode, [&] { return std::fma(a, b, c); })));
         }});
  }
  all.push_back({"neg.f64 $0, $1;", "g", "g",
                 [](const Word* in, Word* out, bool&) { out[0] = to(-from<double>(in[0])); }});
  all.push_back({"abs.f64 $0, $1;", "g", "g",
                 [](const Word* in, Word* out, bool&) { out[0] = to(std::fabs(from<double>(in[0]))); }});
}

/// Returns the operand that is not a NaN; +0 is larger than -0.
template <typename T>
T least(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
void add_comparisons(std::vector<Operation>& all) {
  const char type = register_type<T>();
  static constexpr const char* names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "num",
                                          "equ", "neu", "ltu", "leu", "gtu", "geu", "nan"};
  for (int which = 0; which < 14; ++which) {
    all.push_back({"setp." + std::string(names[which]) + "." + type_name<T>() + " $0, $1, $2;",
                   "p",
                   {type, type},
                   [which](const Word* in, Word* out, bool&) {
                     const T a = from<T>(in[0]);
                     const T b = from<T>(in[1]);
                     const bool is_unordered = a != a || b != b;
                     const int order = which % 7;
                     const bool holds = order == 0   ? a == b
                                        : order == 1 ? a < b || a > b
                                        : order == 2 ? a < b
                                        : order == 3 ? a <= b
                                        : order == 4 ? a > b
                                        : order == 5 ? a >= b
                                                     : which == 6 && !is_unordered;
                     out[0] = is_unordered ? which >= 7 : holds;
                   }});
  }
  all.push_back(
      {"min." + type_name<T>() + " $0, $1, $2;", {type}, {type, type}, [](const Word* in, Word* out, bool&) {
         out[0] = to(least(from<T>(in[0]), from<T>(in[1])));
       }});
  all.push_back(
      {"max." + type_name<T>() + " $0, $1, $2;", {type}, {type, type}, [](const Word* in, Word* out, bool&) {
         out[0] = to(T(-least(T(-from<T>(in[0])), T(-from<T>(in[1])))));
       }});
  all.push_back({"selp." + type_name<T>() + " $0, $1, $2, $3;",
                 {type},
                 {type, type, 'p'},
                 [](const Word* in, Word* out, bool&) { out[0] = in[2] != 0 ? in[0] : in[1]; }});
}

/// Converts to an integer, saturating; a NaN becomes 0.
template <typename I, typename T>
I integer_of(T value) {
  if (value != value) return 0;
  const T past = std::ldexp(T(1), static_cast<int>(bits_of<I>) - (std::is_signed_v<I> ? 1 : 0));
  if (value >= past) return std::numeric_limits<I>::max();
  if (value < (std::is_signed_v<I> ? -past : T(0))) return std::numeric_limits<I>::min();
  return static_cast<I>(value);
}

template <typename I>
void add_conversions_of(std::vector<Operation>& all) {
  const char type = register_type<I>();
  const std::string name = type_name<I>();
  for (const Rounding& each : roundings) {
    const int mode = each.mode;
    const std::string rounding = "cvt." + std::string(each.name);
    all.push_back(
        {rounding + ".f32." + name + " $0, $1;", "f", {type}, [mode](const Word* in, Word* out, bool&) {
           const volatile I value = from<I>(in[0]);
           out[0] = to(rounded(mode, [&] { return static_cast<float>(value); }));
         }});
    all.push_back(
        {rounding + "i." + name + ".f32 $0, $1;", {type}, "f", [mode](const Word* in, Word* out, bool&) {
           const volatile float value =
               sizeof(I) == 8 && from<float>(in[0]) != from<float>(in[0]) ? 0.0f : from<float>(in[0]);
           out[0] = to(integer_of<I>(rounded(mode, [&] { return std::nearbyint(value); })));
         }});
    if (sizeof(I) == 8) {  // the result for a NaN is not defined
      all.pop_back();
      all.push_back(
          {rounding + ".f64." + name + " $0, $1;", "g", {type}, [mode](const Word* in, Word* out, bool&) {
             const volatile I value = from<I>(in[0]);
             out[0] = to(rounded(mode, [&] { return static_cast<double>(value); }));
           }});
    }
    all.push_back(
        {rounding + "i." + name + ".f64 $0, $1;", {type}, "g", [mode](const Word* in, Word* out, bool&) {
           const volatile double value = from<double>(in[0]);
           out[0] = to(integer_of<I>(rounded(mode, [&] { return std::nearbyint(value); })));
         }});
  }
}

// ---------------------------------------------------------------- half precision

__extension__ typedef __float128 Quad;

double value_of_half(Word half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const auto fraction = static_cast<double>(half & 1023);
  const double sign = (half >> 15 & 1) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// Rounds an exact value to the nearest.
Word half_of(Quad exact) {
  const auto near = static_cast<double>(exact);
  if (near != near) return 0x7fff;
  const Word sign = std::signbit(near) ? 0x8000 : 0;
  Quad magnitude = exact < 0 ? -exact : exact;
  if (magnitude >= 65520) return sign | 0x7c00;
  const int exponent = near == 0 ? -14 : std::max(-14, std::ilogb(near));
  const Quad quantum = std::ldexp(1.0, exponent - 10);
  const Quad scaled = magnitude / quantum;  // exact, since it is a power of two
  auto count = static_cast<std::int64_t>(scaled);
  const Quad rest = scaled - static_cast<Quad>(count);
  if (rest > Quad(0.5) || (rest == Quad(0.5) && count % 2 != 0)) ++count;
  // The implicit bit adds one to the exponent's field.
  return sign | static_cast<Word>((exponent + 14) * 1024 + count);
}

using HalfFunction = Quad (*)(Quad a, Quad b, Quad c);

/// Adds an operation on one half, or on each of two.
void add_half(std::vector<Operation>& all, const std::string& opcode, std::size_t sources, HalfFunction f) {
  for (const bool is_pair : {false, true}) {
    std::string text = opcode + (is_pair ? ".rn.f16x2 $0" : ".rn.f16 $0");
    for (std::size_t i = 1; i <= sources; ++i) text += ", $" + std::to_string(i);
    const char type = is_pair ? 'y' : 'x';
    all.push_back({text + ";", {type}, std::string(sources, type), [=](const Word* in, Word* out, bool&) {
                     out[0] = 0;
                     for (unsigned shift = 0; shift < (is_pair ? 32 : 16); shift += 16) {
                       Quad values[3] = {};
                       for (std::size_t i = 0; i < sources; ++i)
                         values[i] = value_of_half(in[i] >> shift & 0xffff);
                       out[0] |= half_of(f(values[0], values[1], values[2])) << shift;
                     }
                   }});
  }
}

void add_halves(std::vector<Operation>& all) {
  add_half(all, "add", 2, [](Quad a, Quad b, Quad) { return a + b; });
  add_half(all, "sub", 2, [](Quad a, Quad b, Quad) { return a - b; });
  add_half(all, "mul", 2, [](Quad a, Quad b, Quad) { return a * b; });
  add_half(all, "fma", 3, [](Quad a, Quad b, Quad c) { return a * b + c; });
  all.push_back({"cvt.f32.f16 $0, $1;", "f", "x", [](const Word* in, Word* out, bool&) {
                   out[0] = to(static_cast<float>(value_of_half(in[0])));
                 }});
  all.push_back({"cvt.rn.f16.f32 $0, $1;", "x", "f",
                 [](const Word* in, Word* out, bool&) { out[0] = half_of(from<float>(in[0])); }});
  all.push_back({"mov.b32 $0, {$1, $2};", "y", "xx", [](const Word* in, Word* out, bool&) {
                   out[0] = (in[0] & 0xffff) | (in[1] & 0xffff) << 16;
                 }});
  all.push_back({"setp.lt.f16 $0, $1, $2;", "p", "xx", [](const Word* in, Word* out, bool&) {
                   out[0] = value_of_half(in[0]) < value_of_half(in[1]);
                 }});
}

}  // namespace

std::vector<Operation> float_operations() {
  std::vector<Operation> all;
  add_singles(all);
  add_doubles(all);
  add_comparisons<float>(all);
  add_comparisons<double>(all);
  add_conversions_of<std::int32_t>(all);
  add_conversions_of<std::uint32_t>(all);
  add_conversions_of<std::int64_t>(all);
  add_conversions_of<std::uint64_t>(all);
  all.push_back({clamping("cvt.f64.f32 %z, $1;"), "g", "f", [](const Word* in, Word* out, bool&) {
                   out[0] = to(clamped(static_cast<double>(from<float>(in[0]))));
                 }});
  all.push_back({"cvt.rn.f32.f64 $0, $1;", "f", "g", [](const Word* in, Word* out, bool&) {
                   out[0] = to(static_cast<float>(from<double>(in[0])));
                 }});
  add_halves(all);
  return all;
}

}  // namespace lynxpp::random_ptx
