#include "cod/syntax/type.h"

#include <algorithm>
#include <array>

namespace lynxpp::cod {

std::string name_of(Type type) {
  static constexpr std::array names{"void",    "void",           "struct", "string",
                                    "pointer", "bool",           "char",   "unsigned char",
                                    "short",   "unsigned short", "int",    "unsigned int",
                                    "long",    "unsigned long",  "float",  "double"};
  return names[static_cast<std::size_t>(type)];
}

bool is_floating(Type type) { return type == Type::f32 || type == Type::f64; }
bool is_arithmetic(Type type) { return type >= Type::boolean; }
bool is_integer(Type type) { return is_arithmetic(type) && !is_floating(type); }

bool is_signed(Type type) {
  return type == Type::i8 || type == Type::i16 || type == Type::i32 || type == Type::i64 || is_floating(type);
}

std::uint32_t bits_of(Type type) {
  if (!is_arithmetic(type)) return 0;
  return type == Type::boolean ? 1 : bytes_of(type) * 8;
}

ScalarType storage_of(Type type) {
  // Both list the scalar types in the same order.
  static_assert(static_cast<int>(Type::f64) - static_cast<int>(Type::i8) ==
                static_cast<int>(ScalarType::f64));
  if (type < Type::i8) return ScalarType::u8;
  return static_cast<ScalarType>(static_cast<int>(type) - static_cast<int>(Type::i8));
}

std::uint32_t bytes_of(Type type) { return size_of(storage_of(type)); }

Type promote(Type type) { return is_integer(type) && bits_of(type) < 32 ? Type::i32 : type; }

Type common_type(Type left, Type right) {
  if (left == Type::f64 || right == Type::f64) return Type::f64;
  if (left == Type::f32 || right == Type::f32) return Type::f32;
  // Types are ordered by C's rank, unsigned above signed; a wider signed type can represent a narrower
  // unsigned one.
  return std::max(promote(left), promote(right));
}

}  // namespace lynxpp::cod
