// Storage of a module's .global and .const variables.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/cpu/simt/compile/module_symbols.h"
#include "device/cpu/simt/execute/memory/variable_storage.h"
#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// Owns the memory; the symbols point into it.
class ModuleStorage {
 public:
  /// Allocates and initializes every variable that is not in `shared`. Fails if an initial value cannot be
  /// parsed or there is no memory.
  static Result<ModuleStorage> create(const ptx::Module& module, const std::string& name,
                                      const SharedVariables& shared);

  const ModuleSymbols& symbols() const { return symbols_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  Status initialize(const ptx::Module& module, const ptx::Variable& variable);

  std::unique_ptr<std::byte, Free> globals_;
  std::unique_ptr<std::byte, Free> constants_;
  ModuleSymbols symbols_;
};

}  // namespace lynxpp::device::cpu
