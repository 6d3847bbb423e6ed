#include "device/cpu/simt/compile/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/TargetSelect.h>

#include <mutex>

namespace lynxpp::device::cpu {
namespace {

Failure llvm_failure(llvm::Error error) {
  return failure("the cpu device could not generate machine code: " + llvm::toString(std::move(error)));
}

}  // namespace

Jit::Jit(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
Jit::~Jit() = default;

Result<std::shared_ptr<Jit>> Jit::create() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return llvm_failure(machine.takeError());
  // Most code runs for a shorter time than better code would take: it compiles twice as fast.
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  // a * b + c must stay two roundings unless the program wrote fma.
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!jit) return llvm_failure(jit.takeError());
  return std::shared_ptr<Jit>(new Jit(std::move(*jit)));
}

void Jit::prepare(llvm::Module& module) const {
  module.setTargetTriple(jit_->getTargetTriple().str());
  module.setDataLayout(jit_->getDataLayout());
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

}  // namespace lynxpp::device::cpu
