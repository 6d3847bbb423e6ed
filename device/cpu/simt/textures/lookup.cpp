#include "device/cpu/simt/textures/lookup.h"

#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/textures/objects.h"

namespace lynxpp::device::cpu {
namespace {

std::optional<Geometry> geometry_of(std::string_view word) {
  if (word.empty()) return std::nullopt;
  const bool is_cube = word.ends_with("cube");
  const auto dimensions = is_cube ? 2u : static_cast<unsigned>(word[word.size() - 2] - '0');
  return Geometry{dimensions, word.starts_with('a'), is_cube};
}

}  // namespace

unsigned Geometry::operands() const {
  const unsigned used = first() + numbers();
  return used == 3 ? 4 : used;
}

std::optional<Geometry> take_texture_geometry(OpcodeWords& words) {
  return geometry_of(words.take_of({"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"}));
}
std::optional<Geometry> take_gather_geometry(OpcodeWords& words) {
  return geometry_of(words.take_of({"2d", "a2d", "cube", "acube"}));
}
std::optional<Geometry> take_surface_geometry(OpcodeWords& words) {
  return geometry_of(words.take_of({"1d", "2d", "3d", "a1d", "a2d"}));
}

const ImageObject* object_of(const OperationCall& call, std::uint64_t handle, std::uint32_t lane,
                             bool is_surface) {
  const ImageObject* const object = image_objects().find(handle);
  if (object != nullptr && object->is_surface == is_surface) return object;
  raise(call.warp, FaultKind::no_object, (*call.sites)[0], handle, lane);
  return nullptr;
}

std::uint32_t channel_type_of(const TexelFormat& format, bool normalizes) {
  switch (format.component) {
    case Component::u8: return normalizes ? 0x10d2 : 0x10da;
    case Component::u16: return normalizes ? 0x10d3 : 0x10db;
    case Component::u32: return 0x10dc;
    case Component::s8: return normalizes ? 0x10d0 : 0x10d7;
    case Component::s16: return normalizes ? 0x10d1 : 0x10d8;
    case Component::s32: return 0x10d9;
    case Component::f16: return 0x10dd;
    case Component::f32: return 0x10de;
  }
  return 0;
}

std::uint32_t channel_order_of(const TexelFormat& format) {
  return format.channels == 1 ? 0x10b0 : format.channels == 2 ? 0x10b2 : 0x10b5;
}

}  // namespace lynxpp::device::cpu
