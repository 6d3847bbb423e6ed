#include "cod/codegen/device/nvptx.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <memory>
#include <mutex>
#include <string_view>

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

namespace lynxpp::cod {
namespace {

constexpr const char* triple = "nvptx64-nvidia-cuda";

const llvm::Target* nvptx_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

struct Processor {
  int sm;
  const char* name;
  const char* features;
};

/// The oldest processor with all features that the code may use: the text then runs on every newer one.
Processor processor_of(int sm) {
  if (sm >= 80) return {80, "sm_80", "+ptx70"};
  if (sm >= 70) return {70, "sm_70", "+ptx63"};
  if (sm >= 60) return {60, "sm_60", "+ptx63"};
  return {50, "sm_50", "+ptx63"};
}

std::unique_ptr<llvm::TargetMachine> machine_of(int sm) {
  const llvm::Target* target = nvptx_target();
  if (target == nullptr) return nullptr;
  const Processor processor = processor_of(sm);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, processor.name, processor.features, llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Merges mask queries within a basic block, where lanes join only in called functions. Runs after
/// optimization: blocks that were merged into one contain several queries.
void share_masks(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    llvm::CallInst* known = nullptr;
    for (llvm::Instruction& each : llvm::make_early_inc_range(block)) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&each);
      if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call)) continue;
      const auto* const text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
      if (text == nullptr) {
        known = nullptr;
      } else if (text->getAsmString() == active_mask_text && known == nullptr) {
        known = call;
      } else if (text->getAsmString() == active_mask_text) {
        call->replaceAllUsesWith(known);
        call->eraseFromParent();
      }
    }
  }
}

/// Uses LLVM's C interface, because the headers of its passes take longer to compile than the rest of this
/// folder.
Status run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* passes) {
  const LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  // A handler is copied to every site, so small size is preferred over speed.
  LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
  LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
  LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
  const LLVMErrorRef error =
      LLVMRunPasses(llvm::wrap(&module), passes, reinterpret_cast<LLVMTargetMachineRef>(&machine), options);
  LLVMDisposePassBuilderOptions(options);
  if (error == LLVMErrorSuccess) return success();
  char* const message = LLVMGetErrorMessage(error);
  Failure failed = failure(std::string("LLVM cannot optimize the specification: ") + message,
                           "please report this specification");
  LLVMDisposeErrorMessage(message);
  return failed;
}

Status optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  if (Status run = run_passes(module, machine, "default<O2>"); !run) return run;
  for (llvm::Function& function : module) share_masks(function);
  // A switch with an unreachable default would become branches that end in `exit`.
  return run_passes(module, machine, "function(early-cse,lower-switch)");
}

/// A handler never ends the program's thread: unreachable code returns, where LLVM would emit `exit`. A path
/// to `exit` would also move the reconvergence point of the program's branches around it.
void return_where_unreachable(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      auto* const end = llvm::dyn_cast_or_null<llvm::UnreachableInst>(block.getTerminator());
      if (end == nullptr) continue;
      llvm::Type* const type = function.getReturnType();
      llvm::ReturnInst::Create(module.getContext(), type->isVoidTy() ? nullptr : llvm::PoisonValue::get(type),
                               end->getIterator());
      end->eraseFromParent();
    }
  }
}

/// The callee of the call at the start of `text`: call.uni (result), name, (arguments);
std::string_view callee_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_of(blanks), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  if (text.starts_with('(')) {
    text.remove_prefix(std::min(text.find(','), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" ,\t\n"), text.size()));
  }
  return text.substr(0, text.find_first_of(" ,;\t\n"));
}

/// Returns a piece of the handler's PTX that a variant cannot contain; empty if all of it is allowed.
std::string forbidden_piece(std::string_view ptx, const llvm::Module& module) {
  for (const std::string_view piece : {".global .align", ".shared .align", ".const"}) {
    if (ptx.find(piece) != std::string_view::npos) return std::string(piece);
  }
  constexpr std::string_view call = "\tcall";
  for (std::size_t at = ptx.find(call); at != std::string_view::npos; at = ptx.find(call, at + 1)) {
    const std::string_view callee = callee_of(ptx.substr(at + 1));
    const llvm::Function* function = module.getFunction(callee);
    if (function == nullptr || function->isDeclaration()) return "call " + std::string(callee);
  }
  return {};
}

}  // namespace

void prepare_nvptx_module(llvm::Module& module) {
  module.setTargetTriple(triple);
  module.setDataLayout("e-i64:64-i128:128-v16:16-v32:32-n16:32:64");
}

Result<std::string> emit_ptx(llvm::Module& module, int sm) {
  const std::unique_ptr<llvm::TargetMachine> machine = machine_of(sm);
  if (machine == nullptr)
    return failure("this build has no NVPTX code generator", "rebuild with LLVM's NVPTX target");
  module.setDataLayout(machine->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(module, &problems)) {
    return failure("the device code of the specification is malformed: " + problem,
                   "please report this specification");
  }
  if (Status optimized = optimize(module, *machine); !optimized) return optimized.error();
  return_where_unreachable(module);
  llvm::SmallString<4096> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return failure("LLVM cannot emit PTX in this build", "rebuild with LLVM's NVPTX target");
  passes.run(module);
  std::string ptx(text.str());
  if (const std::string piece = forbidden_piece(ptx, module); !piece.empty()) {
    return failure("the device code of the specification needs '" + piece + "', which a kernel cannot hold",
                   "simplify the handler");
  }
  return ptx;
}

}  // namespace lynxpp::cod
