#include "device/cpu/runtime/modules/module_variables.h"

#include "device/cpu/runtime/memory/allocations.h"

namespace lynxpp::device::cpu {

ModuleVariables::ModuleVariables(LoadedModule& module, int device,
                                 const std::function<bool(std::string_view)>& is_managed) {
  for (const auto& [name, storage] : module.variables()) {
    if (storage.bytes == 0) continue;
    Allocation variable;
    variable.address = reinterpret_cast<std::uintptr_t>(storage.address);
    variable.bytes = storage.bytes;
    variable.is_managed_variable = is_managed(name);
    variable.kind = variable.is_managed_variable ? MemoryKind::managed : MemoryKind::variable;
    variable.name = name;
    variable.device = device;
    if (allocations().add_foreign(variable)) entered_.push_back({storage.address, variable.kind});
  }
}

ModuleVariables::~ModuleVariables() {
  for (const Entered& each : entered_) allocations().remove_foreign(each.address, each.kind);
}

}  // namespace lynxpp::device::cpu
