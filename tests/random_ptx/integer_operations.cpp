#include <algorithm>
#include <limits>
#include <utility>

#include "operations.h"
#include "words.h"

namespace lynxpp::random_ptx {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

/// The type of twice the width.
template <typename T>
using Double = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// Computes in wrapping arithmetic.
template <typename T>
T low_product(T a, T b) {
  return static_cast<T>(std::uint64_t{static_cast<Unsigned<T>>(a)} * static_cast<Unsigned<T>>(b));
}
template <typename T>
T high_product(T a, T b) {
  return static_cast<T>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b) >> bits_of<T>);
}
template <typename T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T difference(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

template <typename T, typename F>
Operation of_two(const std::string& opcode, F f) {
  const char type = register_type<T>();
  return {opcode + "." + type_name<T>() + " $0, $1, $2;",
          {type},
          {type, type},
          [f](const Word* in, Word* out, bool&) { out[0] = to<T>(f(from<T>(in[0]), from<T>(in[1]))); },
          false,
          false,
          true};
}

template <typename T, typename F>
Operation of_three(const std::string& opcode, F f) {
  const char type = register_type<T>();
  return {opcode + "." + type_name<T>() + " $0, $1, $2, $3;",
          {type},
          {type, type, type},
          [f](const Word* in, Word* out, bool&) {
            out[0] = to<T>(f(from<T>(in[0]), from<T>(in[1]), from<T>(in[2])));
          },
          false,
          false,
          true};
}

/// Makes the divisor odd and positive, so that every quotient is defined.
template <typename T, typename F>
Operation division(const std::string& opcode, F f) {
  const std::string type = type_name<T>();
  const std::string bits = std::to_string(bits_of<T>);
  const auto most = static_cast<T>(static_cast<Unsigned<T>>(~Unsigned<T>{0}) >> 1);
  const std::string text = "{ .reg .b" + bits + " %z; or.b" + bits + " %z, $2, 1; and.b" + bits +
                           " %z, %z, " + std::to_string(most) + "; " + opcode + "." + type + " $0, $1, %z; }";
  return {text,
          {register_type<T>()},
          {register_type<T>(), register_type<T>()},
          [f, most](const Word* in, Word* out, bool&) {
            const T divisor = static_cast<T>((from<T>(in[1]) | 1) & most);
            out[0] = to<T>(static_cast<T>(f(from<T>(in[0]), divisor)));
          }};
}

template <typename T>
void add_shift(std::vector<Operation>& all) {
  const auto shifted = [](T value, std::uint32_t amount) {
    if (amount < bits_of<T>) return static_cast<T>(value >> amount);
    return static_cast<T>(std::is_signed_v<T> && value < 0 ? -1 : 0);
  };
  const char type = register_type<T>();
  all.push_back({"shr." + type_name<T>() + " $0, $1, $2;",
                 {type},
                 {type, 'r'},
                 [shifted](const Word* in, Word* out, bool&) {
                   out[0] = to<T>(shifted(from<T>(in[0]), static_cast<std::uint32_t>(in[1])));
                 }});
  for (const unsigned mask : {15u, 31u, 63u}) {
    all.push_back({"{ .reg .b32 %z; and.b32 %z, $2, " + std::to_string(mask) + "; shr." + type_name<T>() +
                       " $0, $1, %z; }",
                   {type},
                   {type, 'r'},
                   [shifted, mask](const Word* in, Word* out, bool&) {
                     out[0] = to<T>(shifted(from<T>(in[0]), static_cast<std::uint32_t>(in[1]) & mask));
                   }});
  }
}

template <typename T>
void add_comparisons(std::vector<Operation>& all) {
  const auto holds = [](int which, T a, T b) {
    return which == 0   ? a == b
           : which == 1 ? a != b
           : which == 2 ? a < b
           : which == 3 ? a <= b
           : which == 4 ? a > b
                        : a >= b;
  };
  static constexpr const char* names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const char type = register_type<T>();
  for (int which = 0; which < 6; ++which) {
    const std::string name = names[which];
    all.push_back(
        {"setp." + name + "." + type_name<T>() + " $0, $1, $2;",
         "p",
         {type, type},
         [=](const Word* in, Word* out, bool&) { out[0] = holds(which, from<T>(in[0]), from<T>(in[1])); },
         false,
         false,
         true});
    const std::string logic = which % 3 == 0 ? "and" : which % 3 == 1 ? "or" : "xor";
    const auto combine = [logic](bool a, bool b) {
      return logic == "and" ? a && b : logic == "or" ? a || b : a != b;
    };
    const bool negates = which % 2 != 0;
    all.push_back({"setp." + name + "." + logic + "." + type_name<T>() + " $0|$1, $2, $3, " +
                       (negates ? "!$4;" : "$4;"),
                   "pp",
                   {type, type, 'p'},
                   [=](const Word* in, Word* out, bool&) {
                     const bool compared = holds(which, from<T>(in[0]), from<T>(in[1]));
                     out[0] = combine(compared, (in[2] != 0) != negates);
                     out[1] = combine(!compared, (in[2] != 0) != negates);
                   }});
    all.push_back({"set." + name + ".u32." + type_name<T>() + " $0, $1, $2;",
                   "r",
                   {type, type},
                   [=](const Word* in, Word* out, bool&) {
                     out[0] = holds(which, from<T>(in[0]), from<T>(in[1])) ? 0xffffffffu : 0;
                   },
                   false,
                   false,
                   true,
                   sizeof(T) != 2});  // ptxas 13.0 truncates the old value to 16 bits
  }
}

template <typename T>
void add_wide_products(std::vector<Operation>& all) {
  using D = Double<T>;
  const char type = register_type<T>();
  const char wide = register_type<D>();
  all.push_back({"mul.wide." + type_name<T>() + " $0, $1, $2;",
                 {wide},
                 {type, type},
                 [](const Word* in, Word* out, bool&) {
                   out[0] = to<D>(static_cast<D>(from<T>(in[0])) * static_cast<D>(from<T>(in[1])));
                 },
                 false,
                 false,
                 true});
  all.push_back({"mad.wide." + type_name<T>() + " $0, $1, $2, $3;",
                 {wide},
                 {type, type, wide},
                 [](const Word* in, Word* out, bool&) {
                   const D product = static_cast<D>(from<T>(in[0])) * static_cast<D>(from<T>(in[1]));
                   out[0] = to<D>(sum<D>(product, from<D>(in[2])));
                 },
                 false,
                 false,
                 true});
}

template <typename T>
void add_all_of(std::vector<Operation>& all) {
  all.push_back(of_two<T>("add", [](T a, T b) { return sum(a, b); }));
  all.push_back(of_two<T>("sub", [](T a, T b) { return difference(a, b); }));
  all.push_back(of_two<T>("mul.lo", [](T a, T b) { return low_product(a, b); }));
  all.push_back(of_two<T>("mul.hi", [](T a, T b) { return high_product(a, b); }));
  all.push_back(of_two<T>("min", [](T a, T b) { return std::min(a, b); }));
  all.push_back(of_two<T>("max", [](T a, T b) { return std::max(a, b); }));
  all.push_back(of_three<T>("mad.lo", [](T a, T b, T c) { return sum(low_product(a, b), c); }));
  all.push_back(of_three<T>("mad.hi", [](T a, T b, T c) { return sum(high_product(a, b), c); }));
  all.push_back(
      of_three<T>("sad", [](T a, T b, T c) { return sum(c, a < b ? difference(b, a) : difference(a, b)); }));
  all.push_back(division<T>("div", [](T a, T b) { return a / b; }));
  all.push_back(division<T>("rem", [](T a, T b) { return a % b; }));
  const char type = register_type<T>();
  all.push_back({"selp." + type_name<T>() + " $0, $1, $2, $3;",
                 {type},
                 {type, type, 'p'},
                 [](const Word* in, Word* out, bool&) { out[0] = in[2] != 0 ? in[0] : in[1]; }});
  add_shift<T>(all);
  add_comparisons<T>(all);
  if constexpr (std::is_signed_v<T>) {
    // ptxas 13.0 evaluates -(-32768) as 32768 if a shift follows.
    const std::string bits = std::to_string(bits_of<T>);
    const auto of_one = [&](const std::string& opcode, auto f) {
      const std::string suffix = "." + type_name<T>();
      const std::string text = sizeof(T) != 2 ? opcode + suffix + " $0, $1;"
                                              : "{ .reg .b" + bits + " %z; max" + suffix +
                                                    " %z, $1, -32767; " + opcode + suffix + " $0, %z; }";
      all.push_back({text, {type}, {type}, [f](const Word* in, Word* out, bool&) {
                       const T least = sizeof(T) != 2 ? std::numeric_limits<T>::min() : T(-32767);
                       out[0] = to<T>(f(std::max(from<T>(in[0]), least)));
                     }});
    };
    of_one("neg", [](T a) { return difference<T>(0, a); });
    of_one("abs", [](T a) { return a < 0 ? difference<T>(0, a) : a; });
  }
  if constexpr (sizeof(T) < 8) add_wide_products<T>(all);
}

template <typename T>
void add_carry(std::vector<Operation>& all) {
  using U = Unsigned<T>;
  const char type = register_type<T>();
  // Returns a + b + carry, and its carry out.
  const auto add = [](U a, U b, bool in, bool& out) {
    const U partial = static_cast<U>(a + b);
    const U result = static_cast<U>(partial + (in ? 1 : 0));
    out = partial < a || result < partial;
    return result;
  };
  const auto push = [&](const std::string& opcode, std::size_t sources, bool reads, auto addends,
                        bool starts) {
    for (const bool writes : {true, false}) {
      if (!reads && !writes) continue;
      const std::string text =
          opcode + (writes ? ".cc." : ".") + type_name<T>() + " $0, $1, $2" + (sources == 3 ? ", $3;" : ";");
      all.push_back({text,
                     {type},
                     std::string(sources, type),
                     [=](const Word* in, Word* out, bool& carry) {
                       const auto [a, b] = addends(in);
                       bool carried = false;
                       out[0] = to<U>(add(a, b, reads ? carry : starts, carried));
                       if (writes) carry = carried;
                     },
                     reads,
                     writes,
                     true});
    }
  };
  const auto sums = [](const Word* in) { return std::pair<U, U>(from<U>(in[0]), from<U>(in[1])); };
  // A GPU uses the carry of a + ~b + 1.
  const auto differences = [](const Word* in) {
    return std::pair<U, U>(from<U>(in[0]), static_cast<U>(~from<U>(in[1])));
  };
  const auto low = [](const Word* in) {
    return std::pair<U, U>(static_cast<U>(low_product(from<T>(in[0]), from<T>(in[1]))), from<U>(in[2]));
  };
  const auto high = [](const Word* in) {
    return std::pair<U, U>(static_cast<U>(high_product(from<T>(in[0]), from<T>(in[1]))), from<U>(in[2]));
  };
  push("add", 2, false, sums, false);
  push("addc", 2, true, sums, false);
  push("sub", 2, false, differences, true);
  push("subc", 2, true, differences, false);
  push("mad.lo", 3, false, low, false);
  push("madc.lo", 3, true, low, false);
  push("mad.hi", 3, false, high, false);
  push("madc.hi", 3, true, high, false);
}

/// cvt.to.from between integers.
template <typename To, typename From>
void add_conversion(std::vector<Operation>& all, char to_type, char from_type) {
  const std::string types = type_name<To>() + "." + type_name<From>();
  // A register wider than the type holds the value, sign- or zero-extended by the type.
  const auto word = [to_type](To value) {
    const Word extended = static_cast<Word>(static_cast<std::int64_t>(value));
    return to_type == 'd' ? extended : to_type == 'r' ? extended & 0xffffffffu : extended & 0xffffu;
  };
  all.push_back(
      {"cvt." + types + " $0, $1;", {to_type}, {from_type}, [word](const Word* in, Word* out, bool&) {
         out[0] = word(static_cast<To>(from<From>(in[0])));
       }});
  // There is no .sat if every value fits.
  constexpr bool is_wider = sizeof(To) > sizeof(From) && (std::is_signed_v<To> || !std::is_signed_v<From>);
  if constexpr (!is_wider && !std::is_same_v<To, From>) {
    using Limits = std::numeric_limits<To>;
    all.push_back(
        {"cvt.sat." + types + " $0, $1;", {to_type}, {from_type}, [word](const Word* in, Word* out, bool&) {
           const Wide value = from<From>(in[0]);
           const Wide least = Limits::min();
           const Wide most = Limits::max();
           out[0] = word(static_cast<To>(std::clamp(value, least, most)));
         }});
  }
}

}  // namespace

std::vector<Operation> integer_operations() {
  std::vector<Operation> all;
  add_all_of<std::uint16_t>(all);
  add_all_of<std::int16_t>(all);
  add_all_of<std::uint32_t>(all);
  add_all_of<std::int32_t>(all);
  add_all_of<std::uint64_t>(all);
  add_all_of<std::int64_t>(all);
  add_conversion<std::int32_t, std::int16_t>(all, 'r', 'h');
  add_conversion<std::uint32_t, std::uint16_t>(all, 'r', 'h');
  add_conversion<std::int64_t, std::int32_t>(all, 'd', 'r');
  add_conversion<std::uint64_t, std::uint32_t>(all, 'd', 'r');
  add_conversion<std::int64_t, std::uint32_t>(all, 'd', 'r');
  add_conversion<std::uint16_t, std::int32_t>(all, 'h', 'r');
  add_conversion<std::int16_t, std::int32_t>(all, 'h', 'r');
  add_conversion<std::uint32_t, std::int64_t>(all, 'r', 'd');
  add_conversion<std::int32_t, std::uint64_t>(all, 'r', 'd');
  add_conversion<std::int8_t, std::int32_t>(all, 'r', 'r');
  add_conversion<std::uint8_t, std::int32_t>(all, 'r', 'r');
  add_conversion<std::int32_t, std::int8_t>(all, 'r', 'r');
  add_conversion<std::uint16_t, std::uint8_t>(all, 'h', 'h');
  add_conversion<std::int64_t, std::int8_t>(all, 'd', 'h');
  return all;
}

std::vector<Operation> carry_operations() {
  std::vector<Operation> all;
  add_carry<std::uint32_t>(all);
  add_carry<std::int32_t>(all);
  add_carry<std::uint64_t>(all);
  add_carry<std::int64_t>(all);
  return all;
}

}  // namespace lynxpp::random_ptx
