// What nvcc's host code registered: fatbinaries, kernels, variables. Nothing is decoded until a kernel or
// variable of a fatbinary is used.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cpu/runtime/module_variables.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "image/fatbinary.h"

namespace lynxpp::device::cpu {

inline constexpr int default_shared_limit = 48 * 1024;

/// A kernel that is ready to run.
struct LoadedKernel {
  std::shared_ptr<LoadedModule> module;
  std::shared_ptr<const std::string> ptx;
  KernelInfo info;
};

class Binary;

/// A registered kernel; its address is the cudaKernel_t and cudaFunction_t, and device::Launch::function.
/// Never destroyed, so that a handle kept by somebody after its fatbinary went away does not come to mean
/// another kernel.
struct Kernel {
  Binary* binary = nullptr;
  const void* host_function = nullptr;
  std::string name;                                           ///< mangled
  std::atomic<int> max_dynamic_shared{default_shared_limit};  ///< as cudaFuncSetAttribute left it
  std::atomic<int> shared_carveout{-1};
  std::atomic<std::uint64_t> launches{0};  ///< by the program
  std::atomic<bool> failure_logged{false};

  // Guarded by the binary's mutex.
  std::shared_ptr<const LoadedKernel> loaded;
  cudaError_t load_error = cudaSuccess;
};

struct Variable {
  Binary* binary = nullptr;
  const void* host_address = nullptr;  ///< the shadow variable; for a managed one, of the pointer to it
  std::string name;
  std::size_t bytes = 0;
  void** managed_pointer = nullptr;  ///< where the address of a managed variable goes

  // Guarded by the binary's mutex.
  bool failure_logged = false;
  void* storage = nullptr;
  std::vector<std::byte> initial_value;
};

/// One registered fatbinary. Thread safe.
class Binary {
 public:
  explicit Binary(const void* wrapper) : wrapper_(wrapper) {}

  /// The kernel, loaded on first use. Errors are logged once: cudaErrorNoKernelImageForDevice (no PTX),
  /// cudaErrorInvalidKernelImage, cudaErrorInvalidPtx, cudaErrorInvalidDeviceFunction (no such kernel in the
  /// PTX).
  cudaError_t load(Kernel& kernel, std::shared_ptr<const LoadedKernel>& loaded);
  /// Gives the variable its storage. Errors: cudaErrorInvalidSymbol and those of load().
  cudaError_t load(Variable& variable);
  /// Stores the addresses of managed variables where the program looks for them.
  cudaError_t load_managed();
  /// Any variable of the kernel's module, registered or not.
  static std::optional<LoadedModule::VariableStorage> variable_of(Kernel& kernel, const std::string& name);

  /// Loads everything now. Errors: those of load(); logged.
  cudaError_t load_all(const std::string& name);
  /// Of all its modules. Precondition of this and find_variable(): load_all() has succeeded.
  std::vector<std::string> kernel_names();
  std::optional<LoadedModule::VariableStorage> find_variable(const std::string& name);

  /// Gives every variable its initial value back.
  void restore_variables();
  /// Lets go of modules and storage; `kernels` (its own) and its variables are not usable any more.
  void retire(const std::vector<Kernel*>& kernels);

  std::vector<std::unique_ptr<Variable>> variables;  ///< complete before the first use

 private:
  struct Module {
    std::shared_ptr<const std::string> ptx;
    std::vector<image::Entry> older = {};  ///< other PTX for no higher compute capability, the highest last
    std::shared_ptr<LoadedModule> loaded = nullptr;
    std::unique_ptr<ModuleVariables> entered = nullptr;  ///< those of `loaded`
    cudaError_t load_error = cudaSuccess;
    bool in_use = false;  ///< the program has a kernel or variable of it
  };

  cudaError_t decode();
  cudaError_t load_module_of(Module& module, const std::string& symbol);
  bool holds(Module& module, const Kernel& kernel);
  bool fall_back(Module& module, const Kernel& kernel);
  void place_variables(Module& module);
  cudaError_t place(Variable& variable);

  const void* wrapper_;
  std::mutex mutex_;
  bool decoded_ = false;
  bool retired_ = false;
  cudaError_t decode_error_ = cudaSuccess;
  std::vector<Module> modules_;
};

/// Thread safe.
class Registry {
 public:
  Binary* add_binary(const void* wrapper);
  void remove_binary(Binary* binary);
  bool is_binary(const Binary* binary) const;

  /// `host_function` is null for a kernel that has none.
  Kernel* add_kernel(Binary* binary, const void* host_function, const char* name);
  void add_variable(Binary* binary, std::unique_ptr<Variable> variable);

  /// By the host function or by the handle; null when it is neither.
  Kernel* find_kernel(const void* function) const;
  /// By the address of the shadow variable, or a managed variable's own address; null when it is neither.
  Variable* find_variable(const void* symbol) const;

  void restore_variables();

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::vector<std::unique_ptr<Binary>> retired_;  ///< kept: kernel handles refer to them
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unordered_map<const void*, Kernel*> kernel_of_;  ///< by host function and by handle
  std::unordered_map<const void*, Variable*> variable_of_;
};

/// The process's registry. Never destroyed: fatbinaries are unregistered by exit handlers.
Registry& registry();

}  // namespace lynxpp::device::cpu
