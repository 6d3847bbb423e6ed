// A variant that the driver has loaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver.h"
#include "device/device.h"
#include "support/result.h"

namespace lynxpp::device::cuda {

/// How many thread blocks of one launch shape fit on an SM.
struct Occupancy {
  std::uint64_t threads = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t original = 0;
  std::uint32_t variant = 0;
};

class CudaVariant;

/// The input of a variant's compilation.
struct VariantText {
  std::string ptx;
  std::string kernel;
  DirectiveRange directives;
  VariableTable variables;
};

/// State for keeping a variant's grid resident at once if the original's grid is.
struct Residency {
  VariantText text;       ///< from which it was compiled
  bool may_wait = false;  ///< true if its thread blocks may wait for each other without a cooperative launch
  std::mutex mutex;       ///< guards the members below
  std::vector<Occupancy> known;
  /// Variants with fewer registers: the register limit and the variant, null if its compilation failed.
  std::vector<std::pair<std::uint32_t, std::unique_ptr<CudaVariant>>> narrow;
};

class CudaVariant final : public Variant {
 public:
  /// `context` is the one that `module` was loaded in.
  CudaVariant(const Driver& driver, CUcontext context, CUmodule module, CUfunction function)
      : driver_(driver), context_(context), module_(module), function_(function) {}
  /// May be called from any thread.
  ~CudaVariant() override;

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  CUfunction function() const { return function_; }
  CUmodule module() const { return module_; }
  /// Copies the original's attributes that affect launches. Queries the driver only if the program has set an
  /// attribute since the last call. Fails if an attribute cannot be set.
  Status follow(CUfunction original, const Launch& launch);
  /// Fails if the variant cannot run with the launch's threads or dynamic shared memory.
  Status admit(const Launch& launch);
  /// Raises the variant's limit: the program may have raised the original's after the variant was loaded.
  Status allow_shared(std::uint32_t bytes) const;

  int max_threads = 1024;
  bool wants_time_bound = false;                             ///< VariantTraits::wants_time_bound
  mutable std::atomic<int> dynamic_shared_limit = 48 << 10;  ///< as the driver knows it
  Residency residency;
  std::atomic<std::uint64_t> followed_changes = never;
  std::atomic<int> cache_config = -1;

 private:
  const Driver& driver_;
  CUcontext context_;
  CUmodule module_;
  CUfunction function_;
};

/// Returns a pointer to each parameter of the launch, however they are passed.
Result<std::vector<void*>> parameters_of(const Launch& launch, std::span<const ParameterSlot> slots);

}  // namespace lynxpp::device::cuda
