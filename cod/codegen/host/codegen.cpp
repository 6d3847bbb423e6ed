#include "cod/codegen/host/codegen.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cxxabi.h>
#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "cod/codegen/function_generator.h"
#include "cod/codegen/host/runtime.h"

namespace lynxpp::cod {
namespace {

constexpr const char* report_name = "lynxpp_report";
constexpr const char* end_name = "lynxpp_end";

class HostGenerator final : public FunctionGenerator {
 public:
  using FunctionGenerator::FunctionGenerator;

  /// `void name(HostRun*)`
  void generate(const char* name, const std::vector<HandlerBody>& bodies) {
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false);
    llvm::Function* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr("no-jump-tables", "true");
    run_ = function->getArg(0);
    std::vector<const Statement*> statements;
    for (const HandlerBody& body : bodies) {
      statements.insert(statements.end(), body.statements.begin(), body.statements.end());
    }
    generate_body(*function, statements);
    builder_.CreateRetVoid();
  }

 private:
  template <typename Result, typename... Arguments>
  llvm::Value* call_runtime(Result (*target)(HostRun*, Arguments...), llvm::Type* result,
                            std::vector<llvm::Value*> arguments) {
    arguments.insert(arguments.begin(), run_);
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    // Called by address, because the code never outlives this process.
    llvm::Value* address = builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<std::uint64_t>(target)),
                                                   builder_.getPtrTy());
    return builder_.CreateCall(llvm::FunctionType::get(result, types, false), address, arguments);
  }

  llvm::Value* pointer_to(const Expression& expression) {
    return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<std::uint64_t>(&expression)),
                                   builder_.getPtrTy());
  }

  llvm::Value* bits_of_value(llvm::Value* value, Type type) {
    if (is_floating(type))
      return builder_.CreateBitCast(convert(value, type, Type::f64), builder_.getInt64Ty());
    return convert(value, type, is_signed(type) ? Type::i64 : Type::u64);
  }

  llvm::Value* array_base(const Symbol& array) override {
    return call_runtime(&host_array, builder_.getPtrTy(), {builder_.getInt64(array.index)});
  }
  /// A table, by the address of its contents: the program outlives the code.
  llvm::Value* variable_base(const Symbol& array) override {
    if (array.memory == Symbol::Memory::host)
      return call_runtime(&host_variable, builder_.getPtrTy(), {builder_.getInt64(array.index)});
    const std::uint8_t* data = program_.variables[array.index].initial.data();
    return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<std::uint64_t>(data)),
                                   builder_.getPtrTy());
  }
  llvm::Value* extent_value(Extent extent) override {
    return call_runtime(&host_extent, builder_.getInt64Ty(),
                        {builder_.getInt64(static_cast<std::uint64_t>(extent))});
  }
  /// A key that a map does not contain reads as 0.
  void out_of_range(const Expression& element) override {
    const Collection* collection = element.symbol != nullptr ? element.symbol->collection : nullptr;
    if (collection != nullptr && collection->kind == Collection::Kind::map) return;
    call_runtime(&host_out_of_range, builder_.getVoidTy(), {pointer_to(element)});
  }
  void division_by_zero(llvm::Value* is_zero, const Expression& place) override {
    llvm::BasicBlock* report = new_block("division_by_zero");
    llvm::BasicBlock* end = new_block("divide");
    builder_.CreateCondBr(is_zero, report, end);
    builder_.SetInsertPoint(report);
    call_runtime(&host_division_by_zero, builder_.getVoidTy(), {pointer_to(place)});
    builder_.CreateBr(end);
    builder_.SetInsertPoint(end);
  }
  /// Limits iterations, because an endless report could only be stopped by killing the program.
  void begin_round(const Statement& loop) override {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    llvm::Type* wide = builder_.getInt64Ty();
    if (rounds_ == nullptr) {
      rounds_ = new_slot(wide, "rounds");
      const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
      builder_.SetInsertPoint(entry_);
      builder_.CreateStore(builder_.getInt64(0), rounds_);
    }
    llvm::Value* round = builder_.CreateAdd(builder_.CreateLoad(wide, rounds_), builder_.getInt64(1));
    builder_.CreateStore(round, rounds_);
    llvm::BasicBlock* stop = new_block("stop");
    llvm::BasicBlock* go_on = new_block("round");
    builder_.CreateCondBr(builder_.CreateICmpUGT(round, builder_.getInt64(most)), stop, go_on);
    builder_.SetInsertPoint(stop);
    llvm::Value* place = builder_.getInt64(reinterpret_cast<std::uint64_t>(&loop.position));
    call_runtime(&host_endless_loop, builder_.getVoidTy(),
                 {builder_.CreateIntToPtr(place, builder_.getPtrTy())});
    builder_.CreateBr(exit_);
    builder_.SetInsertPoint(go_on);
  }
  llvm::Value* pointer_to(const Collection& collection) {
    return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<std::uint64_t>(&collection)),
                                   builder_.getPtrTy());
  }

  /// The row-major leading index, or 0 and a mishap if it is out of range.
  llvm::Value* lead_of(const Collection& collection, const Expression& index) {
    const CheckedOffset at = checked_offset(collection.leading, index);
    if (at.in_range == nullptr) return at.offset;
    llvm::AllocaInst* slot = new_slot(builder_.getInt64Ty(), "lead");
    builder_.CreateStore(builder_.getInt64(0), slot);
    when_in_range({nullptr, builder_.CreateNot(at.in_range)}, index, false,
                  [&] { call_runtime(&host_out_of_range, builder_.getVoidTy(), {pointer_to(index)}); });
    when_in_range({nullptr, at.in_range}, index, false, [&] { builder_.CreateStore(at.offset, slot); });
    return builder_.CreateLoad(builder_.getInt64Ty(), slot);
  }

  llvm::Value* find_entry(const Expression& index, const Collection& map, bool) override {
    const std::vector<llvm::Value*> words = key_words(index, map);
    llvm::AllocaInst* slot = new_slot(llvm::ArrayType::get(builder_.getInt64Ty(), words.size()), "key");
    for (std::size_t i = 0; i < words.size(); ++i)
      builder_.CreateStore(words[i], builder_.CreateConstGEP1_64(builder_.getInt64Ty(), slot, i));
    return call_runtime(&host_find_entry, builder_.getInt64Ty(),
                        {pointer_to(map), lead_of(map, index), slot});
  }

  llvm::Value* collection_call(const Expression& call) {
    llvm::Type* wide = builder_.getInt64Ty();
    if (call.api->arguments == ApiArguments::bin) {
      llvm::Value* bin = expression_as(*call.operands[1], Type::u64);
      return call_runtime(&host_bin_bound, wide, {pointer_to(call), bin});
    }
    const Expression& counter = *call.operands[0];
    const Collection& collection = *counter.symbol->collection;
    const bool is_total = counter.operands.size() != collection.leading.size();
    llvm::Value* lead = is_total ? builder_.getInt64(all_of_them) : lead_of(collection, counter);
    if (call.api->arguments == ApiArguments::collection)
      return call_runtime(&host_collection_value, wide, {pointer_to(call), lead});
    llvm::Value* number = expression_as(*call.operands[1], Type::u64);
    llvm::Value* bits = call_runtime(&host_entry, wide, {pointer_to(call), lead, number});
    if (!is_floating(call.type)) return convert(bits, Type::u64, call.type);
    return convert(builder_.CreateBitCast(bits, builder_.getDoubleTy()), Type::f64, call.type);
  }

  /// Unreachable: sema rejects per-thread variables in ON_REPORT.
  llvm::AllocaInst* state_slot(const Symbol& state, bool) override {
    return new_slot(llvm_type(state.type), state.name);
  }

  llvm::Value* call_api(const Expression& call) override {
    switch (call.api->arguments) {
      case ApiArguments::emit: emit(call); return nullptr;
      case ApiArguments::emit_top: {
        llvm::Value* unit = call.operands.size() > 3 ? text_of(*call.operands[3]) : builder_.getInt64(0);
        call_runtime(&host_emit_collection, builder_.getVoidTy(),
                     {pointer_to(call), text_of(*call.operands[0]), unit,
                      expression_as(*call.operands[2], Type::u64)});
        return nullptr;
      }
      case ApiArguments::bits:
      case ApiArguments::floating: return floating_call(call);
      case ApiArguments::collection:
      case ApiArguments::bin:
      case ApiArguments::entry: return collection_call(call);
      case ApiArguments::print: print(call); return nullptr;
      case ApiArguments::fold: return nullptr;  // Program::folds
      case ApiArguments::emit_ratio: emit_ratio(call); return nullptr;
      case ApiArguments::emit_table:
        call_runtime(&host_emit_table, builder_.getVoidTy(), {pointer_to(call)});
        return nullptr;
      case ApiArguments::emit_ranges:
        call_runtime(&host_emit_ranges, builder_.getVoidTy(), {pointer_to(call)});
        return nullptr;
      case ApiArguments::emit_words: {
        llvm::Value* unit = call.operands.size() > 2 ? text_of(*call.operands[2]) : builder_.getInt64(0);
        call_runtime(&host_emit_words, builder_.getVoidTy(),
                     {pointer_to(call), text_of(*call.operands[0]), unit});
        return nullptr;
      }
      case ApiArguments::emit_arrays:
        call_runtime(&host_emit_arrays, builder_.getVoidTy(), {text_of(*call.operands[0])});
        return nullptr;
      case ApiArguments::array: {
        llvm::Value* bits = call_runtime(&host_reduce, builder_.getInt64Ty(), {pointer_to(call)});
        return call.type == Type::f64 ? builder_.CreateBitCast(bits, builder_.getDoubleTy()) : bits;
      }
      case ApiArguments::instruction:
      case ApiArguments::instruction_labels:
      case ApiArguments::block: return site_call(call);
      default: break;
    }
    if (call.type == Type::text)
      return call_runtime(&host_launch_text, builder_.getInt64Ty(),
                          {builder_.getInt64(static_cast<std::uint64_t>(call.api->api))});
    llvm::Value* value = call_runtime(&host_launch_value, builder_.getInt64Ty(),
                                      {builder_.getInt64(static_cast<std::uint64_t>(call.api->api))});
    return convert(value, Type::u64, call.type);
  }

  llvm::Value* site_call(const Expression& call) {
    llvm::Value* index = expression_as(*call.operands[0], Type::u64);
    if (call.type == Type::text)
      return call_runtime(&host_site_text, builder_.getInt64Ty(), {pointer_to(call), index});
    llvm::Value* value = call_runtime(&host_site_value, builder_.getInt64Ty(), {pointer_to(call), index});
    return convert(value, Type::u64, call.type);
  }

  /// The address of a std::string.
  llvm::Value* text_of(const Expression& text) {
    if (text.kind == ExpressionKind::string)
      return builder_.getInt64(reinterpret_cast<std::uint64_t>(&text.text));
    return expression(text);
  }

  void emit(const Expression& call) {
    llvm::Value* name = text_of(*call.operands[0]);
    llvm::Value* unit = call.operands.size() > 2 ? text_of(*call.operands[2]) : builder_.getInt64(0);
    const Expression& value = *call.operands[1];
    if (value.kind == ExpressionKind::name && value.symbol != nullptr &&
        value.symbol->collection != nullptr) {
      call_runtime(&host_emit_collection, builder_.getVoidTy(),
                   {pointer_to(call), name, unit, builder_.getInt64(all_of_them)});
      return;
    }
    const bool is_record = value.kind == ExpressionKind::name && value.symbol != nullptr &&
                           value.symbol->kind == Symbol::Kind::record && !value.symbol->dimensions.empty();
    if (is_record) {
      call_runtime(&host_emit_record, builder_.getVoidTy(), {pointer_to(call), name, unit});
      return;
    }
    const bool is_array = value.kind == ExpressionKind::name && value.symbol != nullptr &&
                          value.symbol->kind == Symbol::Kind::array;
    if (is_array) {
      call_runtime(&host_emit_array, builder_.getVoidTy(), {pointer_to(call), name, unit});
      return;
    }
    llvm::Value* bits = bits_of_value(expression(value), value.type);
    call_runtime(&host_emit_value, builder_.getVoidTy(), {pointer_to(call), name, unit, bits});
  }

  void emit_ratio(const Expression& call) {
    llvm::Value* name = text_of(*call.operands[0]);
    llvm::Value* unit = call.operands.size() > 3 ? text_of(*call.operands[3]) : builder_.getInt64(0);
    const auto bits = [&](std::size_t i) {
      const Expression& value = *call.operands[i];
      return bits_of_value(expression(value), value.type);
    };
    llvm::Value* numerator = bits(1);
    call_runtime(&host_emit_ratio, builder_.getVoidTy(), {pointer_to(call), name, unit, numerator, bits(2)});
  }

  void print(const Expression& call) {
    const std::size_t count = call.operands.size() - 1;
    llvm::AllocaInst* values =
        new_slot(llvm::ArrayType::get(builder_.getInt64Ty(), std::max<std::size_t>(count, 1)), "values");
    for (std::size_t i = 0; i < count; ++i) {
      const Expression& argument = *call.operands[i + 1];
      llvm::Value* bits = argument.type == Type::text ? text_of(argument)
                                                      : bits_of_value(expression(argument), argument.type);
      builder_.CreateStore(bits, builder_.CreateConstGEP1_64(builder_.getInt64Ty(), values, i));
    }
    call_runtime(&host_print, builder_.getVoidTy(), {pointer_to(call), values});
  }

  llvm::Value* run_ = nullptr;
  llvm::AllocaInst* rounds_ = nullptr;  ///< iterations of all loops so far
};

Failure failure_of(llvm::Error error) {
  return failure("cannot generate native code for ON_REPORT: " + llvm::toString(std::move(error)));
}

void initialize_native_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

using Entry = void (*)(HostRun*);

/// The state of a run, without the launch's arrays.
HostRun prepare(const Program& program, const LaunchView& launch, std::vector<std::byte>& own_host) {
  HostRun run{
      program, launch, extents_of(launch), {}, {}, {}, launch.host.data(), {}, std::string(launch.device)};
  if (launch.host.size() < program.host_initial.size()) {
    const auto* initial = reinterpret_cast<const std::byte*>(program.host_initial.data());
    own_host.assign(initial, initial + program.host_initial.size());
    run.host = own_host.data();
  }
  const std::string mangled(launch.kernel);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  run.kernel_name = name != nullptr ? name.get() : mangled;
  return run;
}

Status mishaps_of(const HostRun& run) {
  if (run.mishaps.empty()) return success();
  Failure failed;
  for (const HostRun::Mishap& mishap : run.mishaps) {
    std::string message = mishap.message;
    if (mishap.times > 1) message += " (" + std::to_string(mishap.times) + " times)";
    failed.diagnostics.push_back(
        {Severity::error, run.program.locate(*mishap.place), std::move(message), ""});
  }
  quote_included_lines(run.program.tree.files, failed.diagnostics);
  return failed;
}

void emit_everything(HostRun& run) {
  const Program& program = run.program;
  for (std::uint32_t i = 0; i < program.arrays.size(); ++i) {
    if (!program.arrays[i].is_hidden) emit_array(run, i, program.arrays[i].name, "");
  }
  for (const auto& collection : program.collections)
    emit_collection(run, *collection, collection->name, "", all_of_them);
}

/// ON_REPORT and ON_END as native code. If the function is null, ON_REPORT does not exist, and the report
/// emits every array under its own name.
class CompiledReport final : public HostReport {
 public:
  CompiledReport(std::shared_ptr<const Program> program, std::unique_ptr<llvm::orc::LLJIT> jit, Entry report,
                 Entry end_entry)
      : program_(std::move(program)), jit_(std::move(jit)), report_(report), end_(end_entry) {}

  Status run(const LaunchView& launch) const override {
    std::vector<std::byte> own_host;
    HostRun run = prepare(*program_, launch, own_host);
    if (const Status status = check_arrays(*program_, launch, run); !status) return status;
    report_ != nullptr ? report_(&run) : emit_everything(run);
    note_dropped(run);
    return mishaps_of(run);
  }
  std::vector<std::byte> initial_state() const override {
    const auto* initial = reinterpret_cast<const std::byte*>(program_->host_initial.data());
    return {initial, initial + program_->host_initial.size()};
  }
  bool has_end() const override { return end_ != nullptr; }
  Status end(const LaunchView& view) const override {
    if (end_ == nullptr) return success();
    std::vector<std::byte> own_host;
    HostRun run = prepare(*program_, view, own_host);
    end_(&run);
    return mishaps_of(run);
  }

 private:
  std::shared_ptr<const Program> program_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  Entry report_;
  Entry end_;
};

/// Resolves functions that LLVM calls by name. LLJIT's own search opens the process as a library and takes
/// the dynamic linker's lock. A thread that launches in a library's constructor holds that lock and may be
/// waiting for this very specification.
class LibraryFunctions final : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind, llvm::orc::JITDylib& library,
                            llvm::orc::JITDylibLookupFlags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    llvm::orc::SymbolMap found;
    for (const auto& [name, flags] : wanted) {
      if (void* const address = address_of((*name).str()))
        found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    if (found.empty()) return llvm::Error::success();
    return library.define(llvm::orc::absoluteSymbols(std::move(found)));
  }

 private:
  /// Common functions need no search.
  static void* address_of(const std::string& name) {
    if (name == "memset") return reinterpret_cast<void*>(&std::memset);
    if (name == "memcpy") return reinterpret_cast<void*>(&std::memcpy);
    if (name == "memmove") return reinterpret_cast<void*>(&std::memmove);
    if (name == "fmod") return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&std::fmod));
    return dlsym(RTLD_DEFAULT, name.c_str());
  }
};

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> make_jit() {
  auto jit = llvm::orc::LLJITBuilder()
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (jit) (*jit)->getMainJITDylib().addGenerator(std::make_unique<LibraryFunctions>());
  return jit;
}

}  // namespace

Result<std::shared_ptr<const HostReport>> generate_host_report(std::shared_ptr<const Program> program) {
  if (program->reports.empty() && program->ends.empty())
    return std::shared_ptr<const HostReport>(
        std::make_shared<CompiledReport>(std::move(program), nullptr, nullptr, nullptr));
  initialize_native_target();
  auto jit = make_jit();
  if (!jit) return failure_of(jit.takeError());
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("lynxpp_report", *context);
  module->setDataLayout((*jit)->getDataLayout());
  if (!program->reports.empty()) HostGenerator(*module, *program).generate(report_name, program->reports);
  if (!program->ends.empty()) HostGenerator(*module, *program).generate(end_name, program->ends);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(*module, &problems)) {
    return failure("internal error: the native code of the report is malformed: " + problem,
                   "please report this specification");
  }
  if (auto error = (*jit)->addIRModule({std::move(module), std::move(context)}))
    return failure_of(std::move(error));
  Entry entries[2] = {nullptr, nullptr};
  for (const bool is_end : {false, true}) {
    if ((is_end ? program->ends : program->reports).empty()) continue;
    auto address = (*jit)->lookup(is_end ? end_name : report_name);
    if (!address) return failure_of(address.takeError());
    entries[is_end ? 1 : 0] = address->toPtr<Entry>();
  }
  return std::shared_ptr<const HostReport>(
      std::make_shared<CompiledReport>(std::move(program), std::move(*jit), entries[0], entries[1]));
}

}  // namespace lynxpp::cod
