// Machine code for the host through LLVM ORC. No LLVM type is complete here.
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

/// Functions looked up in it live as long as it does.
class Jit {
 public:
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  enum class Aim {
    quick,  ///< to compile
    fast,   ///< to run
  };
  static Result<std::shared_ptr<Jit>> create(Aim aim = Aim::quick);

  /// Sets the module's triple and data layout to the host's. Call before code is generated into it.
  void prepare(llvm::Module& module) const;
  /// For code that runs long.
  void optimize(llvm::Module& module) const;
  /// Takes the module over; it is compiled at the first look-up of one of its functions.
  Status add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context);
  Result<void*> lookup(const std::string& function);

  /// An object file of the module. One thread at a time.
  Result<std::unique_ptr<llvm::MemoryBuffer>> compile(llvm::Module& module);
  /// Links an object file; its functions, by name. Their names need not differ from other files'.
  Result<std::vector<void*>> link(std::unique_ptr<llvm::MemoryBuffer> object,
                                  const std::vector<std::string>& functions);
  /// What compiled code depends on.
  std::string processor() const;

 private:
  Jit(std::unique_ptr<llvm::orc::LLJIT> jit, std::unique_ptr<llvm::TargetMachine> machine);
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::atomic<std::uint64_t> linked_{0};
};

}  // namespace lynxpp::device::cpu
