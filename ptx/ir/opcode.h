// Classification of opcodes by opcodes.def and memory_table.def, which have one row per mnemonic, and by
// modifiers. An unknown opcode yields OpcodeTraits with known == false and passes through every stage
// unchanged.
#pragma once

#include <cstdint>
#include <string_view>

namespace lynxpp::ptx {

enum class StateSpace : std::uint8_t {
  none,
  reg,
  sreg,
  constant,
  global,
  local,
  param,
  shared,
  texture,
  surface,
  generic
};

enum class DataType : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  /// s16x2, u16x2: two halves of 32 bits without a carry between them; size_of is 0 because it is not a
  /// scalar
  integer_pair,
  opaque,  ///< texref, samplerref, surfref and alternate floating formats
};

/// Size of a value in bytes; 0 for none, pred, integer_pair and opaque.
std::uint32_t size_of(DataType type);
bool is_floating(DataType type);
/// Accepts "u32" and ".u32"; returns none for anything else.
DataType parse_data_type(std::string_view text);

enum class OpcodeClass : std::uint8_t {
  other,       ///< unknown or in no other class (nanosleep, pmevent, …)
  data,        ///< mov, cvt, cvta, selp, prmt, shuffles, votes: moves and conversions
  arithmetic,  ///< add … fma, logic, shifts, comparisons (setp, set), bit counts, video, matrix
  memory,      ///< ld, st, and every other instruction that accesses memory non-atomically
  atomic,      ///< atom, red
  branch,      ///< bra, brx.idx
  call,
  exit,     ///< ret, exit, trap
  barrier,  ///< bar, barrier, mbarrier, bar.warp.sync, cluster barriers
  fence,    ///< membar, fence
};

struct OpcodeTraits {
  bool known = false;
  OpcodeClass kind = OpcodeClass::other;
  /// of the memory it accesses, generic for `ld.f32`; for a copy the space other than shared memory
  StateSpace space = StateSpace::none;
  bool reads_memory = false;
  bool writes_memory = false;
  DataType type = DataType::none;  ///< first type modifier of loads and stores, otherwise the last type
  std::uint8_t vector = 1;         ///< .v2, .v4, .v8
  std::uint8_t destinations = 0;   ///< number of leading operands that are written
  bool is_floating = false;        ///< operates on floating-point values
  bool is_return = false;          ///< ret
  bool is_thread_exit = false;     ///< exit, trap
  bool is_uniform = false;         ///< .uni
  bool synchronizes = false;       ///< on a barrier object in memory, or a group of copies: not an access

  bool operator==(const OpcodeTraits&) const = default;

  /// See memory_access.h for details.
  bool is_memory_access() const { return reads_memory || writes_memory; }
  /// Ends a basic block: branches, calls, returns and exits, guarded or not.
  bool ends_block() const {
    return kind == OpcodeClass::branch || kind == OpcodeClass::call || kind == OpcodeClass::exit;
  }
};

/// Classifies `opcode`, given with all its modifiers and without white space: "ld.global.nc.v4.f32".
OpcodeTraits classify(std::string_view opcode);

}  // namespace lynxpp::ptx
