// tex, tld4, txq, istypep.
#include <algorithm>
#include <bit>

#include "device/cpu/simt/lanes/half.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/textures/lookup.h"
#include "device/cpu/simt/textures/objects.h"

namespace lynxpp::device::cpu {
namespace {

constexpr Operation::Address texture_site{ptx::StateSpace::texture, 1};

enum class LevelChoice { base, number, gradients };

/// Positions of a fetch's operands among its sources. Source 0 is the handle.
struct FetchOperands {
  Geometry geometry;
  LevelChoice choice = LevelChoice::base;
  bool are_integers = false;
  unsigned level = 0;     ///< first source that selects the level
  unsigned offset = 0;    ///< first offset; 0 if there are no offsets
  unsigned gradient = 0;  ///< elements of one gradient

  Coordinates coordinates(const OperationCall& call, std::uint32_t lane) const {
    Coordinates made;
    made.dimensions = geometry.numbers();
    made.is_cube = geometry.is_cube;
    made.are_integers = are_integers;
    const Lanes* next = call.in + 1;
    if (geometry.is_layered) made.layer = static_cast<std::uint32_t>((*next++)[lane]);
    for (unsigned i = 0; i < geometry.numbers(); ++i) {
      const auto bits = static_cast<std::uint32_t>(next[i][lane]);
      if (are_integers) {
        made.element[i] = static_cast<std::int32_t>(bits);
      } else {
        made.at[i] = std::bit_cast<float>(bits);
      }
    }
    if (offset == 0) return made;
    for (unsigned i = 0; i < geometry.dimensions; ++i) made.offset[i] = number(call, offset + i, lane);
    return made;
  }

  Gradients gradients(const OperationCall& call, std::uint32_t lane) const {
    Gradients made;
    for (unsigned i = 0; i < geometry.numbers(); ++i) {
      made.across[i] = real(call, level + i, lane);
      made.down[i] = real(call, level + gradient + i, lane);
    }
    return made;
  }

  float level_number(const OperationCall& call, std::uint32_t lane) const {
    return are_integers ? static_cast<float>(number(call, level, lane)) : real(call, level, lane);
  }

 private:
  static std::int32_t number(const OperationCall& call, unsigned source, std::uint32_t lane) {
    return static_cast<std::int32_t>(call.in[source][lane]);
  }
  static float real(const OperationCall& call, unsigned source, std::uint32_t lane) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(call.in[source][lane]));
  }
};

/// Finds the operands after the coordinates: level or gradients, then an offset.
bool find_operands(const OperationRequest& request, FetchOperands& operands, std::string& problem) {
  const Geometry& geometry = operands.geometry;
  const std::size_t sources = request.sources.size();
  operands.level = 1 + geometry.operands();
  std::size_t next = operands.level;
  // A gradient or offset has one element per coordinate, not counting the layer; three are padded to four.
  const unsigned width = geometry.numbers() == 3 ? 4 : geometry.numbers();
  operands.gradient = width;
  if (operands.choice == LevelChoice::number) next += 1;
  if (operands.choice == LevelChoice::gradients) next += std::size_t{2} * width;
  if (sources == next) return true;
  if (!geometry.is_cube && sources == next + width) {
    operands.offset = static_cast<unsigned>(next);
    return true;
  }
  const bool has_offset = !geometry.is_cube && sources == next + width + 1;
  problem = sources == next + 1 || has_offset ? "depth comparisons: CUDA does not specify the comparison"
                                              : "malformed operands";
  return false;
}

/// The form of the result registers.
struct ResultForm {
  enum class Kind { bits, halves, half_pairs } kind = Kind::bits;

  void write(const TexelBits& bits, Lanes* out, std::uint32_t lane) const {
    if (kind == Kind::bits) {
      for (unsigned i = 0; i < 4; ++i) out[i][lane] = bits[i];
      return;
    }
    const auto half = [&](unsigned i) -> std::uint64_t {
      return double_to_half(std::bit_cast<float>(bits[i]), binary16, HalfRounding::nearest_even);
    };
    if (kind == Kind::halves) {
      for (unsigned i = 0; i < 4; ++i) out[i][lane] = half(i);
    } else {
      for (unsigned i = 0; i < 2; ++i) out[i][lane] = half(2 * i) | half(2 * i + 1) << 16;
    }
  }
  unsigned registers() const { return kind == Kind::half_pairs ? 2 : 4; }
};

/// Consumes `.v4.dtype` or `.v2.f16x2`.
bool take_result_form(OpcodeWords& words, ResultForm& form) {
  if (words.take("v2")) {
    form.kind = ResultForm::Kind::half_pairs;
    return words.take("f16x2");
  }
  if (!words.take("v4")) return false;
  if (words.take("f16")) form.kind = ResultForm::Kind::halves;
  return form.kind == ResultForm::Kind::halves || !words.take_of({"u32", "s32", "f32"}).empty();
}

/// Checks the results. `has_residency`: the second result says that the data are resident, which is always
/// true.
bool take_results(const OperationRequest& request, const ResultForm& form, bool& has_residency) {
  has_residency = request.results == form.registers() + 1;
  return has_residency || request.results == form.registers();
}

template <typename Fetch>
Operation fetching(const FetchOperands& operands, const ResultForm& form, bool has_residency, Fetch fetch) {
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, false);
      LaneTexels memory(call, lane);
      const TexelBits bits = object != nullptr
                                 ? fetch(*object, operands.coordinates(call, lane), call, lane, memory)
                                 : TexelBits{};
      form.write(bits, call.out, lane);
      if (has_residency) call.out[form.registers()][lane] = 1;
    });
  };
  return Operation{.run = run, .addresses = {texture_site}};
}

bool begins_with_object(const OperationRequest& request) {
  return !request.sources.empty() && request.sources[0].kind == SourceSlot::Kind::object;
}

}  // namespace

/// tex{.base,.level,.grad}.geometry.v4.type.coordinates {…}{|p}, [handle, {…}]{, level or gradients}
/// {, offset}
Result<Operation> make_texture_fetch(OperationRequest& request) {
  OpcodeWords& words = request.words;
  FetchOperands operands;
  if (words.take("level")) {
    operands.choice = LevelChoice::number;
  } else if (words.take("grad")) {
    operands.choice = LevelChoice::gradients;
  } else {
    words.take("base");
  }
  const auto geometry = take_texture_geometry(words);
  ResultForm form;
  if (!geometry || !take_result_form(words, form)) return refuse(request);
  operands.geometry = *geometry;
  operands.are_integers = words.take("s32");
  if ((!operands.are_integers && !words.take("f32")) || !words.front().empty()) return refuse(request);
  bool has_residency = false;
  if (!begins_with_object(request) || !take_results(request, form, has_residency) ||
      (operands.are_integers && geometry->is_cube))
    return failure("malformed operands");
  if (std::string problem; !find_operands(request, operands, problem)) return failure(problem);
  return fetching(operands, form, has_residency,
                  [operands](const ImageObject& object, const Coordinates& coordinates,
                             const OperationCall& call, std::uint32_t lane, TexelMemory& memory) {
                    if (operands.choice == LevelChoice::base) return sample_base(object, coordinates, memory);
                    const float level = operands.choice == LevelChoice::number
                                            ? operands.level_number(call, lane)
                                            : level_of(object, coordinates, operands.gradients(call, lane));
                    return sample_level(object, coordinates, level, memory);
                  });
}

/// tld4.component.geometry.v4.type.f32 {…}{|p}, [handle, {…}]{, offset}
Result<Operation> make_texture_gather(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const std::string_view component = words.take_of({"r", "g", "b", "a"});
  const auto geometry = take_gather_geometry(words);
  ResultForm form;
  if (component.empty() || !geometry || !take_result_form(words, form) ||
      form.kind != ResultForm::Kind::bits || !words.take("f32") || !words.front().empty())
    return refuse(request);
  FetchOperands operands{.geometry = *geometry};
  bool has_residency = false;
  if (!begins_with_object(request) || !take_results(request, form, has_residency))
    return failure("malformed operands");
  if (std::string problem; !find_operands(request, operands, problem)) return failure(problem);
  const auto channel = static_cast<unsigned>(std::string_view("rgba").find(component));
  return fetching(
      operands, form, has_residency,
      [channel](const ImageObject& object, const Coordinates& coordinates, const OperationCall&,
                std::uint32_t, TexelMemory& memory) { return gather(object, coordinates, channel, memory); });
}

namespace {

std::uint32_t size_of(const Image& image, std::string_view query, std::size_t level) {
  const ImageLevel& at = image.levels[std::min(level, image.levels.size() - 1)];
  if (query == "width") return at.width;
  if (query == "height")
    return image.shape == ImageShape::plane || image.shape == ImageShape::volume ? at.height : 0;
  return image.shape == ImageShape::volume ? at.slices : 0;
}

std::uint32_t answer(const ImageObject& object, std::string_view query, std::size_t level) {
  const Image& image = object.image;
  const Sampler& sampler = object.sampler;
  if (query == "width" || query == "height" || query == "depth") return size_of(image, query, level);
  if (query == "channel_data_type") return channel_type_of(image.format, sampler.reading.normalizes);
  if (query == "channel_order") return channel_order_of(image.format);
  if (query == "array_size") return image.is_layered ? image.layers() : 0;
  if (query == "normalized_coords") return sampler.is_normalized ? 1 : 0;
  if (query == "num_mipmap_levels") return static_cast<std::uint32_t>(image.levels.size());
  if (query == "num_samples") return 1;
  return 0;  // memory_layout: linear
}

Result<Operation> make_query(OperationRequest& request, std::string_view query, bool is_surface,
                             bool has_level) {
  if (!request.words.take("b32") || query.empty()) return refuse(request);
  if (!begins_with_object(request) || request.results != 1 || request.sources.size() != (has_level ? 2u : 1u))
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = object_of(call, call.in[0][lane], lane, is_surface);
      const std::uint64_t level = has_level ? call.in[1][lane] & 0xffff'ffff : 0;
      call.out[0][lane] = object != nullptr ? answer(*object, query, level) : 0;
    });
  };
  return Operation{.run = run, .addresses = {texture_site}};
}

}  // namespace

/// txq.query.b32 d, [handle]; txq.level.query.b32 d, [handle], level. Sampler queries are rejected: the ISA
/// does not specify their encodings.
Result<Operation> make_texture_query(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const bool has_level = words.take("level");
  const std::string_view query =
      has_level ? words.take_of({"width", "height", "depth"})
                : words.take_of({"width", "height", "depth", "channel_data_type", "channel_order",
                                 "array_size", "normalized_coords", "num_mipmap_levels", "num_samples"});
  return make_query(request, query, false, has_level);
}

/// suq.query.b32 d, [handle]
Result<Operation> make_surface_query(OperationRequest& request) {
  const std::string_view query = request.words.take_of(
      {"width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout"});
  return make_query(request, query, true, false);
}

/// istypep.type p, handle
Result<Operation> make_type_test(OperationRequest& request) {
  const std::string_view type = request.words.take_of({"texref", "surfref", "samplerref"});
  if (type.empty()) return refuse(request);
  if (request.results != 1 || request.sources.size() != 1) return failure("malformed operands");
  // Samplers have no handles of their own.
  const bool exists = type != "samplerref";
  const bool is_surface = type == "surfref";
  return Operation{.run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const ImageObject* const object = image_objects().find(call.in[0][lane]);
      call.out[0][lane] = exists && object != nullptr && object->is_surface == is_surface ? 1 : 0;
    });
  }};
}

}  // namespace lynxpp::device::cpu
