#include "ptx/ir/opcode.h"

#include <array>

#include "ptx/ir/memory_table.h"
#include "ptx/ir/name_table.h"

namespace lynxpp::ptx {
namespace {

struct OpcodeRow {
  std::string_view mnemonic;
  OpcodeClass kind;
  std::uint8_t destinations;
  Purity purity;
  Op op = Op::unknown;  ///< unknown for a form of a root
};

constexpr OpcodeRow opcode_rows[] = {
#define PTX_OPCODE(name, mnemonic, kind, destinations, purity) \
  {mnemonic, OpcodeClass::kind, destinations, Purity::purity, Op::name},
#define PTX_FORM(mnemonic, kind, destinations, purity) \
  {mnemonic, OpcodeClass::kind, destinations, Purity::purity},
#include "ptx/ir/opcodes.def"
};
constexpr NameTable opcodes(&OpcodeRow::mnemonic, opcode_rows);

struct NamedModifier {
  std::string_view text;
  Modifier modifier;
};

constexpr NamedModifier modifier_rows[] = {
#define PTX_MODIFIER(name, text) {text, Modifier::name},
#include "ptx/ir/opcodes.def"
};
constexpr NameTable modifiers(&NamedModifier::text, modifier_rows);

struct NamedComparison {
  std::string_view text;
  Comparison comparison;
};

constexpr NamedComparison comparison_rows[] = {
    {"eq", Comparison::equal},
    {"ne", Comparison::unequal},
    {"lt", Comparison::less},
    {"lo", Comparison::less},
    {"le", Comparison::less_or_equal},
    {"ls", Comparison::less_or_equal},
    {"gt", Comparison::greater},
    {"hi", Comparison::greater},
    {"ge", Comparison::greater_or_equal},
    {"hs", Comparison::greater_or_equal},
};
constexpr NameTable comparisons(&NamedComparison::text, comparison_rows);

struct NamedType {
  std::string_view text;
  DataType type;
  std::uint8_t bytes;
  bool floating;
};

constexpr NamedType type_rows[] = {
    {"pred", DataType::pred, 0, false},
    {"b8", DataType::b8, 1, false},
    {"b16", DataType::b16, 2, false},
    {"b32", DataType::b32, 4, false},
    {"b64", DataType::b64, 8, false},
    {"b128", DataType::b128, 16, false},
    {"u8", DataType::u8, 1, false},
    {"u16", DataType::u16, 2, false},
    {"u32", DataType::u32, 4, false},
    {"u64", DataType::u64, 8, false},
    {"s8", DataType::s8, 1, false},
    {"s16", DataType::s16, 2, false},
    {"s32", DataType::s32, 4, false},
    {"s64", DataType::s64, 8, false},
    {"f16", DataType::f16, 2, true},
    {"f16x2", DataType::f16x2, 4, true},
    {"bf16", DataType::bf16, 2, true},
    {"bf16x2", DataType::bf16x2, 4, true},
    {"tf32", DataType::tf32, 4, true},
    {"f32", DataType::f32, 4, true},
    {"f32x2", DataType::f32x2, 8, true},
    {"f64", DataType::f64, 8, true},
    {"e4m3", DataType::opaque, 0, true},
    {"e4m3x2", DataType::opaque, 0, true},
    {"e4m3x4", DataType::opaque, 0, true},
    {"e5m2", DataType::opaque, 0, true},
    {"e5m2x2", DataType::opaque, 0, true},
    {"e5m2x4", DataType::opaque, 0, true},
    {"e3m2", DataType::opaque, 0, true},
    {"e3m2x2", DataType::opaque, 0, true},
    {"e3m2x4", DataType::opaque, 0, true},
    {"e2m3", DataType::opaque, 0, true},
    {"e2m3x2", DataType::opaque, 0, true},
    {"e2m3x4", DataType::opaque, 0, true},
    {"e2m1", DataType::opaque, 0, true},
    {"e2m1x2", DataType::opaque, 0, true},
    {"e2m1x4", DataType::opaque, 0, true},
    {"ue8m0", DataType::opaque, 0, true},
    {"ue8m0x2", DataType::opaque, 0, true},
    {"ue4m3", DataType::opaque, 0, true},
    {"s16x2", DataType::integer_pair, 0, false},
    {"u16x2", DataType::integer_pair, 0, false},
    {"texref", DataType::opaque, 0, false},
    {"samplerref", DataType::opaque, 0, false},
    {"surfref", DataType::opaque, 0, false},
};
constexpr NameTable types(&NamedType::text, type_rows);

StateSpace parse_space(std::string_view modifier) {
  const std::string_view base = modifier.substr(0, modifier.find_first_of(":["));  // shared::cta, const[2]
  if (base == "global") return StateSpace::global;
  if (base == "shared") return StateSpace::shared;
  if (base == "local") return StateSpace::local;
  if (base == "param") return StateSpace::param;
  if (base == "const") return StateSpace::constant;
  if (base == "tex") return StateSpace::texture;
  return StateSpace::none;
}

/// Reads the modifiers of one opcode, before the tables' rows are applied.
class ModifierReader {
 public:
  explicit ModifierReader(OpcodeTraits& traits) : traits_(traits) {}

  void read(std::string_view opcode) {
    for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
      const std::size_t end = opcode.find('.', dot + 1);
      read_modifier(opcode.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1));
      dot = end;
    }
  }

  StateSpace space() const { return space_; }

 private:
  void read_modifier(std::string_view modifier) {
    const std::string_view text = modifier.substr(0, modifier.find('['));  // const[2]
    if (const auto* const known = modifiers.find(text)) traits_.modifiers.add(known->modifier);
    if (modifier == "v2" || modifier == "v4" || modifier == "v8") {
      traits_.vector = static_cast<std::uint8_t>(modifier[1] - '0');
    } else if (const NamedType* type = types.find(modifier)) {
      if (traits_.first_type == DataType::none) traits_.first_type = type->type;
      traits_.type = type->type;
      traits_.is_floating |= type->floating;
    } else if (const StateSpace space = parse_space(modifier); space != StateSpace::none) {
      read_space(space);
    } else if (traits_.op == Op::setp || traits_.op == Op::set) {
      if (const auto* const named = comparisons.find(modifier)) traits_.comparison = named->comparison;
    }
  }

  /// Copies name two spaces; the one outside the multiprocessor counts.
  void read_space(StateSpace space) {
    if (space_ == StateSpace::none || space == StateSpace::global) space_ = space;
    const bool may_be_copied = space == StateSpace::shared || space == StateSpace::global;
    if (may_be_copied && copied_ < traits_.copy_spaces.size()) traits_.copy_spaces[copied_++] = space;
  }

  OpcodeTraits& traits_;
  StateSpace space_ = StateSpace::none;
  std::size_t copied_ = 0;
};

StateSpace space_of(const MemoryRow& row, StateSpace named) {
  switch (row.sides[0].space) {
    case MemorySide::Space::shared: return StateSpace::shared;
    case MemorySide::Space::texture: return StateSpace::texture;
    case MemorySide::Space::surface: return StateSpace::surface;
    default: return named == StateSpace::none ? StateSpace::generic : named;
  }
}

void apply_row(const MemoryRow& row, StateSpace named, OpcodeTraits& traits) {
  traits.memory = &row;
  traits.synchronizes = row.kind == MemoryKind::synchronization;
  traits.reads_memory = row.reads();
  traits.writes_memory = row.writes();
  if (!traits.is_memory_access()) return;
  traits.space = space_of(row, named);
  const MemorySide::Bytes bytes = row.sides[0].bytes;
  const bool has_type = bytes == MemorySide::Bytes::type || bytes == MemorySide::Bytes::row ||
                        bytes == MemorySide::Bytes::fixed;
  traits.type = has_type ? traits.first_type : DataType::none;
}

}  // namespace

std::uint32_t size_of(DataType type) {
  for (const NamedType& entry : types.rows()) {
    if (entry.type == type) return entry.bytes;
  }
  return 0;
}

bool is_floating(DataType type) {
  switch (type) {
    case DataType::f16:
    case DataType::f16x2:
    case DataType::bf16:
    case DataType::bf16x2:
    case DataType::tf32:
    case DataType::f32:
    case DataType::f32x2:
    case DataType::f64: return true;
    default: return false;
  }
}

DataType parse_data_type(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  const NamedType* type = types.find(text);
  return type == nullptr ? DataType::none : type->type;
}

Op op_of(std::string_view opcode) {
  const OpcodeRow* const row = opcodes.find(opcode.substr(0, opcode.find('.')));
  return row == nullptr ? Op::unknown : row->op;
}

OpcodeTraits classify(std::string_view opcode) {
  OpcodeTraits traits;
  traits.op = op_of(opcode);
  ModifierReader reader(traits);
  reader.read(opcode);
  if (traits.op == Op::unknown) return traits;
  const OpcodeRow& row = *opcodes.find(opcode);
  traits.kind = row.kind;
  traits.destinations = row.destinations;
  traits.purity = row.purity;
  if (const MemoryRow* const memory = find_memory_row(opcode)) apply_row(*memory, reader.space(), traits);
  return traits;
}

DataType OpcodeTraits::result_type() const {
  if (destinations == 0 || op == Op::wgmma || op == Op::tcgen05) return DataType::none;
  const bool is_wait = op == Op::mbarrier && modifiers.has_any({Modifier::test_wait, Modifier::try_wait});
  return op == Op::setp || op == Op::testp || is_wait ? DataType::pred : first_type;
}

Comparison opposite_of(Comparison comparison) {
  using enum Comparison;
  switch (comparison) {
    case equal: return unequal;
    case unequal: return equal;
    case less: return greater_or_equal;
    case less_or_equal: return greater;
    case greater: return less_or_equal;
    case greater_or_equal: return less;
  }
  return comparison;
}

}  // namespace lynxpp::ptx
