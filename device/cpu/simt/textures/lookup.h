// Geometries, handles and memory access, shared by texture and surface instructions.
#pragma once

#include <optional>

#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/textures/sampling.h"

namespace lynxpp::device::cpu {

/// A geometry such as `.a2d`: the number of coordinates and their meaning.
struct Geometry {
  unsigned dimensions = 1;  ///< 2 for a cube, although three coordinates address it
  bool is_layered = false;  ///< true if the first coordinate is the layer
  bool is_cube = false;

  /// Number of operands in the coordinate vector, including ignored ones.
  unsigned operands() const;
  /// Index of the first spatial coordinate.
  unsigned first() const { return is_layered ? 1 : 0; }
  unsigned numbers() const { return is_cube ? 3 : dimensions; }
};

/// Consumes the geometry's modifier; nullopt if texture and surface instructions have no such geometry.
std::optional<Geometry> take_texture_geometry(OpcodeWords& words);
std::optional<Geometry> take_gather_geometry(OpcodeWords& words);
std::optional<Geometry> take_surface_geometry(OpcodeWords& words);

/// Returns the object of a lane. Returns null and raises a fault if the handle is not one of that kind.
const ImageObject* object_of(const OperationCall& call, std::uint64_t handle, std::uint32_t lane,
                             bool is_surface);

/// Memory with the access rights of one lane.
class LaneTexels final : public TexelMemory {
 public:
  LaneTexels(const OperationCall& call, std::uint32_t lane) : call_(call), lane_(lane) {}
  const std::byte* texel(std::uint64_t address, unsigned bytes) override {
    return call_.place(0, address, lane_, bytes, 1);
  }

 private:
  const OperationCall& call_;
  const std::uint32_t lane_;
};

// Channel types and orders as txq and suq return them (OpenCL's values).
std::uint32_t channel_type_of(const TexelFormat& format, bool normalizes);
std::uint32_t channel_order_of(const TexelFormat& format);

}  // namespace lynxpp::device::cpu
