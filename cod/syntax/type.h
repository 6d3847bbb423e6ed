// The types as semantic analysis and code generation see them: ScalarType of the contract plus void, bool,
// pointers and whole structures. What a pointer points to and which structure it is stands beside the type
// (FullType in ast.h).
#pragma once

#include <cstdint>
#include <string>

#include "cod/specification.h"

namespace lynxpp::cod {

enum class Type : std::uint8_t {
  none,
  nothing,
  structure,
  text,
  pointer,
  boolean,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64
};

/// `text` is what opcode() and its kind give: a string, which only print() and emit() take. As it is written
/// in C: "unsigned long". `none` (the type of an expression with an error) and `nothing` are "void".
std::string name_of(Type type);

bool is_floating(Type type);
bool is_integer(Type type);  ///< bool included
bool is_signed(Type type);
bool is_arithmetic(Type type);
std::uint32_t bits_of(Type type);  ///< as a value: 1 for bool

/// bool is kept as a byte.
ScalarType storage_of(Type type);
std::uint32_t bytes_of(Type type);

/// C's integer promotion and usual arithmetic conversions (LP64).
Type promote(Type type);
Type common_type(Type left, Type right);

}  // namespace lynxpp::cod
