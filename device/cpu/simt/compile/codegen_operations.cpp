// Passes operands to and from instructions that C++ operations (device/cpu/simt/operations) compute.
#include <algorithm>
#include <iterator>

#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/execute/counters/counters.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::device::cpu {

using ptx::DataType;
using ptx::Op;
using ptx::OperandKind;
using ptx::StateSpace;
using Value = llvm::Value;

namespace {

constexpr unsigned slot_bytes = sizeof(Lanes);

/// Appends the leaf operands of vectors and pairs.
void flatten(const ptx::Operand& operand, std::vector<const ptx::Operand*>& values) {
  if (operand.kind != OperandKind::vector && operand.kind != OperandKind::pair) {
    values.push_back(&operand);
    return;
  }
  for (const ptx::Operand& element : operand.elements) flatten(element, values);
}

/// True if bracketed operands of the instruction are addresses in tensor memory.
bool is_tensor_address(const ptx::Instruction& instruction) {
  return instruction.op() == Op::tcgen05 && !instruction.opcode.starts_with("tcgen05.alloc") &&
         !instruction.opcode.starts_with("tcgen05.commit");
}

}  // namespace

/// Returns the register that an operand names, with or without a selector.
std::optional<RegisterSlot> FunctionCodegen::selected_register(const ptx::Operand& operand,
                                                               std::string_view& selector) {
  if (operand.kind != OperandKind::identifier) return std::nullopt;
  const std::size_t dot = operand.name.rfind('.');
  const auto slot = find_register(operand.name.substr(0, dot));
  if (slot && dot != std::string_view::npos) selector = operand.name.substr(dot + 1);
  return slot;
}

/// Adds an operand [handle, {coordinates}].
void FunctionCodegen::add_object(const ptx::Operand& operand, OperationSources& sources) {
  if (operand.elements.empty() || operand.elements.size() > 2 || operand.offset != 0)
    return unsupported("separate samplers (.texmode_independent)");
  SourceSlot slot;
  slot.kind = SourceSlot::Kind::object;
  sources.slots.push_back(slot);
  sources.values.push_back(read_bits(operand.elements[0], 64));
  sources.operands.push_back(&operand);
  if (operand.elements.size() == 1) return;
  std::vector<const ptx::Operand*> coordinates;
  flatten(operand.elements[1], coordinates);
  for (const ptx::Operand* const each : coordinates) add_source(*each, sources);
}

/// Appends the sources of one operand; a 128-bit operand yields two values.
void FunctionCodegen::add_source(const ptx::Operand& operand, OperationSources& sources) {
  SourceSlot slot;
  std::string_view selector;
  const auto add = [&](Value* value) {
    sources.slots.push_back(slot);
    sources.values.push_back(value);
    sources.operands.push_back(&operand);
  };
  const ptx::StateSpace space = instruction_->traits.space;
  const bool is_of_object = space == ptx::StateSpace::texture || space == ptx::StateSpace::surface ||
                            opcode_->op == Op::txq || opcode_->op == Op::suq;
  if (operand.kind == OperandKind::address && is_of_object) return add_object(operand, sources);
  if (operand.kind == OperandKind::address) {
    slot.kind = is_tensor_address(*instruction_) ? SourceSlot::Kind::tensor : SourceSlot::Kind::address;
    add(nullptr);
    // [tensor map, {coordinates}]
    if (operand.elements.size() != 2) return;
    std::vector<const ptx::Operand*> coordinates;
    flatten(operand.elements[1], coordinates);
    for (const ptx::Operand* const each : coordinates) add_source(*each, sources);
    return;
  }
  const auto found = selected_register(operand, selector);
  if (!found) {
    slot.kind = SourceSlot::Kind::constant;
    slot.constant = operand.integer;
    // All floats here have single precision, but a literal may be written with more.
    const bool is_single = is_of_object && operand.kind == OperandKind::floating;
    return add(is_single ? resize(read(operand, DataType::f32), 64, false) : read_bits(operand, 64));
  }
  const bool has_descriptors = opcode_->op == Op::wgmma || opcode_->op == Op::tcgen05;
  if (has_descriptors && found->bits == 64) slot.kind = SourceSlot::Kind::descriptor;
  const bool releases = instruction_->opcode.starts_with("tcgen05.dealloc");
  if (releases && sources.slots.empty()) slot.kind = SourceSlot::Kind::tensor;
  slot.bits = found->bits;
  slot.selector = selector;
  slot.negated = operand.negated && found->bits != 1;
  if (found->bits == 1) {
    slot.kind = SourceSlot::Kind::predicate;
    return add(resize(read_predicate(operand), 64, false));
  }
  Value* const value = read_register(*found);
  add(resize(value, 64, false));
  if (found->bits == 128) add(resize(builder_.CreateLShr(value, splat(128, 64)), 64, false));
}

void FunctionCodegen::write_result(const ptx::Operand& destination, Value* place, unsigned& at) {
  const auto load = [&] {
    Value* const slot = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), place, at++ * slot_bytes);
    return builder_.CreateAlignedLoad(vector_type(64), slot, llvm::Align(64));
  };
  Value* value = load();
  std::string_view selector;
  const auto slot = selected_register(destination, selector);
  if (!slot) return;
  if (slot->bits == 1) return write_register(*slot, builder_.CreateICmpNE(value, splat(64, 0)));
  value = resize(value, slot->bits, false);
  if (slot->bits == 128)
    value = builder_.CreateOr(value, builder_.CreateShl(resize(load(), 128, false), splat(128, 64)));
  write_register(*slot, value);
}

/// Replaces addresses by their values and gives the operation their access sites.
void FunctionCodegen::resolve_addresses_of(Operation& operation, OperationSources& sources) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources.slots.size(); ++i) {
    const SourceSlot::Kind kind = sources.slots[i].kind;
    const bool is_descriptor = kind == SourceSlot::Kind::descriptor;
    const bool is_tensor = kind == SourceSlot::Kind::tensor;
    if (kind != SourceSlot::Kind::address && kind != SourceSlot::Kind::object && !is_descriptor && !is_tensor)
      continue;
    const Operation::Address& address = operation.addresses[next++];
    if (is_descriptor) {
      AccessSite& site = add_site(AddressKind::shared, address.space, address.bytes, next - 1);
      site.role.reads = true;
      site.role.is_async = true;
      site.in_cluster = opcode_->op == Op::tcgen05;  // of two blocks
      if (!again_) operation.sites.push_back(&site);
      continue;
    }
    if (kind == SourceSlot::Kind::object) {
      const AccessSite& site = add_site(AddressKind::host, address.space, address.bytes, next - 1);
      if (!again_) operation.sites.push_back(&site);
      continue;
    }
    if (is_tensor && sources.operands[i]->kind != OperandKind::address) {
      const AccessSite& site = add_site(AddressKind::host, address.space, address.bytes, next - 1);
      if (!again_) operation.sites.push_back(&site);
      continue;
    }
    const StateSpace space = is_tensor ? StateSpace::shared : address.space;  // 32 bits
    const Access access = address_of(*sources.operands[i], space, address.bytes);
    sources.values[i] = access.uniform != nullptr
                            ? splat(builder_.CreatePtrToInt(access.uniform, builder_.getInt64Ty()))
                            : access.addresses;
    AccessSite& site =
        add_site(is_tensor ? AddressKind::host : access.kind, address.space, address.bytes, next - 1);
    site.in_tensor_memory = is_tensor;
    if (!again_) operation.sites.push_back(&site);
  }
}

/// Records the sides of an operation's accesses for counted launches.
void FunctionCodegen::count_sides(const std::vector<const ptx::Operand*>& operands, Operation& operation) {
  if (!program_.counting) return;
  operation.counted.site = site();
  std::vector<const ptx::Operand*> addresses;
  std::ranges::copy_if(operands, std::back_inserter(addresses),
                       [](const ptx::Operand* each) { return each->kind == OperandKind::address; });
  for (const ptx::MemoryAccess& access : ptx::memory_accesses(*instruction_)) {
    const auto found = std::ranges::find(addresses, access.address);
    if (found == addresses.end()) continue;
    if (access.space != StateSpace::global && access.space != StateSpace::shared &&
        access.space != StateSpace::generic)
      continue;
    const AccessKind kind = !access.reads    ? AccessKind::store
                            : !access.writes ? AccessKind::load
                                             : AccessKind::atomic;
    operation.counted.sides.push_back({static_cast<std::size_t>(found - addresses.begin()), access.space,
                                       static_cast<std::uint32_t>(kind), access.follows_from_lanes(),
                                       access.is_sized});
  }
}

void FunctionCodegen::emit_operation() {
  modifiers_are_known_ = true;
  const std::size_t destinations =
      std::min<std::size_t>(instruction_->traits.destinations, instruction_->operands.size());
  std::vector<const ptx::Operand*> results;
  std::vector<const ptx::Operand*> operands;
  for (std::size_t i = 0; i < instruction_->operands.size(); ++i)
    flatten(operand(i), i < destinations ? results : operands);
  OperationSources sources;
  for (const ptx::Operand* const each : operands) add_source(*each, sources);
  if (opcode_->op == Op::wgmma) {  // accumulates
    for (const ptx::Operand* const each : results) add_source(*each, sources);
  }
  OperationRequest request{OpcodeWords(instruction_->opcode), 0, sources.slots};
  request.line = instruction_->line;
  for (const ptx::Operand* const each : results) {
    std::string_view selector;
    const auto slot = selected_register(*each, selector);
    if (!slot && each->kind != OperandKind::sink)
      return unsupported("destination '" + std::string(ptx_.text(each->text)) + "'");
    request.results += slot && slot->bits == 128 ? 2 : 1;
    request.result_selectors.push_back(selector);
  }
  const unsigned written = request.results;
  if (!again_) {
    Result<Operation> made = make_operation(std::move(request));
    if (!made) return unsupported(made.error().diagnostics.front().message);
    program_.operations.push_back(std::move(*made));
  }
  if (!again_) count_sides(operands, program_.operations.back());
  Operation& operation = again_ ? program_.operations[again_->second++] : program_.operations.back();
  resolve_addresses_of(operation, sources);
  Value* const in =
      buffer(1, std::max<unsigned>(1, static_cast<unsigned>(sources.values.size())) * slot_bytes);
  for (std::size_t i = 0; i < sources.values.size(); ++i) {
    Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), in, i * slot_bytes);
    builder_.CreateAlignedStore(sources.values[i], place, llvm::Align(64));
  }
  Value* const out = buffer(0, std::max(1u, written) * slot_bytes);
  call_helper(reinterpret_cast<const void*>(&run_operation), builder_.getVoidTy(),
              {warp_, active(), in, out, varying_pointer(&operation)});
  unsigned at = 0;
  for (const ptx::Operand* const each : results) write_result(*each, out, at);
}

}  // namespace lynxpp::device::cpu
