#include "cod/codegen/host/codegen.h"

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "cod/codegen/function_generator.h"
#include "cod/codegen/host/runtime.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

constexpr const char* report_name = "lynxpp_report";
constexpr const char* end_name = "lynxpp_end";

class HostGenerator final : public FunctionGenerator {
 public:
  using FunctionGenerator::FunctionGenerator;

  /// `void name(HostRun*)`
  void generate(const char* name, const std::vector<HandlerBody>& bodies) {
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy()}, false);
    llvm::Function* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr("no-jump-tables", "true");
    run_ = function->getArg(0);
    std::vector<const Statement*> statements;
    for (const HandlerBody& body : bodies)
      statements.insert(statements.end(), body.statements.begin(), body.statements.end());
    generate_body(*function, statements);
    ir_.CreateRetVoid();
  }

 private:
  /// A number or a std::string's address is an i64.
  template <typename Result, typename... Arguments>
  llvm::Value* call_runtime(Result (*target)(HostRun*, Arguments...), std::vector<llvm::Value*> arguments) {
    arguments.insert(arguments.begin(), run_);
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    llvm::Type* result = std::is_void_v<Result>          ? ir_.getVoidTy()
                         : std::is_same_v<Result, void*> ? static_cast<llvm::Type*>(ir_.getPtrTy())
                                                         : ir_.getInt64Ty();
    // Called by address, because the code never outlives this process.
    return ir_.CreateCall(llvm::FunctionType::get(result, types, false),
                          pointer_to(reinterpret_cast<const void*>(target)), arguments);
  }

  llvm::Value* number_of(const void* object) { return i64(reinterpret_cast<std::uint64_t>(object)); }
  llvm::Value* pointer_to(const void* object) {
    return ir_.CreateIntToPtr(number_of(object), ir_.getPtrTy());
  }

  llvm::Value* bits_of_value(llvm::Value* value, Type type) {
    if (is_floating(type)) return ir_.CreateBitCast(convert(value, type, Type::f64), ir_.getInt64Ty());
    return convert(value, type, is_signed(type) ? Type::i64 : Type::u64);
  }

  llvm::Value* array_base(const Symbol& array) override {
    return call_runtime(&host_array, {i64(array.index)});
  }
  /// A table, by the address of its contents: the program outlives the code.
  llvm::Value* variable_base(const Symbol& array) override {
    if (array.memory == Symbol::Memory::host) return call_runtime(&host_variable, {i64(array.index)});
    return pointer_to(program_.variables[array.index].initial.data());
  }
  llvm::Value* extent_value(Extent extent) override {
    return call_runtime(&host_extent, {i64(static_cast<std::uint64_t>(extent))});
  }
  /// A key that a map does not contain reads as 0.
  void out_of_range(const Expression& element) override {
    if (element.symbol != nullptr && element.symbol->is_in_map()) return;
    call_runtime(&host_out_of_range, {pointer_to(&element)});
  }
  void division_by_zero(llvm::Value* is_zero, const Expression& place) override {
    when(is_zero, [&] { call_runtime(&host_division_by_zero, {pointer_to(&place)}); });
  }
  /// Limits iterations, because an endless report could only be stopped by killing the program.
  void begin_round(const Statement& loop) override {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    llvm::Type* wide = ir_.getInt64Ty();
    if (rounds_ == nullptr) rounds_ = new_zero_slot(wide, "rounds");
    llvm::Value* round = ir_.CreateAdd(ir_.CreateLoad(wide, rounds_), i64(1));
    ir_.CreateStore(round, rounds_);
    llvm::BasicBlock* stop = new_block("stop");
    llvm::BasicBlock* go_on = new_block("round");
    branch(ir_.CreateICmpUGT(round, i64(most)), stop, go_on);
    call_runtime(&host_endless_loop, {pointer_to(&loop.position)});
    ir_.CreateBr(exit_);
    ir_.SetInsertPoint(go_on);
  }

  /// The row-major leading index, or 0 and a mishap if it is out of range.
  llvm::Value* lead_of(const Collection& collection, const Expression& index) {
    const CheckedOffset at = checked_offset(collection.leading, index);
    if (at.in_range == nullptr) return at.offset;
    llvm::AllocaInst* slot = new_slot(ir_.getInt64Ty(), "lead");
    ir_.CreateStore(i64(0), slot);
    when_in_range({nullptr, ir_.CreateNot(at.in_range)}, index, false,
                  [&] { call_runtime(&host_out_of_range, {pointer_to(&index)}); });
    when_in_range({nullptr, at.in_range}, index, false, [&] { ir_.CreateStore(at.offset, slot); });
    return ir_.CreateLoad(ir_.getInt64Ty(), slot);
  }

  llvm::Value* find_entry(const Expression& index, const Collection& map, bool) override {
    const std::vector<llvm::Value*> words = key_words(index, map);
    llvm::AllocaInst* slot = new_slot(llvm::ArrayType::get(ir_.getInt64Ty(), words.size()), "key");
    for (std::size_t i = 0; i < words.size(); ++i)
      ir_.CreateStore(words[i], ir_.CreateConstGEP1_64(ir_.getInt64Ty(), slot, i));
    return call_runtime(&host_find_entry, {pointer_to(&map), lead_of(map, index), slot});
  }

  /// Unreachable: sema rejects per-thread variables in ON_REPORT.
  llvm::AllocaInst* state_slot(const Symbol& state, bool) override {
    return new_slot(llvm_type(state.type), state.name);
  }

  llvm::Value* call_api(const Expression& call) override {
    const ApiArguments kind = call.api->arguments;
    if (kind == ApiArguments::bits || kind == ApiArguments::floating) return floating_call(call);
    if (kind == ApiArguments::fold) return nullptr;  // Program::folds
    llvm::Type* wide = ir_.getInt64Ty();
    llvm::AllocaInst* arguments = new_slot(llvm::ArrayType::get(wide, call.operands.size()), "arguments");
    for (std::size_t i = 0; i < call.operands.size(); ++i)
      ir_.CreateStore(argument(*call.operands[i]), ir_.CreateConstGEP1_64(wide, arguments, i));
    llvm::Value* bits = call_runtime(&host_call, {pointer_to(&call), arguments});
    if (is_floating(call.type))
      return convert(ir_.CreateBitCast(bits, ir_.getDoubleTy()), Type::f64, call.type);
    return convert(bits, Type::u64, call.type);
  }

  /// See HostCall::arguments.
  llvm::Value* argument(const Expression& value) {
    if (value.kind == ExpressionKind::string) return number_of(&value.text);
    if (value.type == Type::text) return expression(value);
    const Collection* collection = value.symbol != nullptr ? value.symbol->collection : nullptr;
    if (collection != nullptr && value.symbol == collection->counter) {
      const bool is_total = value.operands.size() != collection->leading.size();
      return is_total ? i64(all_of_them) : lead_of(*collection, value);
    }
    return is_arithmetic(value.type) ? bits_of_value(expression(value), value.type) : i64(0);
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
  run.kernel_name = demangle(std::string(launch.kernel));
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

/// ON_REPORT and ON_END as native code, generated when first used: launches do not wait for it, and a process
/// that measures nothing does not need it.
class CompiledReport final : public HostReport {
 public:
  /// `jit` is null if the program has neither. Without an ON_REPORT, the report emits every array under its
  /// own name.
  CompiledReport(std::shared_ptr<const Program> program, std::unique_ptr<llvm::orc::LLJIT> jit)
      : program_(std::move(program)), jit_(std::move(jit)) {}

  Status run(const LaunchView& launch) const override {
    if (const Status generated = generate(); !generated) return generated;
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
  bool has_end() const override { return !program_->ends.empty(); }
  Status end(const LaunchView& view) const override {
    if (!has_end()) return success();
    if (const Status generated = generate(); !generated) return generated;
    std::vector<std::byte> own_host;
    HostRun run = prepare(*program_, view, own_host);
    end_(&run);
    return mishaps_of(run);
  }

 private:
  Status generate() const {
    std::call_once(once_, [this] {
      const auto look_up = [this] {
        if (!program_->reports.empty()) report_ = entry(report_name);
        if (!program_->ends.empty()) end_ = entry(end_name);
      };
      if (!run_with_stack(compiler_stack, look_up))
        generated_ = failure("not enough memory to compile ON_REPORT");
    });
    return generated_;
  }
  Entry entry(const char* name) const {
    auto address = jit_->lookup(name);
    if (address) return address->toPtr<Entry>();
    generated_ = failure_of(address.takeError());
    return nullptr;
  }

  static constexpr std::size_t compiler_stack = std::size_t{1} << 20;

  std::shared_ptr<const Program> program_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  mutable std::once_flag once_;
  mutable Status generated_ = success();
  mutable Entry report_ = nullptr;
  mutable Entry end_ = nullptr;
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
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) return host.takeError();
  // Most reports run for less time than optimized code would take to generate.
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*host))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (jit) (*jit)->getMainJITDylib().addGenerator(std::make_unique<LibraryFunctions>());
  return jit;
}

}  // namespace

Result<std::shared_ptr<const HostReport>> generate_host_report(std::shared_ptr<const Program> program) {
  if (program->reports.empty() && program->ends.empty())
    return std::shared_ptr<const HostReport>(std::make_shared<CompiledReport>(std::move(program), nullptr));
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
  return std::shared_ptr<const HostReport>(
      std::make_shared<CompiledReport>(std::move(program), std::move(*jit)));
}

}  // namespace lynxpp::cod
