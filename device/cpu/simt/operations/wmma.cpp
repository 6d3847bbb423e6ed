// wmma: matrices whose register layout is implementation-defined. Element i of a lane is element 32 i + lane
// of the matrix in row-major order; if lanes hold more elements than the matrix has, elements are held
// several times.
#include <algorithm>
#include <cstring>

#include "device/cpu/simt/operations/matrix_product.h"

namespace lynxpp::device::cpu {
namespace {

struct Layout {
  unsigned rows = 0;
  unsigned columns = 0;
  Format format = Format::f16;
  unsigned registers = 0;

  unsigned bits() const { return cpu::bits_of(format); }
  unsigned elements() const { return (bits() == 64 ? 64 : 32) / bits(); }  ///< per register
  unsigned place(unsigned lane, unsigned reg, unsigned element) const {
    return ((reg * elements() + element) * warp_size + lane) % (rows * columns);
  }
};

struct WmmaShape {
  std::string_view name;
  unsigned m, n, k;
};

constexpr WmmaShape shapes[] = {
    {"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16}, {"m16n16k8", 16, 16, 8},
    {"m8n8k4", 8, 8, 4},       {"m8n8k32", 8, 8, 32},   {"m8n8k128", 8, 8, 128},
};

const WmmaShape* take_shape(OpcodeWords& words) {
  for (const WmmaShape& shape : shapes) {
    if (words.take(shape.name)) return &shape;
  }
  return nullptr;
}

bool holds(const WmmaShape& shape, Format format) {
  switch (format) {
    case Format::f16:
    case Format::bf16:
    case Format::s8:
    case Format::u8: return shape.k == 16;
    case Format::tf32: return shape.m == 16 && shape.k == 8;
    case Format::f64: return shape.k == 4;
    case Format::s4:
    case Format::u4: return shape.k == 32;
    case Format::b1: return shape.k == 128;
    default: return false;
  }
}

/// `which` is 'a', 'b' or 'c'. Halves of A and B always take eight registers.
Layout layout_of(const WmmaShape& shape, char which, Format format) {
  Layout layout{which == 'b' ? shape.k : shape.m, which == 'a' ? shape.k : shape.n, format, 0};
  const unsigned width = layout.bits() == 64 ? 64 : 32;
  layout.registers = std::max(1u, layout.rows * layout.columns * layout.bits() / width / warp_size);
  if (format == Format::f16 && which != 'c') layout.registers = 8;
  return layout;
}

/// Calls `visit(lane, reg, element, bit address)` for every element that a lane holds. The matrix is
/// row-major or column-major with a pitch of `stride` elements.
template <typename Visit>
void for_each_element(const Layout& layout, bool in_columns, std::uint64_t stride, const Visit& visit) {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned reg = 0; reg < layout.registers; ++reg) {
      for (unsigned element = 0; element < layout.elements(); ++element) {
        const unsigned place = layout.place(lane, reg, element);
        const std::uint64_t row = place / layout.columns;
        const std::uint64_t column = place % layout.columns;
        const std::uint64_t index = in_columns ? column * stride + row : row * stride + column;
        visit(lane, reg, element, index * layout.bits());
      }
    }
  }
}

std::uint64_t mask_of(unsigned bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// wmma.load.{a,b,c}, wmma.store.d: .sync.aligned.layout.shape{.space}.type
Result<Operation> make_transfer(OperationRequest& request, char which, bool loads) {
  OpcodeWords& words = request.words;
  if (!words.take("sync") || !words.take("aligned")) return refuse(request);
  const std::string_view order = words.take_of({"row", "col"});
  const WmmaShape* const shape = take_shape(words);
  if (order.empty() || shape == nullptr) return refuse(request);
  const ptx::StateSpace space = take_space(words);
  const std::optional<Format> format = parse_format(words.front());
  if (!format) return refuse(request);
  const bool is_sum = which == 'c';
  const bool fits = is_sum ? *format == Format::s32 || *format == Format::f32 || *format == Format::f16 ||
                                 *format == Format::f64
                           : holds(*shape, *format);
  if (!fits) return refuse(request);
  words.take_any();
  const Layout layout = layout_of(*shape, which, *format);
  const std::size_t sources = 1 + (loads ? 0 : layout.registers);
  if (request.results != (loads ? layout.registers : 0) || request.sources.size() < sources ||
      request.sources.size() > sources + 1)
    return failure("malformed operands");
  const bool in_columns = order == "col";
  const bool has_stride = request.sources.size() > sources;
  const std::uint64_t dense = in_columns ? layout.rows : layout.columns;
  const auto run = [=](const OperationCall& call) {
    const unsigned bytes = std::max(1u, layout.bits() / 8);
    const Lanes* const values = call.in + 1;
    if (loads) {
      for (unsigned reg = 0; reg < layout.registers; ++reg) call.out[reg].fill(0);
    }
    for_each_element(layout, in_columns, has_stride ? call.in[sources][0] : dense,
                     [&](unsigned lane, unsigned reg, unsigned element, std::uint64_t bit) {
                       std::byte* const place = call.place(0, call.in[0][lane] + bit / 8, lane, bytes, bytes);
                       if (place == nullptr) return;
                       const unsigned shift = element * layout.bits();
                       const unsigned inside = bit % 8;
                       std::uint64_t value = 0;
                       if (loads) {
                         std::memcpy(&value, place, bytes);
                         call.out[reg][lane] |= (value >> inside & mask_of(layout.bits())) << shift;
                       } else {
                         value = values[reg][lane] >> shift & mask_of(layout.bits());
                         std::memcpy(place, &value, bytes);
                       }
                     });
  };
  return Operation{
      .run = run, .addresses = {{space, std::max(1u, layout.bits() / 8)}}, .needs_converged_warp = true};
}

std::vector<std::uint64_t> gather(const Layout& layout, const Lanes* values) {
  std::vector<std::uint64_t> matrix(layout.rows * layout.columns);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    for (unsigned reg = 0; reg < layout.registers; ++reg) {
      for (unsigned element = 0; element < layout.elements(); ++element)
        matrix[layout.place(lane, reg, element)] =
            values[reg][lane] >> (element * layout.bits()) & mask_of(layout.bits());
    }
  }
  return matrix;
}

/// {.op.popc}.sync.aligned.alayout.blayout.shape and either .d.c of halves or .d.a.b.c, {.satfinite}. The
/// layouts describe how fragments were loaded; their register layout is the same.
Result<Operation> make_product(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const std::string_view combination = words.take_of({"xor", "and"});
  if (!combination.empty() && !words.take("popc")) return refuse(request);
  if (!words.take("sync") || !words.take("aligned") || words.take_of({"row", "col"}).empty() ||
      words.take_of({"row", "col"}).empty())
    return refuse(request);
  const WmmaShape* const shape = take_shape(words);
  if (shape == nullptr) return refuse(request);
  std::vector<Format> formats;
  for (std::optional<Format> format = parse_format(words.front()); format;
       format = parse_format(words.front())) {
    formats.push_back(*format);
    words.take_any();
  }
  if (formats.size() == 2) formats = {formats[0], Format::f16, Format::f16, formats[1]};
  if (formats.size() != 4) return refuse(request);
  const ProductTypes types{.d = formats[0],
                           .a = formats[1],
                           .b = formats[2],
                           .c = formats[3],
                           .saturates = words.take("satfinite"),
                           .exclusive = combination == "xor"};
  if (types.d == Format::f64) words.take("rn");  // rounds to nearest in any case
  const bool sums_are_floats = is_float(types.c) && is_float(types.d);
  if (!holds(*shape, types.a) || !holds(*shape, types.b) || sums_are_floats != is_float(types.a) ||
      combination.empty() == (types.a == Format::b1) || (types.saturates && types.a == Format::b1))
    return refuse(request);
  const Layout a = layout_of(*shape, 'a', types.a);
  const Layout b = layout_of(*shape, 'b', types.b);
  const Layout c = layout_of(*shape, 'c', types.c);
  const Layout d = layout_of(*shape, 'c', types.d);
  if (request.results != d.registers || request.sources.size() != a.registers + b.registers + c.registers)
    return failure("malformed operands");
  const auto run = [=](const OperationCall& call) {
    ProductOperands operands{.m = c.rows,
                             .n = c.columns,
                             .a = gather(a, call.in),
                             .b = gather(b, call.in + a.registers),
                             .c = gather(c, call.in + a.registers + b.registers)};
    multiply(types, operands);
    call.count(&OperationCounts::tensor_core_operations, operands.operations());
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned reg = 0; reg < d.registers; ++reg) {
        call.out[reg][lane] = 0;
        for (unsigned element = 0; element < d.elements(); ++element)
          call.out[reg][lane] |= operands.c[d.place(lane, reg, element)] << (element * d.bits());
      }
    }
  };
  return Operation{.run = run, .needs_converged_warp = true};
}

}  // namespace

Result<Operation> make_wmma(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("mma")) return make_product(request);
  const bool loads = words.take("load");
  if (!loads && !words.take("store")) return refuse(request);
  const std::string_view which = loads ? words.take_of({"a", "b", "c"}) : words.take_of({"d"});
  if (which.empty()) return refuse(request);
  return make_transfer(request, which == "d" ? 'c' : which[0], loads);
}

}  // namespace lynxpp::device::cpu
