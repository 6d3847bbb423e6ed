#include "ptx/ir/opcode.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "ptx/ir/memory_table.h"

namespace lynxpp::ptx {
namespace {

struct OpcodeFacts {
  std::string_view mnemonic;
  OpcodeClass kind;
  std::uint8_t destinations;
};

constexpr OpcodeFacts opcode_facts[] = {
#define PTX_OPCODE(mnemonic, kind, destinations) {mnemonic, OpcodeClass::kind, destinations},
#include "ptx/ir/opcodes.def"
#undef PTX_OPCODE
};

/// The rows of one root mnemonic, the longest (most specific) first.
using Family = std::vector<const OpcodeFacts*>;

const std::unordered_map<std::string_view, Family>& families() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Family> result;
    for (const OpcodeFacts& facts : opcode_facts) {
      result[facts.mnemonic.substr(0, facts.mnemonic.find('.'))].push_back(&facts);
    }
    for (auto& [root, family] : result) {
      std::ranges::stable_sort(family, [](const OpcodeFacts* left, const OpcodeFacts* right) {
        return left->mnemonic.size() > right->mnemonic.size();
      });
    }
    return result;
  }();
  return table;
}

const OpcodeFacts* find_facts(std::string_view opcode) {
  const auto family = families().find(opcode.substr(0, opcode.find('.')));
  if (family == families().end()) return nullptr;
  for (const OpcodeFacts* facts : family->second) {
    const std::string_view mnemonic = facts->mnemonic;
    if (opcode.starts_with(mnemonic) &&
        (opcode.size() == mnemonic.size() || opcode[mnemonic.size()] == '.')) {
      return facts;
    }
  }
  return nullptr;
}

struct NamedType {
  std::string_view name;
  DataType type;
  std::uint8_t bytes;
  bool floating;
};

constexpr NamedType types[] = {
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

/// True if `text` begins like a type. Most modifiers do not, which avoids the search.
bool may_be_type(std::string_view text) {
  return !text.empty() && std::string_view("pbusfte").find(text[0]) != std::string_view::npos;
}

const NamedType* find_type(std::string_view text) {
  if (!may_be_type(text)) return nullptr;
  for (const NamedType& entry : types) {
    if (entry.name == text) return &entry;
  }
  return nullptr;
}

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

/// The modifiers of one opcode, before the table's row is applied.
struct Modifiers {
  StateSpace space = StateSpace::none;
  DataType first_type = DataType::none;
  DataType last_type = DataType::none;
  std::uint8_t vector = 1;
  bool is_floating = false;
  bool is_uniform = false;
};

void read_modifier(std::string_view modifier, Modifiers& result) {
  if (modifier == "uni") {
    result.is_uniform = true;
  } else if (modifier == "v2" || modifier == "v4" || modifier == "v8") {
    result.vector = static_cast<std::uint8_t>(modifier[1] - '0');
  } else if (const NamedType* type = find_type(modifier)) {
    if (result.first_type == DataType::none) result.first_type = type->type;
    result.last_type = type->type;
    result.is_floating |= type->floating;
  } else if (const StateSpace space = parse_space(modifier); space != StateSpace::none) {
    // Copies name two spaces; the one outside the multiprocessor counts.
    if (result.space == StateSpace::none || space == StateSpace::global) result.space = space;
  }
}

Modifiers read_modifiers(std::string_view opcode) {
  Modifiers result;
  std::size_t begin = opcode.find('.');
  while (begin != std::string_view::npos) {
    const std::size_t end = opcode.find('.', begin + 1);
    read_modifier(opcode.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1), result);
    begin = end;
  }
  return result;
}

StateSpace space_of(const MemoryRow& row, const Modifiers& modifiers) {
  switch (row.sides[0].space) {
    case MemorySide::Space::shared: return StateSpace::shared;
    case MemorySide::Space::texture: return StateSpace::texture;
    case MemorySide::Space::surface: return StateSpace::surface;
    default: return modifiers.space == StateSpace::none ? StateSpace::generic : modifiers.space;
  }
}

void apply_row(const MemoryRow& row, const Modifiers& modifiers, OpcodeTraits& traits) {
  traits.synchronizes = row.kind == MemoryKind::synchronization;
  traits.reads_memory = row.reads();
  traits.writes_memory = row.writes();
  if (!traits.is_memory_access()) return;
  traits.space = space_of(row, modifiers);
  const MemorySide::Bytes bytes = row.sides[0].bytes;
  const bool has_type = bytes == MemorySide::Bytes::type || bytes == MemorySide::Bytes::row ||
                        bytes == MemorySide::Bytes::fixed;
  traits.type = has_type ? modifiers.first_type : DataType::none;
}

}  // namespace

std::uint32_t size_of(DataType type) {
  for (const NamedType& entry : types) {
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
  const NamedType* type = find_type(text);
  return type == nullptr ? DataType::none : type->type;
}

OpcodeTraits classify(std::string_view opcode) {
  OpcodeTraits traits;
  const Modifiers modifiers = read_modifiers(opcode);
  traits.type = modifiers.last_type;
  traits.vector = modifiers.vector;
  traits.is_floating = modifiers.is_floating;
  traits.is_uniform = modifiers.is_uniform;
  const OpcodeFacts* facts = find_facts(opcode);
  if (facts == nullptr) return traits;
  traits.known = true;
  traits.kind = facts->kind;
  traits.destinations = facts->destinations;
  traits.is_return = facts->mnemonic == "ret";
  traits.is_thread_exit = facts->mnemonic == "exit" || facts->mnemonic == "trap";
  if (const MemoryRow* row = find_memory_row(opcode)) apply_row(*row, modifiers, traits);
  return traits;
}

}  // namespace lynxpp::ptx
