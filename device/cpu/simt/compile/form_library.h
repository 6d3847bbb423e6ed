// Machine code of instruction forms, shared by all kernels, modules and threads of the process.
//
// A form is known by the text of its LLVM IR, which holds everything that its machine code depends on:
// instructions that share a form cannot differ but in their operands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cpu/simt/compile/jit.h"
#include "device/cpu/simt/compile/segment_code.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

class FormLibrary {
 public:
  /// The process's. It is never destroyed: launches may run while the process ends.
  static FormLibrary& shared();

  /// Null when it has not been compiled.
  FormFunction find(const std::string& text) const;
  /// A name that no other form has.
  std::string new_name() { return "form" + std::to_string(named_.fetch_add(1)); }

  struct Definition {
    std::string text;
    std::string name;  ///< of its function in the module
  };
  /// Sets the module up for code generation.
  Status prepare(llvm::Module& module);
  /// Compiles the forms that the module defines.
  Status add(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
             const std::vector<Definition>& definitions);
  std::size_t size() const;

  /// For tests: instructions that are about to share a form are compared once more, by their texts. A kernel
  /// where these differ is refused.
  void check_sharing(bool checks) { checks_sharing_.store(checks); }
  bool checks_sharing() const { return checks_sharing_.load(std::memory_order_relaxed); }

 private:
  Result<std::shared_ptr<Jit>> jit();

  std::atomic<std::uint64_t> named_{0};
  std::atomic<bool> checks_sharing_{false};
  std::mutex compiling_;
  mutable std::shared_mutex mutex_;  // guards the two below
  std::unordered_map<std::string, FormFunction> forms_;
  std::shared_ptr<Jit> jit_;
};

}  // namespace lynxpp::device::cpu
