// Handles that the hooks have seen: the image of each module or library, and the kernel of each function.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interposer/engine_api.h"
#include "interposer/owned_mutex.h"

namespace lynxpp::preload {

/// The bytes of one program image; copied if the program may free its own after the load.
class Image {
 public:
  /// Returns null if `address` is not an image that the driver would accept.
  static std::shared_ptr<const Image> remember(const void* address);

  const lynxpp_image& view() const { return view_; }

 private:
  lynxpp_image view_ = {};
  std::unique_ptr<std::byte[]> copy_;
};
using ImagePtr = std::shared_ptr<const Image>;

struct Kernel {
  std::string name;  ///< mangled
  ImagePtr image;    ///< null if its module was not seen being loaded
  void* module = nullptr;
  int cache_config = -1;  ///< CUfunc_cache; < 0: not set by the program
};
using KernelPtr = std::shared_ptr<const Kernel>;

/// A handle of a kernel.
struct Function {
  KernelPtr kernel;                  ///< null if the lookup of the handle was not seen
  bool is_context_function = false;  ///< true: a CUfunction, of one context; false: a CUkernel, or unknown
  void* context = nullptr;           ///< context that owns a CUfunction; null for a CUkernel, or if unknown
};

/// Thread safe. A module here is a CUmodule or a CUlibrary, a function a CUfunction or a CUkernel.
class Registry {
 public:
  struct Module {
    ImagePtr image;
    void* library = nullptr;  ///< library that contains the CUmodule; null: none
    void* context = nullptr;  ///< context that owns a CUmodule; null: none, or unknown
  };
  /// Entries that were removed with a module or a context.
  struct Removed {
    std::vector<std::pair<void*, Function>> functions;
    std::vector<std::pair<void*, Module>> modules;
  };

  /// `context`: the current context; null for a CUlibrary, which all contexts share.
  void add_module(void* module, ImagePtr image, void* context);
  /// Adds the CUmodule of a library: it is removed with the library or the context.
  void add_module_of_library(void* module, void* library, void* context);
  /// `In::module`: a CUmodule and a CUfunction; `In::library`: a CUlibrary and a CUkernel.
  enum class In { module, library };
  void add_function(void* function, void* module, const char* name, In in);
  /// Adds a CUfunction, of a context, for a kernel that already has another handle.
  void add_alias(void* alias, void* function, void* context);
  /// Applies to all handles of the same kernel.
  void set_cache_config(void* function, int config);
  /// Adds a function whose lookup was not seen, with the driver's description of it. `context`: same as in
  /// Function.
  KernelPtr add_late_function(void* function, void* module, const char* name, void* context);

  /// Changes whenever a module or function is added, removed or changed.
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  bool knows_module(void* module) const;
  Function find_function(void* function) const;
  /// Returns the CUkernels of that name whose library was seen being loaded and is still loaded.
  std::vector<void*> kernels_named(const char* name) const;

  /// Removes the module, its functions and, for a library, the modules made from it.
  Removed remove_module(void* module);
  /// Removes the modules of a context, their functions, and the functions of libraries there.
  Removed remove_context(void* context);
  /// Undoes remove_module after the driver refused to unload.
  void restore(const Removed& removed);

 private:
  KernelPtr put_function(void* function, void* module, const char* name, void* context,
                         bool is_context_function);
  template <typename FunctionDies, typename ModuleDies>
  Removed remove(const FunctionDies& function_dies, const ModuleDies& module_dies);

  /// During its lifetime, the calling thread changes the registry.
  class Changing {
   public:
    explicit Changing(Registry& registry) : lock_(registry.mutex_) {
      registry.changes_.fetch_add(1, std::memory_order_release);
    }

   private:
    const Lock<OwnedMutex<std::shared_mutex>> lock_;
  };

  std::atomic<std::uint64_t> changes_ = 0;
  mutable OwnedMutex<std::shared_mutex> mutex_{LockRank::leaf};
  std::unordered_map<void*, Module> modules_;
  std::unordered_map<void*, Function> functions_;
};

/// Returns the registry of this process. Never destroyed: hooks run until the very end of the process.
Registry& registry();

}  // namespace lynxpp::preload
