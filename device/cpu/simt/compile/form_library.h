// Machine code of instruction forms, shared by all kernels, modules and threads of the process.
//
// A form is identified by the text of its LLVM IR, which contains everything that its machine code depends
// on: instructions that share a form differ only in their operands. The text contains no addresses, so later
// processes can reuse the machine code (code_cache.h).
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
  /// Returns the process's library. It is never destroyed, because launches may run during process exit.
  static FormLibrary& shared();

  /// Returns null if the form has not been compiled and is not in the cache.
  FormFunction find(const FormKey& form);

  struct Definition {
    FormKey form;
    std::string name;  ///< of its function in the module
  };
  /// Prepares the module for code generation.
  Status prepare(llvm::Module& module);
  /// Compiles the forms that the module defines.
  Status add(llvm::Module& module, const std::vector<Definition>& definitions);
  std::size_t size() const;
  /// Number of forms that came from the cache.
  std::size_t size_from_cache() const { return from_cache_.load(); }

  /// For tests: compares the texts of instructions that are about to share a form. A kernel in which they
  /// differ is rejected.
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
  mutable std::shared_mutex mutex_;  // guards the members below
  std::unordered_map<FormKey, FormFunction, FormKeyHash> forms_;
  std::shared_ptr<Jit> jit_;
  std::unique_ptr<const CodeCache> cache_;  // created with jit_; null if there is no cache
};

}  // namespace lynxpp::device::cpu
