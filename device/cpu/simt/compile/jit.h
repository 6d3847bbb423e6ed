// Machine code for the host through LLVM ORC. No LLVM type is complete here.
#pragma once

#include <memory>
#include <string>

#include "support/result.h"

namespace llvm {
class LLVMContext;
class Module;
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

  static Result<std::shared_ptr<Jit>> create();

  /// Sets the module's triple and data layout to the host's. Call before code is generated into it.
  void prepare(llvm::Module& module) const;
  /// Takes the module over; it is compiled at the first look-up of one of its functions.
  Status add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context);
  Result<void*> lookup(const std::string& function);

 private:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace lynxpp::device::cpu
