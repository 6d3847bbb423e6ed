// mma, and moves of 8 x 8 matrices between lanes and shared memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/matrix_panels.h"
#include "device/cpu/simt/operations/matrix_product.h"
#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/operations/sparsity.h"

namespace lynxpp::device::cpu {

namespace {

/// Formats that panels cannot hold: one-bit operations are not products, and f64 sums need a fused operation.
void multiply_elements(const ProductTypes& types, ProductOperands& in) {
  const unsigned depth = in.depth();
  for (unsigned row = 0; row < in.m; ++row) {
    const std::uint64_t* const a = &in.a[std::size_t{row} * depth];
    for (unsigned column = 0; column < in.n; ++column) {
      std::uint64_t& c = in.c[std::size_t{row} * in.n + column];
      const std::uint64_t* const b = &in.b[column];
      if (types.a == Format::f64) {
        double sum = std::bit_cast<double>(c);
        for (unsigned k = 0; k < depth; ++k)
          sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[std::size_t{k} * in.n]), sum);
        c = std::bit_cast<std::uint64_t>(sum);
      } else {
        auto sum = static_cast<std::uint32_t>(c);
        for (unsigned k = 0; k < depth; ++k) {
          const std::uint64_t y = b[std::size_t{k} * in.n];
          sum += static_cast<std::uint32_t>((types.exclusive ? a[k] ^ y : a[k] & y) & 1);
        }
        c = sum;
      }
    }
  }
}

}  // namespace

void multiply(const ProductTypes& types, ProductOperands& operands) {
  if (types.a == Format::f64 || types.a == Format::b1) return multiply_elements(types, operands);
  static thread_local MatrixPanels panels;  // allocating it would take longer than the product
  const unsigned depth = operands.depth();
  panels.rows = operands.m;
  panels.columns = operands.n;
  panels.depth = depth;
  const auto decode = [](Format format, const std::vector<std::uint64_t>& from, std::vector<double>& to) {
    to.resize(from.size());
    decode_elements(format, from, to);
  };
  decode(types.a, operands.a, panels.a);
  decode(types.b, operands.b, panels.b);
  panels.lines = operands.lines;
  for (std::size_t i = panels.lines.size(); i < operands.a.size(); ++i)
    panels.lines.push_back(static_cast<std::uint16_t>(i % depth));
  panels.sums.resize(operands.c.size());
  std::ranges::transform(operands.c, panels.sums.begin(), [&](std::uint64_t bits) {
    return decode_sum(types.c, static_cast<std::uint32_t>(bits));
  });
  panels.multiply();
  std::ranges::transform(panels.sums, operands.c.begin(),
                         [&](double sum) { return encode_sum(types.d, types.saturates, sum); });
}

namespace {

struct Shape {
  unsigned m = 0, n = 0, k = 0;
};

struct Cell {
  unsigned row = 0, column = 0;
};

/// Layout of one matrix in the registers of a warp.
struct Fragment {
  unsigned registers = 0;
  unsigned elements = 0;  ///< per register
  unsigned bits = 0;      ///< per element
  Cell (*cell)(unsigned lane, unsigned reg, unsigned element, unsigned elements) = nullptr;

  std::uint64_t get(const Lanes* values, unsigned lane, unsigned reg, unsigned element) const {
    return values[reg][lane] >> (element * bits) & mask();
  }
  void put(Lanes* values, unsigned lane, unsigned reg, unsigned element, std::uint64_t value) const {
    if (element == 0) values[reg][lane] = 0;
    values[reg][lane] |= (value & mask()) << (element * bits);
  }
  std::uint64_t mask() const { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
};

// Lanes form groups of four: the group selects the row, the lane's index in the group the columns.
Cell cell_of_a8(unsigned lane, unsigned reg, unsigned element, unsigned elements) {
  return {lane / 4, (lane % 4 + 4 * reg) * elements + element};
}
Cell cell_of_a16(unsigned lane, unsigned reg, unsigned element, unsigned elements) {
  return {lane / 4 + 8 * (reg & 1), (lane % 4 + 4 * (reg >> 1)) * elements + element};
}
Cell cell_of_b(unsigned lane, unsigned reg, unsigned element, unsigned elements) {
  return {(lane % 4 + 4 * reg) * elements + element, lane / 4};
}
Cell cell_of_wide_c(unsigned lane, unsigned reg, unsigned, unsigned) {
  return {lane / 4 + 8 * (reg >> 1), lane % 4 * 2 + (reg & 1)};
}
Cell cell_of_half_c(unsigned lane, unsigned reg, unsigned element, unsigned) {
  return {lane / 4 + 8 * reg, lane % 4 * 2 + element};
}

Fragment fragment_of_c(Shape shape, Format format) {
  const unsigned bits = bits_of(format);
  if (bits == 16) return {shape.m / 8, 2, 16, &cell_of_half_c};
  return {shape.m * shape.n / warp_size, 1, bits, &cell_of_wide_c};
}

Fragment fragment_of(unsigned rows, unsigned columns, Format format, decltype(Fragment::cell) cell) {
  const unsigned bits = bits_of(format);
  const unsigned width = bits == 64 ? 64 : 32;
  return {rows * columns * bits / width / warp_size, width / bits, bits, cell};
}

bool known_shape(Format format, Shape shape) {
  const bool tall = shape.m == 16 && shape.n == 8;
  const bool square = shape.m == 8 && shape.n == 8;
  const unsigned k = shape.k;
  switch (format) {
    case Format::f16:
    case Format::bf16: return tall && (k == 8 || k == 16);
    case Format::tf32: return tall && (k == 4 || k == 8);
    case Format::f64: return (square && k == 4) || (tall && (k == 4 || k == 8 || k == 16));
    case Format::s8:
    case Format::u8: return (square && k == 16) || (tall && (k == 16 || k == 32));
    case Format::s4:
    case Format::u4: return (square && k == 32) || (tall && (k == 32 || k == 64));
    case Format::b1: return (square && k == 128) || (tall && (k == 128 || k == 256));
    case Format::e4m3:
    case Format::e5m2: return tall && (k == 16 || k == 32);
    default: return false;
  }
}

bool known_sparse_shape(Format format, Shape shape) {
  const unsigned k = shape.k;
  if (shape.m != 16 || shape.n != 8) return false;
  switch (format) {
    case Format::f16:
    case Format::bf16: return k == 16 || k == 32;
    case Format::tf32: return k == 8 || k == 16;
    case Format::s8:
    case Format::u8: return k == 32 || k == 64;
    case Format::s4:
    case Format::u4: return k == 64 || k == 128;
    case Format::e4m3:
    case Format::e5m2: return k == 64;
    default: return false;
  }
}

bool known_types(const ProductTypes& types) {
  const auto kind = [](Format format) {
    if (format == Format::u8) return Format::s8;
    if (format == Format::u4) return Format::s4;
    return format == Format::e5m2 ? Format::e4m3 : format;
  };
  if (kind(types.a) != kind(types.b)) return false;
  if (types.a == Format::f64) return types.c == Format::f64 && types.d == Format::f64;
  if (!is_float(types.a)) return types.c == Format::s32 && types.d == Format::s32;
  const auto sums = [](Format format) { return format == Format::f32 || format == Format::f16; };
  if (types.a == Format::f16 || kind(types.a) == Format::e4m3) return sums(types.c) && sums(types.d);
  return types.c == Format::f32 && types.d == Format::f32;
}

/// m8n8k4 of halves: four products, each of eight lanes; both matrices may be row-major or column-major.
struct QuadPairs {
  bool a_in_columns = false;
  bool b_in_columns = false;

  static unsigned half(unsigned lane) { return lane / 16 * 4; }
  static unsigned lane_of(unsigned pair, unsigned index) { return pair * 4 + index % 4 + index / 4 * 16; }
  /// For row-major A and column-major B, each lane holds a line; otherwise, each lane holds a column of four
  /// in each half.
  Cell cell(bool line_in_lane, unsigned lane, unsigned element) const {
    if (line_in_lane) return {lane % 4 + half(lane), element};
    return {element + half(lane), lane % 4};
  }
  static Cell cell_of_sum(Format format, unsigned lane, unsigned element) {
    if (format == Format::f16) return {lane % 4 + half(lane), element};
    return {(lane & 1) + (element & 2) + half(lane), (element & 4) + (lane & 2) + (element & 1)};
  }

  void run(const OperationCall& call, const ProductTypes& types) const {
    const Lanes* const a = call.in;
    const Lanes* const b = call.in + 2;
    const Lanes* const c = call.in + 4;
    const auto get = [](const Lanes* values, Format format, unsigned lane, unsigned element) {
      const unsigned bits = bits_of(format);
      return values[element * bits / 32][lane] >> (element * bits % 32) & (bits == 16 ? 0xffffu : ~0u);
    };
    for (unsigned reg = 0; reg < (types.d == Format::f16 ? 4u : 8u); ++reg) call.out[reg].fill(0);
    for (unsigned pair = 0; pair < 4; ++pair) {
      ProductOperands operands{.m = 8,
                               .n = 8,
                               .a = std::vector<std::uint64_t>(8 * 4),
                               .b = std::vector<std::uint64_t>(4 * 8),
                               .c = std::vector<std::uint64_t>(8 * 8)};
      for (unsigned index = 0; index < 8; ++index) {
        const unsigned lane = lane_of(pair, index);
        for (unsigned element = 0; element < 4; ++element) {
          const Cell in_a = cell(!a_in_columns, lane, element);
          operands.a[in_a.row * 4 + in_a.column] = get(a, Format::f16, lane, element);
          const Cell in_b = cell(b_in_columns, lane, element);
          operands.b[in_b.column * 8 + in_b.row] = get(b, Format::f16, lane, element);
        }
        for (unsigned element = 0; element < 8; ++element) {
          const Cell in_c = cell_of_sum(types.c, lane, element);
          operands.c[in_c.row * 8 + in_c.column] = get(c, types.c, lane, element);
        }
      }
      multiply(types, operands);
      call.count(&OperationCounts::tensor_core_operations, operands.operations());
      for (unsigned index = 0; index < 8; ++index) {
        const unsigned lane = lane_of(pair, index);
        for (unsigned element = 0; element < 8; ++element) {
          const Cell in_d = cell_of_sum(types.d, lane, element);
          const unsigned bits = bits_of(types.d);
          call.out[element * bits / 32][lane] |= operands.c[in_d.row * 8 + in_d.column]
                                                 << (element * bits % 32);
        }
      }
    }
  }
};

struct Product {
  Shape shape;
  ProductTypes types;
  Fragment a, b, c, d;
  std::optional<Sparsity> sparsity = {};  ///< of A; its metadata follow C

  unsigned depth() const { return sparsity ? shape.k / 2 : shape.k; }  ///< elements per row of A

  void run(const OperationCall& call) const {
    const auto gather = [](const Fragment& fragment, const Lanes* values, unsigned rows, unsigned columns) {
      std::vector<std::uint64_t> matrix(std::size_t{rows} * columns);
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        for (unsigned reg = 0; reg < fragment.registers; ++reg) {
          for (unsigned element = 0; element < fragment.elements; ++element) {
            const Cell cell = fragment.cell(lane, reg, element, fragment.elements);
            matrix[cell.row * columns + cell.column] = fragment.get(values, lane, reg, element);
          }
        }
      }
      return matrix;
    };
    ProductOperands operands{.m = shape.m,
                             .n = shape.n,
                             .a = gather(a, call.in, shape.m, depth()),
                             .b = gather(b, call.in + a.registers, shape.k, shape.n),
                             .c = gather(c, call.in + a.registers + b.registers, shape.m, shape.n)};
    const Lanes& metadata = call.in[a.registers + b.registers + c.registers];
    for (unsigned i = 0; sparsity && i < operands.a.size(); ++i)
      operands.lines.push_back(
          static_cast<std::uint16_t>(sparsity->position(metadata, i / depth(), i % depth())));
    multiply(types, operands);
    call.count(&OperationCounts::tensor_core_operations, operands.operations());
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned reg = 0; reg < d.registers; ++reg) {
        for (unsigned element = 0; element < d.elements; ++element) {
          const Cell cell = d.cell(lane, reg, element, d.elements);
          d.put(call.out, lane, reg, element, operands.c[cell.row * shape.n + cell.column]);
        }
      }
    }
  }
};

bool parse_shape(std::string_view word, Shape& shape) {
  unsigned* const parts[] = {&shape.m, &shape.n, &shape.k};
  for (unsigned i = 0; i < 3; ++i) {
    if (word.empty() || word[0] != "mnk"[i]) return false;
    word.remove_prefix(1);
    while (!word.empty() && word[0] >= '0' && word[0] <= '9') {
      *parts[i] = *parts[i] * 10 + static_cast<unsigned>(word[0] - '0');
      word.remove_prefix(1);
    }
  }
  return word.empty();
}

bool take_format(OpcodeWords& words, Format& format) {
  const std::optional<Format> parsed = parse_format(words.front());
  if (!parsed) return false;
  format = *parsed;
  words.take_any();
  return true;
}

}  // namespace

bool take_product_types(OpcodeWords& words, ProductTypes& types) {
  types.saturates = words.take("satfinite");
  if (!take_format(words, types.d) || !take_format(words, types.a) || !take_format(words, types.b) ||
      !take_format(words, types.c))
    return false;
  if (types.a == Format::b1) {
    const std::string_view operation = words.take_of({"xor", "and"});
    types.exclusive = operation == "xor";
    if (operation.empty() || !words.take("popc")) return false;
  }
  const bool may_saturate = !is_float(types.a) && types.a != Format::b1;
  return known_types(types) && (may_saturate || !types.saturates);
}

/// mma{.sp{::ordered_metadata}}.sync.aligned.shape.alayout.blayout{.satfinite}.d.a.b.c{.op.popc}
/// d, a, b, c{, metadata, selector}. Ordered metadata are a subset of all metadata.
Result<Operation> make_mma(OperationRequest& request) {
  OpcodeWords& words = request.words;
  Shape shape;
  ProductTypes types;
  const bool is_sparse = !words.take_of({"sp", "sp::ordered_metadata"}).empty();
  if (!words.take("sync") || !words.take("aligned") || !parse_shape(words.front(), shape))
    return refuse(request);
  words.take_any();
  const std::string_view a_layout = words.take_of({"row", "col"});
  const std::string_view b_layout = words.take_of({"row", "col"});
  if (!take_product_types(words, types)) return refuse(request);
  if (!is_sparse && types.a == Format::f16 && shape.m == 8 && shape.n == 8 && shape.k == 4) {
    const QuadPairs pairs{a_layout == "col", b_layout == "col"};
    const auto registers = [](Format format) { return format == Format::f16 ? 4u : 8u; };
    if (request.results != registers(types.d) || request.sources.size() != 4 + registers(types.c))
      return failure("malformed operands");
    return Operation{.run = [=](const OperationCall& call) { pairs.run(call, types); },
                     .needs_converged_warp = true};
  }
  const bool is_known = is_sparse ? known_sparse_shape(types.a, shape) : known_shape(types.a, shape);
  if (a_layout != "row" || b_layout != "col" || !is_known) return refuse(request);
  Product product{.shape = shape,
                  .types = types,
                  .a = fragment_of(shape.m, is_sparse ? shape.k / 2 : shape.k, types.a,
                                   shape.m == 8 ? &cell_of_a8 : &cell_of_a16),
                  .b = fragment_of(shape.k, shape.n, types.b, &cell_of_b),
                  .c = fragment_of_c(shape, types.c),
                  .d = fragment_of_c(shape, types.d)};
  const std::size_t matrices = product.a.registers + product.b.registers + product.c.registers;
  if (request.results != product.d.registers || request.sources.size() != matrices + (is_sparse ? 2 : 0))
    return failure("malformed operands");
  if (is_sparse) {
    const SourceSlot& selector = request.sources.back();
    product.sparsity = Sparsity::of(types.a, shape.k, static_cast<unsigned>(selector.constant));
    if (selector.kind != SourceSlot::Kind::constant || selector.constant < 0 ||
        selector.constant >= 4 / product.sparsity->providers())
      return failure("malformed operands");
  }
  return Operation{.run = [product](const OperationCall& call) { product.run(call); },
                   .needs_converged_warp = true};
}

// ---------------------------------------------------------------- 8 x 8 matrices of 16 bits

namespace {

struct MatrixMove {
  unsigned count = 1;
  bool transposes = false;
};

/// .sync.aligned.m8n8.x1{.trans}{.shared}.b16, which ptxas accepts in any order.
bool take_matrix_move(OperationRequest& request, MatrixMove& move, ptx::StateSpace& space) {
  OpcodeWords& words = request.words;
  unsigned required = 0;
  move.count = 0;
  space = ptx::StateSpace::generic;
  while (!words.front().empty()) {
    if (!words.take_of({"sync", "aligned", "m8n8", "b16"}).empty()) {
      ++required;
    } else if (const std::string_view count = words.take_of({"x1", "x2", "x4"}); !count.empty()) {
      move.count = static_cast<unsigned>(count[1] - '0');
    } else if (words.take("trans")) {
      move.transposes = true;
    } else if (space != ptx::StateSpace::generic || (space = take_space(words)) != ptx::StateSpace::shared) {
      return false;
    }
  }
  return required == 4 && move.count != 0;
}

/// Returns the matrix cell of a lane's element: row `lane / 4` and two columns, or the transposed cell.
Cell cell_of_move(const MatrixMove& move, unsigned lane, unsigned element) {
  const Cell cell{lane / 4, lane % 4 * 2 + element};
  return move.transposes ? Cell{cell.column, cell.row} : cell;
}

/// Resolves the rows that the lanes' addresses name; lane i names row i % 8 of matrix i / 8.
bool find_rows(const OperationCall& call, const MatrixMove& move, const Lanes& addresses, std::byte** rows) {
  for (unsigned lane = 0; lane < move.count * 8; ++lane) {
    rows[lane] = call.place(0, addresses[lane], lane, 16, 16);
    if (rows[lane] == nullptr) return false;
  }
  return true;
}

}  // namespace

Result<Operation> make_ldmatrix(OperationRequest& request) {
  MatrixMove move;
  ptx::StateSpace space;
  if (!take_matrix_move(request, move, space)) return refuse(request);
  if (request.results != move.count || request.sources.size() != 1) return failure("malformed operands");
  const auto run = [move](const OperationCall& call) {
    std::byte* rows[warp_size];
    if (!find_rows(call, move, call.in[0], rows)) return;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned matrix = 0; matrix < move.count; ++matrix) {
        std::uint16_t values[2];
        for (unsigned element = 0; element < 2; ++element) {
          const Cell cell = cell_of_move(move, lane, element);
          std::memcpy(&values[element], rows[matrix * 8 + cell.row] + cell.column * 2, 2);
        }
        call.out[matrix][lane] = values[0] | std::uint64_t{values[1]} << 16;
      }
    }
  };
  return Operation{.run = run, .addresses = {{space, 16}}, .needs_converged_warp = true};
}

Result<Operation> make_stmatrix(OperationRequest& request) {
  MatrixMove move;
  ptx::StateSpace space;
  if (!take_matrix_move(request, move, space)) return refuse(request);
  if (request.sources.size() != move.count + 1) return failure("malformed operands");
  const auto run = [move](const OperationCall& call) {
    std::byte* rows[warp_size];
    if (!find_rows(call, move, call.in[0], rows)) return;
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned matrix = 0; matrix < move.count; ++matrix) {
        for (unsigned element = 0; element < 2; ++element) {
          const Cell cell = cell_of_move(move, lane, element);
          const auto value = static_cast<std::uint16_t>(call.in[1 + matrix][lane] >> (16 * element));
          std::memcpy(rows[matrix * 8 + cell.row] + cell.column * 2, &value, 2);
        }
      }
    }
  };
  return Operation{.run = run, .addresses = {{space, 16}}, .needs_converged_warp = true};
}

Result<Operation> make_movmatrix(OperationRequest& request) {
  OpcodeWords& words = request.words;
  for (const std::string_view word : {"sync", "aligned", "m8n8", "trans", "b16"}) {
    if (!words.take(word)) return refuse(request);
  }
  if (request.results != 1 || request.sources.size() != 1) return failure("malformed operands");
  const auto run = [](const OperationCall& call) {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      call.out[0][lane] = 0;
      for (unsigned element = 0; element < 2; ++element) {
        const Cell from = cell_of_move({.transposes = true}, lane, element);
        const std::uint64_t word = call.in[0][from.row * 4 + from.column / 2];
        call.out[0][lane] |= (word >> (from.column % 2 * 16) & 0xffff) << (16 * element);
      }
    }
  };
  return Operation{.run = run, .needs_converged_warp = true};
}

}  // namespace lynxpp::device::cpu
