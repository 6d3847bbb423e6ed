// Machine code of instruction forms, shared by all kernels, modules and threads of the process.
//
// A form is known by the text of its LLVM IR, which holds everything that its machine code depends on:
// instructions that share a form cannot differ but in their operands. No address is in it, so that machine
// code serves later processes, too (code_cache.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cpu/simt/compile/code_cache.h"
#include "device/cpu/simt/compile/jit.h"
#include "device/cpu/simt/compile/segment_code.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

class FormLibrary {
 public:
  /// The process's. It is never destroyed: launches may run while the process ends.
  static FormLibrary& shared();

  /// Null when it has been compiled neither here nor in a process whose code is kept.
  FormFunction find(const FormKey& form);

  struct Definition {
    FormKey form;
    std::string name;  ///< of its function in the module
  };
  /// Sets the module up for code generation.
  Status prepare(llvm::Module& module);
  /// Compiles the forms that the module defines.
  Status add(llvm::Module& module, const std::vector<Definition>& definitions);
  std::size_t size() const;
  /// Of those, the ones that no compiler had to make here.
  std::size_t size_from_cache() const { return from_cache_.load(); }

  /// For tests: instructions that are about to share a form are compared once more, by their texts. A kernel
  /// where these differ is refused.
  void check_sharing(bool checks) { checks_sharing_.store(checks); }
  bool checks_sharing() const { return checks_sharing_.load(std::memory_order_relaxed); }

 private:
  Result<std::shared_ptr<Jit>> jit();
  FormFunction known(const FormKey& form) const;
  void load(const CodeCache::Record& record);
  Status link(std::unique_ptr<llvm::MemoryBuffer> object, const std::vector<Definition>& definitions);
  void keep(const llvm::MemoryBuffer& object, const std::vector<Definition>& definitions) const;

  std::atomic<bool> checks_sharing_{false};
  std::atomic<std::size_t> from_cache_{0};
  std::mutex compiling_;
  mutable std::shared_mutex mutex_;  // guards those below
  std::unordered_map<FormKey, FormFunction, FormKeyHash> forms_;
  std::shared_ptr<Jit> jit_;
  std::unique_ptr<const CodeCache> cache_;  // made with it; null when there is none
};

}  // namespace lynxpp::device::cpu
