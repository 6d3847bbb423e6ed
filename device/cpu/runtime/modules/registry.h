// Fatbinaries, kernels and variables that nvcc's host code registers. A fatbinary is decoded when one of its
// kernels or variables is first used.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/modules/module_variables.h"
#include "device/cpu/runtime/modules/symbols.h"
#include "device/cpu/simt/execute/executor.h"
#include "image/cubin_ptx.h"
#include "image/fatbinary.h"

namespace lynxpp::device::cpu {

/// A registered fatbinary. Each device that uses it has its own variables. Thread safe.
class Binary {
 public:
  explicit Binary(const void* wrapper) : wrapper_(wrapper) {}

  /// Returns the kernel, loaded on a device at its first use there. Errors, logged once:
  /// cudaErrorNoKernelImageForDevice (no PTX), cudaErrorInvalidKernelImage, cudaErrorInvalidPtx,
  /// cudaErrorInvalidDeviceFunction (kernel not found in the PTX).
  cudaError_t load(Kernel& kernel, int device, std::shared_ptr<const LoadedKernel>& loaded);
  /// Assigns the variable's storage on a device. Errors: cudaErrorInvalidSymbol and those of load().
  cudaError_t load(Variable& variable, int device);
  /// Stores the addresses of managed variables in the program's pointers.
  cudaError_t load_managed();
  /// Returns any variable of the kernel's module, registered or not.
  static std::optional<VariableStorage> variable_of(Kernel& kernel, int device, const std::string& name);

  /// Loads all modules immediately. Errors: those of load(); logged.
  cudaError_t load_all(const std::string& name, int device);
  /// True if a module declares a managed variable of that name.
  bool declares_managed(const std::string& name);
  /// Returns why it has no PTX to run, and a remedy.
  std::string why_no_ptx() const;
  /// Returns the kernels of all modules. Precondition: one module is loaded on some device.
  std::vector<std::string> kernel_names();
  /// Finds a variable, loading its module on the device if necessary.
  std::optional<VariableStorage> find_variable(const std::string& name, int device);

  /// Resets every variable of a device to its initial value.
  void restore_variables(int device);
  /// Releases modules and storage; `kernels` (its own) and its variables become unusable.
  void retire(const std::vector<Kernel*>& kernels);

  std::vector<std::unique_ptr<Variable>> variables;  ///< complete before the first use

 private:
  struct Module {
    std::shared_ptr<const std::string> ptx;
    std::vector<image::Entry> older = {};  ///< other PTX that can run here, highest version last
    bool in_use = false;                   ///< true if the program uses a kernel or variable of it
    image::PtxOrigin origin = image::PtxOrigin::image;

    struct OnDevice {
      std::shared_ptr<LoadedModule> loaded;
      std::unique_ptr<ModuleVariables> entered;  ///< variables of `loaded`
      cudaError_t load_error = cudaSuccess;
    };
    std::map<int, OnDevice> devices = {};
  };

  cudaError_t decode();
  cudaError_t link_relocatable();
  cudaError_t take_machine_code(std::span<const std::byte> image);
  cudaError_t load_module_of(Module& module, int device, const std::string& symbol);
  SharedVariables managed_variables() const;
  bool holds(Module& module, int device, const Kernel& kernel);
  bool fall_back(Module& module, int device, const Kernel& kernel);
  cudaError_t find_and_load(Kernel& kernel, int device);
  void place_variables(Module& module, int device);
  cudaError_t place(Variable& variable, int device);

  const void* wrapper_;
  std::mutex mutex_;
  bool decoded_ = false;
  bool retired_ = false;
  cudaError_t decode_error_ = cudaSuccess;
  std::string machine_code_problem_;  ///< why PTX kept with its machine code cannot be run; empty if it can
  std::vector<Module> modules_;
};

/// Thread safe.
class Registry {
 public:
  Binary* add_binary(const void* wrapper);
  void remove_binary(Binary* binary);
  bool is_binary(const Binary* binary) const;

  /// `host_function` is null if the kernel has none.
  Kernel* add_kernel(Binary* binary, const void* host_function, const char* name);
  void add_variable(Binary* binary, std::unique_ptr<Variable> variable);

  /// Finds a kernel by its host function or handle; null if neither matches.
  Kernel* find_kernel(const void* function) const;
  /// Finds a variable by the address of its shadow variable, or a managed variable's own address; null if
  /// neither matches.
  Variable* find_variable(const void* symbol) const;

  void restore_variables(int device);

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::vector<std::unique_ptr<Binary>> retired_;  ///< kept because kernel handles refer to them
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unordered_map<const void*, Kernel*> kernel_of_;  ///< by host function and by handle
  std::unordered_map<const void*, Variable*> variable_of_;
};

/// Returns the process's registry. Never destroyed, because exit handlers unregister fatbinaries.
Registry& registry();

}  // namespace lynxpp::device::cpu
