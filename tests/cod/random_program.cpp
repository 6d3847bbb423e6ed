#include "tests/cod/random_program.h"

#include <algorithm>

namespace lynxpp::cod {
namespace {

constexpr const char* type_names[] = {"signed char", "unsigned char", "short", "unsigned short",
                                      "int",         "unsigned int",  "long",  "unsigned long",
                                      "float",       "double"};
constexpr const char* short_names[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"};
/// Values at the limits of conversions and comparisons. Those of floating-point types are exact in float.
constexpr const char* values[] = {
    "{0, 1, -1, 127, -128, 42, -7, 100}",
    "{0, 1, 255, 127, 128, 42, 200, 100}",
    "{0, 1, -1, 32767, -32768, 300, -7, 12345}",
    "{0, 1, 65535, 32767, 32768, 300, 40000, 12345}",
    "{0, 1, -1, 2147483647, -2147483647 - 1, 65536, -7, 123456789}",
    "{0, 1, 4294967295u, 2147483647, 2147483648u, 65536, 4000000000u, 123456789}",
    "{0, 1, -1, 9223372036854775807, -9223372036854775807 - 1, 4294967296, -7, 1234567890123}",
    "{0, 1, 18446744073709551615u, 9223372036854775807, 9223372036854775808u, 4294967296, 16777217, "
    "1234567890123}",
    "{0.0f, 1.0f, -1.5f, 16777216.0f, 1e-40f, 3.25f, -1e30f, 0.1f}",
    "{0.0, 1.0, -1.5, 9007199254740993.0, 1e-310, 3.25, -1e300, 0.1}"};
/// The open interval of values that can be converted from floating point.
constexpr const char* lower_limits[] = {
    "-129.0", "-1.0", "-32769.0", "-1.0", "-2147483649.0", "-1.0", "-9223372036854775808.0", "-1.0"};
constexpr const char* upper_limits[] = {"128.0",
                                        "256.0",
                                        "32768.0",
                                        "65536.0",
                                        "2147483648.0",
                                        "4294967296.0",
                                        "9223372036854775808.0",
                                        "18446744073709551616.0"};

}  // namespace

const char* RandomProgram::name_of(Kind kind) { return type_names[kind]; }

RandomProgram::Kind RandomProgram::common(Kind a, Kind b) {
  if (a == f64 || b == f64) return f64;
  if (a == f32 || b == f32) return f32;
  return std::max(promoted(a), promoted(b));
}

std::string RandomProgram::prelude() {
  std::string text;
  for (int kind = 0; kind < kinds; ++kind) {
    const std::string type = type_names[kind];
    const std::string name = short_names[kind];
    text += "static const " + type + " in_" + name + "[8] = " + values[kind] + ";\n";
    if (is_floating(static_cast<Kind>(kind))) continue;
    text += "static " + type + " to_" + name + "(double d) { return d > " + lower_limits[kind] + " && d < " +
            upper_limits[kind] + " ? (" + type + ")d : 77; }\n";
  }
  return text;
}

RandomProgram::Value RandomProgram::leaf() {
  const std::uint64_t choice = below(10);
  if (choice < 5 && !variables_.empty()) return variables_[below(variables_.size())];
  if (choice < 7 && !arrays_.empty()) {
    const Value& array = arrays_[below(arrays_.size())];
    return {array.text + "[" + std::to_string(below(4)) + "]", array.kind};
  }
  if (choice < 8) {
    static const Value constants[] = {{"0", i32},          {"1", i32},     {"-3", i32},  {"7u", u32},
                                      {"0x7fffffff", i32}, {"255ul", u64}, {"-9l", i64}, {"0x80000000", u32},
                                      {"1.5f", f32},       {"-2.25", f64}, {"'A'", i32}, {"011", i32},
                                      {"4294967296", i64}, {"0.1f", f32}};
    return constants[below(std::size(constants))];
  }
  const auto kind = static_cast<Kind>(below(kinds));
  return {std::string("in_") + short_names[kind] + "[" + std::to_string(below(8)) + "]", kind};
}

RandomProgram::Value RandomProgram::to_integer(Value value, Kind kind) {
  if (is_floating(value.kind)) return {std::string("to_") + short_names[kind] + "(" + value.text + ")", kind};
  return {"(" + std::string(name_of(kind)) + ")(" + value.text + ")", kind};
}

RandomProgram::Value RandomProgram::integer(int depth) {
  Value value = expression(depth);
  return is_floating(value.kind) ? to_integer(std::move(value), static_cast<Kind>(below(f32))) : value;
}

RandomProgram::Value RandomProgram::expression(int depth) {
  if (depth <= 0) return leaf();
  ++operations_;
  switch (below(12)) {
    case 0:
    case 1:
    case 2:
    case 3: return binary(depth - 1);
    case 4: return shift(depth - 1);
    case 5: return division(depth - 1);
    case 6: return unary(depth - 1);
    case 7: return cast(depth - 1);
    case 8: {
      const Value condition = expression(depth - 1);
      const Value a = expression(depth - 1);
      const Value b = expression(depth - 1);
      return {"((" + condition.text + ") ? " + a.text + " : " + b.text + ")", common(a.kind, b.kind)};
    }
    case 9: {
      const char* operators[] = {"&&", "||"};
      return {"(" + expression(depth - 1).text + " " + operators[below(2)] + " " +
                  expression(depth - 1).text + ")",
              i32};
    }
    case 10: {
      const char* operators[] = {"<", ">", "<=", ">=", "==", "!="};
      return {"(" + expression(depth - 1).text + " " + operators[below(6)] + " " +
                  expression(depth - 1).text + ")",
              i32};
    }
    default: return leaf();
  }
}

RandomProgram::Value RandomProgram::binary(int depth) {
  const std::uint64_t choice = below(6);
  if (choice >= 3) {
    const char* operators[] = {"&", "|", "^"};
    const Value a = integer(depth);
    const Value b = integer(depth);
    return {"(" + a.text + " " + operators[choice - 3] + " " + b.text + ")", common(a.kind, b.kind)};
  }
  const char* operators[] = {"+", "-", "*"};
  const Value a = expression(depth);
  const Value b = expression(depth);
  return {"(" + a.text + " " + operators[choice] + " " + b.text + ")", common(a.kind, b.kind)};
}

/// The count is below the width.
RandomProgram::Value RandomProgram::shift(int depth) {
  const Value value = integer(depth);
  const bool is_wide = promoted(value.kind) >= i64;
  const std::string count = "(" + integer(depth).text + " & " + (is_wide ? "63" : "31") + ")";
  return {"(" + value.text + (chance(50) ? " << " : " >> ") + count + ")", promoted(value.kind)};
}

/// An integer's divisor is from 1 to 16 or, occasionally, from -17 to -2.
RandomProgram::Value RandomProgram::division(int depth) {
  const Value value = expression(depth);
  if (is_floating(value.kind)) {
    const Value divisor = expression(depth);
    return {"(" + value.text + " / " + divisor.text + ")", common(value.kind, divisor.kind)};
  }
  const Value seed = integer(depth);
  const bool is_negative = chance(30);
  const std::string divisor =
      is_negative ? "(-2 - (int)(" + seed.text + " & 15))" : "((" + seed.text + " & 15) + 1)";
  const Kind kind = is_negative ? i32 : common(seed.kind, i32);
  return {"(" + value.text + (chance(50) ? " / " : " % ") + divisor + ")", common(value.kind, kind)};
}

RandomProgram::Value RandomProgram::unary(int depth) {
  switch (below(4)) {
    case 0: return {"(!" + expression(depth).text + ")", i32};
    case 1: {
      const Value value = integer(depth);
      return {"(~" + value.text + ")", promoted(value.kind)};
    }
    case 2: {
      const Value value = expression(depth);
      return {"(- " + value.text + ")", promoted(value.kind)};
    }
    default: {
      const Value value = expression(depth);
      return {"(+ " + value.text + ")", promoted(value.kind)};
    }
  }
}

RandomProgram::Value RandomProgram::cast(int depth) {
  const auto kind = static_cast<Kind>(below(kinds));
  Value value = expression(depth);
  if (!is_floating(kind)) return to_integer(std::move(value), kind);
  return {"((" + std::string(name_of(kind)) + ")" + value.text + ")", kind};
}

std::string RandomProgram::assignment(int depth) {
  Value target = variables_[below(variables_.size())];
  if (!arrays_.empty() && chance(30)) {
    target = arrays_[below(arrays_.size())];
    target.text += chance(50) ? "[" + std::to_string(below(4)) + "]" : "[" + integer(1).text + " & 3]";
  }
  const std::uint64_t choice = below(8);
  if (choice == 0 && !is_floating(target.kind)) return (chance(50) ? "++" : "--") + target.text;
  if (choice == 1 && !is_floating(target.kind)) return target.text + (chance(50) ? "++" : "--");
  if (choice == 2 && !is_floating(target.kind)) {
    const char* operators[] = {" &= ", " |= ", " ^= "};
    return target.text + operators[below(3)] + integer(depth).text;
  }
  if (choice == 3 && !is_floating(target.kind))
    return target.text + (chance(50) ? " <<= " : " >>= ") + "(" + integer(1).text + " & " +
           (target.kind >= i64 ? "63" : "31") + ")";
  if (choice == 4 && !is_floating(target.kind))
    return target.text + (chance(50) ? " /= " : " %= ") + "((" + integer(1).text + " & 15) + 1)";
  if (choice < 6) {
    // The sum is converted to the target's type; restricted to integers, so that it always has a value.
    const char* operators[] = {" += ", " -= ", " *= "};
    const Value value = is_floating(target.kind) ? expression(depth) : integer(depth);
    return target.text + operators[below(3)] + value.text;
  }
  Value value = expression(depth);
  if (is_floating(value.kind) && !is_floating(target.kind)) value = to_integer(std::move(value), target.kind);
  return target.text + " = " + value.text;
}

std::string RandomProgram::statement(int depth) {
  switch (below(depth > 0 ? 7 : 3)) {
    case 3: {
      const std::string test = expression(2).text;
      return "if (" + test + ") { " + statement(depth - 1) + " } else { " + statement(depth - 1) + " }";
    }
    case 4: {
      const std::string counter = "k" + std::to_string(depth);
      std::string body = statement(depth - 1);
      if (chance(30)) body += " if (" + expression(1).text + (chance(50) ? ") break;" : ") continue;");
      return "for (int " + counter + " = 0; " + counter + " < " + std::to_string(1 + below(4)) + "; ++" +
             counter + ") { " + body + " }";
    }
    case 5: {
      std::string text = "switch (" + integer(1).text + " & 3) { case 0: " + statement(depth - 1);
      text += chance(50) ? " break; case 1: " : " case 1: ";
      return text + statement(depth - 1) + " break; case 2: ; default: " + statement(depth - 1) + " }";
    }
    default: return assignment(2) + ";";
  }
}

RandomProgram::Function RandomProgram::function(const std::string& name) {
  variables_.clear();
  arrays_.clear();
  std::string text;
  for (int i = 0; i < 3; ++i) {
    const auto kind = static_cast<Kind>(below(kinds));
    Value value = expression(1);
    if (is_floating(value.kind) && !is_floating(kind)) value = to_integer(std::move(value), kind);
    const std::string variable = "v" + std::to_string(i);
    text += "  " + std::string(name_of(kind)) + " " + variable + " = " + value.text + ";\n";
    variables_.push_back({variable, kind});
  }
  if (chance(40)) {
    const auto kind = static_cast<Kind>(below(f32));
    text += "  " + std::string(name_of(kind)) + " a[4] = {1, 2, 3, 4};\n";
    arrays_.push_back({"a", kind});
  }
  for (std::uint64_t i = below(4); i > 0; --i) text += "  " + statement(2) + "\n";
  const Value result = expression(4);
  const bool is_real = is_floating(result.kind);
  return {std::string("static ") + (is_real ? "double " : "unsigned long ") + name + "(void) {\n" + text +
              "  return " + result.text + ";\n}\n",
          is_real};
}

}  // namespace lynxpp::cod
