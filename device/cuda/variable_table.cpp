#include "device/cuda/variable_table.h"

#include <span>

namespace lynxpp::device::cuda {

Status write_table(const Driver& driver, Pool& pool, CUmodule module, const VariableTable& table) {
  if (table.addresses.empty()) return success();
  const auto bytes = std::as_bytes(std::span(table.addresses));
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUresult result = driver.cuModuleGetGlobal(&address, &size, module, table.name.c_str());
  if (result != CUDA_SUCCESS) return driver.error("cuModuleGetGlobal", result);
  if (size != bytes.size()) return failure("the variant's table of variables has another size");
  const CUstream stream = pool.own_stream();
  if (stream == nullptr) return failure("the driver cannot create a stream");
  result = driver.cuMemcpyHtoDAsync(address, bytes.data(), bytes.size(), stream);
  if (result != CUDA_SUCCESS) return driver.error("cuMemcpyHtoDAsync", result);
  const CUevent copied = pool.recorded_event(stream);
  result = copied == nullptr ? CUDA_ERROR_INVALID_HANDLE : driver.cuEventSynchronize(copied);
  pool.release(copied);
  return result == CUDA_SUCCESS ? success() : Status(driver.error("copying addresses", result));
}

}  // namespace lynxpp::device::cuda
