// Opcodes, decoded once: root mnemonic, modifiers, and the rows of opcodes.def and memory_table.def. An
// unknown opcode yields Op::unknown, keeps its text and passes through every stage unchanged; unknown
// modifiers likewise remain in the text only.
//
//   OpcodeTraits traits = classify("mad.wide.s32");
//   traits.op == Op::mad && traits.modifiers.has(Modifier::wide) && traits.type == DataType::s32
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
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

/// Root mnemonics: Op::setp for "setp.lt.and.s32".
enum class Op : std::uint16_t {
  unknown,
#define PTX_OPCODE(name, mnemonic, kind, destinations, purity) name,
#include "ptx/ir/opcodes.def"
};

/// The modifiers of opcodes.def.
enum class Modifier : std::uint8_t {
#define PTX_MODIFIER(name, text) name,
#include "ptx/ir/opcodes.def"
  count
};

/// A set of modifiers.
class Modifiers {
 public:
  constexpr Modifiers() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): has_any({Modifier::rn, Modifier::rz})
  constexpr Modifiers(std::initializer_list<Modifier> modifiers) {
    for (const Modifier each : modifiers) add(each);
  }
  constexpr void add(Modifier modifier) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(modifier); }
  constexpr bool has(Modifier modifier) const { return has_any({modifier}); }
  constexpr bool has_any(Modifiers modifiers) const { return (bits_ & modifiers.bits_) != 0; }
  bool operator==(const Modifiers&) const = default;

 private:
  static_assert(static_cast<unsigned>(Modifier::count) <= 64);
  std::uint64_t bits_ = 0;
};

/// The state that the result of an instruction depends on; see opcodes.def.
enum class Purity : std::uint8_t { pure, block, lanes, effect };

/// The comparison of setp and set. "lo" and similar names are the unsigned spellings of "lt".
enum class Comparison : std::uint8_t { equal, unequal, less, less_or_equal, greater, greater_or_equal };

Comparison opposite_of(Comparison comparison);

struct MemoryRow;

struct OpcodeTraits {
  Modifiers modifiers;
  const MemoryRow* memory = nullptr;  ///< in memory_table.def; null without a row
  Op op = Op::unknown;
  OpcodeClass kind = OpcodeClass::other;
  Purity purity = Purity::effect;
  std::optional<Comparison> comparison;  ///< setp and set; nullopt for ltu, num and similar ones
  /// of the memory it accesses, generic for `ld.f32`; for a copy the space other than shared memory
  StateSpace space = StateSpace::none;
  /// the first two shared or global spaces that it names: the destination and the source of a copy
  std::array<StateSpace, 2> copy_spaces{StateSpace::generic, StateSpace::generic};
  bool reads_memory = false;
  bool writes_memory = false;
  DataType first_type = DataType::none;  ///< first type modifier: of a conversion, the result's type
  DataType type = DataType::none;        ///< first type modifier of loads and stores, otherwise the last type
  std::uint8_t vector = 1;               ///< .v2, .v4, .v8
  std::uint8_t destinations = 0;         ///< number of leading operands that are written
  bool is_floating = false;              ///< operates on floating-point values
  bool synchronizes = false;  ///< on a barrier object in memory, or a group of copies: not an access

  bool operator==(const OpcodeTraits&) const = default;

  bool is_known() const { return op != Op::unknown; }
  bool is_thread_exit() const { return op == Op::exit || op == Op::trap; }
  bool reads_carry() const { return op == Op::addc || op == Op::subc || op == Op::madc; }
  /// See memory_access.h for details.
  bool is_memory_access() const { return reads_memory || writes_memory; }
  /// Ends a basic block: branches, calls, returns and exits, guarded or not.
  bool ends_block() const {
    return kind == OpcodeClass::branch || kind == OpcodeClass::call || kind == OpcodeClass::exit;
  }
  /// The type of the result in the first operand, for a vector that of one element; pred for comparisons.
  /// Returns none if it writes no register, writes it only after the next instruction begins (wgmma,
  /// tcgen05), or has no type.
  DataType result_type() const;
};

/// Classifies `opcode`, given with all its modifiers and without white space: "ld.global.nc.v4.f32".
OpcodeTraits classify(std::string_view opcode);
/// Decodes only the root mnemonic.
Op op_of(std::string_view opcode);

}  // namespace lynxpp::ptx
