// wgmma: matrix products of a warpgroup, four consecutive warps.
//
// Each warp computes its 16 rows of D when it executes the instruction, without waiting for the other three.
// This is an order that the ISA allows: the operands in shared memory and registers must be complete before
// the instruction and must not change, and D must not be used, before a wait_group that covers it; within a
// warp, products that accumulate in the same registers are performed in program order. No element of D
// depends on registers of another warp. A wait_group waits until the other warps have issued the same
// products, because they read the operands, too; in checked launches the reads last until then. Fences have
// nothing to do.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/cpu/simt/operations/async_operation.h"
#include "device/cpu/simt/operations/matrix_descriptor.h"
#include "device/cpu/simt/operations/matrix_panels.h"
#include "device/cpu/simt/operations/operation.h"
#include "device/cpu/simt/operations/sparsity.h"

namespace lynxpp::device::cpu {
namespace {

constexpr unsigned registers_of_a = 4;
constexpr unsigned warps_in_group = 4;
constexpr unsigned warp_rows = 16;  ///< of A and D, for each warp

/// The matrix, as an instruction names it.
struct WarpgroupShape {
  unsigned columns = 0;  ///< N
  unsigned depth = 0;    ///< K
  Format d = Format::f32;
  Format a = Format::f16;
  Format b = Format::f16;
  bool is_sparse = false;
  bool saturates = false;

  unsigned stored() const { return is_sparse ? depth / 2 : depth; }  ///< elements per row of A
  unsigned registers_of_d() const { return columns / (bits_of(d) == 16 ? 4 : 2); }
  bool may_transpose() const { return bits_of(a) == 16; }
};

/// Returns K of the instructions on dense matrices with elements of a format: 32 bytes; 0 for other formats.
unsigned dense_depth(Format format) {
  switch (format) {
    case Format::f16:
    case Format::bf16:
    case Format::tf32:
    case Format::e4m3:
    case Format::e5m2:
    case Format::s8:
    case Format::u8:
    case Format::b1: return 256 / bits_of(format);
    default: return 0;
  }
}

bool known_warpgroup_types(const WarpgroupShape& shape) {
  const auto is_one_of = [](Format format, Format x, Format y) { return format == x || format == y; };
  if (is_one_of(shape.a, Format::e4m3, Format::e5m2))
    return is_one_of(shape.b, Format::e4m3, Format::e5m2) && is_one_of(shape.d, Format::f16, Format::f32);
  if (is_one_of(shape.a, Format::s8, Format::u8))
    return is_one_of(shape.b, Format::s8, Format::u8) && shape.d == Format::s32;
  if (shape.a != shape.b) return false;
  if (shape.a == Format::f16) return is_one_of(shape.d, Format::f16, Format::f32);
  if (shape.a == Format::b1) return shape.d == Format::s32 && !shape.is_sparse;
  return is_one_of(shape.a, Format::bf16, Format::tf32) && shape.d == Format::f32;
}

/// m64nNkK
bool parse_warpgroup_shape(std::string_view word, WarpgroupShape& shape) {
  if (!word.starts_with("m64n")) return false;
  const char* const end = word.data() + word.size();
  const auto n = std::from_chars(word.data() + 4, end, shape.columns);
  if (n.ec != std::errc{} || n.ptr == end || *n.ptr != 'k') return false;
  const auto k = std::from_chars(n.ptr + 1, end, shape.depth);
  return k.ec == std::errc{} && k.ptr == end;
}

/// shape{.satfinite}.d.a.b{.and.popc}{.satfinite}
bool take_warpgroup_shape(OpcodeWords& words, WarpgroupShape& shape) {
  if (!parse_warpgroup_shape(words.front(), shape)) return false;
  words.take_any();
  shape.saturates = words.take("satfinite");
  for (Format* const format : {&shape.d, &shape.a, &shape.b}) {
    const std::optional<Format> parsed = parse_format(words.front());
    if (!parsed) return false;
    *format = *parsed;
    words.take_any();
  }
  if (!known_warpgroup_types(shape)) return false;
  if (shape.a == Format::b1 && (!words.take("and") || !words.take("popc"))) return false;
  const bool may_saturate = bits_of(shape.a) == 8 && !is_float(shape.a);
  if (may_saturate && words.take("satfinite")) shape.saturates = true;
  const unsigned step = shape.d == Format::s32 && shape.columns > 32 ? 16 : 8;
  return (may_saturate || !shape.saturates) &&
         shape.depth == dense_depth(shape.a) * (shape.is_sparse ? 2 : 1) && shape.columns >= 8 &&
         shape.columns <= 256 && shape.columns % step == 0;
}

/// Operands of an instruction by the index of their source.
struct WarpgroupSources {
  bool a_in_registers = false;
  unsigned b = 0;
  unsigned metadata = 0;  ///< sparse only
  unsigned selector = 0;  ///< sparse only: its value
  unsigned scale_d = 0;
  bool negates = false;  ///< exactly one of A and B
  bool transposes_a = false;
  bool transposes_b = false;
  unsigned d = 0;
};

/// a | a-desc, b-desc{, metadata, selector}, scale-d{, imm-scale-a, imm-scale-b{{, imm-trans-a},
/// imm-trans-b}}, and the registers of D. Returns nullopt if the operands do not fit the shape.
std::optional<WarpgroupSources> warpgroup_sources(const std::vector<SourceSlot>& slots,
                                                  const WarpgroupShape& shape) {
  using enum SourceSlot::Kind;
  WarpgroupSources made;
  made.a_in_registers = !slots.empty() && slots[0].kind != descriptor;
  made.b = made.a_in_registers ? registers_of_a : 1;
  made.metadata = made.b + 1;
  made.scale_d = made.b + (shape.is_sparse ? 3 : 1);
  const unsigned scales = is_float(shape.a) ? 2 : 0;
  const unsigned transposes = !shape.may_transpose() ? 0 : made.a_in_registers ? 1 : 2;
  made.d = made.scale_d + 1 + scales + transposes;
  if (slots.size() != made.d + shape.registers_of_d() || slots[made.b].kind != descriptor)
    return std::nullopt;
  const SourceSlot& scale_d = slots[made.scale_d];
  if (scale_d.kind != predicate && scale_d.kind != constant) return std::nullopt;
  const auto immediate = [&](unsigned index, std::int64_t x, std::int64_t y) {
    return slots[index].kind == constant && (slots[index].constant == x || slots[index].constant == y);
  };
  if (shape.is_sparse) {
    if (slots[made.metadata].kind != reg || !immediate(made.metadata + 1, 0, bits_of(shape.a) == 8 ? 0 : 1))
      return std::nullopt;
    made.selector = static_cast<unsigned>(slots[made.metadata + 1].constant);
  }
  for (unsigned i = 0; i < scales; ++i) {
    const unsigned index = made.scale_d + 1 + i;
    if (!immediate(index, -1, 1)) return std::nullopt;
    made.negates ^= slots[index].constant < 0;
  }
  for (unsigned i = 0; i < transposes; ++i) {
    const unsigned index = made.scale_d + 1 + scales + i;
    if (!immediate(index, 0, 1)) return std::nullopt;
    const bool is_of_b = i + 1 == transposes;
    (is_of_b ? made.transposes_b : made.transposes_a) = slots[index].constant != 0;
  }
  return made;
}

/// One execution by a warp.
class WarpgroupProduct {
 public:
  WarpgroupProduct(const OperationCall& call, const WarpgroupShape& shape, const WarpgroupSources& sources)
      : call_(call),
        shape_(shape),
        sources_(sources),
        lane_(static_cast<std::uint32_t>(std::countr_zero(call.mask))),
        first_row_(call.warp->warpid % warps_in_group * warp_rows) {}

  void run() {
    sources_.a_in_registers ? take_a() : read_a();
    read_b();
    load_sums();
    if (shape_.a == Format::b1) {
      count_common_bits();
    } else {
      decode_a();
      decode_b();
      buffers_.panels.multiply();
    }
    store_sums();
    call_.count(&OperationCounts::tensor_core_operations,
                std::uint64_t{2} * buffers_.panels.sums.size() * shape_.stored());
    if (call_.counts != nullptr) count_operands();
    if (call_.warp->check != nullptr) issue_reads();
    ++call_.warp->products[call_.warp->warpid].issued;
  }

 private:
  static constexpr unsigned row_bytes = 32;  ///< of A

  /// Kept between executions, because allocating them would take longer than many products.
  struct Buffers {
    MatrixPanels panels;
    std::byte a[warp_rows * row_bytes];  ///< [row][k] or, transposed, [k][row]
    std::vector<std::byte> b;            ///< [column][k] or, transposed, [k][column]
  };
  static Buffers& buffers() {
    static thread_local Buffers made;
    return made;
  }

  /// In checked launches, where the kernel continues, pieces that it may not read are zeros.
  void read_piece(std::size_t site, std::uint64_t address, std::byte* to) {
    constexpr unsigned bytes = MatrixDescriptor::piece_bytes;
    if (call_.warp->check != nullptr) pieces_[site].push_back(address);
    const std::byte* const from = call_.place(site, address, lane_, bytes, bytes);
    from != nullptr ? std::memcpy(to, from, bytes) : std::memset(to, 0, bytes);
  }

  /// Tells the checks that the operands in shared memory may be read until a wait_group.
  void issue_reads() {
    std::vector<AsyncAccess> reads;
    for (std::size_t site = 0; site < std::size(pieces_); ++site) {
      std::ranges::sort(pieces_[site]);
      for (const std::uint64_t address : pieces_[site]) {
        const bool extends = !reads.empty() && reads.back().site == (*call_.sites)[site] &&
                             reads.back().address + reads.back().bytes == address;
        if (!extends) reads.push_back({(*call_.sites)[site], address, 0, true, false});
        reads.back().bytes += MatrixDescriptor::piece_bytes;
      }
    }
    perform_async(call_, {lane_, AsyncCompletion::matrix_group, true, reads}, [] {});
  }

  /// Counts the wavefronts of the core matrices of an operand. `place(line, piece)` is the address of a
  /// piece; the warp reads every `share`-th matrix.
  template <typename Place>
  void count_matrices(unsigned lines, unsigned pieces, unsigned share, const Place& place) {
    constexpr unsigned matrix_lines = 8;
    for (unsigned number = 0; number < lines / matrix_lines * pieces; ++number) {
      if (share != 1 && number % share != call_.warp->warpid % share) continue;
      unsigned at_banks[matrix_lines] = {};  // pieces at each group of four banks
      unsigned most = 0;
      for (unsigned line = 0; line < matrix_lines; ++line) {
        const std::uint64_t address = place(number / pieces * matrix_lines + line, number % pieces);
        most = std::max(most, ++at_banks[address / MatrixDescriptor::piece_bytes % matrix_lines]);
      }
      call_.count(&OperationCounts::operand_matrices, 1);
      call_.count(&OperationCounts::operand_wavefronts, most);
    }
  }

  /// Models the reads of the operands in shared memory: the warpgroup reads B once, for all its warps.
  void count_operands() {
    constexpr unsigned pieces = row_bytes / MatrixDescriptor::piece_bytes;
    if (!sources_.a_in_registers) {
      const MatrixDescriptor from = MatrixDescriptor::decode(call_.in[0][lane_]);
      count_matrices(sources_.transposes_a ? shape_.stored() : warp_rows, pieces, 1,
                     [&](unsigned line, unsigned piece) {
                       return sources_.transposes_a ? from.mn_major(line, first_row_ / 8 + piece)
                                                    : from.k_major(first_row_ + line, piece);
                     });
    }
    const MatrixDescriptor from = MatrixDescriptor::decode(call_.in[sources_.b][lane_]);
    count_matrices(sources_.transposes_b ? shape_.depth : shape_.columns,
                   bytes_of_line_of_b() / MatrixDescriptor::piece_bytes, warps_in_group,
                   [&](unsigned line, unsigned piece) {
                     return sources_.transposes_b ? from.mn_major(line, piece) : from.k_major(line, piece);
                   });
  }

  void take_a() {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned reg = 0; reg < registers_of_a; ++reg) {
        const auto word = static_cast<std::uint32_t>(call_.in[reg][lane]);
        const unsigned row = lane / 4 + reg % 2 * 8;
        std::memcpy(&buffers_.a[row * row_bytes + (lane % 4 + reg / 2 * 4) * sizeof word], &word,
                    sizeof word);
      }
    }
  }

  void read_a() {
    const MatrixDescriptor from = MatrixDescriptor::decode(call_.in[0][lane_]);
    constexpr unsigned pieces = row_bytes / MatrixDescriptor::piece_bytes;
    const unsigned lines = sources_.transposes_a ? shape_.stored() : warp_rows;
    for (unsigned line = 0; line < lines; ++line) {
      for (unsigned piece = 0; piece < pieces; ++piece) {
        const std::uint64_t address = sources_.transposes_a ? from.mn_major(line, first_row_ / 8 + piece)
                                                            : from.k_major(first_row_ + line, piece);
        read_piece(0, address, &buffers_.a[line * row_bytes + piece * MatrixDescriptor::piece_bytes]);
      }
    }
  }

  unsigned bytes_of_line_of_b() const {
    return (sources_.transposes_b ? shape_.columns : shape_.depth) * bits_of(shape_.b) / 8;
  }

  void read_b() {
    const MatrixDescriptor from = MatrixDescriptor::decode(call_.in[sources_.b][lane_]);
    const std::size_t site = sources_.a_in_registers ? 0 : 1;
    const unsigned bytes = bytes_of_line_of_b();
    const unsigned lines = sources_.transposes_b ? shape_.depth : shape_.columns;
    buffers_.b.resize(std::size_t{lines} * bytes);
    for (unsigned line = 0; line < lines; ++line) {
      for (unsigned piece = 0; piece < bytes / MatrixDescriptor::piece_bytes; ++piece) {
        const std::uint64_t address =
            sources_.transposes_b ? from.mn_major(line, piece) : from.k_major(line, piece);
        read_piece(site, address, &buffers_.b[line * bytes + piece * MatrixDescriptor::piece_bytes]);
      }
    }
  }

  void decode_a() {
    MatrixPanels& panels = buffers_.panels;
    const unsigned depth = panels.depth = shape_.stored();
    panels.a.resize(warp_rows * depth);
    panels.lines.resize(warp_rows * depth);
    const Sparsity sparsity = Sparsity::of(shape_.a, shape_.depth, sources_.selector);
    std::vector<double>& decoded = panels.a;
    if (sources_.transposes_a) {
      double line[warp_rows];
      for (unsigned k = 0; k < depth; ++k) {
        decode_elements(shape_.a, &buffers_.a[k * row_bytes], line);
        for (unsigned row = 0; row < warp_rows; ++row) decoded[row * depth + k] = line[row];
      }
    } else {
      decode_elements(shape_.a, buffers_.a, decoded);
    }
    if (sources_.negates) {
      for (double& each : decoded) each = -each;
    }
    for (unsigned row = 0; row < warp_rows; ++row) {
      for (unsigned index = 0; index < depth; ++index) {
        const unsigned k =
            shape_.is_sparse ? sparsity.position(call_.in[sources_.metadata], row, index) : index;
        panels.lines[row * depth + index] = static_cast<std::uint16_t>(k);
      }
    }
  }

  void decode_b() {
    MatrixPanels& panels = buffers_.panels;
    panels.b.resize(std::size_t{shape_.depth} * shape_.columns);
    if (sources_.transposes_b) return decode_elements(shape_.b, buffers_.b.data(), panels.b);
    double line[64];  // the largest k
    for (unsigned column = 0; column < shape_.columns; ++column) {
      decode_elements(shape_.b, &buffers_.b[std::size_t{column} * bytes_of_line_of_b()],
                      std::span(line, shape_.depth));
      for (unsigned k = 0; k < shape_.depth; ++k)
        panels.b[std::size_t{k} * shape_.columns + column] = line[k];
    }
  }

  void count_common_bits() {
    for (unsigned row = 0; row < warp_rows; ++row) {
      for (unsigned column = 0; column < shape_.columns; ++column) {
        int count = 0;
        for (unsigned at = 0; at < row_bytes; at += sizeof(std::uint64_t)) {
          std::uint64_t a = 0;
          std::uint64_t b = 0;
          std::memcpy(&a, &buffers_.a[row * row_bytes + at], sizeof a);
          std::memcpy(&b, &buffers_.b[column * row_bytes + at], sizeof b);
          count += std::popcount(a & b);
        }
        buffers_.panels.sums[row * shape_.columns + column] += count;
      }
    }
  }

  /// Calls `visit(register, lane, shift, sum)` for every element of D that the warp holds: eight columns are
  /// eight rows and then the other eight; lanes hold neighbouring pairs.
  template <typename Visit>
  void for_each_sum(const Visit& visit) {
    const unsigned elements = bits_of(shape_.d) == 16 ? 2 : 1;
    for (unsigned reg = 0; reg < shape_.registers_of_d(); ++reg) {
      for (unsigned element = 0; element < elements; ++element) {
        const unsigned index = reg * elements + element;
        double* const sums = &buffers_.panels.sums[index / 4 * 8 + index % 2];
        for (unsigned lane = 0; lane < warp_size; ++lane) {
          const unsigned row = lane / 4 + index / 2 % 2 * 8;
          visit(reg, lane, 16 * element, sums[std::size_t{row} * shape_.columns + lane % 4 * 2]);
        }
      }
    }
  }

  void load_sums() {
    MatrixPanels& panels = buffers_.panels;
    panels.rows = warp_rows;
    panels.columns = shape_.columns;
    panels.sums.assign(std::size_t{warp_rows} * shape_.columns, 0.0);
    if (call_.in[sources_.scale_d][lane_] == 0) return;
    for_each_sum([this](unsigned reg, unsigned lane, unsigned shift, double& sum) {
      sum = decode_sum(shape_.d, static_cast<std::uint32_t>(call_.in[sources_.d + reg][lane]) >> shift);
    });
  }

  void store_sums() {
    for_each_sum([this](unsigned reg, unsigned lane, unsigned shift, double& sum) {
      std::uint64_t& to = call_.out[reg][lane];
      const std::uint64_t bits = encode_sum(shape_.d, shape_.saturates, sum);
      to = shift == 0 ? bits : to | bits << shift;
    });
  }

  const OperationCall& call_;
  const WarpgroupShape& shape_;
  const WarpgroupSources& sources_;
  const std::uint32_t lane_;      ///< whose descriptors are used: they are the same for all lanes
  const unsigned first_row_ = 0;  ///< of A and D
  Buffers& buffers_ = buffers();
  std::vector<std::uint64_t> pieces_[2];  ///< addresses by site, in checked launches only
};

/// wgmma.mma_async{.sp}.sync.aligned.shape…
Result<Operation> make_warpgroup_product(OperationRequest& request) {
  OpcodeWords& words = request.words;
  WarpgroupShape shape;
  shape.is_sparse = words.take("sp");
  if (!words.take("sync") || !words.take("aligned") || !take_warpgroup_shape(words, shape))
    return refuse(request);
  const std::optional<WarpgroupSources> sources = warpgroup_sources(request.sources, shape);
  if (!sources || request.results != shape.registers_of_d()) return failure("malformed operands");
  Operation made{.run = [shape, sources = *sources](
                            const OperationCall& call) { WarpgroupProduct(call, shape, sources).run(); },
                 .needs_converged_warp = true};
  const unsigned descriptors = sources->a_in_registers ? 1 : 2;
  made.addresses.assign(descriptors, {ptx::StateSpace::shared, MatrixDescriptor::piece_bytes});
  return made;
}

/// More attempts than warps need to issue their products, unless they never do.
constexpr std::uint32_t most_attempts = 1 << 18;

/// Returns false if another warp of the warpgroup has not issued all products that this wait is for.
bool is_ready(const WarpContext& warp, std::uint32_t pending) {
  ProductProgress& own = warp.products[warp.warpid];
  if (pending >= std::min(own.groups, ProductProgress::most_pending)) return true;
  const std::uint32_t issued = own.at_commit[(own.groups - 1 - pending) % ProductProgress::most_pending];
  const std::uint32_t first = warp.warpid / warps_in_group * warps_in_group;
  const std::uint32_t end = std::min(first + warps_in_group, warp.nwarpid);
  for (std::uint32_t other = first; other < end; ++other) {
    if (warp.products[other].issued < issued && ++own.attempts < most_attempts) return false;
  }
  own.attempts = 0;
  return true;
}

void commit(const OperationCall& call) {
  ProductProgress& own = call.warp->products[call.warp->warpid];
  own.at_commit[own.groups++ % ProductProgress::most_pending] = own.issued;
  if (call.warp->check != nullptr)
    call.warp->check->commit(*call.warp, call.mask, AsyncCompletion::matrix_group);
}

void wait(const OperationCall& call, std::uint32_t pending) {
  if (!is_ready(*call.warp, pending)) {
    call.warp->yields = 1;
  } else if (call.warp->check != nullptr) {
    call.warp->check->wait(*call.warp, call.mask, AsyncCompletion::matrix_group, pending, false);
  }
}

}  // namespace

Result<Operation> make_wgmma(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("mma_async")) return make_warpgroup_product(request);
  const bool waits = words.take("wait_group");
  const bool commits = !waits && words.take("commit_group");
  if ((!waits && !commits && !words.take("fence")) || !words.take("sync") || !words.take("aligned"))
    return refuse(request);
  if (!waits) {
    if (!request.sources.empty()) return failure("malformed operands");
    return Operation{.run =
                         [commits](const OperationCall& call) {
                           if (commits) commit(call);
                         },
                     .needs_converged_warp = true};
  }
  if (request.sources.size() != 1 || request.sources[0].kind != SourceSlot::Kind::constant)
    return failure("malformed operands");
  const auto pending = static_cast<std::uint32_t>(request.sources[0].constant);
  return Operation{.run = [pending](const OperationCall& call) { wait(call, pending); },
                   .needs_converged_warp = true};
}

}  // namespace lynxpp::device::cpu
