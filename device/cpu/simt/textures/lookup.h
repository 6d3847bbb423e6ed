// What the instructions on textures and surfaces have in common: geometries, handles, memory.
#pragma once

#include <optional>

#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/textures/sampling.h"

namespace lynxpp::device::cpu {

/// `.a2d`: how many coordinates there are, and what they mean.
struct Geometry {
  unsigned dimensions = 1;  ///< of a cube 2, though three numbers give a place on it
  bool is_layered = false;  ///< the first coordinate is the layer
  bool is_cube = false;

  /// In the vector of coordinates, with those that are ignored.
  unsigned operands() const;
  /// Where the coordinates begin.
  unsigned first() const { return is_layered ? 1 : 0; }
  unsigned numbers() const { return is_cube ? 3 : dimensions; }
};

/// Takes the geometry's word; nothing when it is none of those that such instructions have.
std::optional<Geometry> take_texture_geometry(OpcodeWords& words);
std::optional<Geometry> take_gather_geometry(OpcodeWords& words);
std::optional<Geometry> take_surface_geometry(OpcodeWords& words);

/// The object of a lane; null, and a fault, when its handle is none of that kind.
const ImageObject* object_of(const OperationCall& call, std::uint64_t handle, std::uint32_t lane,
                             bool is_surface);

/// Memory as a lane may read it.
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

// The numbers that txq and suq give for channels (OpenCL's).
std::uint32_t channel_type_of(const TexelFormat& format, bool normalizes);
std::uint32_t channel_order_of(const TexelFormat& format);

}  // namespace lynxpp::device::cpu
