// Generates machine code for the host with LLVM ORC. This header leaves all LLVM types incomplete.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

namespace llvm {
class LLVMContext;
class MemoryBuffer;
class Module;
class TargetMachine;
}  // namespace llvm
namespace llvm::orc {
class LLJIT;
}  // namespace llvm::orc

namespace lynxpp::device::cpu {

/// Functions that were looked up live as long as the Jit.
class Jit {
 public:
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  enum class Aim {
    quick,  ///< fast to compile
    fast,   ///< fast to run
  };
  static Result<std::shared_ptr<Jit>> create(Aim aim = Aim::quick);

  /// Sets the module's target triple and data layout to the host's. Call before generating code into it.
  void prepare(llvm::Module& module) const;
  /// Optimizes code that runs for long.
  void optimize(llvm::Module& module) const;
  /// Takes ownership of the module and compiles it at the first look-up of one of its functions.
  Status add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context);
  Result<void*> lookup(const std::string& function);

  /// Compiles the module to an object file. Only one thread at a time.
  Result<std::unique_ptr<llvm::MemoryBuffer>> compile(llvm::Module& module);
  /// Links an object file and returns its functions by name. Names need not be unique across object files.
  Result<std::vector<void*>> link(std::unique_ptr<llvm::MemoryBuffer> object,
                                  const std::vector<std::string>& functions);
  /// Describes the processor for which code is generated.
  std::string processor() const;

 private:
  Jit(std::unique_ptr<llvm::orc::LLJIT> jit, std::unique_ptr<llvm::TargetMachine> machine);
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::atomic<std::uint64_t> linked_{0};
};

}  // namespace lynxpp::device::cpu
