// suld, sust, sured.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/textures/lookup.h"

namespace lynxpp::device::cpu {
namespace {

constexpr Operation::Address surface_site{ptx::StateSpace::surface, 1};

/// Behavior of an access outside the surface.
enum class Outside { trap, clamp, zero };

bool take_outside(OpcodeWords& words, Outside& outside) {
  const std::string_view word = words.take_of({"trap", "clamp", "zero"});
  outside = word == "clamp" ? Outside::clamp : word == "zero" ? Outside::zero : Outside::trap;
  return !word.empty();
}

/// The access of an instruction in terms of the surface.
struct SurfaceAccess {
  Geometry geometry;
  Outside outside = Outside::trap;
  bool is_formatted = false;  ///< x counts elements, one per access; otherwise bytes
  unsigned bytes = 0;         ///< of one unformatted access

  /// Returns the address of a lane's access; null if there is nothing to access or a fault was raised.
  std::byte* place(const OperationCall& call, const ImageObject& object, std::uint32_t lane) const {
    const ImageLevel& level = object.image.levels[0];
    const std::int64_t element = object.image.format.bytes();
    const std::int64_t size = is_formatted ? element : bytes;
    const std::int64_t row = level.width * element;
    std::array<std::int64_t, 3> at = {};
    const Lanes* next = call.in + 1;
    std::int64_t layer = geometry.is_layered ? static_cast<std::uint32_t>((*next++)[lane]) : 0;
    for (unsigned i = 0; i < geometry.dimensions; ++i) at[i] = static_cast<std::int32_t>(next[i][lane]);
    if (is_formatted) at[0] *= element;
    if (geometry.is_layered) at[2] = layer;
    const std::array<std::int64_t, 3> last = {row - size, std::int64_t{level.height} - 1,
                                              std::int64_t{level.slices} - 1};
    for (unsigned i = 0; i < 3; ++i) {
      if (at[i] >= 0 && at[i] <= last[i]) continue;
      if (outside == Outside::zero) return nullptr;
      if (outside == Outside::trap || last[i] < 0) {
        raise(call.warp, FaultKind::outside_surface, (*call.sites)[0], call.in[0][lane], lane);
        return nullptr;
      }
      at[i] = std::clamp<std::int64_t>(at[i], 0, last[i]);
    }
    const std::uint64_t address = level.address + static_cast<std::uint64_t>(at[2]) * level.slice_bytes +
                                  static_cast<std::uint64_t>(at[1]) * level.row_bytes +
                                  static_cast<std::uint64_t>(at[0]);
    return call.place(
        0, address, lane, static_cast<std::uint64_t>(size),
        static_cast<std::uint64_t>(is_formatted ? object.image.format.component_bytes() : size));
  }

  unsigned first_value() const { return 1 + geometry.operands(); }
};

bool fits(const OperationRequest& request, std::size_t sources) {
  return request.sources.size() == sources && request.sources[0].kind == SourceSlot::Kind::object;
}

/// The values of an access such as `.v2.b16`: their number and size; 0 bytes if unknown.
struct Values {
  unsigned count = 1;
  unsigned bytes = 0;
};

Values take_values(OpcodeWords& words) {
  Values values;
  if (const std::string_view vector = words.take_of({"v2", "v4"}); !vector.empty())
    values.count = static_cast<unsigned>(vector[1] - '0');
  const std::string_view type = words.take_of({"b8", "b16", "b32", "b64"});
  values.bytes = type == "b8" ? 1 : type == "b16" ? 2 : type == "b32" ? 4 : type == "b64" ? 8 : 0;
  return values;
}

/// Largest access of one lane.
constexpr unsigned most_bytes = 16;
constexpr const char* too_wide = "more than 128 bits";

}  // namespace

/// suld.b.geometry{.cache}{.vector}.type.clamp d, [handle, {…}]
Result<Operation> make_surface_load(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("b")) return refuse(request);
  const auto geometry = take_surface_geometry(words);
  if (!geometry) return refuse(request);
  words.take_of({"ca", "cg", "cs", "cv"});
  const Values values = take_values(words);
  SurfaceAccess access{.geometry = *geometry, .bytes = values.count * values.bytes};
  if (access.bytes > most_bytes) return failure(too_wide);
  if (access.bytes == 0 || !take_outside(words, access.outside)) return refuse(request);
  if (!fits(request, access.first_value()) || request.results != values.count)
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, true);
      const std::byte* const from = object != nullptr ? access.place(call, *object, lane) : nullptr;
      for (unsigned i = 0; i < values.count; ++i) {
        std::uint64_t value = 0;
        if (from != nullptr) std::memcpy(&value, from + std::size_t{i} * values.bytes, values.bytes);
        call.out[i][lane] = value;
      }
    });
  };
  return Operation{.run = run, .addresses = {surface_site}};
}

namespace {

/// sust.p.geometry{.vector}.type.clamp [handle, {…}], c: the surface's format determines the values.
Result<Operation> make_formatted_store(OperationRequest& request, SurfaceAccess access) {
  OpcodeWords& words = request.words;
  access.is_formatted = true;
  Values values;
  if (const std::string_view vector = words.take_of({"v2", "v4"}); !vector.empty())
    values.count = static_cast<unsigned>(vector[1] - '0');
  if (words.take_of({"b32", "u32", "s32", "f32"}).empty() || !take_outside(words, access.outside))
    return refuse(request);
  if (!fits(request, access.first_value() + values.count) || request.results != 0)
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, true);
      std::byte* const to = object != nullptr ? access.place(call, *object, lane) : nullptr;
      if (to == nullptr) return;
      TexelBits bits = {};
      for (unsigned i = 0; i < values.count; ++i)
        bits[i] = static_cast<std::uint32_t>(call.in[access.first_value() + i][lane]);
      encode_texel(to, object->image.format, bits, values.count);
    });
  };
  return Operation{.run = run, .addresses = {surface_site}};
}

}  // namespace

/// sust.b.geometry{.cache}{.vector}.type.clamp [handle, {…}], c
Result<Operation> make_surface_store(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const bool is_formatted = words.take("p");
  if (!is_formatted && !words.take("b")) return refuse(request);
  const auto geometry = take_surface_geometry(words);
  if (!geometry) return refuse(request);
  words.take_of({"wb", "cg", "cs", "wt"});
  SurfaceAccess access{.geometry = *geometry};
  if (is_formatted) return make_formatted_store(request, access);
  const Values values = take_values(words);
  access.bytes = values.count * values.bytes;
  if (access.bytes > most_bytes) return failure(too_wide);
  if (access.bytes == 0 || !take_outside(words, access.outside)) return refuse(request);
  if (!fits(request, access.first_value() + values.count) || request.results != 0)
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, true);
      std::byte* const to = object != nullptr ? access.place(call, *object, lane) : nullptr;
      if (to == nullptr) return;
      for (unsigned i = 0; i < values.count; ++i)
        std::memcpy(to + std::size_t{i} * values.bytes, &call.in[access.first_value() + i][lane],
                    values.bytes);
    });
  };
  return Operation{.run = run, .addresses = {surface_site}};
}

namespace {

enum class Reduction { add, min, max, both, either };

template <typename T>
T reduced(Reduction reduction, T old, T value) {
  switch (reduction) {
    case Reduction::add: return static_cast<T>(old + value);
    case Reduction::min: return std::min(old, value);
    case Reduction::max: return std::max(old, value);
    case Reduction::both: return old & value;
    case Reduction::either: return old | value;
  }
  return old;
}

template <typename T>
void reduce(std::byte* place, Reduction reduction, std::uint64_t value) {
  // Unsigned addition matches two's complement and cannot overflow.
  using Unsigned = std::make_unsigned_t<T>;
  auto& word = *reinterpret_cast<T*>(place);
  const std::atomic_ref<T> target(word);
  T old = target.load(std::memory_order_relaxed);
  T next = old;
  do {
    next = reduction == Reduction::add
               ? static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value))
               : reduced(reduction, old, static_cast<T>(value));
  } while (!target.compare_exchange_weak(old, next));
}

void reduce_word(std::byte* place, Reduction reduction, std::uint64_t value, unsigned bytes, bool is_signed) {
  if (bytes == 4) {
    if (is_signed) return reduce<std::int32_t>(place, reduction, value);
    return reduce<std::uint32_t>(place, reduction, value);
  }
  if (is_signed) return reduce<std::int64_t>(place, reduction, value);
  reduce<std::uint64_t>(place, reduction, value);
}

bool take_reduction(OpcodeWords& words, Reduction& reduction) {
  static constexpr std::pair<std::string_view, Reduction> names[] = {{"add", Reduction::add},
                                                                     {"min", Reduction::min},
                                                                     {"max", Reduction::max},
                                                                     {"and", Reduction::both},
                                                                     {"or", Reduction::either}};
  for (const auto& [name, each] : names) {
    if (!words.take(name)) continue;
    reduction = each;
    return true;
  }
  return false;
}

/// True if the ISA has the operation on that type.
bool is_reduction(Reduction reduction, std::string_view type, bool is_formatted) {
  const bool is_logic = reduction == Reduction::both || reduction == Reduction::either;
  if (is_formatted) {
    if (type == "b64") return reduction == Reduction::min || reduction == Reduction::max;
    return type == "b32";
  }
  if (is_logic) return type == "b32";
  if (reduction == Reduction::add) return type == "u32" || type == "u64" || type == "s32";
  return type == "u32" || type == "s32" || type == "u64" || type == "s64";
}

}  // namespace

/// sured.b.operation.geometry.type.clamp [handle, {…}], c; with .p the surface's format determines the sign.
Result<Operation> make_surface_reduction(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const bool is_formatted = words.take("p");
  Reduction reduction = Reduction::add;
  if ((!is_formatted && !words.take("b")) || !take_reduction(words, reduction)) return refuse(request);
  const auto geometry = take_surface_geometry(words);
  if (!geometry) return refuse(request);
  const std::string_view type = words.take_of({"u32", "s32", "b32", "u64", "s64", "b64"});
  if (type.empty()) return refuse(request);
  if (!is_reduction(reduction, type, is_formatted))
    return failure("the operation does not exist for '." + std::string(type) + "'");
  const unsigned bytes = type.ends_with("64") ? 8 : 4;
  SurfaceAccess access{.geometry = *geometry, .is_formatted = is_formatted, .bytes = bytes};
  if (!take_outside(words, access.outside)) return refuse(request);
  if (!fits(request, access.first_value() + 1) || request.results != 0) return failure("malformed operands");
  const bool says_signed = type[0] == 's';
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, true);
      if (object == nullptr) return;
      const TexelFormat& format = object->image.format;
      // A reduction of elements smaller than the operand would reach into the following elements.
      if (is_formatted && format.bytes() != bytes)
        return raise(call.warp, FaultKind::outside_surface, (*call.sites)[0], call.in[0][lane], lane);
      std::byte* const place = access.place(call, *object, lane);
      if (place == nullptr) return;
      reduce_word(place, reduction, call.in[access.first_value()][lane], bytes,
                  is_formatted ? format.is_signed() : says_signed);
    });
  };
  return Operation{.run = run, .addresses = {surface_site}};
}

}  // namespace lynxpp::device::cpu
