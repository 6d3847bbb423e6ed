// Loads, stores, atomics, address spaces, and operations across the lanes of a warp.
#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/compile/codegen.h"
#include "device/cpu/simt/execute/counters/clock.h"
#include "device/cpu/simt/execute/counters/counters.h"

namespace lynxpp::device::cpu {

using ptx::DataType;
using ptx::Op;
using ptx::StateSpace;
using Value = llvm::Value;

namespace {

StateSpace space_of(const DecodedOpcode& opcode) {
  static constexpr std::pair<std::string_view, StateSpace> spaces[] = {
      {"global", StateSpace::global},      {"shared", StateSpace::shared},
      {"shared::cta", StateSpace::shared}, {"shared::cluster", StateSpace::shared},
      {"local", StateSpace::local},        {"const", StateSpace::constant},
      {"param", StateSpace::param},        {"param::entry", StateSpace::param},
      {"param::func", StateSpace::param},
  };
  for (const auto& [name, space] : spaces) {
    if (opcode.has(name)) return space;
  }
  return StateSpace::generic;
}

}  // namespace

unsigned FunctionCodegen::vector_count(const DecodedOpcode& opcode) {
  return opcode.has("v2") ? 2 : opcode.has("v4") ? 4 : opcode.has("v8") ? 8 : 1;
}

/// Access to a kernel parameter at a known offset: uniform, unless it is outside the parameters.
FunctionCodegen::Access FunctionCodegen::parameter_access(std::uint64_t offset, unsigned bytes) {
  Access access;
  if (offset % bytes != 0 || offset + bytes > parameters_->bytes || offset + bytes < offset) {
    access.addresses = builder_.CreateAdd(splat(context_load(offsetof(WarpContext, parameters), 64)),
                                          varying_splat(offset, 64));
    return access;
  }
  Value* const buffer =
      builder_.CreateLoad(builder_.getPtrTy(), context_pointer(offsetof(WarpContext, parameters)));
  access.uniform = builder_.CreateGEP(builder_.getInt8Ty(), buffer, varying(offset, 64));
  return access;
}

/// Access at a register's value plus an offset.
FunctionCodegen::Access FunctionCodegen::register_access(const RegisterSlot& slot, std::int64_t offset,
                                                         StateSpace space, AddressKind kind) {
  Access access;
  access.kind = kind;
  access.base = read_register(slot);
  access.offset = offset;
  access.addresses = resize(access.base, 64, false);
  if (access.base->getType() != access.addresses->getType() && kind != AddressKind::shared)
    access.base = nullptr;
  if (offset != 0)
    access.addresses =
        builder_.CreateAdd(access.addresses, varying_splat(static_cast<std::uint64_t>(offset), 64));
  if (kind == AddressKind::shared) {
    // Shared addresses have 32 bits, so a negative displacement wraps.
    access.addresses = builder_.CreateAnd(access.addresses, splat(64, 0xffff'ffff));
  }
  if (space == StateSpace::param) {
    access.base = nullptr;
    if (parameters_) {
      access.addresses =
          builder_.CreateAdd(access.addresses, splat(context_load(offsetof(WarpContext, parameters), 64)));
    } else {
      access.kind = AddressKind::local;
    }
  }
  return access;
}

/// Access at a variable or a parameter. `kind` is the instruction's address kind.
FunctionCodegen::Access FunctionCodegen::symbol_access(const ptx::Operand& address, AddressKind kind,
                                                       unsigned bytes) {
  Access access;
  access.kind = kind;
  const ptx::Operand& base = address.elements[0];
  const Symbol symbol = base.kind == ptx::OperandKind::identifier ? resolve(base.name) : Symbol{};
  if (symbol.kind == Symbol::Kind::none) {
    unsupported("unknown name '" + std::string(base.name) + "'");
    access.addresses = splat(64, 0);
    return access;
  }
  const std::optional<ptx::ArrayElement> element = ptx::array_element(address);
  if (symbol.kind == Symbol::Kind::kernel_parameter && element) {
    Value* const buffer = splat(context_load(offsetof(WarpContext, parameters), 64));
    access.addresses = builder_.CreateAdd(builder_.CreateAdd(buffer, varying_splat(symbol.value, 64)),
                                          element_offset(*element));
    return access;
  }
  if (symbol.kind == Symbol::Kind::kernel_parameter)
    return parameter_access(symbol.value + static_cast<std::uint64_t>(address.offset), bytes);
  if (symbol.kind == Symbol::Kind::local) access.kind = AddressKind::local;
  if (symbol.kind == Symbol::Kind::shared) access.kind = AddressKind::shared;
  access.addresses = symbol_value(symbol, address.offset);
  if (element) access.addresses = builder_.CreateAdd(access.addresses, element_offset(*element));
  return access;
}

/// Returns the access of `bytes` per lane that an address operand describes.
FunctionCodegen::Access FunctionCodegen::address_of(const ptx::Operand& address, StateSpace space,
                                                    unsigned bytes) {
  Access access;
  access.kind = space == StateSpace::shared  ? AddressKind::shared
                : space == StateSpace::local ? AddressKind::local
                                             : AddressKind::host;
  if (address.kind != ptx::OperandKind::address || address.elements.empty()) {
    unsupported("operand '" + std::string(ptx_.text(address.text)) + "' is not an address");
    access.addresses = splat(64, 0);
    return access;
  }
  const ptx::Operand& base = address.elements[0];
  const std::int64_t offset = address.offset;
  const auto slot = base.kind == ptx::OperandKind::identifier ? find_register(base.name) : std::nullopt;
  if (slot && slot->bits != 1) return register_access(*slot, offset, space, access.kind);
  if (base.kind != ptx::OperandKind::integer) return symbol_access(address, access.kind, bytes);
  access.addresses = varying_splat(static_cast<std::uint64_t>(base.integer + offset), 64);
  return access;
}

/// Returns the byte offset of a[%r1], computed with 32-bit wraparound.
Value* FunctionCodegen::element_offset(const ptx::ArrayElement& element) {
  const ptx::Operand& index = *element.index;
  const auto slot = find_register(index.name);
  if (!slot || slot->bits == 1) {
    unsupported("'" + std::string(index.name) + "' is not an index");
    return splat(64, 0);
  }
  Value* const place = builder_.CreateAdd(resize(read_register(*slot), 32, false),
                                          varying_splat(static_cast<std::uint64_t>(index.offset), 32));
  return resize(builder_.CreateMul(place, splat(32, element.bytes)), 64, false);
}

void FunctionCodegen::emit_uniform_load(Value* pointer, const ptx::Operand& destination, DataType type,
                                        unsigned count) {
  const unsigned bits = bits_of(type);
  for (unsigned i = 0; i < count; ++i) {
    Value* const place =
        builder_.CreateConstGEP1_64(builder_.getInt8Ty(), pointer, std::uint64_t{i} * bits / 8);
    Value* const scalar = builder_.CreateAlignedLoad(builder_.getIntNTy(bits), place, llvm::Align(1));
    write(count == 1 ? destination : destination.elements[i], type, splat(scalar));
  }
}

/// `addresses`: the spilled addresses of the access.
void FunctionCodegen::count_access_of(const Access& access, Value* addresses, Value* lanes, StateSpace space,
                                      unsigned bytes) {
  if (!program_.counting && !program_.timed) return;
  const bool is_host = access.kind == AddressKind::host;
  if (access.kind == AddressKind::local ||
      (is_host && space != StateSpace::global && space != StateSpace::generic))
    return;
  const AccessSpace counted = !is_host                      ? AccessSpace::shared
                              : space == StateSpace::global ? AccessSpace::global
                                                            : AccessSpace::generic;
  const ptx::OpcodeTraits& traits = instruction_->traits;
  const AccessKind kind = !traits.reads_memory    ? AccessKind::store
                          : !traits.writes_memory ? AccessKind::load
                                                  : AccessKind::atomic;
  const auto call = [&](auto* function, std::uint32_t of_kind) {
    call_helper(reinterpret_cast<const void*>(function), builder_.getVoidTy(),
                {warp_, addresses, lanes, varying(site(), 32), constant32(bytes),
                 constant32(static_cast<std::uint32_t>(counted)), constant32(of_kind)});
  };
  const auto of_kind = static_cast<std::uint32_t>(kind);
  if (program_.counting) call(&count_access, of_kind);
  const bool has_result = traits.reads_memory && traits.destinations != 0;
  if (program_.timed) call(&record_access, has_result ? of_kind | reads_flag : of_kind);
}

/// `address`: the index of the address among the instruction's addresses.
AccessSite& FunctionCodegen::add_site(AddressKind kind, StateSpace space, unsigned bytes,
                                      std::size_t address) {
  if (again_) return program_.accesses[again_->first++];
  AccessSite& made = program_.accesses.emplace_back();
  made.index = static_cast<std::uint32_t>(program_.accesses.size() - 1);
  made.bytes = bytes;
  made.kind = kind;
  made.space = space;
  made.opcode = instruction_->opcode;
  made.function = function_.name;
  made.line = instruction_->line;
  if (const std::string* const file = ptx_.find_file(instruction_->source_file)) {
    made.source_file = *file;
    made.source_line = instruction_->source_line;
    made.from_library = instruction_->from_library;
  }
  made.in_cluster = kind == AddressKind::shared && instruction_->has(ptx::Modifier::shared_cluster);
  if (program_.checked) made.role = role_of(instruction_->traits, address);
  return made;
}

Value* FunctionCodegen::checked_site(const Access& access, Value* addresses, unsigned bytes, Value* values,
                                     unsigned element_bytes) {
  AccessSite& made = add_site(access.kind, space_of(*opcode_), bytes, 0);
  if (!again_) made.element_bytes = element_bytes;
  Value* const site = varying_pointer(&made);
  if (is_form()) varying_values_.back() = {Varying::From::site, made.index};
  if (program_.checked) {
    Value* const none = llvm::ConstantPointerNull::get(builder_.getPtrTy());
    call_helper(reinterpret_cast<const void*>(&check_access), builder_.getVoidTy(),
                {warp_, addresses, values != nullptr ? values : none, active(), site});
  }
  return site;
}

/// In checked code, lanes whose access is skipped load zeros.
void FunctionCodegen::clear_result(Value* result, unsigned bytes) {
  if (program_.checked) builder_.CreateMemSet(result, builder_.getInt8(0), bytes, llvm::MaybeAlign(32));
}

/// Checks the members of a `.sync` operation in checked code.
void FunctionCodegen::check_meeting() {
  const std::optional<std::size_t> index = members_operand(*instruction_);
  if (!index) return;
  Value* const members = spill(3, read(*index, DataType::b32));
  call_helper(
      reinterpret_cast<const void*>(&check_members), builder_.getVoidTy(),
      {warp_, members, active(), varying_pointer(&add_site(AddressKind::host, StateSpace::none, 0, 0))});
}

void FunctionCodegen::emit_load() {
  const DataType type = opcode_->type();
  const unsigned bits = bits_of(type);
  const unsigned count = vector_count(*opcode_);
  if (bits == 128 && count == 1) return emit_wide_access();
  if (bits < 8 || bits > 64) return unsupported();
  const ptx::Operand& destination = operand(0);
  if (count > 1 && destination.elements.size() != count) return unsupported("malformed destination");
  const Access access = address_of(operand(1), space_of(*opcode_), bits / 8 * count);
  if (access.uniform != nullptr) return emit_uniform_load(access.uniform, destination, type, count);
  const LoadFunction load = find_load(access.kind, bits / 8, count);
  if (load == nullptr) return unsupported();
  const auto call = [&](const Access& made) { return call_load(made, load, bits, count); };
  const std::vector<Value*> values =
      is_inline_access(access) ? emit_inline_load(access, bits, count, call) : call(access);
  for (unsigned i = 0; i < count; ++i)
    write(count == 1 ? destination : destination.elements[i], type, values[i]);
}

std::vector<Value*> FunctionCodegen::call_load(const Access& access, LoadFunction load, unsigned bits,
                                               unsigned count) {
  Value* const addresses = spill(4, access.addresses);
  count_access_of(access, addresses, active(), space_of(*opcode_), bits / 8 * count);
  Value* const result = buffer(0, warp_size * bits / 8 * count);
  clear_result(result, warp_size * bits / 8 * count);
  call_helper(reinterpret_cast<const void*>(load), builder_.getVoidTy(),
              {warp_, result, addresses, active(), checked_site(access, addresses, bits / 8 * count)});
  std::vector<Value*> values;
  for (unsigned i = 0; i < count; ++i) {
    Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), result,
                                                             std::uint64_t{i} * warp_size * bits / 8);
    values.push_back(builder_.CreateAlignedLoad(vector_type(bits), place, llvm::Align(32)));
  }
  return values;
}

/// ld.b128, st.b128: two 64-bit halves in one access.
void FunctionCodegen::emit_wide_access() {
  const bool loads = opcode_->op != Op::st;
  const Access access = address_of(operand(loads ? 1 : 0), space_of(*opcode_), 16);
  if (access.uniform != nullptr) {
    if (!loads) return unsupported("a kernel parameter cannot be written");
    return emit_uniform_load(access.uniform, operand(0), DataType::b128, 1);
  }
  Value* const addresses = spill(4, access.addresses);
  count_access_of(access, addresses, active(), space_of(*opcode_), 16);
  Value* const halves = buffer(loads ? 0 : 1, warp_size * 16);
  Value* const upper = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), halves, warp_size * 8);
  const void* helper = nullptr;
  if (loads) {
    helper = reinterpret_cast<const void*>(find_load(access.kind, 8, 2));
  } else {
    Value* const value = read(1, DataType::b128);
    helper = reinterpret_cast<const void*>(find_store(access.kind, 8, 2));
    builder_.CreateAlignedStore(resize(value, 64, false), halves, llvm::Align(64));
    builder_.CreateAlignedStore(resize(builder_.CreateLShr(value, splat(128, 64)), 64, false), upper,
                                llvm::Align(64));
  }
  if (loads) clear_result(halves, warp_size * 16);
  Value* const site =
      loads ? checked_site(access, addresses, 16) : checked_site(access, addresses, 16, halves, 8);
  call_helper(helper, builder_.getVoidTy(), {warp_, halves, addresses, active(), site});
  if (!loads) return;
  const auto half = [&](Value* place) {
    return resize(builder_.CreateAlignedLoad(vector_type(64), place, llvm::Align(64)), 128, false);
  };
  write(0, DataType::b128, builder_.CreateOr(half(halves), builder_.CreateShl(half(upper), splat(128, 64))));
}

void FunctionCodegen::emit_store() {
  const DataType type = opcode_->type();
  const unsigned bits = bits_of(type);
  const unsigned count = vector_count(*opcode_);
  if (bits == 128 && count == 1 && !opcode_->has("async")) return emit_wide_access();
  if (opcode_->has("async")) return emit_operation();
  if (bits < 8 || bits > 64 || opcode_->has("bulk")) return unsupported();
  const ptx::Operand& source = operand(1);
  if (count > 1 && source.elements.size() != count) return unsupported("malformed source");
  const Access access = address_of(operand(0), space_of(*opcode_), bits / 8 * count);
  if (access.uniform != nullptr) return unsupported("a kernel parameter cannot be written");
  const StoreFunction store = find_store(access.kind, bits / 8, count);
  if (store == nullptr) return unsupported();
  std::vector<Value*> stored;
  for (unsigned i = 0; i < count; ++i) stored.push_back(read(count == 1 ? source : source.elements[i], type));
  const auto call = [&](const Access& made) { call_store(made, store, stored); };
  if (!is_inline_access(access)) return call(access);
  emit_inline_store(access, stored, call);
}

void FunctionCodegen::call_store(const Access& access, StoreFunction store,
                                 const std::vector<Value*>& stored) {
  const auto count = static_cast<unsigned>(stored.size());
  const unsigned bits = stored[0]->getType()->getScalarSizeInBits();
  Value* const values = buffer(1, warp_size * bits / 8 * count);
  for (unsigned i = 0; i < count; ++i) {
    Value* const place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), values,
                                                             std::uint64_t{i} * warp_size * bits / 8);
    builder_.CreateAlignedStore(stored[i], place, llvm::Align(32));
  }
  Value* const addresses = spill(4, access.addresses);
  count_access_of(access, addresses, active(), space_of(*opcode_), bits / 8 * count);
  call_helper(reinterpret_cast<const void*>(store), builder_.getVoidTy(),
              {warp_, values, addresses, active(),
               checked_site(access, addresses, bits / 8 * count, values, bits / 8)});
}

/// atom.op.type d, [a], b {, c}; red.op.type [a], b.
void FunctionCodegen::emit_atomic() {
  if (opcode_->has("async") || vector_count(*opcode_) != 1 || opcode_->type() == DataType::b128)
    return emit_operation();
  const bool reduction = opcode_->op == Op::red;
  const std::size_t first = reduction ? 0 : 1;
  const std::string_view op =
      opcode_->first_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  const DataType type = opcode_->type();
  std::string_view suffix;
  for (const std::string_view modifier : opcode_->modifiers) {
    if (ptx::parse_data_type(modifier) != DataType::none) suffix = modifier;
  }
  const AtomicOperation* const operation = find_atomic(std::string(op) + "." + std::string(suffix));
  if (operation == nullptr || vector_count(*opcode_) != 1) return unsupported();
  const unsigned bytes = operation->bits / 8;
  const Access access = address_of(operand(first), space_of(*opcode_), bytes);
  if (access.uniform != nullptr) return unsupported("a kernel parameter cannot be written");
  Value* const b = read(first + 1, type);
  Value* const c = op == "cas" ? read(first + 2, type) : b;
  const auto call = [&] { return call_atomic(access, *operation, b, c); };
  Value* const old =
      is_inline_atomic(access, op, type) ? emit_inline_atomic(access, op, type, b, call) : call();
  if (!reduction) write(0, type, old);
}

/// Returns the old values.
Value* FunctionCodegen::call_atomic(const Access& access, const AtomicOperation& operation, Value* b,
                                    Value* c) {
  const unsigned bytes = operation.bits / 8;
  Value* const addresses = spill(4, access.addresses);
  Value* lanes = active();
  count_access_of(access, addresses, lanes, space_of(*opcode_), bytes);
  lanes = call_helper(reinterpret_cast<const void*>(&resolve_addresses), builder_.getInt32Ty(),
                      {warp_, addresses, lanes, checked_site(access, addresses, bytes)});
  Value* const spilled = spill(1, b);
  Value* const other = c == b ? spilled : spill(2, c);
  Value* const result = buffer(0, warp_size * bytes);
  clear_result(result, warp_size * bytes);
  const auto apply = [&](AtomicFunction function, Value* some) {
    call_helper(reinterpret_cast<const void*>(function), builder_.getVoidTy(),
                {result, addresses, spilled, other, some});
  };
  const AtomicOperation* const single_add = find_atomic("add.f32");
  if (access.kind == AddressKind::shared) {
    apply(operation.in_block, lanes);
  } else if (&operation != single_add) {
    apply(operation.function, lanes);
  } else {
    Value* const in_shared = builder_.CreateAnd(lanes, mask_of(in_cluster_window(access.addresses)));
    apply(operation.function, in_shared);
    apply(find_atomic("add.ftz.f32")->function, builder_.CreateXor(lanes, in_shared));
  }
  return builder_.CreateAlignedLoad(vector_type(operation.bits), result, llvm::Align(64));
}

/// cvta.space converts to a generic address, cvta.to.space from one.
void FunctionCodegen::emit_convert_address() {
  if (opcode_->has("shared::cluster")) return emit_operation();
  Value* const source = resize(read(1, opcode_->type()), 64, false);
  Value* base = nullptr;
  switch (space_of(*opcode_)) {
    case StateSpace::global:
    case StateSpace::constant: return write(0, opcode_->type(), source);
    case StateSpace::shared: base = splat(context_load(offsetof(WarpContext, shared), 64)); break;
    case StateSpace::param:
      if (parameters_) {
        base = splat(context_load(offsetof(WarpContext, parameters), 64));
        break;
      }
      [[fallthrough]];
    case StateSpace::local: {
      Value* const stride = splat(context_load(offsetof(WarpContext, local_stride), 64));
      Value* const lane = read_special("%laneid", 64);
      base = builder_.CreateAdd(splat(context_load(offsetof(WarpContext, local), 64)),
                                builder_.CreateMul(lane, stride));
      break;
    }
    default: return unsupported();
  }
  write(0, opcode_->type(),
        opcode_->has("to") ? builder_.CreateSub(source, base) : builder_.CreateAdd(source, base));
}

/// <32 x i1>: the generic address lies in shared memory of a block of the cluster.
Value* FunctionCodegen::in_cluster_window(Value* address) {
  Value* const begin = splat(context_load(offsetof(WarpContext, cluster_shared), 64));
  Value* const bytes = splat(context_load(offsetof(WarpContext, cluster_bytes), 64));
  return builder_.CreateICmpULT(builder_.CreateSub(address, begin), bytes);
}

void FunctionCodegen::emit_is_space() {
  if (opcode_->has("shared::cluster")) return emit_operation();
  Value* const address = read_bits(operand(1), 64);
  const auto within = [&](Value* begin, Value* bytes) {
    return builder_.CreateICmpULT(builder_.CreateSub(address, splat(begin)), splat(bytes));
  };
  const auto in_shared = [&] {
    return within(context_load(offsetof(WarpContext, shared), 64),
                  context_load(offsetof(WarpContext, shared_bytes), 64));
  };
  const auto in_local = [&] {
    Value* const bytes = builder_.CreateMul(context_load(offsetof(WarpContext, local_stride), 64),
                                            builder_.getInt64(warp_size));
    return within(context_load(offsetof(WarpContext, local), 64), bytes);
  };
  const auto in_constant = [&] {
    return within(varying(reinterpret_cast<std::uintptr_t>(symbols_.constants.address), 64),
                  varying(symbols_.constants.bytes, 64));
  };
  const auto in_parameters = [&]() -> Value* {
    Value* const bytes = builder_.getInt64(parameters_ ? parameters_->bytes : 0);
    return within(context_load(offsetof(WarpContext, parameters), 64), bytes);
  };
  switch (space_of(*opcode_)) {
    case StateSpace::shared: return write_predicate(operand(0), in_shared());
    case StateSpace::local: return write_predicate(operand(0), in_local());
    case StateSpace::constant: return write_predicate(operand(0), in_constant());
    case StateSpace::param:
      // In a device function, the size of the kernel's parameters is not known.
      if (!parameters_) return unsupported("in a device function");
      return write_predicate(operand(0), in_parameters());
    case StateSpace::global: {
      // The cluster window includes the block's own memory.
      Value* const special =
          builder_.CreateOr(builder_.CreateOr(in_cluster_window(address), in_local()), in_constant());
      return write_predicate(operand(0), builder_.CreateNot(special));
    }
    default: return unsupported();
  }
}

void FunctionCodegen::emit_fence() {
  // It orders the two proxies, not the accesses of different threads.
  const bool is_proxy_fence = instruction_->opcode.starts_with("fence.proxy.async");
  if (program_.checked && is_proxy_fence) {
    call_helper(reinterpret_cast<const void*>(&check_proxy_fence), builder_.getVoidTy(), {warp_, active()});
  } else if (program_.checked) {
    const auto reach = static_cast<std::uint32_t>(reach_of_fence(instruction_->traits.modifiers));
    call_helper(reinterpret_cast<const void*>(&check_fence), builder_.getVoidTy(),
                {warp_, active(), constant32(reach)});
  }
  call_helper(reinterpret_cast<const void*>(&full_fence), builder_.getVoidTy(), {});
}

void FunctionCodegen::emit_breakpoint() {
  call_helper(reinterpret_cast<const void*>(&raise_breakpoint), builder_.getVoidTy(),
              {warp_, active(), varying(instruction_->line, 32)});
}

// ---------------------------------------------------------------- across lanes

Value* FunctionCodegen::participants() {
  return meets_ ? context_load(offsetof(WarpContext, participants), 32) : active();
}

Value* FunctionCodegen::exchanged(std::size_t index, DataType type) {
  if (!meets_) return read(index, type);
  Value* const place = context_pointer(offsetof(WarpContext, exchanged));
  return resize(builder_.CreateAlignedLoad(vector_type(64), place, llvm::Align(8)), bits_of(type), false);
}

Value* FunctionCodegen::exchanged_predicate(std::size_t index) {
  if (!meets_) return mask_of(read_predicate(operand(index)));
  return mask_of(builder_.CreateICmpNE(exchanged(index, DataType::b64), splat(64, 0)));
}

/// vote{.sync}.{all,any,uni,ballot}: among the active lanes; with .sync, each lane among its members.
void FunctionCodegen::emit_vote() {
  Value* const source = exchanged_predicate(1);
  Value* voters = splat(participants());
  if (opcode_->has("sync")) voters = builder_.CreateAnd(voters, read(2, DataType::b32));
  Value* const votes = builder_.CreateAnd(splat(source), voters);
  if (opcode_->has("ballot")) return write(0, DataType::b32, votes);
  Value* const all = builder_.CreateICmpEQ(votes, voters);
  Value* const none = builder_.CreateICmpEQ(votes, splat(32, 0));
  Value* result = nullptr;
  if (opcode_->has("all")) result = all;
  if (opcode_->has("any")) result = builder_.CreateNot(none);
  if (opcode_->has("uni")) result = builder_.CreateOr(all, none);
  if (result == nullptr) return unsupported();
  write_predicate(operand(0), result);
}

/// shfl{.sync}.mode.b32 d{|p}, a, b, c {, members}.
void FunctionCodegen::emit_shuffle() {
  const std::string_view mode = opcode_->first_of({"up", "down", "bfly", "idx"});
  if (mode.empty()) return unsupported();
  const std::uint32_t index = mode == "up" ? 0 : mode == "down" ? 1 : mode == "bfly" ? 2 : 3;
  Value* const a = spill(1, exchanged(1, DataType::b32));
  Value* const b = spill(2, read(2, DataType::b32));
  Value* const c = spill(3, read(3, DataType::b32));
  Value* const result = buffer(0, warp_size * 4);
  Value* const in_range = call_helper(reinterpret_cast<const void*>(&shuffle), builder_.getInt32Ty(),
                                      {active(), participants(), constant32(index), result, a, b, c});
  if (program_.checked) {
    Value* const made = varying_pointer(&add_site(AddressKind::host, StateSpace::none, 0, 0));
    call_helper(reinterpret_cast<const void*>(&check_shuffle), builder_.getVoidTy(),
                {warp_, active(), participants(), constant32(index), result, b, c, made});
  }
  Value* const value = builder_.CreateAlignedLoad(vector_type(32), result, llvm::Align(64));
  const ptx::Operand& destination = operand(0);
  if (destination.kind != ptx::OperandKind::pair) return write(destination, DataType::b32, value);
  if (destination.elements.size() != 2) return unsupported();
  write(destination.elements[0], DataType::b32, value);
  write_predicate(destination.elements[1], predicate_of(in_range));
}

void FunctionCodegen::emit_match() {
  const DataType type = opcode_->type();
  if (bits_of(type) != 32 && bits_of(type) != 64) return unsupported();
  const bool all = opcode_->has("all");
  Value* const a = spill(1, exchanged(1, type));
  Value* const members = spill(2, read(2, DataType::b32));
  Value* const result = buffer(0, warp_size * 4);
  const void* const helper =
      bits_of(type) == 32 ? reinterpret_cast<const void*>(&match32) : reinterpret_cast<const void*>(&match64);
  call_helper(helper, builder_.getVoidTy(), {active(), participants(), constant32(all), result, a, members});
  Value* const value = builder_.CreateAlignedLoad(vector_type(32), result, llvm::Align(64));
  const ptx::Operand& destination = operand(0);
  if (destination.kind != ptx::OperandKind::pair) return write(destination, DataType::b32, value);
  if (destination.elements.size() != 2) return unsupported();
  write(destination.elements[0], DataType::b32, value);
  write_predicate(destination.elements[1], builder_.CreateICmpNE(value, splat(32, 0)));
}

void FunctionCodegen::emit_reduce() {
  static constexpr std::string_view ops[] = {"add", "min", "max", "and", "or", "xor"};
  const std::string_view op = opcode_->first_of({"add", "min", "max", "and", "or", "xor"});
  const DataType type = opcode_->type();
  if (type == DataType::f32) return emit_float_reduce(op);
  if (op.empty() || bits_of(type) != 32 || ptx::is_floating(type)) return unsupported();
  std::uint32_t index = 0;
  while (ops[index] != op) ++index;
  Value* const a = spill(1, exchanged(1, type));
  Value* const members = spill(2, read(2, DataType::b32));
  Value* const result = buffer(0, warp_size * 4);
  call_helper(reinterpret_cast<const void*>(&reduce), builder_.getVoidTy(),
              {active(), participants(), constant32(index), constant32(is_signed(type)), result, a, members});
  write(0, type, builder_.CreateAlignedLoad(vector_type(32), result, llvm::Align(64)));
}

/// redux.sync.{min,max}{.abs}{.NaN}.f32 d, a, members.
void FunctionCodegen::emit_float_reduce(std::string_view op) {
  if (op != "min" && op != "max") return unsupported();
  const bool absolute = opcode_->has("abs");
  const bool keeps_nan = opcode_->has("NaN");
  Value* const a = spill(1, exchanged(1, DataType::b32));
  Value* const members = spill(2, read(2, DataType::b32));
  Value* const result = buffer(0, warp_size * 4);
  call_helper(reinterpret_cast<const void*>(&reduce_floats), builder_.getVoidTy(),
              {active(), participants(), constant32(op == "max"), constant32(absolute), constant32(keeps_nan),
               result, a, members});
  write(0, DataType::b32, builder_.CreateAlignedLoad(vector_type(32), result, llvm::Align(64)));
}

void FunctionCodegen::emit_active_mask() { write(0, DataType::b32, splat(active())); }

/// elect.sync d|p, members: elects the lowest lane.
void FunctionCodegen::emit_elect() {
  Value* const candidates = builder_.CreateAnd(splat(participants()), read(1, DataType::b32));
  Value* const leader =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, candidates, builder_.getInt1(false));
  const ptx::Operand& destination = operand(0);
  if (destination.kind != ptx::OperandKind::pair || destination.elements.size() != 2) return unsupported();
  write(destination.elements[0], DataType::b32, leader);
  write_predicate(destination.elements[1], builder_.CreateICmpEQ(leader, read_special("%laneid", 32)));
}

}  // namespace lynxpp::device::cpu
