// Variables of a loaded module, entered as memory that kernels may access.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "device/cpu/runtime/memory/allocation.h"
#include "device/cpu/simt/execute/executor.h"

namespace lynxpp::device::cpu {

/// Enters all variables of a module into allocations() and removes them when it is destroyed.
class ModuleVariables {
 public:
  /// `is_managed` returns true for names of __managed__ variables. Borrows the module, which must outlive
  /// this object.
  ModuleVariables(
      LoadedModule& module, int device,
      const std::function<bool(std::string_view)>& is_managed = [](std::string_view) { return false; });
  ~ModuleVariables();
  ModuleVariables(const ModuleVariables&) = delete;
  ModuleVariables& operator=(const ModuleVariables&) = delete;

 private:
  struct Entered {
    const void* address;
    MemoryKind kind;
  };
  std::vector<Entered> entered_;
};

}  // namespace lynxpp::device::cpu
