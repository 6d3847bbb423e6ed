// Video instructions: scalar ones on selected bytes and halves, and SIMD ones on two or four elements.
#include <algorithm>
#include <cstdlib>

#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

/// A bit field of one operand, starting at bit `position`.
struct Field {
  unsigned position = 0;
  unsigned bits = 32;

  std::int64_t get(std::uint64_t word, bool sign) const {
    const std::uint64_t value = word >> position & ((std::uint64_t{1} << bits) - 1);
    if (!sign || (value >> (bits - 1)) == 0) return static_cast<std::int64_t>(value);
    return static_cast<std::int64_t>(value) - (std::int64_t{1} << bits);
  }
};

/// Parses "b3" or "h1"; an empty selector selects the whole word.
bool parse_field(std::string_view selector, Field& field) {
  if (selector.empty()) return true;
  if (selector.size() != 2 || (selector[0] != 'b' && selector[0] != 'h')) return false;
  field.bits = selector[0] == 'b' ? 8 : 16;
  const auto index = static_cast<unsigned>(selector[1] - '0');
  field.position = index * field.bits;
  return field.position < 32;
}

std::int64_t saturated(std::int64_t value, unsigned bits, bool sign) {
  const std::int64_t highest = (std::int64_t{1} << (sign ? bits - 1 : bits)) - 1;
  return std::clamp(value, sign ? -highest - 1 : std::int64_t{0}, highest);
}

bool compares(std::string_view comparison, std::int64_t a, std::int64_t b) {
  if (comparison == "eq") return a == b;
  if (comparison == "ne") return a != b;
  if (comparison == "lt") return a < b;
  if (comparison == "le") return a <= b;
  if (comparison == "gt") return a > b;
  return a >= b;
}

struct VideoForm {
  std::string_view name;  ///< "add", "sub", "absdiff", "min", "max", "set", "avrg", "shl", "shr"
  bool d_signed = false;
  bool a_signed = false;
  bool b_signed = false;
  bool saturates = false;
  bool wraps = false;  ///< shifts: uses the low 5 bits of b
  std::string_view comparison = {};
  std::string_view second = {};  ///< the operation with c: "add", "min", "max"

  bool shifts() const { return name == "shl" || name == "shr"; }
  std::int64_t compute(std::int64_t a, std::int64_t b) const {
    if (shifts()) return shifted(a, wraps ? b & 31 : std::min<std::int64_t>(b, 32));
    if (name == "add") return a + b;
    if (name == "sub") return a - b;
    if (name == "absdiff") return std::abs(a - b);
    if (name == "min") return std::min(a, b);
    if (name == "max") return std::max(a, b);
    if (name == "avrg") return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    return compares(comparison, a, b) ? 1 : 0;
  }

  /// Only the lower 32 bits are part of the result.
  std::int64_t shifted(std::int64_t value, std::int64_t by) const {
    return name == "shr" ? value >> by : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << by);
  }
};

bool take_form(OpcodeWords& words, VideoForm& form, bool is_scalar) {
  const auto take_sign = [&words](bool& sign) {
    const std::string_view type = words.take_of({"s32", "u32"});
    sign = type == "s32";
    return !type.empty();
  };
  const bool is_set = form.name == "set";
  if (!is_set && !take_sign(form.d_signed)) return false;
  if (!take_sign(form.a_signed) || !take_sign(form.b_signed)) return false;
  if (is_set) {
    form.comparison = words.take_of({"eq", "ne", "lt", "le", "gt", "ge"});
    if (form.comparison.empty()) return false;
  } else {
    form.saturates = words.take("sat");
  }
  if (form.shifts()) {
    const std::string_view mode = words.take_of({"clamp", "wrap"});
    form.wraps = mode == "wrap";
    // An H100 deviates from the ISA for saturated left shifts.
    if (mode.empty() || form.b_signed || (form.saturates && form.name == "shl")) return false;
  }
  form.second = is_scalar ? words.take_of({"add", "min", "max"}) : words.take_of({"add"});
  return words.front().empty();
}

std::uint64_t second_operation(const VideoForm& form, std::int64_t value, std::uint64_t c) {
  const auto low = static_cast<std::uint32_t>(value);
  const auto other = static_cast<std::uint32_t>(c);
  if (form.second == "add") return low + other;
  const bool less =
      form.d_signed ? static_cast<std::int32_t>(low) < static_cast<std::int32_t>(other) : low < other;
  return less == (form.second == "min") ? low : other;
}

Result<Operation> make_scalar(OperationRequest& request, const VideoForm& form) {
  Field fields[2];
  Field merged;
  for (unsigned i = 0; i < 2; ++i) {
    if (!parse_field(request.sources[i].selector, fields[i])) return failure("unknown selector");
  }
  if (!parse_field(request.result_selectors[0], merged)) return failure("unknown selector");
  const bool merges = merged.bits != 32;
  // An H100 deviates from the ISA here: a negative value becomes 0.
  if (merges && form.saturates && form.d_signed) return failure("saturation of a merged signed result");
  // An H100 deviates from the ISA here, too.
  if (form.name == "shr" && (merges || fields[0].bits != 32)) return failure("right shift of a partial word");
  if (request.sources.size() != (merges || !form.second.empty() ? 3u : 2u) ||
      (merges && !form.second.empty()))
    return failure("malformed operands");
  return Operation{.run = [=, a = fields[0], b = fields[1]](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      std::int64_t value =
          form.compute(a.get(call.in[0][lane], form.a_signed), b.get(call.in[1][lane], form.b_signed));
      if (form.saturates) value = saturated(value, merged.bits, form.d_signed);
      std::uint64_t result = static_cast<std::uint32_t>(value);
      if (merges) {
        const std::uint64_t mask = (std::uint64_t{1} << merged.bits) - 1;
        result = (call.in[2][lane] & ~(mask << merged.position)) | (result & mask) << merged.position;
      } else if (!form.second.empty()) {
        result = second_operation(form, value, call.in[2][lane]);
      }
      call.out[0][lane] = result;
    });
  }};
}

/// Parses the elements that a selector picks from both operands, concatenated; "b7654" picks all four of the
/// second operand in order.
bool parse_elements(std::string_view selector, unsigned count, unsigned fallback, unsigned* elements) {
  for (unsigned i = 0; i < count; ++i) elements[i] = fallback + i;
  if (selector.empty()) return true;
  if (selector.size() != count + 1 || selector[0] != (count == 4 ? 'b' : 'h')) return false;
  for (unsigned i = 0; i < count; ++i) {
    elements[i] = static_cast<unsigned>(selector[count - i] - '0');
    if (elements[i] >= 2 * count) return false;
  }
  return true;
}

/// Parses the mask of elements that are written; all if there is no selector.
bool parse_mask(std::string_view selector, unsigned count, unsigned& mask) {
  mask = (1u << count) - 1;
  if (selector.empty()) return true;
  if (selector[0] != (count == 4 ? 'b' : 'h')) return false;
  mask = 0;
  for (const char digit : selector.substr(1)) {
    const auto element = static_cast<unsigned>(digit - '0');
    if (element >= count) return false;
    mask |= 1u << element;
  }
  return mask != 0;
}

struct Elements {
  unsigned of_a[4] = {};
  unsigned of_b[4] = {};
  unsigned written = 0;
};

Result<Operation> make_vector(OperationRequest& request, const VideoForm& form, unsigned count) {
  Elements elements;
  if (!parse_elements(request.sources[0].selector, count, 0, elements.of_a) ||
      !parse_elements(request.sources[1].selector, count, count, elements.of_b) ||
      !parse_mask(request.result_selectors[0], count, elements.written))
    return failure("unknown selector");
  if (request.sources.size() != 3) return failure("malformed operands");
  const unsigned bits = 32 / count;
  const bool sums = !form.second.empty();
  return Operation{.run = [=](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      const std::uint64_t both = (call.in[0][lane] & 0xffff'ffff) | call.in[1][lane] << 32;
      std::uint64_t result = call.in[2][lane];
      for (unsigned i = 0; i < count; ++i) {
        if ((elements.written >> i & 1) == 0) continue;
        const std::int64_t a = Field{elements.of_a[i] * bits, bits}.get(both, form.a_signed);
        const std::int64_t b = Field{elements.of_b[i] * bits, bits}.get(both, form.b_signed);
        std::int64_t value = form.compute(a, b);
        if (form.saturates) value = saturated(value, bits, form.d_signed);
        const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
        if (sums) {
          result += static_cast<std::uint64_t>(value);  // not truncated to the element's bits
        } else {
          result &= ~(mask << (i * bits));
          result |= (static_cast<std::uint64_t>(value) & mask) << (i * bits);
        }
      }
      call.out[0][lane] = result & 0xffff'ffff;
    });
  }};
}

__extension__ using Wide = __int128;

struct MultiplyAdd {
  Field a, b;
  bool a_signed = false, b_signed = false;
  bool negates_product = false, negates_sum = false;
  bool adds_one = false;
  bool saturates = false;
  unsigned scale = 0;

  bool is_signed() const { return a_signed || b_signed || negates_product || negates_sum; }

  std::uint64_t compute(std::uint64_t x, std::uint64_t y, std::uint64_t c) const {
    // Product of two 33-bit values.
    Wide sum = static_cast<Wide>(a.get(x, a_signed)) * b.get(y, b_signed);
    if (negates_product) sum = -sum;
    const std::int64_t addend =
        is_signed() ? static_cast<std::int32_t>(c) : static_cast<std::int64_t>(c & 0xffff'ffff);
    sum += negates_sum ? -addend : addend;
    sum = (sum + (adds_one ? 1 : 0)) >> scale;
    if (saturates) {
      constexpr Wide far = Wide{1} << 40;
      sum = saturated(static_cast<std::int64_t>(std::clamp(sum, -far, far)), 32, is_signed());
    }
    return static_cast<std::uint32_t>(sum);
  }
};

/// vmad.dtype.atype.btype{.po}{.sat}{.scale} d, {-}a, {-}b, {-}c
Result<Operation> make_multiply_add(OperationRequest& request) {
  OpcodeWords& words = request.words;
  MultiplyAdd form;
  const std::string_view types[3] = {words.take_of({"s32", "u32"}), words.take_of({"s32", "u32"}),
                                     words.take_of({"s32", "u32"})};
  form.a_signed = types[1] == "s32";
  form.b_signed = types[2] == "s32";
  form.adds_one = words.take("po");
  form.saturates = words.take("sat");
  const std::string_view scale = words.take_of({"shr7", "shr15"});
  form.scale = scale == "shr7" ? 7 : scale == "shr15" ? 15 : 0;
  if (types[2].empty() || !words.front().empty()) return refuse(request);
  const std::vector<SourceSlot>& sources = request.sources;
  if (sources.size() != 3 || request.results != 1 || !request.result_selectors[0].empty() ||
      !sources[2].selector.empty())
    return failure("malformed operands");
  if (!parse_field(sources[0].selector, form.a) || !parse_field(sources[1].selector, form.b))
    return failure("unknown selector");
  form.negates_product = sources[0].negated != sources[1].negated;
  form.negates_sum = sources[2].negated;
  if ((form.negates_product || form.adds_one) && form.negates_sum) return failure("malformed operands");
  if (form.negates_product && form.adds_one) return failure("malformed operands");
  // An H100 deviates from the ISA here.
  if (!form.is_signed() && (form.saturates || form.scale != 0))
    return failure("scale or saturation of an unsigned result");
  return Operation{.run = [form](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) {
      call.out[0][lane] = form.compute(call.in[0][lane], call.in[1][lane], call.in[2][lane]);
    });
  }};
}

}  // namespace

Result<Operation> make_video(OperationRequest& request) {
  VideoForm form{.name = request.words.root().substr(1)};
  unsigned count = 1;
  if (form.name.ends_with('2') || form.name.ends_with('4')) {
    count = static_cast<unsigned>(form.name.back() - '0');
    form.name.remove_suffix(1);
  }
  if (form.name == "mad" && count == 1) return make_multiply_add(request);
  static constexpr std::string_view known[] = {"add", "sub",  "absdiff", "min", "max",
                                               "set", "avrg", "shl",     "shr"};
  if (std::ranges::find(known, form.name) == std::end(known)) return failure({});
  if ((form.name == "avrg" && count == 1) || (form.shifts() && count != 1)) return failure({});
  if (!take_form(request.words, form, count == 1)) return refuse(request);
  if (request.results != 1 || request.sources.size() < 2) return failure("malformed operands");
  return count == 1 ? make_scalar(request, form) : make_vector(request, form, count);
}

}  // namespace lynxpp::device::cpu
