// tcgen05.ld, st: between registers and tensor memory; tcgen05.cp: from shared to tensor memory.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/async_operation.h"
#include "device/cpu/simt/operations/matrix_descriptor.h"
#include "device/cpu/simt/operations/tensor_core.h"

namespace lynxpp::device::cpu {
namespace {

constexpr unsigned most_registers = 128;
constexpr unsigned lanes_of_warp = 32;  ///< of tensor memory, that a warp can access

// ---------------------------------------------------------------- ld, st

/// ld.red: what a thread computes from the registers that it loads.
struct LoadReduction {
  enum class Type { f32, s32, u32 } type = Type::f32;
  bool is_max = false;
  bool takes_magnitudes = false;  ///< .abs
  bool keeps_nan = false;         ///< .NaN

  std::uint32_t combine(std::uint32_t a, std::uint32_t b) const {
    if (type == Type::f32) {
      constexpr std::uint32_t nan = 0x7fff'ffff;
      const bool has_nan[] = {is_nan(a), is_nan(b)};
      if (has_nan[0] || has_nan[1])
        return keeps_nan || has_nan[0] == has_nan[1] ? nan : has_nan[0] ? magnitude(b) : magnitude(a);
      a = magnitude(a);
      b = magnitude(b);
    }
    return (rank(a) < rank(b)) != is_max ? a : b;
  }

 private:
  static bool is_nan(std::uint32_t bits) { return (bits & 0x7fff'ffff) > 0x7f80'0000; }
  std::uint32_t magnitude(std::uint32_t bits) const { return takes_magnitudes ? bits & 0x7fff'ffff : bits; }
  /// Orders values; +0 is greater than -0.
  std::int64_t rank(std::uint32_t bits) const {
    if (type == Type::u32) return bits;
    const auto value = std::bit_cast<std::int32_t>(bits);
    return type == Type::s32 || value >= 0 ? value : -1 - static_cast<std::int64_t>(bits & 0x7fff'ffff);
  }
};

struct Transfer {
  enum class Shape { lanes32, bits64, bits128, bits256, halves } shape = Shape::lanes32;
  unsigned registers = 0;
  bool packs = false;                           ///< a register holds the lower halves of two adjacent columns
  std::uint32_t distance = 0;                   ///< halves: columns from the first half to the second
  std::optional<LoadReduction> reduction = {};  ///< .red

  /// The word of a register: the lane and the column, both counted from the address. Columns are counted in
  /// registers: two if packed.
  struct Cell {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  Cell cell(std::uint32_t lane, std::uint32_t reg) const {
    switch (shape) {
      case Shape::lanes32: return {lane, reg};
      case Shape::bits64: return {lane / 4 + lane % 2 * 8, lane / 2 % 2 + reg * 2};
      case Shape::bits128: return {lane / 4 + reg % 2 * 8, lane % 4 + reg / 2 * 4};
      case Shape::bits256: return {lane / 4 + reg / 2 % 2 * 8, lane % 4 * 2 + reg % 2 + reg / 4 * 8};
      case Shape::halves: break;
    }
    return {lane % 16, reg};
  }
  std::uint32_t rows() const { return shape == Shape::lanes32 ? 32 : 16; }
  /// Number of columns of the first or only access.
  std::uint32_t columns() const {
    const bool is_wide = shape != Shape::lanes32 && shape != Shape::halves;
    return registers * (is_wide ? 2 : 1) * (packs ? 2 : 1);
  }
  unsigned results() const { return registers + (reduction ? 1 : 0); }
  bool has_second_half(std::uint32_t lane) const { return shape == Shape::halves && lane >= 16; }
};

/// op{.abs}{.NaN}.type, or type first
bool take_load_reduction(OpcodeWords& words, Transfer& to) {
  LoadReduction& made = *to.reduction;
  const auto take_type = [&] {
    const std::string_view type = words.take_of({"f32", "s32", "u32"});
    made.type = type == "s32"   ? LoadReduction::Type::s32
                : type == "u32" ? LoadReduction::Type::u32
                                : LoadReduction::Type::f32;
    return !type.empty();
  };
  const bool begins_with_type = take_type();
  const std::string_view operation = words.take_of({"min", "max"});
  made.is_max = operation == "max";
  made.takes_magnitudes = words.take("abs");
  made.keeps_nan = words.take("NaN");
  if (operation.empty() || (!begins_with_type && !take_type())) return false;
  return made.type == LoadReduction::Type::f32 || !(made.takes_magnitudes || made.keeps_nan);
}

/// shape.num{.pack}.b32, or shape.num and a reduction
bool take_transfer(OpcodeWords& words, bool loads, Transfer& to) {
  using Shape = Transfer::Shape;
  constexpr std::pair<std::string_view, Shape> shapes[] = {{"32x32b", Shape::lanes32},
                                                           {"16x64b", Shape::bits64},
                                                           {"16x128b", Shape::bits128},
                                                           {"16x256b", Shape::bits256},
                                                           {"16x32bx2", Shape::halves}};
  const auto* const found =
      std::ranges::find_if(shapes, [&](const auto& each) { return words.take(each.first); });
  if (found == std::end(shapes)) return false;
  to.shape = found->second;
  if (to.reduction && to.shape != Shape::lanes32 && to.shape != Shape::halves) return false;
  const std::string_view count = words.front();
  if (!count.starts_with('x')) return false;
  unsigned times = 0;
  const auto parsed = std::from_chars(count.data() + 1, count.data() + count.size(), times);
  if (parsed.ec != std::errc{} || parsed.ptr != count.data() + count.size() || !std::has_single_bit(times))
    return false;
  to.registers = times * (to.shape == Shape::bits256 ? 4 : to.shape == Shape::bits128 ? 2 : 1);
  if (to.registers > most_registers) return false;
  words.take_any();
  if (to.reduction) return times > 1 && take_load_reduction(words, to);
  to.packs = words.take(loads ? "pack::16b" : "unpack::16b");
  return words.take("b32");
}

/// One execution by a warp.
class TransferCall {
 public:
  TransferCall(const OperationCall& call, const Transfer& transfer)
      : call_(call),
        transfer_(transfer),
        use_{0, static_cast<std::uint32_t>(std::countr_zero(call.mask)), 0} {
    use_.address = call.in[0][use_.lane] & 0xffff'ffff;
  }

  void load() {
    if (!is_legal()) return clear();
    for_each_cell([this](std::uint32_t lane, std::uint32_t reg, const std::uint32_t* words) {
      call_.out[reg][lane] =
          transfer_.packs ? (words[0] & 0xffff) | (std::uint64_t{words[1]} & 0xffff) << 16 : words[0];
    });
    if (transfer_.reduction) reduce();
    if (call_.warp->check != nullptr) issue(AsyncCompletion::tensor_load, [] {});
  }

  void store(std::size_t first_source) {
    if (!is_legal()) return;
    if (call_.warp->check == nullptr) {
      for_each_cell([&](std::uint32_t lane, std::uint32_t reg, std::uint32_t* words) {
        put(words, call_.in[first_source + reg][lane]);
      });
      return;
    }
    std::vector<std::pair<std::uint32_t*, std::uint64_t>> values;
    for_each_cell([&](std::uint32_t lane, std::uint32_t reg, std::uint32_t* words) {
      values.emplace_back(words, call_.in[first_source + reg][lane]);
    });
    issue(AsyncCompletion::tensor_store, [values = std::move(values), packs = transfer_.packs] {
      for (const auto& [words, value] : values) put(words, value, packs);
    });
  }

 private:
  bool is_legal() const {
    const auto refused = [this](const char* reason) {
      raise_tensor_memory(call_, use_, reason);
      return false;
    };
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((call_.in[0][lane] & 0xffff'ffff) != use_.address)
        return refused("the threads of the warp name different addresses");
    }
    const std::uint32_t first = call_.warp->warpid % 4 * lanes_of_warp;
    const std::uint32_t row = TensorAddress(use_.address).lane;
    if (row != first && (transfer_.rows() == 32 || row != first + 16))
      return refused("a warp accesses only the 32 lanes from 32 times its index in the warpgroup");
    if (!check_columns(call_, use_, *call_.warp->tensor, transfer_.columns())) return false;
    if (transfer_.shape != Transfer::Shape::halves) return true;
    const TensorUse second{0, use_.lane, use_.address + transfer_.distance};
    return check_columns(call_, second, *call_.warp->tensor, transfer_.columns());
  }

  void clear() {
    for (unsigned reg = 0; reg < transfer_.results(); ++reg) call_.out[reg].fill(0);
  }

  void reduce() {
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      auto found = static_cast<std::uint32_t>(call_.out[0][lane]);
      for (unsigned reg = 1; reg < transfer_.registers; ++reg)
        found = transfer_.reduction->combine(found, static_cast<std::uint32_t>(call_.out[reg][lane]));
      call_.out[transfer_.registers][lane] = found;
    }
  }

  template <typename Visit>
  void for_each_cell(const Visit& visit) {
    const TensorAddress at(use_.address);
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      for (std::uint32_t reg = 0; reg < transfer_.registers; ++reg) {
        const Transfer::Cell cell = transfer_.cell(lane, reg);
        const std::uint32_t column = at.column + cell.column * (transfer_.packs ? 2 : 1) +
                                     (transfer_.has_second_half(lane) ? transfer_.distance : 0);
        visit(lane, reg, call_.warp->tensor->row(at.lane + cell.row) + column);
      }
    }
  }

  static void put(std::uint32_t* words, std::uint64_t value, bool packs) {
    words[0] = static_cast<std::uint32_t>(packs ? value & 0xffff : value);
    if (packs) words[1] = static_cast<std::uint32_t>(value >> 16 & 0xffff);
  }
  void put(std::uint32_t* words, std::uint64_t value) const { put(words, value, transfer_.packs); }

  template <typename Perform>
  void issue(AsyncCompletion completion, Perform perform) {
    std::vector<AsyncAccess> accesses;
    const TensorAddress at(use_.address);
    const unsigned halves = transfer_.shape == Transfer::Shape::halves ? 2 : 1;
    for (unsigned half = 0; half < halves; ++half) {
      for (std::uint32_t row = 0; row < transfer_.rows(); ++row) {
        AsyncAccess made = tensor_access((*call_.sites)[0], false, at.lane + row,
                                         at.column + half * transfer_.distance, transfer_.columns());
        made.reads = completion == AsyncCompletion::tensor_load;
        made.writes = !made.reads;
        accesses.push_back(made);
      }
    }
    perform_async(call_, {use_.lane, completion, false, accesses}, std::move(perform));
  }

  const OperationCall& call_;
  const Transfer& transfer_;
  TensorUse use_;
};

// ---------------------------------------------------------------- cp

/// Rows of shared memory, and where they go.
struct Fill {
  std::uint32_t rows = 0;
  std::uint32_t pieces = 0;  ///< of 16 bytes in a row
  /// For each quarter of tensor memory, the first row that it receives.
  std::array<std::uint32_t, 4> first_rows = {};
  unsigned blocks = 1;       ///< .cta_group
  unsigned narrow_bits = 0;  ///< of elements that become bytes; 0: bytes are copied
};

bool take_fill(OpcodeWords& words, Fill& to) {
  if (words.take("128x256b")) return to = {128, 2, {0, 32, 64, 96}}, true;
  if (words.take("128x128b")) return to = {128, 1, {0, 32, 64, 96}}, true;
  if (words.take("32x128b")) return to = {32, 1, {0, 0, 0, 0}}, words.take("warpx4");
  if (!words.take("64x128b")) return false;
  if (words.take("warpx2::02_13")) return to = {64, 1, {0, 32, 0, 32}}, true;
  return to = {64, 1, {0, 0, 32, 32}}, words.take("warpx2::01_23");
}

constexpr unsigned copied_bytes = MatrixDescriptor::piece_bytes;  ///< at once
constexpr std::uint32_t words_of_piece = copied_bytes / 4;

/// Copies a piece; `narrow_bits`: 16 elements at its start become bytes.
void copy_piece(const std::byte* from, unsigned narrow_bits, std::uint32_t* to) {
  if (narrow_bits == 0) return void(std::memcpy(to, from, copied_bytes));
  std::array<std::uint8_t, copied_bytes> bytes;
  for (unsigned i = 0; i < bytes.size(); ++i) {
    const unsigned at = i * narrow_bits;
    const unsigned pair =
        std::to_integer<unsigned>(from[at / 8]) | std::to_integer<unsigned>(from[at / 8 + 1]) << 8;
    const unsigned element = pair >> at % 8 & ((1u << narrow_bits) - 1);
    bytes[i] = static_cast<std::uint8_t>(byte_of_narrow(element, narrow_bits));
  }
  std::memcpy(to, bytes.data(), bytes.size());
}

/// One execution by a thread. With two blocks, each one's shared memory is copied to its tensor memory.
class FillCall {
 public:
  FillCall(const OperationCall& call, const Fill& shape, std::uint32_t lane)
      : call_(call), shape_(shape), use_{0, lane, call.in[0][lane] & 0xffff'ffff}, at_(use_.address) {}

  void run() {
    if (const char* const problem = decode(); problem != nullptr) {
      return raise(call_.warp, {.kind = FaultKind::bad_descriptor,
                                .lane = use_.lane,
                                .address = call_.in[1][use_.lane],
                                .site = (*call_.sites)[1],
                                .reason = problem});
    }
    if (at_.lane != 0) return raise_tensor_memory(call_, use_, "a copy must begin at lane 0");
    if (shape_.blocks == 2 && !check_peer(call_, use_)) return;
    for (unsigned block = 0; block < shape_.blocks; ++block) {
      if (!find(block == 1)) return;
    }
    const auto perform = [pieces = std::move(pieces_), bits = shape_.narrow_bits] {
      for (const auto& [from, to] : pieces) copy_piece(from, bits, to);
    };
    perform_async(call_, {use_.lane, AsyncCompletion::tensor_core, true, accesses_}, perform);
  }

 private:
  const char* decode() {
    const char* const problem = MatrixDescriptor::decode_tensor_core(call_.in[1][use_.lane], from_);
    if (problem != nullptr || !from_.swaps_pairs) return problem;
    return "the ISA defines no K-major layout for a swizzle of 128 bytes with atoms of 32";
  }

  /// Finds what is copied in this block or in the other one. Returns false after a fault.
  bool find(bool in_peer) {
    TensorMemory& memory = in_peer ? *call_.warp->peer_tensor : *call_.warp->tensor;
    const bool is_checked = call_.warp->check != nullptr;
    const std::uint32_t columns = shape_.pieces * words_of_piece;
    if (!check_columns(call_, use_, memory, columns)) return false;
    for (std::uint32_t row = 0; row < shape_.rows; ++row) {
      for (std::uint32_t index = 0; index < shape_.pieces; ++index) {
        std::uint64_t address = from_.k_major(row, index);
        if (in_peer) address = cluster_address(call_.warp->cluster_ctarank ^ 1, address);
        const std::byte* const found = call_.place(1, address, use_.lane, copied_bytes, copied_bytes);
        if (found == nullptr) return false;
        if (is_checked) accesses_.push_back({(*call_.sites)[1], address, copied_bytes, true, false});
        for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
          const std::uint32_t lane = row - shape_.first_rows[quarter];
          if (lane >= lanes_of_warp) continue;
          std::uint32_t* const to = memory.row(quarter * lanes_of_warp + lane);
          pieces_.emplace_back(found, to + at_.column + index * words_of_piece);
        }
      }
    }
    for (std::uint32_t to = 0; is_checked && to < TensorMemory::lanes; ++to) {
      accesses_.push_back(tensor_access((*call_.sites)[0], in_peer, to, at_.column, columns));
      accesses_.back().writes = true;
    }
    return true;
  }

  const OperationCall& call_;
  const Fill& shape_;
  const TensorUse use_;
  const TensorAddress at_;
  MatrixDescriptor from_;
  std::vector<std::pair<const std::byte*, std::uint32_t*>> pieces_;
  std::vector<AsyncAccess> accesses_;  ///< in checked launches only
};

}  // namespace

Result<Operation> make_tensor_transfer(OperationRequest& request, bool loads) {
  OpcodeWords& words = request.words;
  Transfer transfer;
  if (loads && words.take("red")) transfer.reduction.emplace();
  if (!words.take("sync") || !words.take("aligned") || !take_transfer(words, loads, transfer))
    return refuse(request);
  std::vector<SourceSlot>& sources = request.sources;
  std::size_t next = 1;
  if (transfer.shape == Transfer::Shape::halves) {
    if (sources.size() < 2 || sources[1].kind != SourceSlot::Kind::constant)
      return failure("malformed operands");
    transfer.distance = static_cast<std::uint32_t>(sources[1].constant);
    next = 2;
  }
  if (sources.size() != next + (loads ? 0 : transfer.registers) ||
      request.results != (loads ? transfer.results() : 0))
    return failure("malformed operands");
  Operation made{.run =
                     [transfer, loads, next](const OperationCall& call) {
                       TransferCall of(call, transfer);
                       loads ? of.load() : of.store(next);
                     },
                 .needs_converged_warp = true};
  made.addresses = {{ptx::StateSpace::none, 4}};
  return made;
}

/// cp.cta_group.shape{.multicast}{.b8x16.format} [address], descriptor
Result<Operation> make_tensor_fill(OperationRequest& request) {
  OpcodeWords& words = request.words;
  Fill shape;
  const unsigned blocks = take_blocks(words);
  if (words.front() == "4x256b") return refuse_rows(words);
  if (blocks == 0 || !take_fill(words, shape)) return refuse(request);
  shape.blocks = blocks;
  if (words.take("b8x16")) {
    const std::string_view format = words.take_of({"b4x16_p64", "b6x16_p32"});
    if (format.empty()) return refuse(request);
    shape.narrow_bits = format == "b4x16_p64" ? 4 : 6;
  }
  if (!words.front().empty()) return refuse(request);
  const std::vector<SourceSlot>& sources = request.sources;
  if (sources.size() != 2 || sources[1].kind != SourceSlot::Kind::descriptor)
    return failure("malformed operands");
  Operation made{.run = [shape](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) { FillCall(call, shape, lane).run(); });
  }};
  made.addresses = {{ptx::StateSpace::none, 4}, {ptx::StateSpace::shared, copied_bytes}};
  return made;
}

}  // namespace lynxpp::device::cpu
