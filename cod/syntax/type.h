// The types that semantic analysis and code generation use: ScalarType plus void, bool, pointers and
// structures. The pointee and the structure are stored separately (FullType in ast.h).
#pragma once

#include <cstdint>
#include <string>

#include "cod/storage.h"

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

/// The type in C's spelling: "unsigned long". `text` is the result of opcode() and accessKind(): a string,
/// which only print() and emit() accept. `none` (the type of an invalid expression) and `nothing` are "void".
std::string name_of(Type type);

bool is_floating(Type type);
bool is_integer(Type type);  ///< including bool
bool is_signed(Type type);
bool is_arithmetic(Type type);
std::uint32_t bits_of(Type type);  ///< as a value: 1 for bool

/// bool is stored as a byte.
ScalarType storage_of(Type type);
std::uint32_t bytes_of(Type type);

/// C's integer promotion and usual arithmetic conversions (LP64).
Type promote(Type type);
Type common_type(Type left, Type right);

}  // namespace lynxpp::cod
