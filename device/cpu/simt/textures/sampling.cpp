#include "device/cpu/simt/textures/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace lynxpp::device::cpu {
namespace {

/// Weights of linear filters are multiples of 1 / `steps`.
constexpr double steps = 256;

double rounded_to_steps(double value) { return std::floor(value * steps + 0.5) / steps; }

/// The elements to read along one dimension, and the weight of the second one.
struct Span {
  std::array<std::int64_t, 2> element = {};
  double weight = 0;
};

std::int64_t modulo(std::int64_t value, std::int64_t size) {
  const std::int64_t rest = value % size;
  return rest < 0 ? rest + size : rest;
}

/// Returns the element to read for one that may be outside the image; nullopt for the border color.
std::optional<std::uint32_t> resolve(AddressMode mode, std::int64_t element, std::uint32_t size) {
  const std::int64_t end = size;
  if (element >= 0 && element < end) return static_cast<std::uint32_t>(element);
  switch (mode) {
    case AddressMode::wrap: return static_cast<std::uint32_t>(modulo(element, end));
    case AddressMode::mirror: {
      const std::int64_t place = modulo(element, 2 * end);
      return static_cast<std::uint32_t>(place < end ? place : 2 * end - 1 - place);
    }
    case AddressMode::clamp: return element < 0 ? 0 : size - 1;
    case AddressMode::border: break;
  }
  return std::nullopt;
}

/// Converts a coordinate to elements. A value far outside stays outside, in the same period of a repeating
/// mode.
double place_of(float coordinate, const Sampler& sampler, unsigned dimension, std::uint32_t size) {
  constexpr double far_away = 1 << 28;
  if (std::isnan(coordinate)) return 0;
  if (!sampler.is_normalized) return std::clamp<double>(coordinate, -far_away, far_away);
  double share = coordinate;
  const AddressMode mode = sampler.modes[dimension];
  if (mode == AddressMode::wrap) share -= std::floor(share);
  if (mode == AddressMode::mirror) share -= 2 * std::floor(share / 2);
  return std::isnan(share) ? 0 : std::clamp(share * size, -far_away, far_away);
}

Span span_of(const Coordinates& coordinates, const Sampler& sampler, unsigned dimension, std::uint32_t size,
             bool is_linear) {
  const std::int64_t offset = coordinates.offset[dimension];
  if (coordinates.are_integers) return {{coordinates.element[dimension] + offset, 0}, 0};
  const double place = place_of(coordinates.at[dimension], sampler, dimension, size);
  if (!is_linear) return {{static_cast<std::int64_t>(std::floor(place)) + offset, 0}, 0};
  const double from = rounded_to_steps(place - 0.5);
  const double first = std::floor(from);
  const std::int64_t element = static_cast<std::int64_t>(first) + offset;
  return {{element, element + 1}, from - first};
}

// ---------------------------------------------------------------- cubes

/// A point on one face of a cube; both coordinates range from -1 to 1.
struct CubePoint {
  std::uint32_t face = 0;
  double s = 0;
  double t = 0;
};

/// Selects the face of the largest component; of equal components z wins over y, and y over x.
CubePoint cube_point(double x, double y, double z) {
  const double ax = std::fabs(x);
  const double ay = std::fabs(y);
  const double az = std::fabs(z);
  const auto scaled = [](std::uint32_t face, double s, double t, double m) -> CubePoint {
    return m > 0 ? CubePoint{face, s / m, t / m} : CubePoint{face, 0, 0};
  };
  if (az >= ax && az >= ay) return z < 0 ? scaled(5, -x, -y, az) : scaled(4, x, -y, az);
  if (ay >= ax) return y < 0 ? scaled(3, x, -z, ay) : scaled(2, x, z, ay);
  return x < 0 ? scaled(1, z, -y, ax) : scaled(0, -z, -y, ax);
}

/// Inverts cube_point(): returns the direction of a point on a face.
std::array<double, 3> direction_of(const CubePoint& point) {
  switch (point.face) {
    case 0: return {1, -point.t, -point.s};
    case 1: return {-1, -point.t, point.s};
    case 2: return {point.s, 1, point.t};
    case 3: return {point.s, -1, -point.t};
    case 4: return {point.s, -point.t, 1};
    default: return {-point.s, -point.t, -1};
  }
}

// ---------------------------------------------------------------- one level

/// Fetches from one level. Cube coordinates must have been mapped to a face.
class LevelFetch {
 public:
  LevelFetch(const ImageObject& object, const ImageLevel& level, const Coordinates& coordinates,
             TexelMemory& memory)
      : object_(object), level_(level), sampler_(object.sampler), coordinates_(coordinates), memory_(memory) {
    const std::uint32_t layer = std::min(coordinates.layer, object.image.layers() - 1);
    first_slice_ = layer * object.image.slices_of_layer();
    if (coordinates.is_cube) find_face();
    // Coordinates in elements neither wrap nor mirror.
    for (AddressMode& mode : sampler_.modes) {
      const bool repeats = mode == AddressMode::wrap || mode == AddressMode::mirror;
      if (repeats && (!sampler_.is_normalized || coordinates.are_integers)) mode = AddressMode::clamp;
    }
  }

  /// Adds the elements, multiplied by `share` and their weights, to four sums.
  void add_weighted(double share, std::array<double, 4>& sums) {
    const unsigned dimensions = coordinates_.dimensions;
    std::array<Span, 3> spans;
    for (unsigned i = 0; i < dimensions; ++i) spans[i] = span_of(coordinates_, sampler_, i, size_of(i), true);
    for (unsigned corner = 0; corner < 1u << dimensions; ++corner) {
      double weight = share;
      std::array<std::int64_t, 3> element = {};
      for (unsigned i = 0; i < dimensions; ++i) {
        const unsigned second = corner >> i & 1;
        element[i] = spans[i].element[second];
        weight *= second != 0 ? spans[i].weight : 1 - spans[i].weight;
      }
      // An element without weight is not read, because it may be infinite.
      if (weight == 0) continue;
      const TexelBits bits = read(element);
      for (unsigned channel = 0; channel < 4; ++channel)
        sums[channel] += weight * std::bit_cast<float>(bits[channel]);
    }
  }

  TexelBits nearest() {
    std::array<std::int64_t, 3> element = {};
    for (unsigned i = 0; i < coordinates_.dimensions; ++i)
      element[i] = span_of(coordinates_, sampler_, i, size_of(i), false).element[0];
    return read(element);
  }

  TexelBits corners(unsigned channel) {
    const Span x = span_of(coordinates_, sampler_, 0, level_.width, true);
    const Span y = span_of(coordinates_, sampler_, 1, level_.height, true);
    const auto at = [&](unsigned right, unsigned down) {
      return read({x.element[right], y.element[down], 0})[channel];
    };
    return {at(0, 1), at(1, 1), at(1, 0), at(0, 0)};
  }

 private:
  std::uint32_t size_of(unsigned dimension) const {
    return dimension == 0 ? level_.width : dimension == 1 ? level_.height : level_.slices;
  }

  void find_face() {
    const CubePoint point = cube_point(coordinates_.at[0], coordinates_.at[1], coordinates_.at[2]);
    face_ = point.face;
    coordinates_.dimensions = 2;
    coordinates_.at = {static_cast<float>((point.s + 1) / 2), static_cast<float>((point.t + 1) / 2), 0};
    sampler_.is_normalized = true;
    if (sampler_.is_seamless) sampler_.modes.fill(AddressMode::clamp);
  }

  TexelBits border() const {
    const TexelFormat& format = object_.image.format;
    TexelBits bits = {0, 0, 0,
                      sampler_.reading.yields_floats(format) ? std::bit_cast<std::uint32_t>(1.0f) : 1u};
    std::copy_n(sampler_.border.begin(), format.channels, bits.begin());
    return bits;
  }

  /// Beyond an edge of a face, selects the nearest element of the adjacent face; beyond a corner, that of one
  /// adjacent face.
  void cross_edge(std::array<std::int64_t, 3>& element, std::uint32_t& face) const {
    const auto is_inside = [&](unsigned i) { return element[i] >= 0 && element[i] < size_of(i); };
    if (!coordinates_.is_cube || !sampler_.is_seamless || (is_inside(0) && is_inside(1))) return;
    const double size = level_.width;
    const auto middle = [size](std::int64_t at) { return (2 * static_cast<double>(at) + 1) / size - 1; };
    const std::array<double, 3> direction = direction_of({face_, middle(element[0]), middle(element[1])});
    const CubePoint other = cube_point(direction[0], direction[1], direction[2]);
    face = other.face;
    element[0] = static_cast<std::int64_t>(std::floor((other.s + 1) / 2 * size));
    element[1] = static_cast<std::int64_t>(std::floor((other.t + 1) / 2 * size));
  }

  TexelBits read(std::array<std::int64_t, 3> element) {
    const Image& image = object_.image;
    std::uint32_t face = face_;
    cross_edge(element, face);
    if (image.shape == ImageShape::linear && (element[0] < 0 || element[0] >= level_.width)) return {};
    std::array<std::uint32_t, 3> at = {};
    for (unsigned i = 0; i < coordinates_.dimensions; ++i) {
      const auto found = resolve(sampler_.modes[i], element[i], size_of(i));
      if (!found) return border();
      at[i] = *found;
    }
    const std::uint32_t slice = std::min(at[2] + first_slice_ + face, level_.slices - 1);
    const std::uint64_t address = level_.address + slice * level_.slice_bytes + at[1] * level_.row_bytes +
                                  std::uint64_t{at[0]} * image.format.bytes();
    const std::byte* const texel = memory_.texel(address, image.format.bytes());
    return texel != nullptr ? decode_texel(texel, image.format, sampler_.reading) : TexelBits{};
  }

  const ImageObject& object_;
  const ImageLevel& level_;
  Sampler sampler_;
  Coordinates coordinates_;
  TexelMemory& memory_;
  std::uint32_t first_slice_ = 0;
  std::uint32_t face_ = 0;
};

TexelBits rounded(const std::array<double, 4>& sums) {
  TexelBits bits;
  for (unsigned channel = 0; channel < 4; ++channel)
    bits[channel] = std::bit_cast<std::uint32_t>(static_cast<float>(sums[channel]));
  return bits;
}

bool filters(const ImageObject& object, const Coordinates& coordinates) {
  return object.sampler.is_linear && !coordinates.are_integers && object.image.shape != ImageShape::linear &&
         object.sampler.reading.yields_floats(object.image.format);
}

}  // namespace

float level_of(const ImageObject& object, const Coordinates& coordinates, const Gradients& gradients) {
  const ImageLevel& base = object.image.levels[0];
  const std::array<std::uint32_t, 3> sizes = {base.width, base.height, base.slices};
  const auto length = [&](const std::array<float, 3>& change) {
    double squares = 0;
    for (unsigned i = 0; i < coordinates.dimensions; ++i) {
      const double elements =
          change[i] * (object.sampler.is_normalized ? static_cast<double>(sizes[i]) : 1.0);
      squares += elements * elements;
    }
    return std::sqrt(squares);
  };
  // On the face, s / m changes by (ds m - s dm) / m², and a face is two units wide.
  const auto length_on_face = [&](const std::array<float, 3>& change) {
    const std::array<float, 3>& at = coordinates.at;
    const double m = std::max({std::fabs(at[0]), std::fabs(at[1]), std::fabs(at[2])});
    const CubePoint from = cube_point(at[0], at[1], at[2]);
    const std::array<double, 3> axis = direction_of({from.face, 0, 0});
    double along = 0;
    for (unsigned i = 0; i < 3; ++i) along += axis[i] * change[i];
    double squares = 0;
    for (unsigned i = 0; i < 3; ++i) {
      if (axis[i] != 0) continue;
      const double elements = (change[i] * m - at[i] * along) / (m * m) / 2 * base.width;
      squares += elements * elements;
    }
    return std::sqrt(squares);
  };
  const double longest = coordinates.is_cube
                             ? std::max(length_on_face(gradients.across), length_on_face(gradients.down))
                             : std::max(length(gradients.across), length(gradients.down));
  return static_cast<float>(std::log2(longest));
}

TexelBits sample_base(const ImageObject& object, const Coordinates& coordinates, TexelMemory& memory) {
  LevelFetch fetch(object, object.image.levels[0], coordinates, memory);
  if (!filters(object, coordinates)) return fetch.nearest();
  std::array<double, 4> sums = {};
  fetch.add_weighted(1, sums);
  return rounded(sums);
}

TexelBits sample_level(const ImageObject& object, const Coordinates& coordinates, float level,
                       TexelMemory& memory) {
  const Sampler& sampler = object.sampler;
  const std::vector<ImageLevel>& levels = object.image.levels;
  // Not std::clamp: the program may pass reversed limits or NaN.
  double wanted = double{level} + sampler.level_bias;
  wanted = std::fmin(std::fmax(wanted, sampler.least_level), sampler.greatest_level);
  wanted = std::fmin(std::fmax(wanted, 0.0), static_cast<double>(levels.size() - 1));
  if (!sampler.levels_are_linear || !sampler.reading.yields_floats(object.image.format)) {
    const auto nearest = static_cast<std::size_t>(std::floor(wanted + 0.5));
    LevelFetch fetch(object, levels[std::min(nearest, levels.size() - 1)], coordinates, memory);
    if (!filters(object, coordinates)) return fetch.nearest();
    std::array<double, 4> sums = {};
    fetch.add_weighted(1, sums);
    return rounded(sums);
  }
  const double place = rounded_to_steps(wanted);
  const auto first = static_cast<std::size_t>(std::floor(place));
  const double weight = place - static_cast<double>(first);
  std::array<double, 4> sums = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const double share = i == 0 ? 1 - weight : weight;
    if (share == 0) continue;
    LevelFetch fetch(object, levels[first + i], coordinates, memory);
    if (filters(object, coordinates)) {
      fetch.add_weighted(share, sums);
      continue;
    }
    const TexelBits bits = fetch.nearest();
    for (unsigned channel = 0; channel < 4; ++channel)
      sums[channel] += share * std::bit_cast<float>(bits[channel]);
  }
  return rounded(sums);
}

TexelBits gather(const ImageObject& object, const Coordinates& coordinates, unsigned channel,
                 TexelMemory& memory) {
  return LevelFetch(object, object.image.levels[0], coordinates, memory).corners(channel);
}

}  // namespace lynxpp::device::cpu
