// Copies, fills, and access to the program's variables by symbol.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/graph_memory.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/memory/copies.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/arrays.h"
#include "device/cpu/simt/check/written_memory.h"

namespace lynxpp::device::cpu {

namespace {
std::atomic<CopyObserver> copy_observer{nullptr};
}  // namespace
void set_copy_observer(CopyObserver observer) { copy_observer = observer; }

}  // namespace lynxpp::device::cpu

namespace lynxpp::device::cpu {
namespace {

enum class Side { device, host, any };

/// When the work runs: now, or in launches of a graph, which may allocate the memory.
enum class Runs { now, in_graph };

/// Checks that `bytes` at `pointer` may be one side of a copy: `device` requires memory known to the device,
/// `host` excludes device-only memory.
cudaError_t check_side(const void* pointer, size_t bytes, Side side, Runs runs = Runs::now) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  const auto found = allocations().find(pointer);
  if (!found && side != Side::host && runs == Runs::in_graph && is_graph_memory(pointer, bytes))
    return cudaSuccess;
  if (!found) return side == Side::device ? cudaErrorInvalidValue : cudaSuccess;
  if (side == Side::host && found->is_device_only()) return cudaErrorInvalidValue;
  if (found->kind == MemoryKind::mapped && !allocations().is_accessible(*found, current_device()))
    return cudaErrorInvalidValue;
  // Memory after a registered range also belongs to the program.
  if (side != Side::device && found->kind == MemoryKind::registered_host) return cudaSuccess;
  const size_t offset = reinterpret_cast<std::uintptr_t>(pointer) - found->address;
  return bytes <= found->bytes - offset ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t sides_of(cudaMemcpyKind kind, Side& destination, Side& source) {
  switch (kind) {
    case cudaMemcpyHostToHost: destination = source = Side::host; return cudaSuccess;
    case cudaMemcpyHostToDevice:
      destination = Side::device;
      source = Side::host;
      return cudaSuccess;
    case cudaMemcpyDeviceToHost:
      destination = Side::host;
      source = Side::device;
      return cudaSuccess;
    case cudaMemcpyDeviceToDevice: destination = source = Side::device; return cudaSuccess;
    case cudaMemcpyDefault: destination = source = Side::any; return cudaSuccess;
  }
  return cudaErrorInvalidMemcpyDirection;
}

/// Returns the bytes from a box's first byte to its end; nullopt if they exceed the address space.
std::optional<size_t> span_of(const Box& box, const Location& location) {
  size_t rows = 0;
  size_t slices = 0;
  size_t span = 0;
  if (__builtin_mul_overflow(box.height - 1, location.pitch, &rows) ||
      __builtin_mul_overflow(box.depth - 1, location.slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, box.width, &span)) {
    return std::nullopt;
  }
  return span;
}

bool is_device_only(const void* pointer) {
  const auto found = allocations().find(pointer);
  return found && found->is_device_only();
}

bool is_pageable(const void* pointer) { return !allocations().find(pointer); }

std::uint64_t number_of(const std::byte* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void note_copied(const std::byte* to, const std::byte* from, size_t bytes) {
  if (WrittenMemory* const written = written_memory(); written != nullptr)
    written->copy(number_of(to), number_of(from), bytes);
}

void move_box(const Location& to, const Location& from, const Box& box) {
  for (size_t z = 0; z < box.depth; ++z) {
    for (size_t y = 0; y < box.height; ++y) {
      note_copied(to.row(y, z), from.row(y, z), box.width);
      std::memmove(to.row(y, z), from.row(y, z), box.width);
    }
  }
}

/// Reads pageable memory before the call returns, because the program may then overwrite it.
cudaError_t enqueue_copy(const Location& to, const Location& from, const Box& box, cudaStream_t stream) {
  if (!is_pageable(from.first))
    return streams().enqueue(stream, {cudaGraphNodeTypeMemcpy, [=] { move_box(to, from, box); }, nullptr});
  if (streams().all_idle()) {
    const StreamTurn turn(stream);
    if (turn.status() == cudaSuccess) move_box(to, from, box);
    return turn.status();
  }
  const auto staged = std::make_shared<std::vector<std::byte>>(box.width * box.height * box.depth);
  const Location middle{staged->data(), box.width, box.width * box.height};
  move_box(middle, from, box);
  return streams().enqueue(
      stream, {cudaGraphNodeTypeMemcpy, [=, kept = staged] { move_box(to, middle, box); }, nullptr});
}

/// Returns devices, other than the stream's, whose memory a copy in the default stream moves: the copy waits
/// for all earlier work of these devices.
std::set<int> devices_to_wait_for(const Location& to, const Location& from, cudaStream_t handle) {
  std::set<int> devices;
  const auto stream = streams().find(handle);
  if (device_count() == 1 || stream == nullptr || !stream->is_legacy || streams().capturing(handle))
    return devices;
  for (const std::byte* const pointer : {to.first, from.first}) {
    const auto found = allocations().find(pointer);
    if (found && found->is_device_only() && found->device != stream->device) devices.insert(found->device);
  }
  return devices;
}

/// Holds the default streams of several devices, acquired in ascending order to avoid deadlock between
/// copies.
class Turns {
 public:
  Turns(std::set<int> devices, int own) {
    for (const int device : devices) streams().wait_for_device(device);
    devices.insert(own);
    for (const int device : devices) {
      const DeviceScope scope(device);
      turns_.push_back(std::make_unique<StreamTurn>(cudaStreamLegacy));
    }
  }
  cudaError_t status() const {
    for (const auto& turn : turns_) {
      if (turn->status() != cudaSuccess) return turn->status();
    }
    return cudaSuccess;
  }

 private:
  std::vector<std::unique_ptr<StreamTurn>> turns_;
};

cudaError_t make_copy(const Location& to, const Location& from, const Box& box, cudaMemcpyKind kind,
                      cudaStream_t stream, Returns returns, bool& is_asynchronous) {
  Side destination = Side::any;
  Side source = Side::any;
  if (const cudaError_t error = sides_of(kind, destination, source); error != cudaSuccess) return error;
  const cudaError_t admitted = streams().admit(stream);
  if (admitted != cudaSuccess) return admitted;
  if (!box.empty()) {
    const auto to_span = span_of(box, to);
    const auto from_span = span_of(box, from);
    if (!to_span || !from_span) return cudaErrorInvalidValue;
    const auto check_sides = [=](Runs runs) {
      const cudaError_t error = check_side(to.first, *to_span, destination, runs);
      return error != cudaSuccess ? error : check_side(from.first, *from_span, source, runs);
    };
    const Runs runs = streams().capturing(stream) ? Runs::in_graph : Runs::now;
    if (const cudaError_t error = check_sides(runs); error != cudaSuccess) return error;
    if (std::set<int> others = devices_to_wait_for(to, from, stream); !others.empty()) {
      const Turns turns(std::move(others), streams().find(stream)->device);
      if (turns.status() == cudaSuccess) move_box(to, from, box);
      return turns.status();
    }
    const bool within_device = is_device_only(to.first) && is_device_only(from.first);
    is_asynchronous =
        within_device || (returns == Returns::at_once && !is_pageable(to.first) && !is_pageable(from.first));
    if ((within_device || returns == Returns::at_once) && runs == Runs::in_graph) {
      // The source is read at each launch of the graph; memory freed by then is not accessed.
      const auto copy = [=] {
        if (check_sides(Runs::now) != cudaSuccess) return set_sticky_error(cudaErrorIllegalAddress);
        move_box(to, from, box);
      };
      return streams().enqueue(stream, {cudaGraphNodeTypeMemcpy, copy, nullptr});
    }
    if (within_device || (returns == Returns::at_once && !is_pageable(to.first)))
      return enqueue_copy(to, from, box, stream);
  } else if (returns == Returns::at_once) {
    return cudaSuccess;
  }
  const StreamTurn turn(stream);
  if (turn.status() == cudaSuccess && !box.empty()) move_box(to, from, box);
  return turn.status();
}

void fill_row(std::byte* row, size_t bytes, const FillValue& value) {
  if (WrittenMemory* const written = written_memory(); written != nullptr)
    written->write(number_of(row), bytes);
  if (value.bytes == 1) {
    std::memset(row, static_cast<int>(value.value), bytes);
    return;
  }
  for (size_t x = 0; x < bytes; x += value.bytes) std::memcpy(row + x, &value.value, value.bytes);
}

}  // namespace

cudaError_t copy_box(const Location& to, const Location& from, const Box& box, cudaMemcpyKind kind,
                     cudaStream_t stream, Returns returns) {
  bool is_asynchronous = false;
  const bool is_captured = streams().capturing(stream);
  const cudaError_t error = make_copy(to, from, box, kind, stream, returns, is_asynchronous);
  const CopyObserver observer = DriverCall::active() ? nullptr : copy_observer.load();
  if (error != cudaSuccess || box.empty() || is_captured || observer == nullptr) return error;
  // For memory that host and device both access, the copy's kind decides; managed memory counts as the
  // device's.
  const auto is_device = [](const Location& location, bool says_host) {
    const auto found = allocations().find(location.first);
    return found && !says_host && found->kind != MemoryKind::registered_host &&
           found->kind != MemoryKind::pinned_host;
  };
  const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
  const bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  observer({box.width * box.height * box.depth, is_device(to, to_host), is_device(from, from_host),
            static_cast<void*>(stream), is_asynchronous});
  return error;
}

cudaError_t fill_box(const Location& to, const Box& box, const FillValue& value, cudaStream_t stream,
                     Returns returns) {
  const cudaError_t admitted = streams().admit(stream);
  if (admitted != cudaSuccess || box.empty()) return admitted;
  const auto span = span_of(box, to);
  if (!span) return cudaErrorInvalidValue;
  const bool is_captured = streams().capturing(stream);
  const Runs runs = is_captured ? Runs::in_graph : Runs::now;
  if (const cudaError_t error = check_side(to.first, *span, Side::device, runs); error != cudaSuccess)
    return error;
  OperationPtr filled;
  const auto fill = [=, bytes = *span] {
    // A graph may outlive its memory.
    if (is_captured && check_side(to.first, bytes, Side::device) != cudaSuccess)
      return set_sticky_error(cudaErrorIllegalAddress);
    for (size_t z = 0; z < box.depth; ++z) {
      for (size_t y = 0; y < box.height; ++y) fill_row(to.row(y, z), box.width, value);
    }
  };
  const cudaError_t error = streams().enqueue(stream, {cudaGraphNodeTypeMemset, fill, nullptr}, &filled);
  // Memory that the host can read must be filled when the call returns.
  if (error != cudaSuccess || filled == nullptr || returns == Returns::at_once || is_device_only(to.first))
    return error;
  streams().wait_for(filled);
  return sticky_error(filled->stream->device);
}

cudaError_t fill_elements_of(const cudaMemsetParams& fill) {
  const bool known = fill.elementSize == 1 || fill.elementSize == 2 || fill.elementSize == 4;
  std::size_t width = 0;
  if (!known || __builtin_mul_overflow(fill.width, fill.elementSize, &width) ||
      (fill.height > 1 && width > fill.pitch)) {
    return cudaErrorInvalidValue;
  }
  const Location to{static_cast<std::byte*>(fill.dst), fill.pitch, 0};
  return fill_box(to, {width, fill.height}, {fill.value, fill.elementSize}, nullptr, Returns::at_once);
}

namespace api {
namespace {

Location location(const void* pointer, size_t pitch = 0) {
  return {const_cast<std::byte*>(static_cast<const std::byte*>(pointer)), pitch, 0};
}

FillValue bytes_of(int value) { return {static_cast<std::uint8_t>(value), 1}; }

cudaError_t copy_linear(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                        Returns returns) {
  return copy_box(location(to), location(from), {bytes}, kind, stream, returns);
}

cudaError_t copy_2d(const Location& to, const Location& from, const Box& box, cudaMemcpyKind kind,
                    cudaStream_t stream, Returns returns) {
  if (box.width > to.pitch || box.width > from.pitch) return cudaErrorInvalidPitchValue;
  return copy_box(to, from, box, kind, stream, returns);
}

cudaError_t locate_3d(const cudaPitchedPtr& pointer, const cudaPos& position, const cudaExtent& extent,
                      Location& location) {
  if (pointer.ptr == nullptr) return cudaErrorInvalidValue;
  const size_t rows = pointer.ysize != 0 ? pointer.ysize : extent.height;
  if (position.x > pointer.pitch || extent.width > pointer.pitch - position.x)
    return cudaErrorInvalidPitchValue;
  size_t slice = 0;
  size_t z = 0;
  size_t y = 0;
  if (__builtin_mul_overflow(pointer.pitch, rows, &slice) || __builtin_mul_overflow(position.z, slice, &z) ||
      __builtin_mul_overflow(position.y, pointer.pitch, &y)) {
    return cudaErrorInvalidValue;
  }
  location = {static_cast<std::byte*>(pointer.ptr) + z + y + position.x, pointer.pitch, slice};
  return cudaSuccess;
}

/// One side of a three-dimensional copy: either an array or a pointer.
struct Side3D {
  cudaArray_t array;
  const cudaPitchedPtr& pointer;
  const cudaPos& position;
  std::shared_ptr<Array> found = nullptr;

  cudaError_t look_up() {
    if (array == nullptr) return cudaSuccess;
    found = arrays().find(array);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    return pointer.ptr == nullptr ? cudaSuccess : cudaErrorInvalidValue;
  }
  std::size_t element_bytes() const { return found != nullptr ? found->shape.format.bytes() : 1; }
  cudaError_t locate(const cudaExtent& bytes, Location& location) const {
    if (found == nullptr) return locate_3d(pointer, position, bytes, location);
    return found->locate(position.x * element_bytes(), position.y, position.z,
                         {bytes.width, bytes.height, bytes.depth}, location);
  }
};

/// If one side is an array, extents are in its elements, otherwise in bytes; positions in memory are always
/// in bytes.
cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, cudaStream_t stream, Returns returns) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  Side3D to{parameters->dstArray, parameters->dstPtr, parameters->dstPos};
  Side3D from{parameters->srcArray, parameters->srcPtr, parameters->srcPos};
  for (Side3D* const side : {&to, &from}) {
    if (const cudaError_t error = side->look_up(); error != cudaSuccess) return error;
  }
  const bool both = to.found != nullptr && from.found != nullptr;
  if (both && to.element_bytes() != from.element_bytes()) return cudaErrorInvalidValue;
  cudaExtent bytes = parameters->extent;
  if (__builtin_mul_overflow(bytes.width, std::max(to.element_bytes(), from.element_bytes()), &bytes.width))
    return cudaErrorInvalidValue;
  Location there;
  Location here;
  if (const cudaError_t error = to.locate(bytes, there); error != cudaSuccess) return error;
  if (const cudaError_t error = from.locate(bytes, here); error != cudaSuccess) return error;
  cudaMemcpyKind kind = parameters->kind;
  if (to.found != nullptr) kind = kind_to_array(kind);
  if (from.found != nullptr) kind = kind_from_array(kind);
  return copy_box(there, here, {bytes.width, bytes.height, bytes.depth}, kind, stream, returns);
}

cudaError_t copy_3d_peer(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream, Returns returns) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (!is_device(parameters->srcDevice) || !is_device(parameters->dstDevice)) return cudaErrorInvalidDevice;
  cudaMemcpy3DParms same{};
  same.srcArray = parameters->srcArray;
  same.srcPos = parameters->srcPos;
  same.srcPtr = parameters->srcPtr;
  same.dstArray = parameters->dstArray;
  same.dstPos = parameters->dstPos;
  same.dstPtr = parameters->dstPtr;
  same.extent = parameters->extent;
  same.kind = cudaMemcpyDeviceToDevice;
  return copy_3d(&same, stream, returns);
}

cudaError_t fill_2d(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                    Returns returns) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  return fill_box(location(pointer, pitch), {width, height}, bytes_of(value), stream, returns);
}

cudaError_t fill_3d(const cudaPitchedPtr& pointer, int value, const cudaExtent& extent, cudaStream_t stream,
                    Returns returns) {
  Location to;
  if (const cudaError_t error = locate_3d(pointer, {}, extent, to); error != cudaSuccess) return error;
  return fill_box(to, {extent.width, extent.height, extent.depth}, bytes_of(value), stream, returns);
}

/// Returns the variable of a symbol, with its storage loaded.
cudaError_t resolve(const void* symbol, Variable*& variable) {
  variable = registry().find_variable(symbol);
  return variable != nullptr ? variable->binary->load(*variable, current_device()) : cudaErrorInvalidSymbol;
}

/// Returns the address `offset` bytes into a symbol's storage, if `bytes` fit there.
cudaError_t resolve(const void* symbol, size_t offset, size_t bytes, void*& address) {
  Variable* variable = nullptr;
  if (const cudaError_t error = resolve(symbol, variable); error != cudaSuccess) return error;
  if (offset > variable->bytes || bytes > variable->bytes - offset) return cudaErrorInvalidValue;
  address = static_cast<std::byte*>(variable->storage_on(current_device())) + offset;
  return cudaSuccess;
}

cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, cudaStream_t stream, Returns returns) {
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  void* address = nullptr;
  if (const cudaError_t error = resolve(symbol, offset, bytes, address); error != cudaSuccess) return error;
  return copy_linear(address, from, bytes, kind, stream, returns);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, Returns returns) {
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  void* address = nullptr;
  if (const cudaError_t error = resolve(symbol, offset, bytes, address); error != cudaSuccess) return error;
  return copy_linear(to, address, bytes, kind, stream, returns);
}

cudaError_t copy_peer(void* to, int to_device, const void* from, int from_device, size_t bytes,
                      cudaStream_t stream, Returns returns) {
  if (!is_device(to_device) || !is_device(from_device)) return cudaErrorInvalidDevice;
  return copy_linear(to, from, bytes, cudaMemcpyDeviceToDevice, stream, returns);
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) {
  return copy_linear(to, from, bytes, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_linear(to, from, bytes, kind, stream, Returns::at_once);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind) {
  return copy_2d(location(to, to_pitch), location(from, from_pitch), {width, height}, kind, nullptr,
                 Returns::when_done);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d(location(to, to_pitch), location(from, from_pitch), {width, height}, kind, stream,
                 Returns::at_once);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* parameters) {
  return copy_3d(parameters, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy_3d(parameters, stream, Returns::at_once);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms* parameters) {
  return copy_3d_peer(parameters, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy_3d_peer(parameters, stream, Returns::at_once);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return copy_peer(to, to_device, from, from_device, bytes, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return copy_peer(to, to_device, from, from_device, bytes, stream, Returns::at_once);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind) {
  return copy_to_symbol(symbol, from, bytes, offset, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_to_symbol(symbol, from, bytes, offset, kind, stream, Returns::at_once);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind) {
  return copy_from_symbol(to, symbol, bytes, offset, kind, nullptr, Returns::when_done);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_from_symbol(to, symbol, bytes, offset, kind, stream, Returns::at_once);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return fill_box(location(pointer), {bytes}, bytes_of(value), nullptr, Returns::when_done);
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return fill_box(location(pointer), {bytes}, bytes_of(value), stream, Returns::at_once);
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return fill_2d(pointer, pitch, value, width, height, nullptr, Returns::when_done);
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return fill_2d(pointer, pitch, value, width, height, stream, Returns::at_once);
}
cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent) {
  return fill_3d(pointer, value, extent, nullptr, Returns::when_done);
}
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream) {
  return fill_3d(pointer, value, extent, stream, Returns::at_once);
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  Variable* variable = nullptr;
  const cudaError_t error = resolve(symbol, variable);
  *pointer = error == cudaSuccess ? variable->storage_on(current_device()) : nullptr;
  return error;
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  Variable* variable = nullptr;
  const cudaError_t error = resolve(symbol, variable);
  if (error == cudaSuccess) *bytes = variable->bytes;
  return error;
}

}  // namespace api
}  // namespace lynxpp::device::cpu
