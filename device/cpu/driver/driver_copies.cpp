// Copies and fills.
#include <cstring>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/runtime/textures/arrays.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

Location at(const void* pointer, size_t pitch = 0, size_t slice_pitch = 0) {
  return {const_cast<std::byte*>(static_cast<const std::byte*>(pointer)), pitch, slice_pitch};
}
Location at(CUdeviceptr address, size_t pitch = 0) {
  return at(reinterpret_cast<const void*>(address), pitch);
}

template <typename To, typename From>
CUresult copy_bytes(To to, From from, size_t bytes, cudaMemcpyKind kind, CUstream stream, Returns returns) {
  return result_of(copy_box(at(to), at(from), {bytes}, kind, stream, returns));
}

/// One side of a copy described by a structure.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x, y, z, pitch, height;
  CUarray array;

  bool is_array() const { return type == CU_MEMORYTYPE_ARRAY; }
  bool is_known() const {
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
  }
};

/// Locates that side of a copy of the box.
CUresult locate(const End& end, const Box& box, Location& location) {
  if (end.is_array()) {
    const auto found = arrays().find(end.array);
    return found != nullptr ? result_of(found->locate(end.x, end.y, end.z, box, location))
                            : CUDA_ERROR_INVALID_HANDLE;
  }
  if (!end.is_known()) return CUDA_ERROR_INVALID_VALUE;
  const size_t pitch = end.pitch != 0 ? end.pitch : end.x + box.width;
  const size_t rows = end.height != 0 ? end.height : end.y + box.height;
  if (end.x > pitch || box.width > pitch - end.x) return CUDA_ERROR_INVALID_VALUE;
  if (box.depth > 1 && (end.y > rows || box.height > rows - end.y)) return CUDA_ERROR_INVALID_VALUE;
  size_t slice = 0;
  size_t z = 0;
  size_t y = 0;
  if (__builtin_mul_overflow(pitch, rows, &slice) || __builtin_mul_overflow(end.z, slice, &z) ||
      __builtin_mul_overflow(end.y, pitch, &y)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const void* const base =
      end.type == CU_MEMORYTYPE_HOST ? end.host : reinterpret_cast<const void*>(end.device);
  if (base == nullptr) return CUDA_ERROR_INVALID_VALUE;
  location = at(static_cast<const std::byte*>(base) + z + y + end.x, pitch, slice);
  return CUDA_SUCCESS;
}

cudaMemcpyKind kind_of(const End& to, const End& from) {
  if (to.type == CU_MEMORYTYPE_UNIFIED || from.type == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  const bool to_host = to.type == CU_MEMORYTYPE_HOST;
  if (from.type == CU_MEMORYTYPE_HOST) return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

CUresult copy_ends(const End& to, const End& from, const Box& box, CUstream stream, Returns returns) {
  if (box.empty()) return CUDA_SUCCESS;
  Location there;
  Location here;
  if (const CUresult error = locate(to, box, there); error != CUDA_SUCCESS) return error;
  if (const CUresult error = locate(from, box, here); error != CUDA_SUCCESS) return error;
  return result_of(copy_box(there, here, box, kind_of(to, from), stream, returns));
}

CUresult copy_rows(const CUDA_MEMCPY2D* copy, CUstream stream, Returns returns) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const End to{copy->dstMemoryType, copy->dstHost,
               copy->dstDevice,     copy->dstXInBytes,
               copy->dstY,          0,
               copy->dstPitch,      0,
               copy->dstArray};
  const End from{copy->srcMemoryType, copy->srcHost,
                 copy->srcDevice,     copy->srcXInBytes,
                 copy->srcY,          0,
                 copy->srcPitch,      0,
                 copy->srcArray};
  return copy_ends(to, from, {copy->WidthInBytes, copy->Height}, stream, returns);
}

CUresult copy_slices(const CUDA_MEMCPY3D* copy, CUstream stream, Returns returns) {
  if (copy == nullptr || copy->srcLOD != 0 || copy->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  const End to{copy->dstMemoryType, copy->dstHost,  copy->dstDevice, copy->dstXInBytes, copy->dstY,
               copy->dstZ,          copy->dstPitch, copy->dstHeight, copy->dstArray};
  const End from{copy->srcMemoryType, copy->srcHost,  copy->srcDevice, copy->srcXInBytes, copy->srcY,
                 copy->srcZ,          copy->srcPitch, copy->srcHeight, copy->srcArray};
  return copy_ends(to, from, {copy->WidthInBytes, copy->Height, copy->Depth}, stream, returns);
}

CUresult copy_slices_between(const CUDA_MEMCPY3D_PEER* copy, CUstream stream, Returns returns) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (contexts().find(copy->srcContext) == nullptr || contexts().find(copy->dstContext) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  CUDA_MEMCPY3D same{};
  same.srcXInBytes = copy->srcXInBytes;
  same.srcY = copy->srcY;
  same.srcZ = copy->srcZ;
  same.srcLOD = copy->srcLOD;
  same.srcMemoryType = copy->srcMemoryType;
  same.srcHost = copy->srcHost;
  same.srcDevice = copy->srcDevice;
  same.srcArray = copy->srcArray;
  same.srcPitch = copy->srcPitch;
  same.srcHeight = copy->srcHeight;
  same.dstXInBytes = copy->dstXInBytes;
  same.dstY = copy->dstY;
  same.dstZ = copy->dstZ;
  same.dstLOD = copy->dstLOD;
  same.dstMemoryType = copy->dstMemoryType;
  same.dstHost = copy->dstHost;
  same.dstDevice = copy->dstDevice;
  same.dstArray = copy->dstArray;
  same.dstPitch = copy->dstPitch;
  same.dstHeight = copy->dstHeight;
  same.WidthInBytes = copy->WidthInBytes;
  same.Height = copy->Height;
  same.Depth = copy->Depth;
  return copy_slices(&same, stream, returns);
}

CUresult copy_between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes, CUstream stream, Returns returns) {
  if (contexts().find(to_context) == nullptr || contexts().find(from_context) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice, stream, returns);
}

/// Locates `bytes` from an offset in an array, row after row.
CUresult locate_in(CUarray array, size_t offset, size_t bytes, Location& location) {
  const auto found = arrays().find(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return result_of(found->locate_bytes(offset, 0, bytes, location));
}

CUresult copy_to_array(CUarray to, size_t offset, const void* from, size_t bytes, cudaMemcpyKind kind,
                       CUstream stream, Returns returns) {
  Location there;
  if (const CUresult error = locate_in(to, offset, bytes, there); error != CUDA_SUCCESS) return error;
  return result_of(copy_box(there, at(from), {bytes}, kind, stream, returns));
}

CUresult copy_from_array(void* to, CUarray from, size_t offset, size_t bytes, cudaMemcpyKind kind,
                         CUstream stream, Returns returns) {
  Location here;
  if (const CUresult error = locate_in(from, offset, bytes, here); error != CUDA_SUCCESS) return error;
  return result_of(copy_box(at(to), here, {bytes}, kind, stream, returns));
}

/// Fills elements of `value.bytes` bytes.
CUresult fill_elements(CUdeviceptr to, size_t pitch, const FillValue& value, size_t width, size_t height,
                       CUstream stream, Returns returns) {
  size_t bytes = 0;
  if (to % value.bytes != 0 || __builtin_mul_overflow(width, value.bytes, &bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && (bytes > pitch || pitch % value.bytes != 0)) return CUDA_ERROR_INVALID_VALUE;
  return result_of(fill_box(at(to, pitch), {bytes, height}, value, stream, returns));
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyDefault, nullptr, Returns::when_done);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyDefault, stream, Returns::at_once);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes) {
  return copy_between(to, to_context, from, from_context, bytes, nullptr, Returns::when_done);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  return copy_between(to, to_context, from, from_context, bytes, stream, Returns::at_once);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return copy_slices_between(copy, nullptr, Returns::when_done);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return copy_slices_between(copy, stream, Returns::at_once);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyHostToDevice, nullptr, Returns::when_done);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToHost, nullptr, Returns::when_done);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, Returns::when_done);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyHostToDevice, stream, Returns::at_once);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToHost, stream, Returns::at_once);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice, stream, Returns::at_once);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_rows(copy, nullptr, Returns::when_done); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return copy_rows(copy, nullptr, Returns::when_done);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_rows(copy, stream, Returns::at_once);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_slices(copy, nullptr, Returns::when_done); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy_slices(copy, stream, Returns::at_once);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
  return copy_to_array(to, offset, from, bytes, cudaMemcpyHostToDevice, nullptr, Returns::when_done);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
  return copy_to_array(to, offset, from, bytes, cudaMemcpyHostToDevice, stream, Returns::at_once);
}
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return copy_to_array(to, offset, reinterpret_cast<const void*>(from), bytes, cudaMemcpyDeviceToDevice,
                       nullptr, Returns::when_done);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
  return copy_from_array(to, from, offset, bytes, cudaMemcpyDeviceToHost, nullptr, Returns::when_done);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return copy_from_array(to, from, offset, bytes, cudaMemcpyDeviceToHost, stream, Returns::at_once);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return copy_from_array(reinterpret_cast<void*>(to), from, offset, bytes, cudaMemcpyDeviceToDevice, nullptr,
                         Returns::when_done);
}
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  Location here;
  if (const CUresult error = locate_in(from, from_offset, bytes, here); error != CUDA_SUCCESS) return error;
  return copy_to_array(to, to_offset, here.first, bytes, cudaMemcpyDeviceToDevice, nullptr,
                       Returns::when_done);
}

// ---------------------------------------------------------------- fills

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill_elements(to, 0, {value, 1}, count, 1, nullptr, Returns::when_done);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return fill_elements(to, 0, {value, 2}, count, 1, nullptr, Returns::when_done);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
  return fill_elements(to, 0, {value, 4}, count, 1, nullptr, Returns::when_done);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill_elements(to, pitch, {value, 1}, width, height, nullptr, Returns::when_done);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill_elements(to, pitch, {value, 2}, width, height, nullptr, Returns::when_done);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height) {
  return fill_elements(to, pitch, {value, 4}, width, height, nullptr, Returns::when_done);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_elements(to, 0, {value, 1}, count, 1, stream, Returns::at_once);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill_elements(to, 0, {value, 2}, count, 1, stream, Returns::at_once);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return fill_elements(to, 0, {value, 4}, count, 1, stream, Returns::at_once);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return fill_elements(to, pitch, {value, 1}, width, height, stream, Returns::at_once);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return fill_elements(to, pitch, {value, 2}, width, height, stream, Returns::at_once);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
                            CUstream stream) {
  return fill_elements(to, pitch, {value, 4}, width, height, stream, Returns::at_once);
}

}  // namespace lynxpp::device::cpu::driver_api
