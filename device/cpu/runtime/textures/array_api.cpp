// Arrays: allocation, queries, copies.
#include <cstring>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/textures/arrays.h"
#include "device/cpu/runtime/textures/formats.h"
#include "device/cpu/runtime/textures/limits.h"

namespace lynxpp::device::cpu::api {
namespace {

cudaArray_t handle_of(const std::shared_ptr<Array>& array) {
  return reinterpret_cast<cudaArray_t>(array.get());
}
cudaMipmappedArray_t handle_of(const std::shared_ptr<MipmappedArray>& array) {
  return reinterpret_cast<cudaMipmappedArray_t>(array.get());
}

cudaError_t shape_of(const cudaChannelFormatDesc* description, const cudaExtent& extent, unsigned flags,
                     ArrayShape& shape) {
  if (description == nullptr) return cudaErrorInvalidValue;
  const auto format = format_of(*description);
  if (!format) return cudaErrorInvalidChannelDescriptor;
  shape = {*format, extent, flags};
  return cudaSuccess;
}

cudaError_t create_array(cudaArray_t* array, const cudaChannelFormatDesc* description,
                         const cudaExtent& extent, unsigned flags) {
  if (array == nullptr) return cudaErrorInvalidValue;
  *array = nullptr;
  ArrayShape shape;
  if (const cudaError_t error = shape_of(description, extent, flags, shape); error != cudaSuccess)
    return error;
  std::shared_ptr<Array> made;
  const cudaError_t error = arrays().create(shape, made);
  *array = handle_of(made);
  return error;
}

/// Returns linear memory as one side of a copy.
Location linear(const void* pointer, std::size_t pitch) {
  return {const_cast<std::byte*>(static_cast<const std::byte*>(pointer)), pitch, 0};
}

/// A rectangle in an array; `x` and `width` in bytes.
struct Rectangle {
  std::size_t x, y, width, height;
  Box box() const { return {width, height}; }
};

cudaError_t locate_in(cudaArray_const_t array, const Rectangle& rectangle, Location& location) {
  const auto found = arrays().find(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  return found->locate(rectangle.x, rectangle.y, 0, rectangle.box(), location);
}

cudaError_t locate_in(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t bytes,
                      Location& location) {
  const auto found = arrays().find(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  return found->locate_bytes(x, y, bytes, location);
}

cudaError_t copy_rows_to(cudaArray_t to, const void* from, std::size_t pitch, const Rectangle& rectangle,
                         cudaMemcpyKind kind, cudaStream_t stream, Returns returns) {
  Location location;
  if (const cudaError_t error = locate_in(to, rectangle, location); error != cudaSuccess) return error;
  if (rectangle.height > 1 && rectangle.width > pitch) return cudaErrorInvalidPitchValue;
  return copy_box(location, linear(from, pitch), rectangle.box(), kind_to_array(kind), stream, returns);
}

cudaError_t copy_rows_from(cudaArray_const_t from, void* to, std::size_t pitch, const Rectangle& rectangle,
                           cudaMemcpyKind kind, cudaStream_t stream, Returns returns) {
  Location location;
  if (const cudaError_t error = locate_in(from, rectangle, location); error != cudaSuccess) return error;
  if (rectangle.height > 1 && rectangle.width > pitch) return cudaErrorInvalidPitchValue;
  return copy_box(linear(to, pitch), location, rectangle.box(), kind_from_array(kind), stream, returns);
}

cudaError_t copy_bytes_to(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                          cudaMemcpyKind kind, cudaStream_t stream, Returns returns) {
  Location location;
  if (const cudaError_t error = locate_in(to, x, y, bytes, location); error != cudaSuccess) return error;
  return copy_box(location, linear(from, bytes), {bytes}, kind_to_array(kind), stream, returns);
}

cudaError_t copy_bytes_from(cudaArray_const_t from, std::size_t x, std::size_t y, void* to, std::size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream, Returns returns) {
  Location location;
  if (const cudaError_t error = locate_in(from, x, y, bytes, location); error != cudaSuccess) return error;
  return copy_box(linear(to, bytes), location, {bytes}, kind_from_array(kind), stream, returns);
}

bool is_kind(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

cudaError_t store_requirements(cudaArrayMemoryRequirements* requirements, std::size_t bytes, int device) {
  if (requirements == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *requirements = {};
  requirements->size = bytes;
  requirements->alignment = array_alignment;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* description, size_t width,
                            size_t height, unsigned int flags) {
  if ((flags & (cudaArrayLayered | cudaArrayCubemap)) != 0) return cudaErrorInvalidValue;
  return create_array(array, description, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* description,
                              struct cudaExtent extent, unsigned int flags) {
  return create_array(array, description, extent, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const struct cudaChannelFormatDesc* description,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags) {
  if (array == nullptr) return cudaErrorInvalidValue;
  *array = nullptr;
  ArrayShape shape;
  if (const cudaError_t error = shape_of(description, extent, flags, shape); error != cudaSuccess)
    return error;
  std::shared_ptr<MipmappedArray> made;
  const cudaError_t error = arrays().create(shape, levels, made);
  *array = handle_of(made);
  return error;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t array,
                                       unsigned int level) {
  if (level_array == nullptr) return cudaErrorInvalidValue;
  const auto found = arrays().find_mipmapped(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<Array> made;
  const cudaError_t error = arrays().level(found, level, made);
  if (error == cudaSuccess) *level_array = handle_of(made);
  return error;
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  if (array == nullptr || arrays().destroy(array)) return cudaSuccess;
  return arrays().find(array) != nullptr ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  return array == nullptr || arrays().destroy_mipmapped(array) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* description, struct cudaExtent* extent,
                             unsigned int* flags, cudaArray_t array) {
  const auto found = arrays().find(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (description != nullptr) *description = description_of(found->shape.format);
  if (extent != nullptr) *extent = found->shape.extent;
  if (flags != nullptr) *flags = found->shape.flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* description, cudaArray_const_t array) {
  if (description == nullptr) return cudaErrorInvalidValue;
  const auto found = arrays().find(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  *description = description_of(found->shape.format);
  return cudaSuccess;
}

/// Arrays have no planes, because video formats are not supported.
cudaError_t cudaArrayGetPlane(cudaArray_t* plane, cudaArray_t array, unsigned int) {
  if (plane == nullptr) return cudaErrorInvalidValue;
  return arrays().find(array) == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements,
                                           cudaArray_t array, int device) {
  const auto found = arrays().find(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  return store_requirements(requirements, bytes_of(found->image), device);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t array, int device) {
  const auto found = arrays().find_mipmapped(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  return store_requirements(requirements, bytes_of(found->image), device);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* elements,
                                                 const struct cudaChannelFormatDesc* description,
                                                 int device) {
  if (elements == nullptr || description == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  if (!format_of(*description)) return cudaErrorInvalidChannelDescriptor;
  *elements = texture_size(cudaDevAttrMaxTexture1DLinearWidth);
  return cudaSuccess;
}

// ---------------------------------------------------------------- copies

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind) {
  return copy_rows_to(to, from, pitch, {x, y, width, height}, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return copy_rows_to(to, from, pitch, {x, y, width, height}, kind, stream, Returns::at_once);
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, enum cudaMemcpyKind kind) {
  return copy_rows_from(from, to, pitch, {x, y, width, height}, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                       size_t width, size_t height, enum cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return copy_rows_from(from, to, pitch, {x, y, width, height}, kind, stream, Returns::at_once);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     enum cudaMemcpyKind kind) {
  if (!is_kind(kind)) return cudaErrorInvalidMemcpyDirection;
  Location there;
  Location here;
  if (const cudaError_t error = locate_in(to, {to_x, to_y, width, height}, there); error != cudaSuccess)
    return error;
  if (const cudaError_t error = locate_in(from, {from_x, from_y, width, height}, here); error != cudaSuccess)
    return error;
  return copy_box(there, here, {width, height}, cudaMemcpyDeviceToDevice, nullptr, Returns::when_done);
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              enum cudaMemcpyKind kind) {
  return copy_bytes_to(to, x, y, from, bytes, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_bytes_to(to, x, y, from, bytes, kind, stream, Returns::at_once);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind) {
  return copy_bytes_from(from, x, y, to, bytes, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_bytes_from(from, x, y, to, bytes, kind, stream, Returns::at_once);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                   size_t from_x, size_t from_y, size_t bytes, enum cudaMemcpyKind kind) {
  if (!is_kind(kind)) return cudaErrorInvalidMemcpyDirection;
  Location there;
  Location here;
  if (const cudaError_t error = locate_in(to, to_x, to_y, bytes, there); error != cudaSuccess) return error;
  if (const cudaError_t error = locate_in(from, from_x, from_y, bytes, here); error != cudaSuccess)
    return error;
  return copy_box(there, here, {bytes}, cudaMemcpyDeviceToDevice, nullptr, Returns::when_done);
}

}  // namespace lynxpp::device::cpu::api
