// tcgen05.mma: products of matrices in shared and tensor memory, accumulated in tensor memory.
//
// One thread starts a product. The operands are found and checked when it is issued; elements are read, and
// sums written, when it is performed (async_operation.h). As the other products, sums are exact products of
// elements, added in double precision in the order of k and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/async_operation.h"
#include "device/cpu/simt/operations/matrix_descriptor.h"
#include "device/cpu/simt/operations/matrix_panels.h"
#include "device/cpu/simt/operations/sparsity.h"
#include "device/cpu/simt/operations/tensor_core.h"
#include "device/cpu/simt/operations/tensor_core_shape.h"

namespace lynxpp::device::cpu {
namespace {

constexpr unsigned most_blocks = 2;
constexpr unsigned piece_bytes = MatrixDescriptor::piece_bytes;
constexpr unsigned quarter_lanes = 32;  ///< of tensor memory

/// Operands of an instruction by the index of their source.
struct ProductSources {
  unsigned d = 0;
  unsigned a = 1;
  unsigned b = 2;
  unsigned shape = 3;
  unsigned metadata = 0;  ///< with .sp
  unsigned scale_a = 0;   ///< with .block_scale
  unsigned scale_b = 0;
  unsigned mask = 0;  ///< disable-output-lane
  unsigned adds = 0;
  std::optional<unsigned> zero_columns = {};  ///< .ws: the zero-column mask
};

// ---------------------------------------------------------------- layouts in tensor memory

/// The cells of tensor memory in which one block holds its rows of D.
class SumLayout {
 public:
  SumLayout(const ProductForm& form, const ProductShape& shape)
      : rows_(shape.rows / form.blocks),
        spreads_(rows_ == 64 && !form.is_stationary && form.blocks == 1),
        width_(spreads_ ? shape.columns : shape.columns / (TensorMemory::lanes / rows_)) {}

  unsigned rows() const { return rows_; }
  /// Columns of tensor memory that D takes.
  unsigned width() const { return width_; }
  /// True if D takes 16 of each 32 lanes, from lane 0 or 16.
  bool spreads() const { return spreads_; }

  struct Cell {
    unsigned lane = 0;
    unsigned column = 0;
  };
  Cell cell(unsigned row, unsigned column) const {
    if (spreads_) return {row / 16 * quarter_lanes + row % 16, column};
    return {row + column / width_ * rows_, column % width_};
  }

 private:
  unsigned rows_;
  bool spreads_;
  unsigned width_;
};

// ---------------------------------------------------------------- plans

/// A product whose operands have been found.
struct ProductPlan {
  ProductForm form;
  ProductShape shape;
  bool adds = false;
  unsigned blocks = 1;
  std::vector<const std::byte*> a[most_blocks];  ///< pieces of A's lines, by block
  std::vector<const std::byte*> b[most_blocks];
  std::array<TensorMemory*, most_blocks> tensor = {};
  TensorAddress d{0}, a_at{0}, metadata{0}, scale_a{0}, scale_b{0};
  std::vector<bool> zero_columns = {};  ///< of B; empty without a mask
  std::array<std::uint32_t, 4 * most_blocks> mask = {};

  bool keeps_lane(unsigned block, unsigned lane) const {
    return (mask[block * 4 + lane / 32] >> lane % 32 & 1) != 0;
  }
};

/// Decodes a piece of 16 bytes of an operand in shared memory.
void decode_piece(const ProductForm& form, Format format, const std::byte* piece, std::span<double> to) {
  const unsigned bits = bits_of(format);
  if (bits >= 8) return decode_elements(format, piece, to);
  // Bits of 16 elements, then padding.
  const unsigned step = form.packs_pairs() ? 4 : bits;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = i * step;
    unsigned word = std::to_integer<unsigned>(piece[at / 8]);
    if (at / 8 + 1 < piece_bytes) word |= std::to_integer<unsigned>(piece[at / 8 + 1]) << 8;
    to[i] = decode_float(format, word >> at % 8 & ((1u << bits) - 1));
  }
}

/// Computes a planned product.
class ProductRun {
 public:
  explicit ProductRun(const ProductPlan& plan)
      : plan_(plan), shape_(plan.shape), layout_(plan.form, plan.shape), panels_(panels()) {}

  void run() {
    panels_.rows = rows_at_once;
    panels_.columns = shape_.columns;
    panels_.depth = shape_.stored;
    decode_b();
    for (unsigned block = 0; block < plan_.blocks; ++block) {
      decode_a(block);
      for (unsigned row = 0; row < layout_.rows(); row += rows_at_once) multiply(block, row);
    }
  }

 private:
  static constexpr unsigned rows_at_once = 16;

  /// Kept between executions, because allocating them would take longer than many products.
  static MatrixPanels& panels() {
    static thread_local MatrixPanels made;
    return made;
  }

  /// Decodes a matrix in shared memory; `put(mn, k, value)` receives its elements. `line_size`: elements of a
  /// line, which are adjacent.
  template <typename Put>
  void decode_pieces(Format format, bool transposed, unsigned line_size,
                     const std::vector<const std::byte*>& pieces, const Put& put) const {
    const unsigned per_piece = piece_bytes * 8 / container_bits(plan_.form, format);
    const unsigned line_pieces = line_size / per_piece;
    double values[32];
    for (std::size_t index = 0; index < pieces.size(); ++index) {
      decode_piece(plan_.form, format, pieces[index], std::span(values, per_piece));
      const auto line = static_cast<unsigned>(index / line_pieces);
      const auto first = static_cast<unsigned>(index % line_pieces) * per_piece;
      for (unsigned i = 0; i < per_piece; ++i)
        transposed ? put(first + i, line, values[i]) : put(line, first + i, values[i]);
    }
  }

  void decode_b() {
    panels_.b.resize(std::size_t{shape_.depth} * shape_.columns);
    const unsigned part = shape_.columns / plan_.blocks;
    for (unsigned block = 0; block < plan_.blocks; ++block) {
      decode_pieces(shape_.b, shape_.transposes_b, shape_.transposes_b ? part : shape_.depth, plan_.b[block],
                    [&](unsigned column, unsigned k, double value) {
                      panels_.b[std::size_t{k} * shape_.columns + block * part + column] = value;
                    });
    }
    for (std::size_t i = 0; !plan_.zero_columns.empty() && i < panels_.b.size(); ++i) {
      if (plan_.zero_columns[i % shape_.columns]) panels_.b[i] = 0;
    }
    if (!plan_.form.is_scaled()) return;
    for (unsigned column = 0; column < shape_.columns; ++column) {
      for (unsigned k = 0; k < shape_.depth; ++k)
        panels_.b[std::size_t{k} * shape_.columns + column] *=
            scale(0, plan_.scale_b, shape_.scale_b, column, k * shape_.stored / shape_.depth);
    }
  }

  void decode_a(unsigned block) {
    a_.resize(std::size_t{layout_.rows()} * shape_.stored);
    if (plan_.form.a_in_tensor)
      read_a_of_tensor(block);
    else
      decode_pieces(shape_.a, shape_.transposes_a, shape_.transposes_a ? layout_.rows() : shape_.stored,
                    plan_.a[block],
                    [&](unsigned row, unsigned k, double value) { a_[row * shape_.stored + k] = value; });
    for (unsigned row = 0; row < layout_.rows(); ++row) {
      for (unsigned k = 0; k < shape_.stored; ++k) {
        double& value = a_[row * shape_.stored + k];
        if (shape_.negates) value = -value;
        if (plan_.form.is_scaled()) value *= scale(block, plan_.scale_a, shape_.scale_a, row, k);
      }
    }
  }

  void read_a_of_tensor(unsigned block) {
    for (unsigned row = 0; row < layout_.rows(); ++row) {
      const SumLayout::Cell at = layout_.cell(row, 0);
      const std::uint32_t* const words =
          plan_.tensor[block]->row(plan_.a_at.lane + at.lane) + plan_.a_at.column;
      const auto* const bytes = reinterpret_cast<const std::byte*>(words);
      const std::span<double> to(&a_[row * shape_.stored], shape_.stored);
      const unsigned bits = bits_of(shape_.a);
      if (bits >= 8) {
        decode_elements(shape_.a, bytes, to);
        continue;
      }
      for (unsigned k = 0; k < shape_.stored; ++k)
        to[k] = decode_float(shape_.a, narrow_element_of(std::to_integer<unsigned>(bytes[k]), bits));
    }
  }

  /// Returns the row of B that multiplies an element of a row of A.
  unsigned line(unsigned block, unsigned row, unsigned index) const {
    if (!plan_.form.is_sparse) return index;
    const unsigned per_chunk = shape_.stored_of_chunk;
    const unsigned chunk = index / per_chunk;
    // Interleaved: rows i and i + 8 share lanes i, with chunks 0 to 3, and i + 8, with chunks 4 to 7.
    const bool interleaves = shape_.interleaves_metadata();
    const unsigned lane = interleaves ? row / 16 * 16 + chunk / 4 * 8 + row % 8 : row;
    const unsigned column = interleaves ? 0 : chunk / 8;
    const unsigned shift = interleaves ? row / 8 % 2 * 16 + chunk % 4 * 4 : chunk % 8 * 4;
    const std::uint32_t word = plan_.tensor[block]->row(lane)[plan_.metadata.column + column];
    return chunk * 2 * per_chunk +
           Sparsity::position_in_chunk(per_chunk, word >> shift & 15, index % per_chunk);
  }

  /// Returns the scale of stored element `k` of row `mn` of A, or of two of column `mn` of B if A is sparse.
  double scale(unsigned block, TensorAddress at, unsigned first, unsigned mn, unsigned k) const {
    const std::uint32_t word = plan_.tensor[block]->row(mn % quarter_lanes)[at.column + mn / quarter_lanes];
    const std::uint32_t bits = word >> 8 * (first + k / plan_.form.scale_block) & 0xff;
    if (!shape_.has_exponent_scales) return decode_float(Format::e4m3, bits & 0x7f);
    return bits == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }

  /// Computes rows_at_once rows of a block's part of D.
  void multiply(unsigned block, unsigned first) {
    const unsigned stored = shape_.stored;
    const auto begin = a_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * stored);
    panels_.a.assign(begin, begin + static_cast<std::ptrdiff_t>(rows_at_once * stored));
    panels_.lines.resize(panels_.a.size());
    for (unsigned i = 0; i < panels_.lines.size(); ++i)
      panels_.lines[i] = static_cast<std::uint16_t>(line(block, first + i / stored, i % stored));
    panels_.sums.assign(std::size_t{rows_at_once} * shape_.columns, 0.0);
    if (plan_.adds) {
      for_each_sum(block, first, [this](double& sum, std::uint32_t word, unsigned) {
        sum = std::ldexp(decode_sum(shape_.d, word), -static_cast<int>(plan_.form.scale_shift));
      });
    }
    panels_.multiply();
    for_each_sum(block, first, [&](double& sum, std::uint32_t& word, unsigned lane) {
      if (!plan_.keeps_lane(block, lane)) word = encode_sum(shape_.d, shape_.saturates, sum);
    });
  }

  template <typename Visit>
  void for_each_sum(unsigned block, unsigned first, const Visit& visit) {
    for (unsigned row = 0; row < rows_at_once; ++row) {
      for (unsigned column = 0; column < shape_.columns; ++column) {
        const SumLayout::Cell at = layout_.cell(first + row, column);
        const unsigned lane = plan_.d.lane + at.lane;
        visit(panels_.sums[std::size_t{row} * shape_.columns + column],
              plan_.tensor[block]->row(lane)[plan_.d.column + at.column], lane);
      }
    }
  }

  const ProductPlan& plan_;
  const ProductShape& shape_;
  const SumLayout layout_;
  MatrixPanels& panels_;
  std::vector<double> a_;  ///< [row][k], of one block
};

// ---------------------------------------------------------------- one execution by a thread

class ProductCall {
 public:
  ProductCall(const OperationCall& call, const ProductForm& form, const ProductSources& sources,
              std::uint32_t lane)
      : call_(call), form_(form), sources_(sources), lane_(lane), plan_(std::make_shared<ProductPlan>()) {}

  void run() {
    ProductPlan& plan = *plan_;
    plan.form = form_;
    plan.blocks = form_.blocks;
    const auto descriptor = static_cast<std::uint32_t>(value(sources_.shape));
    if (const char* const problem = decode_shape(form_, descriptor, plan.shape); problem != nullptr)
      return refuse_descriptor(descriptor, problem, 0);
    if (sources_.zero_columns) {
      const std::uint64_t mask = value(*sources_.zero_columns);
      const char* const problem = decode_zero_columns(plan.shape, mask, plan.zero_columns);
      if (problem != nullptr) return refuse_descriptor(mask, problem, 0);
    }
    plan.adds = value(sources_.adds) != 0;
    if (!find_tensor_memory() || !find_tensor_operands() || !find_shared_operands()) return;
    for (unsigned i = 0; form_.masks_lanes && i < 4 * form_.blocks; ++i)
      plan.mask[i] = static_cast<std::uint32_t>(value(sources_.mask + i));
    const AsyncIssue issue{lane_, AsyncCompletion::tensor_core, true, accesses_};
    perform_async(call_, issue, [plan = std::move(plan_)] { ProductRun(*plan).run(); });
  }

 private:
  std::uint64_t value(unsigned source) const { return call_.in[source][lane_]; }
  bool is_checked() const { return call_.warp->check != nullptr; }

  void refuse_descriptor(std::uint64_t bits, const char* reason, std::size_t site) {
    raise(call_.warp, {.kind = FaultKind::bad_descriptor,
                       .lane = lane_,
                       .address = bits,
                       .site = (*call_.sites)[site],
                       .reason = reason});
  }

  /// Finds the tensor memory of both blocks; number 0 is that of the block with the even rank.
  bool find_tensor_memory() {
    WarpContext& warp = *call_.warp;
    if (form_.blocks == 1) return plan_->tensor[0] = warp.tensor, true;
    own_ = warp.cluster_ctarank % 2;
    if (!check_peer(call_, {0, lane_, value(0)})) return false;
    plan_->tensor[own_] = warp.tensor;
    plan_->tensor[1 - own_] = warp.peer_tensor;
    return true;
  }

  /// Checks a part of tensor memory in both blocks and notes accesses to `lanes` lanes from the address on.
  template <typename HasLane>
  bool use_tensor(std::size_t site, std::uint64_t address, unsigned columns, bool reads, bool writes,
                  const HasLane& has_lane) {
    const TensorAddress at(address);
    for (unsigned block = 0; block < form_.blocks; ++block) {
      if (!check_columns(call_, {site, lane_, address}, *plan_->tensor[block], columns)) return false;
      for (unsigned lane = 0; is_checked() && lane < TensorMemory::lanes; ++lane) {
        if (!has_lane(lane)) continue;
        accesses_.push_back(tensor_access((*call_.sites)[site], block != own_ && form_.blocks == 2, lane,
                                          at.column, columns));
        accesses_.back().reads = reads;
        accesses_.back().writes = writes;
      }
    }
    return true;
  }

  bool find_tensor_operands() {
    ProductPlan& plan = *plan_;
    const SumLayout layout(form_, plan.shape);
    const auto address = [&](unsigned source) { return value(source) & 0xffff'ffff; };
    const auto is_misplaced = [&](std::size_t site, std::uint64_t at) {
      const unsigned lane = TensorAddress(at).lane;
      if (lane == 0 || (lane == 16 && layout.spreads())) return false;
      raise_tensor_memory(
          call_, {site, lane_, at},
          layout.spreads() ? "the matrix must begin at lane 0 or 16" : "the matrix must begin at lane 0");
      return true;
    };
    plan.d = TensorAddress(address(sources_.d));
    if (is_misplaced(0, address(sources_.d))) return false;
    const auto is_used = [&](unsigned lane) {
      return !layout.spreads() || (lane & 16) == (plan.d.lane & 16);
    };
    if (!use_tensor(0, address(sources_.d), layout.width(), plan.adds, true, is_used)) return false;
    if (form_.a_in_tensor) {
      const std::uint64_t at = address(sources_.a);
      plan.a_at = TensorAddress(at);
      if (is_misplaced(1, at)) return false;
      if (plan.a_at.lane != plan.d.lane) {
        raise_tensor_memory(call_, {1, lane_, at}, "A and D must begin at the same lane");
        return false;
      }
      if (const char* const problem = problem_of_a(); problem != nullptr) {
        raise_tensor_memory(call_, {1, lane_, at}, problem);
        return false;
      }
      if (!use_tensor(1, at, piece_bytes / 2, true, false, is_used)) return false;
    }
    return (!form_.is_sparse || find_metadata()) && (!form_.is_scaled() || find_scales());
  }

  /// Returns why A cannot be in tensor memory; null if it can.
  const char* problem_of_a() const {
    const ProductShape& shape = plan_->shape;
    if (form_.packs_pairs()) return "A in tensor memory with two elements in a byte is not supported";
    if (shape.rows / form_.blocks != TensorMemory::lanes && (form_.is_stationary || form_.blocks == 2))
      return "A in tensor memory is not supported if D has several parts of its columns side by side";
    return nullptr;
  }

  bool find_metadata() {
    ProductPlan& plan = *plan_;
    const std::uint64_t at = value(sources_.metadata) & 0xffff'ffff;
    plan.metadata = TensorAddress(at + plan.shape.selector);
    constexpr std::size_t site = 3;
    if (TensorAddress(at).lane != 0 || at % 2 != 0) {
      raise_tensor_memory(call_, {site, lane_, at}, "metadata must begin at lane 0 and an even column");
      return false;
    }
    const auto all = [](unsigned) { return true; };
    return use_tensor(site, at + plan.shape.selector, plan.shape.interleaves_metadata() ? 1 : 2, true, false,
                      all);
  }

  bool find_scales() {
    ProductPlan& plan = *plan_;
    const std::uint64_t a = value(sources_.scale_a) & 0xffff'ffff;
    const std::uint64_t b = value(sources_.scale_b) & 0xffff'ffff;
    plan.scale_a = TensorAddress(a);
    plan.scale_b = TensorAddress(b);
    const std::size_t site = form_.is_sparse ? 4 : 3;
    if (plan.scale_a.lane != 0 || plan.scale_b.lane != 0) {
      raise_tensor_memory(call_, {site, lane_, a}, "scales must begin at lane 0");
      return false;
    }
    const auto all = [](unsigned) { return true; };
    return use_tensor(site, a, (plan.shape.rows / form_.blocks + 31) / 32, true, false, all) &&
           use_tensor(site + 1, b, (plan.shape.columns + 31) / 32, true, false, all);
  }

  bool find_shared_operands() {
    const ProductShape& shape = plan_->shape;
    return (form_.a_in_tensor || find_matrix(1, value(sources_.a), shape.a, shape.transposes_a,
                                             {shape.rows / form_.blocks, shape.stored}, plan_->a)) &&
           find_matrix(2, value(sources_.b), shape.b, shape.transposes_b,
                       {shape.columns / form_.blocks, shape.depth}, plan_->b);
  }

  struct MatrixSize {
    unsigned mn, k;  ///< elements in a block's shared memory
  };
  bool find_matrix(std::size_t site, std::uint64_t descriptor, Format format, bool transposed,
                   MatrixSize size, std::vector<const std::byte*> (&to)[most_blocks]) {
    MatrixDescriptor from;
    const char* problem = MatrixDescriptor::decode_tensor_core(descriptor, from);
    const unsigned bits = container_bits(form_, format);
    if (problem == nullptr && from.swaps_pairs && !transposed)
      problem = "the ISA defines no K-major layout for a swizzle of 128 bytes with atoms of 32";
    if (problem == nullptr && transposed && from.swaps_pairs != (bits == 32))
      problem =
          "a swizzle of 128 bytes with atoms of 32 is for transposed elements of 32 bits, and only it is";
    if (problem == nullptr && !transposed && from.width > 1 && size.k * bits / 8 > from.width * piece_bytes)
      problem = "the ISA defines no K-major layout whose rows are longer than the swizzle";
    if (problem != nullptr) return refuse_descriptor(descriptor, problem, site), false;
    const unsigned lines = transposed ? size.k : size.mn;
    const unsigned pieces = (transposed ? size.mn : size.k) * bits / 8 / piece_bytes;
    for (unsigned block = 0; block < form_.blocks; ++block) {
      const bool is_own = form_.blocks == 1 || block == own_;
      for (unsigned line = 0; line < lines; ++line) {
        for (unsigned piece = 0; piece < pieces; ++piece) {
          std::uint64_t address = transposed ? from.mn_major(line, piece) : from.k_major(line, piece);
          if (!is_own) address = cluster_address(call_.warp->cluster_ctarank ^ 1, address);
          const std::byte* const found = call_.place(site, address, lane_, piece_bytes, piece_bytes);
          if (found == nullptr) return false;
          to[block].push_back(found);
          if (is_checked()) accesses_.push_back({(*call_.sites)[site], address, piece_bytes, true, false});
        }
      }
    }
    return true;
  }

  const OperationCall& call_;
  const ProductForm& form_;
  const ProductSources& sources_;
  const std::uint32_t lane_;
  unsigned own_ = 0;  ///< number of this block among those of the product
  std::shared_ptr<ProductPlan> plan_;
  std::vector<AsyncAccess> accesses_;  ///< in checked launches only
};

// ---------------------------------------------------------------- forms

std::optional<ProductKind> take_kind(OpcodeWords& words) {
  constexpr std::pair<std::string_view, ProductKind> kinds[] = {
      {"kind::f16", ProductKind::f16},           {"kind::tf32", ProductKind::tf32},
      {"kind::f8f6f4", ProductKind::f8f6f4},     {"kind::i8", ProductKind::i8},
      {"kind::mxf8f6f4", ProductKind::mxf8f6f4}, {"kind::mxf4", ProductKind::mxf4},
      {"kind::mxf4nvf4", ProductKind::mxf4nvf4}};
  for (const auto& [word, kind] : kinds) {
    if (words.take(word)) return kind;
  }
  return std::nullopt;
}

/// block_scale{.scale_vec::NX, .blockN}. Returns false if the kind has no such scales.
bool take_scales(OpcodeWords& words, ProductForm& form) {
  const bool has_scales = form.kind >= ProductKind::mxf8f6f4;
  if (words.take("block_scale") != has_scales) return false;
  if (!has_scales) return true;
  const std::string_view size =
      words.take_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"});
  switch (form.kind) {
    case ProductKind::mxf8f6f4:
      form.scale_block = 32;
      return size.empty() || size == "scale_vec::1X" || size == "block32";
    case ProductKind::mxf4:
      form.scale_block = 32;
      return size.empty() || size == "scale_vec::2X" || size == "block32";
    default: break;
  }
  form.scale_block = size == "scale_vec::4X" || size == "block16" ? 16 : 32;
  return form.scale_block == 16 || size == "scale_vec::2X" || size == "block32";
}

/// {.ws}{.sp}.cta_group.kind{.block_scale…}{.collector::…}
bool take_form(OpcodeWords& words, ProductForm& form) {
  form.is_stationary = words.take("ws");
  form.is_sparse = words.take("sp");
  form.blocks = take_blocks(words);
  const std::optional<ProductKind> kind = take_kind(words);
  if (form.blocks == 0 || (form.is_stationary && form.blocks == 2) || !kind) return false;
  form.kind = *kind;
  if (!take_scales(words, form) || (form.is_stationary && form.is_scaled())) return false;
  // Operands may be read again, so collectors have no effect.
  if (words.front().starts_with("collector::")) words.take_any();
  return words.front().empty();
}

/// [d], a, b{, [metadata]}, shape{, [scale-a], [scale-b]}{, {mask}}, adds{, scale-d | zero-columns}
bool take_sources(const std::vector<SourceSlot>& slots, ProductForm& form, ProductSources& to) {
  using enum SourceSlot::Kind;
  const auto kind = [&](std::size_t index) { return index < slots.size() ? slots[index].kind : object; };
  form.a_in_tensor = kind(1) == tensor;
  if (kind(0) != tensor || (kind(1) != tensor && kind(1) != descriptor) || kind(2) != descriptor)
    return false;
  unsigned next = 3;
  if (form.is_sparse) {
    to.metadata = next++;
    if (kind(to.metadata) != tensor) return false;
  }
  to.shape = next++;
  if (kind(to.shape) != reg && kind(to.shape) != constant) return false;
  if (form.is_scaled()) {
    to.scale_a = next++;
    to.scale_b = next++;
    if (kind(to.scale_a) != tensor || kind(to.scale_b) != tensor) return false;
  }
  if (kind(next) == reg) {
    form.masks_lanes = !form.is_scaled() && !form.is_stationary;
    to.mask = next;
    next += 4 * form.blocks;
    if (!form.masks_lanes) return false;
    for (unsigned i = to.mask; i < next; ++i) {
      if (kind(i) != reg) return false;
    }
  }
  to.adds = next++;
  if (kind(to.adds) != predicate && kind(to.adds) != constant) return false;
  if (next == slots.size()) return true;
  if (form.is_stationary) {
    to.zero_columns = next;
    return next + 1 == slots.size() && (kind(next) == constant || kind(next) == descriptor);
  }
  if (kind(next) != constant || slots[next].constant < 0 || slots[next].constant > 15) return false;
  form.scale_shift = static_cast<unsigned>(slots[next].constant);
  const bool may_shift = form.kind == ProductKind::f16 || form.kind == ProductKind::tf32;
  return may_shift && next + 1 == slots.size();
}

}  // namespace

/// mma.cta_group.kind…
Result<Operation> make_tensor_product(OperationRequest& request) {
  ProductForm form;
  if (!take_form(request.words, form))
    return request.words.front() == "ashift" ? refuse_rows(request.words) : refuse(request);
  ProductSources sources;
  if (request.results != 0 || !take_sources(request.sources, form, sources))
    return failure("malformed operands");
  Operation made{.run = [form, sources](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) { ProductCall(call, form, sources, lane).run(); });
  }};
  for (const SourceSlot& each : request.sources) {
    if (each.kind == SourceSlot::Kind::tensor) made.addresses.push_back({ptx::StateSpace::none, 4});
    if (each.kind == SourceSlot::Kind::descriptor)
      made.addresses.push_back({ptx::StateSpace::shared, piece_bytes});
  }
  return made;
}

}  // namespace lynxpp::device::cpu
