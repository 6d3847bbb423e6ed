#include "ptx/replay/decoder.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "ptx/ir/array_element.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

bool is_signed_type(DataType type) {
  return type == DataType::s8 || type == DataType::s16 || type == DataType::s32 || type == DataType::s64;
}

/// Width of an integer type in bits; 0 for all other types.
std::uint8_t integer_bits(DataType type) {
  if (is_floating(type) || type == DataType::opaque || type == DataType::b128) return 0;
  return static_cast<std::uint8_t>(8 * size_of(type));
}

std::optional<std::uint32_t> dimension_of(std::string_view name) {
  if (name.size() < 2 || name[name.size() - 2] != '.') return std::nullopt;
  const char letter = name.back();
  return letter < 'x' || letter > 'z' ? std::nullopt
                                      : std::optional(static_cast<std::uint32_t>(letter - 'x'));
}

/// Returns the variable in parameter space with this name; null if it does not exist.
const Variable* passed_variable(const Body& body, const Function& function, std::uint32_t at,
                                std::string_view name) {
  const Variable* const own =
      body.find_variable(name, body.statements[body.instructions[at].statement].scope);
  if (own != nullptr) return own->space == StateSpace::param ? own : nullptr;
  for (const std::vector<Variable>* const each : {&function.parameters, &function.returns}) {
    const auto found = std::ranges::find(*each, name, &Variable::name);
    if (found != each->end()) return found->space == StateSpace::param ? &*found : nullptr;
  }
  return nullptr;
}

ReplayKind kind_of(Op op) {
  using enum ReplayKind;
  switch (op) {
    case Op::mov:
    case Op::cvta: return move;
    case Op::add: return add;
    case Op::sub: return subtract;
    case Op::mul:
    case Op::mad: return multiply;
    case Op::shl: return shift_left;
    case Op::shr: return shift_right;
    case Op::bit_and: return bit_and;
    case Op::bit_or: return bit_or;
    case Op::bit_xor: return bit_xor;
    case Op::bit_not: return bit_not;
    case Op::neg: return negate;
    case Op::min: return minimum;
    case Op::max: return maximum;
    case Op::abs: return absolute;
    case Op::div: return divide;
    case Op::rem: return remainder;
    case Op::selp: return select;
    default: return unknown;
  }
}

/// Returns the operator of setp that combines the comparison with a predicate.
ReplayLogic logic_of(const Instruction& instruction) {
  if (instruction.has(Modifier::bit_and)) return ReplayLogic::bit_and;
  if (instruction.has(Modifier::bit_or)) return ReplayLogic::bit_or;
  return instruction.has(Modifier::bit_xor) ? ReplayLogic::bit_xor : ReplayLogic::none;
}

}  // namespace

RegisterId ParameterRegisters::find(Storage storage, std::int64_t offset, std::uint32_t bytes) {
  const auto [found, is_new] = registers_.try_emplace({storage, offset, bytes}, no_register);
  if (is_new) found->second = next_++;
  return found->second;
}

std::vector<RegisterId> ParameterRegisters::unknown() const {
  std::vector<RegisterId> found;
  std::optional<Storage> last;
  std::int64_t end = 0;
  RegisterId reaches_end = no_register;  // the one with the greatest end so far, in order of offsets
  for (const auto& [piece, reg] : registers_) {
    const auto [storage, offset, bytes] = piece;
    if (unknown_.contains(storage)) found.push_back(reg);
    const bool overlaps = last == storage && offset < end;
    if (overlaps) found.insert(found.end(), {reg, reaches_end});
    if (overlaps && offset + bytes <= end) continue;
    last = storage;
    end = offset + bytes;
    reaches_end = reg;
  }
  return found;
}

ReplayOperation ReplayDecoder::base(std::uint32_t at) const {
  const Instruction& instruction = function_.body->instructions[at];
  ReplayOperation operation;
  operation.function = copy_.function;
  operation.instruction = at;
  if (instruction.guarded()) {
    operation.guard = own(usage_.find(instruction.guard.predicate, at));
    operation.guard_negated = instruction.guard.negated;
  }
  return operation;
}

ReplayOperand ReplayDecoder::operand(std::uint32_t at, const Operand& from) {
  using Kind = ReplayOperand::Kind;
  if (from.kind == OperandKind::integer) return {Kind::constant, 0, from.integer};
  if (from.kind == OperandKind::special_register) {
    if (from.name == "%laneid") return {Kind::lane, 0, 0};
    const std::optional<std::uint32_t> dimension = dimension_of(from.name);
    if (!dimension) return {};
    const std::string_view root = from.name.substr(0, from.name.size() - 2);
    if (root == "%tid") return {Kind::tid, *dimension, 0};
    if (root == "%ctaid") return {Kind::ctaid, *dimension, 0};
    if (root == "%ntid") return {Kind::ntid, *dimension, 0};
    if (root == "%nctaid") return {Kind::nctaid, *dimension, 0};
    return {};
  }
  if (from.kind != OperandKind::identifier || from.negated) return {};
  if (const RegisterId reg = usage_.find(from.name, at); reg != no_register) {
    const bool is_whole = usage_.registers()[reg].name == from.name && from.offset == 0;
    return is_whole ? ReplayOperand{Kind::reg, own(reg), 0} : ReplayOperand{};
  }
  return variable(at, from);
}

ReplayOperand ReplayDecoder::variable(std::uint32_t at, const Operand& from) {
  const Body& body = *function_.body;
  const std::uint32_t scope = body.statements[body.instructions[at].statement].scope;
  const Variable* found = body.find_variable(from.name, scope);
  ReplayVariable asked{std::string(from.name), copy_.function};
  if (found == nullptr) {
    found = module_.find_variable(from.name);
    asked.function.reset();
  }
  const bool is_known =
      found != nullptr && (found->space == StateSpace::global || found->space == StateSpace::shared);
  if (!is_known) return {};
  const auto known = std::ranges::find(variables_, asked);
  const auto index = static_cast<std::uint32_t>(known - variables_.begin());
  if (known == variables_.end()) variables_.push_back(std::move(asked));
  return {ReplayOperand::Kind::variable, index, from.offset};
}

ReplayOperand ReplayDecoder::address_base(std::uint32_t at, const Operand& address, ReplayOperation& access) {
  if (address.elements.empty()) return {};
  const ReplayOperand found = operand(at, address.elements[0]);
  const bool is_register = found.kind == ReplayOperand::Kind::reg;
  access.bits =
      is_register ? integer_bits(usage_.registers()[usage_.find(address.elements[0].name, at)].type) : 64;
  return found;
}

void ReplayDecoder::add_accesses(std::uint32_t at, std::vector<ReplayOperation>& operations) {
  const Instruction& instruction = function_.body->instructions[at];
  const MemoryAccesses accesses = memory_accesses(instruction);
  for (std::uint32_t side = 0; side < accesses.count; ++side) {
    const MemoryAccess& access = accesses.access[side];
    const bool counts = access.space == StateSpace::global || access.space == StateSpace::shared ||
                        access.space == StateSpace::generic;
    if (!counts) continue;
    ReplayOperation operation = base(at);
    operation.kind = ReplayKind::access;
    operation.side = side;
    operation.bytes = access.bytes;
    operation.space = access.space;
    const bool is_one_address = access.address != nullptr && access.address->elements.size() == 1 &&
                                access.bytes != 0 && access.lanes == MemoryAccess::all_lanes &&
                                access.is_sized && !array_element(*access.address);
    if (is_one_address) {
      operation.source[0] = address_base(at, *access.address, operation);
      operation.source[1] = {ReplayOperand::Kind::constant, 0, access.address->offset};
    }
    if (access.size != nullptr) {
      operation.source[2] = operand(at, *access.size);
      operation.lane_size = lane_size(*function_.body, instruction, access);
    }
    // A `::cluster` access may refer to another block's memory.
    const bool is_own = !instruction.has(Modifier::shared_cluster);
    const bool is_sized = access.size == nullptr || operation.source[2].kind != ReplayOperand::Kind::none;
    if (!is_own || !is_sized) operation.source[0] = {};
    operations.push_back(operation);
  }
}

bool ReplayDecoder::decode_parameter(std::uint32_t at, std::vector<ReplayOperation>& operations) {
  const Instruction& instruction = function_.body->instructions[at];
  if (!function_.is_entry || !instruction.traits.reads_memory || instruction.operands.size() != 2 ||
      instruction.traits.space != StateSpace::param || instruction.op() != Op::ld)
    return false;
  const Operand& address = instruction.operands[1];
  if (address.elements.size() != 1 || address.elements[0].kind != OperandKind::identifier) return false;
  const auto parameter = std::ranges::find(function_.parameters, address.elements[0].name, &Variable::name);
  const std::uint8_t bits = integer_bits(instruction.traits.type);
  if (parameter == function_.parameters.end() || bits == 0) return false;
  const auto index = static_cast<std::size_t>(parameter - function_.parameters.begin());
  const auto offset = static_cast<std::int64_t>(function_.parameter_offsets()[index]);
  const Operand& to = instruction.operands[0];
  const std::size_t elements = to.kind == OperandKind::vector ? to.elements.size() : 1;
  for (std::size_t i = 0; i < elements; ++i) {
    const Operand& each = to.kind == OperandKind::vector ? to.elements[i] : to;
    ReplayOperation operation = base(at);
    operation.kind = ReplayKind::load_parameter;
    operation.bits = bits;
    operation.is_signed = is_signed_type(instruction.traits.type);
    operation.bytes = bits / 8;
    operation.source[0] = {ReplayOperand::Kind::constant, 0,
                           offset + address.offset + static_cast<std::int64_t>(i) * operation.bytes};
    if (each.kind == OperandKind::identifier) operation.destinations = {own(usage_.find(each.name, at))};
    operations.push_back(operation);
  }
  return true;
}

/// Decodes loads and stores of a device function's parameters, results and arguments: moves between its
/// registers and those of the variable.
bool ReplayDecoder::decode_passed(std::uint32_t at, std::vector<ReplayOperation>& operations) {
  const Instruction& instruction = function_.body->instructions[at];
  const bool is_load = instruction.traits.reads_memory;
  if (instruction.traits.space != StateSpace::param || instruction.operands.size() != 2) return false;
  const Operand& address = instruction.operands[is_load ? 1 : 0];
  const Operand& value = instruction.operands[is_load ? 0 : 1];
  if (address.elements.size() != 1 || address.elements[0].kind != OperandKind::identifier) return false;
  const Variable* const passed = passed_variable(*function_.body, function_, at, address.elements[0].name);
  const auto storage = copy_.storages.find(passed);
  if (storage == copy_.storages.end()) return false;
  const auto bytes = static_cast<std::uint32_t>(size_of(instruction.traits.type));
  const std::uint8_t bits = integer_bits(instruction.traits.type);
  const std::size_t elements = value.kind == OperandKind::vector ? value.elements.size() : 1;
  for (std::size_t i = 0; i < elements; ++i) {
    const Operand& each = value.kind == OperandKind::vector ? value.elements[i] : value;
    const RegisterId slot =
        parameters_.find(storage->second, address.offset + static_cast<std::int64_t>(i * bytes), bytes);
    const RegisterId reg = each.kind == OperandKind::identifier ? usage_.find(each.name, at) : no_register;
    const bool is_plain = bits >= 16 && (reg == no_register || usage_.registers()[reg].name == each.name);
    const std::uint8_t own_bits = reg == no_register ? bits : integer_bits(usage_.registers()[reg].type);
    ReplayOperation operation = base(at);
    operation.bits = bits;
    operation.result_bits = is_load ? own_bits : bits;
    operation.is_signed = is_signed_type(instruction.traits.type);
    operation.source[0] = is_load ? ReplayOperand{ReplayOperand::Kind::reg, slot, 0} : operand(at, each);
    const bool is_known =
        is_plain && own_bits >= bits && operation.source[0].kind != ReplayOperand::Kind::none;
    if (is_known) operation.kind = operation.result_bits > bits ? ReplayKind::convert : ReplayKind::move;
    operation.destinations = {is_load ? own(reg) : slot};
    if (operation.destinations[0] != no_register) operations.push_back(operation);
  }
  return true;
}

std::optional<std::vector<const Variable*>> ReplayDecoder::passed(std::uint32_t call) const {
  const Instruction& instruction = function_.body->instructions[call];
  std::vector<const Variable*> variables;
  for (const Operand& list : instruction.operands) {
    if (list.kind != OperandKind::list) continue;
    for (const Operand& each : list.elements) {
      const Variable* const found = each.kind == OperandKind::identifier
                                        ? passed_variable(*function_.body, function_, call, each.name)
                                        : nullptr;
      if (found == nullptr) return std::nullopt;
      variables.push_back(found);
    }
  }
  return variables;
}

bool ReplayDecoder::set_sources(std::uint32_t at, std::size_t first, std::size_t count,
                                ReplayOperation& operation) {
  const OperandList& operands = function_.body->instructions[at].operands;
  if (operands.size() != first + count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    operation.source[i] = operand(at, operands[first + i]);
    if (operation.source[i].kind == ReplayOperand::Kind::none) return false;
  }
  return true;
}

bool ReplayDecoder::decode_predicate(std::uint32_t at, ReplayOperation& operation) {
  operation.bits = operation.result_bits = 1;
  switch (operation.kind) {
    case ReplayKind::move:
    case ReplayKind::bit_not: return set_sources(at, 1, 1, operation);
    case ReplayKind::bit_and:
    case ReplayKind::bit_or:
    case ReplayKind::bit_xor: return set_sources(at, 1, 2, operation);
    default: return false;
  }
}

bool ReplayDecoder::decode_convert(std::uint32_t at, ReplayOperation& operation) {
  const Instruction& instruction = function_.body->instructions[at];
  const DataType to = instruction.traits.first_type;
  const DataType from = instruction.traits.type;
  // Modifiers other than the two types round, saturate or pack.
  const bool is_plain = std::ranges::count(instruction.opcode, '.') == 2;
  if (!is_plain || integer_bits(to) == 0 || integer_bits(from) == 0) return false;
  operation.kind = ReplayKind::convert;
  operation.bits = integer_bits(from);
  operation.result_bits = integer_bits(to);
  operation.is_signed = is_signed_type(from);
  // A conversion to 8 bits leaves the register's upper bits sign- or zero-extended.
  return operation.result_bits >= 16 && set_sources(at, 1, 1, operation);
}

/// Only global memory has equal addresses in its own space and in generic space.
bool ReplayDecoder::decode_space(std::uint32_t at, ReplayOperation& operation) {
  const Instruction& instruction = function_.body->instructions[at];
  if (instruction.has(Modifier::shared) && operation.bits == 64) {
    operation.kind =
        instruction.has(Modifier::to) ? ReplayKind::shared_of_generic : ReplayKind::generic_of_shared;
  } else if (!instruction.has(Modifier::global)) {
    return false;
  }
  return set_sources(at, 1, 1, operation);
}

bool ReplayDecoder::decode_compare(std::uint32_t at, ReplayOperation& operation) {
  const Instruction& instruction = function_.body->instructions[at];
  const std::optional<Comparison> comparison = instruction.traits.comparison;
  const DataType type = instruction.traits.type;
  const std::size_t sources = instruction.operands.size() - 1;
  if (!comparison || integer_bits(type) == 0 || sources < 2 || sources > 3) return false;
  operation.kind = ReplayKind::compare;
  operation.comparison = *comparison;
  operation.bits = integer_bits(type);
  operation.is_signed = is_signed_type(type);
  if (sources == 3) {
    operation.logic = logic_of(instruction);
    if (operation.logic == ReplayLogic::none) return false;
  }
  return set_sources(at, 1, sources, operation);
}

bool ReplayDecoder::decode_value(std::uint32_t at, ReplayOperation& operation) {
  const Instruction& instruction = function_.body->instructions[at];
  const Op op = instruction.op();
  if (op == Op::setp) return decode_compare(at, operation);
  if (op == Op::cvt) return decode_convert(at, operation);
  operation.kind = kind_of(op);
  if (operation.kind == ReplayKind::unknown) return false;
  if (instruction.traits.type == DataType::pred) return decode_predicate(at, operation);
  operation.bits = integer_bits(instruction.traits.type);
  operation.result_bits = operation.bits;
  operation.is_signed = is_signed_type(instruction.traits.type);
  const bool is_plain = !instruction.has_any({Modifier::cc, Modifier::sat, Modifier::hi, Modifier::relu});
  if (operation.bits < 16 || !is_plain) return false;
  if (op == Op::cvta) return decode_space(at, operation);
  if (op == Op::mul || op == Op::mad) {
    const bool is_wide = instruction.has(Modifier::wide);
    if (is_wide) operation.result_bits = static_cast<std::uint8_t>(2 * operation.bits);
    if (!is_wide && !instruction.has(Modifier::lo)) return false;
    return set_sources(at, 1, op == Op::mul ? 2 : 3, operation);
  }
  switch (operation.kind) {
    case ReplayKind::move:
    case ReplayKind::bit_not:
    case ReplayKind::negate:
    case ReplayKind::absolute: return set_sources(at, 1, 1, operation);
    case ReplayKind::select: return set_sources(at, 1, 3, operation);
    default: return set_sources(at, 1, 2, operation);
  }
}

/// Decodes an operation that is one step followed by a shift to the right of its result: `mul.hi` by the
/// product's upper half, `bfe` with a constant field by a shift that removes the bits above the field.
bool ReplayDecoder::decode_upper_bits(std::uint32_t at, std::vector<ReplayOperation>& operations) {
  const Instruction& instruction = function_.body->instructions[at];
  const bool is_product = instruction.op() == Op::mul && instruction.has(Modifier::hi);
  if ((!is_product && instruction.op() != Op::bfe) || instruction.operands.size() < 3) return false;
  const RegisterId to = usage_.find(instruction.operands[0].name, at);
  if (to == no_register || usage_.registers()[to].name != instruction.operands[0].name) return false;
  ReplayOperation first = base(at);
  first.bits = first.result_bits = integer_bits(instruction.traits.type);
  first.is_signed = is_signed_type(instruction.traits.type);
  std::int64_t drop = first.bits;  // bits below those of the result
  if (is_product) {
    first.kind = ReplayKind::multiply;
    first.result_bits = 64;
    if (first.bits != 32 || !set_sources(at, 1, 2, first)) return false;
  } else {
    using Kind = ReplayOperand::Kind;
    if (!set_sources(at, 1, 3, first)) return false;
    const auto [kind, unused, position] = first.source[1];
    const std::int64_t size = first.source[2].number;
    if (kind != Kind::constant || first.source[2].kind != Kind::constant || position < 0 || size <= 0 ||
        position + size > first.bits)
      return false;
    first.kind = ReplayKind::shift_left;
    first.source[1].number = first.bits - position - size;
    first.source[2] = {};
    drop = first.bits - size;
  }
  const RegisterId between = parameters_.fresh();
  first.destinations = {between};
  ReplayOperation second = base(at);
  second.kind = ReplayKind::shift_right;
  second.bits = second.result_bits = first.result_bits;
  second.is_signed = first.is_signed;
  second.destinations = {own(to)};
  second.source[0] = {ReplayOperand::Kind::reg, between, 0};
  second.source[1] = {ReplayOperand::Kind::constant, 0, drop};
  operations.insert(operations.end(), {first, second});
  return true;
}

std::vector<ReplayOperation> ReplayDecoder::decode(std::uint32_t at) {
  std::vector<ReplayOperation> operations;
  const Instruction& instruction = function_.body->instructions[at];
  add_accesses(at, operations);
  if (decode_parameter(at, operations) || decode_passed(at, operations) || decode_upper_bits(at, operations))
    return operations;
  ReplayOperation operation = base(at);
  switch (instruction.traits.kind) {
    case OpcodeClass::branch: operation.kind = ReplayKind::branch; break;
    case OpcodeClass::exit: operation.kind = ReplayKind::exit; break;
    case OpcodeClass::call: operation.kind = ReplayKind::call; break;
    default: {
      ReplayOperation value = base(at);
      const bool is_value = instruction.traits.destinations == 1 && !instruction.traits.is_memory_access() &&
                            !is_floating(instruction.traits.type) && decode_value(at, value);
      if (is_value) operation = value;
    }
  }
  const std::span<const RegisterWrite> writes = usage_.writes(at);
  for (const RegisterWrite& write : writes) operation.destinations.push_back(own(write.reg));
  // Components of vectors are not tracked.
  const bool has_plain_result =
      !instruction.operands.empty() &&
      (instruction.operands[0].kind == OperandKind::pair ||
       (instruction.operands[0].kind == OperandKind::identifier && writes.size() == 1 &&
        usage_.registers()[writes[0].reg].name == instruction.operands[0].name));
  const bool is_control = operation.kind == ReplayKind::branch || operation.kind == ReplayKind::exit ||
                          operation.kind == ReplayKind::call;
  if (!is_control && !has_plain_result) operation.kind = ReplayKind::unknown;
  const bool needed = is_control || !operation.destinations.empty();
  if (needed) operations.push_back(operation);
  return operations;
}

}  // namespace lynxpp::ptx
