#include "device/cpu/simt/compile/jit.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

namespace lynxpp::device::cpu {
namespace {

Failure llvm_failure(llvm::Error error) {
  return failure("the cpu device could not generate machine code: " + llvm::toString(std::move(error)));
}

}  // namespace

Jit::Jit(std::unique_ptr<llvm::orc::LLJIT> jit, std::unique_ptr<llvm::TargetMachine> machine)
    : jit_(std::move(jit)), machine_(std::move(machine)) {}
Jit::~Jit() = default;

Result<std::shared_ptr<Jit>> Jit::create(Aim aim) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return llvm_failure(machine.takeError());
  // Most code runs for less time than optimizing it would take: this compiles twice as fast.
  machine->setCodeGenOptLevel(aim == Aim::quick ? llvm::CodeGenOptLevel::None
                                                : llvm::CodeGenOptLevel::Default);
  // a * b + c must remain two roundings unless the program contains fma.
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The model that LLJIT would select for code that it compiles itself.
  machine->setCodeModel(llvm::CodeModel::Small);
  machine->setRelocationModel(llvm::Reloc::PIC_);
  auto target = machine->createTargetMachine();
  if (!target) return llvm_failure(target.takeError());
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit) return llvm_failure(jit.takeError());
  return std::shared_ptr<Jit>(new Jit(std::move(*jit), std::move(*target)));
}

void Jit::prepare(llvm::Module& module) const {
  module.setTargetTriple(jit_->getTargetTriple().str());
  module.setDataLayout(jit_->getDataLayout());
}

void Jit::optimize(llvm::Module& module) const {
  // O2 without passes that have nothing to do: the code is vectors, and calls nothing that could be inlined.
  constexpr const char* passes =
      "always-inline,globaldce,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
      "correlated-propagation,loop-mssa(licm),gvn,dse,dce,adce,simplifycfg)";
  // Uses LLVM's C interface, because the pass headers would take as long to compile as this whole folder.
  const LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  const LLVMErrorRef error = LLVMRunPasses(llvm::wrap(&module), passes,
                                           reinterpret_cast<LLVMTargetMachineRef>(machine_.get()), options);
  LLVMDisposePassBuilderOptions(options);
  if (error != LLVMErrorSuccess) LLVMConsumeError(error);  // the unoptimized code is correct
}

Status Jit::add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context) {
  llvm::orc::ThreadSafeModule code(std::move(module), std::move(context));
  if (llvm::Error error = jit_->addIRModule(std::move(code))) return llvm_failure(std::move(error));
  return success();
}

Result<void*> Jit::lookup(const std::string& function) {
  auto address = jit_->lookup(function);
  if (!address) return llvm_failure(address.takeError());
  return address->toPtr<void*>();
}

Result<std::unique_ptr<llvm::MemoryBuffer>> Jit::compile(llvm::Module& module) {
  auto object = llvm::orc::SimpleCompiler(*machine_)(module);
  if (!object) return llvm_failure(object.takeError());
  return std::move(*object);
}

Result<std::vector<void*>> Jit::link(std::unique_ptr<llvm::MemoryBuffer> object,
                                     const std::vector<std::string>& functions) {
  auto library = jit_->createJITDylib("object " + std::to_string(linked_.fetch_add(1)));
  if (!library) return llvm_failure(library.takeError());
  if (llvm::Error error = jit_->addObjectFile(*library, std::move(object)))
    return llvm_failure(std::move(error));
  std::vector<void*> addresses;
  for (const std::string& function : functions) {
    auto address = jit_->lookup(*library, function);
    if (!address) return llvm_failure(address.takeError());
    addresses.push_back(address->toPtr<void*>());
  }
  return addresses;
}

std::string Jit::processor() const {
  return machine_->getTargetTriple().str() + ' ' + machine_->getTargetCPU().str() + ' ' +
         machine_->getTargetFeatureString().str();
}

}  // namespace lynxpp::device::cpu
