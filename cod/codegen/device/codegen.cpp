#include "cod/codegen/device/codegen.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>

#include "cod/codegen/device/generator.h"
#include "cod/codegen/device/nvptx.h"

namespace lynxpp::cod {
namespace {

namespace Register = llvm::Intrinsic;

constexpr std::int64_t segment_bytes = 128;  // of computeBaseAddress()

/// The constraint letter of NVPTX's inline assembly for a register of this type.
char constraint_of(const llvm::Type& type) {
  if (type.isFloatTy()) return 'f';
  if (type.isDoubleTy()) return 'd';
  if (type.isIntegerTy(1)) return 'b';
  return type.isIntegerTy(64) || type.isPointerTy() ? 'l' : 'r';
}

}  // namespace

void DeviceGenerator::require(int sm, int ptx) {
  minimum_sm_ = std::max(minimum_sm_, sm);
  minimum_ptx_ = std::max(minimum_ptx_, ptx);
}

llvm::Value* DeviceGenerator::assembly(const std::string& text, llvm::Type* result,
                                       const std::vector<llvm::Value*>& operands, Effect effect) {
  std::string constraints;
  std::vector<llvm::Type*> types;
  if (!result->isVoidTy()) constraints = std::string("=") + constraint_of(*result);
  for (llvm::Value* operand : operands) {
    if (!constraints.empty()) constraints += ",";
    constraints += constraint_of(*operand->getType());
    types.push_back(operand->getType());
  }
  if (effect == Effect::memory || effect == Effect::convergent)
    constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* call =
      ir_.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, effect != Effect::none), operands);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  call->addFnAttr(llvm::Attribute::WillReturn);
  if (effect == Effect::none) call->setDoesNotAccessMemory();
  if (effect == Effect::convergent) {
    call->addFnAttr(llvm::Attribute::Convergent);
    call->addFnAttr(llvm::Attribute::NoMerge);
  }
  return call;
}

llvm::Function* DeviceGenerator::new_routine() {
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                                    llvm::StringRef(handler_function), module_);
  add_handler_attributes(*function);
  return function;
}

void DeviceGenerator::generate(const HandlerBody& body) {
  llvm::Function* function = new_routine();
  sampling_ = body.sampling;
  asks_about_lanes_ = asks_about_lanes(body.uses);
  measures_banks_ = body.handler.measures == Handler::Measures::banks && skips_counted_;
  generate_body(*function, {body.statements.begin(), body.statements.end()});
  write_states();
  ir_.CreateRetVoid();
}

// ---------------------------------------------------------------- placeholders for the splice pass

llvm::Value* DeviceGenerator::placeholder(const std::string& name, bool is_wide, Effect effect) {
  return assembly(std::string("mov.b") + (is_wide ? "64" : "32") + " $0, " + name + ";",
                  ir_.getIntNTy(is_wide ? 64 : 32), {}, effect);
}

llvm::Value* DeviceGenerator::word(Word::Kind kind, std::uint32_t index, Extent extent) {
  const auto found = std::find_if(program_.words.begin(), program_.words.end(), [&](const Word& each) {
    return each.kind == kind && each.index == index && each.extent == extent;
  });
  const auto position = static_cast<std::size_t>(found - program_.words.begin());
  llvm::Value*& value = words_[position];
  if (value == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(entry_);
    value = placeholder(std::string(word_prefix) + std::to_string(position), true);
  }
  return value;
}

llvm::Value* DeviceGenerator::site_value(SiteValue value, std::uint64_t parameter) {
  llvm::Value*& known = sites_[{value, parameter}];
  if (known == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(entry_);
    const std::string name =
        std::string(name_of(value)) + (has_parameter(value) ? "_" + std::to_string(parameter) : "");
    known = placeholder(std::string(site_prefix) + name, is_wide(value));
  }
  return known;
}

/// In its storage type: a bool is a byte.
llvm::Value* DeviceGenerator::read_state(std::uint32_t index, Type type) {
  llvm::Value* bits = placeholder(std::string(state_prefix) + std::to_string(index), bytes_of(type) == 8,
                                  Effect::volatile_read);
  if (is_floating(type)) return ir_.CreateBitCast(bits, storage_type(type));
  return ir_.CreateIntCast(bits, storage_type(type), false);
}

void DeviceGenerator::write_state(std::uint32_t index, llvm::Value* value, Type type) {
  const bool is_wide = bytes_of(type) == 8;
  llvm::Type* bits_type = is_wide ? ir_.getInt64Ty() : ir_.getInt32Ty();
  llvm::Value* bits = is_floating(type) ? ir_.CreateBitCast(value, bits_type)
                                        : ir_.CreateIntCast(value, bits_type, is_signed(type));
  assembly(std::string("mov.b") + (is_wide ? "64 " : "32 ") + std::string(state_prefix) +
               std::to_string(index) + ", $0;",
           ir_.getVoidTy(), {bits}, Effect::volatile_read);
}

/// A state register is read once at entry, kept in a slot that mem2reg removes, and written back by
/// write_states(). An array has one register per element; its slot stays in local memory if an index is not
/// known at compile time.
llvm::AllocaInst* DeviceGenerator::state_slot(const Symbol& symbol, bool assigned) {
  State& state = states_[&symbol];
  state.assigned = state.assigned || assigned;
  if (state.slot != nullptr) return state.slot;
  const bool is_array = symbol.kind == Symbol::Kind::array;
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  llvm::Type* type = storage_type(symbol.type);
  state.elements = constant_count(symbol.dimensions);
  state.slot = new_slot(is_array ? llvm::ArrayType::get(type, state.elements) : type, symbol.name);
  ir_.SetInsertPoint(entry_);
  for (std::uint32_t i = 0; i < state.elements; ++i) {
    llvm::Value* value = read_state(symbol.index + i, symbol.type);
    ir_.CreateStore(value, ir_.CreateConstGEP1_64(type, state.slot, i));
  }
  return state.slot;
}

void DeviceGenerator::write_states() {
  std::map<std::uint32_t, std::pair<const Symbol*, State>> ordered;
  for (const auto& [symbol, state] : states_) ordered[symbol->index] = {symbol, state};
  for (const auto& [index, entry] : ordered) {
    const auto& [symbol, state] = entry;
    if (!state.assigned) continue;
    llvm::Type* type = storage_type(symbol->type);
    for (std::uint32_t i = 0; i < state.elements; ++i) {
      llvm::Value* place = ir_.CreateConstGEP1_64(type, state.slot, i);
      write_state(index + i, ir_.CreateLoad(type, place), symbol->type);
    }
  }
}

// ---------------------------------------------------------------- arrays

llvm::Value* DeviceGenerator::array_base(const Symbol& array) {
  llvm::Value* address = word(Word::Kind::array_address, array.index, Extent::constant);
  return ir_.CreateIntToPtr(address, llvm::PointerType::get(context_, global_space));
}

/// Not cached: LLVM merges identical values.
llvm::Value* DeviceGenerator::variable_base(const Symbol& array) {
  const bool is_shared = array.memory == Symbol::Memory::shared;
  llvm::Value* address = placeholder(std::string(memory_prefix) + std::to_string(array.index), true);
  return ir_.CreateIntToPtr(address,
                            llvm::PointerType::get(context_, is_shared ? shared_space : global_space));
}

void DeviceGenerator::begin_body() {
  if (lane_value_) write_lane_value(*lane_value_);
  // These indices are warp-uniform, so the active lanes stay converged.
  if (sampling_.blocks > 1) run_every(sampling_.blocks, block_id());
  if (sampling_.warps > 1) run_every(sampling_.warps, thread_call(Api::warp_id));
  // Exits the handler if there is nothing to add.
  if (measures_banks_)
    banks_here_.counts = target_.lane_values ? hoisted_bank_counts() : measure_banks(exit_);
}

/// Runs the code that follows only if `number` is divisible by `every`.
void DeviceGenerator::run_every(std::uint32_t every, llvm::Value* number) {
  llvm::Value* rest = ir_.CreateURem(number, i64(every));
  continue_if(ir_.CreateIsNull(rest), exit_);
}

llvm::Value* DeviceGenerator::extent_value(Extent extent) {
  if (extent == Extent::lanes) return i64(32);
  return word(Word::Kind::extent, 0, extent);
}

bool DeviceGenerator::surely_in_range(const Expression& index, const Dimension& dimension) {
  // SMS is only an estimate of the greatest smId().
  if (index.api != nullptr)
    return dimension.extent != Extent::constant && dimension.extent != Extent::sms &&
           indexed_extent(index.api->api) == dimension.extent;
  const Expression* value = only_value(index);
  if (value == nullptr) return false;
  const Type type = index.symbol->type;
  // An unsigned copy may be truncated, which only makes it smaller; a signed one must be able to represent
  // every value.
  return is_integer(type) && type != Type::boolean &&
         (!is_signed(type) || bits_of(type) > bits_of(value->type)) && surely_in_range(*value, dimension);
}

/// A dropped map update has already been counted by the search.
void DeviceGenerator::out_of_range(const Expression& place) {
  if (place.symbol == nullptr || !place.symbol->is_in_map())
    count_dropped(program_.count_of_drops(place.position));
}

void DeviceGenerator::count_dropped(std::uint64_t place) {
  llvm::Value* counter = word(Word::Kind::dropped, 0, Extent::constant);
  const std::string offset = place == 0 ? "" : "+" + std::to_string(8 * place);
  memory_instruction("red.global.add.u64 [$0" + offset + "], $1;", {counter, i64(1)});
}

// ---------------------------------------------------------------- API functions

llvm::Value* DeviceGenerator::special_register(unsigned intrinsic) {
  return ir_.CreateIntrinsic(static_cast<llvm::Intrinsic::ID>(intrinsic), {}, {});
}

llvm::Value* DeviceGenerator::wide(llvm::Value* value) { return ir_.CreateZExt(value, ir_.getInt64Ty()); }

llvm::Value* DeviceGenerator::block_threads() {
  llvm::Value* plane = ir_.CreateMul(special_register(Register::nvvm_read_ptx_sreg_ntid_x),
                                     special_register(Register::nvvm_read_ptx_sreg_ntid_y));
  return ir_.CreateMul(plane, special_register(Register::nvvm_read_ptx_sreg_ntid_z));
}

llvm::Value* DeviceGenerator::block_thread_id() {
  llvm::Value* row = ir_.CreateMul(special_register(Register::nvvm_read_ptx_sreg_ntid_y),
                                   special_register(Register::nvvm_read_ptx_sreg_tid_z));
  row = ir_.CreateAdd(row, special_register(Register::nvvm_read_ptx_sreg_tid_y));
  llvm::Value* start = ir_.CreateMul(row, special_register(Register::nvvm_read_ptx_sreg_ntid_x));
  return ir_.CreateAdd(start, special_register(Register::nvvm_read_ptx_sreg_tid_x));
}

llvm::Value* DeviceGenerator::warps_per_block() {
  llvm::Value* rounded = ir_.CreateAdd(block_threads(), i32(31));
  return wide(ir_.CreateLShr(rounded, 5));
}

llvm::Value* DeviceGenerator::blocks() {
  llvm::Value* plane = ir_.CreateMul(wide(special_register(Register::nvvm_read_ptx_sreg_nctaid_x)),
                                     wide(special_register(Register::nvvm_read_ptx_sreg_nctaid_y)));
  return ir_.CreateMul(plane, wide(special_register(Register::nvvm_read_ptx_sreg_nctaid_z)));
}

llvm::Value* DeviceGenerator::block_id() {
  llvm::Value* row = ir_.CreateMul(wide(special_register(Register::nvvm_read_ptx_sreg_nctaid_y)),
                                   wide(special_register(Register::nvvm_read_ptx_sreg_ctaid_z)));
  row = ir_.CreateAdd(row, wide(special_register(Register::nvvm_read_ptx_sreg_ctaid_y)));
  llvm::Value* start = ir_.CreateMul(row, wide(special_register(Register::nvvm_read_ptx_sreg_nctaid_x)));
  return ir_.CreateAdd(start, wide(special_register(Register::nvvm_read_ptx_sreg_ctaid_x)));
}

llvm::Value* DeviceGenerator::active_mask_here() {
  require(30, 62);
  return assembly(active_mask_text, ir_.getInt32Ty(), {}, Effect::convergent);
}

llvm::Value* DeviceGenerator::lane_id() { return special_register(Register::nvvm_read_ptx_sreg_laneid); }

llvm::Value* DeviceGenerator::lower_lanes() {
  return special_register(Register::nvvm_read_ptx_sreg_lanemask_lt);
}

llvm::Value* DeviceGenerator::population_count(llvm::Value* mask) {
  return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
}

llvm::Value* DeviceGenerator::lowest_lane(llvm::Value* mask) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, ir_.getTrue());
}

llvm::Value* DeviceGenerator::highest_lane(llvm::Value* mask, llvm::Value* otherwise) {
  llvm::Value* is_empty = ir_.CreateIsNull(mask);
  llvm::Value* zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mask, ir_.getFalse());
  return ir_.CreateSelect(is_empty, otherwise, ir_.CreateSub(i32(31), zeros));
}

llvm::Value* DeviceGenerator::is_lowest_of(llvm::Value* mask) {
  llvm::Value* lower = ir_.CreateAnd(mask, lower_lanes());
  return ir_.CreateIsNull(lower);
}

llvm::Value* DeviceGenerator::thread_call(Api api) {
  switch (api) {
    case Api::global_thread_id:
      return ir_.CreateAdd(ir_.CreateMul(block_id(), wide(block_threads())), wide(block_thread_id()));
    case Api::block_thread_id: return block_thread_id();
    case Api::block_id:
    case Api::block_idx: return block_id();
    case Api::block_dim: return block_threads();
    case Api::grid_dim: return blocks();
#define LYNXPP_API_REGISTER(name, identifier, result, contexts, uniform, special) \
  case Api::identifier:                                                           \
    return special_register(Register::nvvm_read_ptx_sreg_##special);
#define LYNXPP_API(name, identifier, result, arguments, contexts, uniform)
#include "cod/syntax/api.def"
    case Api::warp_id: {
      llvm::Value* in_block = wide(ir_.CreateLShr(block_thread_id(), 5));
      return ir_.CreateAdd(ir_.CreateMul(block_id(), warps_per_block()), in_block);
    }
    case Api::warp_count: return ir_.CreateMul(blocks(), warps_per_block());
    case Api::clock_counter: return assembly("mov.u64 $0, %clock64;", ir_.getInt64Ty(), {}, Effect::memory);
    case Api::global_timer:
      return assembly("mov.u64 $0, %globaltimer;", ir_.getInt64Ty(), {}, Effect::memory);
    default: return nullptr;
  }
}

llvm::Value* DeviceGenerator::warp_call(const Expression& call) {
  switch (call.api->api) {
    case Api::active_mask: return active_mask();
    case Api::active_thread_count: return population_count(active_mask());
    case Api::least_active_thread_in_warp:
      return ir_.CreateZExt(is_lowest_of(active_mask()), ir_.getInt32Ty());
    case Api::ballot:
    case Api::divergent_warp:
    case Api::warp_any:
    case Api::warp_all: {
      llvm::Value* condition = truth(*call.operands[0]);
      llvm::Value* mask = active_mask();
      llvm::Value* votes = vote(condition, mask);
      if (call.api->api == Api::ballot) return votes;
      llvm::Value* some = ir_.CreateIsNotNull(votes);
      llvm::Value* holds = call.api->api == Api::warp_any ? some
                           : call.api->api == Api::warp_all
                               ? ir_.CreateICmpEQ(votes, mask)
                               : ir_.CreateAnd(some, ir_.CreateICmpNE(votes, mask));
      return ir_.CreateZExt(holds, ir_.getInt32Ty());
    }
    case Api::address_in_space: return address_in_space();
    case Api::first_in_sector: return first_in_sector();
    case Api::bulk_sectors: return bulk_sectors();
    case Api::bank_wavefronts:
    case Api::bank_conflicts:
    case Api::bank_groups:
    case Api::bank_groups_spared: return bank_call(call.api->api);
    case Api::sync_warp:
      assembly("bar.warp.sync $0;", ir_.getVoidTy(), {active_mask()}, Effect::convergent);
      return nullptr;
    case Api::sync_threads: assembly("bar.sync 0;", ir_.getVoidTy(), {}, Effect::convergent); return nullptr;
    default: return nullptr;
  }
}

llvm::Value* DeviceGenerator::call_api(const Expression& call) {
  if (call.api->api == Api::compute_base_address)
    return ir_.CreateAnd(site_value(SiteValue::memory_address),
                         i64(static_cast<std::uint64_t>(-segment_bytes)));
  if (call.api->site) return site_value(*call.api->site, call.value);
  switch (call.api->arguments) {
    case ApiArguments::element:
    case ApiArguments::element_value: return atomic_call(call);
    case ApiArguments::unique: return unique_call(call);
    case ApiArguments::value: return warp_value_call(call);
    case ApiArguments::bits:
    case ApiArguments::floating: return floating_call(call);
    case ApiArguments::append:
    case ApiArguments::kept:
    case ApiArguments::record: return call_collection(call);
    case ApiArguments::words: count_words(call); return nullptr;
    case ApiArguments::address: return address_call(call);
    default: break;
  }
  llvm::Value* value = thread_call(call.api->api);
  return value != nullptr ? value : warp_call(call);
}

// ---------------------------------------------------------------- handlers

Result<DeviceCode> generate_device_code(const Program& program, const DeviceTarget& target) {
  DeviceCode code;
  for (const HandlerBody& body : program.handlers) {
    const bool is_left_out = target.lane_values && !body.handler.can_use_lane_values;
    if (is_left_out || (body.handler.is_counted && !target.plain_counters)) {
      code.handlers.emplace_back();
      continue;
    }
    llvm::LLVMContext context;
    llvm::Module module("lynxpp", context);
    prepare_nvptx_module(module);
    DeviceGenerator generator(module, program, target);
    generator.generate(body);
    Result<std::string> ptx = emit_ptx(module, target.sm);
    if (!ptx) {
      for (Diagnostic& diagnostic : ptx.error().diagnostics) diagnostic.location = body.handler.location;
      quote_included_lines(program.tree.files, ptx.error().diagnostics);
      return ptx.error();
    }
    code.handlers.push_back({std::move(*ptx)});
    code.minimum_sm = std::max(code.minimum_sm, generator.minimum_sm());
    code.minimum_ptx = std::max(code.minimum_ptx, generator.minimum_ptx());
  }
  return code;
}

}  // namespace lynxpp::cod
