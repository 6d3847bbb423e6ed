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

/// How many thread blocks of one shape an SM holds.
struct Occupancy {
  std::uint64_t threads = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t original = 0;
  std::uint32_t variant = 0;
};

class CudaVariant;

/// What a variant needs so that its grid is resident at once where the original's is.
/// What is compiled.
struct VariantText {
  std::string ptx;
  std::string kernel;
  DirectivePlace directives;
};

struct Residency {
  VariantText text;       ///< what it was made of
  bool may_wait = false;  ///< its thread blocks may wait for each other without a cooperative launch
  std::mutex mutex;       ///< guards what follows
  std::vector<Occupancy> known;
  /// With fewer registers, for grids that need it: the limit and what came of it, null where nothing did.
  std::vector<std::pair<std::uint32_t, std::unique_ptr<CudaVariant>>> narrow;
};

class CudaVariant final : public Variant {
 public:
  /// The context is that which the module was loaded in.
  CudaVariant(const Driver& driver, CUcontext context, CUmodule module, CUfunction function)
      : driver_(driver), context_(context), module_(module), function_(function) {}
  /// From any thread.
  ~CudaVariant() override;

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  CUfunction function() const { return function_; }
  /// Has the attributes that change what a launch means be those that the original has now. Asks the driver
  /// only where something has been set since. Failure: one cannot be set.
  Status follow(CUfunction original, const Launch& launch);
  /// Failure: it cannot be launched with as many threads or as much dynamic shared memory.
  Status admit(const Launch& launch);
  /// The program may have raised the original's limit since the variant was loaded.
  Status allow_shared(std::uint32_t bytes);

  int max_threads = 1024;
  std::atomic<int> dynamic_shared_limit = 48 << 10;
  Residency residency;
  std::atomic<std::uint64_t> followed_changes = never;
  std::atomic<int> cache_config = -1;

 private:
  const Driver& driver_;
  CUcontext context_;
  CUmodule module_;
  CUfunction function_;
};

/// One pointer for each parameter of the launch, whichever way it gives them.
Result<std::vector<void*>> parameters_of(const Launch& launch, std::span<const ParameterSlot> slots);

}  // namespace lynxpp::device::cuda
