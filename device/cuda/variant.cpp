#include "device/cuda/variant.h"

#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {

CudaVariant::~CudaVariant() {
  const InContext ours(driver_, context_);
  driver_.cuModuleUnload(module_);
}

Status CudaVariant::follow(CUfunction original, const Launch& launch) {
  const bool has_config = launch.cache_config < 0 || cache_config.load() == launch.cache_config;
  if (has_config && followed_changes.load() == launch.attribute_changes) return success();
  const CaptureRelaxed relaxed(driver_);
  if (!has_config && cache_config.exchange(launch.cache_config) != launch.cache_config)
    driver_.cuFuncSetCacheConfig(function_, static_cast<CUfunc_cache>(launch.cache_config));
  if (followed_changes.load() == launch.attribute_changes) return success();
  for (const CUfunction_attribute attribute : {
           CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
           CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
           CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
           CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
           CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
           CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
       }) {
    int wanted = 0;
    int now = 0;
    if (driver_.cuFuncGetAttribute(&wanted, attribute, original) != CUDA_SUCCESS ||
        (driver_.cuFuncGetAttribute(&now, attribute, function_) == CUDA_SUCCESS && now == wanted))
      continue;
    const CUresult result = driver_.cuFuncSetAttribute(function_, attribute, wanted);
    if (result != CUDA_SUCCESS) return driver_.error("cuFuncSetAttribute", result);
  }
  followed_changes = launch.attribute_changes;
  return success();
}

Status CudaVariant::admit(const Launch& launch) {
  if (launch.threads_per_block() > static_cast<std::uint64_t>(max_threads)) {
    return failure("the instrumented kernel needs too many registers for " +
                   std::to_string(launch.threads_per_block()) + " threads per block");
  }
  return allow_shared(launch.shared_bytes);
}

Status CudaVariant::allow_shared(std::uint32_t bytes) const {
  if (bytes <= static_cast<std::uint32_t>(dynamic_shared_limit)) return success();
  const CaptureRelaxed relaxed(driver_);
  const CUresult result = driver_.cuFuncSetAttribute(
      function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  if (result != CUDA_SUCCESS) return driver_.error("cuFuncSetAttribute", result);
  dynamic_shared_limit = static_cast<int>(bytes);
  return success();
}

Result<std::vector<void*>> parameters_of(const Launch& launch, std::span<const ParameterSlot> slots) {
  if (slots.empty()) return std::vector<void*>();
  std::vector<void*> parameters;
  parameters.reserve(slots.size() + 1);  // and the hidden parameter
  if (launch.parameters != nullptr) {
    parameters.assign(launch.parameters, launch.parameters + slots.size());
    return parameters;
  }
  std::byte* buffer = nullptr;
  std::size_t size = 0;
  for (void** entry = launch.extra; entry != nullptr && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<std::byte*>(entry[1]);
    if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<std::size_t*>(entry[1]);
  }
  for (const ParameterSlot& slot : slots) {
    if (buffer == nullptr || slot.offset + slot.bytes > size)
      return failure("the launch gives too few parameters");
    parameters.push_back(buffer + slot.offset);
  }
  return parameters;
}

}  // namespace lynxpp::device::cuda
