#include "cod/syntax/type.h"

#include <algorithm>

namespace lynxpp::cod {

std::string name_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::nothing: return "void";
    case Type::structure: return "struct";
    case Type::text: return "string";
    case Type::pointer: return "pointer";
    case Type::boolean: return "bool";
    case Type::i8: return "char";
    case Type::u8: return "unsigned char";
    case Type::i16: return "short";
    case Type::u16: return "unsigned short";
    case Type::i32: return "int";
    case Type::u32: return "unsigned int";
    case Type::i64: return "long";
    case Type::u64: return "unsigned long";
    case Type::f32: return "float";
    case Type::f64: return "double";
  }
  return "void";
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
  switch (type) {
    case Type::i8: return ScalarType::i8;
    case Type::i16: return ScalarType::i16;
    case Type::u16: return ScalarType::u16;
    case Type::i32: return ScalarType::i32;
    case Type::u32: return ScalarType::u32;
    case Type::i64: return ScalarType::i64;
    case Type::u64: return ScalarType::u64;
    case Type::f32: return ScalarType::f32;
    case Type::f64: return ScalarType::f64;
    default: return ScalarType::u8;
  }
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
